// SPDX-License-Identifier: Apache-2.0
/*
 * The filter that is built is run here in an interpreter of our own, over every number and over
 * every bit of every tested argument, and compared with the table. tests/walls/ puts the same
 * filter up and asks the kernel.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/c.h"
#include "filter_machine.h"
#include "unit.h"
#include "walls/seccomp_table.h"
#include "walls/wall.h"

#define NUMBERS 1024
#define ALLOWED_MAX 220
#define REFUSED(num) (SECCOMP_RET_ERRNO | (uint32_t)(num))

#if defined(__x86_64__)
#define ARCH_NATIVE AUDIT_ARCH_X86_64
#define ARCH_FOREIGN AUDIT_ARCH_I386
#else
#define ARCH_NATIVE AUDIT_ARCH_AARCH64
#define ARCH_FOREIGN AUDIT_ARCH_ARM
#endif

static struct seccomp_data call_of(int number, uint64_t every_argument)
{
	struct seccomp_data data = {.nr = number, .arch = ARCH_NATIVE};

	for (size_t i = 0; i < ARRAY_LEN(data.args); i++)
		data.args[i] = every_argument;
	return data;
}

static const struct call_row *row_of(int number)
{
	for (size_t i = 0; i < call_row_count; i++) {
		if (seccomp_syscall_resolve_name(call_rows[i].name) == number)
			return &call_rows[i];
	}
	return NULL;
}

static bool is_case(const struct call_case *one, const struct seccomp_data *data)
{
	for (size_t i = 0; i < ARRAY_LEN(one->tests); i++) {
		const struct call_test *test = &one->tests[i];

		if (((uint32_t)data->args[test->arg] & test->mask) != test->value)
			return false;
	}
	return true;
}

/* The meaning of the table, written a second time. */
static uint32_t expected(const struct call_row *row, const struct seccomp_data *data,
			 const struct seccomp_kind *kind)
{
	bool holds = false;

	if (row == NULL)
		return REFUSED(data->nr > CALL_REVIEWED_MAX ? ENOSYS : EPERM);
	if (row->gone_from > 0 && row->gone_from <= kind->shown)
		return REFUSED(row->refusal);
	if (row->rule == CALL_ALLOW || (row->rule == CALL_COUNTED && !kind->is_measured))
		return SECCOMP_RET_ALLOW;
	if (row->rule == CALL_REFUSE || row->rule == CALL_COUNTED)
		return REFUSED(row->refusal);

	for (size_t i = 0; i < row->case_count; i++) {
		const struct call_case *one = &row->cases[i];

		if (one->gone_from == 0 || one->gone_from > kind->shown)
			holds = holds || is_case(one, data);
	}
	return holds == (row->rule == CALL_ONLY) ? SECCOMP_RET_ALLOW : REFUSED(row->refusal);
}

static void every_row_names_a_call_once_and_says_why(void **state)
{
	(void)state;
	for (size_t i = 0; i < call_row_count; i++) {
		const struct call_row *row = &call_rows[i];
		bool is_tested = row->rule == CALL_ONLY || row->rule == CALL_UNLESS;

		if (seccomp_syscall_resolve_name(row->name) == __NR_SCMP_ERROR)
			fail_msg("no such call: %s", row->name);
		if (row->reason == NULL || strlen(row->reason) < 4)
			fail_msg("no reason: %s", row->name);
		assert_int_equal(is_tested, row->case_count > 0);
		/* Only a call that is left out altogether may be told to have worked. */
		if (row->rule != CALL_REFUSE)
			assert_int_equal(row->rule != CALL_ALLOW || row->gone_from > 0,
					 row->refusal > 0);
		for (size_t j = 0; j < i; j++) {
			if (strcmp(row->name, call_rows[j].name) == 0)
				fail_msg("twice: %s", row->name);
		}
	}
}

static void at_most_220_calls_are_allowed(void **state)
{
	const struct filter *filter = *state;
	size_t n = 0;

	for (int number = 0; number < NUMBERS; number++) {
		const struct call_row *row = row_of(number);

		n += row != NULL && row->rule != CALL_REFUSE;
	}
	assert_in_range(n, 100, ALLOWED_MAX);
	assert_in_range(filter->count, n, 1024);
}

