// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/c.h"
#include "base/id.h"
#include "cli/safe.h"
#include "cli/session.h"
#include "cli/watch.h"

#define VALUE_MAX (192UL << 20) /* of one event */

static const struct flag flags[] = {
	WATCH_ROW(is_follow, "follow", 'f', FLAG_SWITCH, NULL, "wait for new events"),
	WATCH_ROW(after, "after", 0, FLAG_COUNT, "N", "only events after number N"),
	WATCH_ROW(is_json, "json", 0, FLAG_SWITCH, NULL,
		  "print one JSON object per event, as the daemon sends it"),
	WATCH_ROWS,
};

/* ---- which ---- */

/* Finds a run by the beginning of its id. Returns 1, or 0 if there is none. */
static int find_run(struct client *client, const char *word, char ret_id[ID_SIZE], struct err *err)
{
	json_auto_t *list = client_json(client, "GET", "/v1/runs?limit=1000", NULL, err);
	size_t count = 0;
	size_t index;
	const json_t *run;

	if (list == NULL)
		return -err->num;
	json_array_foreach(json_object_get(list, "runs"), index, run) {
		const char *id = session_text(run, "id");

		if (session_begins(id, word)) {
			(void)snprintf(ret_id, ID_SIZE, "%s", id);
			count++;
		}
	}
	if (count > 1)
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "%zu runs match '%.100s'; use a whole id", count, word);
	return (int)count;
}

/* "/v1/runs/ID" or "/v1/sessions/ID". */
static int find_path(struct client *client, const char *word, struct buf *path, struct err *err)
{
	char id[ID_SIZE] = "";
	int r = 0;

	if (strncmp(word, "run_", 4) == 0 && strlen(word) == 30 && strlen(word) < sizeof(id)) {
		/* A whole id may name a run that is too old for the list. */
		(void)snprintf(id, sizeof(id), "%s", word);
		r = 1;
	} else if (strncmp(word, "ses_", 4) != 0 && word[0] != '\0') {
		r = find_run(client, word, id, err);
	}
	if (r > 0)
		return buf_format(path, "/v1/runs/%s", id);
	if (r == 0)
		r = session_resolve(client, word, id, err);
	if (r < 0 && err->kind == ERR_NOT_FOUND)
		return err_set(err, ERR_NOT_FOUND, ENOENT,
			       "there is no run and no session '%.100s'; see `viv ps -a`", word);
	return r < 0 ? r : buf_format(path, "/v1/sessions/%s", id);
}

/* ---- how it looks ---- */

static void print_head(const json_t *event)
{
	(void)printf("%5" JSON_INTEGER_FORMAT " %10.1f ms  %-9s",
		     json_integer_value(json_object_get(event, "seq")),
		     json_number_value(json_object_get(event, "t_ms")),
		     session_text(event, "type"));
}

/* Prints a text line by line, each after the event's head. */
static void print_lines(const json_t *event, const char *text)
{
	do {
		size_t size = strcspn(text, "\n");
		struct buf line;

		buf_init(&line, 4 * size + 1);
		safe_put(&line, text, size);
		print_head(event);
		(void)printf(" %s\n", buf_string(&line));
		buf_done(&line);
		text += size;
		text += *text == '\n';
	} while (*text != '\0');
}

/* Prints the other members of an event, without walls, truncated and the bytes of images. */
static void print_members(const json_t *event)
{
	static const char *const skipped[] = {"seq", "t_ms", "type", "walls", "truncated"};
	const char *name;
	json_t *value;

	print_head(event);
	json_object_foreach((json_t *)(uintptr_t)event, name, value) {
		struct buf text;
		bool is_skipped = false;

		for (size_t i = 0; i < ARRAY_LEN(skipped); i++)
			is_skipped |= strcmp(name, skipped[i]) == 0;
		if (is_skipped)
			continue;
		if (json_is_object(value) && json_object_get(value, "base64") != NULL)
			(void)json_object_del(value, "base64");
		buf_init(&text, VALUE_MAX);
		safe_put_value(&text, value);
		(void)printf(" %s=", name);
		safe_print(stdout,
			   json_is_string(value) ? json_string_value(value) : buf_string(&text));
		buf_done(&text);
	}
	(void)printf("\n");
}

