// SPDX-License-Identifier: Apache-2.0
#include "op/object.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"

#define FORMATTED_MAX 64
#define KEY_MAX 64

static void put(struct object *object, const char *text)
{
	(void)buf_text(&object->buf, text);
}

static void put_name(struct object *object, const char *name)
{
	put(object, object->is_first ? "" : ",");
	object->is_first = false;
	if (name == NULL)
		return;
	(void)json_put_text(&object->buf, name);
	put(object, ":");
}

void object_init(struct object *object, size_t max)
{
	*object = (struct object){.is_first = true};
	buf_init(&object->buf, max);
	put(object, "{");
}

void object_done(struct object *object)
{
	if (object != NULL)
		buf_done(&object->buf);
}

void object_text(struct object *object, const char *name, const char *text)
{
	put_name(object, name);
	if (text == NULL)
		put(object, "null");
	else
		(void)json_put_text(&object->buf, text);
}

void object_number(struct object *object, const char *name, uint64_t number)
{
	put_name(object, name);
	(void)buf_format(&object->buf, "%" PRIu64, number);
}

void object_real(struct object *object, const char *name, double number)
{
	put_name(object, name);
	(void)buf_format(&object->buf, "%.3f", number);
}

void object_bool(struct object *object, const char *name, bool is_true)
{
	put_name(object, name);
	put(object, is_true ? "true" : "false");
}

void object_json(struct object *object, const char *name, const char *json, size_t size)
{
	put_name(object, name);
	(void)buf_append(&object->buf, json, size);
}

void object_null(struct object *object, const char *name)
{
	put_name(object, name);
	put(object, "null");
}

void object_texts(struct object *object, const char *name, const struct text_list *texts)
{
	object_open(object, name, '[');
	for (size_t i = 0; i < texts->count; i++)
		object_text(object, NULL, texts->items[i]);
	object_close(object, ']');
}

void object_open(struct object *object, const char *name, char kind)
{
	put_name(object, name);
	put(object, kind == '{' ? "{" : "[");
	object->is_first = true;
}

void object_close(struct object *object, char kind)
{
	put(object, kind == '}' ? "}" : "]");
	object->is_first = false;
}

/* "timeout" is 30s in the config and timeout_ms here. */
static const char *ms_of(const struct setting *row)
{
	return row->type == SETTING_MS && strstr(row->key, "_ms") == NULL ? "_ms" : "";
}

static void put_setting(struct object *object, const struct setting *row, const char *name,
			const void *from)
{
	const void *value = (const char *)from + row->offset;
	char text[FORMATTED_MAX];

	switch (row->type) {
	case SETTING_BYTES:
	case SETTING_COUNT:
		object_number(object, name, *(const uint64_t *)value);
		break;
	case SETTING_MS:
		(void)snprintf(text, sizeof(text), "%s%s", name, ms_of(row));
		object_number(object, text, *(const uint64_t *)value);
		break;
	case SETTING_CPUS:
		object_real(object, name, (double)*(const uint64_t *)value / 1000);
		break;
	case SETTING_CHOICE:
		setting_format(row, from, text, sizeof(text));
		object_text(object, name, text);
		break;
	case SETTING_BOOL:
		object_bool(object, name, *(const bool *)value);
		break;
	case SETTING_TEXT:
	case SETTING_PATH:
		object_text(object, name, *(char *const *)value);
		break;
	case SETTING_LIST:
		object_texts(object, name, value);
		break;
	}
}

/* The rows of one object must be adjacent in their table. */
void object_settings(struct object *object, const struct setting *rows, size_t count,
		     const void *from)
{
	char open[KEY_MAX] = "";

	for (size_t i = 0; i < count; i++) {
		const char *dot = strchr(rows[i].key, '.');
		char group[KEY_MAX] = "";

		if (dot != NULL)
			(void)snprintf(group, sizeof(group), "%.*s", (int)(dot - rows[i].key),
				       rows[i].key);
		if (open[0] != '\0' && strcmp(open, group) != 0)
			object_close(object, '}');
		if (group[0] != '\0' && strcmp(open, group) != 0)
			object_open(object, group, '{');
		memcpy(open, group, sizeof(open));
		put_setting(object, &rows[i], dot != NULL ? dot + 1 : rows[i].key, from);
	}
	if (open[0] != '\0')
		object_close(object, '}');
}

void object_describe(const struct setting *rows, size_t count, struct buf *buf)
{
	static const char *const types[] = {
		[SETTING_BYTES] = "int", [SETTING_COUNT] = "int",   [SETTING_MS] = "int",
		[SETTING_CPUS] = "num",  [SETTING_BOOL] = "bool",   [SETTING_TEXT] = "text",
		[SETTING_PATH] = "text", [SETTING_LIST] = "text[]",
	};
	size_t group = 0; /* length of its name */

	for (size_t i = 0; i < count; i++) {
		const char *key = rows[i].key;
		bool is_open = group > 0 && strncmp(key, rows[i - 1].key, group + 1) == 0;

		group = strchr(key, '.') != NULL ? strcspn(key, ".") : 0;
		if (group > 0 && !is_open)
			buf_format(buf, " %.*s:object", (int)group, key);
		else if (group == 0)
			buf_format(buf, " %s%s:%s", key, ms_of(&rows[i]),
				   rows[i].type == SETTING_CHOICE ? rows[i].words
								  : types[rows[i].type]);
	}
}

void object_answer(struct object *object, struct op_call *call, unsigned status)
{
	struct err err = {0};

	object_close(object, '}');
	put(object, "\n");
	if (object->buf.failed == 0) {
		op_answer(call, status, &object->buf);
	} else {
		(void)err_set(&err, ERR_INTERNAL, -object->buf.failed, "no memory for the answer");
		op_fail(call, &err);
	}
	object_done(object);
}