static void every_number_does_what_the_table_says(void **state)
{
	const uint64_t arguments[] = {0, 1, 0xffffffffU, UINT64_MAX, 0x7fffffffffffffffU};
	const struct filter *filter = *state;

	for (int number = 0; number < NUMBERS; number++) {
		const struct call_row *row = row_of(number);

		for (size_t i = 0; i < ARRAY_LEN(arguments); i++) {
			const struct seccomp_data data = call_of(number, arguments[i]);

			if (evaluate(filter, &data) != expected(row, &data, &filter->kind))
				fail_msg("number %d, arguments 0x%llx", number,
					 (unsigned long long)arguments[i]);
		}
	}
}

/* From arguments that make a case hold, turns each bit of each argument around, one at a time. */
static void turn_every_bit(const struct filter *filter, const struct call_row *row,
			   const struct call_case *one)
{
	struct seccomp_data data = call_of(seccomp_syscall_resolve_name(row->name), 0);

	for (size_t i = 0; i < ARRAY_LEN(one->tests); i++)
		data.args[one->tests[i].arg] |= one->tests[i].value;
	assert_true(is_case(one, &data));
	assert_int_equal(evaluate(filter, &data), expected(row, &data, &filter->kind));

	for (size_t arg = 0; arg < ARRAY_LEN(data.args); arg++) {
		for (unsigned bit = 0; bit < 64; bit++) {
			data.args[arg] ^= 1ULL << bit;
			if (evaluate(filter, &data) != expected(row, &data, &filter->kind))
				fail_msg("%s, argument %zu is 0x%llx", row->name, arg,
					 (unsigned long long)data.args[arg]);
			data.args[arg] ^= 1ULL << bit;
		}
	}
}

static void every_bit_of_a_tested_argument_counts(void **state)
{
	size_t n = 0;

	for (size_t i = 0; i < call_row_count; i++) {
		const struct call_row *row = &call_rows[i];

		if (seccomp_syscall_resolve_name(row->name) < 0)
			continue;
		for (size_t j = 0; j < row->case_count; j++, n++)
			turn_every_bit(*state, row, &row->cases[j]);
	}
	assert_true(n > 20);
}

static void a_foreign_architecture_ends_the_process(void **state)
{
	for (int number = 0; number < NUMBERS; number++) {
		struct seccomp_data data = call_of(number, 0);

		data.arch = ARCH_FOREIGN;
		assert_int_equal(evaluate(*state, &data), SECCOMP_RET_KILL_PROCESS);
#if defined(__x86_64__)
		data.arch = ARCH_NATIVE;
		data.nr = number | 0x40000000; /* x32: other calls under the same architecture */
		assert_int_equal(evaluate(*state, &data), SECCOMP_RET_KILL_PROCESS);
#endif
	}
}

/* These stay out whatever the table becomes. */
static const char *const always_out[] = {"io_uring_setup",
					 "io_uring_enter",
					 "io_uring_register",
					 "userfaultfd",
					 "bpf",
					 "perf_event_open",
					 "keyctl",
					 "add_key",
					 "request_key",
					 "ptrace",
					 "process_vm_readv",
					 "process_vm_writev",
					 "kcmp",
					 "pidfd_getfd",
					 "process_madvise",
					 "name_to_handle_at",
					 "open_by_handle_at",
					 "splice",
					 "tee",
					 "vmsplice",
					 "memfd_secret",
					 "fanotify_init",
					 "mount",
					 "umount2",
					 "open_tree",
					 "move_mount",
					 "fsopen",
					 "fsconfig",
					 "fsmount",
					 "fspick",
					 "mount_setattr",
					 "unshare",
					 "setns",
					 "pivot_root",
					 "chroot",
					 "modify_ldt",
					 "iopl",
					 "ioperm",
					 "mbind",
					 "set_mempolicy",
					 "migrate_pages",
					 "move_pages",
					 "quotactl",
					 "shmget",
					 "semget",
					 "msgget",
					 "mq_open",
					 "seccomp",
					 "landlock_create_ruleset",
					 "landlock_add_rule",
					 "landlock_restrict_self",
					 "clock_settime",
					 "clock_adjtime",
					 "settimeofday",
					 "adjtimex",
					 "kexec_load",
					 "kexec_file_load",
					 "init_module",
					 "finit_module",
					 "delete_module",
					 "swapon",
					 "swapoff",
					 "reboot",
					 "acct",
					 "sethostname",
					 "setdomainname",
					 "syslog",
					 "vhangup",
					 "setuid",
					 "setgid",
					 "setresuid",
					 "setgroups",
					 "capset",
					 "clone3",
					 "openat2",
					 "sync",
					 "syncfs",
					 "inotify_init1",
					 "lookup_dcookie",
					 "io_setup",
					 "mincore",
					 "sysinfo",
					 "rt_sigqueueinfo",
					 "sched_setscheduler",
					 "setxattr",
					 "sendfile",
					 "sendmmsg"};

