// SPDX-License-Identifier: Apache-2.0
#include "api/walk.h"

#include <errno.h>
#include <string.h>

#include "base/utf8.h"

static enum walk_step bad(struct walk *walk, const char *why)
{
	walk->why = why;
	return WALK_BAD;
}

static bool is_blank(uint8_t byte)
{
	return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

static bool is_digit(uint8_t byte)
{
	return byte >= '0' && byte <= '9';
}

static bool in_list(const struct walk *walk)
{
	return walk->depth > 0 && (walk->lists >> (walk->depth - 1) & 1) != 0;
}

static enum walk_step open_one(struct walk *walk, bool is_list)
{
	if (walk->depth == WALK_DEPTH_MAX) {
		walk->is_too_deep = true;
		return bad(walk, "it is nested more than 64 deep");
	}
	walk->depth++;
	walk->lists &= ~(1ULL << (walk->depth - 1));
	walk->lists |= (uint64_t)is_list << (walk->depth - 1);
	walk->state = is_list ? WALK_AT_FIRST : WALK_AT_FIRST_KEY;
	return WALK_OPEN;
}

static enum walk_step close_one(struct walk *walk)
{
	walk->depth--;
	walk->state = WALK_BEHIND;
	return WALK_CLOSE;
}

static enum walk_step begin_string(struct walk *walk, bool is_key)
{
	walk->is_key = is_key;
	walk->values += is_key;
	walk->state = WALK_IN_STRING;
	return WALK_BEGIN;
}

static enum walk_step begin_word(struct walk *walk, const char *rest)
{
	walk->word = rest;
	walk->state = WALK_IN_WORD;
	return WALK_PLAIN;
}

static enum walk_step begin_value(struct walk *walk, uint8_t byte)
{
	walk->values++;
	switch (byte) {
	case '{':
		return open_one(walk, false);
	case '[':
		return open_one(walk, true);
	case '"':
		return begin_string(walk, false);
	case 't':
		return begin_word(walk, "rue");
	case 'f':
		return begin_word(walk, "alse");
	case 'n':
		return begin_word(walk, "ull");
	case '-':
		walk->state = WALK_IN_MINUS;
		return WALK_PLAIN;
	case '0':
		walk->state = WALK_IN_ZERO;
		return WALK_PLAIN;
	default:
		break;
	}
	if (!is_digit(byte))
		return bad(walk, "a value is expected");
	walk->state = WALK_IN_DIGITS;
	return WALK_PLAIN;
}

static enum walk_step behind_value(struct walk *walk, uint8_t byte)
{
	if (walk->depth == 0)
		return bad(walk, "something follows the value");
	if (byte == (in_list(walk) ? ']' : '}'))
		return close_one(walk);
	if (byte != ',')
		return bad(walk, "a comma or a closing bracket is expected");
	walk->state = in_list(walk) ? WALK_AT_VALUE : WALK_AT_KEY;
	return WALK_BLANK;
}

/* Takes one byte between tokens that is no blank. */
static enum walk_step take_mark(struct walk *walk, uint8_t byte)
{
	if (walk->state == WALK_BEHIND)
		return behind_value(walk, byte);
	if (walk->state == WALK_AT_VALUE)
		return begin_value(walk, byte);
	if (walk->state == WALK_AT_FIRST)
		return byte == ']' ? close_one(walk) : begin_value(walk, byte);
	if (walk->state == WALK_AT_COLON) {
		if (byte != ':')
			return bad(walk, "a colon is expected");
		walk->state = WALK_AT_VALUE;
		return WALK_BLANK;
	}
	if (walk->state == WALK_AT_FIRST_KEY && byte == '}')
		return close_one(walk);
	if (byte != '"')
		return bad(walk, "a name in quotes is expected");
	return begin_string(walk, true);
}

static enum walk_step take_word(struct walk *walk, uint8_t byte)
{
	if (byte != (uint8_t)*walk->word)
		return bad(walk, "the only words are true, false and null");
	walk->word++;
	if (*walk->word == '\0')
		walk->state = WALK_BEHIND;
	return WALK_PLAIN;
}

enum number_byte {
	BYTE_ZERO,
	BYTE_DIGIT,
	BYTE_DOT,
	BYTE_E,
	BYTE_SIGN,
	BYTE_OTHER,
	BYTE_COUNT,
};

static enum number_byte number_byte(uint8_t byte)
{
	if (byte == '0')
		return BYTE_ZERO;
	if (is_digit(byte))
		return BYTE_DIGIT;
	if (byte == '.')
		return BYTE_DOT;
	if (byte == 'e' || byte == 'E')
		return BYTE_E;
	return byte == '+' || byte == '-' ? BYTE_SIGN : BYTE_OTHER;
}

#define WRONG WALK_AT_VALUE /* no byte of a number leads there */
#define OVER WALK_BEHIND    /* the number ended before this byte */

/* The next state of a number, by its state and its next byte. Other states have no row. */
static const enum walk_state number_next[][BYTE_COUNT] = {
	/* 0, 1-9, ".", "e", "+-", other */
	[WALK_IN_MINUS] = {WALK_IN_ZERO, WALK_IN_DIGITS, WRONG, WRONG, WRONG, WRONG},
	[WALK_IN_ZERO] = {WRONG, WRONG, WALK_IN_DOT, WALK_IN_E, OVER, OVER},
	[WALK_IN_DIGITS] = {WALK_IN_DIGITS, WALK_IN_DIGITS, WALK_IN_DOT, WALK_IN_E, OVER, OVER},
	[WALK_IN_DOT] = {WALK_IN_FRACTION, WALK_IN_FRACTION, WRONG, WRONG, WRONG, WRONG},
	[WALK_IN_FRACTION] = {WALK_IN_FRACTION, WALK_IN_FRACTION, OVER, WALK_IN_E, OVER, OVER},
	[WALK_IN_E] = {WALK_IN_EXPONENT, WALK_IN_EXPONENT, WRONG, WRONG, WALK_IN_E_SIGN, WRONG},
	[WALK_IN_E_SIGN] = {WALK_IN_EXPONENT, WALK_IN_EXPONENT, WRONG, WRONG, WRONG, WRONG},
	[WALK_IN_EXPONENT] = {WALK_IN_EXPONENT, WALK_IN_EXPONENT, OVER, OVER, OVER, OVER},
};

static enum walk_step take_number(struct walk *walk, const uint8_t **at, const uint8_t *end)
{
	while (*at < end) {
		enum walk_state next = number_next[walk->state][number_byte(**at)];

		if (next == WRONG)
			return bad(walk, "a number is incomplete or has a wrong character");
		walk->state = next;
		if (next == OVER)
			break;
		(*at)++;
	}
	return WALK_PLAIN;
}

/* Takes a byte of a multi-byte character. */
static bool take_inside(struct walk *walk, uint8_t byte)
{
	if (walk->utf8_at == 0)
		walk->utf8_first = byte;
	if (walk->utf8_at == 0 ? utf8_size(byte) < 2
			       : !utf8_goes_on(walk->utf8_first, walk->utf8_at, byte))
		return false;
	walk->utf8_at = (uint8_t)((walk->utf8_at + 1U) % utf8_size(walk->utf8_first));
	return true;
}

static enum walk_step take_run(struct walk *walk, const uint8_t **at, const uint8_t *end)
{
	const uint8_t *p = *at;

	for (; p < end; p++) {
		bool is_good;

		/* Most text is plain: no state is touched for it. */
		while (walk->utf8_at == 0 && p < end && *p >= 0x20 && *p < 0x80 && *p != '"' &&
		       *p != '\\')
			p++;
		if (p == end)
			break;
		if (walk->utf8_at == 0 && *p < 0x80)
			break;
		is_good = take_inside(walk, *p);
		/* The good bytes before it are a run, which is told first, however the text is
		 * split. */
		if (!is_good && p == *at)
			return bad(walk, "a string is not UTF-8");
		if (!is_good)
			break;
	}
	*at = p;
	return WALK_RUN;
}

static enum walk_step take_string(struct walk *walk, const uint8_t **at, const uint8_t *end)
{
	uint8_t byte = **at;

	if (walk->high != 0 && byte != '\\') {
		if (!walk->allows_lone)
			return bad(walk, "a string has half a surrogate pair");
		walk->high = 0;
	}
	if (walk->utf8_at == 0 && byte == '"') {
		(*at)++;
		walk->state = walk->is_key ? WALK_AT_COLON : WALK_BEHIND;
		return WALK_END;
	}
	if (walk->utf8_at == 0 && byte == '\\') {
		(*at)++;
		walk->state = WALK_IN_ESCAPE;
		return WALK_ESCAPE;
	}
	if (walk->utf8_at == 0 && byte < 0x20)
		return bad(walk, "a string has a control character that is not escaped");
	return take_run(walk, at, end);
}

static enum walk_step take_escape(struct walk *walk, uint8_t byte)
{
	static const char names[] = "\"\\/bfnrt";
	static const char values[] = "\"\\/\b\f\n\r\t";
	const char *name = byte != 0 ? strchr(names, byte) : NULL;

	if (byte == 'u') {
		walk->state = WALK_IN_UNIT;
		walk->digits = 0;
		walk->unit = 0;
		return WALK_ESCAPE;
	}
	if (name == NULL)
		return bad(walk, "a backslash is followed by an unknown escape");
	if (walk->high != 0 && !walk->allows_lone)
		return bad(walk, "a string has half a surrogate pair");
	walk->high = 0;
	walk->char_count = (uint8_t)utf8_encode((uint8_t)values[name - names], walk->chars);
	walk->state = WALK_IN_STRING;
	return WALK_ESCAPE;
}

/* Ends \u, whose four digits are there. */
static enum walk_step take_unit(struct walk *walk)
{
	bool is_first = walk->unit >= 0xd800 && walk->unit <= 0xdbff;
	bool is_second = walk->unit >= 0xdc00 && walk->unit <= 0xdfff;

	walk->state = WALK_IN_STRING;
	if (!walk->allows_lone && is_second != (walk->high != 0))
		return bad(walk, "a string has half a surrogate pair");
	if (is_second && walk->high != 0)
		walk->char_count =
			(uint8_t)utf8_encode(0x10000U + (((uint32_t)walk->high & 0x3ff) << 10 |
							 ((uint32_t)walk->unit & 0x3ff)),
					     walk->chars);
	else if (!is_first && !is_second)
		walk->char_count = (uint8_t)utf8_encode(walk->unit, walk->chars);
	walk->high = is_first ? walk->unit : 0;
	return WALK_ESCAPE;
}

static enum walk_step take_unit_digit(struct walk *walk, uint8_t byte)
{
	uint8_t lower = byte | 0x20;
	unsigned digit;

	if (is_digit(byte))
		digit = byte - (unsigned)'0';
	else if (lower >= 'a' && lower <= 'f')
		digit = lower - (unsigned)'a' + 10;
	else
		return bad(walk, "\\u needs four hexadecimal digits");

	walk->unit = (uint16_t)((unsigned)walk->unit << 4 | digit);
	walk->digits++;
	return walk->digits == 4 ? take_unit(walk) : WALK_ESCAPE;
}

static enum walk_step take_one(struct walk *walk, const uint8_t **at, const uint8_t *end)
{
	enum walk_step step;

	if (walk->state == WALK_IN_STRING)
		return take_string(walk, at, end);
	if (walk->state > WALK_IN_WORD)
		return take_number(walk, at, end);

	if (walk->state == WALK_IN_ESCAPE)
		step = take_escape(walk, **at);
	else if (walk->state == WALK_IN_UNIT)
		step = take_unit_digit(walk, **at);
	else if (walk->state == WALK_IN_WORD)
		step = take_word(walk, **at);
	else
		step = take_mark(walk, **at);
	if (step != WALK_BAD)
		(*at)++;
	return step;
}

enum walk_step walk_next(struct walk *walk, const uint8_t **at, const uint8_t *end)
{
	const uint8_t *start = *at;
	enum walk_step step = WALK_BLANK;

	walk->char_count = 0;
	if (walk->state <= WALK_BEHIND) {
		while (*at < end && is_blank(**at))
			(*at)++;
	}
	if (*at == start)
		step = take_one(walk, at, end);
	walk->at += (uint64_t)(*at - start);
	return step;
}

bool walk_is_whole(struct walk *walk)
{
	bool is_number = walk->state == WALK_IN_ZERO || walk->state == WALK_IN_DIGITS ||
			 walk->state == WALK_IN_FRACTION || walk->state == WALK_IN_EXPONENT;

	if (walk->depth == 0 && (walk->state == WALK_BEHIND || is_number))
		return true;
	walk->why = "it ends too early";
	return false;
}

int walk_refuse(const struct walk *walk, const char *what, struct err *err)
{
	unsigned long long at = walk->at;

	if (walk->is_too_deep)
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "%s has lists and objects nested more than %d deep, at byte %llu",
			       what, WALK_DEPTH_MAX, at);
	return err_set(err, ERR_BAD_REQUEST, EINVAL, "%s is not JSON, at byte %llu; %s", what, at,
		       walk->why != NULL ? walk->why : "it is cut off");
}

bool walk_is_tree(const void *bytes, size_t size, uint64_t values_max)
{
	struct walk walk = {.allows_lone = true};
	const uint8_t *at = bytes;
	const uint8_t *end = at + size;

	while (at < end && walk.values <= values_max) {
		if (walk_next(&walk, &at, end) == WALK_BAD)
			break;
	}
	return walk.values <= values_max;
}
