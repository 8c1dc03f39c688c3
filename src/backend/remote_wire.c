// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/remote_state.h"
#include "base/c.h"
#include "base/json.h"

#define MESSAGE_MAX 4000U /* of an error's text, as JSON */

/* Text of a JSON value within what somebody else owns. */
struct value {
	const char *text; /* NULL: there is none */
	size_t size;
};

static struct value member(struct value object, const char *name)
{
	struct value value = {0};

	if (object.text == NULL || object.text[0] != '{' ||
	    !json_find(object.text, object.size, name, &value.text, &value.size))
		return (struct value){0};
	return value;
}

static bool is_kind(struct value value, char first)
{
	return value.text != NULL && value.text[0] == first;
}

/* Is it the JSON string of this text? */
static bool is_text(struct value value, const char *text)
{
	size_t size = strlen(text);

	return value.text != NULL && value.size == size + 2 && value.text[0] == '"' &&
	       memcmp(value.text + 1, text, size) == 0;
}

static bool is_bool(struct value value)
{
	return value.text != NULL && (value.text[0] == 't' || value.text[0] == 'f');
}

/* A whole number of a size that exit codes have. */
static bool is_code(struct value value, int *ret_code)
{
	char text[16];
	char *end = NULL;
	long number;

	if (value.text == NULL || value.size == 0 || value.size >= sizeof(text) ||
	    (value.text[0] != '-' && (value.text[0] < '0' || value.text[0] > '9')))
		return false;
	memcpy(text, value.text, value.size);
	text[value.size] = '\0';
	number = strtol(text, &end, 10);
	if (*end != '\0' || number < -1000000 || number > 1000000)
		return false;
	*ret_code = (int)number;
	return true;
}

/* The item of a valid array at *at, and *at behind it; false at the end. */
static bool next_item(struct value array, size_t *at, struct value *ret_item)
{
	size_t i = *at == 0 ? 1 : *at;
	size_t start;
	int depth = 0;
	bool is_string = false;

	while (i < array.size && strchr(" \t\r\n,", array.text[i]) != NULL)
		i++;
	if (i >= array.size || array.text[i] == ']')
		return false;
	for (start = i; i < array.size; i++) {
		char c = array.text[i];

		if (is_string) {
			i += c == '\\';
			is_string = c != '"';
		} else if (c == '"') {
			is_string = true;
		} else if (c == '{' || c == '[') {
			depth++;
		} else if (depth > 0 && (c == '}' || c == ']')) {
			depth--;
		} else if (depth == 0 && (c == ',' || c == ']')) {
			break;
		}
	}
	*ret_item = (struct value){array.text + start, i - start};
	*at = i;
	return true;
}

/* ---- what a sidecar says ---- */

static void tell_text(struct remote_wire *wire, int stream, struct value text)
{
	if (is_kind(text, '"') && text.size > 2)
		wire->calls->text(wire->user, stream, text.text, text.size);
}

static bool is_base64(struct value text)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";

	return is_kind(text, '"') && text.size > 2 &&
	       strspn(text.text + 1, digits) >= text.size - 2;
}

static void tell_chart(struct remote_wire *wire, struct value chart)
{
	struct value bytes = member(chart, "base64");
	struct value mime = member(chart, "mimeType");
	struct buf fact;

	if (!is_base64(bytes) || (!is_text(mime, "image/png") && !is_text(mime, "image/jpeg")))
		return;
	buf_init(&fact, bytes.size + KIB);
	if (buf_format(&fact, "{\"kind\":\"image\",\"mime\":%.*s,\"base64\":", (int)mime.size,
		       mime.text) == 0 &&
	    buf_append(&fact, bytes.text, bytes.size) == 0 &&
	    buf_format(&fact, ",\"index\":%u}", wire->charts) == 0) {
		wire->charts++;
		wire->calls->fact(wire->user, "chart", (const char *)fact.data, fact.size);
	}
	buf_done(&fact);
}

/* A chart that is a description: {"kind":..., name: what came}. */
static void tell_spec(struct remote_wire *wire, const char *kind, const char *name,
		      struct value spec)
{
	struct buf fact;

