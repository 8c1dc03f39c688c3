// SPDX-License-Identifier: Apache-2.0
#include "dialect/ending.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

struct span span_member(struct span object, const char *name)
{
	struct span found = {0};

	if (object.size == 0 || object.at[0] != '{' ||
	    !json_find(object.at, object.size, name, &found.at, &found.size))
		return (struct span){0};
	return found;
}

struct escaped span_text(struct span object, const char *name)
{
	struct span found = span_member(object, name);

	return escaped_of(found.at, found.size);
}

static bool is_true(struct span object, const char *name)
{
	struct span found = span_member(object, name);

	return found.size > 0 && found.at[0] == 't';
}

bool ending_read(const char *json, size_t size, struct ending *ret_ending)
{
	struct span whole = {.at = json, .size = size};
	struct span verdict = span_member(whole, "verdict");
	struct span cut = span_member(whole, "truncated");
	struct escaped kind = span_text(verdict, "kind");
	struct span code = span_member(verdict, "exit_code");

	*ret_ending = (struct ending){0};
	if (kind.size == 0 || kind.size >= sizeof(ret_ending->kind))
		return false;
	memcpy(ret_ending->kind, kind.text, kind.size);
	ret_ending->exit_code = code.size > 0 ? (int)strtol(code.at, NULL, 10) : 0;
	ret_ending->out = span_text(whole, "stdout");
	ret_ending->err = span_text(whole, "stderr");
	ret_ending->traceback = span_text(span_member(whole, "error"), "traceback");
	ret_ending->message = span_text(verdict, "message");
	ret_ending->value = span_member(span_member(whole, "result"), "application/json");
	ret_ending->is_out_cut = is_true(cut, "stdout");
	ret_ending->is_err_cut = is_true(cut, "stderr");
	ret_ending->is_value_cut = is_true(cut, "result");
	return true;
}

bool ending_is(const struct ending *ending, const char *kind)
{
	return strcmp(ending->kind, kind) == 0;
}

struct escaped text_of(const char *text)
{
	return (struct escaped){.text = text, .size = strlen(text)};
}

/* One character, both halves of a pair. Returns its bytes in the text. */
static size_t step(struct escaped text, uint32_t *ret_code)
{
	size_t utf8;
	size_t size = escaped_step(text, ret_code, &utf8);
	struct escaped rest = {text.text + size, text.size - size};
	uint32_t low = 0;
	size_t more;

	if (*ret_code < 0xd800 || *ret_code > 0xdbff)
		return size;
	more = escaped_step(rest, &low, &utf8);
	if (more == 0 || low < 0xdc00 || low > 0xdfff)
		return size;
	*ret_code = 0x10000 + ((*ret_code - 0xd800) << 10) + (low - 0xdc00);
	return size + more;
}

struct escaped text_cut(struct escaped text, size_t *chars)
{
	size_t at = 0;
	uint32_t code;

	while (at<text.size && * chars> 0) {
		at += step((struct escaped){text.text + at, text.size - at}, &code);
		(*chars)--;
	}
	return (struct escaped){.text = text.text, .size = at};
}

int texts_put(struct buf *buf, const struct escaped *texts, size_t count, size_t chars)
{
	int r = buf_text(buf, "\"");

	for (size_t i = 0; r == 0 && i < count; i++) {
		struct escaped part = text_cut(texts[i], &chars);

		r = buf_append(buf, part.text, part.size);
	}
	return r < 0 ? r : buf_text(buf, "\"");
}

static int put_code(struct buf *buf, uint32_t code)
{
	uint8_t bytes[4];
	size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

	for (size_t i = n - 1; i > 0; i--) {
		bytes[i] = (uint8_t)(0x80 | (code & 0x3f));
		code >>= 6;
	}
	bytes[0] = (uint8_t)(n == 1 ? code : (0xf00U >> n) | code);
	return buf_append(buf, bytes, n);
}

int text_decode(struct buf *buf, struct escaped text)
{
	int r = 0;

	while (r == 0 && text.size > 0) {
		uint32_t code;
		size_t n = step(text, &code);

		r = put_code(buf, code);
		text.text += n;
		text.size -= n;
	}
	return r;
}
