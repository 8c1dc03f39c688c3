// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "door/atlas/atlas.h"
#include "door/ending.h"
#include "session/engine.h"

#define TIMEOUT_DEFAULT_MS 30000U
#define TIMEOUT_MIN_MS 1000U
#define TIMEOUT_MAX_MS 120000U

#define TEXT_ROOM ((size_t)8 * ATLAS_OUTPUT_MAX) /* room for 1 MiB with every character escaped */
#define STDERR_ROOM (64U << 10)
#define PARTS_ROOM (16U << 20)
#define CHARTS_ROOM (48U << 20) /* all pictures of a result together */
#define ATOMIC_WRITE 4096U      /* man 7 pipe: shorter writes arrive whole */
#define CHART_FOLDER "/tmp/charts/"
#define NDJSON "application/x-ndjson"

/* ---- live output of the stream route ---- */

static void begin_stream(struct atlas_python *python)
{
	if (exchange_is_answered(python->call))
		return;
	exchange_set_header(python->call, "Cache-Control", "no-cache");
	exchange_set_header(python->call, "X-Accel-Buffering", "no");
	exchange_queue(python->call, 200, NDJSON);
}

/* Sends {"type":"<type>","data":<before><value><behind>}; false: the client's queue is full for
 * now. */
static bool tell(struct atlas_python *python, const char *type, const char *before,
		 struct escaped value, const char *behind)
{
	char head[64];
	bool has_room;

	begin_stream(python);
	(void)snprintf(head, sizeof(head), "{\"type\":\"%s\",\"data\":", type);
	(void)exchange_write(python->call, head, strlen(head));
	(void)exchange_write(python->call, before, strlen(before));
	(void)exchange_write(python->call, value.text, value.size);
	(void)exchange_write(python->call, behind, strlen(behind));
	has_room = exchange_write(python->call, "}\n", 2);
	return has_room;
}

/* Counts what Atlas's own wrapper would print for this. False: over the limit, and the run is
 * cancelled. */
static bool count(struct atlas_python *python, uint64_t size)
{
	if (!python->is_stream || python->is_over_limit)
		return !python->is_over_limit;
	python->told += size;
	python->is_over_limit = python->told > ATLAS_OUTPUT_MAX;
	if (python->is_over_limit)
		exchange_cancel(python->call);
	return !python->is_over_limit;
}

static bool tell_line(struct atlas_python *python, struct escaped line)
{
	if (!count(python, escaped_utf8(line)))
		return true;
	return tell(python, "stdout", "\"", line, "\"");
}

static bool tell_rest_of_line(struct atlas_python *python)
{
	struct escaped line = {(const char *)python->out.data, python->out.size};
	bool has_room = true;

	if (line.size > 0)
		has_room = tell_line(python, line);
	buf_consume(&python->out, python->out.size);
	return has_room;
}

/* Sends the text line by line. A text without a line end was flushed and is sent too, unless it is
 * only the first part of a long write. */
static bool stream_text(struct atlas_python *python, struct escaped text)
{
	bool is_long = text.size >= ATOMIC_WRITE;
	bool has_room = true;

	while (text.size > 0) {
		struct escaped line = escaped_line(text);
		struct escaped part = line.size > 0 ? line : text;

		if (buf_append(&python->out, part.text, part.size) < 0)
			return has_room;
		text.text += part.size;
		text.size -= part.size;
		if (line.size > 0 || !is_long)
			has_room = tell_rest_of_line(python);
	}
	return has_room;
}

/* ---- events of the run ---- */

static bool take_stdout(struct atlas_python *python, const struct result *told)
{
	struct escaped text = escaped_of(told->members[RESULT_STDOUT]);

	if (python->is_stream)
		return stream_text(python, text);
	(void)buf_append(&python->out, text.text, text.size);
	return true;
}

static bool take_stderr(struct atlas_python *python, const struct result *told)
{
	struct escaped text = escaped_of(told->members[RESULT_STDERR]);

	if (python->err.size + text.size <= STDERR_ROOM)
		(void)buf_append(&python->err, text.text, text.size);
	return true;
}

