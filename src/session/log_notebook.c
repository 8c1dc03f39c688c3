// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "session/log_state.h"
#include "session/log_text.h"
#include "session/result.h"

#define LOG_WORK 256U /* the cost of checking whether a log belongs to the session */

/* The forms that a notebook shows. Only those that are JSON may be other than a string. */
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

/* How a line is shown: which of its members is used, and which parts of that member. */
enum shown {
	SHOWN_STREAM,
	SHOWN_DISPLAY,
	SHOWN_RESULT,
	SHOWN_CHART,
	SHOWN_TABLE,
	SHOWN_ERROR,
	SHOWN_VERDICT,
};

#define PARTS_MAX 3

static const struct line_row {
	const char *type;
	const char *member;
	const char *parts[PARTS_MAX]; /* of the member; all NULL: the member is used whole */
} line_rows[] = {
	[SHOWN_STREAM] = {"stdout", "text", {NULL}},
	[SHOWN_DISPLAY] = {"display", "data", {NULL}},
	[SHOWN_RESULT] = {"result", "result", {NULL}},
	[SHOWN_CHART] = {"chart", "chart", {"base64", "figure", "spec"}},
	[SHOWN_TABLE] = {"table", "table", {NULL}},
	[SHOWN_ERROR] = {"error", "error", {"type", "message", "traceback"}},
	[SHOWN_VERDICT] = {"verdict", "verdict", {"kind", "message"}},
};

enum phase {
	PHASE_START,
	PHASE_CELL,    /* find the next run */
	PHASE_OUTPUTS, /* the source of the cell was written */
	PHASE_LINE,    /* find the next line to show */
	PHASE_VALUE,   /* find the member of the line to show */
	PHASE_PARTS,   /* ... and the parts of that member */
	PHASE_BUNDLE,  /* write the forms of a display one after the other */
	PHASE_END,
	PHASE_OVER,
};

/* A session that a branch descends from. */
struct inherited {
	char session[JOURNAL_ID_SIZE];
	uint64_t last; /* serial of the last run to include; 0: none is left */
};

struct notebook_text {
	struct log_text text; /* must be first: callers have a pointer to it */
	char session[JOURNAL_ID_SIZE];
	char *name;                  /* owned; NULL: none */
	struct inherited *inherited; /* owned; NULL: none */
	size_t inherited_count;
	enum phase phase;

	uint64_t serial;    /* of the last log examined */
	unsigned number;    /* of the cell: execution_count */
	size_t outputs;     /* of the cell, so far */
	const char *stream; /* "stdout" or "stderr": the output being written; NULL: none */
	bool has_error;

	enum shown shown;
	struct log_text_span value; /* the member that is shown */
	struct members inner;       /* the iterator over its members */
	struct log_text_span parts[PARTS_MAX];
	bool is_text[PARTS_MAX];
	uint32_t mimes;     /* forms of the bundle that were seen */
	unsigned mimes_out; /* ... and shown */

	struct { /* of the cell, from its verdict */
		struct run_truncated truncated;
		struct run_usage usage;
		struct run_allowed allowed;
	} cut;
};

/* ---- outputs ---- */

static int close_stream(struct notebook_text *book)
{
	if (book->stream == NULL)
		return 0;
	book->stream = NULL;
	return buf_text(&book->text.out, "\"}");
}

static int begin_output(struct notebook_text *book, const char *type)
{
	int r = close_stream(book);

	if (r == 0)
		r = buf_format(&book->text.out, "%s{\"output_type\":\"%s\"",
			       book->outputs > 0 ? "," : "", type);
	book->outputs++;
	return r;
}

/* Consecutive texts of one stream are one output, as in any notebook. */
static int put_stream(struct notebook_text *book, const char *name, bool is_text)
{
	struct log_text_span inner;
	int r = 0;

	if (!is_text)
		return 0;
	if (book->stream == NULL || strcmp(book->stream, name) != 0) {
		r = begin_output(book, "stream");
		if (r == 0)
			r = buf_format(&book->text.out, ",\"name\":\"%s\",\"text\":\"", name);
		book->stream = name;
	}
	inner = log_text_inner(book->value, LOG_TEXT_COPY);
	log_text_put(&book->text, NULL, &inner);
	return r;
}

