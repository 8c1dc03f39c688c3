// SPDX-License-Identifier: Apache-2.0
#include "door/escaped.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

struct escaped escaped_plain(const char *text)
{
	return (struct escaped){.text = text, .size = strlen(text)};
}

struct escaped escaped_of(struct span value)
{
	if (value.size < 2 || value.at[0] != '"')
		return (struct escaped){"", 0};
	return (struct escaped){value.at + 1, value.size - 2};
}

struct escaped escaped_member(struct span object, const char *name)
{
	return escaped_of(span_member(object, name));
}

static size_t size_of_code(uint32_t code)
{
	if (code < 0x80)
		return 1;
	if (code < 0x800 || (code >= 0xd800 && code < 0xe000))
		return 2;
	return 3;
}

static uint32_t short_escape(char letter)
{
	static const char letters[] = "bfnrt";
	static const char meant[] = "\b\f\n\r\t";
	const char *found = strchr(letters, letter);

	return (uint8_t)(found != NULL ? meant[found - letters] : letter);
}

/* Returns the size in `text` of its first character, and in *ret_utf8 the UTF-8 bytes it stands for
 * (2 for each half of a surrogate pair). 0 at the end. */
static size_t escaped_step(struct escaped text, uint32_t *ret_code, size_t *ret_utf8)
{
	char digits[5] = "";
	uint8_t first;

	if (text.size == 0)
		return 0;
	first = (uint8_t)text.text[0];
	*ret_code = first;
	*ret_utf8 = 1;
	if (first != '\\' || text.size < 2)
		return 1;
	if (text.text[1] != 'u' || text.size < 6) {
		*ret_code = short_escape(text.text[1]);
		return 2;
	}
	memcpy(digits, text.text + 2, 4);
	*ret_code = (uint32_t)strtoul(digits, NULL, 16);
	*ret_utf8 = size_of_code(*ret_code);
	return 6;
}

static struct escaped behind(struct escaped text, size_t size)
{
	return (struct escaped){text.text + size, text.size - size};
}

uint64_t escaped_utf8(struct escaped text)
{
	uint64_t total = 0;
	uint32_t code = 0;
	size_t utf8 = 0;
	size_t n;

	while ((n = escaped_step(text, &code, &utf8)) > 0) {
		total += utf8;
		text = behind(text, n);
	}
	return total;
}

static bool is_blank(uint32_t code)
{
	return (code >= 0x09 && code <= 0x0d) || (code >= 0x1c && code <= 0x20) || code == 0x85 ||
	       code == 0xa0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200a) ||
	       code == 0x2028 || code == 0x2029 || code == 0x202f || code == 0x205f ||
	       code == 0x3000;
}

struct escaped escaped_trim(struct escaped text)
{
	struct escaped rest = text;
	const char *first = NULL;
	const char *last = text.text;
	uint32_t code = 0;
	size_t utf8 = 0;
	size_t n;

	while ((n = escaped_step(rest, &code, &utf8)) > 0) {
		if (!is_blank(code)) {
			first = first != NULL ? first : rest.text;
			last = rest.text + n;
		}
		rest = behind(rest, n);
	}
	if (first == NULL)
		return (struct escaped){text.text, 0};
	return (struct escaped){first, (size_t)(last - first)};
}

struct escaped escaped_cut(struct escaped text, size_t count)
{
	struct escaped rest = text;
	const char *end = text.text;
	uint32_t code = 0;
	size_t utf8 = 0;
	size_t n;

	for (size_t i = 0; i < count && (n = escaped_step(rest, &code, &utf8)) > 0; i++) {
		rest = behind(rest, n);
		/* Never cut between the two halves of a surrogate pair. */
		if (code < 0xd800 || code >= 0xdc00)
			end = rest.text;
	}
	return (struct escaped){text.text, (size_t)(end - text.text)};
}

struct escaped escaped_line(struct escaped text)
{
	struct escaped rest = text;
	uint32_t code = 0;
	size_t utf8 = 0;
	size_t n;

	while ((n = escaped_step(rest, &code, &utf8)) > 0) {
		rest = behind(rest, n);
		if (code == '\n')
			return (struct escaped){text.text, (size_t)(rest.text - text.text)};
	}
	return (struct escaped){text.text, 0};
}

bool escaped_is(struct escaped text, const char *plain)
{
	return text.size == strlen(plain) && memcmp(text.text, plain, text.size) == 0;
}

/* ---- whole characters ---- */

/* One character, or a whole surrogate pair. Returns its size in the text. */
static size_t step_whole(struct escaped text, uint32_t *ret_code)
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

struct escaped escaped_cut_whole(struct escaped text, size_t *count)
{
	size_t at = 0;
	uint32_t code;

	while (at<text.size && * count> 0) {
		at += step_whole((struct escaped){text.text + at, text.size - at}, &code);
		(*count)--;
	}
	return (struct escaped){.text = text.text, .size = at};
}

int escaped_put(struct buf *buf, const struct escaped *texts, size_t text_count, size_t count)
{
	buf_text(buf, "\"");
	for (size_t i = 0; i < text_count; i++) {
		struct escaped part = texts[i];

		if (count != SIZE_MAX)
			part = escaped_cut_whole(part, &count);

		buf_append(buf, part.text, part.size);
	}
	buf_text(buf, "\"");
	return buf->failed;
}

int escaped_decode(struct buf *buf, struct escaped text)
{
	while (text.size > 0) {
		uint8_t bytes[4];
		uint32_t code;
		size_t n = step_whole(text, &code);

		buf_append(buf, bytes, utf8_encode(code, bytes));
		text.text += n;
		text.size -= n;
	}
	return buf->failed;
}
