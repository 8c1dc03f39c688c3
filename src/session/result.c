// SPDX-License-Identifier: Apache-2.0
#include "session/result.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/c.h"
#include "policy/number.h"
#include "session/run_state.h"
#include "session/testimony.h"

const char *const limits_names[] = {
	[BOX_LIMITS_V2] = "cgroup v2",
	[BOX_LIMITS_V1] = "cgroup v1",
	[BOX_LIMITS_MEASURED] = "measured",
	[BOX_LIMITS_MEASURED + 1] = NULL,
};

const char *const run_left_names[] = {
	[RUN_LEFT_NONE] = "none",
	[RUN_LEFT_PRESERVED] = "preserved",
	[RUN_LEFT_ROLLED_BACK] = "rolled_back",
	[RUN_LEFT_LOST] = "lost",
};

#define TOLD(event_type) .event = event_type
#define FACT(event_type) TOLD(event_type), .is_fact = true
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
	[RESULT_RESULT] = {"result", "object?", "null", FACT("result")},
	[RESULT_ERROR] = {"error", "@Exception?", "null", FACT("error")},
	[RESULT_DISPLAYS] = {"displays", "object[]", "[]", FACT("display"), .from = "data",
			     .how = RESULT_ITEM},
	[RESULT_CHARTS] = {"charts", "@Chart[]", "[]", FACT("chart"), .from = "chart",
			   .how = RESULT_ITEM},
	[RESULT_TABLE] = {"table", "@Table?", "null", FACT("table")},
	[RESULT_FILES] = {"files", "@File[]", "[]", FACT("file"), .from = "file",
			  .how = RESULT_ITEM, .is_listed = true},
	[RESULT_MISSING] = {"missing", "text[]", "[]", AT_END},
	[RESULT_LEFT_OUT] = {"left_out", "text[]", NULL, AT_END},
	[RESULT_SAVED] = {"saved_state", "@SavedState", NULL, FACT("saved_state")},
	[RESULT_CHECKPOINT] = {"checkpoint", "@CheckpointMade", NULL, AT_END},
	[RESULT_USAGE] = {"usage", "@Usage", "null", AT_END},
	[RESULT_ALLOWED] = {"allowed", "@Allowed", NULL, AT_END},
	[RESULT_BACKEND] = {"backend", "text", "\"\"", TOLD("started")},
	[RESULT_RUNTIME] = {"runtime", "text", "\"\"", TOLD("started")},
	[RESULT_WALLS] = {"walls", "text[]", "[]", AT_END},
	[RESULT_WALLS_BY] = {"walls_by", "text", NULL, AT_END},
	[RESULT_LIMITS] = {"limits", "text?", "null", AT_END},
};

#define USAGE(member) .offset = offsetof(struct run_usage, member), .max = 1LL << 50
#define ALLOWED(member)                                                                            \
	FIELD_OR_NOT, .offset = offsetof(struct run_allowed, member), .max = 1LL << 50
#define CUT(member) FIELD_BOOL, .offset = offsetof(struct run_truncated, member)

const struct field usage_fields[] = {
	{"queue_ms", FIELD_MS, USAGE(queue_ms)},
	{"wall_ms", FIELD_MS, USAGE(wall_ms)},
	{"cpu_ms", FIELD_MS, USAGE(cpu_ms)},
	{"peak_memory", FIELD_SIZE, USAGE(peak_memory)},
	{"output_bytes", FIELD_SIZE, USAGE(output_bytes)},
	{0},
};

