// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "session/log_state.h"

/* What a notebook shows. Texts are strings there; only JSON may be anything. */
static const struct mime_row {
	const char *name;
	bool is_json;
} mimes[] = {
	{"text/plain", false},
	{"text/html", false},
	{"text/markdown", false},
	{"text/latex", false},
	{"image/png", false},
	{"image/jpeg", false},
	{"image/svg+xml", false},
	{"application/pdf", false},
	{"application/javascript", false},
	{"application/json", true},
	{"application/vnd.plotly.v1+json", true},
	{"application/vnd.vegalite.v5+json", true},
};

/* One cell while its lines are read. */
struct cell {
	struct buf *buf;
	unsigned number;    /* execution_count */
	size_t outputs;     /* so far */
	const char *stream; /* "stdout", "stderr": its text is open; NULL: none is */
	bool has_error;
};

/* A value in somebody's line. */
struct text {
	const char *at;
	size_t size;
};

static bool find(struct text object, const char *name, struct text *ret_value)
{
	return json_find(object.at, object.size, name, &ret_value->at, &ret_value->size);
}

static bool is_text(struct text value)
{
	return value.size >= 2 && value.at[0] == '"';
}

static bool says(struct text value, const char *word)
{
	return is_text(value) && value.size == strlen(word) + 2 &&
	       memcmp(value.at + 1, word, value.size - 2) == 0;
}

static int put(struct buf *buf, struct text value)
{
	return buf_append(buf, value.at, value.size);
}

/* ---- outputs ---- */

static int close_stream(struct cell *cell)
{
	if (cell->stream == NULL)
		return 0;
	cell->stream = NULL;
	return buf_text(cell->buf, "\"}");
}

static int begin_output(struct cell *cell, const char *type)
{
	int r = close_stream(cell);

	if (r == 0)
		r = buf_format(cell->buf, "%s{\"output_type\":\"%s\"", cell->outputs > 0 ? "," : "",
			       type);
	cell->outputs++;
	return r;
}

/* Texts of one stream that follow each other are one output, as in any notebook. */
static int put_stream(struct cell *cell, const char *name, struct text text)
{
	int r = 0;

	if (!is_text(text))
		return 0;
	if (cell->stream == NULL || strcmp(cell->stream, name) != 0) {
		r = begin_output(cell, "stream");
		if (r == 0)
			r = buf_format(cell->buf, ",\"name\":\"%s\",\"text\":\"", name);
		cell->stream = name;
	}
	return r < 0 ? r : buf_append(cell->buf, text.at + 1, text.size - 2);
}

static int put_bundle(struct buf *buf, struct text bundle)
{
	const char *before = "";
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(mimes) && r == 0; i++) {
		struct text value;

		if (!find(bundle, mimes[i].name, &value) || !(mimes[i].is_json || is_text(value)))
			continue;
		r = buf_format(buf, "%s\"%s\":", before, mimes[i].name);
		if (r == 0)
			r = put(buf, value);
		before = ",";
	}
	return r;
}

static int put_display(struct cell *cell, struct text bundle)
{
	int r = begin_output(cell, "display_data");

	if (r == 0)
		r = buf_text(cell->buf, ",\"data\":{");
	if (r == 0)
		r = put_bundle(cell->buf, bundle);
	if (r == 0)
		r = buf_text(cell->buf, "},\"metadata\":{}}");
	return r;
}

static int put_result(struct cell *cell, struct text bundle)
{
	int r = begin_output(cell, "execute_result");

	if (r == 0)
		r = buf_format(cell->buf, ",\"execution_count\":%u,\"data\":{", cell->number);
	if (r == 0)
		r = put_bundle(cell->buf, bundle);
	if (r == 0)
		r = buf_text(cell->buf, "},\"metadata\":{}}");
	return r;
}

/* A display with one form. */
static int put_one(struct cell *cell, const char *mime, struct text value)
{
	int r = begin_output(cell, "display_data");

	if (r == 0)
		r = buf_format(cell->buf, ",\"data\":{\"%s\":", mime);
	if (r == 0)
		r = put(cell->buf, value);
	if (r == 0)
		r = buf_text(cell->buf, "},\"metadata\":{}}");
	return r;
}

static int put_chart(struct cell *cell, struct text chart)
{
	struct text value;

	if (find(chart, "base64", &value) && is_text(value))
		return put_one(cell, "image/png", value);
	if (find(chart, "figure", &value))
		return put_one(cell, "application/vnd.plotly.v1+json", value);
	if (find(chart, "spec", &value))
		return put_one(cell, "application/json", value);
	return 0;
}

/* The string `text` as a list of its lines, without decoding it. */
static int put_lines(struct buf *buf, struct text text)
{
	size_t end = text.size - 1; /* its closing quote */
	size_t start = 1;
	size_t at = 1;
	int r = buf_text(buf, "[\"");

	while (at < end && r == 0) {
		if (text.at[at] != '\\') {
			at++;
			continue;
		}
		if (text.at[at + 1] == 'n') {
			r = buf_append(buf, text.at + start, at - start);
			if (r == 0 && at + 2 < end)
				r = buf_text(buf, "\",\"");
			start = at + 2;
		}
		at += 2;
	}
	if (r == 0 && start < end)
		r = buf_append(buf, text.at + start, end - start);
	return r < 0 ? r : buf_text(buf, "\"]");
}

static int put_error(struct cell *cell, struct text name, struct text value, struct text trace)
{
	int r = begin_output(cell, "error");

	cell->has_error = true;
	if (r == 0)
		r = buf_text(cell->buf, ",\"ename\":");
	if (r == 0)
		r = put(cell->buf, name);
	if (r == 0)
		r = buf_text(cell->buf, ",\"evalue\":");
	if (r == 0)
		r = put(cell->buf, value);
	if (r == 0)
		r = buf_text(cell->buf, ",\"traceback\":");
	if (r == 0)
		r = put_lines(cell->buf, trace);
	return r < 0 ? r : buf_text(cell->buf, "}");
}

