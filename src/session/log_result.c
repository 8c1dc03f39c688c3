// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "session/log_state.h"
#include "session/log_text.h"
#include "session/result.h"

/* Which member of an event becomes which of the result. */
enum how {
	HOW_TEXT,  /* strings, one behind the other */
	HOW_ITEM,  /* of a list */
	HOW_VALUE, /* the last one counts */
};

static const struct fold_row {
	const char *type;
	const char *member;
	enum result_member to;
	enum how how;
} fold_rows[] = {
	{"started", "backend", RESULT_BACKEND, HOW_VALUE},
	{"started", "runtime", RESULT_RUNTIME, HOW_VALUE},
	{"stdout", "text", RESULT_STDOUT, HOW_TEXT},
	{"stderr", "text", RESULT_STDERR, HOW_TEXT},
	{"display", "data", RESULT_DISPLAYS, HOW_ITEM},
	{"chart", "chart", RESULT_CHARTS, HOW_ITEM},
	{"file", "file", RESULT_FILES, HOW_ITEM},
	{"table", "table", RESULT_TABLE, HOW_VALUE},
	{"result", "result", RESULT_RESULT, HOW_VALUE},
	{"error", "error", RESULT_ERROR, HOW_VALUE},
	{"saved_state", "saved_state", RESULT_SAVED, HOW_VALUE},
	{"verdict", "verdict", RESULT_VERDICT, HOW_VALUE},
	{"verdict", "state", RESULT_STATE, HOW_VALUE},
	{"verdict", "truncated", RESULT_TRUNCATED, HOW_VALUE},
	{"verdict", "missing", RESULT_MISSING, HOW_VALUE},
	{"verdict", "checkpoint", RESULT_CHECKPOINT, HOW_VALUE},
	{"verdict", "usage", RESULT_USAGE, HOW_VALUE},
	{"verdict", "walls", RESULT_WALLS, HOW_VALUE},
	{"verdict", "walls_by", RESULT_WALLS_BY, HOW_VALUE},
	{"verdict", "limits", RESULT_LIMITS, HOW_VALUE},
};

/* What the lines say of a member. */
struct found {
	struct log_text_span value; /* HOW_VALUE: of the last line */
	uint64_t first, last; /* else: numbers of the lines that have some of it; 0: none has */
};

struct result_text {
	struct log_text text; /* first: what others know */
	struct log *log;      /* borrowed: as long as text.reader.log is there */
	uint64_t until;       /* number of the last event; what comes later is not in it */
	struct found found[RESULT_COUNT];

	/* Each member is written in turn, once all lines were looked at. */
	bool is_indexed;
	unsigned member;
	const struct fold_row *row; /* of the list or text that is open; NULL: none is */
	bool has_items;
};

/* ---- looking for what there is ---- */

static const struct fold_row *row_of(const char *type, const struct members *members,
				     const char *bytes)
{
	for (size_t i = 0; i < ARRAY_LEN(fold_rows); i++) {
		const struct fold_row *row = &fold_rows[i];

		if (strcmp(row->type, type) == 0 &&
		    (members == NULL || members_is_named(members, bytes, row->member)))
			return row;
	}
	return NULL;
}

/* A line of a list or text is only counted: what is in it is looked at when its turn comes. */
static bool count_line(struct result_text *result)
{
	const struct fold_row *row = row_of(result->text.line.type, NULL, NULL);
	struct found *found;

	if (row == NULL || row->how == HOW_VALUE)
		return row == NULL;
	found = &result->found[row->to];
	found->last = result->text.reader.after;
	if (found->first == 0)
		found->first = found->last;
	return true;
}

/* The next member of the line: 1, or 0 when there is none now; then it may be done with. */
static int next_member(struct log_text *text, const char **ret_bytes, size_t *budget)
{
	struct log_text_line *line = &text->line;
	int r = log_text_next_member(text, 0, line->size, &line->members, ret_bytes, budget);

	if (r != -1)
		return r;
	line->size = 0;
	return 0;
}

static int index_step(struct result_text *result, size_t *budget)
{
	struct log_text *text = &result->text;
	const struct fold_row *row;
	const char *bytes = NULL;
	int r;

	if (text->line.size == 0) {
		if (text->reader.after >= result->until) {
			result->is_indexed = true;
			return 0;
		}
		return log_text_next_line(text, budget);
	}
	if (count_line(result)) {
		text->line.size = 0;
		return 0;
	}
	r = next_member(text, &bytes, budget);
	if (r <= 0)
		return r;
	row = row_of(text->line.type, &text->line.members, bytes);
	if (row != NULL)
		result->found[row->to].value = log_text_value(text, &text->line.members, 0);
	return 0;
}

/* ---- writing it ---- */

static bool is_value(const struct found *found)
{
	return found->value.size > 0;
}

/* Of the head: what no line has said, or none ever does. */
static int put_from_head(const struct log *log, enum result_member member, struct buf *buf)
{
	const char *head = NULL;
	const char *value = NULL;
	size_t head_size = 0;
	size_t size = 0;

	if (!log_head(log, &head, &head_size) ||
	    !json_find(head, head_size, result_name(member), &value, &size))
		return 0;
	return buf_append(buf, value, size);
}

