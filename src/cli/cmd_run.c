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
	FLAG_ROWS_PARAMS(NULL, struct run_options, given, run_params, RUN_PARAMS),
	FLAG_ROW(struct run_options, data, "data", 0, FLAG_TEXT,
		 "FILE.{json,csv,tsv,parquet}|sqlite:FILE:QUERY", RUN_DATA_HELP),
	FLAG_ROW(struct run_options, wants_stdin, "stdin", 0, FLAG_SWITCH, NULL,
		 "give the code viv's own stdin; without it input() fails"),
	FLAG_ROW(struct run_options, out, "out", 0, FLAG_TEXT, "DIR",
		 "write charts and new or changed files there, replacing nothing"),
	FLAG_ROW(struct run_options, may_overwrite, "overwrite", 0, FLAG_SWITCH, NULL,
		 "with --out: replace regular files that are there already"),
	FLAG_ROW(struct run_options, is_json, "json", 0, FLAG_SWITCH, NULL,
		 "print one JSON object with everything, and nothing else"),
	FLAG_ROW(struct run_options, is_events, "events", 0, FLAG_SWITCH, NULL,
		 "print one JSON object per event, as they happen"),
	FLAG_ROW(struct run_options, no_daemon, "no-daemon", 0, FLAG_SWITCH, NULL,
		 "do the run here, even if a daemon runs"),
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

/* Returns 1 and the exit status if a daemon has done the run, 0 if the run was started here. */
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

	here.show.data = options->data;
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
		"Runs FILE (or stdin for -, or -c CODE) as a notebook cell in one fresh sandbox.\n"
		"Output passes through live; the value of the last expression is printed after\n"
		"it. Charts and files are listed on stderr, or written below --out.\n"
		"\n"
		"--out creates its folder if needed and replaces nothing: a file whose name is\n"
		"taken is not written, and stderr says so; the exit status stays the run's. If a\n"
		"file cannot be written (the disk is full, say), the exit status is 125. A\n"
		"daemon returns files of at most 8 MiB each and 32 MiB in all: the others are not\n"
		"written, stderr names them, and the exit status is 125. --no-daemon takes larger\n"
		"ones. No run gives back more than 1000 files: if it made more, stderr says so,\n"
		"and the exit status is 125.\n"
		"--overwrite replaces regular files, but not in the current folder, your home, or\n"
		"the folders above them. Names that begin with a dot, vivarium.yaml and HEAD are\n"
		"never written.\n"
		"\n"
		"--data FILE.parquet needs a runtime with pandas and pyarrow. `viv runtime add\n"
		"NAME --requirements FILE` makes one, and --runtime NAME selects it.\n"
		"\n"
		"The exit status is the code's own; 124 for a timeout, 137 for out of memory, 128\n"
		"plus the signal's number if a signal ended it (SIGKILL 137, SIGSEGV 139, SIGABRT\n"
		"134), 126 when the guard or the policy refuses, 125 when viv itself fails, 2 for\n"
		"bad usage.\n"
		"\n"
		"If a daemon runs (`viv serve`) and you may use its socket, the daemon does the\n"
		"run, in a warm sandbox. Otherwise viv does it itself and leaves nothing running.\n"
		"With --data that is not JSON, viv always does the run itself.",
	.examples = "  viv run -c 'print(6 * 7)'\n"
		    "  viv run report.py --data sales.csv --out results\n"
		    "  viv run - --json < script.py",
	CMD_FLAGS(flags),
	.options_size = sizeof(struct run_options),
	.run = run,
};
