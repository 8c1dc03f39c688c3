// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "base/id.h"
#include "cli/safe.h"
#include "cli/table.h"
#include "cli/watch.h"

struct options {
	struct watch_options watch; /* first: its rows fill it */
	const char *why;
};

static const struct flag allow_flags[] = {
	WATCH_ROW(is_json, "json", 0, FLAG_SWITCH, NULL, "print one JSON object"),
	WATCH_ROWS,
};

static const struct flag deny_flags[] = {
	FLAG_ROW(struct options, why, "why", 0, FLAG_TEXT, "TEXT",
		 "reason to tell the client that asked"),
	WATCH_ROW(is_json, "json", 0, FLAG_SWITCH, NULL, "print one JSON object"),
	WATCH_ROWS,
};

static void print_held(const json_t *held)
{
	static const struct column columns[] = {
		{"RUN", "id"},        {"TOKEN", "who.token"},
		{"VIA", "who.via"},   {"CLIENT", "who.client"},
		{"POLICY", "policy"}, {"AGE", "held_ms", .kind = COLUMN_AGE},
		{"LINE", "line"},     {0},
	};

	table_print_rows(columns, held, 0, stdout);
}

/* Finds a held run by its id or the beginning of it. Any other run's id is accepted, too: the
 * daemon says what is wrong with it. */
static int find_held(const json_t *held, const char *word, char ret_id[ID_SIZE], struct err *err)
{
	size_t found = 0;
	size_t index;
	const json_t *run;

	json_array_foreach(held, index, run) {
		const char *id = json_string_value(json_object_get(run, "id"));

		if (id == NULL || strncmp(id, word, strlen(word)) != 0)
			continue;
		(void)snprintf(ret_id, ID_SIZE, "%s", id);
		found++;
	}
	if (found == 1)
		return 0;
	if (found > 1)
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "the ids of %zu held runs begin with %.60s; give more of it", found,
			       word);
	if (strlen(word) >= ID_SIZE || strncmp(word, "run_", 4) != 0)
		return err_set(err, ERR_NOT_FOUND, ENOENT,
			       "no held run is called %.60s; `viv ps` lists them", word);
	(void)snprintf(ret_id, ID_SIZE, "%s", word);
	return 0;
}

/* The daemon speaks of a header. If the key is what it misses, names the variable instead. */
static int explain_key(const struct watch *watch, struct err *err)
{
	const char *key = getenv("VIVARIUM_APPROVE");
	const char *needs = NULL;
	json_auto_t *status = NULL;
	struct err ignored = {0};
	int may = 1;

	if (err->kind != ERR_FORBIDDEN)
		return -err->num;
	status = client_json(watch->client, "GET", "/v1/status", NULL, &ignored);
	if (json_unpack(status, "{s:{s:s, s:b}}", "approve", "needs", &needs, "may", &may) < 0 ||
	    strcmp(needs, "key") != 0 || may != 0)
		return -err->num;
	return err_set(err, ERR_FORBIDDEN, EPERM,
		       "%s the key from the daemon's <state_dir>/approve.key, or run this as the "
		       "daemon's own user on its unix socket",
		       key == NULL ? "set $VIVARIUM_APPROVE to"
				   : "the key in $VIVARIUM_APPROVE is wrong; set it to");
}

static int decide(const struct watch *watch, const json_t *held, const char *word, const char *what,
		  const char *why, struct err *err)
{
	json_auto_t *row = NULL;
	char id[ID_SIZE] = "";
	struct buf path;
	int r = find_held(held, word, id, err);

	if (r < 0)
		return r;
	buf_init(&path, KIB);
	(void)buf_text(&path, "/v1/runs/");
	client_put_escaped(&path, id, false);
	(void)buf_format(&path, "/%s", what);
	row = client_json(watch->client, "POST", buf_string(&path),
			  why != NULL ? json_pack("{s:s}", "why", why) : json_object(), err);
	buf_done(&path);
	if (row == NULL)
		return explain_key(watch, err);
	if (watch->options->is_json)
		safe_print_json(row);
	else
		(void)printf("%s %s\n", id, strcmp(what, "allow") == 0 ? "allowed" : "denied");
	return 0;
}

static int run(const struct cmd *cmd, const void *given, const struct operands *operands)
{
	const struct options *options = given;
	json_auto_t *answer = NULL;
	struct watch watch = {0};
	const json_t *held = NULL;
	struct err err = {0};
	int r = watch_open(&watch, &options->watch, &err);

	if (r == 0) {
		answer = client_json(watch.client, "GET", "/v1/approvals", NULL, &err);
		r = answer != NULL ? 0 : -err.num;
	}
	held = json_object_get(answer, "held");
	if (r == 0 && operands->count == 0 && options->watch.is_json)
		safe_print_json(answer);
	else if (r == 0 && operands->count == 0)
		print_held(held);
	for (size_t i = 0; r == 0 && i < operands->count; i++)
		r = decide(&watch, held, operands->items[i], cmd->name, options->why, &err);
	watch_close(&watch);
	return r < 0 ? cmd_fail(cmd, &err) : CMD_OK;
}

const struct cmd cmd_allow = {
	.name = "allow",
	.operands = "[RUN...]",
	.summary = "let held runs begin",
	.about =
		"Under a policy with `approve: true`, a run is held until a person allows it.\n"
		"Without RUN, lists the held runs. `viv logs` cannot show them yet; the page and\n"
		"GET /v1/approvals show them with all of their code.\n"
		"\n"
		"Root and the daemon's own user may decide on its unix socket, and so may a token\n"
		"with `oversee: true`. Where there are no tokens, so may whoever has the key from\n"
		"<state_dir>/approve.key in $VIVARIUM_APPROVE.",
	.examples = "  viv allow\n"
		    "  viv allow run_01J9",
	CMD_FLAGS(allow_flags),
	.options_size = sizeof(struct options),
	.run = run,
};

const struct cmd cmd_deny = {
	.name = "deny",
	.operands = "[RUN...]",
	.summary = "end held runs before they begin",
	.about = "The opposite of viv allow: the run never starts, its verdict is `denied`, and\n"
		 "whoever asked for it is told who denied it and why.",
	.examples = "  viv deny run_01J9 --why \"it would overwrite the report\"",
	CMD_FLAGS(deny_flags),
	.options_size = sizeof(struct options),
	.run = run,
};
