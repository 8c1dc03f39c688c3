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

/* The most that an ordinary user may have, so that a burst of output rarely waits. */
#define PIPE_SIZE (1U << 20)

static void free_when_done(struct sandbox *sandbox)
{
	if (sandbox->state != SANDBOX_OVER || !sandbox->is_gone || sandbox->handles > 0)
		return;
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
	drop_fd(&sandbox->payload);
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
	const struct box *box = sandbox->box;
	struct frame_hello hello;

	if (box == NULL)
		return err_set(err, ERR_BUSY, ECHILD, "the sandbox is gone");
	if (frame->header.type != FRAME_HELLO || frame->header.size != sizeof(hello))
		return err_set(err, ERR_INTERNAL, EPROTO, "a sandbox spoke before its HELLO");

	memcpy(&hello, frame->payload, sizeof(hello));
	if (hello.version != FRAME_VERSION)
		return err_set(err, ERR_INTERNAL, EPROTO, "the runner speaks version %u, viv %u",
			       hello.version, FRAME_VERSION);
	/* Fail closed: if a single wall is missing, no code runs here. */
	if (hello.walls != box->walls || hello.shown < box->shown)
		return err_set(err, ERR_INTERNAL, EPERM,
			       "a sandbox came up without all its walls (%#x of %#x, filter %u of "
			       "%u); see `viv doctor`",
			       hello.walls, box->walls, hello.shown, box->shown);
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
		if (sandbox->box->impl->stands != NULL)
			sandbox->box->impl->stands(sandbox->box);
		sandbox->calls->ready(sandbox->user, sandbox);
		return;
	}
	fail(sandbox, &why);
}