	if (!is_kind(spec, '{'))
		return;
	buf_init(&fact, spec.size + KIB);
	if (buf_format(&fact, "{\"kind\":\"%s\",\"%s\":", kind, name) == 0 &&
	    buf_append(&fact, spec.text, spec.size) == 0 && buf_text(&fact, "}") == 0)
		wire->calls->fact(wire->user, "chart", (const char *)fact.data, fact.size);
	buf_done(&fact);
}

static void tell_table(struct remote_wire *wire, struct value table)
{
	if (is_kind(member(table, "columns"), '[') && is_kind(member(table, "rows"), '['))
		wire->calls->fact(wire->user, "table", table.text, table.size);
}

static void end_with(struct remote_wire *wire, const char *kind, int exit_code,
		     struct value message)
{
	struct buf *end = &wire->end;

	/* Too long a text is dropped, not the verdict. */
	if (!is_kind(message, '"') || message.size > MESSAGE_MAX)
		message = (struct value){"\"\"", 2};
	if (buf_format(end, "{\"verdict\":{\"kind\":\"%s\",\"exit_code\":%d,\"message\":", kind,
		       exit_code) < 0 ||
	    buf_append(end, message.text, message.size) < 0 || buf_text(end, "}}") < 0)
		buf_cut(end, 0);
}

static bool starts(struct value text, const char *with)
{
	size_t size = strlen(with);

	return text.size > size + 1 && memcmp(text.text + 1, with, size) == 0;
}

/* The name of an exception in front of ": ", or all of a text that is only a name; 0: none. */
static size_t type_size(struct value error)
{
	size_t size = strspn(error.text + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					     "0123456789_.");

	if (size == 0 || size > 100 || (error.text[1] >= '0' && error.text[1] <= '9'))
		return 0;
	if (error.text[1 + size] == '"' || strncmp(error.text + 1 + size, ": ", 2) == 0)
		return size;
	return 0;
}

static void tell_exception(struct remote_wire *wire, struct value error, size_t type)
{
	size_t rest = error.text[1 + type] == '"' ? type + 1 : type + 3;
	struct buf fact;

	buf_init(&fact, error.size + KIB);
	if (buf_format(&fact, "{\"type\":\"%.*s\",\"message\":\"", (int)type, error.text + 1) ==
		    0 &&
	    buf_append(&fact, error.text + rest, error.size - rest) == 0 &&
	    buf_text(&fact, ",\"traceback\":\"\",\"line\":null}") == 0)
		wire->calls->fact(wire->user, "error", (const char *)fact.data, fact.size);
	buf_done(&fact);
}

/* What a sidecar's words for a failure mean. All it has is words. */
static void end_error(struct remote_wire *wire, struct value error)
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
		end_with(wire, "exception", 1, (struct value){0});
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

static void end_done(struct remote_wire *wire, struct value data)
{
	struct value success = member(data, "success");
	int code = 0;

	(void)is_code(member(data, "exitCode"), &code);
	if (code == 0 && !is_text(success, "false") &&
	    !(is_bool(success) && success.text[0] == 'f'))
		end_with(wire, "ok", 0, (struct value){0});
	else
		end_with(wire, "exit", code != 0 ? code & 0xff : 1, (struct value){0});
}

static void sidecar_event(struct remote_wire *wire, struct value type, struct value data)
{
	if (is_text(type, "stdout")) {
		tell_text(wire, 1, data);
	} else if (is_text(type, "chart")) {
		tell_chart(wire, data);
	} else if (is_text(type, "table")) {
		tell_table(wire, data);
	} else if (is_text(type, "recharts")) {
		tell_spec(wire, "spec", "spec", data);
	} else if (is_text(type, "plotly")) {
		tell_spec(wire, "plotly", "figure", data);
	} else if (is_text(type, "done")) {
		end_done(wire, data);
	} else if (is_text(type, "error")) {
		tell_text(wire, 1, member(data, "output"));
		end_error(wire, member(data, "error"));
	}
}

/* ---- what a Vivarium says ---- */

static void vivarium_started(struct remote_wire *wire, struct value line)
{
	struct value runtime = member(line, "runtime");
	char name[65] = "";

	if (is_kind(runtime, '"') && runtime.size - 2 < sizeof(name) &&
	    strspn(runtime.text + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "0123456789_.-") == runtime.size - 2)
		memcpy(name, runtime.text + 1, runtime.size - 2);
	wire->calls->started(wire->user, name);
}

