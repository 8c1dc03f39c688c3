// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "base/c.h"
#include "cli/safe.h"
#include "cli/session.h"
#include "cli/table.h"
#include "policy/number.h"

/* Finds a checkpoint by its id, the unambiguous beginning of it, or its name; of two with the same
 * name the last. */
static int find_checkpoint(const struct session_desk *desk, const char *word, char ret_id[ID_SIZE],
			   struct err *err)
{
	json_auto_t *list = NULL;
	const char *named = NULL;
	const char *begun = NULL;
	size_t begun_count = 0;
	size_t index;
	const json_t *checkpoint;
	struct buf path;

	session_path(desk, &path, "/checkpoints");
	list = client_json(desk->client, "GET", buf_string(&path), NULL, err);
	buf_done(&path);
	if (list == NULL)
		return -err->num;
	json_array_foreach(json_object_get(list, "checkpoints"), index, checkpoint) {
		const char *id = session_text(checkpoint, "id");

		if (strcmp(session_text(checkpoint, "name"), word) == 0)
			named = id;
		if (word[0] != '\0' && session_begins(id, word)) {
			begun = id;
			begun_count++;
		}
	}
	if (named == NULL && begun_count != 1)
		return err_set(err, begun_count > 0 ? ERR_BAD_REQUEST : ERR_NOT_FOUND,
			       begun_count > 0 ? EINVAL : ENOENT,
			       "%s checkpoint '%.100s'; `viv session checkpoints %s` shows them%s",
			       begun_count > 0 ? "there is more than one" : "there is no", word,
			       desk->id,
			       begun_count > 0 ? ""
					       : " (a frozen session drops those without a name, "
						 "except the last, unless it was made with "
						 "--keep)");
	(void)snprintf(ret_id, ID_SIZE, "%s", named != NULL ? named : begun);
	return 0;
}

/* Tells that going back to `state` leaves the files as they are, if that is so. */
static void tell_files(const struct session_desk *desk, const json_t *state, const char *what)
{
	const char *files = session_text(state, "files");

	if (files[0] == '\0' || desk->options->run.is_json)
		return;
	(void)fprintf(
		stderr, "viv session: %s the files of /workspace as they are: %s\n", what,
		strcmp(files, "shared") == 0
			? "branches of the session share them"
			: "they are too many or too large to be copied (docs/http.md, Files)");
}

static void tell_name(const struct session_desk *desk, const json_t *checkpoint)
{
	const char *was = session_text(checkpoint, "name_was");

	if (was[0] == '\0' || desk->options->run.is_json)
		return;
	(void)fprintf(stderr, "viv session: the name was moved from %s, which has none now\n", was);
}

static void tell_unkept(const struct session_desk *desk, const json_t *checkpoint)
{
	const char *note = session_text(json_object_get(checkpoint, "kept"), "note");

	if (note[0] != '\0' && !desk->options->run.is_json)
		(void)fprintf(stderr, "viv session: %s\n", note);
}

int verb_checkpoint_make(const struct session_desk *desk, struct err *err)
{
	json_t *body = json_object();
	json_auto_t *checkpoint = NULL;

	if (desk->rest_count > 0)
		(void)json_object_set_new(body, "name", json_string(desk->rest[0]));
	checkpoint = session_ask(desk, "POST", body, err, "/checkpoints");
	if (checkpoint == NULL)
		return -err->num;
	if (!desk->options->run.is_json)
		(void)printf("%s\n", session_text(checkpoint, "id"));
	tell_name(desk, checkpoint);
	tell_files(desk, checkpoint, "going back to this state leaves");
	tell_unkept(desk, checkpoint);
	return CMD_OK;
}

int verb_checkpoints(const struct session_desk *desk, struct err *err)
{
	static const struct column columns[] = {
		{"CHECKPOINT", "id"},
		{"NAME", "name"},
		{"KIND", "kind"},
		{"FILES", "files"},
		{"MEM", "memory", .kind = COLUMN_SIZE},
		{"AGE", "created_ms", .kind = COLUMN_AGE},
		{"RUN", "run"},
		{0},
	};
	json_auto_t *list = session_ask(desk, "GET", NULL, err, "/checkpoints");
	size_t index;
	json_t *checkpoint;

	if (list == NULL)
		return -err->num;
	if (desk->options->run.is_json)
		return CMD_OK;
	json_array_foreach(json_object_get(list, "checkpoints"), index, checkpoint) {
		const char *files = session_text(checkpoint, "files");

		/* "coming" is shown unchanged: the copies of the files are still being made. */
		if (strcmp(files, "coming") != 0)
			(void)json_object_set_new(
				checkpoint, "files",
				json_string(files[0] != '\0' ? "stay" : "go back"));
	}
	table_print_rows(columns, json_object_get(list, "checkpoints"), 0, stdout);
	return CMD_OK;
}

