// SPDX-License-Identifier: Apache-2.0
/*
 * All walls at once: the order, the report, and that a wall that will not stand stops everything.
 * The shell that enter joins is a stand-in for the one that launch makes: the same namespaces, in
 * the same order of ownership.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "attempt.h"
#include "base/c.h"
#include "base/io.h"

#define EVERY_SPACE (CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET | CLONE_NEWCGROUP)

/* Ends when the other end of `line` is closed, which the fds wall or the attempt's end does. */
static _Noreturn void shell_main(int line)
{
	struct err err = {0};
	char byte;

	if (unshare(EVERY_SPACE) < 0 || unshare(CLONE_NEWUSER) < 0)
		give_up("namespaces of a shell");
	if (io_write_file(AT_FDCWD, "/proc/self/setgroups", "deny", &err) < 0 ||
	    io_write_file(AT_FDCWD, "/proc/self/uid_map", "1000 1000 1", &err) < 0 ||
	    io_write_file(AT_FDCWD, "/proc/self/gid_map", "1000 1000 1", &err) < 0)
		give_up(err.text);
	if (write(line, "!", 1) != 1)
		give_up("ready");
	_exit(read(line, &byte, 1) == 0 ? 0 : 1);
}

static void make_shell(struct walls_input *input)
{
	int ends[2];
	char byte;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		give_up("socketpair");
	pid = fork();
	if (pid == 0) {
		(void)close(ends[0]);
		shell_main(ends[1]);
	}
	(void)close(ends[1]);
	if (pid < 0 || read(ends[0], &byte, 1) != 1)
		give_up("shell");
	input->shell_pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (input->shell_pidfd < 0)
		give_up("pidfd_open");
}

/* Counts the lines of the kernel's report that say what they must. */
static int read_the_status(void)
{
	static const char *const lines[] = {
		"Seccomp:\t2\n",
		"NoNewPrivs:\t1\n",
		"Uid:\t1000\t1000\t1000\t1000\n",
		"Gid:\t1000\t1000\t1000\t1000\n",
		"CapInh:\t0000000000000000\n",
		"CapPrm:\t0000000000000000\n",
		"CapEff:\t0000000000000000\n",
		"CapBnd:\t0000000000000000\n",
		"CapAmb:\t0000000000000000\n",
	};
	FILE *status = fopen("/proc/thread-self/status", "re");
	char line[256];
	int missing = ARRAY_LEN(lines);

	if (status == NULL)
		give_up("status");
	while (fgets(line, sizeof(line), status) != NULL) {
		for (size_t i = 0; i < ARRAY_LEN(lines); i++)
			missing -= strcmp(line, lines[i]) == 0;
	}
	(void)fclose(status);
	return missing;
}

/* Returns 0, or 100 + what is missing of the kernel's report. */
static int put_all_up(struct walls_input *input, const struct wall *wall)
{
	struct walls_report report = {0};
	struct err err = {0};

	(void)wall;
	make_shell(input);
	if (walls_up(input, &report, &err) < 0)
		give_up(err.text);
	if (report.up != WALLS_ALL || report.landlock_abi == 0)
		return 1;
	if (fcntl(input->shell_pidfd, F_GETFD) >= 0 && input->shell_pidfd > WALL_CHANNEL_FD)
		return 2;
	return read_the_status() == 0 ? 0 : 100 + read_the_status();
}

static int put_all_up_measured(struct walls_input *input, const struct wall *wall)
{
	struct walls_report report = {0};
	struct err err = {0};

	(void)wall;
	make_shell(input);
	input->is_measured = 1;
	if (walls_up(input, &report, &err) < 0)
		give_up(err.text);
	return report.up == (WALLS_ALL & ~(1U << WALL_CGROUP)) ? 0 : 1;
}

static void all_walls_stand_and_are_reported(void **state)
{
	(void)state;
	assert_int_equal(attempt(put_all_up, NULL), 0);
}

static void a_measured_host_does_not_claim_the_cgroup_wall(void **state)
{
	(void)state;
	assert_int_equal(attempt(put_all_up_measured, NULL), 0);
}

/* Nothing may have gone up behind the wall that failed. */
static bool is_open(void)
{
	return prctl(PR_GET_SECCOMP) == 0 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0;
}

static int fail_at_the_first(struct walls_input *input, const struct wall *wall)
{
	struct walls_report report = {.up = WALLS_ALL};
	struct err err = {0};
	int r = walls_up(input, &report, &err);

	(void)wall;
	if (report.up != 0 || strncmp(err.text, "wall enter: ", 12) != 0 || !is_open())
		return 0;
	return -r;
}

