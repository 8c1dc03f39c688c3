// SPDX-License-Identifier: Apache-2.0
/*
 * C - the small helpers that every file uses
 *
 * Owns:    scope-bound ownership (AUTO_CLOSE, AUTO_FREE), sizes, clocks, owned texts, digits.
 * May not: hold a helper that fewer than three files need: it stays static in its file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* Closes the descriptor and sets it to -1; safe to call twice. close() is never retried (man 2
 * close). */
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

/* A zeroed small fixed struct; aborts when memory is short. */
#define xnew(type) ((type *)xcalloc(1, sizeof(type)))

static inline void *xcalloc(size_t count, size_t size)
{
	void *pointer = calloc(count, size);

	if (pointer == NULL)
		abort();
	return pointer;
}

/* A copy of a text, or NULL for NULL. Aborts when memory is short. */
static inline char *xstrdup(const char *text)
{
	char *copy = text != NULL ? strdup(text) : NULL;

	if (text != NULL && copy == NULL)
		abort();
	return copy;
}

/* A copy of a text, or "" for NULL. Aborts when memory is short. */
static inline char *xtext(const char *text)
{
	return xstrdup(text != NULL ? text : "");
}

static inline uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

/* The wall clock: time since 1970. It may jump. */
static inline uint64_t wall_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000ULL + (uint64_t)now.tv_nsec / 1000;
}

static inline uint64_t wall_ms(void)
{
	return wall_us() / 1000;
}

#define TIME_TEXT_SIZE 32

/* A time since 1970 in RFC 3339 form, in UTC: "2026-07-28T12:00:00.000Z". */
static inline void time_text(uint64_t ms, char ret_text[TIME_TEXT_SIZE])
{
	time_t seconds = (time_t)(ms / 1000);
	struct tm parts = {0};
	size_t n;

	(void)gmtime_r(&seconds, &parts);
	n = strftime(ret_text, TIME_TEXT_SIZE, "%Y-%m-%dT%H:%M:%S", &parts);
	(void)snprintf(ret_text + n, TIME_TEXT_SIZE - n, ".%03uZ", (unsigned)(ms % 1000));
}

/* The value of a hexadecimal digit; -1: not a digit. */
static inline int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
		return (c | 0x20) - 'a' + 10;
	return -1;
}