/* Of a run that goes on: how long it does, and how much it wrote. */
static int put_usage_so_far(const struct log *log, struct buf *buf)
{
	struct timespec now;
	double wall_ms = 0;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	if (log->first.segment != 0)
		wall_ms = (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6 -
			  (double)log->begun_us / 1e3;
	return result_put_usage(buf, 0, wall_ms > 0 ? wall_ms : 0, 0, 0,
				log->marks[0] + log->marks[1]);
}

/* A member that no line has told of. */
static int put_other(const struct result_text *result, enum result_member member, struct buf *buf)
{
	const struct log *log = result->log;

	if (member == RESULT_STATE)
		return log->is_held ? buf_text(buf, "\"held\"") : 0;
	if (member == RESULT_ID)
		return json_put_text(buf, log->id);
	if (member == RESULT_SESSION || member == RESULT_WHO || member == RESULT_BACKEND ||
	    member == RESULT_RUNTIME)
		return put_from_head(log, member, buf);
	if (member == RESULT_USAGE)
		return put_usage_so_far(log, buf);
	return 0;
}

static int put_small(struct result_text *result, enum result_member member)
{
	struct buf *out = &result->text.out;
	size_t before = out->size;
	size_t start;
	int r = buf_format(out, "%s\"%s\":", member == 0 ? "{" : ",", result_name(member));

	if (r < 0)
		return r;
	start = out->size;
	r = put_other(result, member, out);
	if (r < 0 || out->size > start)
		return r;
	if (result_empty(member) != NULL)
		return buf_text(out, result_empty(member));
	buf_cut(out, before);
	return 0;
}

static const struct fold_row *row_to(enum result_member member)
{
	for (size_t i = 0; i < ARRAY_LEN(fold_rows); i++) {
		if (fold_rows[i].to == member)
			return &fold_rows[i];
	}
	return NULL;
}

static int begin_member(struct result_text *result)
{
	enum result_member member = (enum result_member)result->member++;
	const struct found *found = &result->found[member];
	struct log_text *text = &result->text;
	int r;

	if (found->first == 0 && !is_value(found))
		return put_small(result, member);
	r = buf_format(&text->out, ",\"%s\":", result_name(member));
	if (r < 0)
		return r;
	if (is_value(found)) {
		log_text_put(text, NULL, &found->value);
		return 0;
	}
	result->row = row_to(member);
	result->has_items = false;
	log_text_follow(text, result->log, found->first - 1);
	return buf_text(&text->out, result->row->how == HOW_TEXT ? "\"" : "[");
}

/* Text stays as it is escaped: its quotes go, and two pieces are one. */
static void put_item(struct result_text *result, const char *bytes)
{
	struct log_text *text = &result->text;
	struct log_text_span span = log_text_value(text, &text->line.members, 0);

	if (result->row->how == HOW_ITEM) {
		log_text_put(text, result->has_items ? "," : NULL, &span);
		result->has_items = true;
	} else if (span.size >= 2 && bytes[span.at] == '"') {
		span = log_text_inner(span, LOG_TEXT_COPY);
		log_text_put(text, NULL, &span);
	}
}

static int item_step(struct result_text *result, size_t *budget)
{
	struct log_text *text = &result->text;
	const struct fold_row *row = result->row;
	const char *bytes = NULL;
	int r;

	if (text->line.size == 0) {
		if (text->reader.after < result->found[row->to].last)
			return log_text_next_line(text, budget);
		result->row = NULL;
		return buf_text(&text->out, row->how == HOW_TEXT ? "\"" : "]");
	}
	if (strcmp(text->line.type, row->type) != 0) {
		text->line.size = 0;
		return 0;
	}
	r = next_member(text, &bytes, budget);
	if (r <= 0)
		return r;
	if (members_is_named(&text->line.members, bytes, row->member))
		put_item(result, bytes);
	return 0;
}

static int step(struct log_text *text, size_t *budget)
{
	struct result_text *result = (struct result_text *)text;

	if (text->reader.log == NULL)
		return -ENOENT;
	if (!result->is_indexed)
		return index_step(result, budget);
	if (result->row != NULL)
		return item_step(result, budget);
	if (result->member < RESULT_COUNT)
		return begin_member(result);
	if (result->member++ == RESULT_COUNT)
		return buf_text(&text->out, "}");
	return -ENODATA;
}

static void free_result(struct log_text *text)
{
	free((struct result_text *)text);
}

int log_result_open(struct log *log, struct log_text **ret_text, struct err *err)
{
	struct result_text *result = xnew(struct result_text);

	log_text_init(&result->text, log->logs);
	result->text.step = step;
	result->text.free = free_result;
	result->log = log;
	result->until = log->seq;
	log_text_follow(&result->text, log, 0);
	/* Oldest segments go first: where the first event is, all are. */
	if (log->seq > 0 && log_text_next_line(&result->text, &(size_t){KIB}) < 0) {
		log_text_free(&result->text);
		return err_set(err, ERR_NOT_FOUND, ENOENT, "events of %s are no longer kept",
			       log->id);
	}
	*ret_text = &result->text;
	return 0;
}

int log_result(struct log *log, struct buf *buf, struct err *err)
{
	struct log_text *text = NULL;
	int r = log_result_open(log, &text, err);

	return r < 0 ? r : log_text_whole(text, buf, err);
}