int verb_rollback_to(const struct session_desk *desk, struct err *err)
{
	json_auto_t *session = NULL;
	char id[ID_SIZE];
	int r = find_checkpoint(desk, desk->rest[0], id, err);

	if (r < 0)
		return r;
	session = session_ask(desk, "POST", json_pack("{s:s}", "checkpoint", id), err, "/rollback");
	if (session == NULL)
		return -err->num;
	if (!desk->options->run.is_json)
		(void)printf("%s is back at %s\n", desk->id, id);
	tell_files(desk, session, "this left");
	return CMD_OK;
}

int verb_drop(const struct session_desk *desk, struct err *err)
{
	json_auto_t *gone = NULL;
	json_auto_t *answer = NULL;
	char id[ID_SIZE];
	struct buf path;
	int r = find_checkpoint(desk, desk->rest[0], id, err);

	if (r < 0)
		return r;
	session_path(desk, &path, "/checkpoints/%s", id);
	gone = client_json(desk->client, "DELETE", buf_string(&path), NULL, err);
	buf_done(&path);
	if (gone == NULL)
		return -err->num;
	answer = json_pack("{s:s}", "dropped", id);
	if (desk->options->run.is_json)
		safe_print_json(answer);
	else
		(void)printf("%s\n", id);
	return CMD_OK;
}

static int ask_anew(const struct session_desk *desk, const char *path, json_t *take_body,
		    const char *told, struct err *err)
{
	json_auto_t *session = session_ask(desk, "POST", take_body, err, "%s", path);

	if (session == NULL)
		return -err->num;
	if (told == NULL) /* of a restart */
		told = json_is_object(json_object_get(session, "kept"))
			       ? "is restarted: its files are there, its variables are not"
			       : "is restarted; it was not kept on disk, so its files and "
				 "variables are gone";
	if (!desk->options->run.is_json)
		(void)printf("%s %s\n", desk->id, told);
	return CMD_OK;
}

int verb_wake(const struct session_desk *desk, struct err *err)
{
	return ask_anew(desk, "/wake", json_object(), "is awake", err);
}

int verb_restart(const struct session_desk *desk, struct err *err)
{
	const struct session_options *options = desk->options;

	return ask_anew(
		desk, "/restart",
		json_pack("{s:s*, s:s*}", "policy", options->policy, "runtime", options->runtime),
		NULL, err);
}

int verb_keep(const struct session_desk *desk, struct err *err)
{
	bool is_off = desk->rest_count > 0;
	json_auto_t *session = NULL;

	if (is_off && strcmp(desk->rest[0], "off") != 0)
		return err_set(err, ERR_BAD_REQUEST, EINVAL, "keep: '%.100s' is not 'off'",
			       desk->rest[0]);
	session = session_ask(desk, "PATCH", json_pack("{s:b}", "keep", !is_off), err, "%s", "");
	if (session == NULL)
		return -err->num;
	if (!desk->options->run.is_json)
		(void)printf("%s %s\n", desk->id,
			     is_off ? "is not kept: it ends with the daemon, and is not on disk"
				    : "is kept: its states are written to disk from now on");
	return CMD_OK;
}

int verb_fork_off(const struct session_desk *desk, struct err *err)
{
	json_t *body = json_object();
	json_auto_t *answer = NULL;
	uint64_t count = 1;
	size_t index;
	const json_t *session;

	if (desk->rest_count > 0 && number_parse(NUMBER_COUNT, desk->rest[0], &count) < 0) {
		json_decref(body);
		return err_set(err, ERR_BAD_REQUEST, EINVAL, "fork: '%.100s' is not a number",
			       desk->rest[0]);
	}
	(void)json_object_set_new(body, "n", json_integer((json_int_t)count));
	answer = session_ask(desk, "POST", body, err, "/fork");
	if (answer == NULL)
		return -err->num;
	if (!desk->options->run.is_json) {
		json_array_foreach(json_object_get(answer, "sessions"), index, session)
			(void)printf("%s\n", session_text(session, "id"));
	}
	return CMD_OK;
}

static void print_names(const json_t *answer, const char *member, char mark)
{
	size_t index;
	const json_t *name;

	json_array_foreach(json_object_get(answer, member), index, name) {
		(void)printf("%c ", mark);
		safe_print(stdout, json_is_string(name) ? json_string_value(name)
							: session_text(name, "name"));
		(void)printf("\n");
	}
}

int verb_diff(const struct session_desk *desk, struct err *err)
{
	json_auto_t *answer = NULL;
	char from[ID_SIZE];
	char to[ID_SIZE] = "";
	int r = find_checkpoint(desk, desk->rest[0], from, err);

	if (r == 0 && desk->rest_count > 1)
		r = find_checkpoint(desk, desk->rest[1], to, err);
	if (r < 0)
		return r;
	answer = session_ask(desk, "GET", NULL, err, "/diff?from=%s%s%s", from,
			     to[0] != '\0' ? "&to=" : "", to);
	if (answer == NULL)
		return -err->num;
	if (!desk->options->run.is_json) {
		print_names(answer, "added", '+');
		print_names(answer, "removed", '-');
		print_names(answer, "changed", '~');
	}
	return CMD_OK;
}
