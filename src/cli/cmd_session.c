// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "base/c.h"
#include "cli/cmd.h"
#include "cli/session.h"
#include "op/op.h"

/* The subcommands that take the flag, the field, and what a flag is besides. */
#define OPTION(verbs, ...) FLAG_ROW_FOR(verbs, struct session_options, __VA_ARGS__)
#define OPTION_OP(verbs, ...) FLAG_ROW_OP_FOR(verbs, struct session_options, __VA_ARGS__)

static const struct flag flags[] = {
	OPTION_OP("run", run.code, "code", 'c', FLAG_TEXT, "CODE", op_run_params[OP_RUN_CODE]),
	OPTION_OP("run", run.command, "command", 0, FLAG_TEXT, "COMMAND",
		  op_run_params[OP_RUN_COMMAND]),
	OPTION("new, import", name, "name", 0, FLAG_TEXT, "NAME", "a name for people"),
	OPTION_OP("new, import, restart", run.policy, "policy", 0, FLAG_TEXT, "NAME",
		  op_run_params[OP_RUN_POLICY]),
	OPTION("new, import, restart", run.runtime, "runtime", 0, FLAG_TEXT, "NAME",
	       "Python environment (default: auto, base where there is one)"),
	OPTION_OP("new", run.backend, "backend", 0, FLAG_TEXT, "NAME",
		  op_run_params[OP_RUN_BACKEND]),
	OPTION("new", idle, "idle", 0, FLAG_TEXT, "30m",
	       "it ends when nothing ran in it for so long"),
	OPTION("new", ttl, "ttl", 0, FLAG_TEXT, "12h", "it ends so long after it was made"),
	OPTION("new", is_plain, "plain", 0, FLAG_SWITCH, NULL,
	       "not transactional; a run that crashes takes the variables with it"),
	OPTION("new", is_kept, "keep", 0, FLAG_SWITCH, NULL,
	       "its states are written to disk; it sleeps instead of ending"),
	OPTION_OP("run", run.timeout, "timeout", 0, FLAG_TEXT, "30s|1500ms",
		  op_run_params[OP_RUN_TIMEOUT]),
	OPTION_OP("run", run.args, "args", 0, FLAG_TEXT, "JSON|@FILE", op_run_params[OP_RUN_ARGS]),
	OPTION_OP("run", run.data, "data", 0, FLAG_TEXT, "FILE.json", op_run_params[OP_RUN_DATA]),
	OPTION_OP("run", run.files, "file", 0, FLAG_LIST, "HOST[:DEST]",
		  op_run_params[OP_RUN_FILES]),
	OPTION_OP("run", run.expect, "expect", 0, FLAG_LIST, "PATH", op_run_params[OP_RUN_EXPECT]),
	OPTION("run", run.wants_stdin, "stdin", 0, FLAG_SWITCH, NULL,
	       "give the code viv's own stdin; without it input() fails"),
	OPTION_OP("run", run.env, "env", 0, FLAG_LIST, "NAME=VALUE", op_run_params[OP_RUN_ENV]),
	OPTION("run, repl", run.out, "out", 0, FLAG_TEXT, "DIR",
	       "write charts there; run: new and changed files, too"),
	OPTION("run, repl, vars, get, export, notebook", run.may_overwrite, "overwrite", 0,
	       FLAG_SWITCH, NULL, "replace regular files that are there already"),
	OPTION("files", is_recursive, "recursive", 'r', FLAG_SWITCH, NULL, "those in folders, too"),
	OPTION("vars", offset, "offset", 0, FLAG_COUNT, "N", "skip so many"),
	OPTION("vars", limit, "limit", 0, FLAG_COUNT, "N", "show at most so many"),
	OPTION("vars", sort, "sort", 0, FLAG_TEXT, "1:desc,i0",
	       "sort a table by columns, counted from 0; i0 is its index"),
	OPTION("vars", filter, "filter", 0, FLAG_TEXT, "JSON",
	       "rows for which a list of {\"column\",\"op\",\"value\"} holds"),
	OPTION("vars", search, "search", 0, FLAG_TEXT, "TEXT", "rows in which a cell has the text"),
	OPTION("vars", csv, "csv", 0, FLAG_TEXT, "FILE", "write all of a table there; - is stdout"),
	OPTION(NULL, run.is_json, "json", 0, FLAG_SWITCH, NULL, "print one JSON object"),
	OPTION("run", run.is_events, "events", 0, FLAG_SWITCH, NULL,
	       "print one JSON object per event, as they happen"),
	OPTION(NULL, token_file, "token-file", 0, FLAG_TEXT, "FILE",
	       "token for the daemon (default: $VIVARIUM_TOKEN)"),
	OPTION(NULL, run.config, "config", 0, FLAG_TEXT, "FILE",
	       "vivarium.yaml that says where the daemon is"),
};
_Static_assert(sizeof(struct session_options) <= CMD_OPTIONS_MAX, "the options do not fit");
_Static_assert(ARRAY_LEN(flags) <= FLAG_ROWS_MAX, "more flags than operands.given has bits");

