// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <sys/ioctl.h>

#include "base/c.h"
#include "base/json.h"
#include "session/head.h"
#include "session/lent.h"
#include "session/run_state.h"

#define LATE_MS 2000U /* how long after launch's deadline our own timer ends a run */
#define STDIN_PIPE_SIZE (1U << 20)

void run_tell_started(struct run *run)
{
	struct buf members;

	if (!run->keep_events)
		return;
	buf_init(&members, 4096);
	if (buf_format(&members, ",\"run\":\"%s\",\"backend\":\"%s\",\"runtime\":", run->id,
		       run->backend) == 0 &&
	    json_put_text(&members, run->runtime) == 0)
		run_tell(run, "started", members.data, members.size);
	buf_done(&members);
	if (run->calls.begun != NULL)
		run->calls.begun(run->user, run);
}

void run_sit(struct run *run)
{
	struct sandbox *sandbox = run->head != NULL ? run->head->sandbox : run->sandbox;
	const struct backend_facts *facts = pool_facts(run->pool, sandbox->backend);

	run->backend = sandbox->backend->name;
	run->limits = facts != NULL ? facts->limits : BOX_LIMITS_MEASURED;
	run->hello = sandbox->hello;
	run->channel = run->head != NULL ? run->head->channel : &sandbox->channel;
	run->out = run->head != NULL ? run->head->pipes.out : &sandbox->out;
	run->err = run->head != NULL ? run->head->pipes.err : &sandbox->err;
}

void run_listen(struct run *run)
{
	static const struct channel_calls calls = {.frame = run_frame, .ended = run_channel_ended};
	static const struct channel_calls logged = {
		.frame = run_frame, .ended = run_channel_ended, .piece = run_piece};

	channel_listen(run->channel, run->log != NULL ? &logged : &calls, run);
	channel_resume(run->channel);
	if (run->out != NULL) {
		stream_listen(run->out, run_bytes_in, run);
		stream_listen(run->err, run_bytes_in, run);
	}
	(void)uv_timer_start(&run->timer, run_timer_due, (uint64_t)run->timeout_ms + LATE_MS, 0);
}

/* In a session the code gets a pipe of its own for stdin: the next run must not read what this one
 * left. */
static int make_stdin(struct run *run, int *ret_read, struct err *err)
{
	int pair[2];

	if (pipe2(pair, O_CLOEXEC) < 0)
		return err_sys(err, "pipe");
	(void)fcntl(pair[1], F_SETPIPE_SZ, STDIN_PIPE_SIZE);
	(void)fcntl(pair[1], F_SETFL, O_NONBLOCK);
	run->stdin_write = pair[1];
	*ret_read = pair[0];
	return 0;
}

static int send_to_head(struct run *run, struct err *err)
{
	int fds[2] = {-1, -1};
	int r = payload_lend(&run->payload, &fds[0], err);
	size_t count = fds[0] >= 0 ? 1 : 0;

	if (r == 0 && run->is_pipe_stdin)
		r = make_stdin(run, &fds[count++], err);
	if (r == 0 && run->is_pipe_stdin)
		r = sandbox_keep_stdin(run->head->sandbox, run->stdin_write, err);
	head_mark(run->head);
	if (r == 0)
		r = channel_send_fds(run->channel, &run->payload.frame, fds, count, err);
	drop_fd(&fds[0]);
	drop_fd(&fds[1]);
	if (r == 0)
		r = head_begin(run->head, run->timeout_ms, err);
	head_count(run->head);
	return r;
}

static int send_code(struct run *run, struct err *err)
{
	int lent = -1;
	int r;

	if (run->host != NULL)
		return send_to_head(run, err);
	/* The code first: the sandbox is awake while we still tell launch. */
	box_mark(run->sandbox->box, run->sandbox->channel.sender, &run->mark);
	r = payload_lend(&run->payload, &lent, err);
	if (r == 0)
		r = channel_send(run->channel, &run->payload.frame, &lent, err);
	if (r == 0)
		r = sandbox_begin(run->sandbox, run->timeout_ms, err);
	if (run->is_pipe_stdin)
		run->stdin_write = steal_fd(&run->sandbox->in);
	if (r < 0 || !run->is_live) {
		drop_fd(&run->sandbox->in);
		return r;
	}
	r = feed_open(&run->feed, pool_loop(run->pool), run->stdin_fd, &run->sandbox->in,
		      run_feed_closed, run, err);
	if (r == 0)
		run->handles++;
	return r;
}

void run_go(struct run *run)
{
	struct err err = {0};
	int r = 0;

	if (run->elsewhere != NULL) {
		run_job_go(run);
		return;
	}
	/* Cancelled while it waited: the timer that ends it is due, and must stay so. */
	if (run->channel == NULL || run->guard != NULL || run->facts.is_cancelled)
		return;
	run->state = RUN_RUNNING;
	run->begun_ns = now_ns();
	run->frame_mark = run->channel->counter;
	if (run->out != NULL) {
		stream_drain(run->out);
		stream_drain(run->err);
		stream_rewind(run->out);
		stream_rewind(run->err);
	}
	run_listen(run);
	run_tell_started(run);
	run_note(run, NULL, 0);
	if (run->log != NULL && run->host == NULL) {
		/* What launch holds of a stdin that nobody writes to would keep it open. */
		if (!run->is_pipe_stdin)
			drop_fd(&run->sandbox->in);
		r = sandbox_keep(run->sandbox, run->id, &err);
	}
	if (r < 0 || send_code(run, &err) < 0) {
		run->facts.why = err;
		run_stop(run);
	}
}

void run_begin(struct run *run, struct head *head)
{
	run->head = head;
	run_sit(run);
	run_go(run);
}

int run_stdin_write(struct run *run, const void *bytes, size_t size, bool is_end, struct err *err)
{
	int waiting = 0;
	int room;

	if (run->stdin_write < 0)
		return err_set(err, ERR_CONFLICT, EPIPE,
			       run->state == RUN_QUEUED ? "the run has not begun yet"
							: "the run reads no live stdin");
	/* Not every pipe is as large as was asked for: a user's share of them is limited. */
	room = fcntl(run->stdin_write, F_GETPIPE_SZ);
	if (room < 0 || ioctl(run->stdin_write, FIONREAD, &waiting) < 0)
		return err_sys(err, "look at stdin");
	/* Half, since pages that are partly read are still taken; an empty one takes its fill. */
	if (size > 0 && (size_t)waiting + size > (size_t)(waiting > 0 ? room / 2 : room))
		return err_set(err, ERR_BUSY, EAGAIN, "the code has not read what was sent before");
	if (size > 0 && write(run->stdin_write, bytes, size) != (ssize_t)size)
		return err_set(err, ERR_CONFLICT, EPIPE, "the code reads no more");
	if (!is_end)
		return 0;
	lent_stdin_end(&run->stdin_write, &run->stdin_read);
	/* Launch has a copy: the end is there when that is gone, too. */
	return sandbox_keep_stdin(run->host == NULL ? run->sandbox : run->head->sandbox, -1, err);
}

void run_tell_stdin(struct run *run, const void *bytes, size_t size)
{
	struct buf members;

	if (size == 0 || size > RUN_ECHO_MAX - run->echoed)
		return;
	run->echoed += size;
	buf_init(&members, RUN_KEPT_MAX);
	if (buf_text(&members, ",\"text\":") == 0 && json_put_string(&members, bytes, size) == 0)
		run_tell(run, "stdin", members.data, members.size);
	buf_done(&members);
}
