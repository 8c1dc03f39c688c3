// SPDX-License-Identifier: Apache-2.0
/*
 * Fake box - a backend and its sandboxes, played by the test in the same loop
 *
 * Owns:    the other ends of everything: of each box its pipes and channel, and what it tells.
 * May not: wait: the test turns the loop with fake_turn() until what it wants has happened.
 *
 * It is the smallest backend there is: its boxes can begin, end, be interrupted and killed.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>
#include <uv.h>

#include <sys/socket.h>

#include "backend/backend.h"
#include "base/buf.h"
#include "base/c.h"
#include "proto/frame.h"
#include "session/pool.h"
#include "session/run.h"
#include "unit.h"

#define FAKE_SANDBOXES 64
#define FAKE_USES (1U << BACKEND_PYTHON | 1U << BACKEND_COMMAND | 1U << BACKEND_SESSION)
#define FAKE_TURNS 2000 /* then what a test waits for will not happen */

struct fake_sandbox {
	struct box box; /* first: box.h */
	struct fake *fake;
	bool is_live, is_begun, is_killed, is_failing, has_stood;
	uint32_t timeout_ms;
	int fds[BOX_FD_COUNT]; /* owned: the sandbox's ends */
	struct buf in;
	uint64_t nonce;   /* of the RUN or CHECK that came */
	uint16_t asked;   /* FRAME_RUN or FRAME_CHECK */
	uint32_t counter; /* of the last frame it has sent */
};

struct fake {
	struct backend_instance instance; /* first: backend.h */
	struct backend row;
	const struct backend *table[3]; /* of the pool: this one, and a second if there is one */
	const struct backend_calls *calls;
	void *user;
	struct backend_facts facts;
	bool is_open, is_told;
	uv_loop_t loop;
	uv_timer_t clock; /* keeps a turn of the loop short */
	struct pool *pool;
	struct runtime runtime;
	struct fake_sandbox sandboxes[FAKE_SANDBOXES]; /* in the order of their making */
	size_t spawn_count, kill_count;
	uint32_t walls;      /* what new sandboxes report */
	bool fails_spawns;   /* they never stand */
	bool is_slow;        /* HELLO comes only by fake_hello() */
	bool is_mute;        /* `kill` is not answered */
	struct box_exit end; /* told after `kill`; cause ASKED unless set */
};

static inline void fake_send(struct fake_sandbox *sandbox, uint16_t type, uint16_t flags,
			     uint64_t nonce, const void *payload, size_t size)
{
	struct frame_header *header;
	struct buf frame;

	buf_init(&frame, size + 64);
	assert_int_equal(frame_append(&frame, type, flags, nonce, payload, size), 0);
	header = (struct frame_header *)(void *)frame.data;
	header->counter = ++sandbox->counter;
	assert_int_equal(send(sandbox->fds[BOX_CHANNEL], frame.data, frame.size, MSG_NOSIGNAL),
			 frame.size);
	buf_done(&frame);
}

static inline void fake_say(struct fake_sandbox *sandbox, uint16_t type, const char *json)
{
	fake_send(sandbox, type, 0, sandbox->nonce, json, strlen(json));
}

static inline void fake_print(struct fake_sandbox *sandbox, int stream, const void *text,
			      size_t size)
{
	assert_int_equal(write(sandbox->fds[stream], text, size), size);
}

static inline void fake_close(struct fake_sandbox *sandbox)
{
	for (size_t i = 0; i < BOX_FD_COUNT; i++)
		drop_fd(&sandbox->fds[i]);
	buf_done(&sandbox->in);
	sandbox->is_live = false;
}

/* The interpreter ends, and nothing of its box is left. */
static inline void fake_exit(struct fake *fake, struct fake_sandbox *sandbox,
			     const struct box_exit *exit)
{
	const struct err none = {0};

	(void)fake;
	fake_close(sandbox);
	sandbox->box.calls->exited(sandbox->box.user, 0, exit, &none);
	sandbox->box.calls->gone(sandbox->box.user, &none);
}

static inline void fake_hello(const struct fake *fake, struct fake_sandbox *sandbox)
{
	struct frame_hello hello = {.version = FRAME_VERSION,
				    .walls = fake->walls,
				    .landlock_abi = 7,
				    .pid = 2,
				    .shown = SHOWN_APART};

	fake_send(sandbox, FRAME_HELLO, 0, 0, &hello, sizeof(hello));
}

/* ---- the box ---- */

