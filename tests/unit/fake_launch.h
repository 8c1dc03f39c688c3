// SPDX-License-Identifier: Apache-2.0
/*
 * Fake launch - viv-launch and its sandboxes, played for the backend namespace in the same loop
 *
 * Owns:    the other ends of everything: the launch socket, and of each sandbox its pipes and
 * channel. May not: wait: the test turns the loop with fake_turn() until what it wants has
 * happened.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>
#include <uv.h>

#include <sys/socket.h>

#include "base/buf.h"
#include "base/c.h"
#include "base/io.h"
#include "proto/frame.h"
#include "proto/launch_msg.h"
#include "session/pool.h"
#include "session/run.h"
#include "unit.h"

#define FAKE_SANDBOXES 64
#define FAKE_TURNS 2000 /* then what a test waits for will not happen */

struct fake_sandbox {
	bool is_live, is_begun;
	uint32_t id, timeout_ms;
	int32_t zygote;
	int fds[4]; /* owned: stdin, stdout, stderr, channel: the sandbox's ends */
	struct buf in;
	uint64_t nonce;   /* of the RUN or CHECK that came */
	uint16_t asked;   /* FRAME_RUN or FRAME_CHECK */
	uint32_t counter; /* of the last frame it has sent */
};

struct fake {
	uv_loop_t loop;
	uv_timer_t clock; /* keeps a turn of the loop short */
	int socket;       /* owned */
	struct pool *pool;
	struct runtime runtime;
	struct fake_sandbox sandboxes[FAKE_SANDBOXES]; /* in the order of their spawns */
	size_t spawn_count, kill_count, zygote_count, retire_count;
	uint32_t last_retired;
	uint32_t walls;      /* what new sandboxes report */
	bool fails_spawns;   /* they never stand */
	bool is_slow;        /* HELLO comes only by fake_hello() */
	bool is_mute;        /* KILL is not answered */
	struct box_exit end; /* told after KILL; cause ASKED unless set */
};

static inline void fake_tell(struct fake *fake, const struct launch_event *event)
{
	assert_int_equal(send(fake->socket, event, sizeof(*event), MSG_NOSIGNAL), sizeof(*event));
}

static inline struct fake_sandbox *fake_find(struct fake *fake, uint32_t id)
{
	for (size_t i = 0; i < fake->spawn_count; i++) {
		if (fake->sandboxes[i].id == id && fake->sandboxes[i].is_live)
			return &fake->sandboxes[i];
	}
	return NULL;
}

static inline void fake_send(struct fake_sandbox *sandbox, uint16_t type, uint16_t flags,
			     uint64_t nonce, const void *payload, size_t size)
{
	struct frame_header *header;
	struct buf frame;

	buf_init(&frame, size + 64);
	assert_int_equal(frame_append(&frame, type, flags, nonce, payload, size), 0);
	header = (struct frame_header *)(void *)frame.data;
	header->counter = ++sandbox->counter;
	assert_int_equal(send(sandbox->fds[3], frame.data, frame.size, MSG_NOSIGNAL), frame.size);
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
	for (size_t i = 0; i < 4; i++)
		drop_fd(&sandbox->fds[i]);
	buf_done(&sandbox->in);
	sandbox->is_live = false;
}