static int begin_bundle(struct notebook_text *book)
{
	bool is_result = book->shown == SHOWN_RESULT;
	struct buf *out = &book->text.out;
	int r = begin_output(book, is_result ? "execute_result" : "display_data");

	if (r == 0 && is_result)
		r = buf_format(out, ",\"execution_count\":%u", book->number);
	book->mimes = book->mimes_out = 0;
	book->inner = (struct members){0};
	book->phase = PHASE_BUNDLE;
	return r < 0 ? r : buf_text(out, ",\"data\":{");
}

/* Writes a display with a single form. */
static int put_one(struct notebook_text *book, const char *mime, const struct log_text_span *value)
{
	int r = begin_output(book, "display_data");

	if (r == 0)
		r = buf_format(&book->text.out, ",\"data\":{\"%s\":", mime);
	log_text_put(&book->text, NULL, value);
	log_text_put(&book->text, "},\"metadata\":{}}", NULL);
	return r;
}

static int put_chart(struct notebook_text *book)
{
	static const char *const forms[PARTS_MAX] = {"image/png", "application/vnd.plotly.v1+json",
						     "application/json"};

	for (size_t i = 0; i < PARTS_MAX; i++) {
		/* A picture must be a string. */
		if (book->parts[i].size > 0 && (i > 0 || book->is_text[i]))
			return put_one(book, forms[i], &book->parts[i]);
	}
	return 0;
}

static int put_error(struct notebook_text *book, size_t trace)
{
	struct log_text *text = &book->text;
	struct log_text_span lines;
	int r;

	if (!book->is_text[0] || !book->is_text[1] || !book->is_text[trace])
		return 0;
	r = begin_output(book, "error");
	book->has_error = true;
	lines = log_text_inner(book->parts[trace], LOG_TEXT_LINES);
	log_text_put(text, ",\"ename\":", &book->parts[0]);
	log_text_put(text, ",\"evalue\":", &book->parts[1]);
	log_text_put(text, ",\"traceback\":[\"", &lines);
	log_text_put(text, "\"]}", NULL);
	return r;
}

/* Is this string of a line equal to `word`? */
static bool says(const struct notebook_text *book, const struct log_text_span *span,
		 const char *word)
{
	size_t size = 0;
	const char *bytes = log_text_bytes(&book->text, span->place, &size);

	return bytes != NULL && span->size == strlen(word) + 2 &&
	       memcmp(bytes + span->at + 1, word, strlen(word)) == 0;
}

/* Everything needed of the line has been found. */
static int put_parts(struct notebook_text *book)
{
	book->phase = PHASE_LINE;
	if (book->shown == SHOWN_CHART)
		return put_chart(book);
	if (book->shown == SHOWN_ERROR)
		return put_error(book, 2);
	/* An end without an exception: timeout, out of memory, ... */
	if (book->has_error || says(book, &book->parts[0], "ok"))
		return 0;
	return put_error(book, 1);
}

static int put_value(struct notebook_text *book, bool is_text, bool is_object)
{
	book->phase = PHASE_LINE;
	if (book->shown == SHOWN_STREAM)
		return put_stream(book, book->text.line.type[3] == 'o' ? "stdout" : "stderr",
				  is_text);
	if (book->shown == SHOWN_TABLE)
		return put_one(book, "application/json", &book->value);
	if (!is_object && book->shown != SHOWN_DISPLAY && book->shown != SHOWN_RESULT)
		return 0;
	if (book->shown == SHOWN_DISPLAY || book->shown == SHOWN_RESULT)
		return begin_bundle(book);
	book->inner = (struct members){0};
	memset(book->parts, 0, sizeof(book->parts));
	memset(book->is_text, 0, sizeof(book->is_text));
	book->phase = PHASE_PARTS;
	return 0;
}

