// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include <sys/mman.h>

#include "base/c.h"
#include "session/session_state.h"

#define PIPE_SIZE (1U << 20)

static void pipes_closed(struct branch_pipes *pipes)
{
	pipes->handles--;
	if (pipes->is_freed && pipes->handles == 0)
		free(pipes);
}

static void out_closed(uv_handle_t *handle)
{
	pipes_closed((struct branch_pipes *)(void *)((char *)handle -
						     offsetof(struct branch_pipes, out.poll)));
}

static void err_closed(uv_handle_t *handle)
{
	pipes_closed((struct branch_pipes *)(void *)((char *)handle -
						     offsetof(struct branch_pipes, err.poll)));
}

void session_free_pipes(struct session *session)
{
	struct branch_pipes *pipes = STEAL(session->pipes);

	if (pipes == NULL)
		return;
	pipes->is_freed = true;
	stream_close(&pipes->out, out_closed);
	stream_close(&pipes->err, err_closed);
	if (pipes->handles == 0)
		free(pipes);
}

static int open_pipe(struct branch_pipes *pipes, uv_loop_t *loop, int number, int *ret_end,
		     struct err *err)
{
	struct stream *stream = number == 1 ? &pipes->out : &pipes->err;
	AUTO_CLOSE int spool = memfd_create("spool", MFD_CLOEXEC);
	int pair[2];
	int r;

	if (spool < 0 || pipe2(pair, O_CLOEXEC) < 0)
		return err_sys(err, "pipe");
	(void)fcntl(pair[0], F_SETFL, O_NONBLOCK);
	(void)fcntl(pair[0], F_SETPIPE_SZ, PIPE_SIZE);
	*ret_end = pair[1];
	r = stream_open(stream, loop, &pair[0], &spool, number, NULL, NULL, err);
	if (r == 0)
		pipes->handles++;
	return r;
}

static struct branch_pipes *pipes_new(void)
{
	struct branch_pipes *pipes = xnew(struct branch_pipes);

	pipes->out.fd = pipes->err.fd = pipes->out.spool = pipes->err.spool = -1;
	return pipes;
}

/* Those that a former viv had made: out, err, and their spools. */
void session_adopt_pipes(struct session *session, int take_fds[4])
{
	struct branch_pipes *pipes = session->pipes = pipes_new();
	uv_loop_t *loop = session->table->settings.loop;
	struct err err = {0};

	if (stream_open(&pipes->out, loop, &take_fds[0], &take_fds[2], 1, NULL, NULL, &err) == 0)
		pipes->handles++;
	if (stream_open(&pipes->err, loop, &take_fds[1], &take_fds[3], 2, NULL, NULL, &err) == 0)
		pipes->handles++;
}

bool session_origin(const struct session *session, uint32_t i, const char **ret_session,
		    const char **ret_run)
{
	if (i >= session->origin_count)
		return false;
	*ret_session = session->origins[i].session;
	*ret_run = session->origins[i].run;
	return true;
}

void session_add_origin(struct session *branch, const char *session, const char *run)
{
	struct origin *origin = NULL;

	if (run[0] == '\0')
		return; /* nothing ran there */
	if (branch->origins == NULL) {
		branch->origins = calloc(SESSION_ORIGINS_MAX, sizeof(struct origin));
		if (branch->origins == NULL)
			abort();
	}
	/* A longer line forgets where it began. */
	if (branch->origin_count == SESSION_ORIGINS_MAX) {
		branch->origin_count--;
		memmove(branch->origins, branch->origins + 1,
			branch->origin_count * sizeof(struct origin));
	}
	origin = &branch->origins[branch->origin_count++];
	(void)snprintf(origin->session, ID_SIZE, "%s", session);
	(void)snprintf(origin->run, ID_SIZE, "%s", run);
}

static void copy_origins(struct session *branch, const struct session *session, const char *run)
{
	for (uint32_t i = 0; i < session->origin_count; i++)
		session_add_origin(branch, session->origins[i].session, session->origins[i].run);
	session_add_origin(branch, session->id, run);
}

