// SPDX-License-Identifier: Apache-2.0
#include "session/result.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "session/run_state.h"

const char *const limits_names[] = {
	[BOX_LIMITS_V2] = "cgroup v2",
	[BOX_LIMITS_V1] = "cgroup v1",
	[BOX_LIMITS_MEASURED] = "measured",
	[BOX_LIMITS_MEASURED + 1] = NULL,
};

static const char *const left_names[] = {
	[RUN_LEFT_NONE] = "none",
	[RUN_LEFT_PRESERVED] = "preserved",
	[RUN_LEFT_ROLLED_BACK] = "rolled_back",
	[RUN_LEFT_LOST] = "lost",
};

#define TOLD(event_type) .event = event_type
#define AT_END TOLD("verdict")
#define NOTHING_CUT                                                                                \
	"{\"stdout\":false,\"stderr\":false,\"files\":false,\"result\":false,\"events\":false}"

const struct result_row result_rows[RESULT_COUNT] = {
	[RESULT_ID] = {"id", "text", "null"},
	[RESULT_SESSION] = {"session", "text?", "null"},
	[RESULT_WHO] = {"who", "@Who", NULL},
	[RESULT_VERDICT] = {"verdict", "@Verdict?", "null", AT_END},
	[RESULT_STATE] = {"state", "none|held|preserved|rolled_back|lost", "\"none\"", AT_END},
	[RESULT_STDOUT] = {"stdout", "text", "\"\"", TOLD("stdout"), "text", RESULT_TEXT},
	[RESULT_STDERR] = {"stderr", "text", "\"\"", TOLD("stderr"), "text", RESULT_TEXT},
	[RESULT_TRUNCATED] = {"truncated", "@Truncated", NOTHING_CUT, AT_END},
	[RESULT_RESULT] = {"result", "object?", "null", TOLD("result")},
	[RESULT_ERROR] = {"error", "@Exception?", "null", TOLD("error")},
	[RESULT_DISPLAYS] = {"displays", "object[]", "[]", TOLD("display"), "data", RESULT_ITEM},
	[RESULT_CHARTS] = {"charts", "@Chart[]", "[]", TOLD("chart"), "chart", RESULT_ITEM},
	[RESULT_TABLE] = {"table", "@Table?", "null", TOLD("table")},
	[RESULT_FILES] = {"files", "@File[]", "[]", TOLD("file"), "file", RESULT_ITEM,
			  .is_listed = true},
	[RESULT_MISSING] = {"missing", "text[]", "[]", AT_END},
	[RESULT_SAVED] = {"saved_state", "@SavedState", NULL, TOLD("saved_state")},
	[RESULT_CHECKPOINT] = {"checkpoint", "@CheckpointMade", NULL, AT_END},
	[RESULT_USAGE] = {"usage", "@Usage", "null", AT_END},
	[RESULT_BACKEND] = {"backend", "text", "\"\"", TOLD("started")},
	[RESULT_RUNTIME] = {"runtime", "text", "\"\"", TOLD("started")},
	[RESULT_WALLS] = {"walls", "text[]", "[]", AT_END},
	[RESULT_WALLS_BY] = {"walls_by", "text", NULL, AT_END},
	[RESULT_LIMITS] = {"limits", "text?", "null", AT_END},
};

#define USAGE(member) .offset = offsetof(struct run_usage, member), .max = 1LL << 50
#define CUT(member) FIELD_BOOL, .offset = offsetof(struct run_truncated, member)

const struct field usage_fields[] = {
	{"queue_ms", FIELD_MS, USAGE(queue_ms)},
	{"wall_ms", FIELD_MS, USAGE(wall_ms)},
	{"cpu_ms", FIELD_MS, USAGE(cpu_ms)},
	{"peak_memory", FIELD_SIZE, USAGE(peak_memory)},
	{"output_bytes", FIELD_SIZE, USAGE(output_bytes)},
	{0},
};

