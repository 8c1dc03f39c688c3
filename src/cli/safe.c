// SPDX-License-Identifier: Apache-2.0
#include "cli/safe.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "cli/screen.h"

/* Characters that cannot be seen, or that turn the text around them: Unicode's bidirectional
 * controls, zero-width and default-ignorable characters, and line ends of its own. */
static const struct {
	uint32_t first, last;
} unseen[] = {
	{0x00ad, 0x00ad}, {0x034f, 0x034f}, {0x061c, 0x061c}, {0x115f, 0x1160},   {0x17b4, 0x17b5},
	{0x180b, 0x180f}, {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},   {0x3164, 0x3164},
	{0xfeff, 0xfeff}, {0xffa0, 0xffa0}, {0xfff9, 0xfffb}, {0xe0000, 0xe0fff},
};

/* The character of UTF-8 that begins here, and its size; 0: none that is worth a look. */
static uint32_t character_at(const char *text, size_t size, size_t *ret_size)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t length = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
	uint32_t character = at[0] & (0xffU >> (length + 1));

	if (at[0] < 0xc2 || length > size)
		return 0;
	for (size_t i = 1; i < length; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		character = character << 6 | (at[i] & 0x3fU);
	}
	*ret_size = length;
	return character;
}

static bool is_unseen(uint32_t character)
{
	for (size_t i = 0; i < ARRAY_LEN(unseen); i++) {
		if (character >= unseen[i].first && character <= unseen[i].last)
			return true;
	}
	return false;
}

void safe_put(struct buf *buf, const char *text, size_t size)
{
	struct screen screen = {0};
	size_t length = 0;

	for (size_t i = 0; i < size; i += length) {
		unsigned char byte = (unsigned char)text[i];
		uint32_t character = character_at(text + i, size - i, &length);

		if (character == 0)
			length = 1;
		if (byte >= 0x20 && !is_unseen(character)) {
			(void)screen_put(&screen, text + i, length, buf);
			continue;
		}
		(void)screen_end(&screen, buf);
		if (character == 0)
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
		(void)strcat(text, ".0"); /* no integer: 2.0 */
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
