// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "session/log_state.h"
#include "session/log_text.h"
#include "session/result.h"

/* Where the lines have a member of the result. */
struct found {
	struct log_text_span value; /* for RESULT_VALUE: from the last line that has it */
	uint64_t first,
		last; /* otherwise: the first and last line that have a part of it; 0: none */
};

struct result_text {
	struct log_text text; /* must be first: callers have a pointer to it */
	struct log *log;      /* borrowed: valid while text.reader.log is not NULL */
	uint64_t until;       /* number of the last event that is included */
	struct found found[RESULT_COUNT];

	/* After all lines were indexed, the members are written one by one. */
	bool is_indexed;
	unsigned member;
	const struct result_row *row; /* of the list or text being written; NULL: none */
	bool has_items;
	size_t starts[RESULT_COUNT], ends[RESULT_COUNT]; /* of the values in the text */
};

/* ---- indexing ---- */

/* The member of the result that this type of line carries in this member of the line (NULL: in
 * any). */
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

/* A line of a list or text is only counted: its contents are read when that member is written. */
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

/* Finds the next member of the line: 1, or 0 if there is none now; at the end of the line,
 * line->size becomes 0. */
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

/* ---- writing ---- */

static bool is_value(const struct found *found)
{
	return found->value.size > 0;
}

/* For a run under way: how long it has been running, and how much it has written. */
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

/* Writes a member that the head of the log has. */
static int put_of_head(const struct log *log, enum result_member member, struct buf *buf)
{
	struct log_head head;
	const struct span *value = member == RESULT_SESSION   ? &head.session
				   : member == RESULT_WHO     ? &head.who
				   : member == RESULT_BACKEND ? &head.backend
							      : &head.runtime;

	(void)log_head(log, &head);
	return buf_append(buf, value->at, value->size);
}

/* Writes a member that no line has. */
static int put_other(const struct result_text *result, enum result_member member, struct buf *buf)
{
	const struct log *log = result->log;

	if (member == RESULT_STATE)
		return log->is_held ? buf_text(buf, "\"held\"") : 0;
	if (member == RESULT_ID)
		return json_put_text(buf, log->id);
	if (member == RESULT_USAGE)
		return put_usage_so_far(log, buf);
	if (member == RESULT_SESSION || member == RESULT_WHO || member == RESULT_BACKEND ||
	    member == RESULT_RUNTIME)
		return put_of_head(log, member, buf);
	return 0;
}

static int put_small(struct result_text *result, enum result_member member)
{
	struct buf *out = &result->text.out;
	size_t before = out->size;
	size_t start;
	int r = json_put_name(out, member == 0 ? "{" : ",", result_rows[member].name);

	if (r < 0)
		return r;
	start = out->size;
	r = put_other(result, member, out);
	if (r == 0 && out->size == start && result_rows[member].empty != NULL)
		r = buf_text(out, result_rows[member].empty);
	if (r < 0)
		return r;
	if (out->size == start)
		buf_cut(out, before);
	else
		result->starts[member] = result->text.sent + start;
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
	r = json_put_name(&text->out, ",", result_rows[member].name);
	if (r < 0)
		return r;
	result->starts[member] = text->sent + text->out.size;
	if (is_value(found)) {
		log_text_put(text, NULL, &found->value);
		return 0;
	}
	result->row = &result_rows[member];
	result->has_items = false;
	log_text_follow(text, result->log, found->first - 1);
	return buf_text(&text->out, result->row->how == RESULT_TEXT ? "\"" : "[");
}

/* Pieces of a text stay escaped: without their quotes they can be concatenated. */
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
	/* Everything written so far has been read, so the value of the last member ends here. */
	if (result->member > 0 && result->member <= RESULT_COUNT)
		result->ends[result->member - 1] = text->sent;
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
	/* The oldest segments are dropped first: if the first event exists, all do. */
	if (log->seq > 0 && log_text_next_line(&result->text, &(size_t){KIB}) < 0) {
		log_text_free(&result->text);
		return err_set(err, ERR_NOT_FOUND, ENOENT, "events of %s are no longer kept",
			       log->id);
	}
	*ret_text = &result->text;
	return 0;
}

void log_result_value(const struct log_text *text, const char *bytes, struct result *ret_result)
{
	const struct result_text *made = (const struct result_text *)text;

	*ret_result = (struct result){0};
	for (size_t i = 0; i < RESULT_COUNT; i++) {
		if (made->starts[i] > 0)
			ret_result->members[i] = (struct span){bytes + made->starts[i],
							       made->ends[i] - made->starts[i]};
	}
	result_fill(ret_result);
}

int log_result(struct log *log, struct buf *buf, struct result *ret_result, struct err *err)
{
	struct log_text *text = NULL;
	size_t before = buf->size;
	int r = log_result_open(log, &text, err);

	if (text == NULL)
		return r;
	r = log_text_whole(text, buf, err);
	if (r == 0)
		log_result_value(text, buf_string(buf) + before, ret_result);
	log_text_free(text);
	return r;
}
