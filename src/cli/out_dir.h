// SPDX-License-Identifier: Apache-2.0
/*
 * Out dir - where --out puts what a run made
 *
 * Owns:    the folder, and the file that is being written.
 * May not: let a name lead out of the folder: each step of a path is opened by itself, links are
 *          never followed, and what is there already is replaced, never written through.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define OUT_PATH_MAX 4096

struct out_dir {
	int dir;                     /* owned; -1: none */
	int file;                    /* owned: being written; -1: none */
	int parent;                  /* owned: the folder of `file` */
	char path[OUT_PATH_MAX + 1]; /* of `file`, as the run names it */
	char temporary[64];
};

/* Makes the folder where there is none. */
int out_dir_open(struct out_dir *out, const char *path, struct err *err);
void out_dir_close(struct out_dir *out);

/* A piece of the file that the run calls `path` ("/workspace/a/b.csv"). Pieces of one file come one
 * after the other; another path before the last piece drops what was written. */
int out_dir_piece(struct out_dir *out, const char *path, const void *bytes, size_t size,
		  bool is_last, struct err *err);
