// SPDX-License-Identifier: Apache-2.0
#include "session/head.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sys/socket.h>

#include "base/c.h"
#include "session/lent.h"

#define NOISE_MAX 1000U /* frames between runs that mean nothing, */
#define NOISE_BYTES_MAX (1U << 20)

static void free_when_done(struct head *head)
{
	if (head->is_freed && !head->has_handle)
		free(head);
}

static void channel_closed(uv_handle_t *handle)
{
	struct head *head =
		(struct head *)(void *)((char *)handle - offsetof(struct head, own.poll));

	head->has_handle = false;
	free_when_done(head);
}

static void fail(struct head *head, const struct err *why)
{
	if (head->state != HEAD_COMING && head->state != HEAD_PLACING)
		return;
	head->state = HEAD_OVER;
	head->calls->failed(head->user, head, why);
}

/* ---- its box ---- */

static int gone(struct err *err)
{
	return err_set(err, ERR_INTERNAL, ECHILD, "the sandbox is gone");
}

/* Those of a box's calls that are about one head. NULL: it cannot. */
static int ask(struct head *head, int (*what)(struct box *box, uint32_t head, struct err *err),
	       struct err *err)
{
	struct box *box = head->sandbox->box;

	if (box == NULL)
		return gone(err);
	if (what == NULL)
		return err_set(err, ERR_UNSUPPORTED, EOPNOTSUPP, "the backend cannot do that");
	return what(box, head->number, err);
}

#define ASK(head, what, err)                                                                       \
	ask(head, (head)->sandbox->box != NULL ? (head)->sandbox->box->impl->what : NULL, err)

int head_end(struct head *head, struct err *err)
{
	return ASK(head, end, err);
}

int head_interrupt(struct head *head, struct err *err)
{
	return ASK(head, interrupt, err);
}

int head_save(struct head *head, struct err *err)
{
	return ASK(head, save, err);
}

int head_restore(struct head *head, struct err *err)
{
	return ASK(head, restore, err);
}

int head_begin(struct head *head, uint32_t timeout_ms, struct err *err)
{
	struct box *box = head->sandbox->box;

	head->is_armed = false; /* the last deadline is forgotten with this one */
	return box != NULL ? box->impl->begin(box, head->number, timeout_ms, err) : gone(err);
}

static bool runs_beside(const struct head *head)
{
	for (size_t i = 0; i < BOX_HEADS_MAX; i++) {
		const struct head *other = head->sandbox->heads[i];

		if (other != NULL && other != head && other->mark.is_set)
			return true;
	}
	return false;
}

void head_mark(struct head *head)
{
	struct err err = {0};

	/* For the next run, where it was closed. */
	(void)sandbox_meter(head->sandbox, &err);
	box_mark(head->sandbox->box, head->pid, &head->mark);
}

void head_count(struct head *head)
{
	struct box *box = head->sandbox->box;

	if (box != NULL && box->impl->count != NULL)
		box->impl->count(box, !runs_beside(head), &head->mark);
}

bool head_measure(struct head *head, struct box_exit *ret_facts)
{
	struct box *box = head->sandbox->box;
	struct box_exit facts = {.code = -1};

	if (head->state != HEAD_READY || head->is_dropped || box == NULL ||
	    box->impl->measure == NULL || !box->impl->measure(box, &head->mark, &facts))
		return false;
	head->mark.is_set = false;
	head->is_armed = true;
	*ret_facts = facts;
	return true;
}

void head_disarm(struct head *head)
{
	struct err err = {0};

	/* A backend that is gone took the head with it, and its deadline. */
	if (head->is_armed)
		(void)ASK(head, disarm, &err);
	head->is_armed = false;
}

void head_drop(struct head *head)
{
	struct err err = {0};

	if (head->is_dropped || head->state == HEAD_OVER)
		return;
	head->is_dropped = true;
	if (head->state == HEAD_COMING)
		return;
	/* Where it is the only one that can be, the sandbox ends with it. A backend that is gone
	 * took the sandbox with it; everybody is told. */
	if (head->sandbox->box != NULL && head->sandbox->box->impl->drop_head == NULL)
		sandbox_kill(head->sandbox);
	else
		(void)ASK(head, drop_head, &err);
}

