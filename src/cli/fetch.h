// SPDX-License-Identifier: Apache-2.0
/*
 * Fetch - bytes from a daemon into a file
 *
 * Owns:    the file while it is written; it gets its name only when it is complete.
 * May not: replace an existing file unless told to.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/client.h"

/* GET `path` into `file`, or to stdout for "-". The message of -EEXIST names --overwrite. */
int fetch_file(struct client *client, const char *path, const char *file, bool may_replace,
	       uint64_t *ret_size, struct err *err);
