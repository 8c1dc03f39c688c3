// SPDX-License-Identifier: Apache-2.0
#include "session/result.h"

#include <errno.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "session/run_state.h"

static const char *const limits_names[] = {
	[BOX_LIMITS_V2] = "cgroup v2",
	[BOX_LIMITS_V1] = "cgroup v1",
	[BOX_LIMITS_MEASURED] = "measured",
};

static const char *const left_names[] = {
	[RUN_LEFT_NONE] = "none",
	[RUN_LEFT_PRESERVED] = "preserved",
	[RUN_LEFT_ROLLED_BACK] = "rolled_back",
	[RUN_LEFT_LOST] = "lost",
};

/* empty: what is written when there is nothing; NULL: then the member is left out. */
static const struct result_row {
	const char *name;
	const char *empty;
} rows[] = {
	[RESULT_ID] = {"id", "null"},
	[RESULT_SESSION] = {"session", "null"},
	[RESULT_WHO] = {"who", NULL},
	[RESULT_VERDICT] = {"verdict", "null"},
	[RESULT_STATE] = {"state", "\"none\""},
	[RESULT_STDOUT] = {"stdout", "\"\""},
	[RESULT_STDERR] = {"stderr", "\"\""},
	[RESULT_TRUNCATED] = {"truncated", "{\"stdout\":false,\"stderr\":false,\"files\":false,"
					   "\"result\":false,\"events\":false}"},
	[RESULT_RESULT] = {"result", "null"},
	[RESULT_ERROR] = {"error", "null"},
	[RESULT_DISPLAYS] = {"displays", "[]"},
	[RESULT_CHARTS] = {"charts", "[]"},
	[RESULT_TABLE] = {"table", "null"},
	[RESULT_FILES] = {"files", "[]"},
	[RESULT_MISSING] = {"missing", "[]"},
	[RESULT_SAVED] = {"saved_state", NULL},
	[RESULT_CHECKPOINT] = {"checkpoint", NULL},
	[RESULT_USAGE] = {"usage", "null"},
	[RESULT_BACKEND] = {"backend", "\"\""},
	[RESULT_RUNTIME] = {"runtime", "\"\""},
	[RESULT_WALLS] = {"walls", "[]"},
	[RESULT_WALLS_BY] = {"walls_by", NULL},
	[RESULT_LIMITS] = {"limits", "null"},
};
_Static_assert(ARRAY_LEN(rows) == RESULT_COUNT, "a member of the result has no row");

const char *result_name(enum result_member member)
{
	return rows[member].name;
}

const char *result_empty(enum result_member member)
{
	return rows[member].empty;
}

/* "name":value, behind a comma unless it is the first. */
static int put_member(struct buf *buf, enum result_member member, bool is_first,
		      int (*put)(const void *user, enum result_member member, struct buf *buf),
		      const void *user)
{
	const struct result_row *row = &rows[member];
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

int result_put_usage(struct buf *buf, double queue_ms, double wall_ms, double cpu_ms,
		     unsigned long long peak_memory, unsigned long long output_bytes)
{
	return buf_format(buf,
			  "{\"queue_ms\":%.3f,\"wall_ms\":%.3f,\"cpu_ms\":%.3f,"
			  "\"peak_memory\":%llu,\"output_bytes\":%llu}",
			  queue_ms, wall_ms, cpu_ms, peak_memory, output_bytes);
}

/* ---- of a run ---- */

static int put_truncated(struct buf *buf, const struct run_facts *facts)
{
	return buf_format(buf,
			  "{\"stdout\":%s,\"stderr\":%s,\"files\":%s,\"result\":%s,\"events\":%s}",
			  facts->truncated_stdout ? "true" : "false",
			  facts->truncated_stderr ? "true" : "false",
			  facts->truncated_files ? "true" : "false",
			  facts->truncated_result ? "true" : "false",
			  facts->truncated_events ? "true" : "false");
}

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
	const struct run_usage *usage = &facts->usage;

	switch (member) {
	case RESULT_ID:
		return json_put_text(buf, facts->id);
	case RESULT_VERDICT:
		return facts->verdict.kind != VERDICT_NONE ? verdict_put(&facts->verdict, buf) : 0;
	case RESULT_STDOUT:
		return json_put_string(buf, facts->out->data, facts->out->size);
	case RESULT_STDERR:
		return json_put_string(buf, facts->err->data, facts->err->size);
	case RESULT_TRUNCATED:
		return put_truncated(buf, facts);
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
		return result_put_usage(buf, usage->queue_ms, usage->wall_ms, usage->cpu_ms,
					usage->peak_memory, usage->output_bytes);
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
	static const enum result_member members[] = {
		RESULT_VERDICT, RESULT_STATE,     RESULT_USAGE, RESULT_WALLS,   RESULT_WALLS_BY,
		RESULT_LIMITS,  RESULT_TRUNCATED, RESULT_FILES, RESULT_MISSING, RESULT_CHECKPOINT,
	};
	struct run_facts facts = run_facts(run);
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(members) && r == 0; i++)
		r = put_member(buf, members[i], false, put_fact, &facts);
	return r;
}

int run_result(const struct run *run, struct buf *buf, struct err *err)
{
	struct run_facts facts = run_facts(run);

	return result_put(buf, put_fact, &facts, err);
}
