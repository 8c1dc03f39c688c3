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

#include "base/buf.h"
#include "base/err.h"
#include "policy/runtime.h"

#define PACKAGES_OF "base" /* the default runtime */

struct engine;
struct packages; /* the lists of all runtimes */

struct package {
	char name[100]; /* longer names are cut; none are known */
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

/* The list of the runtime with this name (NULL: "base"), as /v1/packages shows it. */
int packages_find(const struct engine *engine, const char *name,
		  const struct package_list **ret_list, struct err *err);

/* Appends the list as JSON. -EMSGSIZE, -ENOMEM. */
int packages_put(const struct package_list *list, struct buf *buf);
