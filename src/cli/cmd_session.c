// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "base/c.h"
#include "cli/cmd.h"
#include "cli/session.h"
#include "op/op.h"

/* Arguments: the subcommands that take the flag, the field, then the others of FLAG_ROW. */
#define OPTION(verbs, ...) FLAG_ROW_FOR(verbs, struct session_options, __VA_ARGS__)

static const struct flag flags[] = {
	FLAG_ROWS_PARAMS("run", struct session_options, run.given, run_params, RUN_PARAMS_SESSION),
	OPTION("run", run.data, "data", 0, FLAG_TEXT, "FILE.json", RUN_DATA_HELP),
	OPTION("run", run.wants_stdin, "stdin", 0, FLAG_SWITCH, NULL,
	       "give the code viv's own stdin; without it input() fails"),
	OPTION("new, import", name, "name", 0, FLAG_TEXT, "NAME", "a name for people"),
	OPTION("new, import, restart", policy, "policy", 0, FLAG_TEXT, "NAME",
	       "limits, guard and mounts to run under (default: default)"),
	OPTION("new, import, restart", runtime, "runtime", 0, FLAG_TEXT, "NAME",
	       "Python environment (default: auto, base where there is one)"),
	OPTION("new", backend, "backend", 0, FLAG_TEXT, "NAME",
	       "way to build the sandbox (default: auto, the strongest available)"),
	OPTION("new", idle, "idle", 0, FLAG_TEXT, "30m",
	       "end it when nobody has used it for this long"),
	OPTION("new", ttl, "ttl", 0, FLAG_TEXT, "12h", "end it this long after it was made"),
	OPTION("new", is_plain, "plain", 0, FLAG_SWITCH, NULL,
	       "not transactional: a crash also loses the variables"),
	OPTION("new", is_kept, "keep", 0, FLAG_SWITCH, NULL,
	       "write its states to disk; it sleeps instead of ending"),
	OPTION("run, repl", run.out, "out", 0, FLAG_TEXT, "DIR",
	       "write charts there; run: new and changed files, too"),
	OPTION("run, repl, vars, get, export, notebook", run.may_overwrite, "overwrite", 0,
	       FLAG_SWITCH, NULL, "replace regular files that are there already"),
	OPTION("files", is_recursive, "recursive", 'r', FLAG_SWITCH, NULL, "those in folders, too"),
	OPTION("vars", offset, "offset", 0, FLAG_COUNT, "N", "skip this many"),
	OPTION("vars", limit, "limit", 0, FLAG_COUNT, "N", "show at most this many"),
	OPTION("vars", sort, "sort", 0, FLAG_TEXT, "1:desc,i0",
	       "sort a table by columns, counted from 0; i0 is its index"),
	OPTION("vars", filter, "filter", 0, FLAG_TEXT, "JSON",
	       "rows for which a list of {\"column\",\"op\",\"value\"} holds"),
	OPTION("vars", search, "search", 0, FLAG_TEXT, "TEXT",
	       "rows with a cell that contains the text"),
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

static const struct session_verb verbs[] = {
	{{"new", "", "make a session; prints its id", 0, 0}, false, verb_new},
	{{"list", "", "list your sessions", 0, 0}, false, verb_list},
	{{"run", "ID [FILE|-]", "run Python in it, as `viv run` does", 1, 2}, true, verb_run_code},
	{{"repl", "ID", "type Python interactively", 1, 1}, true, verb_repl},
	{{"interrupt", "ID", "KeyboardInterrupt in its run; state stays", 1, 1},
	 true,
	 verb_interrupt_now},
	{{"checkpoint", "ID [NAME]", "keep the state as it is now", 1, 2},
	 true,
	 verb_checkpoint_make},
	{{"checkpoints", "ID", "the states it can go back to", 1, 1}, true, verb_checkpoints},
	{{"rollback", "ID CP", "go back to a checkpoint", 2, 2}, true, verb_rollback_to},
	{{"drop", "ID CP", "forget a checkpoint", 2, 2}, true, verb_drop},
	{{"wake", "ID", "wake a sleeping session; a run does so too", 1, 1}, true, verb_wake},
	{{"restart", "ID", "start anew, without variables; files stay only if it is kept", 1, 1},
	 true,
	 verb_restart},
	{{"keep", "ID [off]", "write its states to disk from now on, or stop that", 1, 2},
	 true,
	 verb_keep},
	{{"diff", "ID CP [CP]", "variables that changed since a checkpoint", 2, 3},
	 true,
	 verb_diff},
	{{"fork", "ID [N]", "make branches that continue from here", 1, 2}, true, verb_fork_off},
	{{"rm", "ID...", "end sessions", 1, 64}, false, verb_rm},
	{{"vars", "ID [NAME]", "its variables, or one of them: rows of a table, or its value", 1,
	  2},
	 true,
	 verb_vars},
	{{"files", "ID [PATH]", "files below /workspace", 1, 2}, true, verb_files},
	{{"put", "ID FILE [PATH]", "copy a file into /workspace", 2, 3}, true, verb_put_file},
	{{"get", "ID PATH [FILE]", "copy a file out of /workspace", 2, 3}, true, verb_get_file},
	{{"export", "ID FILE", "variables and files, for another day or machine", 2, 2},
	 true,
	 verb_export},
	{{"import", "FILE", "make a session from an export", 1, 1}, false, verb_import},
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
	.about =
		"A session keeps variables and files from run to run. ID is an id, the beginning\n"
		"of one, or a name.\n"
		"\n"
		"A run that times out, runs out of memory or crashes costs nothing but itself:\n"
		"the session keeps the variables from before that run, and a line says so. While\n"
		"a thread runs or a file is open for writing, say, a run leaves no checkpoint: a\n"
		"line says that, too, and a run that fails then undoes the runs since the last "
		"one.\n"
		"\n"
		"run --out takes at most 1000 files of a run; if files are missing, stderr says\n"
		"so, and the exit status is 125. get copies any file.\n"
		"\n"
		"The daemon is found through $VIVARIUM_URL (http://HOST:PORT or unix:/PATH), else\n"
		"through the config: its unix socket, then its first TCP address.",
	.examples = "  viv session new --name work\n"
		    "  viv session run work -c 'x = 6'\n"
		    "  viv session run work -c 'x * 7'\n"
		    "  viv session repl work",
	CMD_VERBS(verbs),
	CMD_FLAGS(flags),
	.options_size = sizeof(struct session_options),
	.run = run,
};
