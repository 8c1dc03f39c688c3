// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "api/scan.h"
#include "base/c.h"

/* Checks the list of a run's files as it passes by; the contents of files are not kept here. */

#define LIST_DEPTH 2 /* inside the list: the body is 1 */
#define ITEM_DEPTH 3
#define SHOWN_MAX 80U
#define WORKSPACE "workspace" /* the first part of an absolute path */

enum given {
	GIVEN_PATH = 1,
	GIVEN_TEXT = 2,
	GIVEN_BASE64 = 4,
};

static const struct {
	const char *name;
	enum given bit;
} known[] = {{"path", GIVEN_PATH}, {"text", GIVEN_TEXT}, {"base64", GIVEN_BASE64}};

static int refuse(const struct scan *scan, const char *member, const char *why, struct err *err)
{
	char name[3 * PARAM_NAME_MAX];

	(void)snprintf(name, sizeof(name), "%s[%llu]%s%s", scan->member->name,
		       (unsigned long long)scan->files.index, member != NULL ? "." : "",
		       member != NULL ? member : "");
	return err_field(err, ERR_BAD_REQUEST, EINVAL, name, "%s", why);
}

static void add_to_key(struct scan_files *files, const uint8_t *bytes, size_t size)
{
	size_t room = sizeof(files->key) - 1 - files->key_size;
	size_t n = size < room ? size : room;

	memcpy(files->key + files->key_size, bytes, n);
	files->key_size += n;
	files->key[files->key_size] = '\0';
}

static int end_key(struct scan *scan, struct err *err)
{
	struct scan_files *files = &scan->files;

	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (strcmp(files->key, known[i].name) != 0 || strlen(files->key) != files->key_size)
			continue;
		if (files->given & known[i].bit)
			return refuse(scan, files->key, "given twice", err);
		files->given |= known[i].bit;
		files->is_at_value = true;
		return 0;
	}
	return refuse(scan, files->key,
		      "there is no such field; a file has path, and text or base64", err);
}

static int end_item(struct scan *scan, struct err *err)
{
	unsigned given = scan->files.given;

	if (!(given & GIVEN_PATH))
		return refuse(scan, "path", "is required", err);
	if (!(given & (GIVEN_TEXT | GIVEN_BASE64)))
		return refuse(scan, "text", "is required, unless base64 is given", err);
	if ((given & GIVEN_TEXT) && (given & GIVEN_BASE64))
		return refuse(scan, "base64", "give either this or text", err);
	scan->files.index++;
	scan->files.given = 0;
	if (scan->files.index > SCAN_FILES_MAX)
		return err_field(err, ERR_TOO_LARGE, E2BIG, scan->member->name,
				 "more than %u files; give an archive", SCAN_FILES_MAX);
	return 0;
}

/* ---- paths ---- */

static int take_path_byte(struct scan *scan, uint8_t byte, struct err *err)
{
	struct scan_files *files = &scan->files;

	if (byte == '\0')
		return refuse(scan, "path", "must not contain NUL", err);
	if (files->path_size == SCAN_PATH_MAX)
		return refuse(scan, "path", "is too long", err);
	files->path[files->path_size++] = (char)byte;
	return 0;
}

/* Rewrites a path in place as the runner resolves it: below the workspace, without "" and ".".
 * The runner refuses the same paths, but only in the run. */
static int resolve_path(struct scan *scan, size_t *ret_size, struct err *err)
{
	struct scan_files *files = &scan->files;
	bool is_at_root = files->path[0] == '/';
	size_t size = 0;

	for (size_t at = 0, n; at < files->path_size; at += n + 1) {
		const char *part = files->path + at;
		const char *slash = memchr(part, '/', files->path_size - at);

		n = slash != NULL ? (size_t)(slash - part) : files->path_size - at;
		if (n == 0 || (n == 1 && part[0] == '.'))
			continue;
		if (n == 2 && memcmp(part, "..", 2) == 0)
			return refuse(scan, "path", "must not contain ..", err);
		if (is_at_root && (n != strlen(WORKSPACE) || memcmp(part, WORKSPACE, n) != 0))
			return refuse(scan, "path", "must be relative, or below /workspace", err);
		if (is_at_root) {
			is_at_root = false;
			continue;
		}
		if (size > 0)
			files->path[size++] = '/';
		memmove(files->path + size, part, n);
		size += n;
	}
	*ret_size = size;
	return 0;
}

static int keep_path(struct scan *scan, uint64_t sum, struct err *err)
{
	int r = scan_seen_add(&scan->files.seen, sum);

	if (r == -E2BIG)
		return err_field(err, ERR_TOO_LARGE, E2BIG, scan->member->name,
				 "more than %u files and folders; give an archive", SCAN_SEEN_MAX);
	return r < 0 ? err_set(err, ERR_INTERNAL, ENOMEM, "no memory for the names of files") : 0;
}

/* The sum of a folder, from the sum that a file of the same path would have. */
static uint64_t folder_sum(uint64_t sum)
{
	return ~sum;
}

/* Refuses a path if an earlier file has it, is above it or is below it. A path without "" and "."
 * is expected. */