static inline int fake_begin(struct box *box, uint32_t head, uint32_t timeout_ms, struct err *err)
{
	struct fake_sandbox *sandbox = (struct fake_sandbox *)box;

	(void)head;
	(void)err;
	assert_true(sandbox->is_live);
	sandbox->is_begun = true;
	sandbox->timeout_ms = timeout_ms;
	return 0;
}

static inline int fake_nothing(struct box *box, uint32_t head, struct err *err)
{
	(void)box;
	(void)head;
	(void)err;
	return 0;
}

static inline int fake_kill(struct box *box, struct err *err)
{
	struct fake_sandbox *sandbox = (struct fake_sandbox *)box;

	(void)err;
	sandbox->fake->kill_count++;
	sandbox->is_killed = true;
	return 0;
}

static inline void fake_stands(struct box *box)
{
	((struct fake_sandbox *)box)->has_stood = true;
}

static const struct box_impl fake_box_impl = {
	.begin = fake_begin,
	.end = fake_nothing,
	.interrupt = fake_nothing,
	.kill = fake_kill,
	.stands = fake_stands,
};

/* ---- the backend ---- */

static inline int fake_open_backend(const struct backend *self, uv_loop_t *loop,
				    const struct backend_settings *settings,
				    const struct backend_calls *calls, void *user,
				    struct backend_instance **ret_instance, struct err *err)
{
	struct fake *fake =
		(struct fake *)(void *)((char *)(uintptr_t)self - offsetof(struct fake, row));

	(void)loop;
	(void)settings;
	(void)err;
	fake->instance.backend = self;
	fake->calls = calls;
	fake->user = user;
	fake->is_open = true;
	*ret_instance = &fake->instance;
	return 0;
}

static inline void fake_close_backend(struct backend_instance *instance)
{
	struct fake *fake = (struct fake *)instance;

	fake->is_open = false;
	for (size_t i = 0; i < fake->spawn_count; i++) {
		if (fake->sandboxes[i].is_live)
			fake_close(&fake->sandboxes[i]);
	}
}

static inline int fake_prepare(struct backend_instance *instance, const struct box_kind *kind,
			       struct err *err)
{
	(void)instance;
	(void)kind;
	(void)err;
	return 0;
}

static inline int fake_make(struct backend_instance *instance, const struct box_kind *kind,
			    const int fds[BOX_FD_COUNT], const struct box_calls *calls, void *user,
			    struct box **ret_box, struct err *err)
{
	struct fake *fake = (struct fake *)instance;
	struct fake_sandbox *sandbox = &fake->sandboxes[fake->spawn_count];

	(void)err;
	assert_ptr_equal(kind->backend, &fake->row);
	assert_true(kind->data == NULL || kind->data[0] == '/');
	assert_true(fake->spawn_count + 1 < FAKE_SANDBOXES);
	*sandbox = (struct fake_sandbox){.fake = fake, .is_live = true};
	sandbox->box = (struct box){.impl = &fake_box_impl,
				    .backend = &fake->row,
				    .calls = calls,
				    .user = user,
				    .number = (uint32_t)fake->spawn_count,
				    .walls = fake->facts.walls};
	fake->spawn_count++;
	for (size_t i = 0; i < BOX_FD_COUNT; i++) {
		sandbox->fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 0);
		assert_true(sandbox->fds[i] >= 0);
	}
	buf_init(&sandbox->in, 1U << 20);
	sandbox->is_failing = fake->fails_spawns;
	if (!fake->fails_spawns && !fake->is_slow)
		fake_hello(fake, sandbox);
	*ret_box = &sandbox->box;
	return 0;
}

static inline void fake_row(struct fake *fake, const char *name, uint32_t priority)
{
	fake->row = (struct backend){
		.name = name,
		.priority = priority,
		.isolation = "a test",
		.uses = FAKE_USES,
		.by_order = FAKE_USES,
		.not_for = "it is a test",
		.remedy = "none",
		.open = fake_open_backend,
		.close = fake_close_backend,
		.prepare = fake_prepare,
		.make = fake_make,
		.box = &fake_box_impl,
		.walls = WALLS_ALL,
	};
	fake->facts = (struct backend_facts){.walls = WALLS_ALL, .landlock_abi = 7};
	fake->walls = WALLS_ALL;
	fake->end = (struct box_exit){
		.cause = BOX_CAUSE_ASKED, .code = -1, .signal = SIGKILL, .peak = 1000};
}