static void what_is_always_out_is_out(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(always_out); i++) {
		int number = seccomp_syscall_resolve_name(always_out[i]);
		const struct seccomp_data zero = call_of(number, 0);
		const struct seccomp_data ones = call_of(number, UINT64_MAX);

		assert_int_not_equal(number, __NR_SCMP_ERROR);
		if (number >= 0 && (evaluate(*state, &zero) == SECCOMP_RET_ALLOW ||
				    evaluate(*state, &ones) == SECCOMP_RET_ALLOW))
			fail_msg("allowed: %s", always_out[i]);
	}
}

/* The promises about arguments, by example and not by the table. */
static const struct {
	const char *name;
	uint64_t args[4];
	uint32_t expected;
} calls[] = {
	{"clone", {SIGCHLD}, SECCOMP_RET_ALLOW},
	{"clone", {CLONE_VM | CLONE_VFORK | SIGCHLD}, SECCOMP_RET_ALLOW},
	{"clone", {SIGCHLD | CLONE_NEWUSER}, REFUSED(EPERM)},
	{"clone", {SIGCHLD | CLONE_NEWNS}, REFUSED(EPERM)},
	{"clone", {SIGCHLD | CLONE_NEWPID}, REFUSED(EPERM)},
	{"clone", {SIGCHLD | CLONE_NEWNET}, REFUSED(EPERM)},
	{"clone", {SIGCHLD | CLONE_NEWCGROUP}, REFUSED(EPERM)},
	{"clone", {SIGCHLD | CLONE_PARENT}, REFUSED(EPERM)},
	{"clone", {CLONE_VM | CLONE_FILES | CLONE_THREAD}, SECCOMP_RET_ALLOW},
	{"clone", {CLONE_FILES | SIGCHLD}, REFUSED(EPERM)},
	{"clone", {CLONE_VM | CLONE_FILES | CLONE_THREAD | CLONE_NEWUSER}, REFUSED(EPERM)},
	{"socket", {AF_INET, SOCK_STREAM}, REFUSED(EAFNOSUPPORT)},
	{"socket", {AF_INET6, SOCK_DGRAM}, REFUSED(EAFNOSUPPORT)},
	{"socket", {AF_NETLINK, SOCK_RAW}, REFUSED(EAFNOSUPPORT)},
	{"socket", {AF_PACKET, SOCK_RAW}, REFUSED(EAFNOSUPPORT)},
	{"socket", {AF_ALG, SOCK_SEQPACKET}, REFUSED(EAFNOSUPPORT)},
	{"socket", {AF_VSOCK, SOCK_STREAM}, REFUSED(EAFNOSUPPORT)},
	{"socketpair", {AF_INET, SOCK_STREAM}, REFUSED(EAFNOSUPPORT)},
	{"setsockopt", {4, SOL_SOCKET, SO_ATTACH_FILTER}, REFUSED(ENOPROTOOPT)},
	{"setsockopt", {4, SOL_SOCKET, SO_ATTACH_BPF}, REFUSED(ENOPROTOOPT)},
	{"setsockopt", {4, SOL_SOCKET, SO_REUSEADDR}, SECCOMP_RET_ALLOW},
	{"setsockopt", {4, 6, SO_REUSEADDR}, REFUSED(ENOPROTOOPT)},
	{"sendto", {4, 0, 0, MSG_OOB}, REFUSED(EOPNOTSUPP)},
	{"sendmsg", {4, 0, MSG_OOB | MSG_NOSIGNAL}, REFUSED(EOPNOTSUPP)},
	{"ioctl", {0, TCGETS}, SECCOMP_RET_ALLOW},
	{"ioctl", {0, TIOCSTI}, REFUSED(ENOTTY)},
	{"ioctl", {0, TIOCSTI | 1ULL << 32}, REFUSED(ENOTTY)},
	{"ioctl", {0, TIOCLINUX}, REFUSED(ENOTTY)},
	{"fcntl", {0, F_SETLEASE}, REFUSED(EPERM)},
	{"fcntl", {0, F_NOTIFY}, REFUSED(EPERM)},
	{"fcntl", {0, F_SETPIPE_SZ}, REFUSED(EPERM)},
	{"fcntl", {0, F_SETOWN}, REFUSED(EPERM)},
	{"prctl", {PR_SET_NAME}, SECCOMP_RET_ALLOW},
	{"prctl", {PR_SET_SECCOMP}, REFUSED(EPERM)},
	{"prctl", {PR_SET_MM}, REFUSED(EPERM)},
	{"prctl", {PR_SET_DUMPABLE, 0}, SECCOMP_RET_ALLOW},
	{"prctl", {PR_SET_DUMPABLE, 1}, REFUSED(EPERM)},
	{"prctl", {PR_SET_DUMPABLE, 2}, REFUSED(EPERM)},
	{"prctl", {PR_SET_SECUREBITS}, REFUSED(EPERM)},
	{"prctl", {PR_CAP_AMBIENT}, REFUSED(EPERM)},
	{"personality", {0}, SECCOMP_RET_ALLOW},
	{"personality", {0xffffffffU}, SECCOMP_RET_ALLOW},
	{"personality", {ADDR_NO_RANDOMIZE}, REFUSED(EPERM)},
	{"personality", {READ_IMPLIES_EXEC}, REFUSED(EPERM)},
	{"prlimit64", {0}, SECCOMP_RET_ALLOW},
	{"prlimit64", {1}, REFUSED(EPERM)},
	{"kill", {2}, SECCOMP_RET_ALLOW},
	{"kill", {(uint64_t)-2}, SECCOMP_RET_ALLOW},
	{"kill", {UINT64_MAX}, REFUSED(EPERM)},
	{"kill", {0xffffffffU}, REFUSED(EPERM)},
	{"kill", {0x1234567ffffffffU}, REFUSED(EPERM)},
	{"mmap", {0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS}, SECCOMP_RET_ALLOW},
	{"mmap", {0, 4096, PROT_READ, MAP_ANONYMOUS | MAP_HUGETLB}, REFUSED(ENOMEM)},
	{"memfd_create", {0, 0}, REFUSED(ENOSYS)},
	{"madvise", {0, 0, MADV_DONTNEED}, SECCOMP_RET_ALLOW},
	{"madvise", {0, 0, MADV_MERGEABLE}, REFUSED(EINVAL)},
	{"mknodat", {0, 0, S_IFIFO | 0600}, SECCOMP_RET_ALLOW},
	{"mknodat", {0, 0, S_IFCHR | 0600}, REFUSED(EPERM)},
	{"mknod", {0, S_IFBLK | 0600}, REFUSED(EPERM)},
};