static char *copy_escaped(struct escaped text)
{
	char *copy = xcalloc(1, text.size + 1);

	memcpy(copy, text.text, text.size);
	return copy;
}

/* A later picture replaces the one of the same name, as it did in the file. */
static void keep_picture(struct atlas_python *python, struct escaped path, struct escaped base64)
{
	struct atlas_chart *chart = NULL;
	uint64_t total = base64.size;
	size_t i = 0;

	for (size_t k = 0; k < python->chart_count; k++)
		total += strlen(python->charts[k].base64);
	while (i < python->chart_count && !escaped_is(path, python->charts[i].path))
		i++;
	if (i == ATLAS_CHARTS_MAX || total > CHARTS_ROOM) {
		python->is_reduced = true;
		return;
	}
	chart = &python->charts[i];
	if (i == python->chart_count) {
		python->chart_count++;
		chart->path = copy_escaped(path);
	} else {
		free(chart->base64);
	}
	chart->base64 = copy_escaped(base64);
}

static bool take_picture(struct atlas_python *python, struct span chart)
{
	struct escaped path = escaped_member(chart, "path");
	struct escaped base64 = escaped_member(chart, "base64");
	size_t folder = strlen(CHART_FOLDER);
	char name[sizeof(CHART_FOLDER) + 32];

	/* A sidecar sends only pictures of that folder, in order and without names. */
	if (python->is_away && escaped_is(escaped_member(chart, "mime"), "image/png")) {
		(void)snprintf(name, sizeof(name), CHART_FOLDER "chart_%zu.png",
			       python->chart_count);
		path = (struct escaped){name, strlen(name)};
	}
	if (base64.size == 0 || path.size <= folder || memcmp(path.text, CHART_FOLDER, folder) != 0)
		return true;
	if (python->is_stream)
		return !count(python, base64.size) ||
		       tell(python, "chart", "{\"base64\":\"", base64,
			    "\",\"mimeType\":\"image/png\"}");
	if (path.size > folder + 6 && memcmp(path.text + folder, "chart_", 6) == 0)
		keep_picture(python, path, base64);
	return true;
}

static bool add_item(struct buf *list, const char *value, size_t size)
{
	size_t before = list->size;

	if ((before == 0 || buf_text(list, ",") == 0) && buf_append(list, value, size) == 0)
		return true;
	buf_cut(list, before);
	return false;
}

/* For a stream route each part is wrapped as an event at once, so that the list need not be split
 * again later. */
static void keep_part(struct atlas_python *python, struct buf *to, const char *type,
		      struct span value)
{
	size_t before = to->size;

	if (!python->is_stream) {
		python->is_reduced |= !add_item(to, value.at, value.size);
		return;
	}
	if (buf_format(to, "{\"type\":\"%s\",\"data\":", type) < 0 ||
	    buf_append(to, value.at, value.size) < 0 || buf_text(to, "}\n") < 0)
		buf_cut(to, before);
}

static bool take_chart(struct atlas_python *python, const struct result *told)
{
	struct span chart = told->members[RESULT_CHARTS];
	struct escaped kind = escaped_member(chart, "kind");
	struct span spec = span_member(chart, "spec");
	struct span figure = span_member(chart, "figure");

	if (escaped_is(kind, "image"))
		return take_picture(python, chart);
	if (escaped_is(kind, "spec") && spec.size > 0) {
		python->has_specs = true;
		if (spec.at[0] != 'n' && count(python, spec.size))
			keep_part(python, &python->specs, "recharts", spec);
	}
	if (escaped_is(kind, "plotly") && figure.size > 0 && figure.at[0] == '{')
		keep_part(python, &python->figures, "plotly", figure);
	return true;
}

static bool take_table(struct atlas_python *python, const struct result *told)
{
	struct span table = told->members[RESULT_TABLE];

	buf_consume(&python->table, python->table.size);
	if (table.size > 0 && count(python, table.size))
		keep_part(python, &python->table, "table", table);
	return true;
}

