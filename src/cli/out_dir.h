// SPDX-License-Identifier: Apache-2.0
/*
 * Out dir - where --out puts what a run made
 *
 * Owns:    the folder, and the file that is being written.
 * May not: let a name lead out of the folder: each step of a path is opened by itself, and links
 *          are never followed. Nor touch what was there before: a taken name is refused, except for
 *          regular files with --overwrite. Nor write files that programs obey unasked: names that
 *          begin with a dot, vivarium.yaml, and the HEAD that makes a git repository.
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
	bool may_replace; /* existing regular files */

	int file;        /* owned: being written; -1: none */
	int parent;      /* owned: the folder of `file` */
	bool is_refused; /* the file at `path` was refused: its other pieces are dropped */
	char path[OUT_PATH_MAX + 1]; /* of the current file, as the run names it */
	char temporary[ID_SIZE];     /* the file's name until it is complete; "": no file */
};

/* Makes the folder if it is missing. `may_replace` is refused (-EPERM) for the current folder,
 * $HOME, and every folder above one of them: the files there are not results of runs. */
int out_dir_open(struct out_dir *out, const char *path, bool may_replace, struct err *err);
void out_dir_close(struct out_dir *out);

/* Writes a piece of the file that the run calls `path` ("/workspace/a/b.csv"). Pieces of one file
 * come one after the other; another path before the last piece drops what was written. Returns 1
 * when the file is complete and in its place, 0 before that, and an error once for each file that
 * is not written: -EEXIST for a name that is taken, -EPERM for one that is never written. */
int out_dir_piece(struct out_dir *out, const char *path, const void *bytes, size_t size,
		  bool is_last, struct err *err);
