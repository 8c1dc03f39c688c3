// SPDX-License-Identifier: Apache-2.0
#include "launch/saved_index.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/c.h"
#include "base/io.h"

#define FILE_NAME "index"
#define ROOM_MIN 256U
#define ROOM_MAX (1U << 21)

static size_t first_place(const struct saved_index *index, uint64_t copy)
{
	return (size_t)(copy * 0x9e3779b97f4a7c15ULL >> 20) & (index->room - 1);
}

/* The slot of the copy, or the free slot where it belongs. The table is never full. */
static size_t place_of(const struct saved_index *index, uint64_t copy)
{
	size_t at = first_place(index, copy);

	while (index->records[at].copy != 0 && index->records[at].copy != copy)
		at = (at + 1) & (index->room - 1);
	return at;
}

static const struct saved_record *find(const struct saved_index *index, uint64_t copy)
{
	const struct saved_record *record = NULL;

	if (index->room > 0)
		record = &index->records[place_of(index, copy)];
	return record != NULL && record->copy == copy ? record : NULL;
}

static int grow(struct saved_index *index, struct err *err)
{
	struct saved_index larger = {.room = index->room == 0 ? ROOM_MIN : index->room * 2};

	if (larger.room > ROOM_MAX)
		return err_set(err, ERR_TOO_LARGE, EFBIG, "too many saved files");
	larger.records = calloc(larger.room, sizeof(larger.records[0]));
	if (larger.records == NULL)
		return err_sys(err, "remember saved files");
	for (size_t i = 0; i < index->room; i++) {
		if (index->records[i].copy != 0)
			larger.records[place_of(&larger, index->records[i].copy)] =
				index->records[i];
	}
	free(index->records);
	index->records = larger.records;
	index->room = larger.room;
	return 0;
}

int saved_index_put(struct saved_index *index, const struct saved_record *record, struct err *err)
{
	struct saved_record *place = NULL;
	int r = 0;

	if (index->room == 0 || index->count >= index->room / 2)
		r = grow(index, err);
	if (r < 0)
		return r;
	place = &index->records[place_of(index, record->copy)];
	if (place->copy == 0)
		index->count++;
	*place = *record;
	index->is_changed = true;
	return 0;
}

/* Entries after the removed one, up to the next free slot, may have been displaced by it, so they
 * are inserted again. */
void saved_index_remove(struct saved_index *index, uint64_t copy)
{
	size_t at;

	if (find(index, copy) == NULL)
		return;
	at = place_of(index, copy);
	index->records[at].copy = 0;
	index->count--;
	index->is_changed = true;
	for (at = (at + 1) & (index->room - 1); index->records[at].copy != 0;
	     at = (at + 1) & (index->room - 1)) {
		struct saved_record moved = index->records[at];

		index->records[at].copy = 0;
		index->records[place_of(index, moved.copy)] = moved;
	}
}

static int64_t ns_of(const struct timespec *time)
{
	return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

bool saved_index_is_of(const struct saved_index *index, const struct stat *copy,
		       const struct stat *file)
{
	const struct saved_record *record = find(index, copy->st_ino);

	return record != NULL && record->ino == file->st_ino;
}

bool saved_index_is_same(const struct saved_index *index, const struct stat *copy,
			 const struct stat *file)
{
	const struct saved_record *record = find(index, copy->st_ino);

	return record != NULL && record->ino == file->st_ino &&
	       record->size == (uint64_t)file->st_size &&
	       record->mtime_ns == ns_of(&file->st_mtim) &&
	       record->ctime_ns == ns_of(&file->st_ctim);
}

int saved_index_load(struct saved_index *index, int store, struct err *err)
{
	AUTO_CLOSE int fd = openat(store, FILE_NAME, O_RDONLY | O_CLOEXEC);
	struct saved_record records[64];
	ssize_t n;

	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(err, "open the index of saved files");
	while ((n = read(fd, records, sizeof(records))) > 0) {
		for (size_t i = 0; i < (size_t)n / sizeof(records[0]); i++) {
			int r = saved_index_put(index, &records[i], err);

			if (r < 0)
				return r;
		}
	}
	index->is_changed = false;
	return n < 0 ? err_sys(err, "read the index of saved files") : 0;
}

int saved_index_store(struct saved_index *index, int store, struct err *err)
{
	AUTO_CLOSE int fd = -1;
	struct saved_record records[64];
	size_t count = 0;
	int r = 0;

	if (!index->is_changed)
		return 0;
	fd = openat(store, FILE_NAME, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(err, "open the index of saved files");
	for (size_t i = 0; r == 0 && i < index->room; i++) {
		if (index->records[i].copy != 0)
			records[count++] = index->records[i];
		if (count == ARRAY_LEN(records)) {
			r = io_write_all(fd, records, sizeof(records), err);
			count = 0;
		}
	}
	if (r == 0)
		r = io_write_all(fd, records, count * sizeof(records[0]), err);
	return r;
}
