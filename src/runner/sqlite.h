// SPDX-License-Identifier: Apache-2.0
/*
 * SQLite - its random numbers, which a fork would repeat
 *
 * Owns:    finding every loaded SQLite, and resetting its random generator.
 * May not: load one, or link to one.
 */
#pragma once

#include <Python.h>

/* A method without arguments; returns None. Each SQLite then seeds its next random number from the
 * kernel. */
PyObject *sqlite_forget(PyObject *self, PyObject *args);
