// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "attempt.h"
#include "base/c.h"
#include "walls/seccomp_table.h"

/* Some way beyond what any kernel has. */
#define NUMBERS 600

static const struct call_row *row_of(int number)
{
	for (size_t i = 0; i < call_row_count; i++) {
		if (seccomp_syscall_resolve_name(call_rows[i].name) == number)
			return &call_rows[i];
	}
	return NULL;
}

static long call(int number, long every_argument)
{
	const long a = every_argument;

	return syscall(number, a, a, a, a, a, a);
}

/* uretprobe and uprobe on x86-64: trampolines of the kernel's own, which it lets pass by any filter
 * and answers with SIGILL from anywhere else (Linux 6.11 and 6.18). */
static bool is_never_filtered(int number)
{
#if defined(__x86_64__)
	return number == 335 || number == 336;
#else
	(void)number;
	return false;
#endif
}

/* Returns 0 when every call without a permission got its errno, else 1 and names it. */
static int call_all_that_is_refused(struct walls_input *input, const struct wall *wall)
{
	put_up(wall, input);
	for (int number = 0; number < NUMBERS; number++) {
		const struct call_row *row = row_of(number);
		int expected = number > CALL_REVIEWED_MAX ? ENOSYS : EPERM;

		if (is_never_filtered(number) || (row != NULL && row->rule != CALL_REFUSE))
			continue;
		if (row != NULL)
			expected = row->refusal;
		errno = 0;
		/* An errno of 0 is the answer of a call that has nothing to do. */
		if (call(number, -1) != (expected == 0 ? 0 : -1) || errno != expected) {
			(void)fprintf(stderr, "number %d: errno %d\n", number, errno);
			return 1;
		}
	}
	return 0;
}

static void every_refused_number_gets_its_errno(void **state)
{
	(void)state;
	assert_int_equal(attempt(call_all_that_is_refused, &wall_seccomp), 0);
}

static void wake(int number)
{
	(void)number;
}

/* A timer keeps interrupting, so that calls that block come back. */
static void start_knocking(void)
{
	const struct sigaction action = {.sa_handler = wake};
	const struct itimerval often = {.it_interval = {.tv_usec = 2000},
					.it_value = {.tv_usec = 2000}};

	if (sigaction(SIGALRM, &action, NULL) < 0 || setitimer(ITIMER_REAL, &often, NULL) < 0)
		give_up("timer");
}

static bool is_refused(int number)
{
	/* A child of vfork borrows our stack, and must not return on it. */
	if (number == SYS_vfork) {
		pid_t pid =
			vfork(); // NOLINT(clang-analyzer-security.insecureAPI.vfork): under test

		if (pid == 0)
			_exit(0);
		return pid < 0;
	}
	if (call(number, -1) != -1 || (errno != EPERM && errno != ENOSYS))
		return false;
	/* futex answers ENOSYS by itself to an operation that is none; 0 is one. */
	return call(number, 0) == -1 && (errno == EPERM || errno == ENOSYS);
}

/* A process for each: some calls end it, some leave it unusable. True when it was let through. */
static bool is_let_through(int number)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		start_knocking();
		_exit(is_refused(number) ? 1 : 0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		give_up("fork");
	if (WIFSIGNALED(status))
		return number == SYS_rt_sigreturn && WTERMSIG(status) == SIGSEGV;
	if (number == SYS_exit || number == SYS_exit_group)
		return WEXITSTATUS(status) == 255;
	return WEXITSTATUS(status) == 0;
}

static int call_all_that_is_allowed(struct walls_input *input, const struct wall *wall)
{
	int r = 0;

	put_up(wall, input);
	for (size_t i = 0; i < call_row_count; i++) {
		int number = seccomp_syscall_resolve_name(call_rows[i].name);

		if (number < 0 || call_rows[i].rule != CALL_ALLOW || is_let_through(number))
			continue;
		(void)fprintf(stderr, "refused: %s\n", call_rows[i].name);
		r = 1;
	}
	return r;
}

static void every_allowed_number_reaches_the_kernel(void **state)
{
	(void)state;
	assert_int_equal(attempt(call_all_that_is_allowed, &wall_seccomp), 0);
}