static void arguments_are_refused_by_name(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		struct seccomp_data data = call_of(seccomp_syscall_resolve_name(calls[i].name), 0);

		if (data.nr < 0)
			continue;
		memcpy(data.args, calls[i].args, sizeof(calls[i].args));
		if (evaluate(*state, &data) != calls[i].expected)
			fail_msg("%s, example %zu: 0x%x", calls[i].name, i,
				 evaluate(*state, &data));
	}
}

/* Calls that are refused where folders of the host are shown, each from a row of enum plan_shown
 * on. */
static const struct {
	const char *name;
	uint64_t args[2];
	uint32_t gone_from, refusal;
} shown_calls[] = {
	{"socket", {AF_UNIX, SOCK_STREAM}, SHOWN_APART, REFUSED(EAFNOSUPPORT)},
	{"socketpair", {AF_UNIX, SOCK_STREAM}, SHOWN_COUNT, 0},
	{"socketpair", {AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC}, SHOWN_COUNT, 0},
	{"socketpair", {AF_UNIX, SOCK_DGRAM}, SHOWN_APART, REFUSED(EAFNOSUPPORT)},
	{"socketpair", {AF_UNIX, SOCK_RAW | SOCK_CLOEXEC}, SHOWN_APART, REFUSED(EAFNOSUPPORT)},
	{"flock", {0, 2}, SHOWN_DIRECT, REFUSED(ENOLCK)},
	{"fcntl", {0, F_SETLK}, SHOWN_DIRECT, REFUSED(EPERM)},
	{"fcntl", {0, F_SETLKW}, SHOWN_DIRECT, REFUSED(EPERM)},
	{"fcntl", {0, F_GETLK}, SHOWN_COUNT, 0},
	{"fcntl", {0, F_OFD_SETLK}, SHOWN_NOTHING, REFUSED(EPERM)},
	{"fcntl", {0, F_OFD_SETLKW}, SHOWN_NOTHING, REFUSED(EPERM)},
};

