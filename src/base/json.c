// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "base/c.h"
#include "base/utf8.h"

/* A position in text that is read from left to right; never reads at or past `end`. */
struct reader {
	const uint8_t *at;
	const uint8_t *end;
};

static bool is_plain(uint8_t byte)
{
	return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
}

/* Does any of these eight bytes equal `byte`? */
static uint64_t has_byte(uint64_t bytes, uint8_t byte)
{
	uint64_t same = bytes ^ (UINT64_MAX / 255 * byte);

	return (same - UINT64_MAX / 255) & ~same & UINT64_MAX / 255 * 0x80;
}

/* Skips plain bytes, eight at a time; returns the first byte that is not plain. */
static const uint8_t *skip_plain(const uint8_t *p, const uint8_t *end)
{
	for (; end - p >= 8; p += 8) {
		uint64_t bytes;
		uint64_t odd;

		memcpy(&bytes, p, sizeof(bytes));
		bytes = le64toh(bytes);
		odd = ((bytes - UINT64_MAX / 255 * 0x20) | bytes) & UINT64_MAX / 255 * 0x80;
		odd |= has_byte(bytes, '"') | has_byte(bytes, '\\') | has_byte(bytes, 0x7f);
		/* Carries only affect bytes above the first match, so ctz() is still exact. */
		if (odd != 0)
			return p + __builtin_ctzll(odd) / 8;
	}
	while (p < end && is_plain(*p))
		p++;
	return p;
}

static int put_unit(struct buf *buf, uint32_t unit)
{
	static const char digits[] = "0123456789abcdef";
	const char text[6] = {'\\',
			      'u',
			      digits[unit >> 12 & 15],
			      digits[unit >> 8 & 15],
			      digits[unit >> 4 & 15],
			      digits[unit & 15]};

	return buf_append(buf, text, sizeof(text));
}

int json_put_point(struct buf *buf, uint32_t point)
{
	int r;

	switch (point) {
	case '"':
		return buf_append(buf, "\\\"", 2);
	case '\\':
		return buf_append(buf, "\\\\", 2);
	case '\n':
		return buf_append(buf, "\\n", 2);
	case '\r':
		return buf_append(buf, "\\r", 2);
	case '\t':
		return buf_append(buf, "\\t", 2);
	default:
		break;
	}
	if (point < 0x10000)
		return put_unit(buf, point);

	point -= 0x10000;
	r = put_unit(buf, 0xd800 | point >> 10);
	if (r < 0)
		return r;
	return put_unit(buf, 0xdc00 | (point & 0x3ff));
}

static int put_content(struct buf *buf, const uint8_t *p, const uint8_t *end)
{
	while (p < end) {
		const uint8_t *start = p;
		uint32_t point = 0xfffd;
		size_t n;
		int r;

		/* Most output is plain, so it is copied in runs, not byte by byte. */
		p = skip_plain(p, end);
		r = buf_append(buf, start, (size_t)(p - start));
		if (r < 0)
			return r;
		if (p == end)
			return 0;

		n = utf8_decode(p, (size_t)(end - p), &point);
		r = json_put_point(buf, n > 0 ? point : 0xfffd);
		if (r < 0)
			return r;
		p += n > 0 ? n : 1;
	}
	return 0;
}

int json_put_string(struct buf *buf, const void *bytes, size_t size)
{
	size_t before = buf->size;
	const uint8_t *p = bytes;
	int r;

	r = buf_append(buf, "\"", 1);
	if (r == 0 && size > 0)
		r = put_content(buf, p, p + size);
	if (r == 0)
		r = buf_append(buf, "\"", 1);
	if (r < 0)
		buf->size = before;
	return r;
}

int json_put_text(struct buf *buf, const char *text)
{
	return json_put_string(buf, text, strlen(text));
}

int json_put_name(struct buf *buf, const char *joint, const char *name)
{
	(void)buf_text(buf, joint);
	(void)buf_text(buf, "\"");
	(void)buf_text(buf, name);
	(void)buf_text(buf, "\":");
	return buf->failed;
}