/* "ValueError: message", without the traceback. */
static bool take_error(struct atlas_python *python, const struct result *told)
{
	struct escaped type = escaped_member(told->members[RESULT_ERROR], "type");
	struct escaped message = escaped_member(told->members[RESULT_ERROR], "message");

	buf_consume(&python->error, python->error.size);
	if (buf_append(&python->error, type.text, type.size) == 0 &&
	    buf_text(&python->error, ": ") == 0)
		(void)buf_append(&python->error, message.text, message.size);
	return true;
}

static bool take_verdict(struct atlas_python *python, const struct result *told)
{
	struct ending ending;

	(void)ending_read(told, &ending);
	python->is_cut = ending.is_out_cut;
	(void)snprintf(python->kind, sizeof(python->kind), "%s", ending_kind(&ending));
	(void)snprintf(python->number, sizeof(python->number), "%.*s", (int)ending.code.size,
		       ending.code.at);
	buf_consume(&python->message, python->message.size);
	(void)buf_append(&python->message, ending.message.text, ending.message.size);
	return true;
}

static bool take_start(struct atlas_python *python, const struct result *told)
{
	python->is_away = escaped_is(escaped_of(told->members[RESULT_BACKEND]), "remote");
	return true;
}

static bool take_event(void *user, const char *line, size_t size)
{
	static const struct {
		const char *type;
		bool (*take)(struct atlas_python *python, const struct result *told);
	} rows[] = {
		{"stdout", take_stdout}, {"stderr", take_stderr}, {"chart", take_chart},
		{"table", take_table},   {"error", take_error},   {"verdict", take_verdict},
		{"started", take_start},
	};
	struct exchange *call = user;
	struct atlas_python *python = call->user;
	struct event event;

	event_read(line, size, &event);
	if (python->is_stream)
		begin_stream(python);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (event_is(&event, rows[i].type))
			return rows[i].take(python, &event.told);
	}
	return true;
}

/* ---- the end ---- */

static void write_part(struct atlas_python *python, const struct buf *part)
{
	(void)exchange_write(python->call, part->data, part->size);
}

static void end_stream(struct atlas_python *python)
{
	struct escaped none = {"", 0};
	bool is_good;
	struct buf words;

	(void)tell_rest_of_line(python);
	is_good = strcmp(python->kind, "ok") == 0 && !python->is_over_limit && !python->is_cut;
	if (is_good) {
		write_part(python, &python->table);
		write_part(python, &python->specs);
		write_part(python, &python->figures);
		(void)tell(python, "done", "{\"success\":true,\"exitCode\":0", none,
			   python->table.size > 0 ? ",\"hasTable\":true}" : "}");
	} else {
		buf_init(&words, PARTS_ROOM);
		if (atlas_put_error(python, &words) < 0)
			buf_consume(&words, words.size);
		(void)tell(python, "error", "{\"error\":\"",
			   (struct escaped){buf_string(&words), words.size}, "\"}");
		buf_done(&words);
	}
	exchange_end(python->call);
}

static void end_whole(struct atlas_python *python)
{
	bool is_ours = strcmp(python->kind, "backend") == 0 ||
		       strcmp(python->kind, "cancelled") == 0 ||
		       strcmp(python->kind, "denied") == 0;
	AUTO_BUF struct buf body = {.max = EXCHANGE_QUEUE_MAX};

	if (atlas_put_result(python, &body) < 0) {
		buf_consume(&body, body.size);
		(void)buf_text(&body, "{\"success\":false,\"error\":\"Execution failed: the result "
				      "is too large\"}");
	}
	exchange_answer(python->call, is_ours ? 500 : 200, &body);
}