static int note_path(struct scan *scan, size_t size, struct err *err)
{
	struct scan_files *files = &scan->files;
	uint64_t sum = 0;
	char why[128];
	int r;

	for (size_t at = 0, end = 0; end < size; at = end + 1) {
		const char *slash = memchr(files->path + at, '/', size - at);

		end = slash != NULL ? (size_t)(slash - files->path) : size;
		sum = scan_sum(scan, sum, files->path + at, end - at);
		if (end < size && scan_seen_has(&files->seen, sum)) {
			(void)snprintf(why, sizeof(why), "'%.*s' is a file, not a folder",
				       (int)(end < SHOWN_MAX ? end : SHOWN_MAX), files->path);
			return refuse(scan, "path", why, err);
		}
		r = end < size ? keep_path(scan, folder_sum(sum), err) : 0;
		if (r < 0)
			return r;
	}
	if (scan_seen_has(&files->seen, sum))
		return refuse(scan, "path", "an earlier file has the same path", err);
	if (scan_seen_has(&files->seen, folder_sum(sum)))
		return refuse(scan, "path", "is a folder, because an earlier file is below it",
			      err);
	return keep_path(scan, sum, err);
}

static int end_path(struct scan *scan, struct err *err)
{
	struct scan_files *files = &scan->files;
	size_t size = files->path_size;
	bool is_folder = size > 0 && files->path[size - 1] == '/';
	int r;

	if (size == 0)
		return refuse(scan, "path", "is empty", err);
	r = resolve_path(scan, &size, err);
	if (r < 0)
		return r;
	if (is_folder || size == 0)
		return refuse(scan, "path", "names a folder, not a file", err);
	return note_path(scan, size, err);
}

/* ---- contents ---- */

/* RFC 4648, section 4, without line ends. */
static int take_base64_byte(struct scan *scan, uint8_t byte, struct err *err)
{
	struct scan_files *files = &scan->files;
	bool is_digit = (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
			(byte >= '0' && byte <= '9') || byte == '+' || byte == '/';

	if (!(is_digit && files->pads == 0) && byte != '=')
		return refuse(scan, "base64", "is not base64", err);
	files->digits += is_digit ? 1 : 0;
	files->pads += is_digit ? 0 : 1;
	return 0;
}

static int take_value(struct scan *scan, const uint8_t *bytes, size_t size, struct err *err)
{
	bool is_path = strcmp(scan->files.key, "path") == 0;
	int r = 0;

	if (!is_path && strcmp(scan->files.key, "base64") != 0)
		return 0;
	for (size_t i = 0; r == 0 && i < size; i++)
		r = is_path ? take_path_byte(scan, bytes[i], err)
			    : take_base64_byte(scan, bytes[i], err);
	return r;
}

static int take_value_step(struct scan *scan, enum walk_step step, const uint8_t *from,
			   const uint8_t *to, struct err *err)
{
	struct scan_files *files = &scan->files;

	if (step == WALK_RUN)
		return take_value(scan, from, (size_t)(to - from), err);
	if (step == WALK_ESCAPE)
		return take_value(scan, scan->walk.chars, scan->walk.char_count, err);
	if (step != WALK_END)
		return 0;
	files->is_in_value = false;
	if (strcmp(files->key, "path") == 0)
		return end_path(scan, err);
	if (files->pads > 2 || (files->digits + files->pads) % 4 != 0)
		return refuse(scan, "base64", "is not base64", err);
	return 0;
}

/* A step inside an element: checks its names, and that their values are strings. */
static int take_item_step(struct scan *scan, enum walk_step step, const uint8_t *from,
			  const uint8_t *to, struct err *err)
{
	struct scan_files *files = &scan->files;
	bool is_key = scan->walk.is_key;

	if (files->is_at_value && step != WALK_BLANK) {
		files->is_at_value = false;
		if (step != WALK_BEGIN)
			return refuse(scan, files->key, "must be a string", err);
		files->is_in_value = true;
		files->digits = files->pads = files->path_size = 0;
		return 0;
	}
	if (files->is_in_value)
		return take_value_step(scan, step, from, to, err);
	if (!is_key)
		return 0;
	if (step == WALK_BEGIN)
		files->key_size = 0;
	else if (step == WALK_RUN)
		add_to_key(files, from, (size_t)(to - from));
	else if (step == WALK_ESCAPE)
		add_to_key(files, scan->walk.chars, scan->walk.char_count);
	else if (step == WALK_END)
		return end_key(scan, err);
	return 0;
}

int scan_files_step(struct scan *scan, enum walk_step step, const uint8_t *from, const uint8_t *to,
		    struct err *err)
{
	size_t depth = scan->walk.depth;
	bool is_open = step == WALK_OPEN;

	if (depth == ITEM_DEPTH && !is_open)
		return take_item_step(scan, step, from, to, err);
	/* Below an element, only a value can open something, and that is no string. */
	if (depth > ITEM_DEPTH)
		return is_open && depth == ITEM_DEPTH + 1
			       ? refuse(scan, scan->files.key, "must be a string", err)
			       : 0;
	if (depth == LIST_DEPTH && step == WALK_CLOSE)
		return end_item(scan, err);
	if (depth == ITEM_DEPTH && is_open && (scan->walk.lists >> (depth - 1) & 1) == 0)
		return 0;
	if (depth < LIST_DEPTH || step == WALK_BLANK || (is_open && depth == LIST_DEPTH))
		return 0;
	return refuse(scan, NULL, "must be an object with path, and text or base64", err);
}

void scan_files_done(struct scan_files *files)
{
	scan_seen_done(&files->seen);
	*files = (struct scan_files){0};
}