/* ---- a fork that comes up ---- */

static void take_hello(struct head *head, const struct frame *frame)
{
	struct box *box = head->sandbox->box;
	struct box_head placed = {
		.head = head->number, .parent = head->parent, .is_look = head->is_look};
	const int fds[BOX_HEAD_FDS_MAX] = {
		head->channel->fd,
		head->has_pipes ? head->pipes.out->fd : -1,
		head->has_pipes ? head->pipes.err->fd : -1,
		head->has_pipes ? head->pipes.out->spool : -1,
		head->has_pipes ? head->pipes.err->spool : -1,
	};
	struct err why = {0};

	if (frame->header.size != sizeof(struct frame_hello) || box == NULL) {
		(void)err_set(&why, ERR_INTERNAL, EPROTO, "a fork said something else than HELLO");
		fail(head, &why);
		return;
	}
	head->pid = placed.pid = head->channel->sender;
	head->state = HEAD_PLACING;
	head->sandbox->head_bits |= 1U << head->number; /* the backend's until its end is told */
	if (box->impl->fork_head(box, &placed, fds, head->has_pipes ? BOX_HEAD_FDS_MAX : 1, &why) <
	    0)
		fail(head, &why);
}

/* The parent's answer: only a refusal needs one, the child speaks for itself. */
static void take_forked(struct head *head, const struct frame *frame)
{
	struct head *child = NULL;
	struct frame_forked forked;
	struct err why = {0};

	if (head->owed > 0) {
		head->owed--;
		return;
	}
	child = STEAL(head->forking);
	if (child == NULL || frame->header.size < sizeof(forked))
		return;
	memcpy(&forked, frame->payload, sizeof(forked));
	if (forked.is_blocked == 0 && forked.pid != 0) {
		(void)err_set(&why, ERR_INTERNAL, EPIPE, "the fork ended before it was ready");
		if (child->is_cut)
			fail(child, &why);
		return;
	}
	(void)err_set(&why, forked.is_blocked ? ERR_CONFLICT : ERR_INTERNAL, EBUSY, "%.*s",
		      (int)(frame->header.size - sizeof(forked)),
		      (const char *)frame->payload + sizeof(forked));
	fail(child, &why);
}

void head_forked(struct head *head, const struct frame *frame)
{
	/* Before the answer is taken: a refusal may have its owner let go of this head. */
	if (head->calls->forked != NULL)
		head->calls->forked(head->user, head);
	take_forked(head, frame);
}

/* Frames between runs belong to nobody: where there is no end of them, whoever sends them waits
 * until something is asked. */
static void count_noise(struct head *head, const struct frame *frame)
{
	head->noise++;
	head->noise_bytes += frame->header.size;
	if (head->noise > NOISE_MAX || head->noise_bytes > NOISE_BYTES_MAX)
		channel_pause(head->channel);
}

/* Its last piece is counted as the frame that it ends. */
static void idle_piece(void *user, const struct frame *piece)
{
	if (piece->header.flags & FRAME_FLAG_MORE)
		count_noise(user, piece);
}

static void idle_frame(void *user, const struct frame *frame)
{
	struct head *head = user;

	if (frame->header.type == FRAME_HELLO && head->state == HEAD_COMING)
		take_hello(head, frame);
	else if (frame->header.type == FRAME_FORKED && (head->forking != NULL || head->owed > 0))
		head_forked(head, frame);
	else
		count_noise(head, frame);
}

static void idle_end(void *user, const struct err *why)
{
	struct head *head = user;
	struct head *parent = head->sandbox->heads[head->parent];
	struct err ended = *why;

	/* A parent that refuses closes the child's end, too: it says why in a moment. */
	if (head->state == HEAD_COMING && parent != NULL && parent->forking == head) {
		head->is_cut = true;
		return;
	}
	if (ended.kind == ERR_NONE)
		(void)err_set(&ended, ERR_INTERNAL, EPIPE, "the fork ended before it was ready");
	/* The end of one that was ready is told by its box, with the facts. */
	fail(head, &ended);
}