/* The run never began. */
static void fail(struct atlas_python *python, const struct err *err)
{
	AUTO_BUF struct buf body = {.max = EXCHANGE_QUEUE_MAX};
	AUTO_BUF struct buf text = {.max = sizeof(err->text) + 64};

	if (err_is_busy(err)) {
		atlas_say(python->call, 429, "Too many concurrent executions");
		return;
	}
	(void)buf_format(&text, "Execution failed: %s", err->text);
	json_put(&body, "{'success':false,'error':%s}", buf_string(&text));
	exchange_answer(python->call, 500, &body);
}

static void python_is_done(void *user, const struct ask_result *result)
{
	struct exchange *call = user;
	struct atlas_python *python = call->user;

	atlas_leave(python->place);
	if (result->err != NULL && !exchange_is_answered(call)) {
		fail(python, result->err);
		return;
	}
	if (result->err != NULL) {
		(void)snprintf(python->kind, sizeof(python->kind), "backend");
		buf_consume(&python->message, python->message.size);
		(void)buf_text(&python->message, "the events of the run were lost");
	}
	if (python->is_stream)
		end_stream(python);
	else
		end_whole(python);
}

static void drained(struct exchange *call)
{
	if (call->ask != NULL)
		ask_go_on(call->ask);
}

static void ended(struct exchange *call)
{
	struct atlas_python *python = call->user;
	struct buf *const bufs[] = {&python->out,    &python->err,   &python->error,
				    &python->table,  &python->specs, &python->figures,
				    &python->message};

	for (size_t i = 0; i < ARRAY_LEN(bufs); i++)
		buf_done(bufs[i]);
	for (size_t i = 0; i < python->chart_count; i++) {
		free(python->charts[i].path);
		free(python->charts[i].base64);
	}
	atlas_leave(python->place);
}

/* ---- the beginning ---- */

static void init(struct atlas_python *python, struct exchange *call, bool is_stream)
{
	python->call = call;
	python->is_stream = is_stream;
	buf_init(&python->out, TEXT_ROOM);
	buf_init(&python->err, STDERR_ROOM);
	buf_init(&python->error, PARTS_ROOM);
	buf_init(&python->table, PARTS_ROOM);
	buf_init(&python->specs, PARTS_ROOM);
	buf_init(&python->figures, PARTS_ROOM);
	buf_init(&python->message, STDERR_ROOM);
	python->place = call->user;
	call->user = python;
	call->left = exchange_cancel;
	call->drained = drained;
	call->ended = ended;
}

void atlas_run_python(struct exchange *call, bool is_stream)
{
	static const struct ask_calls calls = {.event = take_event, .done = python_is_done};
	static const char *const env[] = {"MPLBACKEND=Agg", "LANG=C.UTF-8",
					  "ATLAS_CHART_DIR=/tmp/charts", NULL};
	const struct config *config = call->engine->config;
	const struct atlas_config *own = config_part(config, &atlas_config);
	uint64_t most_ms = TIMEOUT_MAX_MS;
	struct atlas_python *python = exchange_memory(call, sizeof(*python));
	const struct policy *policy;
	struct err err = {0};

	init(python, call, is_stream);
	if (!exchange_large(call, "code", true, &python->args.code) ||
	    python->args.code.size == 0) {
		atlas_say(call, 400, "Missing or invalid 'code' field");
		return;
	}
	(void)exchange_large(call, "data", false, &python->args.data);
	if (python->args.data.size > own->data_max) {
		atlas_say(call, 413, "'data' is too large");
		return;
	}
	policy = config_policy(config, own->policy, &err);
	if (policy != NULL && policy->timeout_max_ms < most_ms)
		most_ms = policy->timeout_max_ms;
	python->timeout_ms = atlas_timeout(call, TIMEOUT_DEFAULT_MS, TIMEOUT_MIN_MS, most_ms);
	python->args.policy = own->policy;
	python->args.limits.timeout_ms = python->timeout_ms;
	if (policy != NULL && policy->output > ATLAS_OUTPUT_MAX)
		python->args.limits.output = ATLAS_OUTPUT_MAX;
	python->args.env = env;
	python->args.stand_ins = "explicit";
	python->args.is_sidecar = true;
	exchange_ask(call, &op_run, &python->args, &calls);
}
