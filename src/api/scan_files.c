// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "api/scan.h"
#include "base/c.h"

/* The list of a run's files, looked at as it passes by: what is in a file is not kept here. */

#define LIST_DEPTH 2 /* inside of the list: the body is 1 */
#define ITEM_DEPTH 3

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
		return 0;
	}
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
