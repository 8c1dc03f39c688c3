// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/remote_state.h"
#include "base/c.h"
#include "base/json.h"

#define MESSAGE_MAX 4000U /* of an error's text, as JSON */

static bool is_kind(struct span value, char first)
{
	return value.size > 0 && value.at[0] == first;
}

static bool is_bool(struct span value)
{
	return value.size > 0 && (value.at[0] == 't' || value.at[0] == 'f');
}

/* Is this a whole number in the range of exit codes? */
static bool is_code(struct span value, int *ret_code)
{
	char text[16];
	char *end = NULL;
	long number;

	if (value.size == 0 || value.size >= sizeof(text) ||
	    (value.at[0] != '-' && (value.at[0] < '0' || value.at[0] > '9')))
		return false;
	memcpy(text, value.at, value.size);
	text[value.size] = '\0';
	number = strtol(text, &end, 10);
	if (*end != '\0' || number < -1000000 || number > 1000000)
		return false;
	*ret_code = (int)number;
	return true;
}

/* ---- what a sidecar says ---- */

static void tell_text(struct remote_wire *wire, int stream, struct span text)
{
	if (is_kind(text, '"') && text.size > 2)
		wire->calls->text(wire->user, stream, text.at, text.size);
}

static bool is_base64(struct span text)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";

	return is_kind(text, '"') && text.size > 2 && strspn(text.at + 1, digits) >= text.size - 2;
}

static void tell_chart(struct remote_wire *wire, struct span chart)
{
	struct span bytes = span_member(chart, "base64");
	struct span mime = span_member(chart, "mimeType");
	struct buf fact;

	if (!is_base64(bytes) || (!span_is(mime, "image/png") && !span_is(mime, "image/jpeg")))
		return;
	buf_init(&fact, bytes.size + KIB);
	if (buf_format(&fact, "{\"kind\":\"image\",\"mime\":%.*s,\"base64\":", (int)mime.size,
		       mime.at) == 0 &&
	    buf_append(&fact, bytes.at, bytes.size) == 0 &&
	    buf_format(&fact, ",\"index\":%u}", wire->charts) == 0) {
		wire->charts++;
		wire->calls->fact(wire->user, "chart", (const char *)fact.data, fact.size);
	}
	buf_done(&fact);
}

/* A chart given as a description: {"kind":..., name: value}. */
static void tell_spec(struct remote_wire *wire, const char *kind, const char *name,
		      struct span spec)
{
	AUTO_BUF struct buf fact = {.max = spec.size + KIB};

	if (!is_kind(spec, '{'))
		return;
	if (buf_format(&fact, "{\"kind\":\"%s\",\"%s\":", kind, name) == 0 &&
	    buf_append(&fact, spec.at, spec.size) == 0 && buf_text(&fact, "}") == 0)
		wire->calls->fact(wire->user, "chart", (const char *)fact.data, fact.size);
}

static void tell_table(struct remote_wire *wire, struct span table)
{
	if (is_kind(span_member(table, "columns"), '[') && is_kind(span_member(table, "rows"), '['))
		wire->calls->fact(wire->user, "table", table.at, table.size);
}

static void end_with(struct remote_wire *wire, const char *kind, int exit_code, struct span message)
{
	struct buf *end = &wire->end;

	/* A message that is too long is dropped, but not the verdict. */
	if (!is_kind(message, '"') || message.size > MESSAGE_MAX)
		message = (struct span){"\"\"", 2};
	if (buf_format(end, "{\"verdict\":{\"kind\":\"%s\",\"exit_code\":%d,\"message\":", kind,
		       exit_code) < 0 ||
	    buf_append(end, message.at, message.size) < 0 || buf_text(end, "}}") < 0)
		buf_cut(end, 0);
}

static bool starts(struct span text, const char *with)
{
	size_t size = strlen(with);

	return text.size > size + 1 && memcmp(text.at + 1, with, size) == 0;
}

/* The length of the exception's name before ": ", or of a text that is only a name; 0: none. */
static size_t type_size(struct span error)
{
	size_t size = strspn(error.at + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					   "0123456789_.");

	if (size == 0 || size > 100 || (error.at[1] >= '0' && error.at[1] <= '9'))
		return 0;
	if (error.at[1 + size] == '"' || strncmp(error.at + 1 + size, ": ", 2) == 0)
		return size;
	return 0;
}

