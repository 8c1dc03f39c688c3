// SPDX-License-Identifier: Apache-2.0
/*
 * This backend has no walls: a shell command runs as this very user, with this user's files. That
 * is why it serves only explore, never Python, and only where the config says "development".
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "base/c.h"

#define SHELL "/bin/bash"
#define PIECE_SIZE 65536U
#define AFTER_MS 200U /* how long pipes may stay open when the shell has ended */

enum pipe_end {
	PIPE_OUT,
	PIPE_ERR,
	PIPE_COUNT,
};

struct backend_job {
	const struct backend_job_calls *calls; /* borrowed */
	void *user;                            /* borrowed */
	uv_process_t process;
	uv_pipe_t pipes[PIPE_COUNT];
	uv_timer_t timer;
	int handles;
	int open_pipes;
	int64_t status;
	int signal;
	bool has_exited, is_late, is_over;
	char piece[PIECE_SIZE];
};

static void handle_closed(uv_handle_t *handle)
{
	struct backend_job *job = handle->data;

	if (--job->handles == 0)
		free(job);
}

static void close_handle(uv_handle_t *handle)
{
	if (!uv_is_closing(handle))
		uv_close(handle, handle_closed);
}

/* Kills everything that the command started and that has not left its process group. */
static void kill_group(const struct backend_job *job)
{
	if (job->process.pid > 0)
		(void)kill(-job->process.pid, SIGKILL);
}

static void close_all(struct backend_job *job)
{
	job->is_over = true;
	kill_group(job);
	close_handle((uv_handle_t *)&job->timer);
	for (size_t i = 0; i < PIPE_COUNT; i++)
		close_handle((uv_handle_t *)&job->pipes[i]);
	/* The loop reaps the shell itself. */
	if (job->has_exited)
		close_handle((uv_handle_t *)&job->process);
}

static void finish(struct backend_job *job)
{
	const char *kind = "ok";
	int code = (int)job->status;
	char end[120];

	if (job->is_over)
		return;
	if (job->is_late) {
		kind = "timeout";
		code = 124;
	} else if (job->signal != 0) {
		kind = "killed";
		code = 128 + job->signal;
	} else if (code != 0) {
		kind = "exit";
	}
	(void)snprintf(end, sizeof(end),
		       "{\"verdict\":{\"kind\":\"%s\",\"exit_code\":%d,\"signal\":%d}}", kind, code,
		       job->is_late ? 0 : job->signal);
	close_all(job);
	job->calls->ended(job->user, end, strlen(end), NULL);
}

static void finish_if_all(struct backend_job *job)
{
	if (job->has_exited && job->open_pipes == 0)
		finish(job);
}

static void timer_due(uv_timer_t *timer)
{
	struct backend_job *job = timer->data;

	if (job->has_exited) {
		finish(job);
		return;
	}
	job->is_late = true;
	kill_group(job);
}

static void has_exited(uv_process_t *process, int64_t status, int number)
{
	struct backend_job *job = process->data;

	job->has_exited = true;
	job->status = status;
	job->signal = number;
	if (job->is_over) {
		close_handle((uv_handle_t *)process);
		return;
	}
	kill_group(job);
	(void)uv_timer_start(&job->timer, timer_due, AFTER_MS, 0);
	finish_if_all(job);
}

static void give_room(uv_handle_t *handle, size_t size, uv_buf_t *room)
{
	struct backend_job *job = handle->data;

	(void)size;
	*room = uv_buf_init(job->piece, sizeof(job->piece));
}

static void bytes_came(uv_stream_t *stream, ssize_t n, const uv_buf_t *bytes)
{
	struct backend_job *job = stream->data;

	if (job->is_over)
		return;
	if (n > 0) {
		job->calls->output(job->user,
				   stream == (uv_stream_t *)&job->pipes[PIPE_OUT] ? 1 : 2,
				   bytes->base, (size_t)n);
	} else if (n < 0) {
		(void)uv_read_stop(stream);
		job->open_pipes--;
		finish_if_all(job);
	}
}

static void cancel(struct backend_job *job)
{
	if (!job->is_over)
		close_all(job);
}

