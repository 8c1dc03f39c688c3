// SPDX-License-Identifier: Apache-2.0
/* Calls that the filter refuses where folders of the host are shown, and file locks, which it
 * always refuses in part. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include <sys/file.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "attempt.h"
#include "base/c.h"

/* The program for a sandbox that sees as much of the host. */
static void show(struct walls_input *input, uint32_t shown)
{
	input->plan.shown = shown;
	input->filter =
		seccomp_program(&(struct seccomp_kind){.shown = shown}, &input->filter_count);
}

/* 0 when a socket at a path, in a folder that is shown, was reached. */
static int reach_a_path(struct walls_input *input, const struct wall *wall, bool by_pair)
{
	const int type = by_pair ? SOCK_DGRAM : SOCK_STREAM;
	struct sockaddr_un path = {.sun_family = AF_UNIX, .sun_path = "/tmp/listens"};
	const struct sockaddr *to = (const struct sockaddr *)(const void *)&path;
	int listener = socket(AF_UNIX, type, 0);
	int pair[2];

	if (listener < 0 || bind(listener, to, sizeof(path)) < 0 ||
	    (!by_pair && listen(listener, 1) < 0))
		give_up("a listener");
	put_up(wall, input);
	if (!by_pair)
		return tried(connect(socket(AF_UNIX, type, 0), to, sizeof(path)));
	if (socketpair(AF_UNIX, type, 0, pair) < 0)
		return errno;
	return tried(sendto(pair[0], "x", 1, 0, to, sizeof(path)));
}

static int connect_to_a_path(struct walls_input *input, const struct wall *wall)
{
	show(input, SHOWN_APART);
	return reach_a_path(input, wall, false);
}

static int send_to_a_path_by_a_pair(struct walls_input *input, const struct wall *wall)
{
	show(input, SHOWN_APART);
	return reach_a_path(input, wall, true);
}

static int lock_a_file(struct walls_input *input, const struct wall *wall)
{
	show(input, SHOWN_DIRECT);
	put_up(wall, input);
	return tried(flock(open("/usr/bin/env", O_RDONLY), LOCK_EX));
}

static int lock_a_range(struct walls_input *input, const struct wall *wall)
{
	const struct flock range = {.l_type = F_RDLCK, .l_len = 1};

	show(input, SHOWN_DIRECT);
	put_up(wall, input);
	return tried(fcntl(open("/usr/bin/env", O_RDONLY), F_SETLK, &range));
}

static int lock_by_open_file(struct walls_input *input, const struct wall *wall)
{
	const struct flock range = {.l_type = F_RDLCK, .l_len = 1};

	put_up(wall, input);
	return tried(fcntl(open("/usr/bin/env", O_RDONLY), F_OFD_SETLK, &range));
}

static int share_descriptors_with_a_child(struct walls_input *input, const struct wall *wall)
{
	long pid;

	put_up(wall, input);
	pid = syscall(SYS_clone, (long)(CLONE_FILES | SIGCHLD), 0L, 0L, 0L, 0L);
	if (pid == 0)
		_exit(0);
	return tried(pid);
}

static void where_folders_are_shown_less_is_let_through(void **state)
{
	(void)state;
	assert_int_equal(attempt(connect_to_a_path, NULL), 0);
	assert_int_equal(attempt(connect_to_a_path, &wall_seccomp), EBADF);
	assert_int_equal(attempt(send_to_a_path_by_a_pair, NULL), 0);
	assert_int_equal(attempt(send_to_a_path_by_a_pair, &wall_seccomp), EAFNOSUPPORT);
	assert_int_equal(attempt(lock_a_file, NULL), 0);
	assert_int_equal(attempt(lock_a_file, &wall_seccomp), ENOLCK);
	assert_int_equal(attempt(lock_a_range, NULL), 0);
	assert_int_equal(attempt(lock_a_range, &wall_seccomp), EPERM);
}

static void locks_have_an_owner_that_can_be_counted(void **state)
{
	(void)state;
	assert_int_equal(attempt(lock_by_open_file, NULL), 0);
	assert_int_equal(attempt(lock_by_open_file, &wall_seccomp), EPERM);
	assert_int_equal(attempt(share_descriptors_with_a_child, NULL), 0);
	assert_int_equal(attempt(share_descriptors_with_a_child, &wall_seccomp), EPERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(where_folders_are_shown_less_is_let_through),
		cmocka_unit_test(locks_have_an_owner_that_can_be_counted),
	};

	return run_attempts("shown", tests, ARRAY_LEN(tests));
}
