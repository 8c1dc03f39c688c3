// SPDX-License-Identifier: Apache-2.0
#include "document/vault_text.h"

#include <errno.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"

/* ---- indentation ---- */

struct indent {
	struct buf *buf;
	size_t depth;
};

static bool is_blank(uint8_t byte)
{
	return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

static int new_line(struct indent *indent)
{
	static const char blanks[2 * JSON_DEPTH_MAX + 1] = {[0 ... 2 * JSON_DEPTH_MAX - 1] = ' '};
	int r = buf_text(indent->buf, "\n");

	return r < 0 ? r : buf_append(indent->buf, blanks, 2 * indent->depth);
}

/* The place behind the string that starts at `at`. */
static const uint8_t *string_end(const uint8_t *at)
{
	for (at++; *at != '"'; at++)
		at += *at == '\\';
	return at + 1;
}

/* Appends a bracket, comma or colon. `next` is the first byte behind it that is no blank. */
static int put_mark(struct indent *indent, uint8_t mark, uint8_t next)
{
	bool opens = mark == '{' || mark == '[';
	bool closes = mark == '}' || mark == ']';
	int r;

	if (closes) {
		bool is_empty = indent->buf->data[indent->buf->size - 1] == '{' ||
				indent->buf->data[indent->buf->size - 1] == '[';

		indent->depth--;
		r = is_empty ? 0 : new_line(indent);
		return r < 0 ? r : buf_append(indent->buf, &mark, 1);
	}
	r = buf_append(indent->buf, &mark, 1);
	if (r < 0)
		return r;
	if (mark == ':')
		return buf_text(indent->buf, " ");
	indent->depth += opens;
	return opens && (next == '}' || next == ']') ? 0 : new_line(indent);
}

static int put_indented(const uint8_t *at, const uint8_t *end, struct buf *buf)
{
	struct indent indent = {.buf = buf};
	int r = 0;

	while (r == 0 && at < end) {
		const uint8_t *start = at;

		if (is_blank(*at)) {
			at++;
			continue;
		}
		if (*at == '"') {
			at = string_end(at);
			r = buf_append(buf, start, (size_t)(at - start));
		} else if (strchr("{}[],:", *at) != NULL) {
			for (at++; at < end && is_blank(*at);)
				at++;
			r = put_mark(&indent, *start, at < end ? *at : 0);
		} else {
			while (at < end && !is_blank(*at) && strchr("{}[],:", *at) == NULL)
				at++;
			r = buf_append(buf, start, (size_t)(at - start));
		}
	}
	return r;
}

int vault_indent(const void *json, size_t size, struct buf *buf)
{
	size_t before = buf->size;
	int r;

	if (!json_is_valid(json, size))
		return -EINVAL;
	r = put_indented(json, (const uint8_t *)json + size, buf);
	if (r < 0)
		buf_cut(buf, before);
	return r;
}

/* ---- merging ---- */

static int put_value(struct buf *buf, const json_t *value);

static int put_string(struct buf *buf, const char *text, size_t size)
{
	buf_text(buf, "\"");
	for (size_t i = 0; i < size; i++) {
		uint8_t byte = (uint8_t)text[i];

		if (byte < 0x20)
			buf_format(buf, "\\u%04x", byte);
		else if (byte == '"' || byte == '\\')
			buf_format(buf, "\\%c", byte);
		else
			buf_append(buf, &byte, 1);
	}
	buf_text(buf, "\"");
	return buf->failed;
}

/* Appends the shortest text that reads back as this number: 0.1 stays 0.1. */
static int put_real(struct buf *buf, double number)
{
	char text[40] = "";

	for (int digits = 15; digits <= 17; digits++) {
		(void)snprintf(text, sizeof(text), "%.*g", digits, number);
		if (strtod(text, NULL) == number)
			break;
	}
	return buf_format(buf, "%s%s", text, strpbrk(text, ".e") == NULL ? ".0" : "");
}

static int put_object(struct buf *buf, const json_t *object)
{
	const char *lead = "{";

	/* jansson's iterators take no const, though they change nothing. */
	for (void *at = json_object_iter((json_t *)(uintptr_t)object); at != NULL;
	     at = json_object_iter_next((json_t *)(uintptr_t)object, at)) {
		const char *key = json_object_iter_key(at);

		buf_text(buf, lead);
		put_string(buf, key, strlen(key));
		buf_text(buf, ":");
		if (put_value(buf, json_object_iter_value(at)) < 0)
			return buf->failed;
		lead = ",";
	}
	return buf_text(buf, lead[0] == '{' ? "{}" : "}");
}

static int put_array(struct buf *buf, const json_t *array)
{
	buf_text(buf, "[");
	for (size_t i = 0; i < json_array_size(array); i++) {
		buf_text(buf, i > 0 ? "," : "");
		if (put_value(buf, json_array_get(array, i)) < 0)
			return buf->failed;
	}
	return buf_text(buf, "]");
}

static int put_value(struct buf *buf, const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return put_object(buf, value);
	case JSON_ARRAY:
		return put_array(buf, value);
	case JSON_STRING:
		return put_string(buf, json_string_value(value), json_string_length(value));
	case JSON_INTEGER:
		return buf_format(buf, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	case JSON_REAL:
		return put_real(buf, json_real_value(value));
	case JSON_TRUE:
		return buf_text(buf, "true");
	case JSON_FALSE:
		return buf_text(buf, "false");
	case JSON_NULL:
	default:
		return buf_text(buf, "null");
	}
}

static int load(const void *text, size_t size, const char *what, json_t **ret_json, struct err *err)
{
	json_error_t why;

	if (size > VAULT_MERGE_MAX)
		return err_set(err, ERR_TOO_LARGE, EFBIG,
			       "%s is too large to merge: above %u bytes", what, VAULT_MERGE_MAX);
	if (!json_is_valid(text, size))
		return err_set(err, ERR_BAD_REQUEST, EINVAL, "%s is not valid JSON", what);
	*ret_json = json_loadb(text, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, &why);
	if (*ret_json == NULL)
		return err_set(err, ERR_BAD_REQUEST, EINVAL, "%s cannot be merged: %.120s", what,
			       why.text);
	return 0;
}

int vault_merge(const void *into, size_t into_size, const void *patch, size_t patch_size,
		struct buf *buf, struct err *err)
{
	json_auto_t *base = NULL;
	json_auto_t *more = NULL;
	AUTO_BUF struct buf flat = {.max = buf->max};
	int r = load(into, into_size, "File", &base, err);

	if (r == 0)
		r = load(patch, patch_size, "merge value", &more, err);
	if (r < 0)
		return r;
	if (json_is_object(base) && json_is_object(more))
		r = json_object_update_recursive(base, more);
	else if (json_is_array(base) && json_is_array(more))
		r = json_array_extend(base, more);
	else
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "Cannot merge: both must be objects, or both lists");
	if (r < 0)
		return err_set(err, ERR_INTERNAL, ENOMEM, "the merge failed");

	r = put_value(&flat, base);
	if (r == 0)
		r = vault_indent(flat.data, flat.size, buf);
	if (r < 0)
		return err_set(err, ERR_TOO_LARGE, EFBIG, "what comes out is too large");
	return 0;
}

/* ---- text ---- */

int vault_replace(const void *text, size_t size, const void *find, size_t find_size, const void *by,
		  size_t by_size, struct buf *buf, struct err *err)
{
	const char *start = size > 0 ? text : "";
	const char *hit = find_size > 0 ? memmem(start, size, find, find_size) : start;
	size_t before;

	if (hit == NULL)
		return err_set(err, ERR_BAD_REQUEST, ENOENT, "the text is not in the file");
	before = (size_t)(hit - start);
	if (buf_append(buf, start, before) < 0 || buf_append(buf, by, by_size) < 0 ||
	    buf_append(buf, start + before + find_size, size - before - find_size) < 0)
		return err_set(err, ERR_TOO_LARGE, EFBIG, "what comes out is too large");
	return 0;
}