static const struct channel_calls idle_calls = {
	.frame = idle_frame, .ended = idle_end, .piece = idle_piece, .drops_pieces = true};

/* Something is asked of it: it may speak. */
static void hear(struct head *head)
{
	head->noise = 0;
	head->noise_bytes = 0;
	channel_resume(head->channel);
}

void head_listen(struct head *head)
{
	channel_listen(head->channel, &idle_calls, head);
	hear(head);
}

static struct head *head_new(struct sandbox *sandbox, uint32_t number,
			     const struct head_calls *calls, void *user)
{
	struct head *head = xnew(struct head);

	head->sandbox = sandbox;
	head->number = number;
	head->calls = calls;
	head->user = user;
	head->own.fd = -1;
	head->channel = &head->own;
	head->pipes = (struct head_pipes){&sandbox->out, &sandbox->err};
	sandbox->heads[number] = head;
	return head;
}

static int open_channel(struct head *head, int *take_fd, struct err *err)
{
	int r = channel_open(&head->own, head->sandbox->out.poll.loop, take_fd, &idle_calls, head,
			     err);

	head->has_handle = r == 0;
	return r;
}

struct head *head_first(struct sandbox *sandbox, const struct head_calls *calls, void *user)
{
	struct head *head = head_new(sandbox, 0, calls, user);

	head->channel = &sandbox->channel;
	head->pid = sandbox->channel.sender;
	head->state = HEAD_READY;
	head_listen(head);
	return head;
}

int head_adopt(struct sandbox *sandbox, uint32_t number, pid_t pid, int *take_channel,
	       const struct head_calls *calls, void *user, struct head **ret_head, struct err *err)
{
	struct head *head = NULL;
	int r;

	if (number >= BOX_HEADS_MAX || sandbox->heads[number] != NULL)
		return err_set(err, ERR_INTERNAL, EPROTO, "no head %u was kept", number);
	if (number == 0) {
		*ret_head = head_first(sandbox, calls, user);
		(*ret_head)->pid = pid;
		(*ret_head)->is_armed = true;
		channel_pause(&sandbox->channel);
		return channel_take_over(&sandbox->channel, 0, 0, 0, NULL);
	}
	head = head_new(sandbox, number, calls, user);
	head->pid = pid;
	head->is_armed = true; /* or so it may be: its last viv died */
	head->state = HEAD_READY;
	sandbox->head_bits |= 1U << number;
	r = open_channel(head, take_channel, err);
	if (r < 0) {
		head_free(head);
		return r;
	}
	channel_pause(&head->own);
	(void)channel_take_over(&head->own, 0, 0, 0, NULL);
	*ret_head = head;
	return 0;
}

static int free_number(const struct sandbox *sandbox, uint32_t *ret_number, struct err *err)
{
	for (uint32_t i = 1; i < BOX_HEADS_MAX; i++) {
		if (sandbox->heads[i] == NULL && !(sandbox->head_bits & (1U << i))) {
			*ret_number = i;
			return 0;
		}
	}
	return err_set(err, ERR_BUSY, EMFILE,
		       "the session has %d states already: drop checkpoints or branches",
		       BOX_HEADS_MAX);
}

static int send_fork(struct head *parent, bool is_look, int *take_theirs, int *take_ends,
		     struct err *err)
{
	int fds[3] = {steal_fd(take_theirs), -1, -1};
	struct buf frame;
	int r;

	for (size_t i = 0; take_ends != NULL && i < 2; i++)
		fds[i + 1] = steal_fd(&take_ends[i]);
	buf_init(&frame, KIB);
	r = frame_append(&frame, FRAME_FORK, is_look ? FRAME_FLAG_LOOK : 0, 0, "", 0);
	if (r == 0)
		r = channel_send_fds(parent->channel, &frame, fds, ARRAY_LEN(fds), err);
	buf_done(&frame);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		drop_fd(&fds[i]);
	return r;
}

