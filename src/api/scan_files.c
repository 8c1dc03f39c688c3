// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "api/scan.h"
#include "base/c.h"

/* The list of a run's files, looked at as it passes by: what is in a file is not kept here. */

#define LIST_DEPTH 2 /* inside of the list: the body is 1 */
#define ITEM_DEPTH 3
#define DOTS_NONE 9 /* a part of a path that is not of dots alone */

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
	return err_set(err, ERR_BAD_REQUEST, EINVAL, "%s[%llu]%s%s: %s", scan->member->name,
		       (unsigned long long)scan->files.index, member != NULL ? "." : "",
		       member != NULL ? member : "", why);
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
		return refuse(scan, "text", "is required, or base64", err);
	if ((given & GIVEN_TEXT) && (given & GIVEN_BASE64))
		return refuse(scan, "base64", "give this or text", err);
	scan->files.index++;
	scan->files.given = 0;
	return 0;
}

/* A path's part that is ".." leads out; the runner refuses it, but only in the run. */
static int take_path_byte(struct scan *scan, uint8_t byte, struct err *err)
{
	struct scan_files *files = &scan->files;

	if (byte == '/' || byte == '\0') {
		if (files->dots == 2)
			return refuse(scan, "path", "must not contain ..", err);
		files->dots = 0;
	} else {
		files->dots = byte == '.' && files->dots < 3 ? files->dots + 1 : DOTS_NONE;
	}
	return 0;
}

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
		return take_path_byte(scan, '/', err);
	if (files->pads > 2 || (files->digits + files->pads) % 4 != 0)
		return refuse(scan, "base64", "is not base64", err);
	return 0;
}

/* In an element: its names, and that their values are texts. */
static int take_item_step(struct scan *scan, enum walk_step step, const uint8_t *from,
			  const uint8_t *to, struct err *err)
{
	struct scan_files *files = &scan->files;
	bool is_key = scan->walk.is_key;

	if (files->is_at_value && step != WALK_BLANK) {
		files->is_at_value = false;
		if (step != WALK_BEGIN)
			return refuse(scan, files->key, "must be a text", err);
		files->is_in_value = true;
		files->dots = files->digits = files->pads = 0;
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
	/* A step in: of an element it is the brace, of a value anything but a text. */
	if (depth > ITEM_DEPTH)
		return is_open && depth == ITEM_DEPTH + 1
			       ? refuse(scan, scan->files.key, "must be a text", err)
			       : 0;
	if (depth == LIST_DEPTH && step == WALK_CLOSE)
		return end_item(scan, err);
	if (depth == ITEM_DEPTH && is_open && (scan->walk.lists >> (depth - 1) & 1) == 0)
		return 0;
	if (depth < LIST_DEPTH || step == WALK_BLANK || (is_open && depth == LIST_DEPTH))
		return 0;
	return refuse(scan, NULL, "must be an object with path, and text or base64", err);
}
