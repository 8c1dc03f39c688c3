// SPDX-License-Identifier: Apache-2.0
/*
 * Out dir - where --out puts what a run made
 *
 * Owns:    the folder, and the file that is being written.
 * May not: let a name lead out of the folder: each step of a path is opened by itself, and links
 *          are never followed. Nor touch what was there before: a taken name is refused, but for
 *          regular files where the user said --overwrite. Nor write what programs obey unasked:
 *          names that begin with a dot, vivarium.yaml, and the HEAD that makes a git repository.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/id.h"

#define OUT_PATH_MAX 4096
#define OUT_DEPTH_MAX 64U /* names in one path */

struct out_dir {
	int dir;          /* owned; -1: none */
	bool is_lived_in; /* the current folder, the home, or one above them: nothing is replaced */
	bool may_replace; /* regular files that are there already */

	int file;                    /* owned: being written; -1: none */
	int parent;                  /* owned: the folder of `file` */
	bool is_refused;             /* the file at `path`: its other pieces are dropped */
	char path[OUT_PATH_MAX + 1]; /* of the file whose pieces come, as the run names it */
	char temporary[ID_SIZE];     /* its name until it is whole; "": there is none */
};

/* Makes the folder where there is none. `may_replace` is refused (-EPERM) for the current folder,
 * $HOME, and every folder above one of them: what lies there was not made to be replaced. */
int out_dir_open(struct out_dir *out, const char *path, bool may_replace, struct err *err);
void out_dir_close(struct out_dir *out);

/* A piece of the file that the run calls `path` ("/workspace/a/b.csv"). Pieces of one file come one
 * after the other; another path before the last piece drops what was written. Returns 1 when the
 * file is whole and in its place, 0 before, and once for each file why it is not written: -EEXIST
 * for a name that is taken, -EPERM for one that is never written. */
int out_dir_piece(struct out_dir *out, const char *path, const void *bytes, size_t size,
		  bool is_last, struct err *err);
