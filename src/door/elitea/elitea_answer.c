// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/c.h"
#include "base/json.h"
#include "door/elitea/elitea.h"
#include "door/script.h"

#define PACKAGES_MAX 256
#define PACKAGES_TEXT_MAX (64U << 10) /* largest list that is accepted from a sandbox */
#define LOST_TEXT_MAX (1U << 20)

/* Appends a string, or null if it is empty. */
static int put_text(struct buf *buf, const char *name, struct escaped text)
{
	json_put(buf, ",%s:", name);
	return text.size > 0 ? escaped_put(buf, &text, 1, SIZE_MAX) : buf_text(buf, "null");
}

/* Appends a value, or null if there is none. */
static int put_value(struct buf *buf, const char *name, struct span value)
{
	json_put(buf, ",%s:", name);
	return value.size > 0 ? buf_append(buf, value.at, value.size) : buf_text(buf, "null");
}

static bool has_text(const json_t *list, const char *text)
{
	const json_t *item = NULL;
	size_t i = 0;

	json_array_foreach(list, i, item) {
		if (strcmp(json_string_value(item), text) == 0)
			return true;
	}
	return false;
}

static void add_packages(json_t *list, const json_t *from)
{
	const json_t *item = NULL;
	size_t i = 0;

	json_array_foreach(from, i, item) {
		if (json_is_string(item) && json_array_size(list) < PACKAGES_MAX &&
		    !has_text(list, json_string_value(item)))
			(void)json_array_append_new(list, json_string(json_string_value(item)));
	}
}

static json_t *now(void)
{
	char text[TIME_TEXT_SIZE];

	time_text(wall_ms(), text);
	return json_string(text);
}

/* The session's metadata after the run: `created` stays, packages are added. */
static json_t *metadata_after(const json_t *before, const struct ending *ending)
{
	const json_t *created = json_object_get(before, "created");
	json_t *packages = json_array();
	json_t *after = json_object();
	json_auto_t *found = NULL;
	json_auto_t *lost = NULL;

	if (ending->packages.size <= PACKAGES_TEXT_MAX && ending->packages.size > 0)
		found = json_loadb(ending->packages.at, ending->packages.size, 0, NULL);
	if (ending->lost.size <= LOST_TEXT_MAX && ending->lost.size > 0)
		lost = json_loadb(ending->lost.at, ending->lost.size, 0, NULL);
	(void)json_object_set_new(after, "created",
				  json_is_string(created) ? json_string(json_string_value(created))
							  : now());
	(void)json_object_set_new(after, "lastModified", now());
	add_packages(packages, json_object_get(before, "packages"));
	add_packages(packages, found);
	(void)json_object_set_new(after, "packages", packages);
	if (json_array_size(lost) > 0)
		(void)json_object_set(after, "lost", lost);
	else if (ending->saved.size == 0)
		(void)json_object_set_new(
			after, "lost",
			json_pack("[{s:s,s:s}]", "name", "*", "why",
				  "nothing could be saved: the session is as it was before"));
	return after;
}

static int put_bytes_before(const struct elitea_run *run, struct buf *buf)
{
	const struct run_bytes *bytes = &run->args.saved;

	buf_text(buf, ",\"session_bytes\":");
	return bytes->data != NULL ? json_put_string(buf, bytes->data, bytes->size)
				   : buf_text(buf, "null");
}

static int put_metadata(struct buf *buf, const json_t *metadata)
{
	AUTO_FREE char *text =
		metadata != NULL ? json_dumps(metadata, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;

	return buf_format(buf, ",\"session_metadata\":%s", text != NULL ? text : "null");
}

/* Appends the session as it came. */
static int put_before(const struct elitea_run *run, struct buf *buf)
{
	put_bytes_before(run, buf);
	return put_metadata(buf, run->metadata);
}

static int put_session(const struct elitea_run *run, const struct ending *ending, struct buf *buf)
{
	json_auto_t *metadata = NULL;

	if (!ending_is(ending, "ok") || !run->is_stateful)
		return put_before(run, buf);
	/* Code can break what saving relies on; an old state is better than none. */
	if (ending->saved.size > 0)
		put_text(buf, "session_bytes", ending->saved);
	else
		put_bytes_before(run, buf);
	metadata = metadata_after(run->metadata, ending);
	return put_metadata(buf, metadata);
}

static bool ends_line(struct escaped text)
{
	return text.size == 0 ||
	       (text.size >= 2 && memcmp(text.text + text.size - 2, "\\n", 2) == 0);
}

/* Appends stderr and, after it, why the run failed. */
static int put_failure(const struct ending *ending, struct buf *buf)
{
	struct escaped parts[4] = {ending->err};

	if (!ends_line(ending->err))
		parts[1] = escaped_plain("\\n");
	parts[3] = ending->traceback.size > 0 ? ending->traceback : ending->message;
	if (ending->traceback.size == 0 && ending_is(ending, "memory"))
		parts[2] = escaped_plain("MemoryError: ");
	if (ending->traceback.size == 0 && ending_is(ending, "exit"))
		parts[2] = escaped_plain("SystemExit: ");
	return escaped_put(buf, parts, ARRAY_LEN(parts), SIZE_MAX);
}

int elitea_put_output(const struct ending *ending, struct buf *buf)
{
	const struct escaped parts[] = {
		ending->out,
		escaped_plain(ending->is_out_cut ? "\\n[" SCRIPT_CUT "]" : ""),
	};

	return escaped_put(buf, parts, ARRAY_LEN(parts), SIZE_MAX);
}

int elitea_put_error(const struct elitea_run *run, const struct ending *ending, struct buf *buf)
{
	if (ending_is(ending, "timeout"))
		return buf_format(buf, "\"Execution timed out after %s seconds\"", run->timeout);
	return put_failure(ending, buf);
}

int elitea_put_answer(const struct elitea_run *run, const struct ending *ending, struct buf *buf)
{
	bool is_ok = ending_is(ending, "ok");

	json_put(buf, "{'success':%i,'stdout':", is_ok);
	(void)(ending->out.size > 0 ? elitea_put_output(ending, buf) : buf_text(buf, "null"));
	if (is_ok) {
		put_text(buf, "stderr", ending->err);
	} else {
		buf_text(buf, ",\"stderr\":");
		elitea_put_error(run, ending, buf);
	}
	put_value(buf, "result", is_ok ? ending->value : (struct span){0});
	if (ending->charts.size > strlen("[]"))
		put_value(buf, "charts", ending->charts);
	put_session(run, ending, buf);
	return json_put(buf, "}");
}

int elitea_put_refusal(const struct elitea_run *run, const char *why, struct buf *buf)
{
	json_put(buf, "{'success':false,'stdout':null,'stderr':%s,'result':null", why);
	put_before(run, buf);
	buf_text(buf, "}");
	return buf->failed;
}
