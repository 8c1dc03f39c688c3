// SPDX-License-Identifier: Apache-2.0
/*
 * Unit - what every unit test includes: cmocka, in the order it wants its own needs
 *
 * Owns:    a few asserts on our own types, and a scratch directory.
 * May not: hold anything that only one test uses.
 */
#pragma once

/* cmocka.h wants these four above it. */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

/* Fails with what the error said. */
#define assert_ok(result, err)                                                                     \
	do {                                                                                       \
		if ((result) < 0)                                                                  \
			fail_msg("%s", (err).text);                                                \
	} while (0)

/* Fails unless `text` has `part` in it. */
#define assert_contains(text, part)                                                                \
	do {                                                                                       \
		if (strstr((text), (part)) == NULL)                                                \
			fail_msg("\"%s\" does not say \"%s\"", (text), (part));                    \
	} while (0)

/* A new directory; `ret_path` has room for 64 bytes. */
static inline void scratch_make(char *ret_path)
{
	(void)snprintf(ret_path, 64, "/tmp/vivarium-unit-XXXXXX");
	assert_non_null(mkdtemp(ret_path));
}

static inline int scratch_remove_one(const char *path, const struct stat *status, int type,
				     struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	return remove(path);
}

static inline void scratch_remove(const char *path)
{
	assert_int_equal(nftw(path, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}
