// SPDX-License-Identifier: Apache-2.0
#include "session/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/socket.h>

#include "base/c.h"
#include "session/head.h"

#define PIPE_SIZE (1U << 20) /* what an ordinary user may have; a burst then never waits */

static void free_when_done(struct sandbox *sandbox)
{
	if (sandbox->state != SANDBOX_OVER || !sandbox->is_gone || sandbox->handles > 0)
		return;
	meter_done(&sandbox->meter); /* it may have come after the end */
	free(sandbox);
}

static void handle_closed(struct sandbox *sandbox)
{
	sandbox->handles--;
	free_when_done(sandbox);
}

#define SANDBOX_OF(pointer, member)                                                                \
	((struct sandbox *)(void *)((char *)(pointer)-offsetof(struct sandbox, member)))

static void channel_closed(uv_handle_t *handle)
{
	handle_closed(SANDBOX_OF(handle, channel.poll));
}

static void out_closed(uv_handle_t *handle)
{
	handle_closed(SANDBOX_OF(handle, out.poll));
}

static void err_closed(uv_handle_t *handle)
{
	handle_closed(SANDBOX_OF(handle, err.poll));
}

static void closer_closed(uv_handle_t *handle)
{
	handle_closed(SANDBOX_OF(handle, closer));
}

static void close_handles(struct sandbox *sandbox)
{
	uv_close((uv_handle_t *)&sandbox->closer, closer_closed);
	channel_close(&sandbox->channel, channel_closed);
	stream_close(&sandbox->out, out_closed);
	stream_close(&sandbox->err, err_closed);
	drop_fd(&sandbox->in);
}

static void close_due(uv_timer_t *timer)
{
	close_handles(SANDBOX_OF(timer, closer));
}

static void fail(struct sandbox *sandbox, const struct err *why)
{
	struct err full = *why;

	if (sandbox->state != SANDBOX_COMING && sandbox->state != SANDBOX_READY)
		return;

	/* An interpreter that cannot start says why on its stderr; that is the best reason. */
	stream_drain(&sandbox->err);
	if (sandbox->startup_size > 0)
		(void)err_set(&full, why->kind, why->num > 0 ? why->num : EIO, "%s; it said: %.*s",
			      why->text, (int)sandbox->startup_size, sandbox->startup);
	sandbox->calls->failed(sandbox->user, sandbox, &full);
}

static int check_hello(struct sandbox *sandbox, const struct frame *frame, struct err *err)
{
	const struct launch_hello *host = launcher_hello(sandbox->launcher);
	uint32_t all = WALLS_ALL;
	struct frame_hello hello;

	/* The one graded wall: where limits are measured (and the plan accepts that) it is told as
	 * absent. */
	if (host != NULL && host->limits == LAUNCH_LIMITS_MEASURED)
		all &= ~(1U << WALL_CGROUP);
	if (frame->header.type != FRAME_HELLO || frame->header.size != sizeof(hello))
		return err_set(err, ERR_INTERNAL, EPROTO, "a sandbox spoke before its HELLO");

	memcpy(&hello, frame->payload, sizeof(hello));
	if (hello.version != FRAME_VERSION)
		return err_set(err, ERR_INTERNAL, EPROTO, "the runner speaks version %u, viv %u",
			       hello.version, FRAME_VERSION);
	/* Closed, or nothing: one wall that does not stand, and nothing runs here. */
	if (hello.walls != all || hello.shown < sandbox->shown)
		return err_set(err, ERR_INTERNAL, EPERM,
			       "a sandbox came up without all its walls (%#x of %#x, filter %u of "
			       "%u); see `viv doctor`",
			       hello.walls, all, hello.shown, sandbox->shown);
	sandbox->hello = hello;
	return 0;
}

static void early_frame(void *user, const struct frame *frame)
{
	struct sandbox *sandbox = user;
	struct err why = {0};

	if (sandbox->state != SANDBOX_COMING)
		(void)err_set(&why, ERR_INTERNAL, EPROTO, "a sandbox spoke before its run");
	else if (check_hello(sandbox, frame, &why) == 0) {
		sandbox->state = SANDBOX_READY;
		sandbox->calls->ready(sandbox->user, sandbox);
		return;
	}
	fail(sandbox, &why);
}

static void early_end(void *user, const struct err *why)
{
	struct err ended = *why;

	if (ended.kind == ERR_NONE)
		(void)err_set(&ended, ERR_INTERNAL, EPIPE, "the interpreter closed its channel");
	fail(user, &ended);
}

