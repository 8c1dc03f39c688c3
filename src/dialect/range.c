// SPDX-License-Identifier: Apache-2.0
#include "dialect/range.h"

#include <stddef.h>
#include <string.h>

#define PART_MAX 999999U
#define UNTIL_ANY ((struct version){{UINT32_MAX, 0, 0}})

static bool is_before(const struct version *a, const struct version *b)
{
	for (size_t i = 0; i < 3; i++) {
		if (a->parts[i] != b->parts[i])
			return a->parts[i] < b->parts[i];
	}
	return false;
}

/* Up to three numbers with dots between; an x or a star ends them. False: something else is there.
 */
static bool read_parts(const char **text, struct version *ret_version, size_t *ret_count)
{
	const char *at = *text;
	size_t count = 0;
	bool is_any = false;

	*ret_version = (struct version){0};
	at += *at == 'v';
	for (size_t i = 0; i < 3; i++) {
		if (i > 0 && *at != '.')
			break;
		at += i > 0;
		if (strchr("xX*", *at) != NULL && *at != '\0') {
			is_any = true;
			at++;
			continue;
		}
		if (*at < '0' || *at > '9')
			return i == 0 && (*at == ' ' || *at == '|' || *at == '\0') && at == *text;
		for (; *at >= '0' && *at <= '9'; at++) {
			uint32_t *part = &ret_version->parts[i];

			if (*part > PART_MAX)
				return false;
			*part = is_any ? 0 : *part * 10 + (uint32_t)(*at - '0');
		}
		count += !is_any;
	}
	*text = at;
	*ret_count = count;
	return *at == '\0' || *at == ' ' || *at == '|';
}

/* The first version behind all that begin with the first `count` parts. */
static struct version behind(const struct version *version, size_t count)
{
	struct version next = {0};

	if (count == 0)
		return UNTIL_ANY;
	for (size_t i = 0; i < count; i++)
		next.parts[i] = version->parts[i];
	next.parts[count - 1]++;
	return next;
}

/* How many parts a caret holds fast: up to the first that is not zero. */
static size_t caret_parts(const struct version *version, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (version->parts[i] > 0)
			return i + 1;
	}
	return count;
}

static const char *read_sign(const char *at, char *ret_sign, bool *ret_with)
{
	*ret_sign = strchr("<>^~=", *at) != NULL && *at != '\0' ? *at++ : '=';
	*ret_with = *ret_sign == '=' || *at == '=';
	at += *at == '=';
	return at + strspn(at, " ");
}

/* One condition; false also when it cannot be read. *at moves behind it. */
static bool holds(const char **at, const struct version *version)
{
	struct version low = {0};
	struct version high, until;
	size_t count = 0;
	bool with_equal;
	char sign;

	*at = read_sign(*at, &sign, &with_equal);
	if (!read_parts(at, &low, &count))
		return false;
	high = behind(&low, count);
	switch (sign) {
	case '>':
		return !is_before(version, with_equal ? &low : &high);
	case '<':
		return is_before(version, with_equal ? &high : &low);
	case '^':
		until = behind(&low, caret_parts(&low, count));
		break;
	case '~':
		until = behind(&low, count < 2 ? count : 2);
		break;
	default:
		until = high;
	}
	return !is_before(version, &low) && is_before(version, &until);
}

/* All conditions up to the next "||". */
static bool all_hold(const char *at, const char *end, const struct version *version)
{
	at += strspn(at, " ");
	do {
		const char *before = at;

		if (!holds(&at, version) || (at == before && at < end))
			return false;
		at += strspn(at, " ");
	} while (at < end);
	return true;
}

bool range_has(const char *range, const struct version *version)
{
	while (range != NULL) {
		const char *bar = strstr(range, "||");

		if (all_hold(range, bar != NULL ? bar : range + strlen(range), version))
			return true;
		range = bar != NULL ? bar + 2 : NULL;
	}
	return false;
}

bool version_parse(const char *text, struct version *ret_version)
{
	size_t count = 0;

	return text[0] >= '0' && text[0] <= '9' && read_parts(&text, ret_version, &count) &&
	       count == 3 && *text == '\0';
}
