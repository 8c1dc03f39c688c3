// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>

#include "base/c.h"
#include "cli/cmd.h"
#include "cli/here.h"
#include "cli/run_daemon.h"
#include "cli/run_inputs.h"
#include "op/op.h"
#include "policy/config.h"

static const struct flag flags[] = {
	FLAG_ROW_OP(struct run_options, code, "code", 'c', FLAG_TEXT, "CODE",
		    op_run_params[OP_RUN_CODE]),
	FLAG_ROW_OP(struct run_options, command, "command", 0, FLAG_TEXT, "COMMAND",
		    op_run_params[OP_RUN_COMMAND]),
	FLAG_ROW_OP(struct run_options, policy, "policy", 0, FLAG_TEXT, "NAME",
		    op_run_params[OP_RUN_POLICY]),
	FLAG_ROW_OP(struct run_options, runtime, "runtime", 0, FLAG_TEXT, "NAME",
		    op_run_params[OP_RUN_RUNTIME]),
	FLAG_ROW_OP(struct run_options, backend, "backend", 0, FLAG_TEXT, "NAME",
		    op_run_params[OP_RUN_BACKEND]),
	FLAG_ROW_OP(struct run_options, timeout, "timeout", 0, FLAG_TEXT, "30s|1500ms",
		    op_run_params[OP_RUN_TIMEOUT]),
	FLAG_ROW_OP(struct run_options, memory, "memory", 0, FLAG_TEXT, "512M",
		    op_run_params[OP_RUN_MEMORY]),
	FLAG_ROW_OP(struct run_options, cpus, "cpus", 0, FLAG_TEXT, "0.5",
		    op_run_params[OP_RUN_CPUS]),
	FLAG_ROW_OP(struct run_options, pids, "pids", 0, FLAG_TEXT, "64",
		    op_run_params[OP_RUN_PIDS]),
	FLAG_ROW_OP(struct run_options, args, "args", 0, FLAG_TEXT, "JSON|@FILE",
		    op_run_params[OP_RUN_ARGS]),
	FLAG_ROW_OP(struct run_options, data, "data", 0, FLAG_TEXT,
		    "FILE.{json,csv,tsv,parquet}|sqlite:FILE:QUERY", op_run_params[OP_RUN_DATA]),
	FLAG_ROW_OP(struct run_options, files, "file", 0, FLAG_LIST, "HOST[:DEST]",
		    op_run_params[OP_RUN_FILES]),
	FLAG_ROW_OP(struct run_options, expect, "expect", 0, FLAG_LIST, "PATH",
		    op_run_params[OP_RUN_EXPECT]),
	FLAG_ROW(struct run_options, wants_stdin, "stdin", 0, FLAG_SWITCH, NULL,
		 "give the code viv's own stdin; without it input() fails"),
	FLAG_ROW_OP(struct run_options, env, "env", 0, FLAG_LIST, "NAME=VALUE",
		    op_run_params[OP_RUN_ENV]),
	FLAG_ROW(struct run_options, out, "out", 0, FLAG_TEXT, "DIR",
		 "write charts and new or changed files there, replacing nothing"),
	FLAG_ROW(struct run_options, may_overwrite, "overwrite", 0, FLAG_SWITCH, NULL,
		 "with --out: replace regular files that are there already"),
	FLAG_ROW(struct run_options, is_json, "json", 0, FLAG_SWITCH, NULL,
		 "print one JSON object with everything, and nothing else"),
	FLAG_ROW(struct run_options, is_events, "events", 0, FLAG_SWITCH, NULL,
		 "print one JSON object per event, as they happen"),
	FLAG_ROW(struct run_options, no_daemon, "no-daemon", 0, FLAG_SWITCH, NULL,
		 "do the work here, also where a daemon runs"),
	FLAG_ROW(struct run_options, config, "config", 0, FLAG_TEXT, "FILE",
		 "vivarium.yaml to use"),
};
_Static_assert(sizeof(struct run_options) <= CMD_OPTIONS_MAX, "the options do not fit");

static int start_here(struct here *here, const struct run_inputs *inputs, struct err *err)
{
	int r = here_open(here, true, err);

	return r < 0 ? r
		     : op_run_start(here->config, here->pool, &inputs->op, &show_calls, &here->show,
				    &here->run, err);
}

/* Returns 1 and the exit status when a daemon has done it all, 0 when the run is on its way. */
static int start(struct here *here, const struct run_options *options,
		 const struct operands *operands, int *ret_status, struct err *err)
{
	struct run_inputs *inputs = xnew(struct run_inputs);
	int r = run_inputs_read(options, operands, inputs, err);

	if (r == 0 && options->out == NULL && options->may_overwrite)
		r = err_set(err, ERR_BAD_REQUEST, EINVAL, "--overwrite: there is no --out DIR");
	if (r == 0 && options->out != NULL)
		r = show_open_out(&here->show, options->out, options->may_overwrite, err);
	if (r == 0)
		r = config_load(options->config, &here->config, err);
	if (r == 0 && !options->no_daemon)
		r = run_by_daemon(here->config, inputs, &here->show, here->signals, ret_status,
				  err);
	if (r == 0)
		r = start_here(here, inputs, err);
	run_inputs_done(inputs);
	free(inputs);
	return r;
}

static int run(const struct cmd *cmd, const void *raw_options, const struct operands *operands)
{
	const struct run_options *options = raw_options;
	struct here here = {0};
	struct err err = {0};
	int status = CMD_INTERNAL;
	int r = here_init(&here,
			  options->is_events ? SHOW_EVENTS
			  : options->is_json ? SHOW_JSON
					     : SHOW_PLAIN,
			  &err);

	if (r == 0)
		r = start(&here, options, operands, &status, &err);
	if (r < 0) {
		show_refusal(&here.show, &err);
		status = cmd_fail(cmd, &err);
	} else if (r == 0) {
		show_follow(&here.show, here.run);
		here_wait(&here);
		status = show_end(&here.show, here.run);
	}
	here_close(&here);
	return status;
}

const struct cmd cmd_run = {
	.name = "run",
	.operands = "[FILE|-]",
	.summary = "run Python in one fresh sandbox",
	.about =
		"Runs FILE (or stdin for -, or -c CODE) as a notebook cell in one fresh\n"
		"sandbox. What it prints passes through live; the value of its last expression\n"
		"is printed behind that. Charts and files are named on stderr, or written below\n"
		"--out.\n"
		"\n"
		"--out makes the folder where there is none. What is there already is kept: a\n"
		"file whose name is taken is not written, and stderr says so; the exit status is\n"
		"the run's all the same. --overwrite replaces regular files; it is refused for\n"
		"the current folder, your home, and the folders above them. Never written: names\n"
		"that begin with a dot, vivarium.yaml, HEAD.\n"
		"\n"
		"The exit status is the code's own; 124 for a timeout, 137 for out of memory, 128\n"
		"and the signal's number for killed (SIGKILL 137, SIGSEGV 139, SIGABRT 134), 126\n"
		"when guard or policy refuse, 125 when viv itself fails, 2 for bad usage.\n"
		"\n"
		"Where a daemon runs (`viv serve`) and its socket is for you, the daemon does the\n"
		"work, warm; else it is done here, and nothing is left running.",
	.examples = "  viv run -c 'print(6 * 7)'\n"
		    "  viv run report.py --data sales.csv --out results\n"
		    "  viv run - --json < script.py",
	CMD_FLAGS(flags),
	.options_size = sizeof(struct run_options),
	.run = run,
};