static void vivarium_event(struct remote_wire *wire, struct value type, struct value line)
{
	static const struct {
		const char *type, *member;
	} facts[] = {
		{"display", "data"},  {"chart", "chart"}, {"table", "table"},
		{"result", "result"}, {"error", "error"}, {"file", "file"},
	};

	if (is_text(type, "started")) {
		vivarium_started(wire, line);
	} else if (is_text(type, "stdout")) {
		tell_text(wire, 1, member(line, "text"));
	} else if (is_text(type, "stderr")) {
		tell_text(wire, 2, member(line, "text"));
	} else if (is_text(type, "verdict") && is_kind(member(line, "verdict"), '{')) {
		(void)buf_append(&wire->end, line.text, line.size);
	}
	for (size_t i = 0; i < ARRAY_LEN(facts); i++) {
		struct value fact = member(line, facts[i].member);

		if (is_text(type, facts[i].type) && is_kind(fact, '{'))
			wire->calls->fact(wire->user, facts[i].type, fact.text, fact.size);
	}
}

/* ---- lines ---- */

static void take_line(struct remote_wire *wire, enum config_remote kind, const char *text,
		      size_t size)
{
	struct value line;
	struct value type;

	while (size > 0 && strchr(" \t\r", text[size - 1]) != NULL)
		size--;
	while (size > 0 && strchr(" \t\r", text[0]) != NULL) {
		text++;
		size--;
	}
	line = (struct value){text, size};
	if (size == 0 || text[0] != '{' || !json_is_valid(text, size))
		return;
	type = member(line, "type");
	if (kind == CONFIG_REMOTE_ATLAS)
		sidecar_event(wire, type, member(line, "data"));
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
			wire->rest.size = wire->rest.max; /* whoever looks sees why */
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
	       is_bool(member((struct value){body, size}, name));
}

int remote_wire_python(struct remote_wire *wire, const char *body, size_t size)
{
	struct value object = {body, size};
	struct value success;
	struct value item;
	size_t at;

	if (!remote_wire_has_bool(body, size, "success"))
		return -EPROTO;
	success = member(object, "success");
	tell_text(wire, 1, member(object, "output"));
	for (at = 0; is_kind(member(object, "charts"), '[') &&
		     next_item(member(object, "charts"), &at, &item);)
		tell_chart(wire, item);
	tell_table(wire, member(object, "table"));
	for (at = 0; is_kind(member(object, "rechartsCharts"), '[') &&
		     next_item(member(object, "rechartsCharts"), &at, &item);)
		tell_spec(wire, "spec", "spec", item);
	for (at = 0; is_kind(member(object, "plotlyCharts"), '[') &&
		     next_item(member(object, "plotlyCharts"), &at, &item);)
		tell_spec(wire, "plotly", "figure", item);
	if (is_kind(success, 't'))
		end_with(wire, "ok", 0, (struct value){0});
	else
		end_error(wire, member(object, "error"));
	return 0;
}

/* The members of its answer that an event of a run's end has, too. */
static int end_explore(struct remote_wire *wire, struct value object)
{
	struct value verdict = member(object, "verdict");
	struct value cut = member(object, "truncated");

	if (buf_text(&wire->end, "{\"verdict\":") == 0 &&
	    buf_append(&wire->end, verdict.text, verdict.size) == 0 &&
	    (!is_kind(cut, '{') || (buf_text(&wire->end, ",\"truncated\":") == 0 &&
				    buf_append(&wire->end, cut.text, cut.size) == 0)) &&
	    buf_text(&wire->end, "}") == 0)
		return 0;
	buf_cut(&wire->end, 0);
	return -EPROTO;
}

int remote_wire_explore(struct remote_wire *wire, enum config_remote kind, const char *body,
			size_t size)
{
	struct value object = {body, size};
	bool is_sidecar = kind == CONFIG_REMOTE_ATLAS;
	int code = 0;

	if (size == 0 || !json_is_valid(body, size) || body[0] != '{' ||
	    !is_code(member(object, is_sidecar ? "exitCode" : "exit_code"), &code))
		return -EPROTO;
	tell_text(wire, 1, member(object, "stdout"));
	tell_text(wire, 2, member(object, "stderr"));
	if (!is_sidecar && is_kind(member(object, "verdict"), '{'))
		return end_explore(wire, object);
	end_with(wire, code == 0 ? "ok" : "exit", code & 0xff, (struct value){0});
	return 0;
}