static void early_bytes(void *user, int number, const uint8_t *data, size_t size)
{
	struct sandbox *sandbox = user;
	size_t room = sizeof(sandbox->startup) - sandbox->startup_size;

	(void)number;
	if (size > room)
		size = room;
	memcpy(sandbox->startup + sandbox->startup_size, data, size);
	sandbox->startup_size += size;
}

static const struct channel_calls early_calls = {.frame = early_frame, .ended = early_end};

/* Our ends in `ours`, the sandbox's in `theirs`. What was opened is open even on failure. */
static int make_descriptors(int ours[BACKEND_FD_COUNT], int theirs[BACKEND_FD_COUNT],
			    struct err *err)
{
	int pair[2];

	for (int i = BACKEND_STDIN; i <= BACKEND_STDERR; i++) {
		bool is_input = i == BACKEND_STDIN;

		if (pipe2(pair, O_CLOEXEC) < 0)
			return err_sys(err, "pipe");
		ours[i] = pair[is_input ? 1 : 0];
		theirs[i] = pair[is_input ? 0 : 1];
		/* Only ours: O_NONBLOCK belongs to the open file, and each end is its own. */
		if (fcntl(ours[i], F_SETFL, O_NONBLOCK) < 0)
			return err_sys(err, "non-blocking pipe");
		if (!is_input)
			(void)fcntl(ours[i], F_SETPIPE_SZ, PIPE_SIZE);
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, "socketpair");
	ours[BACKEND_CHANNEL] = pair[0];
	theirs[BACKEND_CHANNEL] = pair[1];
	return 0;
}

static int open_handles(struct sandbox *sandbox, uv_loop_t *loop, int take_fds[SANDBOX_KEPT_COUNT],
			struct err *err)
{
	int r = channel_open(&sandbox->channel, loop, &take_fds[SANDBOX_KEPT_CHANNEL], &early_calls,
			     sandbox, err);

	if (r < 0)
		return r;
	sandbox->handles++;
	r = channel_want_sender(&sandbox->channel, err);
	if (r < 0)
		return r;

	r = stream_open(&sandbox->out, loop, &take_fds[SANDBOX_KEPT_OUT],
			&take_fds[SANDBOX_KEPT_OUT_SPOOL], 1, early_bytes, sandbox, err);
	if (r < 0)
		return r;
	sandbox->handles++;

	r = stream_open(&sandbox->err, loop, &take_fds[SANDBOX_KEPT_ERR],
			&take_fds[SANDBOX_KEPT_ERR_SPOOL], 2, early_bytes, sandbox, err);
	if (r < 0)
		return r;
	sandbox->handles++;
	sandbox->in = steal_fd(&take_fds[SANDBOX_KEPT_IN]);
	return 0;
}

static int make_spools(int fds[SANDBOX_KEPT_COUNT], struct err *err)
{
	for (int i = SANDBOX_KEPT_OUT_SPOOL; i <= SANDBOX_KEPT_ERR_SPOOL; i++) {
		fds[i] = memfd_create("spool", MFD_CLOEXEC);
		if (fds[i] < 0)
			return err_sys(err, "memfd");
	}
	return 0;
}

static struct sandbox *make(uv_loop_t *loop, struct launcher *launcher,
			    const struct backend *backend, uint32_t id,
			    const struct sandbox_calls *calls, void *user)
{
	struct sandbox *sandbox = xnew(struct sandbox);

	sandbox->id = id;
	sandbox->zygote = -1;
	sandbox->launcher = launcher;
	sandbox->backend = backend;
	sandbox->calls = calls;
	sandbox->user = user;
	sandbox->asked_ns = now_ns();
	sandbox->in = sandbox->channel.fd = sandbox->out.fd = sandbox->err.fd = -1;
	sandbox->out.spool = sandbox->err.spool = -1;
	(void)uv_timer_init(loop, &sandbox->closer);
	sandbox->handles = 1;
	return sandbox;
}

static void unmake(struct sandbox *sandbox)
{
	sandbox->state = SANDBOX_OVER;
	sandbox->is_gone = true;
	close_handles(sandbox);
	free_when_done(sandbox);
}