static void tell_exception(struct remote_wire *wire, struct span error, size_t type)
{
	size_t rest = error.at[1 + type] == '"' ? type + 1 : type + 3;
	AUTO_BUF struct buf fact = {.max = error.size + KIB};

	if (buf_format(&fact, "{\"type\":\"%.*s\",\"message\":\"", (int)type, error.at + 1) == 0 &&
	    buf_append(&fact, error.at + rest, error.size - rest) == 0 &&
	    buf_text(&fact, ",\"traceback\":\"\",\"line\":null}") == 0)
		wire->calls->fact(wire->user, "error", (const char *)fact.data, fact.size);
}

/* Translates a sidecar's error text into a verdict. It has nothing but text. */
static void end_error(struct remote_wire *wire, struct span error)
{
	static const struct {
		const char *starts, *kind;
		int exit_code;
	} rows[] = {
		{"Python execution timed out after ", "timeout", 124},
		{"Blocked import: ", "guard", 126},
		{"Blocked builtin: ", "guard", 126},
		{"Output exceeded ", "output", 1},
		{"Python output exceeded ", "output", 1},
		{"Python execution killed ", "killed", 137},
		{"Execution failed: ", "backend", 125},
	};
	size_t type;

	if (!is_kind(error, '"')) {
		end_with(wire, "exception", 1, (struct span){0});
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (starts(error, rows[i].starts)) {
			end_with(wire, rows[i].kind, rows[i].exit_code, error);
			return;
		}
	}
	type = type_size(error);
	if (type > 0)
		tell_exception(wire, error, type);
	end_with(wire, "exception", 1, error);
}

static void end_done(struct remote_wire *wire, struct span data)
{
	struct span success = span_member(data, "success");
	int code = 0;

	(void)is_code(span_member(data, "exitCode"), &code);
	if (code == 0 && !span_is(success, "false") && !(is_bool(success) && success.at[0] == 'f'))
		end_with(wire, "ok", 0, (struct span){0});
	else
		end_with(wire, "exit", code != 0 ? code & 0xff : 1, (struct span){0});
}

static void sidecar_event(struct remote_wire *wire, struct span type, struct span data)
{
	if (span_is(type, "stdout")) {
		tell_text(wire, 1, data);
	} else if (span_is(type, "chart")) {
		tell_chart(wire, data);
	} else if (span_is(type, "table")) {
		tell_table(wire, data);
	} else if (span_is(type, "recharts")) {
		tell_spec(wire, "spec", "spec", data);
	} else if (span_is(type, "plotly")) {
		tell_spec(wire, "plotly", "figure", data);
	} else if (span_is(type, "done")) {
		end_done(wire, data);
	} else if (span_is(type, "error")) {
		tell_text(wire, 1, span_member(data, "output"));
		end_error(wire, span_member(data, "error"));
	}
}

/* ---- what a Vivarium says ---- */

