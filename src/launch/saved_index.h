// SPDX-License-Identifier: Apache-2.0
/*
 * Saved index - which file of /workspace a saved copy is the same as
 *
 * Owns:    one record per copy: the file's inode, size and times when their bytes were equal.
 * May not: be seen by a sandbox: it lies in the store, which only launch's helper reaches.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/stat.h>

#include "base/err.h"

struct saved_record {
	uint64_t copy; /* inode of the copy in the store; never used again, so it is its name */
	uint64_t ino;  /* of the file; 0: it may have changed in the same tick of the clock */
	uint64_t size;
	int64_t mtime_ns;
	int64_t ctime_ns;
};

struct saved_index {
	size_t count;
	size_t room;                  /* a power of two, or 0 */
	struct saved_record *records; /* owned: a hash table, free where copy is 0 */
	bool is_changed;
};

/* Reads the index of the store; an empty one when there is none. */
int saved_index_load(struct saved_index *index, int store, struct err *err);

/* Writes it back where it was changed. */
int saved_index_store(struct saved_index *index, int store, struct err *err);
void saved_index_done(struct saved_index *index);

/* Is the file still what the copy was made of, or it of the copy? */
bool saved_index_is_same(const struct saved_index *index, const struct stat *copy,
			 const struct stat *file);

/* Was the copy made of this file, whatever it holds now? */
bool saved_index_is_of(const struct saved_index *index, const struct stat *copy,
		       const struct stat *file);

int saved_index_put(struct saved_index *index, const struct saved_record *record, struct err *err);
void saved_index_remove(struct saved_index *index, uint64_t copy);
