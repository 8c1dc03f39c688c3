// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "session/run_state.h"

#define WORKSPACE "/workspace/"
#define FILE_DEPTH_MAX 64U /* names in a file's path: as deep as a runner looks */
#define FOLDER_BYTES 4096U /* what a folder counts, of all that the run's files may take */
#define RETURNED_TOTAL_MAX (32ULL * MIB)

/* How many names `path` has below the workspace. */
static size_t depth_of(const char *path)
{
	size_t depth = 1;

	if (strncmp(path, WORKSPACE, strlen(WORKSPACE)) == 0)
		path += strlen(WORKSPACE);
	for (path = strchr(path, '/'); path != NULL; path = strchr(path + 1, '/'))
		depth++;
	return depth;
}

/* How many folders of `path` are not on the way to `before`. A runner sends paths in order: then
 * each folder is counted once. In any other order some are counted again, and none is left out. */
static size_t new_folders(const char *before, const char *path)
{
	size_t count = 0;

	if (before[0] == '\0')
		before = WORKSPACE;
	while (*path != '\0' && *path == *before) {
		path++;
		before++;
	}
	for (; *path != '\0'; path++)
		count += *path == '/';
	return count;
}

static void begin_file(struct run *run, const char *path)
{
	run->file_count++;
	/* An empty file can be deep, and folders are not free to whoever keeps the files. */
	run->file_bytes += new_folders(run->file_path, path) * FOLDER_BYTES;
	(void)snprintf(run->file_path, sizeof(run->file_path), "%s", path);
	buf_consume(&run->returned, run->returned.size);
	run->is_returned = run->is_return_cut = false;
}

/* Keeps the bytes for the event that closes the file. */
static void keep_piece(struct run *run, const void *bytes, size_t size, bool is_last)
{
	if (run->is_returned || buf_append(&run->returned, bytes, size) < 0)
		run->is_return_cut = true;
	run->is_returned = is_last;
}

void run_take_file(struct run *run, const struct frame *frame)
{
	char path[RUN_FILE_PATH_MAX + 1];
	const uint8_t *name = NULL;
	const uint8_t *bytes = NULL;
	size_t name_size = 0;
	size_t size = 0;
	struct err err = {0};
	bool is_last = frame->header.flags & FRAME_FLAG_LAST;

	bool is_wanted = run->want_files && (run->calls.file != NULL || run->returns_files);

	/* After a restart there may be half of one, and nobody to take it. */
	if (!is_wanted && run->log != NULL)
		return;
	if (frame_split(frame, &name, &name_size, &bytes, &size, &err) < 0 || name_size == 0 ||
	    name_size > RUN_FILE_PATH_MAX || memchr(name, '\0', name_size) != NULL) {
		run_break_off(run, "it sent a file without a proper name");
		return;
	}
	if (!is_wanted)
		return;
	memcpy(path, name, name_size);
	path[name_size] = '\0';
	if (depth_of(path) > FILE_DEPTH_MAX) {
		run->is_files_cut = true;
		return;
	}
	if (strcmp(path, run->file_path) != 0)
		begin_file(run, path);
	run->file_bytes += size;
	if (run->file_bytes > run->files_bytes_max || run->file_count > run->files_max) {
		run->is_files_cut = true;
		return;
	}
	if (run->returns_files)
		keep_piece(run, bytes, size, is_last);
	if (run->calls.file != NULL)
		run->calls.file(run->user, path, bytes, size, is_last);
}

/* ---- bytes in the event ---- */

int run_put_base64(struct buf *buf, const uint8_t *data, size_t size)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint8_t *to = NULL;
	int r = buf_reserve(buf, (size + 2) / 3 * 4);

	if (r < 0)
		return r;
	to = buf->data + buf->size;
	for (size_t i = 0; i < size; i += 3) {
		size_t left = size - i;
		uint32_t three = (uint32_t)data[i] << 16 |
				 (left > 1 ? (uint32_t)data[i + 1] << 8 : 0) |
				 (left > 2 ? data[i + 2] : 0);

		*to++ = (uint8_t)digits[three >> 18];
		*to++ = (uint8_t)digits[three >> 12 & 63];
		*to++ = left > 1 ? (uint8_t)digits[three >> 6 & 63] : '=';
		*to++ = left > 2 ? (uint8_t)digits[three & 63] : '=';
	}
	buf->size += (size + 2) / 3 * 4;
	return 0;
}

void run_job_return(struct run *run, const char *path, const char *value, size_t size)
{
	size_t count = 0;

	if (!run->returns_files || size < 2 || size / 4 * 3 > RUN_RETURNED_MAX)
		return;
	begin_file(run, path);
	run->is_returned = true;
	run->is_return_cut = buf_reserve(&run->returned, size) < 0 ||
			     sodium_base642bin(run->returned.data, size, value + 1, size - 2, NULL,
					       &count, NULL, sodium_base64_VARIANT_ORIGINAL) < 0;
	run->returned.size = run->is_return_cut ? 0 : count;
}

/* Are the bytes that came those of the file that this fact is about? */
static bool is_about(const struct run *run, const char *fact, size_t size)
{
	char path[RUN_FILE_PATH_MAX + 1];
	const char *value = NULL;
	size_t value_size = 0;

	if (!run->is_returned || run->is_return_cut ||
	    !json_find(fact, size, "path", &value, &value_size))
		return false;
	testimony_text(value, value_size, path, sizeof(path));
	return strcmp(path, run->file_path) == 0;
}

int run_return_file(struct run *run, const char *fact, size_t size, struct buf *members)
{
	bool is_there = is_about(run, fact, size) &&
			run->returned_total + run->returned.size <= RETURNED_TOTAL_MAX;
	int r;

	/* `members` ends with the fact, an object: into that. */
	while (members->data[members->size - 1] != '}')
		members->size--;
	members->size--;
	r = buf_text(members, members->data[members->size - 1] == '{' ? "" : ",");
	if (r == 0)
		r = buf_text(members, is_there ? "\"base64\":\"" : "\"base64\":null");
	if (r == 0 && is_there)
		r = run_put_base64(members, run->returned.data, run->returned.size);
	if (r == 0 && is_there)
		run->returned_total += run->returned.size;
	buf_consume(&run->returned, run->returned.size);
	run->file_path[0] = '\0';
	run->is_returned = false;
	return r < 0 ? r : buf_text(members, is_there ? "\"}" : "}");
}
