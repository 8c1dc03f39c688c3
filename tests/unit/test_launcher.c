// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include <sys/file.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "backend/backend.h"
#include "backend/namespace/launcher.h"
#include "backend/namespace/launcher_start.h"
#include "base/c.h"
#include "base/io.h"
#include "unit.h"

struct wire {
	uv_loop_t loop;
	struct launcher *launcher;
	int other; /* launch's end */
	int hellos, events, losses;
	uint32_t last_id;
	struct err why;
};

static void on_event(void *user, const struct launch_event *event, int *take_fds, size_t fd_count)
{
	struct wire *wire = user;

	(void)take_fds;
	(void)fd_count;
	wire->events++;
	wire->last_id = event->id;
}

static void on_hello(void *user, const struct launch_hello *hello)
{
	struct wire *wire = user;

	assert_int_equal(hello->landlock_abi, 7);
	wire->hellos++;
}

static void on_lost(void *user, const struct err *why)
{
	struct wire *wire = user;

	wire->losses++;
	wire->why = *why;
}

static int wire_open(void **state)
{
	static const struct launcher_calls calls = {
		.event = on_event, .hello = on_hello, .lost = on_lost};
	struct wire *wire = xnew(struct wire);
	struct err err = {0};
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	wire->other = pair[0];
	assert_int_equal(uv_loop_init(&wire->loop), 0);
	assert_ok(launcher_attach(&wire->loop, &pair[1], &calls, wire, &wire->launcher, &err), err);
	*state = wire;
	return 0;
}

static int wire_close(void **state)
{
	struct wire *wire = *state;

	launcher_close(wire->launcher);
	assert_int_equal(uv_run(&wire->loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(uv_loop_close(&wire->loop), 0);
	drop_fd(&wire->other);
	free(wire);
	return 0;
}

static void tell(const struct wire *wire, const struct launch_event *event)
{
	assert_int_equal(send(wire->other, event, sizeof(*event), 0), sizeof(*event));
}

static void hello_comes_before_events(void **state)
{
	struct wire *wire = *state;
	const struct launch_event hello = {.type = LAUNCH_HELLO, .hello = {.landlock_abi = 7}};
	const struct launch_event event = {.type = LAUNCH_GONE, .id = 5};

	tell(wire, &hello);
	tell(wire, &event);
	(void)uv_run(&wire->loop, UV_RUN_ONCE);
	assert_int_equal(wire->hellos, 1);
	assert_int_equal(wire->events, 1);
	assert_int_equal(wire->last_id, 5);
}

static void a_hello_with_an_error_is_the_end(void **state)
{
	struct wire *wire = *state;
	struct launch_event hello = {.type = LAUNCH_HELLO};

	(void)err_set(&hello.err, ERR_INTERNAL, EPERM, "no user namespaces");
	tell(wire, &hello);
	(void)uv_run(&wire->loop, UV_RUN_ONCE);
	assert_int_equal(wire->hellos, 0);
	assert_int_equal(wire->losses, 1);
	assert_contains(wire->why.text, "no user namespaces");
}

static void the_end_is_told_once(void **state)
{
	struct wire *wire = *state;
	const struct launch_request request = {.type = LAUNCH_KILL, .id = 1};
	struct err err = {0};

	drop_fd(&wire->other);
	(void)uv_run(&wire->loop, UV_RUN_ONCE);
	(void)uv_run(&wire->loop, UV_RUN_NOWAIT);
	assert_int_equal(wire->losses, 1);
	assert_int_equal(launcher_send(wire->launcher, &request, NULL, 0, &err), -EPIPE);
}

static void half_an_event_is_the_end(void **state)
{
	struct wire *wire = *state;

	assert_int_equal(send(wire->other, "half", 4, 0), 4);
	(void)uv_run(&wire->loop, UV_RUN_ONCE);
	assert_int_equal(wire->losses, 1);
	assert_int_equal(wire->why.num, EPROTO);
}

/* Request number `number`: mostly large ones, now and then one with descriptors. */
static void send_one(const struct wire *wire, uint32_t number)
{
	struct launch_request request = {.type = LAUNCH_ROOT, .root = {.root = number}};
	struct err err = {0};
	int fd;

	if (number % 10 != 0) {
		assert_ok(launcher_send(wire->launcher, &request, NULL, 0, &err), err);
		return;
	}
	request = (struct launch_request){.type = LAUNCH_SPAWN, .spawn = {.sandbox = number}};
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_ok(launcher_send(wire->launcher, &request, (const int[]){fd, fd, fd, fd}, 4, &err),
		  err);
	/* Still ours: what waits in the queue has its own. */
	(void)close(fd);
}

static void what_does_not_fit_waits_in_order(void **state)
{
	const uint32_t count = 200; /* more than a megabyte: no socket holds that */
	struct wire *wire = *state;

	for (uint32_t i = 0; i < count; i++)
		send_one(wire, i);
	for (uint32_t i = 0; i < count; i++) {
		struct launch_request got = {0};
		int fds[IO_FDS_MAX];
		size_t fd_count = 0;

		assert_true(io_recv_fds(wire->other, &got, sizeof(got), fds, &fd_count) > 0);
		assert_int_equal(got.type, i % 10 == 0 ? LAUNCH_SPAWN : LAUNCH_ROOT);
		assert_int_equal(i % 10 == 0 ? got.spawn.sandbox : got.root.root, i);
		assert_int_equal(fd_count, i % 10 == 0 ? 4 : 0);
		for (size_t f = 0; f < fd_count; f++)
			drop_fd(&fds[f]);
		(void)uv_run(&wire->loop, UV_RUN_NOWAIT);
	}
}

#define WIRE(name) cmocka_unit_test_setup_teardown(name, wire_open, wire_close)

/* As it would go on with a lock after its starter ended, which another one waits for. */
static void a_new_launch_has_nothing_of_its_starter(void **state)
{
	char path[512] = "";
	const ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 32);
	const struct backend_stay stay = {.path = "", .owner = getuid()};
	char *name = NULL;

	(void)state;
	assert_true(size > 0);
	name = strrchr(path, '/') + 1;
	*name = '\0';
	(void)strcpy(name, "viv-launch"); /* where launcher_spawn looks first */
	(void)unlink(path);
	assert_int_equal(symlink("/bin/true", path), 0);
	for (int i = 0; i < 50; i++) {
		int lock = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
		int socket = open("/dev/null", O_RDONLY | O_CLOEXEC);
		int again = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
		struct err err = {0};
		pid_t pid = 0;

		assert_int_equal(flock(lock, LOCK_EX | LOCK_NB), 0);
		assert_ok(launcher_spawn(&stay, socket, &pid, &err), err);
		(void)close(lock);
		assert_int_equal(flock(again, LOCK_EX | LOCK_NB), 0);
		(void)close(again);
		(void)close(socket);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
	}
	assert_int_equal(unlink(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WIRE(hello_comes_before_events),
		WIRE(a_hello_with_an_error_is_the_end),
		WIRE(the_end_is_told_once),
		WIRE(half_an_event_is_the_end),
		WIRE(what_does_not_fit_waits_in_order),
		cmocka_unit_test(a_new_launch_has_nothing_of_its_starter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
