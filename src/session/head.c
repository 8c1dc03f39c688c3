// SPDX-License-Identifier: Apache-2.0
#include "session/head.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sys/socket.h>

#include "base/c.h"
#include "session/lent.h"

#define NOISE_MAX 1000U /* unwanted frames between runs */
#define NOISE_BYTES_MAX (1U << 20)
#define LOOK_NUMBERS 2 /* that checkpoints and branches leave for looks */

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

/* ---- the box ---- */

static int gone(struct err *err)
{
	return err_set(err, ERR_BUSY, ECHILD, "the sandbox is gone");
}

/* Calls an operation of the box that concerns one head. NULL: the box does not have it. */
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

int head_end(struct head *head, void (*ended)(void *user, const struct box_exit *facts), void *user,
	     struct err *err)
{
	head->ended = ended;
	head->ended_user = user;
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

	head->is_armed = false; /* the new deadline replaces the old one */
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

	/* The meter may have been closed: opens it again, for the next run. */
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

	/* If the backend is gone, so are the head and its deadline. */
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
	/* If the box can have only one head, the sandbox ends with it. If the backend is gone, so
	 * is the sandbox, and everybody is told. */
	if (head->sandbox->box != NULL && head->sandbox->box->impl->drop_head == NULL)
		sandbox_kill(head->sandbox);
	else
		(void)ASK(head, drop_head, &err);
}

/* ---- a new fork ---- */

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
		(void)err_set(&why, ERR_INTERNAL, EPROTO, "a fork sent something other than HELLO");
		fail(head, &why);
		return;
	}
	head->pid = placed.pid = head->channel->sender;
	head->state = HEAD_PLACING;
	head->sandbox->head_bits |= 1U << head->number; /* in use until its end is reported */
	if (box->impl->fork_head(box, &placed, fds, head->has_pipes ? BOX_HEAD_FDS_MAX : 1, &why) <
	    0)
		fail(head, &why);
}

/* Takes the parent's answer. Only a refusal matters, since the child reports itself. */
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
		(void)err_set(&why, ERR_BUSY, EPIPE, "the interpreter ended before it was ready");
		if (child->is_cut)
			fail(child, &why);
		return;
	}
	(void)err_set(&why, forked.is_blocked ? ERR_CONFLICT : ERR_INTERNAL, EBUSY, "%.*s",
		      (int)(frame->header.size - sizeof(forked)),
		      (const char *)frame->payload + sizeof(forked));
	/* A session tries again by itself once there is room. A runner that gave this reason could
	 * make it try, and write the journal, without end. */
	if (strcmp(why.text, HEAD_NO_ROOM) == 0)
		(void)err_set(&why, ERR_CONFLICT, EBUSY, "the interpreter refuses to fork");
	fail(child, &why);
}

void head_forked(struct head *head, const struct frame *frame)
{
	/* Call before the answer is taken: a refusal may cause the owner to free this head. */
	if (head->calls->forked != NULL)
		head->calls->forked(head->user, head);
	take_forked(head, frame);
}

/* Frames between runs belong to nobody. If there are too many, the channel is paused, so that their
 * sender waits until the next request. */
static void count_noise(struct head *head, const struct frame *frame)
{
	head->noise++;
	head->noise_bytes += frame->header.size;
	if (head->noise > NOISE_MAX || head->noise_bytes > NOISE_BYTES_MAX)
		channel_pause(head->channel);
}

/* The last piece is counted with the frame that it completes. */
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

	/* A parent that refuses also closes the child's end; its reason follows. */
	if (head->state == HEAD_COMING && parent != NULL && parent->forking == head) {
		head->is_cut = true;
		return;
	}
	if (ended.kind == ERR_NONE)
		(void)err_set(&ended, ERR_BUSY, EPIPE, "the interpreter ended before it was ready");
	/* The end of a head that was ready is reported by its box, with the facts. */
	fail(head, &ended);
}

static const struct channel_calls idle_calls = {
	.frame = idle_frame, .ended = idle_end, .piece = idle_piece, .drops_pieces = true};

/* A request was sent to the head: read its frames again. */
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
		return err_set(err, ERR_INTERNAL, EPROTO, "head %u cannot be adopted", number);
	if (number == 0) {
		*ret_head = head_first(sandbox, calls, user);
		(*ret_head)->pid = pid;
		(*ret_head)->is_armed = true;
		channel_pause(&sandbox->channel);
		return channel_take_over(&sandbox->channel, 0, 0, 0, NULL);
	}
	head = head_new(sandbox, number, calls, user);
	head->pid = pid;
	head->is_armed = true; /* it may be: the previous viv died */
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

/* ---- numbers ---- */

static bool is_free(const struct sandbox *sandbox, uint32_t number)
{
	return sandbox->heads[number] == NULL && !(sandbox->head_bits & (1U << number));
}

/* Has its head ended, while its owner still needs the facts? */
static bool is_over(const struct sandbox *sandbox, uint32_t number)
{
	return sandbox->heads[number] != NULL && sandbox->heads[number]->state == HEAD_OVER &&
	       !(sandbox->head_bits & (1U << number));
}