/* Writes the conversion that follows a %; returns its end. */
static const char *put_value(struct buf *buf, const char *spec, va_list *args)
{
	static const char *const known[] = {"s", ".*s", "i", "d", "u", "zu", "llu", ".3f"};
	size_t size = 0;
	size_t i = 0;

	while (strncmp(spec, known[i], strlen(known[i])) != 0) {
		i++;
		assert(i < ARRAY_LEN(known));
	}
	if (i == 0) {
		const char *text = va_arg(*args, const char *);

		(void)(text != NULL ? json_put_text(buf, text) : buf_text(buf, "null"));
	} else if (i == 1) {
		size = (size_t)va_arg(*args, int);
		(void)json_put_string(buf, va_arg(*args, const char *), size);
	} else if (i == 2) {
		(void)buf_text(buf, va_arg(*args, int) != 0 ? "true" : "false");
	} else if (i == 3) {
		(void)buf_format(buf, "%d", va_arg(*args, int));
	} else if (i == 4) {
		(void)buf_number(buf, va_arg(*args, unsigned));
	} else if (i == 5) {
		(void)buf_number(buf, va_arg(*args, size_t));
	} else if (i == 6) {
		(void)buf_number(buf, va_arg(*args, unsigned long long));
	} else {
		(void)buf_format(buf, "%.3f", va_arg(*args, double));
	}
	return spec + strlen(known[i]);
}

int json_put(struct buf *buf, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	while (*format != '\0') {
		size_t plain = strcspn(format, "%'");

		(void)buf_append(buf, format, plain);
		format += plain;
		if (*format == '%') {
			format = put_value(buf, format + 1, &args);
		} else if (*format == '\'') {
			(void)buf_append(buf, "\"", 1);
			format++;
		}
	}
	va_end(args);
	return buf->failed;
}

static void skip_space(struct reader *in)
{
	while (in->at < in->end &&
	       (*in->at == ' ' || *in->at == '\t' || *in->at == '\n' || *in->at == '\r'))
		in->at++;
}

static bool take(struct reader *in, uint8_t byte)
{
	if (in->at == in->end || *in->at != byte)
		return false;
	in->at++;
	return true;
}

static bool take_word(struct reader *in, const char *word)
{
	size_t size = strlen(word);

	if ((size_t)(in->end - in->at) < size || memcmp(in->at, word, size) != 0)
		return false;
	in->at += size;
	return true;
}

static bool take_digits(struct reader *in)
{
	const uint8_t *start = in->at;

	while (in->at < in->end && *in->at >= '0' && *in->at <= '9')
		in->at++;
	return in->at > start;
}

static bool take_number_parts(struct reader *in)
{
	(void)take(in, '-');
	if (!take(in, '0') && !take_digits(in))
		return false;
	if (take(in, '.') && !take_digits(in))
		return false;
	if (take(in, 'e') || take(in, 'E')) {
		if (!take(in, '+'))
			(void)take(in, '-');
		return take_digits(in);
	}
	return true;
}

static bool take_number(struct reader *in)
{
	const uint8_t *start = in->at;

	return take_number_parts(in) && in->at - start <= JSON_NUMBER_MAX;
}

static bool take_hex4(struct reader *in, uint32_t *ret_unit)
{
	uint32_t unit = 0;

	if (in->end - in->at < 4)
		return false;
	for (int i = 0; i < 4; i++) {
		uint8_t c = *in->at++;
		uint32_t digit;

		if (c >= '0' && c <= '9')
			digit = c - (uint32_t)'0';
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			digit = (c | 0x20U) - 'a' + 10U;
		else
			return false;
		unit = unit << 4 | digit;
	}
	*ret_unit = unit;
	return true;
}

/*
 * Decodes the escape after a backslash. A lone surrogate is valid by RFC 8259's grammar, and
 * Python's json.dumps writes them; it decodes to U+FFFD here, which equals no name that any caller
 * looks for.
 */
