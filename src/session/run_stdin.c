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

#define PIPE_SIZE (1U << 20)

static bool is_pipe(const struct run *run)
{
	return run->terms.stdin_kind == RUN_STDIN_PIPE;
}

/* In a session each run gets its own pipe: the next run must not read what this one left. */
int run_stdin_lend(struct run *run, int *ret_read, struct err *err)
{
	int pair[2];

	*ret_read = -1;
	if (!is_pipe(run))
		return 0;
	if (pipe2(pair, O_CLOEXEC) < 0)
		return err_sys(err, "pipe");
	(void)fcntl(pair[1], F_SETPIPE_SZ, PIPE_SIZE);
	(void)fcntl(pair[1], F_SETFL, O_NONBLOCK);
	run->input.write = pair[1];
	*ret_read = pair[0];
	return sandbox_keep_stdin(run->place.sandbox, run->input.write, err);
}

int run_stdin_feed(struct run *run, struct err *err)
{
	int *in = &run->place.sandbox->in;
	int r;

	if (is_pipe(run))
		run->input.write = steal_fd(in);
	if (run->terms.stdin_kind != RUN_STDIN_LIVE) {
		drop_fd(in);
		return 0;
	}
	r = feed_open(&run->input.feed, pool_loop(run->pool), run->input.fd, in, run_handle_closed,
		      run, err);
	if (r == 0)
		run->handles++;
	return r;
}

void run_stdin_resume(struct run *run)
{
	int *in = &run->place.sandbox->in;

	if (is_pipe(run) && run->place.host == NULL)
		run->input.write = steal_fd(in);
	else if (is_pipe(run) && *in >= 0)
		run->input.write = fcntl(*in, F_DUPFD_CLOEXEC, 0);
}

void run_stdin_end(struct run *run)
{
	struct sandbox *sandbox = run->place.head != NULL ? run->place.sandbox : NULL;
	struct err err = {0};

	feed_close(&run->input.feed);
	lent_stdin_back(sandbox, &run->input.write, &run->input.read);
	if (sandbox != NULL && is_pipe(run) && !sandbox->is_ending)
		(void)sandbox_keep_stdin(sandbox, -1, &err);
}

int run_stdin_write(struct run *run, const void *bytes, size_t size, bool is_end, struct err *err)
{
	struct run_input *input = &run->input;
	int waiting = 0;
	int room;

	if (input->write < 0)
		return err_set(err, ERR_CONFLICT, EPIPE,
			       run->state < RUN_RUNNING ? "the run has not begun yet"
							: "the run reads no live stdin");
	/* A pipe may be smaller than requested: the kernel limits a user's total
	 * (fs.pipe-user-pages-soft). */
	room = fcntl(input->write, F_GETPIPE_SZ);
	if (room < 0 || ioctl(input->write, FIONREAD, &waiting) < 0)
		return err_sys(err, "look at stdin");
	/* Fill a pipe only by half, since partly read pages still take room; an empty pipe can be
	 * filled. */
	if (size > 0 && (size_t)waiting + size > (size_t)(waiting > 0 ? room / 2 : room))
		return err_set(err, ERR_BUSY, EAGAIN, "the code has not read what was sent before");
	if (size > 0 && write(input->write, bytes, size) != (ssize_t)size)
		return err_set(err, ERR_CONFLICT, EPIPE, "the code has closed its stdin");
	if (!is_end)
		return 0;
	lent_stdin_end(&input->write, &input->read);
	/* The backend has a copy: the code reads end of file only when that is closed as well. */
	return sandbox_keep_stdin(run->place.sandbox, -1, err);
}

void run_tell_stdin(struct run *run, const void *bytes, size_t size)
{
	struct buf members;

	if (size == 0 || size > RUN_ECHO_MAX - run->input.echoed)
		return;
	run->input.echoed += size;
	buf_init(&members, RUN_KEPT_MAX);
	if (buf_text(&members, ",\"text\":") == 0 && json_put_string(&members, bytes, size) == 0)
		run_tell(run, "stdin", members.data, members.size);
	buf_done(&members);
}