const struct field allowed_fields[] = {
	{"timeout_ms", FIELD_SIZE, ALLOWED(timeout_ms)},
	{"memory", FIELD_SIZE, ALLOWED(memory)},
	{"output", FIELD_SIZE, ALLOWED(output)},
	{"cpus", FIELD_MS, ALLOWED(cpus)},
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

/* For an item of a list, the event's member has the type of one item. */
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

void span_text(struct span value, char *text, size_t room)
{
	text[0] = '\0';
	if (value.size > 0 && value.at[0] == '"')
		testimony_text(value.at, value.size, text, room);
}

void result_fill(struct result *result)
{
	struct span verdict = result->members[RESULT_VERDICT];
	struct span usage = result->members[RESULT_USAGE];
	struct span allowed = result->members[RESULT_ALLOWED];
	struct span truncated = result->members[RESULT_TRUNCATED];

	result->verdict = verdict_read(verdict.at, verdict.size);
	fields_read(usage_fields, usage.at, usage.size, &result->usage);
	fields_read(allowed_fields, allowed.at, allowed.size, &result->allowed);
	fields_read(truncated_fields, truncated.at, truncated.size, &result->truncated);
}

static void say_stream(const char *name, uint64_t most, uint64_t written, char *text, size_t room)
{
	char limit[32] = "its limit";

	if (most > 0)
		number_format(NUMBER_BYTES, most, limit, sizeof(limit));
	(void)snprintf(text, room,
		       "%s was cut at %s, the output limit; the run wrote %llu bytes in all: print "
		       "less, or write to a file below /workspace",
		       name, limit, (unsigned long long)written);
}

bool truncated_say(const struct run_truncated *truncated, const struct run_allowed *allowed,
		   const struct run_usage *usage, size_t i, char *text, size_t room)
{
	const struct {
		bool is_cut;
		const char *stream, *words;
	} rows[] = {
		{truncated->out, "stdout", NULL},
		{truncated->err, "stderr", NULL},
		{truncated->files, NULL,
		 "not all files were taken: write fewer or smaller ones, or pack many into one"},
		{truncated->result, NULL,
		 "a value was too large, and a form of it (text, JSON, HTML or picture) was cut or "
		 "left out: show a part of it, or write it to a file below /workspace"},
		{truncated->events, NULL,
		 "there were more events than were kept: display fewer values and charts"},
	};

	for (size_t row = 0; row < ARRAY_LEN(rows); row++) {
		if (!rows[row].is_cut || i-- > 0)
			continue;
		if (rows[row].stream != NULL)
			say_stream(rows[row].stream, allowed->output, usage->output_bytes, text,
				   room);
		else
			(void)snprintf(text, room, "%s", rows[row].words);
		return true;
	}
	return false;
}

bool skipped_say(struct span checkpoint, char *text, size_t room)
{
	char why[256];

	text[0] = '\0';
	span_text(span_member(checkpoint, "skipped"), why, sizeof(why));
	if (why[0] == '\0')
		return false;
	(void)snprintf(text, room,
		       "no checkpoint after this run: %s. A run that fails goes back to the last "
		       "one",
		       why);
	return true;
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
	result_fill(ret_result);
}

/* The member of the result that this member of an event carries; RESULT_COUNT: none. */
static unsigned told_by(const char *type, const struct json_member *member)
{
	for (unsigned i = 0; i < RESULT_COUNT; i++) {
		const struct result_row *row = &result_rows[i];

		if (row->event != NULL && strcmp(row->event, type) == 0 &&
		    json_is_named(member, result_from(i)))
			return i;
		if (row->is_listed && strcmp(type, "verdict") == 0 &&
		    json_is_named(member, row->name))
			return i;
	}
	return RESULT_COUNT;
}

void event_read(const char *line, size_t size, struct event *ret_event)
{
	struct {
		const char *name;
		struct span *to;
	} rows[] = {
		{"seq", &ret_event->seq}, {"run", &ret_event->run}, {"base64", &ret_event->base64}};
	struct json_member member = {0};
	const char *type = NULL;
	size_t type_size = 0;

	*ret_event = (struct event){0};
	if (size == 0 || line[0] != '{' || !json_find(line, size, "type", &type, &type_size))
		return;
	testimony_text(type, type_size, ret_event->type, sizeof(ret_event->type));
	while (json_next(line, size, &member)) {
		const struct span value = {member.value, member.size};
		unsigned told = told_by(ret_event->type, &member);

		if (told < RESULT_COUNT && ret_event->told.members[told].size == 0)
			ret_event->told.members[told] = value;
		for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
			if (rows[i].to->size == 0 && json_is_named(&member, rows[i].name))
				*rows[i].to = value;
		}
	}
	if (event_is(ret_event, "verdict"))
		result_fill(&ret_event->told);
}