/* The backend is gone, and every box with it. */
static inline void fake_lose(struct fake *fake)
{
	struct err why = {0};

	(void)err_set(&why, ERR_INTERNAL, EPIPE, "the fake is gone");
	fake->calls->lost(fake->user, &why);
}

/* ---- turns ---- */

/* Reads viv's frames on a sandbox's channel, and remembers the nonce of RUN and CHECK. */
static inline void fake_listen(struct fake_sandbox *sandbox)
{
	uint8_t bytes[65536];
	struct frame frame;
	struct err err = {0};
	ssize_t n = recv(sandbox->fds[BOX_CHANNEL], bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n <= 0)
		return;
	assert_int_equal(buf_append(&sandbox->in, bytes, (size_t)n), 0);
	if (frame_decode(sandbox->in.data, sandbox->in.size, &frame, &err) > 0 &&
	    (frame.header.type == FRAME_RUN || frame.header.type == FRAME_CHECK)) {
		sandbox->nonce = frame.header.nonce;
		sandbox->asked = frame.header.type;
	}
}

static inline void fake_turn_sandbox(struct fake *fake, struct fake_sandbox *sandbox)
{
	struct err why = {0};

	if (sandbox->is_failing) {
		(void)err_set(&why, ERR_INTERNAL, EIO, "it never stood");
		fake_close(sandbox);
		sandbox->box.calls->gone(sandbox->box.user, &why);
	} else if (sandbox->is_killed && !fake->is_mute) {
		fake_exit(fake, sandbox, &fake->end);
	} else {
		fake_listen(sandbox);
	}
}

/* The backend's part of a turn. */
static inline void fake_turn_backend(struct fake *fake)
{
	if (fake->is_open && !fake->is_told) {
		fake->is_told = true;
		fake->calls->hello(fake->user, &fake->facts);
	}
	for (size_t i = 0; i < fake->spawn_count; i++) {
		if (fake->sandboxes[i].is_live)
			fake_turn_sandbox(fake, &fake->sandboxes[i]);
	}
}

/* One turn of the loop, then of the backend and its sandboxes. */
static inline void fake_turn(struct fake *fake)
{
	(void)uv_run(&fake->loop, UV_RUN_ONCE);
	fake_turn_backend(fake);
}

#define fake_until(fake, condition)                                                                \
	do {                                                                                       \
		int turns_ = 0;                                                                    \
		while (!(condition)) {                                                             \
			if (turns_++ > FAKE_TURNS)                                                 \
				fail_msg("never: %s", #condition);                                 \
			fake_turn(fake);                                                           \
		}                                                                                  \
	} while (0)

static inline void fake_tick(uv_timer_t *timer)
{
	(void)timer;
}

static inline struct box_kind fake_kind(const struct fake *fake, bool is_cold)
{
	return (struct box_kind){
		.backend = &fake->row,
		.runtime = &fake->runtime,
		.trust = "test",
		.plan = {.version = PLAN_VERSION,
			 .limits = LIMITS_MEASURED,
			 .memory = 512 * MIB,
			 .disk = 64 * MIB,
			 .pids = 64,
			 .cpus_milli = 1000,
			 .files = 256},
		.is_cold = is_cold,
	};
}

/* A pool over the fake, and `other` (or NULL), which has a name and a priority by fake_row. */
static inline void fake_open_two(struct fake *fake, struct fake *other,
				 struct pool_settings *settings)
{
	struct err err = {0};

	*fake = (struct fake){0};
	fake_row(fake, "fake", 60);
	fake->table[0] = &fake->row;
	fake->table[1] = other != NULL ? &other->row : NULL;
	settings->table = fake->table;
	assert_int_equal(uv_loop_init(&fake->loop), 0);
	assert_int_equal(uv_timer_init(&fake->loop, &fake->clock), 0);
	assert_int_equal(uv_timer_start(&fake->clock, fake_tick, 1, 1), 0);
	runtime_init(&fake->runtime, "bare");
	assert_ok(pool_new(&fake->loop, settings, &fake->pool, &err), err);
}

static inline void fake_open(struct fake *fake, struct pool_settings *settings)
{
	fake_open_two(fake, NULL, settings);
}

static inline void fake_done(struct fake *fake)
{
	pool_close(fake->pool);
	uv_close((uv_handle_t *)&fake->clock, NULL);
	assert_int_equal(uv_run(&fake->loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(uv_loop_close(&fake->loop), 0);
	runtime_done(&fake->runtime);
}