static void vivarium_started(struct remote_wire *wire, struct span line)
{
	struct span runtime = span_member(line, "runtime");
	char name[65] = "";

	if (is_kind(runtime, '"') && runtime.size - 2 < sizeof(name) &&
	    strspn(runtime.at + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789_.-") == runtime.size - 2)
		memcpy(name, runtime.at + 1, runtime.size - 2);
	wire->calls->started(wire->user, name);
}

static void vivarium_event(struct remote_wire *wire, struct span type, struct span line)
{
	static const struct {
		const char *type, *member;
	} facts[] = {
		{"display", "data"},  {"chart", "chart"}, {"table", "table"},
		{"result", "result"}, {"error", "error"}, {"file", "file"},
	};

	if (span_is(type, "started")) {
		vivarium_started(wire, line);
	} else if (span_is(type, "stdout")) {
		tell_text(wire, 1, span_member(line, "text"));
	} else if (span_is(type, "stderr")) {
		tell_text(wire, 2, span_member(line, "text"));
	} else if (span_is(type, "verdict") && is_kind(span_member(line, "verdict"), '{')) {
		(void)buf_append(&wire->end, line.at, line.size);
	}
	for (size_t i = 0; i < ARRAY_LEN(facts); i++) {
		struct span fact = span_member(line, facts[i].member);

		if (span_is(type, facts[i].type) && is_kind(fact, '{'))
			wire->calls->fact(wire->user, facts[i].type, fact.at, fact.size);
	}
}

/* ---- lines ---- */

static void take_line(struct remote_wire *wire, enum config_remote kind, const char *text,
		      size_t size)
{
	struct span line;
	struct span type;

	while (size > 0 && strchr(" \t\r", text[size - 1]) != NULL)
		size--;
	while (size > 0 && strchr(" \t\r", text[0]) != NULL) {
		text++;
		size--;
	}
	line = (struct span){text, size};
	if (size == 0 || text[0] != '{' || !json_is_valid(text, size))
		return;
	type = span_member(line, "type");
	if (kind == CONFIG_REMOTE_SIDECAR)
		sidecar_event(wire, type, span_member(line, "data"));
	else
		vivarium_event(wire, type, line);
}

int remote_wire_bytes(struct remote_wire *wire, enum config_remote kind, const char *bytes,
		      size_t size)
{
	while (size > 0) {
		const char *end = memchr(bytes, '\n', size);
		size_t piece = end != NULL ? (size_t)(end - bytes) : size;

		if (wire->end.size > 0)
			return -ECANCELED;
		if (buf_append(&wire->rest, bytes, piece) < 0) {
			wire->rest.size = wire->rest.max; /* the caller sees by this that the line
							   * was too long */
			return -EMSGSIZE;
		}
		if (end == NULL)
			break;
		take_line(wire, kind, (const char *)wire->rest.data, wire->rest.size);
		buf_cut(&wire->rest, 0);
		bytes = end + 1;
		size -= piece + 1;
	}
	return wire->end.size > 0 ? -ECANCELED : 0;
}

/* ---- answers in one piece ---- */

bool remote_wire_has_bool(const char *body, size_t size, const char *name)
{
	return size > 0 && json_is_valid(body, size) && body[0] == '{' &&
	       is_bool(span_member((struct span){body, size}, name));
}

int remote_wire_python(struct remote_wire *wire, const char *body, size_t size)
{
	struct span object = {body, size};
	struct span success = span_member(object, "success");
	struct span charts = span_member(object, "charts");
	struct span specs = span_member(object, "rechartsCharts");
	struct span figures = span_member(object, "plotlyCharts");

	if (!remote_wire_has_bool(body, size, "success"))
		return -EPROTO;
	tell_text(wire, 1, span_member(object, "output"));
	for (struct json_member item = {0}; json_item(charts.at, charts.size, &item);)
		tell_chart(wire, (struct span){item.value, item.size});
	tell_table(wire, span_member(object, "table"));
	for (struct json_member item = {0}; json_item(specs.at, specs.size, &item);)
		tell_spec(wire, "spec", "spec", (struct span){item.value, item.size});
	for (struct json_member item = {0}; json_item(figures.at, figures.size, &item);)
		tell_spec(wire, "plotly", "figure", (struct span){item.value, item.size});
	if (is_kind(success, 't'))
		end_with(wire, "ok", 0, (struct span){0});
	else
		end_error(wire, span_member(object, "error"));
	return 0;
}

/* Copies the members of the answer that a run's last event also has. */
static int end_explore(struct remote_wire *wire, struct span object)
{
	struct span verdict = span_member(object, "verdict");
	struct span cut = span_member(object, "truncated");

	if (buf_text(&wire->end, "{\"verdict\":") == 0 &&
	    buf_append(&wire->end, verdict.at, verdict.size) == 0 &&
	    (!is_kind(cut, '{') || (buf_text(&wire->end, ",\"truncated\":") == 0 &&
				    buf_append(&wire->end, cut.at, cut.size) == 0)) &&
	    buf_text(&wire->end, "}") == 0)
		return 0;
	buf_cut(&wire->end, 0);
	return -EPROTO;
}

int remote_wire_explore(struct remote_wire *wire, enum config_remote kind, const char *body,
			size_t size)
{
	struct span object = {body, size};
	bool is_sidecar = kind == CONFIG_REMOTE_SIDECAR;
	int code = 0;

	if (size == 0 || !json_is_valid(body, size) || body[0] != '{' ||
	    !is_code(span_member(object, is_sidecar ? "exitCode" : "exit_code"), &code))
		return -EPROTO;
	tell_text(wire, 1, span_member(object, "stdout"));
	tell_text(wire, 2, span_member(object, "stderr"));
	if (!is_sidecar && is_kind(span_member(object, "verdict"), '{'))
		return end_explore(wire, object);
	end_with(wire, code == 0 ? "ok" : "exit", code & 0xff, (struct span){0});
	return 0;
}