static int fail_in_the_middle(struct walls_input *input, const struct wall *wall)
{
	struct walls_report report = {0};
	struct err err = {0};
	int r;

	(void)wall;
	make_shell(input);
	input->landlock_abi = 0;
	r = walls_up(input, &report, &err);
	if (strncmp(err.text, "wall landlock: ", 15) != 0 || prctl(PR_GET_SECCOMP) != 0)
		return 0;
	return (report.up & 1U << WALL_CAPS) && !(report.up & 1U << WALL_FDS) ? -r : 0;
}

static int bring_a_group_that_takes_nobody(struct walls_input *input, const struct wall *wall)
{
	(void)wall;
	make_shell(input);
	input->tasks[0] = open("/dev/full", O_WRONLY | O_CLOEXEC);
	input->task_count = 1;
	return fail_at_the_first(input, wall);
}

static void a_wall_that_will_not_stand_stops_everything(void **state)
{
	(void)state;
	assert_int_equal(attempt(bring_a_group_that_takes_nobody, NULL), ENOSPC);
	assert_int_equal(attempt(fail_at_the_first, NULL), EBADF);
	assert_int_equal(attempt(fail_in_the_middle, NULL), EOPNOTSUPP);
}

static int refusal_before_anything(const struct walls_input *input)
{
	struct walls_report report = {0};
	struct err err = {0};
	int r = walls_up(input, &report, &err);

	return report.up == 0 && is_open() ? -r : 0;
}

static int ask_for_a_cgroup_that_is_not_there(struct walls_input *input, const struct wall *wall)
{
	(void)wall;
	input->plan.limits = LIMITS_CGROUP;
	input->is_measured = 1;
	return refusal_before_anything(input);
}

static int bring_a_bad_plan(struct walls_input *input, const struct wall *wall)
{
	(void)wall;
	input->plan.files = 0;
	return refusal_before_anything(input);
}

static void *wait_to_be_ended(void *nothing)
{
	(void)pause();
	return nothing;
}

static int bring_a_second_thread(struct walls_input *input, const struct wall *wall)
{
	pthread_t thread;

	(void)wall;
	if (pthread_create(&thread, NULL, wait_to_be_ended, NULL) != 0)
		give_up("thread");
	return refusal_before_anything(input);
}

static void what_cannot_be_walled_in_is_refused_first(void **state)
{
	(void)state;
	assert_int_equal(attempt(ask_for_a_cgroup_that_is_not_there, NULL), EOPNOTSUPP);
	assert_int_equal(attempt(bring_a_bad_plan, NULL), EINVAL);
	assert_int_equal(attempt(bring_a_second_thread, NULL), EINVAL);
}

/* The answer of walls_wait to this message from launch; 0: success. */
static int told(uint32_t task_count, size_t fd_count)
{
	const struct walls_go go = {.task_count = task_count};
	struct walls_input input = {0};
	struct err err = {0};
	int fds[2];
	int pair[2];
	int r;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	fds[0] = fds[1] = pair[0];
	assert_true(io_send_fds(pair[0], &go, sizeof(go), fds, fd_count) > 0);
	r = walls_wait(pair[1], &input, &err);
	if (r == 0)
		assert_int_equal(input.task_count, task_count);
	for (uint32_t i = 0; i < input.task_count; i++)
		(void)close(input.tasks[i]);
	(void)close(pair[0]);
	(void)close(pair[1]);
	return r;
}

static void nobody_enters_without_all_its_groups(void **state)
{
	(void)state;
	assert_int_equal(told(0, 0), 0);
	assert_int_equal(told(2, 2), 0);
	assert_int_equal(told(2, 0), -EMFILE);
	assert_int_equal(told(3, 2), -EMFILE);
	assert_int_equal(told(0, 1), -EMFILE);
	assert_int_equal(told(WALL_TASKS_MAX + 1, 2), -EMFILE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_walls_stand_and_are_reported),
		cmocka_unit_test(a_measured_host_does_not_claim_the_cgroup_wall),
		cmocka_unit_test(a_wall_that_will_not_stand_stops_everything),
		cmocka_unit_test(what_cannot_be_walled_in_is_refused_first),
		cmocka_unit_test(nobody_enters_without_all_its_groups),
	};

	return run_attempts("walls", tests, ARRAY_LEN(tests));
}