static bool take_escape(struct reader *in, uint32_t *ret_point)
{
	static const char names[] = "\"\\/bfnrt";
	static const char values[] = "\"\\/\b\f\n\r\t";
	struct reader ahead;
	uint32_t high, low;
	const char *name;

	if (in->at == in->end)
		return false;
	if (*in->at != 'u') {
		name = *in->at != 0 ? strchr(names, *in->at) : NULL;
		if (name == NULL)
			return false;
		in->at++;
		*ret_point = (uint8_t)values[name - names];
		return true;
	}
	in->at++;
	if (!take_hex4(in, &high))
		return false;
	*ret_point = high >= 0xd800 && high <= 0xdfff ? 0xfffd : high;
	if (high < 0xd800 || high > 0xdbff)
		return true;

	ahead = *in;
	if (take(&ahead, '\\') && take(&ahead, 'u') && take_hex4(&ahead, &low) && low >= 0xdc00 &&
	    low <= 0xdfff) {
		*in = ahead;
		*ret_point = 0x10000 + ((high & 0x3ff) << 10 | (low & 0x3ff));
	}
	return true;
}

/* The next character of a string; false at a byte that a string must not contain. */
static bool take_character(struct reader *in, uint32_t *ret_point)
{
	size_t n;

	if (take(in, '\\'))
		return take_escape(in, ret_point);
	if (in->at == in->end || *in->at < 0x20)
		return false;
	n = utf8_decode(in->at, (size_t)(in->end - in->at), ret_point);
	in->at += n;
	return n > 0;
}

static bool take_string(struct reader *in)
{
	uint32_t point;

	if (!take(in, '"'))
		return false;
	for (;;) {
		in->at = skip_plain(in->at, in->end);
		if (take(in, '"'))
			return true;
		/* Such characters seldom stand alone. */
		do {
			if (!take_character(in, &point))
				return false;
		} while (in->at < in->end && *in->at >= 0x7f);
	}
}

/* Reads a string and tells whether it decodes to `name`. The text is known to be valid. */
static bool take_name(struct reader *in, const char *name, size_t size)
{
	const uint8_t *want = (const uint8_t *)name;
	const uint8_t *want_end = want + size;
	bool is_same = true;

	(void)take(in, '"');
	while (!take(in, '"')) {
		uint32_t here, there = 0;
		size_t n;

		if (!take_character(in, &here))
			return false;
		n = utf8_decode(want, (size_t)(want_end - want), &there);
		is_same = is_same && n > 0 && here == there;
		want += n;
	}
	return is_same && want == want_end;
}

static bool take_scalar(struct reader *in)
{
	if (in->at == in->end)
		return false;
	switch (*in->at) {
	case '"':
		return take_string(in);
	case 't':
		return take_word(in, "true");
	case 'f':
		return take_word(in, "false");
	case 'n':
		return take_word(in, "null");
	default:
		return take_number(in);
	}
}

static bool take_key(struct reader *in)
{
	skip_space(in);
	if (!take_string(in))
		return false;
	skip_space(in);
	return take(in, ':');
}

/* The open containers around a position, by their closing bytes. */
struct nesting {
	uint8_t close[JSON_DEPTH_MAX];
	size_t depth;
};

/* After a value: closes the containers that end here. True when another value must follow or all
 * are closed. */
static bool after_value(struct reader *in, struct nesting *open)
{
	while (open->depth > 0) {
		uint8_t close = open->close[open->depth - 1];

		skip_space(in);
		if (take(in, ','))
			return close == ']' || take_key(in);
		if (!take(in, close))
			return false;
		open->depth--;
	}
	return true;
}

/* After an opening bracket: moves to the first value, or past the end of an empty container. */
static bool open_container(struct reader *in, struct nesting *open, uint8_t close)
{
	skip_space(in);
	if (open->depth == JSON_DEPTH_MAX)
		return false;
	if (take(in, close))
		return after_value(in, open);
	open->close[open->depth++] = close;
	return close == ']' || take_key(in);
}

