// SPDX-License-Identifier: Apache-2.0
#include "session/testimony.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "base/utf8.h"
#include "session/shape.h"

#define TEXT_MAX (64U << 10) /* longer texts are not read */
#define REPLACEMENT 0xfffdU

/* ---- JSON strings, all valid: json_is_valid has checked them ---- */

/* The number in "\uXXXX" at `text`, or 0 if there is none. */
static uint32_t unit_at(const char *text, size_t size)
{
	char digits[5] = "";

	if (size < 6 || text[0] != '\\' || text[1] != 'u')
		return 0;
	memcpy(digits, text + 2, 4);
	return (uint32_t)strtoul(digits, NULL, 16);
}

static int put_unit(struct buf *buf, const char *text, size_t size, size_t *ret_used)
{
	uint8_t bytes[4];
	uint32_t code = unit_at(text, size);
	uint32_t low = unit_at(text + 6, size - 6);

	*ret_used = 6;
	if (code >= 0xd800 && code < 0xdc00 && low >= 0xdc00 && low < 0xe000) {
		*ret_used = 12;
		code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
	} else if (code >= 0xd800 && code < 0xe000) {
		code = REPLACEMENT;
	}
	return buf_append(buf, bytes, utf8_encode(code, bytes));
}

static int put_escape(struct buf *buf, const char *text, size_t size, size_t *ret_used)
{
	static const char names[] = "bfnrt";
	static const char means[] = "\b\f\n\r\t";
	const char *name = memchr(names, text[1], sizeof(names) - 1);

	if (text[1] == 'u' && size >= 6)
		return put_unit(buf, text, size, ret_used);
	*ret_used = 2;
	return buf_append(buf, name != NULL ? &means[name - names] : &text[1], 1);
}

int testimony_decode(struct buf *buf, const char *value, size_t size)
{
	size_t at = 1;
	int r = 0;

	if (size < 2 || value[0] != '"')
		return -EINVAL;
	size--; /* the closing quote */
	while (at < size && r == 0) {
		const char *escape = memchr(value + at, '\\', size - at);
		size_t plain = escape != NULL ? (size_t)(escape - value) - at : size - at;
		size_t used = 0;

		r = buf_append(buf, value + at, plain);
		at += plain;
		if (r == 0 && at + 1 < size)
			r = put_escape(buf, value + at, size - at, &used);
		at += used > 0 ? used : 1;
	}
	return r;
}

void testimony_text(const char *value, size_t size, char *text, size_t room)
{
	struct buf buf;
	size_t taken = 0;

	text[0] = '\0';
	if (size > TEXT_MAX)
		return;
	buf_init(&buf, 4UL * TEXT_MAX);
	if (testimony_decode(&buf, value, size) == 0 && buf.size > 0) {
		taken = strlen(buf_string(&buf));
		if (taken >= room)
			taken = utf8_cut(buf.data, room - 1);
		memcpy(text, buf.data, taken);
		text[taken] = '\0';
	}
	buf_done(&buf);
}

/* ---- passing on ---- */

/* The size of valid JSON as testimony_ascii writes it. */
static size_t ascii_size(const uint8_t *bytes, size_t size)
{
	size_t total = 0;

	for (size_t i = 0; i < size; i++) {
		if (bytes[i] >= 0xc0)
			total += bytes[i] >= 0xf0 ? 12 : 6; /* \uXXXX, or two of them */
		else if (!utf8_is_inside(bytes[i]))
			total += bytes[i] == 0x7f ? 6 : 1;
	}
	return total;
}

int testimony_ascii(struct buf *buf, const char *value, size_t size)
{
	const uint8_t *bytes = (const uint8_t *)value;
	size_t start = 0;
	size_t at = 0;
	/* A text that does not fit costs one look at its bytes. */
	int r = buf_reserve(buf, ascii_size(bytes, size));

	while (at < size && r == 0) {
		uint32_t code;

		if (bytes[at] >= 0x20 && bytes[at] < 0x7f) {
			at++;
			continue;
		}
		r = buf_append(buf, bytes + start, at - start);
		if (r == 0 && bytes[at] < 0x20) {
			/* These are blanks outside of strings: JSON allows none of them inside. */
			r = buf_append(buf, " ", 1);
			at++;
		} else if (r == 0 && bytes[at] == 0x7f) {
			r = json_put_point(buf, 0x7f);
			at++;
		} else if (r == 0) {
			size_t n = utf8_decode(bytes + at, size - at, &code);

			r = json_put_point(buf, n > 0 ? code : REPLACEMENT);
			at += n > 0 ? n : 1;
		}
		start = at;
	}
	if (r == 0 && at > start)
		r = buf_append(buf, bytes + start, at - start);
	return r;
}