static inline void fake_exit(struct fake *fake, struct fake_sandbox *sandbox,
			     const struct box_exit *exit)
{
	struct launch_event event = {.type = LAUNCH_EXIT,
				     .id = sandbox->id,
				     .exit = {.sandbox = sandbox->id,
					      .cause = exit->cause,
					      .code = exit->code,
					      .signal = exit->signal,
					      .oom_kills = exit->oom_kills,
					      .peak = exit->peak,
					      .cpu_us = exit->cpu_us,
					      .memory = exit->memory}};

	fake_tell(fake, &event);
	event = (struct launch_event){.type = LAUNCH_GONE, .id = sandbox->id};
	fake_tell(fake, &event);
	fake_close(sandbox);
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

static inline void fake_spawn(struct fake *fake, const struct launch_request *request, int *fds)
{
	struct fake_sandbox *sandbox = &fake->sandboxes[fake->spawn_count++];
	struct launch_event event = {.type = LAUNCH_GONE, .id = request->spawn.sandbox};

	assert_true(fake->spawn_count < FAKE_SANDBOXES);
	*sandbox = (struct fake_sandbox){.is_live = true,
					 .id = request->spawn.sandbox,
					 .zygote = request->spawn.zygote,
					 .fds = {fds[0], fds[1], fds[2], fds[3]}};
	buf_init(&sandbox->in, 1U << 20);
	if (fake->fails_spawns) {
		(void)err_set(&event.err, ERR_INTERNAL, EIO, "it never stood");
		fake_tell(fake, &event);
		fake_close(sandbox);
		return;
	}
	event.type = LAUNCH_SPAWNED;
	fake_tell(fake, &event);
	if (!fake->is_slow)
		fake_hello(fake, sandbox);
}

static inline void fake_answer(struct fake *fake, const struct launch_request *request, int *fds)
{
	struct launch_event event = {0};
	struct fake_sandbox *sandbox = NULL;

	switch (request->type) {
	case LAUNCH_ROOT:
		event = (struct launch_event){.type = LAUNCH_ROOT_MADE, .id = request->root.root};
		fake_tell(fake, &event);
		break;
	case LAUNCH_ZYGOTE:
		fake->zygote_count++;
		event = (struct launch_event){.type = LAUNCH_ZYGOTE_UP,
					      .id = request->zygote.zygote};
		fake_tell(fake, &event);
		break;
	case LAUNCH_RETIRE:
		fake->retire_count++;
		fake->last_retired = request->id;
		event = (struct launch_event){.type = LAUNCH_ZYGOTE_DOWN, .id = request->id};
		fake_tell(fake, &event);
		break;
	case LAUNCH_SPAWN:
		fake_spawn(fake, request, fds);
		break;
	case LAUNCH_BEGIN:
		sandbox = fake_find(fake, request->begin.sandbox);
		if (sandbox == NULL) {
			fail_msg("begun, and not there: %u", request->begin.sandbox);
			break;
		}
		sandbox->is_begun = true;
		sandbox->timeout_ms = request->begin.timeout_ms;
		break;
	case LAUNCH_KILL:
		fake->kill_count++;
		sandbox = fake_find(fake, request->id);
		if (sandbox != NULL && !fake->is_mute)
			fake_exit(fake, sandbox, &fake->end);
		break;
	default:
		fail_msg("viv sent %u", request->type);
	}
}

/* What viv said on a sandbox's channel: remembers the nonce of RUN and CHECK. */
static inline void fake_listen(struct fake_sandbox *sandbox)
{
	uint8_t bytes[65536];
	struct frame frame;
	struct err err = {0};
	ssize_t n = recv(sandbox->fds[3], bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n <= 0)
		return;
	assert_int_equal(buf_append(&sandbox->in, bytes, (size_t)n), 0);
	if (frame_decode(sandbox->in.data, sandbox->in.size, &frame, &err) > 0 &&
	    (frame.header.type == FRAME_RUN || frame.header.type == FRAME_CHECK)) {
		sandbox->nonce = frame.header.nonce;
		sandbox->asked = frame.header.type;
	}
}

/* One turn of the loop, then of launch and the sandboxes. */
static inline void fake_turn(struct fake *fake)
{
	struct launch_request request = {0};
	int fds[IO_FDS_MAX];
	size_t fd_count = 0;

	(void)uv_run(&fake->loop, UV_RUN_ONCE);
	while (fake->socket >= 0 &&
	       io_recv_fds(fake->socket, &request, sizeof(request), fds, &fd_count) > 0)
		fake_answer(fake, &request, fds);
	for (size_t i = 0; i < fake->spawn_count; i++) {
		if (fake->sandboxes[i].is_live)
			fake_listen(&fake->sandboxes[i]);
	}
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
		.backend = &backend_namespace,
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

static inline void fake_open(struct fake *fake, struct pool_settings *settings)
{
	struct launch_event hello = {
		.type = LAUNCH_HELLO,
		.hello = {.version = LAUNCH_VERSION, .landlock_abi = 7, .limits = LAUNCH_LIMITS_V2},
	};
	struct err err = {0};
	int pair[2];

	*fake = (struct fake){
		.walls = WALLS_ALL,
		.end = {.cause = BOX_CAUSE_ASKED, .code = -1, .signal = SIGKILL, .peak = 1000}};
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	fake->socket = pair[0];
	assert_int_equal(fcntl(fake->socket, F_SETFL, O_NONBLOCK), 0);
	settings->launch_socket = pair[1];
	assert_int_equal(uv_loop_init(&fake->loop), 0);
	assert_int_equal(uv_timer_init(&fake->loop, &fake->clock), 0);
	assert_int_equal(uv_timer_start(&fake->clock, fake_tick, 1, 1), 0);
	runtime_init(&fake->runtime, "bare");
	assert_ok(pool_new(&fake->loop, settings, &fake->pool, &err), err);
	fake_tell(fake, &hello);
}

static inline void fake_done(struct fake *fake)
{
	pool_close(fake->pool);
	uv_close((uv_handle_t *)&fake->clock, NULL);
	assert_int_equal(uv_run(&fake->loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(uv_loop_close(&fake->loop), 0);
	for (size_t i = 0; i < fake->spawn_count; i++) {
		if (fake->sandboxes[i].is_live)
			fake_close(&fake->sandboxes[i]);
	}
	drop_fd(&fake->socket);
	runtime_done(&fake->runtime);
}
