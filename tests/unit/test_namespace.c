// SPDX-License-Identifier: Apache-2.0
/* The backend namespace, by its interface alone; viv-launch is played here, in the same loop. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <sys/socket.h>

#include "backend/backend.h"
#include "base/c.h"
#include "base/io.h"
#include "policy/runtime.h"
#include "proto/launch_msg.h"
#include "unit.h"

#define SPAWNS 64
#define TURNS 2000 /* then what a test waits for will not happen */

struct scene {
	uv_loop_t loop;
	uv_timer_t clock; /* keeps a turn of the loop short */
	int socket;       /* owned: viv-launch's end */
	int null;         /* owned */
	struct backend_instance *instance;
	struct runtime runtime;
	struct box_kind kind;
	bool is_told, is_lost;
	struct err why;
	int32_t zygotes[SPAWNS]; /* of each spawn; -1: cold */
	size_t spawn_count, zygote_count, retire_count, gone_count;
};

/* ---- viv-launch ---- */

static void tell(struct scene *scene, struct launch_event event)
{
	assert_int_equal(send(scene->socket, &event, sizeof(event), MSG_NOSIGNAL), sizeof(event));
}

static void answer(struct scene *scene, const struct launch_request *request)
{
	switch (request->type) {
	case LAUNCH_ROOT:
		tell(scene,
		     (struct launch_event){.type = LAUNCH_ROOT_MADE, .id = request->root.root});
		break;
	case LAUNCH_ZYGOTE:
		scene->zygote_count++;
		tell(scene,
		     (struct launch_event){.type = LAUNCH_ZYGOTE_UP, .id = request->zygote.zygote});
		break;
	case LAUNCH_RETIRE:
		scene->retire_count++;
		tell(scene, (struct launch_event){.type = LAUNCH_ZYGOTE_DOWN, .id = request->id});
		break;
	case LAUNCH_SPAWN:
		assert_true(scene->spawn_count < SPAWNS);
		scene->zygotes[scene->spawn_count++] = request->spawn.zygote;
		tell(scene,
		     (struct launch_event){.type = LAUNCH_SPAWNED, .id = request->spawn.sandbox});
		break;
	case LAUNCH_KILL:
		tell(scene, (struct launch_event){.type = LAUNCH_EXIT,
						  .id = request->id,
						  .exit = {.sandbox = request->id,
							   .cause = BOX_CAUSE_ASKED,
							   .code = -1,
							   .signal = SIGKILL}});
		tell(scene, (struct launch_event){.type = LAUNCH_GONE, .id = request->id});
		break;
	default:
		fail_msg("viv sent %u", request->type);
	}
}

static void turn(struct scene *scene)
{
	struct launch_request request = {0};
	int fds[IO_FDS_MAX];
	size_t fd_count = 0;

	(void)uv_run(&scene->loop, UV_RUN_ONCE);
	while (scene->socket >= 0 &&
	       io_recv_fds(scene->socket, &request, sizeof(request), fds, &fd_count) > 0) {
		for (size_t i = 0; i < fd_count; i++)
			drop_fd(&fds[i]);
		answer(scene, &request);
	}
}