static int ask_for_a_namespace(struct walls_input *input, const struct wall *wall)
{
	put_up(wall, input);
	return tried(unshare(CLONE_NEWUSER));
}

static int clone_into_a_namespace(struct walls_input *input, const struct wall *wall)
{
	long pid;

	put_up(wall, input);
	pid = syscall(SYS_clone, (long)(CLONE_NEWUSER | SIGCHLD), 0L, 0L, 0L, 0L);
	if (pid == 0)
		_exit(0);
	return tried(pid);
}

static int open_a_net_socket(struct walls_input *input, const struct wall *wall)
{
	put_up(wall, input);
	return tried(socket(AF_INET, SOCK_STREAM, 0));
}

static int open_a_netlink_socket(struct walls_input *input, const struct wall *wall)
{
	put_up(wall, input);
	return tried(socket(AF_NETLINK, SOCK_RAW, 0));
}

static int attach_a_program(struct walls_input *input, const struct wall *wall)
{
	struct sock_filter code = {.code = BPF_RET | BPF_K};
	const struct sock_fprog program = {.len = 1, .filter = &code};

	put_up(wall, input);
	return tried(setsockopt(input->channel, SOL_SOCKET, SO_ATTACH_FILTER, &program,
				sizeof(program)));
}

static int grow_a_pipe(struct walls_input *input, const struct wall *wall)
{
	int ends[2];

	put_up(wall, input);
	if (pipe(ends) < 0)
		return 0;
	return tried(fcntl(ends[0], F_SETPIPE_SZ, 8192));
}

static int lose_randomization(struct walls_input *input, const struct wall *wall)
{
	put_up(wall, input);
	return tried(syscall(SYS_personality, 0x0040000L));
}

static int watch_a_shared_inode(struct walls_input *input, const struct wall *wall)
{
	put_up(wall, input);
	return tried(syscall(SYS_inotify_init1, 0));
}

static int fill_another_filter_in(struct walls_input *input, const struct wall *wall)
{
	const uint32_t action = SECCOMP_RET_ALLOW;

	put_up(wall, input);
	return tried(syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action));
}

static int lower_a_neighbours_limit(struct walls_input *input, const struct wall *wall)
{
	put_up(wall, input);
	return tried(syscall(SYS_prlimit64, getpid(), 0, NULL, NULL));
}

static void what_works_without_the_filter_is_refused_with_it(void **state)
{
	const struct {
		attempt_act *act;
		int refusal;
	} rows[] = {
		{ask_for_a_namespace, EPERM},      {clone_into_a_namespace, EPERM},
		{open_a_net_socket, EAFNOSUPPORT}, {open_a_netlink_socket, EAFNOSUPPORT},
		{attach_a_program, ENOPROTOOPT},   {grow_a_pipe, EPERM},
		{lose_randomization, EPERM},       {watch_a_shared_inode, ENOSYS},
		{fill_another_filter_in, EPERM},   {lower_a_neighbours_limit, EPERM},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(attempt(rows[i].act, NULL), 0);
		assert_int_equal(attempt(rows[i].act, &wall_seccomp), rows[i].refusal);
	}
}

static int kill_everyone(struct walls_input *input, const struct wall *wall)
{
	put_up(wall, input);
	return tried(kill(-1, 0));
}

static int kill_a_group(struct walls_input *input, const struct wall *wall)
{
	put_up(wall, input);
	(void)setpgid(0, 0);
	return tried(kill(-getpid(), 0));
}

static void kill_reaches_a_group_but_not_everyone(void **state)
{
	(void)state;
	assert_int_equal(attempt(kill_everyone, NULL), 0);
	assert_int_equal(attempt(kill_everyone, &wall_seccomp), EPERM);
	assert_int_equal(attempt(kill_a_group, &wall_seccomp), 0);
}

static int push_a_byte_into_a_terminal(struct walls_input *input, const struct wall *wall)
{
	put_up(wall, input);
	return tried(ioctl(input->channel, TIOCSTI, "x"));
}

static int ask_what_is_unsent(struct walls_input *input, const struct wall *wall)
{
	put_up(wall, input);
	return tried(ioctl(input->channel, TIOCOUTQ, &(int){0}));
}