static void what_is_shown_takes_calls_away(void **state)
{
	const struct filter *filter = *state;

	for (size_t i = 0; i < ARRAY_LEN(shown_calls); i++) {
		const uint32_t from = shown_calls[i].gone_from;
		struct seccomp_data data =
			call_of(seccomp_syscall_resolve_name(shown_calls[i].name), 0);

		memcpy(data.args, shown_calls[i].args, sizeof(shown_calls[i].args));
		if (evaluate(filter, &data) !=
		    (filter->kind.shown >= from ? shown_calls[i].refusal : SECCOMP_RET_ALLOW))
			fail_msg("%s, example %zu: 0x%x", shown_calls[i].name, i,
				 evaluate(filter, &data));
	}
}

/* The filter tested here is the one that launch and zygotes use. */
static void it_is_the_program_that_was_made_for_this_kind(void **state)
{
	const struct filter *filter = *state;
	uint16_t count = 0;
	const struct sock_filter *made = seccomp_program(&filter->kind, &count);

	assert_int_equal(count, filter->count);
	assert_memory_equal(made, filter->code, count * sizeof(*made));
	assert_null(seccomp_program(&(struct seccomp_kind){.shown = SHOWN_COUNT}, &count));
}

static int build(void **state)
{
	struct filter *filter = xnew(struct filter);
	struct err err = {0};

	filter->kind = *(const struct seccomp_kind *)*state;
	*state = filter;
	if (seccomp_build(&filter->kind, &filter->code, &filter->count, &err) == 0)
		return 0;
	print_error("%s\n", err.text);
	return -1;
}

static int release(void **state)
{
	struct filter *filter = *state;

	free(filter->code);
	free(filter);
	return 0;
}

int main(void)
{
#define TEST(function_)                                                                            \
	{                                                                                          \
#function_, function_, build, release, &kind                                       \
	}
	int failed = 0;

	for (uint32_t i = 0; i < 2 * SHOWN_COUNT; i++) {
		struct seccomp_kind kind = {.is_measured = i % 2 == 1, .shown = i / 2};
		char name[48];
		const struct CMUnitTest tests[] = {
			TEST(every_row_names_a_call_once_and_says_why),
			TEST(at_most_220_calls_are_allowed),
			TEST(every_number_does_what_the_table_says),
			TEST(every_bit_of_a_tested_argument_counts),
			TEST(a_foreign_architecture_ends_the_process),
			TEST(what_is_always_out_is_out),
			TEST(arguments_are_refused_by_name),
			TEST(what_is_shown_takes_calls_away),
			TEST(it_is_the_program_that_was_made_for_this_kind),
		};

		(void)snprintf(name, sizeof(name), "%s, shown %u",
			       kind.is_measured ? "measured" : "counted", kind.shown);
		failed += cmocka_run_group_tests_name(name, tests, NULL, NULL);
	}
	return failed;
}