/* ---- DONE ---- */

enum done_member {
	DONE_KIND,
	DONE_EXIT_CODE,
	DONE_MESSAGE,
	DONE_REMEDY,
	DONE_TRUNCATED,
	DONE_FILES_DIRTY,
	DONE_BLOCKED,
	DONE_MISSING,
	DONE_LEFT_OUT,
	DONE_FAILED,
	DONE_COUNT,
};

static const char *const done_names[DONE_COUNT] = {
	[DONE_KIND] = "kind",           [DONE_EXIT_CODE] = "exit_code",
	[DONE_MESSAGE] = "message",     [DONE_REMEDY] = "remedy",
	[DONE_TRUNCATED] = "truncated", [DONE_FILES_DIRTY] = "files_dirty",
	[DONE_BLOCKED] = "blocked",     [DONE_MISSING] = "missing",
	[DONE_LEFT_OUT] = "left_out",   [DONE_FAILED] = "failed",
};

/* Finds all members in one pass; the first with a name wins. */
static void find_members(const char *done, size_t size, struct json_member found[DONE_COUNT])
{
	struct json_member member = {0};

	while (json_next(done, size, &member)) {
		size_t i = 0;

		while (i < DONE_COUNT && !json_is_named(&member, done_names[i]))
			i++;
		if (i < DONE_COUNT && found[i].value == NULL)
			found[i] = member;
	}
}

static bool is_true(const char *value, size_t size)
{
	return size == 4 && memcmp(value, "true", 4) == 0;
}

static bool has_true(const struct json_member *object, const char *name)
{
	const char *value = NULL;
	size_t size = 0;

	return json_find(object->value, object->size, name, &value, &size) && is_true(value, size);
}

static int read_exit_code(const struct json_member *member)
{
	char digits[16] = "";

	if (member->value == NULL || member->size >= sizeof(digits))
		return 0;
	memcpy(digits, member->value, member->size);
	return (int)(strtol(digits, NULL, 10) & 0xff);
}

static void read_text(const struct json_member *member, char *text, size_t room)
{
	text[0] = '\0';
	if (member->value != NULL)
		testimony_text(member->value, member->size, text, room);
}

/* Appends the text between the brackets of a list of texts; nothing for any other value. */
static void read_texts(const struct json_member *member, struct buf *list)
{
	if (member->value != NULL &&
	    shape_fits("text[]", strlen("text[]"), member->value, member->size))
		(void)testimony_ascii(list, member->value + 1, member->size - 2);
}

static void read_extras(const struct json_member found[DONE_COUNT], struct testimony_extras *extras)
{
	const struct json_member *truncated = &found[DONE_TRUNCATED];
	char failed[8];

	if (truncated->value != NULL && truncated->value[0] == '{') {
		extras->is_files_cut = has_true(truncated, "files");
		extras->is_result_cut = has_true(truncated, "result");
	}
	extras->is_files_dirty =
		is_true(found[DONE_FILES_DIRTY].value, found[DONE_FILES_DIRTY].size);
	read_text(&found[DONE_BLOCKED], extras->blocker, sizeof(extras->blocker));
	read_text(&found[DONE_FAILED], failed, sizeof(failed));
	extras->failed = strcmp(failed, "start") == 0 ? FAILED_START
			 : strcmp(failed, "end") == 0 ? FAILED_END
						      : FAILED_NOT;
	read_texts(&found[DONE_MISSING], &extras->missing);
	read_texts(&found[DONE_LEFT_OUT], &extras->left_out);
}

int testimony_read(const void *bytes, size_t size, struct verdict_testimony *testimony,
		   struct testimony_extras *extras, struct err *err)
{
	struct json_member found[DONE_COUNT] = {0};
	const char *done = bytes;
	char kind[32];

	if (size > TESTIMONY_MAX || !json_is_valid(bytes, size) || done[0] != '{')
		return err_set(err, ERR_BAD_REQUEST, EPROTO,
			       "the runner's testimony is not a JSON object");
	find_members(done, size, found);
	read_text(&found[DONE_KIND], kind, sizeof(kind));
	if (verdict_claimed(kind, strlen(kind)) == VERDICT_NONE)
		return err_set(err, ERR_BAD_REQUEST, EPROTO,
			       "the runner's testimony has no known kind");

	testimony->is_given = true;
	testimony->kind = verdict_claimed(kind, strlen(kind));
	testimony->exit_code = read_exit_code(&found[DONE_EXIT_CODE]);
	read_text(&found[DONE_MESSAGE], testimony->message, sizeof(testimony->message));
	read_text(&found[DONE_REMEDY], testimony->remedy, sizeof(testimony->remedy));
	read_extras(found, extras);
	return 0;
}
