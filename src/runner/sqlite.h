// SPDX-License-Identifier: Apache-2.0
/*
 * SQLite - its random numbers, which a fork would draw once more
 *
 * Owns:    finding every SQLite that is loaded, and having it forget the state of its generator.
 * May not: load one, or link to one.
 */
#pragma once

#include <Python.h>

/* Takes nothing, gives None. The next number that each of them draws is seeded anew, from the
 * kernel. */
PyObject *sqlite_forget(PyObject *self, PyObject *args);
