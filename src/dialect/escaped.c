// SPDX-License-Identifier: Apache-2.0
#include "dialect/escaped.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"

struct escaped escaped_of(const char *value, size_t size)
{
	if (size < 2 || value[0] != '"')
		return (struct escaped){"", 0};
	return (struct escaped){value + 1, size - 2};
}

struct escaped escaped_member(const char *object, size_t size, const char *name)
{
	const char *value = NULL;
	size_t value_size = 0;

	if (!json_find(object, size, name, &value, &value_size))
		return (struct escaped){"", 0};
	return escaped_of(value, value_size);
}

static size_t utf8_size(uint32_t code)
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

size_t escaped_step(struct escaped text, uint32_t *ret_code, size_t *ret_utf8)
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
	*ret_utf8 = utf8_size(*ret_code);
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
		/* A first half waits for its second. */
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
