// SPDX-License-Identifier: Apache-2.0
#include "session/members.h"

#include <stdint.h>

#include "base/json.h"

static bool is_space(uint8_t byte)
{
	return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

/* Moves past the end of the string that members->at is in. False: the string does not end before
 * `end`. */
static bool end_string(struct members *members, const uint8_t *text, size_t end)
{
	while (members->at < end) {
		uint8_t byte = text[members->at];

		/* An escape may go beyond `end`; the byte after it is then skipped. */
		members->at += byte == '\\' ? 2 : 1;
		if (byte == '"') {
			members->is_in_string = false;
			return true;
		}
	}
	return false;
}

/* Takes one byte of a value, outside of strings. True: the value has ended. */
static bool end_value(struct members *members, uint8_t byte)
{
	bool is_close = byte == '}' || byte == ']';

	if (members->depth == 0 && (is_close || byte == ',' || is_space(byte))) {
		members->size = members->at - members->value_at;
		return true;
	}
	members->at++;
	if (byte == '{' || byte == '[')
		members->depth++;
	if (byte == '"')
		members->is_in_string = true;
	if (!is_close || --members->depth > 0)
		return false;
	members->size = members->at - members->value_at;
	return true;
}

/* Moves to the end of the current name or value. False: it does not end before `end`. */
static bool pass(struct members *members, const uint8_t *text, size_t end)
{
	while (members->at < end) {
		if (!members->is_in_string) {
			if (end_value(members, text[members->at]))
				return true;
			continue;
		}
		if (!end_string(members, text, end))
			return false;
		if (members->is_in_name || members->depth == 0)
			return true;
	}
	return false;
}

/* Takes one byte between names and values. False: the object has ended. */
static bool step(struct members *members, uint8_t byte)
{
	if (byte == '}')
		return false;
	if (byte == '{' && !members->is_begun) {
		members->is_begun = true;
		members->name_size = 0;
	} else if (members->name_size == 0 && byte == '"') {
		members->name_at = members->at;
		members->is_in_name = members->is_in_string = true;
	} else if (byte != ':' && byte != ',' && !is_space(byte)) {
		members->value_at = members->at;
		members->is_in_value = true;
		members->depth = 0;
		return true; /* the byte belongs to the value */
	}
	members->at++;
	return true;
}

static int go_on(struct members *members, const uint8_t *text, size_t end)
{
	while (members->at < end) {
		if (!members->is_in_name && !members->is_in_value) {
			if (!step(members, text[members->at]))
				return -1;
			continue;
		}
		if (!pass(members, text, end))
			return 0;
		if (members->is_in_name) {
			members->is_in_name = false;
			members->name_size = members->at - members->name_at;
			continue;
		}
		members->is_in_value = false;
		members->size = members->at - members->value_at;
		return members->size > 0 ? 1 : -1; /* an empty value: not JSON */
	}
	return 0;
}

int members_next(struct members *members, const void *bytes, size_t size, size_t *budget)
{
	size_t from = members->at;
	size_t end;
	int r;

	if (from >= size)
		return -1;
	end = *budget < size - from ? from + *budget : size;
	if (!members->is_in_name && !members->is_in_value && members->size > 0)
		members->name_size = members->size = 0;
	r = go_on(members, bytes, end);
	*budget -= members->at - from < *budget ? members->at - from : *budget;
	return r == 0 && members->at >= size ? -1 : r;
}

bool members_is_named(const struct members *members, const void *bytes, const char *name)
{
	const char *text = (const char *)bytes + members->name_at;
	struct json_member member = {
		.name = text,
		.name_size = members->name_size,
		.value = text + members->name_size,
	};

	return json_is_named(&member, name);
}
