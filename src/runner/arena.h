// SPDX-License-Identifier: Apache-2.0
/*
 * Arenas - the memory of Python's small objects, in huge pages
 *
 * A fork copies one entry of a page table for each page that the parent has written. A loaded
 * interpreter has ten thousands of small ones, so huge pages make its forks cheaper by more than
 * half.
 *
 * Owns:    the arenas that Python asks for from arena_install() on.
 * May not: fail a start. Where Python or the kernel has no such thing, the interpreter stays as it
 * is.
 */
#pragma once

/* Makes Python take its arenas from huge pages. Does nothing on a Python without
 * PyObject_SetArenaAllocator(). */
void arena_install(void);

/* The last step before forks: what is not used yet gets small pages. A fork that needs a little
 * more memory would otherwise pay for two MiB at its first touch. */
void arena_settle(void);