/* Is this number free, or will it be when a look or an end is over? */
static bool is_passing(const struct sandbox *sandbox, uint32_t number)
{
	const struct head *head = sandbox->heads[number];

	return head == NULL || head->is_look || head->state == HEAD_OVER;
}

int head_room(const struct sandbox *sandbox, enum head_use use, uint32_t count)
{
	int now = -(int)count;
	int over = 0;
	int later = -(int)count - LOOK_NUMBERS - 1; /* number 0 is never used again */

	for (uint32_t i = 0; i < BOX_HEADS_MAX; i++) {
		now += i > 0 && is_free(sandbox, i);
		over += i > 0 && is_over(sandbox, i);
		later += is_passing(sandbox, i);
	}
	switch (use) {
	case HEAD_FOR_BACK:
		return now + over;
	case HEAD_FOR_LOOK:
		return now - 1;
	case HEAD_FOR_CHECKPOINT:
		return later - (int)sandbox->sessions;
	case HEAD_FOR_BRANCH:
		return later - (int)count - 1;
	}
	return -1;
}

/* Is a look, an end or a fork under way? When that is over, a number may be free. */
static bool is_moving(const struct sandbox *sandbox)
{
	bool is_so = false;

	for (uint32_t i = 1; i < BOX_HEADS_MAX && !is_so; i++)
		is_so = !is_free(sandbox, i) &&
			(is_passing(sandbox, i) || sandbox->heads[i]->state != HEAD_READY);
	return is_so;
}

bool head_must_wait(const struct sandbox *sandbox)
{
	return head_room(sandbox, HEAD_FOR_BACK, 1) < 0 && is_moving(sandbox);
}

void head_tell_room(const struct sandbox *sandbox)
{
	for (uint32_t i = 0; i < BOX_HEADS_MAX && !sandbox->is_ending; i++) {
		const struct head *head = sandbox->heads[i];

		if (head != NULL && head->calls->room != NULL)
			head->calls->room(head->user);
	}
}

static uint32_t find_number(const struct sandbox *sandbox,
			    bool (*fits)(const struct sandbox *sandbox, uint32_t number))
{
	uint32_t number = 1;

	while (number < BOX_HEADS_MAX && !fits(sandbox, number))
		number++;
	return number;
}

static int take_number(const struct sandbox *sandbox, bool is_look, uint32_t *ret_number,
		       struct err *err)
{
	bool is_soon = is_moving(sandbox);

	if (head_room(sandbox, is_look ? HEAD_FOR_LOOK : HEAD_FOR_BACK, 1) >= 0) {
		*ret_number = find_number(sandbox, is_free);
		if (*ret_number == BOX_HEADS_MAX)
			*ret_number = find_number(sandbox, is_over);
		return 0;
	}
	return err_set(err, is_soon ? ERR_BUSY : ERR_CONFLICT, is_soon ? EBUSY : EMFILE,
		       HEAD_NO_ROOM);
}

/* ---- forks ---- */

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
	r = take_number(parent->sandbox, is_look, &number, err);
	if (r < 0)
		return r;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, "socketpair");

	head = head_new(parent->sandbox, number, calls, user);
	head->is_look = is_look;
	head->parent = parent->number;
	if (is_look)
		head->pipes = (struct head_pipes){NULL, NULL}; /* a look has no output */
	else
		head->pipes = pipes != NULL ? *pipes : parent->pipes;
	/* Every head of a branch is kept with these pipes, since any of them may be the last
	 * one. */
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

/* The fork is ready, or no longer wanted: its parent may fork again, and the parent's answer to
 * this fork, if still to come, must not count for the next one. */
static void forget_fork(struct head *head)
{
	struct head *parent = head->sandbox->heads[head->parent];

	if (parent == NULL || parent->forking != head)
		return;
	parent->forking = NULL;
	parent->owed++;
}

/* ---- the end of a head ---- */

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

/* The backend learns late that a run began, and may miss the CPU time of a short one: take the
 * larger figure. */
void head_ended(struct head *head, const struct box_exit *told)
{
	struct box_exit facts = *told;
	uint64_t own_us = box_own_us(&head->mark);

	if (head->state != HEAD_READY)
		return;
	if (own_us > facts.cpu_us)
		facts.cpu_us = own_us;
	head->mark.is_set = false;
	if (head->ended != NULL)
		STEAL(head->ended)(head->ended_user, &facts);
}

void head_exited(struct head *head, const struct box_exit *facts, const struct err *why)
{
	if (head->state == HEAD_OVER)
		return;
	if (head->state != HEAD_READY) {
		/* The end of a head is reported after head_up, so this is the end of an earlier
		 * head with this number, of which the previous viv was not told. */
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
	/* The first head uses the sandbox's channel, which outlives the head. */
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
	if (is_free(head->sandbox, head->number))
		head_tell_room(head->sandbox);
	forget_fork(head);
	lent_channel(head->sandbox, head->own.fd);
	if (head->has_handle)
		channel_close(&head->own, channel_closed);
	free_when_done(head);
}
