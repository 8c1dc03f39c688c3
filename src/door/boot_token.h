// SPDX-License-Identifier: Apache-2.0
/*
 * Boot token - a secret from the environment of the system that a daemon stands in for
 *
 * Owns:    adding it to the config as one more token.
 * May not: keep the secret: the config has only its SHA-256.
 */
#pragma once

#include "base/err.h"
#include "policy/config.h"

/* Adds a token called `name` with this secret, and removes `variable`, which it came from, from our
 * environment. ERR_BAD_REQUEST: the config has a token of that name, or the secret is too long. */
int boot_token_add(struct config *config, const char *variable, const char *name,
		   const char *secret, struct err *err);

/* The same with the value of `variable`, if it is set. Clients of such a system call it by host
 * names of their own, so any Host is accepted then: every request needs the token. */
int boot_token_read(struct config *config, const char *variable, const char *name, struct err *err);