int sandbox_new(uv_loop_t *loop, struct launcher *launcher, const struct backend *backend,
		struct backend_start *start, bool is_spooled, const struct sandbox_calls *calls,
		void *user, struct sandbox **ret_sandbox, struct err *err)
{
	struct sandbox *sandbox = make(loop, launcher, backend, start->sandbox, calls, user);
	int ends[BACKEND_FD_COUNT] = {-1, -1, -1, -1};
	int ours[SANDBOX_KEPT_COUNT] = {-1, -1, -1, -1, -1, -1};
	int r;

	memset(start->fds, 0xff, sizeof(start->fds));
	sandbox->shown = start->plan.shown;
	sandbox->zygote = start->zygote;
	r = make_descriptors(ends, start->fds, err);
	ours[SANDBOX_KEPT_CHANNEL] = ends[BACKEND_CHANNEL];
	ours[SANDBOX_KEPT_OUT] = ends[BACKEND_STDOUT];
	ours[SANDBOX_KEPT_ERR] = ends[BACKEND_STDERR];
	ours[SANDBOX_KEPT_IN] = ends[BACKEND_STDIN];
	if (r == 0 && is_spooled)
		r = make_spools(ours, err);
	if (r == 0)
		r = open_handles(sandbox, loop, ours, err);
	if (r == 0)
		r = backend->start(launcher, start, err);

	/* The sandbox's ends are launch's now: with ours alone, its end is our end of file. */
	for (size_t i = 0; i < BACKEND_FD_COUNT; i++)
		drop_fd(&start->fds[i]);
	for (size_t i = 0; i < SANDBOX_KEPT_COUNT; i++)
		drop_fd(&ours[i]);
	if (r < 0) {
		unmake(sandbox);
		return r;
	}
	*ret_sandbox = sandbox;
	return 0;
}

int sandbox_adopt(uv_loop_t *loop, struct launcher *launcher, const struct backend *backend,
		  uint32_t id, int take_fds[SANDBOX_KEPT_COUNT], const struct sandbox_calls *calls,
		  void *user, struct sandbox **ret_sandbox, struct err *err)
{
	struct sandbox *sandbox = make(loop, launcher, backend, id, calls, user);
	int r = open_handles(sandbox, loop, take_fds, err);

	for (size_t i = 0; i < SANDBOX_KEPT_COUNT; i++)
		drop_fd(&take_fds[i]);
	if (r < 0) {
		unmake(sandbox);
		return r;
	}
	/* What it says belongs to the run that was on, and who that is will be known in a while. */
	channel_pause(&sandbox->channel);
	sandbox->state = SANDBOX_TAKEN;
	*ret_sandbox = sandbox;
	return 0;
}

int sandbox_meter(struct sandbox *sandbox, struct err *err)
{
	const struct launch_request request = {.type = LAUNCH_METER, .id = sandbox->id};

	if (sandbox->meter.meters != NULL || sandbox->meter.is_asked)
		return 0;
	sandbox->meter.is_asked = true;
	return launcher_send(sandbox->launcher, &request, NULL, 0, err);
}

void sandbox_drop_head(struct sandbox *sandbox, uint32_t number)
{
	const struct launch_request request = {
		.type = LAUNCH_DROP,
		.ref = {.sandbox = sandbox->id, .head = number},
	};
	struct err err = {0};

	if (number >= LAUNCH_HEADS_MAX)
		return;
	sandbox->head_bits |= 1U << number; /* its number is free when its EXIT has come */
	(void)launcher_send(sandbox->launcher, &request, NULL, 0, &err);
}

void sandbox_take(struct sandbox *sandbox,
		  void (*exited)(void *taker, const struct launch_exit *facts,
				 const struct err *why),
		  void *taker)
{
	sandbox->state = SANDBOX_TAKEN;
	sandbox->exited = exited;
	sandbox->taker = taker;
	/* What it says before its first run is nobody's. */
	stream_listen(&sandbox->out, NULL, NULL);
	stream_listen(&sandbox->err, NULL, NULL);
}

int sandbox_begin(struct sandbox *sandbox, uint32_t timeout_ms, struct err *err)
{
	const struct launch_request request = {
		.type = LAUNCH_BEGIN,
		.begin = {.sandbox = sandbox->id, .timeout_ms = timeout_ms},
	};

	return launcher_send(sandbox->launcher, &request, NULL, 0, err);
}

void sandbox_kill(struct sandbox *sandbox)
{
	struct err err = {0};

	if (sandbox->is_killed || sandbox->is_gone)
		return;
	sandbox->is_killed = true;
	/* A wire that is gone took the sandbox with it; `lost` tells everybody. */
	(void)sandbox->backend->kill(sandbox->launcher, sandbox->id, &err);
}