#define until(scene, condition)                                                                    \
	do {                                                                                       \
		int turns_ = 0;                                                                    \
		while (!(condition)) {                                                             \
			if (turns_++ > TURNS)                                                      \
				fail_msg("never: %s", #condition);                                 \
			turn(scene);                                                               \
		}                                                                                  \
	} while (0)

/* ---- whoever has the backend ---- */

static void on_hello(void *user, const struct backend_facts *facts)
{
	struct scene *scene = user;

	assert_int_equal(facts->walls, WALLS_ALL);
	scene->is_told = true;
}

static void on_changed(void *user)
{
	(void)user;
}

static void on_lost(void *user, const struct err *why)
{
	struct scene *scene = user;

	scene->is_lost = true;
	scene->why = *why;
}

static const struct backend_calls calls = {
	.hello = on_hello, .changed = on_changed, .lost = on_lost};

static void on_exited(void *user, uint32_t head, const struct box_exit *facts,
		      const struct err *why)
{
	(void)user;
	(void)head;
	(void)why;
	assert_int_equal(facts->signal, SIGKILL);
}

static void on_gone(void *user, const struct err *why)
{
	struct scene *scene = user;

	assert_int_equal(why->kind, ERR_NONE);
	scene->gone_count++;
}

static const struct box_calls box_calls = {.exited = on_exited, .gone = on_gone};

/* A box of this kind, once its template is there; it has not said HELLO. */
static struct box *make(struct scene *scene, const struct box_kind *kind)
{
	const int fds[BOX_FD_COUNT] = {scene->null, scene->null, scene->null, scene->null};
	size_t before = scene->spawn_count;
	struct box *box = NULL;
	struct err err = {0};

	assert_ok(backend_namespace.prepare(scene->instance, kind, &err), err);
	until(scene, backend_namespace.make(scene->instance, kind, fds, &box_calls, scene, &box,
					    &err) == 0);
	until(scene, scene->spawn_count > before);
	return box;
}

static void end(struct scene *scene, struct box *box)
{
	size_t before = scene->gone_count;
	struct err err = {0};

	assert_ok(box->impl->kill(box, &err), err);
	until(scene, scene->gone_count > before);
}

static void on_tick(uv_timer_t *timer)
{
	(void)timer;
}

static void scene_open(struct scene *scene, uint32_t forks_max)
{
	struct backend_settings settings = {.forks_max = forks_max, .age_ms = 1000000};
	struct err err = {0};
	int pair[2];

	*scene = (struct scene){.null = open("/dev/null", O_RDWR | O_CLOEXEC)};
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	scene->socket = pair[0];
	assert_int_equal(fcntl(scene->socket, F_SETFL, O_NONBLOCK), 0);
	settings.socket = pair[1];
	assert_int_equal(uv_loop_init(&scene->loop), 0);
	assert_int_equal(uv_timer_init(&scene->loop, &scene->clock), 0);
	assert_int_equal(uv_timer_start(&scene->clock, on_tick, 1, 1), 0);
	runtime_init(&scene->runtime, "bare");
	scene->kind = (struct box_kind){.backend = &backend_namespace,
					.runtime = &scene->runtime,
					.trust = "test",
					.plan = {.version = PLAN_VERSION,
						 .memory = 512 * MIB,
						 .disk = 64 * MIB,
						 .pids = 64,
						 .cpus_milli = 1000,
						 .files = 256}};
	assert_ok(backend_namespace.open(&backend_namespace, &scene->loop, &settings, &calls, scene,
					 &scene->instance, &err),
		  err);
	tell(scene, (struct launch_event){.type = LAUNCH_HELLO,
					  .hello = {.version = LAUNCH_VERSION,
						    .landlock_abi = 7,
						    .limits = LAUNCH_LIMITS_V2}});
	until(scene, scene->is_told);
}

static void scene_done(struct scene *scene)
{
	backend_namespace.close(scene->instance);
	uv_close((uv_handle_t *)&scene->clock, NULL);
	assert_int_equal(uv_run(&scene->loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(uv_loop_close(&scene->loop), 0);
	drop_fd(&scene->socket);
	drop_fd(&scene->null);
	runtime_done(&scene->runtime);
}

/* ---- tests ---- */

static void another_trust_has_a_zygote_of_its_own(void **state)
{
	struct scene scene;
	struct box_kind other;

	(void)state;
	scene_open(&scene, 5000);
	end(&scene, make(&scene, &scene.kind));
	assert_int_equal(scene.zygote_count, 1);

	other = scene.kind;
	other.trust = "somebody else";
	end(&scene, make(&scene, &other));
	assert_int_equal(scene.zygote_count, 2);

	/* Other limits are another sandbox, from the same zygote. */
	other = scene.kind;
	other.plan.memory /= 2;
	end(&scene, make(&scene, &other));
	assert_int_equal(scene.zygote_count, 2);
	assert_int_equal(scene.zygotes[2], scene.zygotes[0]);
	scene_done(&scene);
}

static void a_cold_one_needs_no_zygote(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene, 5000);
	scene.kind.is_cold = true;
	end(&scene, make(&scene, &scene.kind));
	assert_int_equal(scene.zygote_count, 0);
	assert_int_equal(scene.zygotes[0], -1);
	scene_done(&scene);
}

static void the_next_zygote_is_up_before_the_last_retires(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene, 3);
	for (int i = 0; i < 8; i++) {
		struct box *box = make(&scene, &scene.kind);

		box->impl->stands(box);
		assert_true(scene.zygote_count > scene.retire_count);
		end(&scene, box);
	}
	assert_true(scene.retire_count >= 2);
	/* Each served what it may, and the one it is replaced by served the rest. */
	assert_int_equal(scene.zygotes[0], scene.zygotes[2]);
	assert_int_not_equal(scene.zygotes[0], scene.zygotes[4]);
	scene_done(&scene);
}

static void a_zygote_retires_when_nothing_comes_from_it_any_more(void **state)
{
	struct scene scene;
	struct box *boxes[2];

	(void)state;
	scene_open(&scene, 2);
	boxes[0] = make(&scene, &scene.kind);
	boxes[1] = make(&scene, &scene.kind);
	until(&scene, scene.zygote_count == 2);
	boxes[0]->impl->stands(boxes[0]);
	for (int i = 0; i < 20; i++)
		turn(&scene);
	assert_int_equal(scene.retire_count, 0);
	boxes[1]->impl->stands(boxes[1]);
	until(&scene, scene.retire_count == 1);
	end(&scene, boxes[0]);
	end(&scene, boxes[1]);
	scene_done(&scene);
}

static void a_lost_launch_is_told(void **state)
{
	struct scene scene;

	(void)state;
	scene_open(&scene, 5000);
	scene.kind.is_cold = true;
	(void)make(&scene, &scene.kind);
	drop_fd(&scene.socket);
	until(&scene, scene.is_lost);
	assert_contains(scene.why.text, "the process that runs the sandboxes ended");
	assert_int_equal(scene.why.kind, ERR_BUSY); /* another one comes */
	assert_int_equal(scene.gone_count, 0);      /* its boxes are lost with it, and not told */
	scene_done(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_trust_has_a_zygote_of_its_own),
		cmocka_unit_test(a_cold_one_needs_no_zygote),
		cmocka_unit_test(the_next_zygote_is_up_before_the_last_retires),
		cmocka_unit_test(a_zygote_retires_when_nothing_comes_from_it_any_more),
		cmocka_unit_test(a_lost_launch_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