/* ---- what was cut ---- */

/* Reads the members of a verdict that tell what was cut, and at which limit. */
static void read_cut(struct notebook_text *book, const char *bytes)
{
	const struct {
		enum result_member member;
		const struct field *fields;
		void *to;
	} rows[] = {
		{RESULT_TRUNCATED, truncated_fields, &book->cut.truncated},
		{RESULT_USAGE, usage_fields, &book->cut.usage},
		{RESULT_ALLOWED, allowed_fields, &book->cut.allowed},
	};
	const struct members *members = &book->text.line.members;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (members_is_named(members, bytes, result_rows[rows[i].member].name))
			fields_read(rows[i].fields, bytes + members->value_at, members->size,
				    rows[i].to);
	}
}

/* A further output on stderr marks what was cut. Viewers join outputs of the same stream, so the
 * mark begins on a new line. */
static int put_cut(struct notebook_text *book)
{
	const char *before =
		book->stream != NULL && strcmp(book->stream, "stderr") == 0 ? "\\n" : "";
	struct buf *out = &book->text.out;
	char text[CUT_TEXT_MAX];
	int r = 0;

	book->cut.truncated.files = false; /* a notebook has no list of files */
	for (size_t i = 0; r == 0 && truncated_say(&book->cut.truncated, &book->cut.allowed,
						   &book->cut.usage, i, text, sizeof(text));
	     i++) {
		if (i == 0) {
			r = begin_output(book, "stream");
			book->stream = "stderr";
		}
		if (r == 0 && i == 0)
			r = buf_format(out, ",\"name\":\"stderr\",\"text\":\"%s", before);
		if (r == 0)
			r = buf_format(out, "%s\\n", text);
	}
	return r;
}

/* ---- the lines of a cell ---- */

static int end_cell(struct notebook_text *book)
{
	int r = close_stream(book);

	book->phase = PHASE_CELL;
	return r < 0 ? r : buf_text(&book->text.out, "]}");
}

static int line_step(struct notebook_text *book, size_t *budget)
{
	struct log_text *text = &book->text;
	const char *type = text->line.type;

	/* If events are no longer kept, the cell stays, without their outputs. */
	if (log_text_next_line(text, budget) < 0)
		return end_cell(book);
	book->value = (struct log_text_span){0};
	for (size_t i = 0; i < ARRAY_LEN(line_rows); i++) {
		if (strcmp(type, line_rows[i].type) == 0 ||
		    (i == SHOWN_STREAM && strcmp(type, "stderr") == 0)) {
			book->shown = (enum shown)i;
			book->phase = PHASE_VALUE;
		}
	}
	return 0;
}

static int end_line(struct notebook_text *book)
{
	int r = 0;

	book->phase = PHASE_LINE;
	if (book->shown == SHOWN_VERDICT)
		r = put_cut(book);
	if (r == 0 && book->shown == SHOWN_VERDICT && book->value.size > 0)
		r = put_value(book, false, true);
	return r;
}

static int value_step(struct notebook_text *book, size_t *budget)
{
	struct log_text *text = &book->text;
	struct members *members = &text->line.members;
	const char *bytes = NULL;
	bool is_object;
	int r = log_text_next_member(text, 0, text->line.size, members, &bytes, budget);

	if (r == -1)
		return end_line(book);
	if (r <= 0)
		return r;
	if (book->shown == SHOWN_VERDICT)
		read_cut(book, bytes);
	if (!members_is_named(members, bytes, line_rows[book->shown].member))
		return 0;
	is_object = bytes[members->value_at] == '{';
	if (is_object || book->shown != SHOWN_VERDICT)
		book->value = log_text_value(text, members, 0);
	/* A verdict is shown after the members behind it, which tell what was cut. */
	return book->shown == SHOWN_VERDICT
		       ? 0
		       : put_value(book, members->size >= 2 && bytes[members->value_at] == '"',
				   is_object);
}