void sandbox_end(struct sandbox *sandbox)
{
	bool was_taken;

	if (sandbox == NULL || sandbox->state == SANDBOX_OVER)
		return;
	was_taken = sandbox->state == SANDBOX_TAKEN;
	sandbox_kill(sandbox);
	sandbox->state = SANDBOX_OVER;
	sandbox->exited = NULL;
	meter_done(&sandbox->meter);
	channel_listen(&sandbox->channel, &early_calls, sandbox); /* that is: nobody */
	channel_pause(&sandbox->channel);
	stream_listen(&sandbox->out, NULL, NULL);
	stream_listen(&sandbox->err, NULL, NULL);
	/* A dozen system calls, while somebody waits for the answer that this turn of the loop
	 * sends. */
	(void)uv_timer_start(&sandbox->closer, close_due, 0, 0);
	if (was_taken)
		sandbox->calls->ended(sandbox->user, sandbox);
}

static void tell_exit(struct sandbox *sandbox, const struct launch_exit *facts,
		      const struct err *why)
{
	if (sandbox->is_exited)
		return;
	sandbox->is_exited = true;
	if (sandbox->state == SANDBOX_TAKEN && sandbox->exited != NULL)
		sandbox->exited(sandbox->taker, facts, why);
}

static void lose_heads(struct sandbox *sandbox, const struct err *why)
{
	const struct launch_event event = {.type = LAUNCH_EXIT, .id = sandbox->id, .err = *why};

	sandbox->is_ending = true;
	sandbox->head_bits = 0;
	for (uint32_t i = 0; i < LAUNCH_HEADS_MAX; i++) {
		struct head *head = sandbox->heads[i];

		if (head == NULL)
			continue;
		head_event(head, &event);
	}
}

/* What launch says of one interpreter. True when it was a head's affair. */
static bool tell_head(struct sandbox *sandbox, const struct launch_event *event)
{
	bool is_exit = event->type == LAUNCH_EXIT || event->type == LAUNCH_ENDED;
	uint32_t number = is_exit ? event->exit.head : event->head.head;
	struct head *head = number < LAUNCH_HEADS_MAX ? sandbox->heads[number] : NULL;
	bool is_free;

	/* The end of one that had the number before leaves it to the one that is being placed. */
	is_free = event->type == LAUNCH_EXIT
			  ? head == NULL || head->state != HEAD_PLACING
			  : event->type == LAUNCH_HEAD_UP && event->err.kind != ERR_NONE;
	if (number < LAUNCH_HEADS_MAX && is_free)
		sandbox->head_bits &= ~(1U << number);
	if (head != NULL)
		head_event(head, event);
	return head != NULL || number > 0;
}

static void become_gone(struct sandbox *sandbox)
{
	sandbox->is_gone = true;
	sandbox->calls->gone(sandbox->user, sandbox);
	free_when_done(sandbox);
}

/* Its first interpreter ended; where nobody has taken it yet that is a reason not to. */
static void take_exit(struct sandbox *sandbox, const struct launch_exit *facts, struct err *why)
{
	tell_exit(sandbox, facts, why);
	if (sandbox->state != SANDBOX_COMING && sandbox->state != SANDBOX_READY)
		return;
	if (why->kind == ERR_NONE)
		(void)err_set(why, ERR_INTERNAL, ECHILD, "the interpreter ended (%s %d)",
			      facts->signal != 0 ? "signal" : "status",
			      facts->signal != 0 ? facts->signal : facts->code);
	fail(sandbox, why);
}

void sandbox_event(struct sandbox *sandbox, const struct launch_event *event)
{
	struct err why = event->err;

	if (event->type == LAUNCH_SWEPT) {
		sandbox_swept(sandbox, event);
		return;
	}
	if (event->type != LAUNCH_GONE && event->type != LAUNCH_SPAWNED &&
	    event->type != LAUNCH_FROZEN && tell_head(sandbox, event))
		return;
	if (event->type == LAUNCH_FROZEN) {
		if (sandbox->frozen != NULL)
			sandbox->frozen(sandbox->taker, &why);
		return;
	}
	if (event->type == LAUNCH_EXIT) {
		take_exit(sandbox, &event->exit, &why);
	} else if (event->type == LAUNCH_GONE) {
		if (why.kind == ERR_NONE)
			(void)err_set(&why, ERR_INTERNAL, ECHILD, "the sandbox is gone");
		lose_heads(sandbox, &why);
		tell_exit(sandbox, NULL, &why);
		fail(sandbox, &why);
		become_gone(sandbox);
	}
}

void sandbox_lost(struct sandbox *sandbox, const struct err *why)
{
	sandbox->is_killed = true;
	lose_heads(sandbox, why);
	tell_exit(sandbox, NULL, why);
	fail(sandbox, why);
	become_gone(sandbox);
}