/* The members of `object` that an error is made of. */
static int put_error_of(struct cell *cell, struct text object, const char *name, const char *trace)
{
	struct text texts[3];

	if (!find(object, name, &texts[0]) || !find(object, "message", &texts[1]) ||
	    !find(object, trace, &texts[2]) || !is_text(texts[0]) || !is_text(texts[1]) ||
	    !is_text(texts[2]))
		return 0;
	return put_error(cell, texts[0], texts[1], texts[2]);
}

/* An end that no exception tells of: out of time, of memory ... */
static int put_verdict(struct cell *cell, struct text verdict)
{
	struct text kind;

	if (cell->has_error || !find(verdict, "kind", &kind) || says(kind, "ok"))
		return 0;
	return put_error_of(cell, verdict, "kind", "message");
}

static int put_line(struct cell *cell, struct text line)
{
	struct text type, value;

	if (!find(line, "type", &type))
		return 0;
	if (says(type, "stdout") && find(line, "text", &value))
		return put_stream(cell, "stdout", value);
	if (says(type, "stderr") && find(line, "text", &value))
		return put_stream(cell, "stderr", value);
	if (says(type, "display") && find(line, "data", &value))
		return put_display(cell, value);
	if (says(type, "result") && find(line, "result", &value))
		return put_result(cell, value);
	if (says(type, "chart") && find(line, "chart", &value))
		return put_chart(cell, value);
	if (says(type, "table") && find(line, "table", &value))
		return put_one(cell, "application/json", value);
	if (says(type, "error") && find(line, "error", &value))
		return put_error_of(cell, value, "type", "traceback");
	if (says(type, "verdict") && find(line, "verdict", &value))
		return put_verdict(cell, value);
	return 0;
}

/* ---- cells ---- */

static int put_outputs(struct cell *cell, struct log *log)
{
	struct log_reader reader;
	struct text line = {0};
	int r;

	log_reader_open(&reader, log, 0, NULL, NULL);
	do {
		r = log_reader_next(&reader, &line.at, &line.size);
		if (r > 0 && put_line(cell, line) < 0)
			r = -EMSGSIZE;
	} while (r > 0);
	log_reader_close(&reader);
	/* Events that are no longer kept are missing from their cell, not the cell. */
	return r == -EMSGSIZE ? r : close_stream(cell);
}

/* What a shell ran is a cell too, under Jupyter's word for it. */
static int put_source(struct buf *buf, const struct log *log, bool is_command)
{
	struct text code = {0};
	size_t start;
	int r = 0;

	if (!log_code(log, &code.at, &code.size))
		return buf_text(buf, "\"\"");
	if (is_command)
		r = buf_text(buf, "\"%%bash\\n");
	if (r < 0)
		return r;
	start = buf->size;
	r = json_put_string(buf, code.at, code.size);
	/* One string: the second opening quote goes. */
	if (r == 0 && is_command) {
		memmove(buf->data + start, buf->data + start + 1, buf->size - start - 1);
		buf->size--;
	}
	return r;
}

static int put_cell(struct buf *buf, struct log *log, unsigned number, bool is_command)
{
	struct cell cell = {.buf = buf, .number = number};
	int r = buf_text(buf, number > 1 ? ",{\"id\":" : "{\"id\":");

	if (r == 0)
		r = json_put_text(buf, log->id);
	if (r == 0)
		r = buf_format(buf,
			       ",\"cell_type\":\"code\",\"execution_count\":%u,\"metadata\":{},"
			       "\"source\":",
			       number);
	if (r == 0)
		r = put_source(buf, log, is_command);
	if (r == 0)
		r = buf_text(buf, ",\"outputs\":[");
	if (r == 0)
		r = put_outputs(&cell, log);
	return r < 0 ? r : buf_text(buf, "]}");
}

static bool is_of(const struct log *log, const char *session, bool *ret_command)
{
	struct text head = {0};
	struct text value;

	if (!log_head(log, &head.at, &head.size) || !find(head, "session", &value) ||
	    !says(value, session))
		return false;
	*ret_command = find(head, "command", &value) && value.size == 4 &&
		       memcmp(value.at, "true", 4) == 0;
	return true;
}

static int put_end(struct buf *buf, const char *name)
{
	int r = buf_text(buf, "],\"metadata\":{\"kernelspec\":{\"display_name\":\"Python 3\","
			      "\"language\":\"python\",\"name\":\"python3\"},"
			      "\"language_info\":{\"name\":\"python\"}");

	if (r == 0 && name != NULL) {
		r = buf_text(buf, ",\"title\":");
		if (r == 0)
			r = json_put_text(buf, name);
	}
	return r < 0 ? r : buf_text(buf, "},\"nbformat\":4,\"nbformat_minor\":5}");
}

int logs_notebook(struct logs *logs, const char *session, const char *name, struct buf *buf,
		  struct err *err)
{
	struct log *log = NULL;
	unsigned number = 0;
	int r = buf_text(buf, "{\"cells\":[");

	TAILQ_FOREACH(log, &logs->all, entry) {
		bool is_command = false;

		if (r == 0 && is_of(log, session, &is_command))
			r = put_cell(buf, log, ++number, is_command);
	}
	if (r == 0)
		r = put_end(buf, name);
	if (r < 0)
		return err_set(err, ERR_TOO_LARGE, -r, "the notebook is larger than its buffer");
	return 0;
}