static void ioctls_are_a_list(void **state)
{
	(void)state;
	assert_int_equal(attempt(push_a_byte_into_a_terminal, &wall_seccomp), ENOTTY);
	assert_int_equal(attempt(ask_what_is_unsent, NULL), 0);
	assert_int_equal(attempt(ask_what_is_unsent, &wall_seccomp), ENOTTY);
}

static void *unshare_in_a_thread(void *result)
{
	*(int *)result = tried(unshare(0));
	return NULL;
}

static int start_a_thread(struct walls_input *input, const struct wall *wall)
{
	pthread_t thread;
	int result = 255;

	put_up(wall, input);
	if (pthread_create(&thread, NULL, unshare_in_a_thread, &result) != 0)
		give_up("thread");
	(void)pthread_join(thread, NULL);
	return result;
}

static int start_a_program(struct walls_input *input, const struct wall *wall)
{
	put_up(wall, input);
	(void)dup2(open("/dev/null", O_WRONLY), 2);
	return tried(execl("/usr/bin/unshare", "unshare", "-U", "true", NULL));
}

static void threads_and_programs_inherit_it(void **state)
{
	(void)state;
	assert_int_equal(attempt(start_a_thread, NULL), 0);
	assert_int_equal(attempt(start_a_thread, &wall_seccomp), EPERM);
	assert_int_equal(attempt(start_a_program, NULL), 0);
	assert_int_equal(attempt(start_a_program, &wall_seccomp), 1);
}

#if defined(__x86_64__)
static int call_as_32_bit(struct walls_input *input, const struct wall *wall)
{
	long result = 20; /* getpid of i386 */

	put_up(wall, input);
	__asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
	return result > 0 ? 0 : 1;
}

static int call_as_x32(struct walls_input *input, const struct wall *wall)
{
	put_up(wall, input);
	(void)syscall(0x40000000L | SYS_getpid);
	return 0;
}

static void other_doors_into_the_kernel_end_the_process(void **state)
{
	(void)state;
	/* A kernel without 32-bit calls sends SIGSEGV before any filter is asked. */
	if (attempt(call_as_32_bit, NULL) == 0)
		assert_int_equal(attempt(call_as_32_bit, &wall_seccomp), -SIGSYS);
	else
		assert_int_equal(attempt(call_as_32_bit, &wall_seccomp), -SIGSEGV);
	assert_int_equal(attempt(call_as_x32, NULL), 0);
	assert_int_equal(attempt(call_as_x32, &wall_seccomp), -SIGSYS);
}
#endif

static int stand_without_a_filter(struct walls_input *input, const struct wall *wall)
{
	struct err err = {0};

	input->filter_count = 0;
	return -wall->up(input, &err);
}

static int stand_on_a_cut_filter(struct walls_input *input, const struct wall *wall)
{
	struct err err = {0};

	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	input->filter_count = (uint16_t)(input->filter_count / 2);
	return -wall->up(input, &err);
}

static int stand_on_an_open_filter(struct walls_input *input, const struct wall *wall)
{
	static const struct sock_filter open = {.code = BPF_RET | BPF_K, .k = SECCOMP_RET_ALLOW};
	struct err err = {0};

	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	input->filter = &open;
	input->filter_count = 1;
	return -wall->up(input, &err);
}

static void it_refuses_a_filter_that_is_none(void **state)
{
	(void)state;
	assert_int_equal(attempt(stand_without_a_filter, &wall_seccomp), EINVAL);
	assert_int_equal(attempt(stand_on_a_cut_filter, &wall_seccomp), EINVAL);
	assert_int_equal(attempt(stand_on_an_open_filter, &wall_seccomp), EPERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_refused_number_gets_its_errno),
		cmocka_unit_test(every_allowed_number_reaches_the_kernel),
		cmocka_unit_test(what_works_without_the_filter_is_refused_with_it),
		cmocka_unit_test(kill_reaches_a_group_but_not_everyone),
		cmocka_unit_test(ioctls_are_a_list),
		cmocka_unit_test(threads_and_programs_inherit_it),
#if defined(__x86_64__)
		cmocka_unit_test(other_doors_into_the_kernel_end_the_process),
#endif
		cmocka_unit_test(it_refuses_a_filter_that_is_none),
	};

	return run_attempts("seccomp", tests, ARRAY_LEN(tests));
}