/* Finds the next member of the shown value: 1, or 0 if there is none now (*ret_is_last: none will
 * follow). */
static int next_inner(struct notebook_text *book, const char **ret_bytes, bool *ret_is_last,
		      size_t *budget)
{
	int r = log_text_next_member(&book->text, book->value.at, book->value.size, &book->inner,
				     ret_bytes, budget);

	*ret_is_last = r == -1;
	return r == -1 ? 0 : r;
}

static int parts_step(struct notebook_text *book, size_t *budget)
{
	const char *const *names = line_rows[book->shown].parts;
	const char *bytes = NULL;
	bool is_last = false;
	int r = next_inner(book, &bytes, &is_last, budget);

	if (is_last)
		return put_parts(book);
	if (r <= 0)
		return r;
	for (size_t i = 0; i < PARTS_MAX && names[i] != NULL; i++) {
		if (book->parts[i].size > 0 || !members_is_named(&book->inner, bytes, names[i]))
			continue;
		book->parts[i] = log_text_value(&book->text, &book->inner, book->value.at);
		book->is_text[i] = book->inner.size >= 2 && bytes[book->inner.value_at] == '"';
	}
	return 0;
}

/* Takes one form of the bundle in each step, in their order; of two with the same name the first
 * counts. */
static int bundle_step(struct notebook_text *book, size_t *budget)
{
	struct log_text *text = &book->text;
	const struct members *inner = &book->inner;
	const char *bytes = NULL;
	bool is_last = false;
	int r = next_inner(book, &bytes, &is_last, budget);

	if (is_last) {
		book->phase = PHASE_LINE;
		return buf_text(&text->out, "},\"metadata\":{}}");
	}
	for (size_t i = 0; i < ARRAY_LEN(mimes) && r > 0; i++) {
		struct log_text_span value = log_text_value(text, inner, book->value.at);
		bool is_text = bytes[inner->value_at] == '"';

		if ((book->mimes & (1U << i)) || !members_is_named(inner, bytes, mimes[i].name))
			continue;
		book->mimes |= 1U << i;
		if (!mimes[i].is_json && !is_text)
			break;
		log_text_put(text, NULL, &value);
		return json_put_name(&text->out, book->mimes_out++ > 0 ? "," : "", mimes[i].name);
	}
	return r < 0 ? r : 0;
}

/* ---- cells ---- */

/* The first log after the last one examined. */
static struct log *next_log(const struct notebook_text *book)
{
	struct log *log = logs_find(book->text.logs, book->text.id);

	/* The last log may have been forgotten, since the oldest are forgotten first; serials tell
	 * which logs were seen. */
	log = log != NULL ? TAILQ_NEXT(log, entry) : TAILQ_FIRST(&book->text.logs->all);
	while (log != NULL && log->serial <= book->serial)
		log = TAILQ_NEXT(log, entry);
	return log;
}

static bool is_of(const struct notebook_text *book, const struct log *log, struct span session)
{
	bool is_its = span_is(session, book->session);

	for (size_t i = 0; !is_its && i < book->inherited_count; i++)
		is_its = log->serial <= book->inherited[i].last &&
			 span_is(session, book->inherited[i].session);
	return is_its;
}

