// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "session/log_state.h"
#include "session/result.h"

#define PARTS_MAX (256U << 20) /* of one member; what a run may say is far below */

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

/* What the lines say so far, as JSON text without what closes it. */
struct fold {
	struct buf parts[RESULT_COUNT];
	bool is_open[RESULT_COUNT]; /* a list or a text that still lacks its end */
};

static const char *const closing[] = {[HOW_TEXT] = "\"", [HOW_ITEM] = "]"};

static int add(struct fold *fold, const struct fold_row *row, const char *value, size_t size)
{
	struct buf *part = &fold->parts[row->to];
	bool is_text = row->how == HOW_TEXT;
	int r = 0;

	if (row->how == HOW_VALUE) {
		buf_consume(part, part->size);
		fold->is_open[row->to] = false;
		return buf_append(part, value, size);
	}
	/* Text stays as it is escaped: its quotes go, and two pieces are one. */
	if (is_text && (size < 2 || value[0] != '"'))
		return 0;
	if (part->size == 0)
		r = buf_text(part, is_text ? "\"" : "[");
	else if (!is_text)
		r = buf_text(part, ",");
	if (r == 0)
		r = is_text ? buf_append(part, value + 1, size - 2) : buf_append(part, value, size);
	fold->is_open[row->to] = true;
	return r;
}

static int fold_member(struct fold *fold, const char *type, size_t type_size,
		       const struct json_member *member)
{
	for (size_t i = 0; i < ARRAY_LEN(fold_rows); i++) {
		const struct fold_row *row = &fold_rows[i];

		if (type_size == strlen(row->type) + 2 &&
		    memcmp(type + 1, row->type, type_size - 2) == 0 &&
		    json_is_named(member, row->member))
			return add(fold, row, member->value, member->size);
	}
	return 0;
}

static int fold_line(struct fold *fold, const char *line, size_t line_size)
{
	struct json_member member = {0};
	const char *type = NULL;
	size_t type_size = 0;
	int r = 0;

	if (!json_find(line, line_size, "type", &type, &type_size))
		return 0;
	while (r == 0 && json_next(line, line_size, &member))
		r = fold_member(fold, type, type_size, &member);
	return r;
}

static int fold_lines(struct fold *fold, struct log *log, struct err *err)
{
	struct log_reader reader;
	const char *line = NULL;
	size_t size = 0;
	int r;

	log_reader_open(&reader, log, 0, NULL, NULL);
	do {
		r = log_reader_next(&reader, &line, &size);
		if (r > 0 && fold_line(fold, line, size) < 0)
			r = -EMSGSIZE;
	} while (r > 0);
	log_reader_close(&reader);
	if (r == -ENOENT)
		return err_set(err, ERR_NOT_FOUND, ENOENT, "events of %s are no longer kept",
			       log->id);
	if (r == -EMSGSIZE)
		return err_set(err, ERR_TOO_LARGE, EMSGSIZE, "%s said too much", log->id);
	return 0;
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

struct source {
	const struct log *log;
	struct fold fold;
};

static int put_part(const void *user, enum result_member member, struct buf *buf)
{
	const struct source *source = user;
	const struct buf *part = &source->fold.parts[member];
	bool is_text = member == RESULT_STDOUT || member == RESULT_STDERR;
	int r;

	if (part->size > 0) {
		r = buf_append(buf, part->data, part->size);
		if (r == 0 && source->fold.is_open[member])
			r = buf_text(buf, closing[is_text ? HOW_TEXT : HOW_ITEM]);
		return r;
	}
	if (member == RESULT_STATE && source->log->is_held)
		return buf_text(buf, "\"held\"");
	if (member == RESULT_ID)
		return json_put_text(buf, source->log->id);
	if (member == RESULT_SESSION || member == RESULT_WHO || member == RESULT_BACKEND ||
	    member == RESULT_RUNTIME)
		return put_from_head(source->log, member, buf);
	if (member == RESULT_USAGE)
		return put_usage_so_far(source->log, buf);
	return 0;
}

int log_result(struct log *log, struct buf *buf, struct err *err)
{
	struct source source = {.log = log};
	int r;

	for (size_t i = 0; i < RESULT_COUNT; i++)
		buf_init(&source.fold.parts[i], PARTS_MAX);
	r = fold_lines(&source.fold, log, err);
	if (r == 0)
		r = result_put(buf, put_part, &source, err);
	for (size_t i = 0; i < RESULT_COUNT; i++)
		buf_done(&source.fold.parts[i]);
	return r;
}
