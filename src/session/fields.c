// SPDX-License-Identifier: Apache-2.0
#include "session/fields.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "session/testimony.h"

#define WORD_MAX 64

union value {
	const char *text;
	const char *const *word;
	const unsigned *named;
	const int *number;
	const uint64_t *size;
	const double *ms;
	const bool *is_true;
};

static union value value_of(const struct field *field, const void *from)
{
	return (union value){.text = (const char *)from + field->offset};
}

static bool is_empty(const struct field *field, union value value)
{
	switch (field->type) {
	case FIELD_TEXT:
		return value.text[0] == '\0';
	case FIELD_WORD:
		return *value.word == NULL;
	case FIELD_NAMED:
		return *value.named == 0;
	case FIELD_INT:
		return *value.number == 0;
	case FIELD_SIZE:
		return *value.size == 0;
	case FIELD_MS:
		return *value.ms <= 0;
	case FIELD_BOOL:
		break;
	}
	return false;
}

static int put_value(const struct field *field, union value value, struct buf *buf)
{
	if (field->empty == FIELD_OR_NULL && is_empty(field, value))
		return buf_text(buf, "null");
	switch (field->type) {
	case FIELD_TEXT:
		return json_put_text(buf, value.text);
	case FIELD_WORD:
		return json_put_text(buf, *value.word);
	case FIELD_NAMED:
		return json_put_text(buf, field->names[*value.named]);
	case FIELD_INT:
		return buf_format(buf, "%d", *value.number);
	case FIELD_SIZE:
		return buf_number(buf, *value.size);
	case FIELD_MS:
		return buf_format(buf, "%.3f", *value.ms);
	case FIELD_BOOL:
		return buf_text(buf, *value.is_true ? "true" : "false");
	}
	return 0;
}

int fields_put(const struct field *fields, const void *from, struct buf *buf)
{
	const char *joint = "";
	int r = buf_text(buf, "{");

	for (const struct field *field = fields; field->name != NULL && r == 0; field++) {
		union value value = value_of(field, from);

		if (field->empty == FIELD_OR_NOT && is_empty(field, value))
			continue;
		r = json_put_name(buf, joint, field->name);
		if (r == 0)
			r = put_value(field, value, buf);
		joint = ",";
	}
	return r == 0 ? buf_text(buf, "}") : r;
}

/* ---- reading ---- */

static void read_named(const struct field *field, const char *word, unsigned *to)
{
	for (unsigned i = 0; field->names[i] != NULL; i++) {
		if (word[0] != '\0' && strcmp(field->names[i], word) == 0)
			*to = i;
	}
}

static void read_string(const struct field *field, const char *value, size_t size, char *to)
{
	char word[WORD_MAX];

	if (field->type == FIELD_TEXT) {
		testimony_text(value, size, to, field->room);
		return;
	}
	testimony_text(value, size, word, sizeof(word));
	if (field->type == FIELD_NAMED)
		read_named(field, word, (unsigned *)(void *)to);
	else if (field->type == FIELD_WORD)
		*(const char **)(void *)to = field->find(word, strlen(word));
}

static void read_number(const struct field *field, const char *value, size_t size, char *to)
{
	char digits[WORD_MAX] = "";
	char *end = NULL;
	double real;
	long long whole;

	if (size >= sizeof(digits))
		return;
	memcpy(digits, value, size);
	real = strtod(digits, NULL);
	whole = strtoll(digits, &end, 10);
	if (field->type == FIELD_MS && real >= 0 && real <= (double)field->max)
		*(double *)(void *)to = real;
	if (*end != '\0' || whole < 0 || whole > field->max)
		return;
	if (field->type == FIELD_INT)
		*(int *)(void *)to = (int)whole;
	else if (field->type == FIELD_SIZE)
		*(uint64_t *)(void *)to = (uint64_t)whole;
}

void fields_read(const struct field *fields, const char *json, size_t size, void *to)
{
	struct json_member member = {0};

	if (size == 0 || json[0] != '{')
		return;
	while (json_next(json, size, &member)) {
		const struct field *field = fields;
		char *at;

		while (field->name != NULL && !json_is_named(&member, field->name))
			field++;
		if (field->name == NULL)
			continue;
		at = (char *)to + field->offset;
		if (member.value[0] == '"')
			read_string(field, member.value, member.size, at);
		else if (member.value[0] != 't' && member.value[0] != 'f')
			read_number(field, member.value, member.size, at);
		else if (field->type == FIELD_BOOL)
			*(bool *)(void *)at = member.value[0] == 't';
	}
}

/* ---- describing ---- */

static int describe_type(const struct field *field, struct buf *buf)
{
	static const char *const types[] = {
		[FIELD_TEXT] = "text", [FIELD_WORD] = "text", [FIELD_INT] = "int",
		[FIELD_SIZE] = "int",  [FIELD_MS] = "num",    [FIELD_BOOL] = "bool",
	};
	const char *joint = "";
	int r = 0;

	if (field->type != FIELD_NAMED)
		return buf_text(buf, types[field->type]);
	for (const char *const *name = field->names; *name != NULL && r == 0; name++) {
		if ((*name)[0] == '\0')
			continue;
		r = buf_format(buf, "%s%s", joint, *name);
		joint = "|";
	}
	return r;
}

int fields_describe(const struct field *fields, struct buf *buf)
{
	int r = 0;

	for (const struct field *field = fields; field->name != NULL && r == 0; field++) {
		r = buf_format(buf, "%s%s%s:", field == fields ? "" : " ", field->name,
			       field->empty == FIELD_OR_NOT ? "" : "!");
		if (r == 0)
			r = describe_type(field, buf);
		if (r == 0 && field->empty == FIELD_OR_NULL)
			r = buf_text(buf, "?");
	}
	return r;
}
