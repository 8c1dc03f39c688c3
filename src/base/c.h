// SPDX-License-Identifier: Apache-2.0
/*
 * C - the few words of C that every file uses
 *
 * Owns:    scope-bound ownership (AUTO_CLOSE, AUTO_FREE), sizes, the monotonic clock.
 * May not: grow. A helper used in one file stays static there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define KIB 1024ULL
#define MIB (1024ULL * KIB)
#define GIB (1024ULL * MIB)

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

static inline void close_fd(const int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}

static inline void free_pointer(void *pointer)
{
	free(*(void **)pointer);
}

/* Gives the descriptor away: the variable no longer owns it. */
static inline int steal_fd(int *fd)
{
	int given = *fd;

	*fd = -1;
	return given;
}

/* Closes and forgets; safe to call twice. close() is never retried (man 2 close). */
static inline void drop_fd(int *fd)
{
	int gone = steal_fd(fd);

	if (gone >= 0)
		(void)close(gone);
}

/* unused: clang does not count the cleanup as a use. */
#define AUTO_CLOSE __attribute__((cleanup(close_fd), unused))
#define AUTO_FREE __attribute__((cleanup(free_pointer)))
#define STEAL(p)                                                                                   \
	({                                                                                         \
		__typeof__(p) given_ = (p);                                                        \
		(p) = NULL;                                                                        \
		given_;                                                                            \
	})

/* A zeroed small fixed struct; ends the program when there is no memory even for that. */
#define xnew(type) ((type *)xcalloc(1, sizeof(type)))

static inline void *xcalloc(size_t count, size_t size)
{
	void *pointer = calloc(count, size);

	if (pointer == NULL)
		abort();
	return pointer;
}

static inline uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}
