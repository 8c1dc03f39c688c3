// SPDX-License-Identifier: Apache-2.0
/*
 * Saved index - which file of /workspace a saved copy equals
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
	uint64_t copy; /* inode of the copy in the store; never reused, so it identifies the copy */
	uint64_t ino;  /* of the file; 0: it may have changed in the same tick of the clock */
	uint64_t size;
	int64_t mtime_ns;
	int64_t ctime_ns;
};

struct saved_index {
	size_t count;
	size_t room;                  /* a power of two, or 0 */
	struct saved_record *records; /* a hash table, never freed: the helper ends; copy 0 marks a
				       * free slot */
	bool is_changed;
};

/* Reads the index of the store; empty if the store has none. */
int saved_index_load(struct saved_index *index, int store, struct err *err);

/* Writes the index back if it has changed. */
int saved_index_store(struct saved_index *index, int store, struct err *err);

/* Are the file and the copy still equal, whichever was made from the other? */
bool saved_index_is_same(const struct saved_index *index, const struct stat *copy,
			 const struct stat *file);

/* Was the copy made from this file, whatever the file holds now? */
bool saved_index_is_of(const struct saved_index *index, const struct stat *copy,
		       const struct stat *file);

int saved_index_put(struct saved_index *index, const struct saved_record *record, struct err *err);
void saved_index_remove(struct saved_index *index, uint64_t copy);