static void early_end(void *user, const struct err *why)
{
	struct err ended = *why;

	if (ended.kind == ERR_NONE)
		(void)err_set(&ended, ERR_BUSY, EPIPE, "the interpreter ended before it was ready");
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

/* Puts our ends into `ours`, the sandbox's into `theirs`. On failure, the caller closes what was
 * opened. */
static int make_descriptors(int ours[BOX_FD_COUNT], int theirs[BOX_FD_COUNT], struct err *err)
{
	int pair[2];

	for (int i = BOX_STDIN; i <= BOX_STDERR; i++) {
		bool is_input = i == BOX_STDIN;

		if (pipe2(pair, O_CLOEXEC) < 0)
			return err_sys(err, "pipe");
		ours[i] = pair[is_input ? 1 : 0];
		theirs[i] = pair[is_input ? 0 : 1];
		/* Only our end: O_NONBLOCK belongs to the open file description, and each end has
		 * its own. */
		if (fcntl(ours[i], F_SETFL, O_NONBLOCK) < 0)
			return err_sys(err, "non-blocking pipe");
		if (!is_input)
			(void)fcntl(ours[i], F_SETPIPE_SZ, PIPE_SIZE);
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, "socketpair");
	ours[BOX_CHANNEL] = pair[0];
	theirs[BOX_CHANNEL] = pair[1];
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
	sandbox->payload = steal_fd(&take_fds[SANDBOX_KEPT_PAYLOAD]);
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

static struct sandbox *make(uv_loop_t *loop, const struct backend *backend,
			    const struct sandbox_calls *calls, void *user)
{
	struct sandbox *sandbox = xnew(struct sandbox);

	sandbox->backend = backend;
	sandbox->calls = calls;
	sandbox->user = user;
	sandbox->asked_ns = now_ns();
	sandbox->payload = -1;
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

int sandbox_new(uv_loop_t *loop, struct backend_instance *instance, const struct box_kind *kind,
		bool is_spooled, const struct sandbox_calls *calls, void *user,
		struct sandbox **ret_sandbox, struct err *err)
{
	struct sandbox *sandbox = make(loop, instance->backend, calls, user);
	int ends[BOX_FD_COUNT] = {-1, -1, -1, -1};
	int theirs[BOX_FD_COUNT] = {-1, -1, -1, -1};
	int ours[SANDBOX_KEPT_COUNT] = {-1, -1, -1, -1, -1, -1, -1};
	int r = make_descriptors(ends, theirs, err);

	ours[SANDBOX_KEPT_CHANNEL] = ends[BOX_CHANNEL];
	ours[SANDBOX_KEPT_OUT] = ends[BOX_STDOUT];
	ours[SANDBOX_KEPT_ERR] = ends[BOX_STDERR];
	ours[SANDBOX_KEPT_IN] = ends[BOX_STDIN];
	if (r == 0 && is_spooled)
		r = make_spools(ours, err);
	if (r == 0)
		r = open_handles(sandbox, loop, ours, err);
	if (r == 0)
		r = instance->backend->make(instance, kind, theirs, &sandbox_box_calls, sandbox,
					    &sandbox->box, err);

	/* The backend has the sandbox's ends now. We close our copies, so that we read end of file
	 * when the sandbox ends. */
	for (size_t i = 0; i < BOX_FD_COUNT; i++)
		drop_fd(&theirs[i]);
	for (size_t i = 0; i < SANDBOX_KEPT_COUNT; i++)
		drop_fd(&ours[i]);
	if (r < 0) {
		unmake(sandbox);
		return r;
	}
	sandbox->id = sandbox->box->number;
	*ret_sandbox = sandbox;
	return 0;
}

int sandbox_adopt(uv_loop_t *loop, struct box *box, int take_fds[SANDBOX_KEPT_COUNT],
		  const struct sandbox_calls *calls, void *user, struct sandbox **ret_sandbox,
		  struct err *err)
{
	struct sandbox *sandbox = make(loop, box->backend, calls, user);
	int r = open_handles(sandbox, loop, take_fds, err);

	for (size_t i = 0; i < SANDBOX_KEPT_COUNT; i++)
		drop_fd(&take_fds[i]);
	if (r < 0) {
		unmake(sandbox);
		return r;
	}
	sandbox->box = box;
	sandbox->id = box->number;
	box->calls = &sandbox_box_calls;
	box->user = sandbox;
	/* Its frames belong to the run that was under way, which is not known yet. */
	channel_pause(&sandbox->channel);
	sandbox->state = SANDBOX_TAKEN;
	*ret_sandbox = sandbox;
	return 0;
}

void sandbox_take(struct sandbox *sandbox,
		  void (*exited)(void *taker, const struct box_exit *facts, const struct err *why),
		  void *taker)
{
	sandbox->state = SANDBOX_TAKEN;
	sandbox->exited = exited;
	sandbox->taker = taker;
	/* Output before the first run is thrown away. */
	stream_listen(&sandbox->out, NULL, NULL);
	stream_listen(&sandbox->err, NULL, NULL);
}

int sandbox_begin(struct sandbox *sandbox, uint32_t timeout_ms, struct err *err)
{
	if (sandbox->box == NULL)
		return err_set(err, ERR_BUSY, ECHILD, "the sandbox is gone");
	return sandbox->box->impl->begin(sandbox->box, 0, timeout_ms, err);
}

void sandbox_kill(struct sandbox *sandbox)
{
	struct err err = {0};

	if (sandbox->is_killed || sandbox->box == NULL)
		return;
	sandbox->is_killed = true;
	/* If the backend is gone, so is the sandbox; sandbox_lost tells everybody. */
	(void)sandbox->box->impl->kill(sandbox->box, &err);
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
	channel_listen(&sandbox->channel, &early_calls, sandbox); /* ignores frames in this state */
	channel_pause(&sandbox->channel);
	stream_listen(&sandbox->out, NULL, NULL);
	stream_listen(&sandbox->err, NULL, NULL);
	/* Closing takes a dozen system calls, so it happens after this turn of the loop, in which
	 * an answer is sent that a client waits for. */
	(void)uv_timer_start(&sandbox->closer, close_due, 0, 0);
	if (was_taken)
		sandbox->calls->ended(sandbox->user, sandbox);
}

static void tell_exit(struct sandbox *sandbox, const struct box_exit *facts, const struct err *why)
{
	if (sandbox->is_exited)
		return;
	sandbox->is_exited = true;
	if (sandbox->state == SANDBOX_TAKEN && sandbox->exited != NULL)
		sandbox->exited(sandbox->taker, facts, why);
}

static void lose_heads(struct sandbox *sandbox, const struct err *why)
{
	sandbox->is_ending = true;
	sandbox->head_bits = 0;
	for (uint32_t i = 0; i < BOX_HEADS_MAX; i++) {
		if (sandbox->heads[i] != NULL)
			head_exited(sandbox->heads[i], NULL, why);
	}
}

static struct head *find_head(const struct sandbox *sandbox, uint32_t number)
{
	return number < BOX_HEADS_MAX ? sandbox->heads[number] : NULL;
}

static void free_number(struct sandbox *sandbox, uint32_t number)
{
	if (number >= BOX_HEADS_MAX)
		return;
	sandbox->head_bits &= ~(1U << number);
	head_tell_room(sandbox);
}

/* Nothing of the sandbox is left. */
static void end_all(struct sandbox *sandbox, const struct err *why)
{
	lose_heads(sandbox, why);
	tell_exit(sandbox, NULL, why);
	fail(sandbox, why);
	sandbox->is_gone = true;
	sandbox->box = NULL;
	sandbox->calls->gone(sandbox->user, sandbox);
	free_when_done(sandbox);
}

/* The first interpreter ended. A sandbox that was not taken yet has failed. */
static void take_exit(struct sandbox *sandbox, const struct box_exit *facts, const struct err *told)
{
	struct err why = *told;

	tell_exit(sandbox, facts, told);
	if (sandbox->state != SANDBOX_COMING && sandbox->state != SANDBOX_READY)
		return;
	if (why.kind == ERR_NONE)
		(void)err_set(&why, ERR_BUSY, ECHILD, "the interpreter ended (%s %d)",
			      facts->signal != 0 ? "signal" : "status",
			      facts->signal != 0 ? facts->signal : facts->code);
	fail(sandbox, &why);
}

static void box_exited(void *user, uint32_t number, const struct box_exit *facts,
		       const struct err *why)
{
	struct sandbox *sandbox = user;
	struct head *head = find_head(sandbox, number);

	/* If a head with this number is being placed, this is the end of an earlier head: the
	 * number stays in use. */
	if (head == NULL || head->state != HEAD_PLACING)
		free_number(sandbox, number);
	if (head != NULL)
		head_exited(head, facts, why);
	else if (number == 0)
		take_exit(sandbox, facts, why);
}

static void box_ended(void *user, uint32_t number, const struct box_exit *facts)
{
	struct head *head = find_head(user, number);

	if (head != NULL)
		head_ended(head, facts);
}

static void box_head_up(void *user, uint32_t number, const struct err *why)
{
	struct head *head = find_head(user, number);

	if (why->kind != ERR_NONE)
		free_number(user, number);
	if (head != NULL)
		head_up(head, why);
}

static void box_saved(void *user, uint32_t number, const struct err *why)
{
	struct head *head = find_head(user, number);

	if (head != NULL && head->state == HEAD_READY && head->calls->saved != NULL)
		head->calls->saved(head->user, head, why);
}

static void box_restored(void *user, uint32_t number, const struct err *why)
{
	struct head *head = find_head(user, number);

	if (head != NULL && head->state == HEAD_READY && head->calls->restored != NULL)
		head->calls->restored(head->user, head, why);
}

static void box_frozen(void *user, const struct err *why)
{
	struct sandbox *sandbox = user;

	if (sandbox->frozen != NULL)
		sandbox->frozen(sandbox->taker, why);
}

static void box_swept(void *user, uint64_t left)
{
	struct sandbox *sandbox = user;
	void (*swept)(void *user, struct sandbox *sandbox, uint64_t left) = STEAL(sandbox->swept);

	if (swept != NULL)
		swept(sandbox->sweeper, sandbox, left);
}

static void box_gone(void *user, const struct err *told)
{
	struct err why = *told;

	if (why.kind == ERR_NONE)
		(void)err_set(&why, ERR_BUSY, ECHILD, "the sandbox is gone");
	end_all(user, &why);
}

const struct box_calls sandbox_box_calls = {
	.exited = box_exited,
	.ended = box_ended,
	.head_up = box_head_up,
	.saved = box_saved,
	.restored = box_restored,
	.frozen = box_frozen,
	.swept = box_swept,
	.gone = box_gone,
};

void sandbox_lost(struct sandbox *sandbox, const struct err *why)
{
	sandbox->is_killed = true;
	end_all(sandbox, why);
}

/* ---- requests of a session to its box ---- */

static int cannot(const char *what, struct err *err)
{
	return err_set(err, ERR_UNSUPPORTED, EOPNOTSUPP, "the backend cannot %s", what);
}

int sandbox_keep(struct sandbox *sandbox, const char *name, struct err *err)
{
	struct box *box = sandbox->box;
	int fds[SANDBOX_KEPT_COUNT] = {
		sandbox->channel.fd, sandbox->out.fd,    sandbox->err.fd,
		sandbox->out.spool,  sandbox->err.spool,
	};
	size_t count = SANDBOX_KEPT_IN;
	char copy[BOX_NAME_MAX];

	if (box == NULL || box->impl->keep == NULL)
		return 0;
	(void)snprintf(copy, sizeof(copy), "%s", name);
	memcpy(sandbox->kept_name, copy, sizeof(copy));
	if (sandbox->in >= 0)
		fds[count++] = sandbox->in;
	if (sandbox->payload >= 0)
		fds[count++] = sandbox->payload;
	return box->impl->keep(box, copy, fds, count, err);
}

int sandbox_keep_stdin(struct sandbox *sandbox, int fd, struct err *err)
{
	drop_fd(&sandbox->in);
	if (sandbox->kept_name[0] == '\0')
		return 0;
	if (fd >= 0)
		sandbox->in = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return sandbox_keep(sandbox, sandbox->kept_name, err);
}

int sandbox_keep_payload(struct sandbox *sandbox, int fd, struct err *err)
{
	drop_fd(&sandbox->payload);
	if (sandbox->kept_name[0] == '\0')
		return 0;
	if (fd >= 0)
		sandbox->payload = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return sandbox_keep(sandbox, sandbox->kept_name, err);
}

int sandbox_meter(struct sandbox *sandbox, struct err *err)
{
	struct box *box = sandbox->box;

	return box != NULL && box->impl->meter != NULL ? box->impl->meter(box, err) : 0;
}

int sandbox_sweep(struct sandbox *sandbox, bool kills,
		  void (*swept)(void *user, struct sandbox *sandbox, uint64_t left), void *user,
		  struct err *err)
{
	struct box *box = sandbox->box;
	int r;

	if (box == NULL || box->impl->sweep == NULL)
		return cannot("tell what runs have left", err);
	if (sandbox->swept != NULL)
		return err_set(err, ERR_BUSY, EBUSY, "the sandbox is being swept");
	r = box->impl->sweep(box, kills, err);
	if (r < 0)
		return r;
	sandbox->swept = swept;
	sandbox->sweeper = user;
	return 0;
}

int sandbox_freeze(struct sandbox *sandbox, bool is_on,
		   void (*frozen)(void *taker, const struct err *why), void *taker, struct err *err)
{
	struct box *box = sandbox->box;

	if (box == NULL || box->impl->freeze == NULL)
		return cannot("freeze", err);
	sandbox->frozen = frozen;
	sandbox->taker = taker;
	return box->impl->freeze(box, is_on, err);
}

void sandbox_drop_head(struct sandbox *sandbox, uint32_t number)
{
	struct box *box = sandbox->box;
	struct err err = {0};

	if (number >= BOX_HEADS_MAX || box == NULL || box->impl->drop_head == NULL)
		return;
	sandbox->head_bits |= 1U << number; /* until the head's end was reported */
	(void)box->impl->drop_head(box, number, &err);
}
