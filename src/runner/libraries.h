// SPDX-License-Identifier: Apache-2.0
/*
 * Libraries - fewer maps for each of them
 *
 * A library has five maps or more, and a fork pays for each. Here they become two: one of what is
 * only read, and an anonymous one of what is written.
 *
 * Owns:    the maps of the libraries that are loaded when it is called.
 * May not: make anything both writable and executable, run beside another thread, or fail a start:
 * a library that cannot be merged stays as it is.
 */
#pragma once

/* Merges the maps of every library. Constants become executable, and relocated pointers writable
 * again, as they are in any program without RELRO; both only matter to code that could already call
 * mprotect(). */
void libraries_merge(void);
