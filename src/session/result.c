// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include "base/c.h"
#include "base/json.h"
#include "session/run_state.h"

static const char *const limits_names[] = {
	[LAUNCH_LIMITS_V2] = "cgroup v2",
	[LAUNCH_LIMITS_V1] = "cgroup v1",
	[LAUNCH_LIMITS_MEASURED] = "measured",
};

/* Each step is taken only while all before it worked. */
static void put(struct buf *buf, int *r, const char *text)
{
	if (*r == 0)
		*r = buf_text(buf, text);
}

static void put_part(struct buf *buf, int *r, const char *before, const struct buf *part,
		     const char *empty, const char *after)
{
	put(buf, r, before);
	if (*r == 0)
		*r = part->size > 0 ? buf_append(buf, part->data, part->size)
				    : buf_text(buf, empty);
	put(buf, r, after);
}

static void put_bytes(struct buf *buf, int *r, const char *name, const struct buf *bytes)
{
	put(buf, r, name);
	if (*r == 0)
		*r = json_put_string(buf, bytes->data, bytes->size);
}

static void put_truncated(struct buf *buf, int *r, const struct run_facts *facts)
{
	if (*r == 0)
		*r = buf_format(buf,
				",\"truncated\":{\"stdout\":%s,\"stderr\":%s,\"files\":%s,"
				"\"result\":%s,\"events\":%s}",
				facts->truncated_stdout ? "true" : "false",
				facts->truncated_stderr ? "true" : "false",
				facts->truncated_files ? "true" : "false",
				facts->truncated_result ? "true" : "false",
				facts->truncated_events ? "true" : "false");
}

static void put_usage(struct buf *buf, int *r, const struct run_usage *usage)
{
	if (*r == 0)
		*r = buf_format(buf,
				",\"usage\":{\"queue_ms\":%.3f,\"wall_ms\":%.3f,\"cpu_ms\":%.3f,"
				"\"peak_memory\":%llu,\"output_bytes\":%llu}",
				usage->queue_ms, usage->wall_ms, usage->cpu_ms,
				(unsigned long long)usage->peak_memory,
				(unsigned long long)usage->output_bytes);
}

static void put_walls(struct buf *buf, int *r, uint32_t walls)
{
	bool is_first = true;

	put(buf, r, ",\"walls\":[");
	for (unsigned id = 0; id < WALL_COUNT; id++) {
		if (!(walls & (1U << id)))
			continue;
		put(buf, r, is_first ? "\"" : ",\"");
		put(buf, r, wall_name((enum wall_id)id));
		put(buf, r, "\"");
		is_first = false;
	}
	put(buf, r, "]");
}

static void put_verdict(struct buf *buf, int *r, const struct verdict *verdict)
{
	put(buf, r, ",\"verdict\":");
	if (verdict->kind == VERDICT_NONE)
		put(buf, r, "null");
	else if (*r == 0)
		*r = verdict_put(verdict, buf);
	put(buf, r, ",\"state\":\"none\"");
}

int result_verdict_members(const struct run *run, struct buf *buf)
{
	struct run_facts facts = run_facts(run);
	int r = 0;

	put_verdict(buf, &r, &facts.verdict);
	put_usage(buf, &r, &facts.usage);
	put_walls(buf, &r, facts.walls);
	if (r == 0)
		r = buf_format(buf, ",\"limits\":\"%s\"", limits_names[facts.limits]);
	put_truncated(buf, &r, &facts);
	put_part(buf, &r, ",\"files\":[", facts.files, "", "]");
	return r;
}

int run_result(const struct run *run, struct buf *buf, struct err *err)
{
	struct run_facts facts = run_facts(run);
	int r = buf_format(buf, "{\"id\":\"%s\",\"session\":null", facts.id);

	put_verdict(buf, &r, &facts.verdict);
	put_bytes(buf, &r, ",\"stdout\":", facts.out);
	put_bytes(buf, &r, ",\"stderr\":", facts.err);
	put_truncated(buf, &r, &facts);
	put_part(buf, &r, ",\"result\":", facts.result, "null", "");
	put_part(buf, &r, ",\"error\":", facts.error, "null", "");
	put_part(buf, &r, ",\"displays\":[", facts.displays, "", "]");
	put_part(buf, &r, ",\"charts\":[", facts.charts, "", "]");
	put_part(buf, &r, ",\"table\":", facts.table, "null", "");
	put_part(buf, &r, ",\"files\":[", facts.files, "", "]");
	put_part(buf, &r, ",\"missing\":[", facts.missing, "", "]");
	put_usage(buf, &r, &facts.usage);
	if (r == 0)
		r = buf_format(buf, ",\"backend\":\"%s\",\"runtime\":", facts.backend);
	if (r == 0)
		r = json_put_text(buf, facts.runtime);
	put_walls(buf, &r, facts.walls);
	if (r == 0)
		r = buf_format(buf, ",\"limits\":\"%s\"}", limits_names[facts.limits]);
	if (r < 0)
		return err_set(err, ERR_TOO_LARGE, -r, "the result is larger than its buffer");
	return 0;
}