static const struct session_verb verbs[] = {
	{{"new", "", "make a session; prints its id", 0, 0}, false, verb_new},
	{{"list", "", "every session of yours", 0, 0}, false, verb_list},
	{{"run", "ID [FILE|-]", "run Python in it, as `viv run` does", 1, 2}, true, verb_run_code},
	{{"repl", "ID", "type Python, and see", 1, 1}, true, verb_repl},
	{{"interrupt", "ID", "KeyboardInterrupt in its run; state stays", 1, 1},
	 true,
	 verb_interrupt_now},
	{{"checkpoint", "ID [NAME]", "keep the state as it is now", 1, 2},
	 true,
	 verb_checkpoint_make},
	{{"checkpoints", "ID", "the states it can go back to", 1, 1}, true, verb_checkpoints},
	{{"rollback", "ID CP", "go back to a checkpoint", 2, 2}, true, verb_rollback_to},
	{{"wake", "ID", "wake one that sleeps; a run does, too", 1, 1}, true, verb_wake},
	{{"restart", "ID", "anew: the variables go; the files, too, unless it is kept", 1, 1},
	 true,
	 verb_restart},
	{{"keep", "ID [off]", "write its states to disk from now on, or no more", 1, 2},
	 true,
	 verb_keep},
	{{"diff", "ID CP [CP]", "names that changed since a checkpoint", 2, 3}, true, verb_diff},
	{{"fork", "ID [N]", "make branches that go on from here", 1, 2}, true, verb_fork_off},
	{{"rm", "ID...", "end sessions", 1, 64}, false, verb_rm},
	{{"vars", "ID [NAME]", "its variables, or rows of a table", 1, 2}, true, verb_vars},
	{{"files", "ID [PATH]", "files below /workspace", 1, 2}, true, verb_files},
	{{"put", "ID FILE [PATH]", "copy a file into /workspace", 2, 3}, true, verb_put_file},
	{{"get", "ID PATH [FILE]", "copy a file out of /workspace", 2, 3}, true, verb_get_file},
	{{"export", "ID FILE", "variables and files, for another day or machine", 2, 2},
	 true,
	 verb_export},
	{{"import", "FILE", "make a session of what was exported", 1, 1}, false, verb_import},
	{{"notebook", "ID [FILE]", "its runs as a Jupyter notebook", 1, 2}, true, verb_notebook},
};

static int serve_verb(const struct session_verb *verb, struct session_desk *desk,
		      const struct operands *words, struct err *err)
{
	size_t skipped = words->count > 0 ? 1 : 0;

	if (verb->has_id) {
		int r = session_resolve(desk->client, words->items[1], desk->id, err);

		if (r < 0)
			return r;
		skipped = 2;
	}
	desk->rest = words->items + skipped;
	desk->rest_count = words->count - skipped;
	return verb->run(desk, err);
}

static int work(const struct session_verb *verb, const struct session_options *options,
		const struct operands *operands, struct err *err)
{
	struct client_where where = {.token_file = options->token_file};
	struct session_desk desk = {.options = options};
	struct config *config = NULL;
	int r = config_load(options->run.config, &config, err);

	where.config = desk.config = config;
	if (r == 0)
		r = client_open(&where, &desk.client, err);
	if (r == 0)
		r = serve_verb(verb, &desk, operands, err);
	client_close(desk.client);
	config_free(config);
	if (r >= 0 && (fflush(stdout) != 0 || ferror(stdout)))
		r = err_set(err, ERR_INTERNAL, EIO, "cannot write to stdout");
	return r;
}

static int run(const struct cmd *cmd, const void *options, const struct operands *operands)
{
	struct err err = {0};
	ptrdiff_t verb = cmd_choose_verb(cmd, operands, &err);
	int r = verb < 0 ? (int)verb : work(&verbs[verb], options, operands, &err);

	return r < 0 ? cmd_fail(cmd, &err) : r;
}

const struct cmd cmd_session = {
	.name = "session",
	.operands = "SUBCOMMAND [ID] [OPERAND]...",
	.summary = "stateful work against a daemon",
	.about = "A session keeps variables and files from run to run. ID is an id, the beginning\n"
		 "of one, or a name.\n"
		 "\n"
		 "A run that times out, runs out of memory or crashes costs nothing but itself:\n"
		 "the session goes on with the variables of before, and a line says so.\n"
		 "\n"
		 "The daemon is found by $VIVARIUM_URL (http://HOST:PORT or unix:/PATH), else by\n"
		 "the config: its unix socket, then its first TCP address.",
	.examples = "  viv session new --name work\n"
		    "  viv session run work -c 'x = 6'\n"
		    "  viv session run work -c 'x * 7'\n"
		    "  viv session repl work",
	CMD_VERBS(verbs),
	CMD_FLAGS(flags),
	.options_size = sizeof(struct session_options),
	.run = run,
};