/* Reads an object or a list. A loop with a small stack of its own, so that hostile nesting uses no
 * C stack. */
static bool take_container(struct reader *in)
{
	struct nesting open;
	bool is_good;

	open.depth = 0;
	do {
		skip_space(in);
		if (take(in, '{'))
			is_good = open_container(in, &open, '}');
		else if (take(in, '['))
			is_good = open_container(in, &open, ']');
		else
			is_good = take_scalar(in) && after_value(in, &open);
	} while (is_good && open.depth > 0);
	return is_good;
}

/* Reads one whole value. */
static bool take_value(struct reader *in)
{
	skip_space(in);
	if (in->at < in->end && (*in->at == '{' || *in->at == '['))
		return take_container(in);
	return take_scalar(in);
}

bool json_is_valid(const void *bytes, size_t size)
{
	struct reader in = {bytes, bytes};

	if (size == 0)
		return false;
	in.end += size;
	if (!take_value(&in))
		return false;
	skip_space(&in);
	return in.at == in.end;
}

bool json_next(const void *bytes, size_t size, struct json_member *member)
{
	struct reader in = {bytes, bytes};

	if (size == 0)
		return false;
	in.end += size;
	if (member->next != NULL) {
		in.at = (const uint8_t *)member->next;
	} else {
		skip_space(&in);
		if (!take(&in, '{'))
			return false;
	}
	skip_space(&in);
	member->name = (const char *)in.at;
	if (!take_string(&in))
		return false;
	member->name_size = (size_t)((const char *)in.at - member->name);
	skip_space(&in);
	if (!take(&in, ':'))
		return false;
	skip_space(&in);
	member->value = (const char *)in.at;
	if (!take_value(&in))
		return false;
	member->size = (size_t)((const char *)in.at - member->value);
	skip_space(&in);
	member->next = (const char *)(take(&in, ',') ? in.at : in.end);
	return true;
}

bool json_is_spelled(const struct json_member *member, const char *name, size_t size)
{
	struct reader in = {(const uint8_t *)member->name, (const uint8_t *)member->value};

	if (member->name_size == size + 2 && memcmp(member->name + 1, name, size) == 0)
		return true;
	/* Names with escapes are rare. */
	return memchr(member->name, '\\', member->name_size) != NULL && take_name(&in, name, size);
}

bool json_is_named(const struct json_member *member, const char *name)
{
	return json_is_spelled(member, name, strlen(name));
}

bool json_item(const void *bytes, size_t size, struct json_member *item)
{
	struct reader in = {bytes, bytes};

	if (size == 0)
		return false;
	in.end += size;
	if (item->next != NULL) {
		in.at = (const uint8_t *)item->next;
	} else {
		skip_space(&in);
		if (!take(&in, '['))
			return false;
	}
	skip_space(&in);
	item->value = (const char *)in.at;
	if (!take_value(&in))
		return false;
	item->size = (size_t)((const char *)in.at - item->value);
	skip_space(&in);
	item->next = (const char *)(take(&in, ',') ? in.at : in.end);
	return true;
}

bool json_find(const void *bytes, size_t size, const char *name, const char **ret_value,
	       size_t *ret_size)
{
	struct json_member member = {0};

	while (json_next(bytes, size, &member)) {
		if (json_is_named(&member, name)) {
			*ret_value = member.value;
			*ret_size = member.size;
			return true;
		}
	}
	return false;
}

struct span span_member(struct span object, const char *name)
{
	struct span found = {"", 0};

	if (object.size > 0 && object.at[0] == '{')
		(void)json_find(object.at, object.size, name, &found.at, &found.size);
	return found;
}

bool span_is(struct span value, const char *text)
{
	return value.size == strlen(text) + 2 && value.at[0] == '"' &&
	       memcmp(value.at + 1, text, value.size - 2) == 0;
}