/* A shell command is a cell too, marked with Jupyter's %%bash. */
static int begin_cell(struct notebook_text *book, struct log *log, bool is_command)
{
	struct log_text_span code = {.place = log->run, .how = LOG_TEXT_QUOTE};
	struct buf *out = &book->text.out;
	const char *bytes = NULL;
	size_t whole = 0;
	int r = buf_text(out, ++book->number > 1 ? ",{\"id\":" : "{\"id\":");

	book->outputs = 0;
	book->stream = NULL;
	book->has_error = false;
	memset(&book->cut, 0, sizeof(book->cut));
	book->phase = PHASE_OUTPUTS;
	log_text_follow(&book->text, log, 0);
	if (r == 0)
		r = json_put_text(out, log->id);
	if (r == 0)
		r = buf_format(out,
			       ",\"cell_type\":\"code\",\"execution_count\":%u,\"metadata\":{},"
			       "\"source\":\"%s",
			       book->number, is_command ? "%%bash\\n" : "");
	if (log_code(log, &bytes, &code.size) &&
	    log_text_bytes(&book->text, log->run, &whole) != NULL) {
		code.at = whole - code.size;
		log_text_put(&book->text, NULL, &code);
	}
	return r;
}

static int cell_step(struct notebook_text *book, size_t *budget)
{
	struct log *log = next_log(book);
	struct log_head head;

	if (log == NULL) {
		book->phase = PHASE_END;
		return 0;
	}
	*budget -= *budget < LOG_WORK ? *budget : LOG_WORK;
	book->serial = log->serial;
	memcpy(book->text.id, log->id, sizeof(book->text.id));
	if (!log_head(log, &head) || !is_of(book, log, head.session))
		return 0;
	return begin_cell(book, log, head.command.size > 0 && head.command.at[0] == 't');
}

static int put_end(struct notebook_text *book)
{
	struct buf *out = &book->text.out;
	int r = buf_text(out, "],\"metadata\":{\"kernelspec\":{\"display_name\":\"Python 3\","
			      "\"language\":\"python\",\"name\":\"python3\"},"
			      "\"language_info\":{\"name\":\"python\"}");

	book->phase = PHASE_OVER;
	if (r == 0 && book->name != NULL) {
		r = buf_text(out, ",\"title\":");
		if (r == 0)
			r = json_put_text(out, book->name);
	}
	return r < 0 ? r : buf_text(out, "},\"nbformat\":4,\"nbformat_minor\":5}");
}

static int step(struct log_text *text, size_t *budget)
{
	struct notebook_text *book = (struct notebook_text *)text;

	switch (book->phase) {
	case PHASE_START:
		book->phase = PHASE_CELL;
		return buf_text(&text->out, "{\"cells\":[");
	case PHASE_CELL:
		return cell_step(book, budget);
	case PHASE_OUTPUTS:
		book->phase = PHASE_LINE;
		return buf_text(&text->out, "\",\"outputs\":[");
	case PHASE_LINE:
		return line_step(book, budget);
	case PHASE_VALUE:
		return value_step(book, budget);
	case PHASE_PARTS:
		return parts_step(book, budget);
	case PHASE_BUNDLE:
		return bundle_step(book, budget);
	case PHASE_END:
		return put_end(book);
	case PHASE_OVER:
		break;
	}
	return -ENODATA;
}

static void free_book(struct log_text *text)
{
	struct notebook_text *book = (struct notebook_text *)text;

	free(book->name);
	free(book->inherited);
	free(book);
}

struct log_text *logs_notebook_open(struct logs *logs, const char *session, const char *name)
{
	struct notebook_text *book = xnew(struct notebook_text);

	log_text_init(&book->text, logs);
	book->text.step = step;
	book->text.free = free_book;
	(void)snprintf(book->session, sizeof(book->session), "%s", session);
	if (name != NULL) {
		book->name = xstrdup(name);
	}
	return &book->text;
}

void log_notebook_inherit(struct log_text *text, const char *session, const char *run)
{
	struct notebook_text *book = (struct notebook_text *)text;
	const struct log *last = logs_find(text->logs, run);
	struct inherited *more =
		reallocarray(book->inherited, book->inherited_count + 1, sizeof(*book->inherited));

	if (more == NULL)
		abort();
	book->inherited = more;
	more += book->inherited_count++;
	(void)snprintf(more->session, sizeof(more->session), "%s", session);
	/* The oldest logs are forgotten first: if this one is gone, so are those before it. */
	more->last = last != NULL ? last->serial : 0;
}
