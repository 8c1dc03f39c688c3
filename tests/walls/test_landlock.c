// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "attempt.h"
#include "base/c.h"

/* The root of the room is writable, so that only landlock stands in the way of these. */
#define OUTSIDE "/outside"

/* The errno expected of a kernel that knows this ABI; an older one does as without the wall. */
static int since_abi(uint32_t abi, int refusal, int without)
{
	return landlock_probe() >= abi ? refusal : without;
}

static int create(const char *path)
{
	AUTO_CLOSE int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	return tried(fd);
}

static void prepare_outside(void)
{
	if (mkdir(OUTSIDE, 0700) < 0 || create(OUTSIDE "/file") != 0)
		give_up(OUTSIDE);
}

static int write_outside(struct walls_input *input, const struct wall *wall)
{
	prepare_outside();
	put_up(wall, input);
	return tried(open(OUTSIDE "/file", O_WRONLY));
}

static int create_outside(struct walls_input *input, const struct wall *wall)
{
	prepare_outside();
	put_up(wall, input);
	return create(OUTSIDE "/new");
}

static int remove_outside(struct walls_input *input, const struct wall *wall)
{
	prepare_outside();
	put_up(wall, input);
	return tried(unlink(OUTSIDE "/file"));
}

static int link_outside(struct walls_input *input, const struct wall *wall)
{
	prepare_outside();
	put_up(wall, input);
	return tried(symlink("/etc", OUTSIDE "/link"));
}

static int truncate_outside(struct walls_input *input, const struct wall *wall)
{
	prepare_outside();
	put_up(wall, input);
	return tried(truncate(OUTSIDE "/file", 0));
}

static int write_own_memory(struct walls_input *input, const struct wall *wall)
{
	put_up(wall, input);
	return tried(open("/proc/self/mem", O_RDWR));
}

static void nothing_outside_can_be_changed(void **state)
{
	(void)state;
	assert_int_equal(attempt(write_outside, NULL), 0);
	assert_int_equal(attempt(write_outside, &wall_landlock), EACCES);
	assert_int_equal(attempt(create_outside, NULL), 0);
	assert_int_equal(attempt(create_outside, &wall_landlock), EACCES);
	assert_int_equal(attempt(remove_outside, NULL), 0);
	assert_int_equal(attempt(remove_outside, &wall_landlock), EACCES);
	assert_int_equal(attempt(link_outside, NULL), 0);
	assert_int_equal(attempt(link_outside, &wall_landlock), EACCES);
	assert_int_equal(attempt(truncate_outside, NULL), 0);
	assert_int_equal(attempt(truncate_outside, &wall_landlock), since_abi(3, EACCES, 0));
	assert_int_equal(attempt(write_own_memory, NULL), 0);
	assert_int_equal(attempt(write_own_memory, &wall_landlock), EACCES);
}

/* Returns 0, or the line of the first thing that should work and does not. */
static int use_what_is_ours(struct walls_input *input, const struct wall *wall)
{
	put_up(wall, input);
	if (tried(open("/etc/ld.so.cache", O_RDONLY)) != 0)
		return 1;
	if (create("/workspace/a") != 0 || create("/tmp/b") != 0 || create("/dev/shm/c") != 0)
		return 2;
	if (mkdir("/workspace/d", 0700) < 0 || symlink("a", "/workspace/l") < 0)
		return 3;
	if (rename("/workspace/a", "/workspace/d/a") < 0 && landlock_probe() >= 2)
		return 4;
	if (tried(open("/dev/null", O_RDWR | O_TRUNC)) != 0 || create("/dev/full") != 0)
		return 5;
	if (truncate("/tmp/b", 10) < 0 || unlink("/tmp/b") < 0 || rmdir("/workspace/e") == 0)
		return 6;
	if (mkfifo("/tmp/fifo", 0600) < 0)
		return 7;
	return access("/usr/bin/env", X_OK) == 0 ? 0 : 8;
}

static void what_is_ours_still_works(void **state)
{
	(void)state;
	assert_int_equal(attempt(use_what_is_ours, &wall_landlock), 0);
}

static int tcp(int (*act)(int, const struct sockaddr *, socklen_t), in_port_t port)
{
	const struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)},
	};
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		give_up("socket");
	return tried(act(fd, (const struct sockaddr *)&address, sizeof(address)));
}

static int bind_tcp(struct walls_input *input, const struct wall *wall)
{
	put_up(wall, input);
	return tcp(bind, 0);
}

/* Port 1 is nobody's: the packet is refused, unless the call is. */
static int connect_tcp(struct walls_input *input, const struct wall *wall)
{
	put_up(wall, input);
	return tcp(connect, 1);
}