const struct field truncated_fields[] = {
	{"stdout", CUT(out)},    {"stderr", CUT(err)},    {"files", CUT(files)},
	{"result", CUT(result)}, {"events", CUT(events)}, {0},
};

const char *result_from(enum result_member member)
{
	const struct result_row *row = &result_rows[member];

	return row->from != NULL ? row->from : row->name;
}

/* "name":value, behind a comma unless it is the first. */
static int put_member(struct buf *buf, enum result_member member, bool is_first,
		      int (*put)(const void *user, enum result_member member, struct buf *buf),
		      const void *user)
{
	const struct result_row *row = &result_rows[member];
	size_t before = buf->size;
	size_t start;
	int r = buf_text(buf, is_first ? "\"" : ",\"");

	if (r == 0)
		r = buf_text(buf, row->name);
	if (r == 0)
		r = buf_text(buf, "\":");
	if (r < 0)
		return r;
	start = buf->size;
	r = put(user, member, buf);
	if (r < 0 || buf->size > start)
		return r;
	if (row->empty != NULL)
		return buf_text(buf, row->empty);
	buf_cut(buf, before);
	return 0;
}

int result_put(struct buf *buf,
	       int (*put)(const void *user, enum result_member member, struct buf *buf),
	       const void *user, struct err *err)
{
	int r = buf_text(buf, "{");

	for (unsigned i = 0; i < RESULT_COUNT && r == 0; i++)
		r = put_member(buf, (enum result_member)i, i == 0, put, user);
	if (r == 0)
		r = buf_text(buf, "}");
	if (r < 0)
		return err_set(err, ERR_TOO_LARGE, -r, "the result is larger than its buffer");
	return 0;
}

/* ---- describing and reading ---- */

int result_describe(struct buf *buf)
{
	int r = 0;

	for (size_t i = 0; i < RESULT_COUNT && r == 0; i++) {
		const struct result_row *row = &result_rows[i];

		r = buf_format(buf, "%s%s%s:%s", i > 0 ? " " : "", row->name,
			       row->empty != NULL ? "!" : "", row->type);
	}
	return r;
}

/* An item is one of the list that the member is. */
static int describe_told(const struct result_row *row, struct buf *buf)
{
	const char *from = row->from != NULL ? row->from : row->name;
	size_t size = strlen(row->type) - (row->how == RESULT_ITEM ? strlen("[]") : 0);
	int r = 0;

	if (row->event != NULL && row->how != RESULT_TEXT)
		r = buf_format(buf, " %s:%.*s", from, (int)size, row->type);
	if (r == 0 && row->is_listed)
		r = buf_format(buf, " %s:%s", row->name, row->type);
	return r;
}

int result_describe_event(struct buf *buf)
{
	int r = buf_text(buf, "seq:int t_ms:num type!:text run:text text:text base64:text");

	for (size_t i = 0; i < RESULT_COUNT && r == 0; i++)
		r = describe_told(&result_rows[i], buf);
	return r;
}

void result_read(const char *json, size_t size, struct result *ret_result)
{
	struct span *members = ret_result->members;
	struct json_member member = {0};

	*ret_result = (struct result){0};
	while (size > 0 && json[0] == '{' && json_next(json, size, &member)) {
		for (size_t i = 0; i < RESULT_COUNT; i++) {
			if (members[i].size == 0 && json_is_named(&member, result_rows[i].name))
				members[i] = (struct span){member.value, member.size};
		}
	}
	ret_result->verdict =
		verdict_read(members[RESULT_VERDICT].at, members[RESULT_VERDICT].size);
	fields_read(usage_fields, members[RESULT_USAGE].at, members[RESULT_USAGE].size,
		    &ret_result->usage);
	fields_read(truncated_fields, members[RESULT_TRUNCATED].at, members[RESULT_TRUNCATED].size,
		    &ret_result->truncated);
}

/* ---- of a run ---- */

