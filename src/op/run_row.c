// SPDX-License-Identifier: Apache-2.0
#include "op/run_row.h"

#include <string.h>

#include "base/json.h"
#include "op/flight.h"
#include "session/testimony.h"

/* Copies members of a JSON object that we wrote ourselves, as they are. */
static void copy_members(struct object *object, const char *json, size_t size,
			 const char *const *names)
{
	for (; *names != NULL; names++) {
		const char *value = NULL;
		size_t value_size = 0;

		if (json_find(json, size, *names, &value, &value_size))
			object_json(object, *names, value, value_size);
		else
			object_null(object, *names);
	}
}

static void put_verdict(struct object *object, struct log *log)
{
	static const char *const from_usage[] = {"wall_ms", "cpu_ms", "peak_memory", NULL};
	struct log_reader reader = {0};
	const char *line = NULL;
	const char *value = NULL;
	const char *kind = NULL;
	size_t size = 0;
	size_t value_size = 0;
	size_t kind_size = 0;

	if (log_is_over(log)) {
		log_reader_open(&reader, log, log_seq(log) - 1, NULL, NULL);
		if (log_reader_next(&reader, &line, &size) <= 0)
			line = NULL;
		log_reader_close(&reader);
	}
	if (line != NULL && json_find(line, size, "verdict", &value, &value_size) &&
	    json_find(value, value_size, "kind", &kind, &kind_size))
		object_json(object, "verdict", kind, kind_size);
	else
		object_null(object, "verdict");
	if (line != NULL && json_find(line, size, "usage", &value, &value_size))
		copy_members(object, value, value_size, from_usage);
}

static const char *state_of(const struct engine *engine, const struct log *log)
{
	const struct flight *flight = NULL;

	if (log_is_over(log))
		return "over";
	flight = flight_find(engine, log_id(log));
	if (flight != NULL && flight->is_held)
		return "held";
	if (flight == NULL || flight->run == NULL)
		return "waiting";
	return run_has_begun(flight->run) ? "running" : "waiting";
}

/* A log of an earlier version has no `who`: what it has of it. */
static void put_who(struct object *object, const char *head, size_t size)
{
	static const char *const from_head[] = {"token", "peer", NULL};
	const char *value = NULL;
	size_t value_size = 0;

	if (json_find(head, size, "who", &value, &value_size)) {
		object_json(object, "who", value, value_size);
		return;
	}
	object_open(object, "who", '{');
	copy_members(object, head, size, from_head);
	object_close(object, '}');
}

void run_row_members(struct object *object, const struct engine *engine, struct log *log)
{
	static const char *const from_head[] = {"session", "op",        "policy", "runtime",
						"line",    "code_size", NULL};
	const char *head = "{}";
	size_t size = 2;

	object_text(object, "id", log_id(log));
	(void)log_head(log, &head, &size);
	copy_members(object, head, size, from_head);
	put_who(object, head, size);
	object_text(object, "state", state_of(engine, log));
	object_number(object, "begun_ms", log_begun_ms(log));
	object_number(object, "events", log_seq(log));
	put_verdict(object, log);
}

void run_row_put(struct object *object, const char *name, const struct engine *engine,
		 struct log *log)
{
	object_open(object, name, '{');
	run_row_members(object, engine, log);
	object_close(object, '}');
}

bool run_row_token(const struct log *log, char ret_token[RUN_ROW_TOKEN_SIZE])
{
	const char *head = NULL;
	const char *value = NULL;
	size_t size = 0;
	size_t value_size = 0;

	if (!log_head(log, &head, &size) || !json_find(head, size, "token", &value, &value_size) ||
	    value[0] != '"')
		return false;
	testimony_text(value, value_size, ret_token, RUN_ROW_TOKEN_SIZE);
	return true;
}

static int put_member(struct buf *buf, const char *before, const char *text)
{
	int r = buf_text(buf, before);

	if (r < 0)
		return r;
	return text != NULL && text[0] != '\0' ? json_put_text(buf, text) : buf_text(buf, "null");
}

int run_row_put_who(struct buf *buf, const struct op_caller *caller)
{
	int r = put_member(buf, "{\"token\":", caller->name);

	if (r == 0)
		r = put_member(buf, ",\"via\":", caller->via != NULL ? caller->via : "http");
	if (r == 0)
		r = put_member(buf, ",\"client\":", caller->client);
	if (r == 0)
		r = put_member(buf, ",\"peer\":", caller->peer);
	return r == 0 ? buf_text(buf, "}") : r;
}

int run_row_put_line(struct buf *buf, const void *code, size_t size)
{
	const char *at = code;
	const char *end = at + (code != NULL ? size : 0);
	size_t length = 0;

	while (at < end && strchr(" \t\r\n\f", *at) != NULL)
		at++;
	while (at + length < end && at[length] != '\n' && at[length] != '\r' &&
	       length < RUN_ROW_LINE_MAX)
		length++;
	/* Not in the middle of a character. */
	while (length > 0 && at + length < end && ((unsigned char)at[length] & 0xc0) == 0x80)
		length--;
	return json_put_string(buf, at != NULL ? at : "", length);
}
