// SPDX-License-Identifier: Apache-2.0
/*
 * Cppcheck - macros of other people's headers, as far as cppcheck must know them to parse our code
 *
 * Owns:    nothing that is compiled: scripts/check hands it to cppcheck only.
 */
#pragma once

#define json_array_foreach(array, index, value)                                                    \
	for ((index) = 0; ((value) = json_array_get(array, index)) != NULL; (index)++)
#define Py_BEGIN_ALLOW_THREADS {
#define Py_END_ALLOW_THREADS }
#define Py_RETURN_NONE return Py_None