static struct session *make_branch(struct session *session, const char *run)
{
	const struct session_ask ask = {
		.name = "", /* a name is for one */
		.token = session->token,
		.policy = session->policy,
		.kind = session->kind,
		.pin = session->pin,
		.idle_ms = session->idle_ms,
		.ttl_ms = session->ttl_ms,
		.is_transactional = session->is_transactional,
		.is_kept = session->is_kept,
	};
	struct session *branch = session_new(session->table, NULL);

	session_copy_ask(branch, &ask);
	copy_origins(branch, session, run);
	memcpy(branch->home, session->home, sizeof(branch->home));
	branch->sandbox = session->sandbox;
	branch->sandbox_id = session->sandbox_id;
	branch->sandbox->sessions++;
	branch->pipes = pipes_new();
	branch->state = SESSION_STARTING;
	return branch;
}

static void branch_ready(void *user, struct head *head)
{
	struct session *branch = user;

	head->calls = &session_head_calls;
	branch->head = STEAL(branch->coming);
	branch->state = SESSION_IDLE;
	session_changed(branch);
	if (branch->is_transactional) {
		id_new("cp_", branch->next);
		branch->needs_checkpoint = true;
	}
	session_record(branch);
	session_open_log(branch);
	session_tell(branch, "created", "");
	session_kick(branch);
	if (branch->created != NULL)
		STEAL(branch->created)(branch->create_user, branch, NULL);
}

static void branch_failed(void *user, struct head *head, const struct err *why)
{
	struct session *branch = user;
	struct err copy = *why;

	branch->coming = NULL;
	head_free(head);
	if (branch->created != NULL)
		STEAL(branch->created)(branch->create_user, NULL, &copy);
	session_close(branch);
}

static void branch_exited(void *user, struct head *head, const struct box_exit *facts,
			  const struct err *why)
{
	(void)facts;
	branch_failed(user, head, why);
}

static const struct head_calls branch_calls = {
	.ready = branch_ready,
	.failed = branch_failed,
	.exited = branch_exited,
};

/* The branch is there, or is not to be: the session goes on. */
static void branch_made(void *user, struct session *branch, const struct err *why)
{
	struct session *session = user;
	struct job *job = session->now;

	session->branch = NULL;
	if (session->state != SESSION_FORKING)
		return;
	if (branch != NULL && job != NULL && job->forked != NULL) {
		job->forked(job->user, branch, NULL);
		job->forked = NULL;
	}
	session_settle(session, session->current, why);
}

/* The one that is being made will not be. */
void session_drop_branch(struct session *session)
{
	struct session *branch = STEAL(session->branch);

	if (branch == NULL)
		return;
	branch->created = NULL;
	session_close(branch);
}

void session_branch(struct session *session, const struct checkpoint *checkpoint)
{
	struct head *from = checkpoint != NULL ? checkpoint->head : session->head;
	struct session *branch =
		make_branch(session, checkpoint != NULL ? checkpoint->run : session->last_run);
	struct head_pipes pipes = {&branch->pipes->out, &branch->pipes->err};
	int ends[2] = {-1, -1};
	struct err err = {0};
	int r;

	session->state = SESSION_FORKING;
	session->branch = branch;
	branch->created = branch_made;
	branch->create_user = session;
	r = open_pipe(branch->pipes, session->table->settings.loop, 1, &ends[0], &err);
	if (r == 0)
		r = open_pipe(branch->pipes, session->table->settings.loop, 2, &ends[1], &err);
	if (r == 0)
		r = head_fork(from, false, &pipes, ends, &branch_calls, branch, &branch->coming,
			      &err);
	drop_fd(&ends[0]);
	drop_fd(&ends[1]);
	if (r == 0)
		(void)uv_timer_start(&session->guard, session_fork_late, SESSION_FORK_MS, 0);
	if (r < 0) {
		branch->created = NULL;
		session_close(branch);
		branch_made(session, NULL, &err);
	}
}
