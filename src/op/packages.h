// SPDX-License-Identifier: Apache-2.0
/*
 * Packages - what is installed for a runtime, found without running Python
 *
 * Owns:    which directories an interpreter looks in, the names of the metadata in there, and a
 *          list per runtime, kept until one of its directories changes.
 * May not: open a package's files: a name and a version are in the name of its metadata.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "policy/runtime.h"

struct packages; /* the lists of all runtimes */

struct package {
	char name[100]; /* longer ones are cut, as nobody has seen any */
	char version[60];
};

struct package_list {
	struct package *items; /* owned; by name, without regard to case */
	size_t count;
};

struct packages *packages_new(void);
void packages_free(struct packages *packages);

/* The list of a runtime, borrowed until the next call. */
int packages_of(struct packages *packages, const struct runtime *runtime,
		const struct package_list **ret_list, struct err *err);
