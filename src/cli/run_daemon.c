// SPDX-License-Identifier: Apache-2.0
#include "cli/run_daemon.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "cli/client.h"
#include "cli/cmd.h"
#include "cli/run_body.h"
#include "cli/run_remote.h"

#define RESULT_MAX (512UL << 20)
#define STATUS_SIGNALLED 128

/* If the caller has a config file, only a daemon that uses the same file applies its limits. */
static bool is_of_config(struct client *client, const struct config *config)
{
	json_auto_t *status = NULL;
	AUTO_FREE char *own = NULL;
	const char *its = NULL;
	struct err err = {0};

	if (config->file[0] == '\0' || client_is_asked(client))
		return true;
	status = client_json(client, "GET", "/v1/status", NULL, &err);
	its = json_string_value(json_object_get(status, "config"));
	own = realpath(config->file, NULL);
	return its != NULL && own != NULL && strcmp(its, own) == 0;
}

/* True if the daemon could not be reached, or refused the request: then the run is done here. */
static bool is_no_way(const struct client *client, const struct run_lines *lines,
		      const struct err *err)
{
	return !client_is_asked(client) && lines->run[0] == '\0' &&
	       (err->num == ECONNREFUSED || err->kind == ERR_UNAUTHORIZED ||
		err->kind == ERR_TOO_LARGE);
}

static int print_result(struct client *client, struct run_lines *lines, struct err *err)
{
	struct buf answer;
	struct buf shown;
	char path[128];
	int r;

	(void)snprintf(path, sizeof(path), "/v1/runs/%s", lines->run);
	buf_init(&answer, 0);
	buf_init(&shown, RESULT_MAX);
	r = client_call(client, &(struct client_call){.method = "GET", .path = path}, &answer, err);
	while (r == 0 && answer.size > 0 && answer.data[answer.size - 1] == '\n')
		answer.size--;
	if (r == 0 && (run_lines_put_result(&shown, (const char *)answer.data, answer.size) < 0 ||
		       buf_text(&shown, "\n") < 0))
		r = err_set(err, ERR_INTERNAL, ENOMEM, "no memory for the result");
	if (r == 0)
		show_bytes(lines->show, shown.data, shown.size);
	buf_done(&answer);
	buf_done(&shown);
	return r;
}

int run_daemon_end(struct client *client, struct run_lines *lines, int signal, struct err *err)
{
	int status;
	int r = 0;

	if (lines->show->mode == SHOW_JSON)
		r = print_result(client, lines, err);
	if (r < 0)
		return r;
	status = show_end_facts(lines->show, &lines->facts);
	return signal == SIGINT ? STATUS_SIGNALLED + SIGINT : status;
}

static int run_there(struct client *client, const struct run_inputs *inputs, struct show *show,
		     int signals, int *ret_status, struct err *err)
{
	bool is_fed = inputs->op.stdin_kind == RUN_STDIN_LIVE;
	AUTO_CLOSE int body = -1;
	struct run_lines lines;
	struct run_remote remote = {
		.client = client,
		.lines = &lines,
		.path = "/v1/run?on_disconnect=cancel",
		.signals = signals,
		.input = is_fed ? inputs->op.stdin_fd : -1,
	};
	int signal = 0;
	int r = run_body_make(inputs, false, &body, err);

	if (r < 0)
		return r;
	run_lines_init(&lines, show);
	remote.body = body;
	r = run_remote(&remote, &signal, err);
	if (r < 0)
		run_inputs_blame(inputs, err);
	if (r == 0)
		r = run_daemon_end(client, &lines, signal, err);
	if (r >= 0) {
		*ret_status = r;
		r = 1;
	} else if (r == -ECANCELED && signal != 0) {
		*ret_status = STATUS_SIGNALLED + signal;
		r = 1;
	} else if (is_no_way(client, &lines, err)) {
		r = 0;
	}
	run_lines_done(&lines);
	return r;
}

int run_by_daemon(const struct config *config, const struct run_inputs *inputs, struct show *show,
		  int signals, int *ret_status, struct err *err)
{
	const struct client_where where = {.config = config, .is_local = true};
	struct client *client = NULL;
	struct err none = {0};
	int r = client_open(&where, &client, &none);

	if (r < 0 && none.kind == ERR_BAD_REQUEST) {
		*err = none; /* VIVARIUM_URL is malformed */
		return r;
	}
	if (r < 0)
		return 0;
	r = 0;
	if (run_body_is_possible(inputs) && is_of_config(client, config))
		r = run_there(client, inputs, show, signals, ret_status, err);
	client_close(client);
	return r;
}