static int spawn(struct backend_job *job, uv_loop_t *loop, const char *folder, const char *command)
{
	char shell[] = SHELL;
	char flag[] = "-c";
	char path[] = "PATH=/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin";
	char language[] = "LANG=C.UTF-8";
	char home[] = "HOME=/nonexistent";
	char *text = strdup(command);
	char *argv[] = {shell, flag, text, NULL};
	char *env[] = {path, language, home, NULL};
	uv_stdio_container_t stdio[] = {
		{.flags = UV_IGNORE},
		{.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE,
		 .data.stream = (uv_stream_t *)&job->pipes[PIPE_OUT]},
		{.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE,
		 .data.stream = (uv_stream_t *)&job->pipes[PIPE_ERR]},
	};
	const uv_process_options_t options = {
		.file = SHELL,
		.args = argv,
		.env = env,
		.cwd = folder,
		.flags = UV_PROCESS_DETACHED, /* its own process group, so that it can be killed */
		.stdio = stdio,
		.stdio_count = ARRAY_LEN(stdio),
		.exit_cb = has_exited,
	};
	int r = text != NULL ? uv_spawn(loop, &job->process, &options) : -ENOMEM;

	free(text);
	return r;
}

static struct backend_job *job_new(uv_loop_t *loop, const struct backend_job_calls *calls,
				   void *user)
{
	struct backend_job *job = xnew(struct backend_job);

	job->calls = calls;
	job->user = user;
	(void)uv_timer_init(loop, &job->timer);
	for (size_t i = 0; i < PIPE_COUNT; i++) {
		(void)uv_pipe_init(loop, &job->pipes[i], 0);
		job->pipes[i].data = job;
	}
	job->timer.data = job->process.data = job;
	job->handles = 1 + PIPE_COUNT + 1;
	job->open_pipes = PIPE_COUNT;
	return job;
}

static int start(const struct backend_host *host, uv_loop_t *loop, const struct backend_ask *ask,
		 const struct backend_job_calls *calls, void *user, struct backend_job **ret_job,
		 struct err *err)
{
	struct backend_job *job = NULL;
	char folder[PATH_MAX];
	int r = snprintf(folder, sizeof(folder), "%s/%s", ask->folder, ask->cwd);

	(void)host;
	if (r < 0 || (size_t)r >= sizeof(folder))
		return err_field(err, ERR_BAD_REQUEST, ENAMETOOLONG, "cwd", "the path is too long");
	job = job_new(loop, calls, user);
	r = spawn(job, loop, folder, ask->command);
	if (r < 0) {
		/* uv_spawn has initialized the handle even though it failed. */
		job->has_exited = true;
		job->process.pid = 0;
		close_all(job);
		return err_set(err, ERR_INTERNAL, -r, "start " SHELL " in the folder: %s",
			       uv_strerror(r));
	}
	(void)uv_timer_start(&job->timer, timer_due, ask->timeout_ms, 0);
	for (size_t i = 0; i < PIPE_COUNT; i++)
		(void)uv_read_start((uv_stream_t *)&job->pipes[i], give_room, bytes_came);
	*ret_job = job;
	return 0;
}

static uint32_t patience_ms(const struct backend_host *host)
{
	(void)host;
	return 2000;
}

static int probe(const struct backend_host *host, struct err *err)
{
	if (host->config == NULL || !host->config->process_development)
		return err_set(err, ERR_UNSUPPORTED, EPERM,
			       "it has no walls, so it is off unless this is development");
	if (access(SHELL, X_OK) < 0)
		return err_set(err, ERR_UNSUPPORTED, ENOENT, "there is no " SHELL);
	return 0;
}

static const struct backend_jobs jobs = {
	.start = start,
	.cancel = cancel,
	.patience_ms = patience_ms,
};

const struct backend backend_process = {
	.name = "process",
	.priority = 0,
	.isolation = "none: development only",
	.uses = 1U << BACKEND_EXPLORE,
	.by_order = 1U << BACKEND_EXPLORE, /* `probe` asks for the operator's word */
	.not_for = "it has no walls, so it is for a look at a folder of this host alone, never for "
		   "Python",
	.remedy = "for development only: set backends.process.development: true",
	.probe = probe,
	.jobs = &jobs,
};