bool event_is(const struct event *event, const char *type)
{
	return strcmp(event->type, type) == 0;
}

/* ---- the result of a run ---- */

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

/* The host gives the member with its name; here only the value is written. */
static int put_checkpoint(struct buf *buf, const struct buf *member)
{
	const uint8_t *value =
		member != NULL && member->size > 0 ? memchr(member->data, '{', member->size) : NULL;

	return value != NULL ? buf_append(buf, value, member->size - (size_t)(value - member->data))
			     : 0;
}

static int put_fact(const struct run_facts *facts, enum result_member member, struct buf *buf)
{
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
	case RESULT_MISSING:
		return put_list(buf, facts->missing);
	case RESULT_LEFT_OUT:
		return put_list(buf, facts->left_out);
	case RESULT_DISPLAYS:
	case RESULT_CHARTS:
	case RESULT_FILES:
		return put_list(buf, &facts->parts[member]);
	case RESULT_RESULT:
	case RESULT_ERROR:
	case RESULT_TABLE:
	case RESULT_SAVED:
		return buf_append(buf, facts->parts[member].data, facts->parts[member].size);
	case RESULT_USAGE:
		return fields_put(usage_fields, &facts->usage, buf);
	case RESULT_ALLOWED: /* a run that never had a sandbox had no limits */
		return facts->backend[0] != '\0' ? fields_put(allowed_fields, &facts->allowed, buf)
						 : 0;
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
		return json_put_text(buf, run_left_names[facts->left]);
	case RESULT_CHECKPOINT:
		return put_checkpoint(buf, facts->checkpoint);
	case RESULT_SESSION:
	case RESULT_WHO:
	case RESULT_COUNT:
		break;
	}
	return 0;
}

/* Writes "name":value, after a comma unless it is the first. `ret_size` is the size of the value, 0
 * if the member is left out. */
static int put_member(struct buf *buf, enum result_member member, const struct run_facts *facts,
		      size_t *ret_size)
{
	const struct result_row *row = &result_rows[member];
	size_t before = buf->size;
	size_t start;
	int r = json_put_name(buf, member == 0 ? "" : ",", row->name);

	start = buf->size;
	if (r == 0)
		r = put_fact(facts, member, buf);
	if (r == 0 && buf->size == start && row->empty != NULL)
		r = buf_text(buf, row->empty);
	*ret_size = buf->size - start;
	if (r == 0 && buf->size == start)
		buf_cut(buf, before);
	return r;
}

int result_verdict_members(const struct run *run, struct buf *buf)
{
	struct run_facts facts = run_facts(run);
	size_t size;
	int r = 0;

	for (unsigned i = 0; i < RESULT_COUNT && r == 0; i++) {
		const struct result_row *row = &result_rows[i];

		if (row->is_listed || (row->event != NULL && strcmp(row->event, "verdict") == 0))
			r = put_member(buf, (enum result_member)i, &facts, &size);
	}
	return r;
}

int run_result(const struct run *run, struct buf *buf, struct result *ret_result, struct err *err)
{
	struct run_facts facts = run_facts(run);
	size_t ends[RESULT_COUNT] = {0};
	size_t sizes[RESULT_COUNT] = {0};
	int r = buf_text(buf, "{");

	for (unsigned i = 0; i < RESULT_COUNT && r == 0; i++) {
		r = put_member(buf, (enum result_member)i, &facts, &sizes[i]);
		ends[i] = buf->size;
	}
	if (r == 0)
		r = buf_text(buf, "}");
	if (r < 0)
		return err_set(err, ERR_TOO_LARGE, -r, "the result is larger than its buffer");
	for (size_t i = 0; ret_result != NULL && i < RESULT_COUNT; i++)
		ret_result->members[i] =
			(struct span){(const char *)buf->data + ends[i] - sizes[i], sizes[i]};
	if (ret_result != NULL) {
		ret_result->verdict = facts.verdict;
		ret_result->usage = facts.usage;
		ret_result->allowed = facts.allowed;
		ret_result->truncated = facts.truncated;
	}
	return 0;
}
