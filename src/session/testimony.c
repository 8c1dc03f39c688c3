// SPDX-License-Identifier: Apache-2.0
#include "session/testimony.h"

#include <errno.h>
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"

#define MISSING_MAX 1000U

/* Copies UTF-8 text, cut where a character begins. */
static void copy_text(const char *from, char *to, size_t room)
{
	size_t size = strlen(from);

	if (size >= room) {
		size = room - 1;
		while (size > 0 && ((uint8_t)from[size] & 0xc0) == 0x80)
			size--;
	}
	memcpy(to, from, size);
	to[size] = '\0';
}

void testimony_text(const char *value, size_t size, char *text, size_t room)
{
	json_auto_t *string = json_loadb(value, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);

	text[0] = '\0';
	if (json_is_string(string))
		copy_text(json_string_value(string), text, room);
}

/* Four bytes at most, and valid: json_is_valid has seen them. */
static size_t decode(const uint8_t *bytes, size_t size, uint32_t *ret_code)
{
	size_t length = bytes[0] >= 0xf0 ? 4 : bytes[0] >= 0xe0 ? 3 : 2;
	uint32_t code = bytes[0] & (0xffU >> (length + 1));

	for (size_t i = 1; i < length && i < size; i++)
		code = code << 6 | (bytes[i] & 0x3fU);
	*ret_code = code;
	return length;
}

static int put_code(struct buf *buf, uint32_t code)
{
	if (code < 0x10000)
		return buf_format(buf, "\\u%04x", code);
	code -= 0x10000;
	return buf_format(buf, "\\u%04x\\u%04x", 0xd800 + (code >> 10), 0xdc00 + (code & 0x3ff));
}

int testimony_ascii(struct buf *buf, const char *value, size_t size)
{
	const uint8_t *bytes = (const uint8_t *)value;
	size_t start = 0;
	size_t at = 0;
	int r = 0;

	while (at < size && r == 0) {
		uint32_t code;

		if (bytes[at] >= 0x20 && bytes[at] < 0x80) {
			at++;
			continue;
		}
		r = buf_append(buf, bytes + start, at - start);
		if (r == 0 && bytes[at] < 0x20) {
			/* Only blanks outside strings: inside, JSON allows none of these. */
			r = buf_append(buf, " ", 1);
			at++;
		} else if (r == 0) {
			at += decode(bytes + at, size - at, &code);
			r = put_code(buf, code);
		}
		start = at;
	}
	if (r == 0)
		r = buf_append(buf, bytes + start, at > start ? at - start : 0);
	return r;
}

static void read_missing(const json_t *done, struct testimony_extras *extras)
{
	const json_t *missing = json_object_get(done, "missing");
	const json_t *path = NULL;
	size_t i;

	json_array_foreach(missing, i, path)
	{
		if (i >= MISSING_MAX || !json_is_string(path))
			return;
		if (extras->missing.size > 0)
			(void)buf_text(&extras->missing, ",");
		(void)json_put_string(&extras->missing, json_string_value(path),
				      json_string_length(path));
	}
}

int testimony_read(const void *bytes, size_t size, struct verdict_testimony *testimony,
		   struct testimony_extras *extras, struct err *err)
{
	json_auto_t *done = NULL;
	const json_t *truncated = NULL;
	const char *kind = NULL;
	const char *text = NULL;

	if (size > TESTIMONY_MAX || !json_is_valid(bytes, size))
		return err_set(err, ERR_BAD_REQUEST, EPROTO, "its testimony is no JSON");
	done = json_loadb(bytes, size, JSON_ALLOW_NUL, NULL);
	kind = json_string_value(json_object_get(done, "kind"));
	if (kind == NULL || verdict_claimed(kind, strlen(kind)) == VERDICT_NONE)
		return err_set(err, ERR_BAD_REQUEST, EPROTO, "its testimony claims no known kind");

	testimony->is_given = true;
	testimony->kind = verdict_claimed(kind, strlen(kind));
	testimony->exit_code = (int)(json_integer_value(json_object_get(done, "exit_code")) & 0xff);
	text = json_string_value(json_object_get(done, "message"));
	copy_text(text != NULL ? text : "", testimony->message, sizeof(testimony->message));
	text = json_string_value(json_object_get(done, "remedy"));
	copy_text(text != NULL ? text : "", testimony->remedy, sizeof(testimony->remedy));

	truncated = json_object_get(done, "truncated");
	extras->is_files_cut = json_is_true(json_object_get(truncated, "files"));
	extras->is_result_cut = json_is_true(json_object_get(truncated, "result"));
	read_missing(done, extras);
	return 0;
}
