// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/c.h"
#include "cli/run_body.h"
#include "cli/run_daemon.h"
#include "cli/run_remote.h"
#include "cli/session.h"

#define STATUS_SIGNALLED 128

/* A request can carry a table only as JSON. */
static int refuse_data(const struct session_desk *desk, const struct run_inputs *inputs,
		       struct err *err)
{
	static const char *const readers[][2] = {
		[RUN_DATA_CSV] = {"pandas.read_csv('", "')"},
		[RUN_DATA_TSV] = {"pandas.read_csv('", "', sep='\\t')"},
		[RUN_DATA_PARQUET] = {"pandas.read_parquet('", "')"},
		[RUN_DATA_SQLITE] = {"sqlite3.connect('", "')"},
	};
	const char *const *reader = readers[inputs->op.data_format];
	const char *path = inputs->data_path != NULL ? inputs->data_path : desk->options->run.data;
	const char *slash = strrchr(path, '/');

	return err_set(err, ERR_BAD_REQUEST, EINVAL,
		       "--data: a session takes .json only; copy the file into it with `viv "
		       "session put %s %s`, and read it there: %s%s%s",
		       desk->id, path, reader[0], slash != NULL ? slash + 1 : path, reader[1]);
}

static int run_inputs_there(const struct session_desk *desk, const struct run_inputs *inputs,
			    struct show *show, struct err *err)
{
	AUTO_CLOSE int body = -1;
	struct run_lines lines;
	struct buf path;
	struct run_remote remote = {
		.client = desk->client,
		.lines = &lines,
		.session = desk->id,
		.signals = show->signals,
		.input = inputs->op.stdin_kind == RUN_STDIN_LIVE ? STDIN_FILENO : -1,
	};
	int signal = 0;
	int r;

	if (inputs->op.data_format != RUN_DATA_NONE && inputs->op.data_format != RUN_DATA_JSON)
		return refuse_data(desk, inputs, err);
	if (!run_body_is_possible(inputs))
		return err_set(err, ERR_UNSUPPORTED, ENOTSUP,
			       "a request carries only UTF-8 code and JSON data, 224 MiB in all; "
			       "`viv session put` copies files of any size");
	r = run_body_make(inputs, true, &body, err);
	if (r < 0)
		return r;
	session_path(desk, &path, "/run");
	run_lines_init(&lines, show);
	remote.body = body;
	remote.path = buf_string(&path);
	r = run_remote(&remote, &signal, err);
	if (r < 0)
		run_inputs_blame(inputs, err);
	if (r == 0) {
		r = run_daemon_end(desk->client, &lines, 0, err);
		if (show->mode == SHOW_PLAIN)
			run_lines_tell_state(&lines);
	}
	if (r == -ECANCELED && signal != 0)
		r = STATUS_SIGNALLED + signal;
	run_lines_done(&lines);
	buf_done(&path);
	return r;
}

int verb_run_code(const struct session_desk *desk, struct err *err)
{
	const struct run_options *options = &desk->options->run;
	const struct operands words = {.count = desk->rest_count,
				       .items = (char **)(uintptr_t)desk->rest};
	struct run_inputs *inputs = xnew(struct run_inputs);
	AUTO_CLOSE int signals = -1;
	struct show show;
	int r = run_remote_signals(&signals, err);

	show_init(&show,
		  options->is_events ? SHOW_EVENTS
		  : options->is_json ? SHOW_JSON
				     : SHOW_PLAIN,
		  signals);
	show.says = "viv session: ";
	show.session = desk->id;
	show.data = options->data;
	if (r == 0)
		r = run_inputs_read(options, &words, inputs, err);
	if (r == 0 && options->out == NULL && options->may_overwrite)
		r = err_set(err, ERR_BAD_REQUEST, EINVAL, "--overwrite: there is no --out DIR");
	if (r == 0 && options->out != NULL)
		r = show_open_out(&show, options->out, options->may_overwrite, err);
	if (r == 0)
		r = run_inputs_there(desk, inputs, &show, err);
	if (r < 0)
		show_refusal(&show, err);
	run_inputs_done(inputs);
	free(inputs);
	show_done(&show);
	return r;
}