int head_fork(struct head *parent, bool is_look, const struct head_pipes *pipes, int *take_ends,
	      const struct head_calls *calls, void *user, struct head **ret_head, struct err *err)
{
	int pair[2] = {-1, -1};
	struct head *head = NULL;
	uint32_t number = 0;
	int r;

	if (parent->sandbox->box == NULL || parent->sandbox->box->impl->fork_head == NULL)
		return err_set(err, ERR_UNSUPPORTED, EOPNOTSUPP,
			       "the backend cannot fork an interpreter");
	if (parent->state != HEAD_READY || parent->forking != NULL)
		return err_set(err, ERR_BUSY, EBUSY, "the interpreter is busy forking");
	r = free_number(parent->sandbox, &number, err);
	if (r < 0)
		return r;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, "socketpair");

	head = head_new(parent->sandbox, number, calls, user);
	head->is_look = is_look;
	head->parent = parent->number;
	if (is_look)
		head->pipes = (struct head_pipes){NULL, NULL}; /* it has no output */
	else
		head->pipes = pipes != NULL ? *pipes : parent->pipes;
	/* Every head of a branch has them with it: any may be the last one. */
	head->has_pipes = !is_look && head->pipes.out != &parent->sandbox->out;
	r = open_channel(head, &pair[0], err);
	if (r == 0)
		r = channel_want_sender(&head->own, err);
	if (r == 0)
		r = send_fork(parent, is_look, &pair[1], take_ends, err);
	drop_fd(&pair[0]);
	drop_fd(&pair[1]);
	if (r < 0) {
		head_free(head);
		return r;
	}
	parent->forking = head;
	hear(parent);
	*ret_head = head;
	return 0;
}

/* The fork is there, or nobody wants it any more: its parent may fork again, and what it still says
 * of this one is not about the next. */
static void forget_fork(struct head *head)
{
	struct head *parent = head->sandbox->heads[head->parent];

	if (parent == NULL || parent->forking != head)
		return;
	parent->forking = NULL;
	parent->owed++;
}

/* ---- its end ---- */

void head_up(struct head *head, const struct err *why)
{
	if (head->state != HEAD_PLACING)
		return;
	if (why->kind != ERR_NONE) {
		fail(head, why);
		return;
	}
	head->state = HEAD_READY;
	forget_fork(head);
	head->calls->ready(head->user, head);
}

/* The backend hears of a run's beginning late, and of a short one too late to see its time pass. */
void head_ended(struct head *head, const struct box_exit *told)
{
	struct box_exit facts = *told;
	uint64_t own_us = box_own_us(&head->mark);

	if (head->state != HEAD_READY)
		return;
	if (own_us > facts.cpu_us)
		facts.cpu_us = own_us;
	head->mark.is_set = false;
	if (head->calls->ended != NULL)
		head->calls->ended(head->user, head, &facts);
}

void head_exited(struct head *head, const struct box_exit *facts, const struct err *why)
{
	if (head->state == HEAD_OVER)
		return;
	if (head->state != HEAD_READY) {
		/* Ends are told behind head_up: this is that of an earlier head with the number,
		 * which a former viv did not hear. */
		if (why->kind != ERR_NONE)
			fail(head, why);
		return;
	}
	head->state = HEAD_OVER;
	head->calls->exited(head->user, head, why->kind == ERR_NONE ? facts : NULL, why);
}

static void deaf_frame(void *user, const struct frame *frame)
{
	(void)user;
	(void)frame;
}

static void deaf_end(void *user, const struct err *why)
{
	(void)user;
	(void)why;
}

void head_free(struct head *head)
{
	/* The first head's channel is the sandbox's, and outlives it. */
	static const struct channel_calls deaf = {.frame = deaf_frame, .ended = deaf_end};

	if (head == NULL || head->is_freed)
		return;
	if (head->channel != &head->own) {
		channel_listen(head->channel, &deaf, NULL);
		channel_pause(head->channel);
	}
	head_drop(head);
	head->state = HEAD_OVER;
	head->is_freed = true;
	if (head->sandbox->heads[head->number] == head)
		head->sandbox->heads[head->number] = NULL;
	forget_fork(head);
	lent_channel(head->sandbox, head->own.fd);
	if (head->has_handle)
		channel_close(&head->own, channel_closed);
	free_when_done(head);
}
