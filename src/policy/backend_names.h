// SPDX-License-Identifier: Apache-2.0
/*
 * Backend names - every backend, highest priority first
 *
 * Owns:    the one list: of names that a config may use, and of the rows backend_NAME.
 */
#pragma once

#define BACKEND_NAMES(X) X(microvm) X(gvisor) X(namespace) X(remote) X(process)
#define BACKEND_NAMES_TEXT "microvm, gvisor, namespace, remote or process"