static void tcp_is_refused(void **state)
{
	(void)state;
	assert_int_equal(attempt(bind_tcp, NULL), 0);
	assert_int_equal(attempt(bind_tcp, &wall_landlock), since_abi(4, EACCES, 0));
	assert_int_equal(attempt(connect_tcp, NULL), ECONNREFUSED);
	assert_int_equal(attempt(connect_tcp, &wall_landlock), since_abi(4, EACCES, ECONNREFUSED));
}

static int talk_to_a_device(struct walls_input *input, const struct wall *wall)
{
	int room;

	put_up(wall, input);
	return tried(ioctl(open("/dev/zero", O_RDONLY), FIONREAD, &room));
}

static void ioctls_of_devices_are_refused(void **state)
{
	(void)state;
	assert_int_equal(attempt(talk_to_a_device, NULL), ENOTTY);
	assert_int_equal(attempt(talk_to_a_device, &wall_landlock), since_abi(5, EACCES, ENOTTY));
}

static int signal_the_parent(struct walls_input *input, const struct wall *wall)
{
	put_up(wall, input);
	return tried(kill(getppid(), 0));
}

static int signal_oneself(struct walls_input *input, const struct wall *wall)
{
	put_up(wall, input);
	return tried(kill(getpid(), 0));
}

static void signals_stay_inside(void **state)
{
	(void)state;
	assert_int_equal(attempt(signal_the_parent, NULL), 0);
	assert_int_equal(attempt(signal_the_parent, &wall_landlock), since_abi(6, EPERM, 0));
	assert_int_equal(attempt(signal_oneself, &wall_landlock), 0);
}

/* The listener is older than the wall, and so outside of it. */
static int call_an_abstract_socket(struct walls_input *input, const struct wall *wall)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const struct sockaddr *name = (const struct sockaddr *)&address;
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);
	int caller;

	(void)snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "viv-test-%d", getpid());
	if (bind(listener, name, sizeof(address)) < 0 || listen(listener, 1) < 0)
		give_up("listen");
	put_up(wall, input);
	caller = socket(AF_UNIX, SOCK_STREAM, 0);
	return tried(connect(caller, name, sizeof(address)));
}

static void abstract_sockets_stay_inside(void **state)
{
	(void)state;
	assert_int_equal(attempt(call_an_abstract_socket, NULL), 0);
	assert_int_equal(attempt(call_an_abstract_socket, &wall_landlock), since_abi(6, EPERM, 0));
}

static int stand_on_no_abi(struct walls_input *input, const struct wall *wall)
{
	struct err err = {0};

	input->landlock_abi = 0;
	return -wall->up(input, &err);
}

static int stand_without_a_workspace(struct walls_input *input, const struct wall *wall)
{
	struct err err = {0};

	if (rmdir("/workspace") < 0)
		give_up("rmdir");
	return -wall->up(input, &err);
}

static int stand_on_a_link(struct walls_input *input, const struct wall *wall)
{
	struct err err = {0};
	int r;

	if (rmdir("/workspace") < 0 || symlink("/usr", "/workspace") < 0)
		give_up("symlink");
	r = wall->up(input, &err);
	/* The rule names the link itself, which opens nothing behind it. */
	return r < 0 ? -r : create("/usr/new");
}

static void it_refuses_rather_than_stand_half(void **state)
{
	(void)state;
	assert_int_equal(attempt(stand_on_no_abi, &wall_landlock), EOPNOTSUPP);
	assert_int_equal(attempt(stand_without_a_workspace, &wall_landlock), ENOENT);
	assert_int_not_equal(attempt(stand_on_a_link, &wall_landlock), 0);
}

static int count_descriptors(struct walls_input *input, const struct wall *wall)
{
	int before = dup(0);
	int after;

	put_up(wall, input);
	after = dup(0);
	return after - before;
}

static void no_descriptor_is_left(void **state)
{
	(void)state;
	assert_int_equal(attempt(count_descriptors, NULL), 1);
	assert_int_equal(attempt(count_descriptors, &wall_landlock), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_outside_can_be_changed),
		cmocka_unit_test(what_is_ours_still_works),
		cmocka_unit_test(tcp_is_refused),
		cmocka_unit_test(ioctls_of_devices_are_refused),
		cmocka_unit_test(signals_stay_inside),
		cmocka_unit_test(abstract_sockets_stay_inside),
		cmocka_unit_test(it_refuses_rather_than_stand_half),
		cmocka_unit_test(no_descriptor_is_left),
	};

	return run_attempts("landlock", tests, ARRAY_LEN(tests));
}