static void print_verdict(const json_t *event)
{
	const json_t *verdict = json_object_get(event, "verdict");
	const json_t *usage = json_object_get(event, "usage");

	print_head(event);
	(void)printf(" %s exit_code=%" JSON_INTEGER_FORMAT " state=%s wall=%.1f ms cpu=%.1f ms ",
		     session_text(verdict, "kind"),
		     json_integer_value(json_object_get(verdict, "exit_code")),
		     session_text(event, "state"),
		     json_number_value(json_object_get(usage, "wall_ms")),
		     json_number_value(json_object_get(usage, "cpu_ms")));
	safe_print(stdout, session_text(verdict, "message"));
	(void)printf("\n");
}

static int print_event(void *user, const char *line, size_t size)
{
	const struct watch_options *options = user;
	json_auto_t *event = NULL;
	const char *type = NULL;

	if (options->is_json) {
		(void)fwrite(line, 1, size, stdout);
		(void)printf("\n");
		return fflush(stdout) == 0 ? 0 : -EPIPE;
	}
	event = json_loadb(line, size, JSON_ALLOW_NUL, NULL);
	type = session_text(event, "type");
	if (strcmp(type, "stdout") == 0 || strcmp(type, "stderr") == 0 ||
	    strcmp(type, "stdin") == 0)
		print_lines(event, session_text(event, "text"));
	else if (strcmp(type, "error") == 0)
		print_lines(event, session_text(json_object_get(event, "error"), "traceback"));
	else if (strcmp(type, "verdict") == 0)
		print_verdict(event);
	else if (strcmp(type, "held") == 0)
		(void)printf("held: a person must allow it first\n");
	else if (strcmp(type, "keepalive") != 0)
		print_members(event);
	return fflush(stdout) == 0 ? 0 : -EPIPE;
}

static int follow(const struct watch *watch, const char *word, struct err *err)
{
	const struct watch_options *options = watch->options;
	struct client_call call = {
		.method = "GET",
		.line = print_event,
		.user = (void *)(uintptr_t)options,
	};
	struct buf path;
	int r;

	buf_init(&path, KIB);
	r = find_path(watch->client, word, &path, err);
	if (r == 0) {
		(void)buf_format(&path, "/events?after=%" PRIu64 "&follow=%s", options->after,
				 options->is_follow ? "true" : "false");
		call.path = buf_string(&path);
		r = client_call(watch->client, &call, NULL, err);
	}
	buf_done(&path);
	return r == -EPIPE ? 0 : r;
}

static int run(const struct cmd *cmd, const void *options, const struct operands *operands)
{
	struct watch watch = {0};
	struct err err = {0};
	int r = 0;

	if (operands->count != 1)
		r = err_set(&err, ERR_BAD_REQUEST, EINVAL, "usage: viv logs ID");
	if (r == 0)
		r = watch_open(&watch, options, &err);
	if (r == 0)
		r = follow(&watch, operands->items[0], &err);
	watch_close(&watch);
	return r < 0 ? cmd_fail(cmd, &err) : CMD_OK;
}

const struct cmd cmd_logs = {
	.name = "logs",
	.operands = "ID",
	.summary = "the events of a run or a session",
	.about = "Prints the events of a run: its output, charts, files and verdict. For a "
		 "session,\n"
		 "prints what happened to the session itself. ID is an id, the beginning of one, "
		 "or\n"
		 "a session's name. Events are kept for a while after the end, even across a "
		 "restart\n"
		 "of the daemon; --after N continues where an earlier look ended.",
	.examples = "  viv logs run_3k8\n"
		    "  viv logs -f work\n"
		    "  viv logs run_3k8 --json --after 120",
	CMD_FLAGS(flags),
	.options_size = sizeof(struct watch_options),
	.run = run,
};