static int put_walls(struct buf *buf, uint32_t walls)
{
	const char *before = "[";
	int r = 0;

	for (unsigned id = 0; id < WALL_COUNT && r == 0; id++) {
		if (!(walls & (1U << id)))
			continue;
		r = buf_text(buf, before);
		if (r == 0)
			r = json_put_text(buf, wall_name((enum wall_id)id));
		before = ",";
	}
	return r == 0 && *before == ',' ? buf_text(buf, "]") : r;
}

static int put_list(struct buf *buf, const struct buf *items)
{
	int r = items->size > 0 ? buf_text(buf, "[") : 0;

	if (r == 0)
		r = buf_append(buf, items->data, items->size);
	if (r == 0 && items->size > 0)
		r = buf_text(buf, "]");
	return r;
}

/* The host gives the member whole; its name is written here. */
static int put_checkpoint(struct buf *buf, const struct buf *member)
{
	const uint8_t *value =
		member != NULL && member->size > 0 ? memchr(member->data, '{', member->size) : NULL;

	return value != NULL ? buf_append(buf, value, member->size - (size_t)(value - member->data))
			     : 0;
}

static int put_fact(const void *user, enum result_member member, struct buf *buf)
{
	const struct run_facts *facts = user;

	switch (member) {
	case RESULT_ID:
		return json_put_text(buf, facts->id);
	case RESULT_VERDICT:
		return facts->verdict.kind != VERDICT_NONE
			       ? fields_put(verdict_fields, &facts->verdict, buf)
			       : 0;
	case RESULT_STDOUT:
		return json_put_string(buf, facts->out->data, facts->out->size);
	case RESULT_STDERR:
		return json_put_string(buf, facts->err->data, facts->err->size);
	case RESULT_TRUNCATED:
		return fields_put(truncated_fields, &facts->truncated, buf);
	case RESULT_RESULT:
		return buf_append(buf, facts->result->data, facts->result->size);
	case RESULT_ERROR:
		return buf_append(buf, facts->error->data, facts->error->size);
	case RESULT_DISPLAYS:
		return put_list(buf, facts->displays);
	case RESULT_CHARTS:
		return put_list(buf, facts->charts);
	case RESULT_TABLE:
		return buf_append(buf, facts->table->data, facts->table->size);
	case RESULT_FILES:
		return put_list(buf, facts->files);
	case RESULT_MISSING:
		return put_list(buf, facts->missing);
	case RESULT_SAVED:
		return buf_append(buf, facts->saved->data, facts->saved->size);
	case RESULT_USAGE:
		return fields_put(usage_fields, &facts->usage, buf);
	case RESULT_BACKEND:
		return json_put_text(buf, facts->backend);
	case RESULT_RUNTIME:
		return json_put_text(buf, facts->runtime);
	case RESULT_WALLS:
		return put_walls(buf, facts->walls);
	case RESULT_WALLS_BY:
		return facts->is_claimed ? buf_text(buf, "\"remote\"") : 0;
	case RESULT_LIMITS:
		return facts->has_limits ? json_put_text(buf, limits_names[facts->limits]) : 0;
	case RESULT_STATE:
		return json_put_text(buf, left_names[facts->left]);
	case RESULT_CHECKPOINT:
		return put_checkpoint(buf, facts->checkpoint);
	case RESULT_SESSION:
	case RESULT_WHO:
	case RESULT_COUNT:
		break;
	}
	return 0;
}

int result_verdict_members(const struct run *run, struct buf *buf)
{
	struct run_facts facts = run_facts(run);
	int r = 0;

	for (unsigned i = 0; i < RESULT_COUNT && r == 0; i++) {
		const struct result_row *row = &result_rows[i];

		if (row->is_listed || (row->event != NULL && strcmp(row->event, "verdict") == 0))
			r = put_member(buf, (enum result_member)i, false, put_fact, &facts);
	}
	return r;
}

int run_result(const struct run *run, struct buf *buf, struct err *err)
{
	struct run_facts facts = run_facts(run);

	return result_put(buf, put_fact, &facts, err);
}
