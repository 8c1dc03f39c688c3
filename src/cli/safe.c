// SPDX-License-Identifier: Apache-2.0
#include "cli/safe.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "base/utf8.h"
#include "cli/screen.h"

#define PICTURE 0xfe0fU /* variation selector 16: the character before it is an emoji */

struct range {
	uint32_t first, last;
};

/* Characters that are invisible or reverse the text around them: Unicode's controls, formats,
 * spaces other than U+0020, default-ignorable and private characters. The page has the same table,
 * in web/src/panels/unseen.ts; tests/style compares them. */
static const struct range unseen[] = {
	{0xa0, 0xa0},       {0xad, 0xad},       {0x34f, 0x34f},     {0x600, 0x605},
	{0x61c, 0x61c},     {0x6dd, 0x6dd},     {0x70f, 0x70f},     {0x890, 0x891},
	{0x8e2, 0x8e2},     {0x115f, 0x1160},   {0x1680, 0x1680},   {0x17b4, 0x17b5},
	{0x180b, 0x180f},   {0x2000, 0x200f},   {0x2028, 0x202f},   {0x205f, 0x206f},
	{0x2800, 0x2800},   {0x3000, 0x3000},   {0x3164, 0x3164},   {0xe000, 0xf8ff},
	{0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},   {0xfff0, 0xfffb},
	{0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3},
	{0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}, {0xf0000, 0xffffd}, {0x100000, 0x10fffd},
};

/* Characters that may be emoji, by their blocks. */
static const struct range pictures[] = {
	{0xa9, 0xa9},     {0xae, 0xae},     {0x203c, 0x203c}, {0x2049, 0x2049},
	{0x2122, 0x2122}, {0x2139, 0x2139}, {0x2194, 0x21aa}, {0x231a, 0x23ff},
	{0x24c2, 0x24c2}, {0x25aa, 0x25fe}, {0x2600, 0x27bf}, {0x2934, 0x2935},
	{0x2b05, 0x2b55}, {0x3030, 0x303d}, {0x3297, 0x3299}, {0x1f000, 0x1faff},
};

static bool is_in(uint32_t character, const struct range *ranges, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (character >= ranges[i].first && character <= ranges[i].last)
			return true;
	}
	return false;
}

static bool is_unseen(uint32_t character, uint32_t before)
{
	return is_in(character, unseen, ARRAY_LEN(unseen)) &&
	       !(character == PICTURE && is_in(before, pictures, ARRAY_LEN(pictures)));
}

void safe_put(struct buf *buf, const char *text, size_t size)
{
	struct screen screen = {0};
	size_t length = 0;
	uint32_t before = 0;

	for (size_t i = 0; i < size; i += length) {
		unsigned char byte = (unsigned char)text[i];
		uint32_t character = 0;

		length = utf8_decode(text + i, size - i, &character);
		length = length > 0 ? length : 1;
		if (byte >= 0x20 && !is_unseen(character, before)) {
			(void)screen_put(&screen, text + i, length, buf);
			before = character;
			continue;
		}
		before = 0;
		(void)screen_end(&screen, buf);
		if (length == 1)
			(void)buf_format(buf, "\\x%02x", byte);
		else
			(void)buf_format(buf, character > 0xffff ? "\\U%08x" : "\\u%04x",
					 character);
	}
	(void)screen_end(&screen, buf);
}

void safe_print(FILE *out, const char *text)
{
	struct buf line;

	buf_init(&line, 4 * strlen(text) + 1);
	safe_put(&line, text, strlen(text));
	(void)fputs(buf_string(&line), out);
	buf_done(&line);
}

void safe_real(char text[SAFE_REAL_SIZE], double number)
{
	double size = fabs(number);
	int precision = size >= 1e-4 && size < 1e15 ? 15 : 1; /* %g uses no exponent there */

	do {
		(void)snprintf(text, SAFE_REAL_SIZE, "%.*g", precision, number);
	} while (precision++ < 17 && strtod(text, NULL) != number);
	if (strpbrk(text, ".e") == NULL)
		memcpy(text + strlen(text), ".0", sizeof(".0")); /* 2.0, not the integer 2 */
}

void safe_put_value(struct buf *buf, const json_t *value)
{
	size_t count = json_is_array(value) ? json_array_size(value) : json_object_size(value);
	char real[SAFE_REAL_SIZE];
	size_t index;
	const char *name;
	json_t *item;

	if (json_is_real(value)) {
		safe_real(real, json_real_value(value));
		(void)buf_text(buf, real);
	} else if (json_is_array(value)) {
		(void)buf_text(buf, "[");
		json_array_foreach(value, index, item) {
			safe_put_value(buf, item);
			(void)buf_text(buf, --count > 0 ? "," : "");
		}
		(void)buf_text(buf, "]");
	} else if (json_is_object(value)) {
		(void)buf_text(buf, "{");
		json_object_foreach((json_t *)(uintptr_t)value, name, item) {
			(void)json_put_text(buf, name);
			(void)buf_text(buf, ":");
			safe_put_value(buf, item);
			(void)buf_text(buf, --count > 0 ? "," : "");
		}
		(void)buf_text(buf, "}");
	} else {
		AUTO_FREE char *text = json_dumps(value, JSON_ENCODE_ANY);

		(void)buf_text(buf, text != NULL ? text : "null");
	}
}

void safe_print_json(const json_t *object)
{
	(void)json_dumpf(object, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII | JSON_ENCODE_ANY);
	(void)printf("\n");
}
