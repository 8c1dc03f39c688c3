// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "session/log_state.h"
#include "session/log_text.h"
#include "session/result.h"

/* What the lines say of a member. */
struct found {
	struct log_text_span value; /* RESULT_VALUE: of the last line */
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
	const struct result_row *row; /* of the list or text that is open; NULL: none is */
	bool has_items;
};

/* ---- looking for what there is ---- */

/* The member of the result that this type of line tells, by this member of it (NULL: by any). */
static enum result_member told_by(const char *type, const struct members *members,
				  const char *bytes)
{
	for (unsigned i = 0; i < RESULT_COUNT; i++) {
		const char *event = result_rows[i].event;

		if (event != NULL && strcmp(event, type) == 0 &&
		    (members == NULL || members_is_named(members, bytes, result_from(i))))
			return (enum result_member)i;
	}
	return RESULT_COUNT;
}

/* A line of a list or text is only counted: what is in it is looked at when its turn comes. */
static bool count_line(struct result_text *result)
{
	enum result_member member = told_by(result->text.line.type, NULL, NULL);
	struct found *found;

	if (member == RESULT_COUNT || result_rows[member].how == RESULT_VALUE)
		return member == RESULT_COUNT;
	found = &result->found[member];
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
	enum result_member member;
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
	member = told_by(text->line.type, &text->line.members, bytes);
	if (member != RESULT_COUNT)
		result->found[member].value = log_text_value(text, &text->line.members, 0);
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
	    !json_find(head, head_size, result_rows[member].name, &value, &size))
		return 0;
	return buf_append(buf, value, size);
}

/* Of a run that goes on: how long it does, and how much it wrote. */
static int put_usage_so_far(const struct log *log, struct buf *buf)
{
	struct run_usage usage = {.output_bytes = log->marks[0] + log->marks[1]};
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	if (log->first.segment != 0)
		usage.wall_ms = (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6 -
				(double)log->begun_us / 1e3;
	if (usage.wall_ms < 0)
		usage.wall_ms = 0;
	return fields_put(usage_fields, &usage, buf);
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
	int r = buf_format(out, "%s\"%s\":", member == 0 ? "{" : ",", result_rows[member].name);

	if (r < 0)
		return r;
	start = out->size;
	r = put_other(result, member, out);
	if (r < 0 || out->size > start)
		return r;
	if (result_rows[member].empty != NULL)
		return buf_text(out, result_rows[member].empty);
	buf_cut(out, before);
	return 0;
}

static int begin_member(struct result_text *result)
{
	enum result_member member = (enum result_member)result->member++;
	const struct found *found = &result->found[member];
	struct log_text *text = &result->text;
	int r;

	if (found->first == 0 && !is_value(found))
		return put_small(result, member);
	r = buf_format(&text->out, ",\"%s\":", result_rows[member].name);
	if (r < 0)
		return r;
	if (is_value(found)) {
		log_text_put(text, NULL, &found->value);
		return 0;
	}
	result->row = &result_rows[member];
	result->has_items = false;
	log_text_follow(text, result->log, found->first - 1);
	return buf_text(&text->out, result->row->how == RESULT_TEXT ? "\"" : "[");
}

/* Text stays as it is escaped: its quotes go, and two pieces are one. */
static void put_item(struct result_text *result, const char *bytes)
{
	struct log_text *text = &result->text;
	struct log_text_span span = log_text_value(text, &text->line.members, 0);

	if (result->row->how == RESULT_ITEM) {
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
	const struct result_row *row = result->row;
	const char *bytes = NULL;
	int r;

	if (text->line.size == 0) {
		if (text->reader.after < result->found[row - result_rows].last)
			return log_text_next_line(text, budget);
		result->row = NULL;
		return buf_text(&text->out, row->how == RESULT_TEXT ? "\"" : "]");
	}
	if (strcmp(text->line.type, row->event) != 0) {
		text->line.size = 0;
		return 0;
	}
	r = next_member(text, &bytes, budget);
	if (r <= 0)
		return r;
	if (members_is_named(&text->line.members, bytes, row->from))
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
