// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>

#include <linux/seccomp.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "base/c.h"
#include "base/io.h"
#include "cli/doctor.h"

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#endif

/* The last step that a child completed, and the error of the next one. */
enum step {
	STEP_NONE,
	STEP_USER,   /* a user namespace was made */
	STEP_MAP,    /* ... with an id in it */
	STEP_SPACES, /* ... mount, pid, net, ipc, uts namespaces below it */
	STEP_TMPFS,  /* ... a file system mounted in there */
	STEP_PROC,   /* ... and a fresh /proc */
};

struct attempt {
	int32_t step;
	int32_t error; /* errno of the step that failed; 0: none did */
};

/* A number from a file of one line; `absent` when there is no such file. */
static long read_number(const char *path, long absent)
{
	struct err err = {0};
	struct buf text;
	long number = absent;

	buf_init(&text, 64);
	if (io_read_file(AT_FDCWD, path, &text, &err) == 0)
		number = strtol(buf_string(&text), NULL, 10);
	buf_done(&text);
	return number;
}

/* The first line of a file, "" when there is none. */
static void read_line(const char *path, char *ret_line, size_t size)
{
	FILE *stream = fopen(path, "re");

	ret_line[0] = '\0';
	if (stream == NULL)
		return;
	if (fgets(ret_line, (int)size, stream) == NULL)
		ret_line[0] = '\0';
	ret_line[strcspn(ret_line, "\n")] = '\0';
	(void)fclose(stream);
}

static bool put(const char *path, const char *text)
{
	struct err err = {0};

	return io_write_file(AT_FDCWD, path, text, &err) == 0;
}

static bool map_self(uid_t uid, gid_t gid)
{
	char text[32];

	(void)put("/proc/self/setgroups", "deny");
	(void)snprintf(text, sizeof(text), "0 %u 1", uid);
	if (!put("/proc/self/uid_map", text))
		return false;
	(void)snprintf(text, sizeof(text), "0 %u 1", gid);
	return put("/proc/self/gid_map", text);
}

/* Runs in a child: how far does this host let an ordinary process wall itself in? */
static struct attempt attempt_spaces(void)
{
	const int spaces = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;
	uid_t uid = geteuid();
	gid_t gid = getegid();
	pid_t child;
	int status = 0;

	if (unshare(CLONE_NEWUSER) < 0)
		return (struct attempt){STEP_NONE, errno};
	if (!map_self(uid, gid))
		return (struct attempt){STEP_USER, errno};
	if (unshare(spaces) < 0)
		return (struct attempt){STEP_MAP, errno};
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=64k") < 0)
		return (struct attempt){STEP_SPACES, errno};

	/* unshare() puts only children into the new pid namespace, and a proc mount shows the
	 * namespace of the process that mounts it. */
	child = fork();
	if (child == 0)
		_exit(mount("proc", "/tmp", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0
			      ? errno
			      : 0);
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
		return (struct attempt){STEP_TMPFS, ECHILD};
	if (WEXITSTATUS(status) != 0)
		return (struct attempt){STEP_TMPFS, WEXITSTATUS(status)};
	return (struct attempt){STEP_PROC, 0};
}

static struct attempt attempt_in_child(void)
{
	struct attempt attempt = {STEP_NONE, ECHILD};
	int ends[2];
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return attempt;
	child = fork();
	if (child == 0) {
		struct attempt mine = attempt_spaces();

		_exit(write(ends[1], &mine, sizeof(mine)) == sizeof(mine) ? 0 : 1);
	}
	(void)close(ends[1]);
	if (child < 0 || read(ends[0], &attempt, sizeof(attempt)) != sizeof(attempt))
		attempt = (struct attempt){STEP_NONE, ECHILD};
	(void)close(ends[0]);
	if (child > 0)
		(void)waitpid(child, NULL, 0);
	return attempt;
}

/* The command that changes the setting which forbids user namespaces. */
static const char *user_namespace_remedy(void)
{
	if (read_number("/proc/sys/user/max_user_namespaces", 1) == 0)
		return "sudo sysctl -w user.max_user_namespaces=16384";
	if (read_number("/proc/sys/kernel/unprivileged_userns_clone", 1) == 0)
		return "sudo sysctl -w kernel.unprivileged_userns_clone=1";
	if (read_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 0) != 0)
		return "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0";
	if (access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0)
		return "in a container: docker run --security-opt seccomp=unconfined "
		       "--security-opt apparmor=unconfined ...";
	return "a kernel with CONFIG_USER_NS=y, outside of a seccomp filter that forbids unshare";
}

static void report_spaces(struct report *report)
{
	struct attempt attempt = attempt_in_child();

	if (attempt.step >= STEP_TMPFS)
		(void)report_add(report, DOCTOR_HOST, "user namespaces", FACT_ON, NULL,
				 "made one, and mount, pid, net, ipc, uts namespaces in it");
	else
		(void)report_add(report, DOCTOR_HOST, "user namespaces", FACT_OFF,
				 user_namespace_remedy(), "%s: %s",
				 attempt.step == STEP_NONE   ? "unshare"
				 : attempt.step == STEP_USER ? "map an id"
				 : attempt.step == STEP_MAP  ? "the other namespaces"
							     : "mount in there",
				 strerror(attempt.error));

	if (attempt.step == STEP_PROC)
		(void)report_add(report, DOCTOR_HOST, "proc", FACT_ON, NULL,
				 "fully visible: a sandbox can have its own");
	else if (attempt.step == STEP_TMPFS)
		(void)report_add(
			report, DOCTOR_HOST, "proc", FACT_OFF,
			"in Docker: docker run --security-opt systempaths=unconfined ...",
			"parts of /proc are covered, so the kernel refuses a fresh one: %s",
			strerror(attempt.error));
	else
		(void)report_add(report, DOCTOR_HOST, "proc", FACT_NOTE, NULL,
				 "not tried: there is no namespace to try it in");
}

static void report_landlock(struct report *report)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
	int error = errno;

	if (abi > 0)
		(void)report_add(report, DOCTOR_HOST, "landlock", FACT_ON, NULL, "ABI %ld%s", abi,
				 abi >= 6   ? ""
				 : abi >= 4 ? " (signals and abstract sockets are not scoped)"
					    : " (files only)");
	else if (error == EOPNOTSUPP)
		(void)report_add(report, DOCTOR_HOST, "landlock", FACT_OFF,
				 "add landlock to lsm= on the kernel's command line, e.g. "
				 "GRUB_CMDLINE_LINUX=\"lsm=landlock,lockdown,yama,apparmor\"; sudo "
				 "update-grub; reboot",
				 "built in, but switched off at boot");
	else
		(void)report_add(report, DOCTOR_HOST, "landlock", FACT_OFF,
				 "a kernel >= 5.13 with CONFIG_SECURITY_LANDLOCK=y", "%s",
				 strerror(error));
}

static void report_seccomp(struct report *report)
{
	uint32_t action = SECCOMP_RET_KILL_PROCESS;

	if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0)
		(void)report_add(report, DOCTOR_HOST, "seccomp", FACT_ON, NULL,
				 "filters, with kill_process");
	else
		(void)report_add(report, DOCTOR_HOST, "seccomp", FACT_OFF,
				 "a kernel >= 4.14 with CONFIG_SECCOMP_FILTER=y", "%s",
				 strerror(errno));
}

void doctor_host(struct report *report)
{
	struct utsname name;
	bool is_known = uname(&name) == 0;

	(void)report_add(report, DOCTOR_HOST, "kernel", FACT_NOTE, NULL, "%s %s",
			 is_known ? name.release : "unknown", is_known ? name.machine : "");
	(void)report_add(report, DOCTOR_HOST, "user", FACT_NOTE, NULL, "uid %u%s", geteuid(),
			 geteuid() == 0 ? " (sandboxes get ids of their own, never root's)" : "");
	report_spaces(report);
	report_landlock(report);
	report_seccomp(report);
}

/* Tells which cgroup versions are mounted, and the controllers of v2. */
static void report_cgroup_version(struct report *report)
{
	char v2[200];

	if (access("/sys/fs/cgroup/cgroup.controllers", R_OK) == 0) {
		read_line("/sys/fs/cgroup/cgroup.controllers", v2, sizeof(v2));
		(void)report_add(report, DOCTOR_LIMITS, "cgroup", FACT_NOTE, NULL,
				 "v2, controllers: %s", v2[0] != '\0' ? v2 : "none");
		return;
	}
	if (access("/sys/fs/cgroup/unified/cgroup.controllers", R_OK) == 0) {
		read_line("/sys/fs/cgroup/unified/cgroup.controllers", v2, sizeof(v2));
		(void)report_add(report, DOCTOR_LIMITS, "cgroup", FACT_NOTE, NULL,
				 "v1 and v2 side by side; v2 has: %s",
				 v2[0] != '\0' ? v2 : "no controller");
		return;
	}
	if (access("/sys/fs/cgroup/memory", R_OK) == 0)
		(void)report_add(report, DOCTOR_LIMITS, "cgroup", FACT_NOTE, NULL, "v1");
	else
		(void)report_add(report, DOCTOR_LIMITS, "cgroup", FACT_NOTE,
				 "sudo mount -t cgroup2 none /sys/fs/cgroup", "none is mounted");
}

static void report_ids(struct report *report, const struct backend_facts *hello)
{
	if (hello->uid_count > 1)
		(void)report_add(report, DOCTOR_LIMITS, "ids", FACT_ON, NULL,
				 "%u host ids: each sandbox has one of its own", hello->uid_count);
	else
		(void)report_add(
			report, DOCTOR_LIMITS, "ids", FACT_NOTE,
			"sudo apt install uidmap && sudo usermod --add-subuids 100000-165535 "
			"--add-subgids 100000-165535 \"$USER\"",
			"one: all sandboxes share your id, and with it the per-user limits");
}

void doctor_limits(struct report *report, const struct backend_facts *hello)
{
	report_cgroup_version(report);
	if (hello == NULL)
		return;

	switch ((enum box_limits)hello->limits) {
	case BOX_LIMITS_V2:
		(void)report_add(report, DOCTOR_LIMITS, "limits", FACT_ON, NULL,
				 "memory, pids and cpu by cgroup v2");
		break;
	case BOX_LIMITS_V1:
		(void)report_add(report, DOCTOR_LIMITS, "limits", FACT_ON, NULL,
				 "memory, pids and cpu by cgroup v1");
		break;
	case BOX_LIMITS_MEASURED:
		(void)report_add(report, DOCTOR_LIMITS, "limits", FACT_NOTE,
				 "systemd-run --user --scope -p Delegate=yes viv ...",
				 "measured: rlimits, and viv-launch checks every 50 ms (%.200s)",
				 hello->why.text);
		break;
	}
	if (hello->disks > 0)
		(void)report_add(report, DOCTOR_LIMITS, "reads", FACT_ON, NULL,
				 "limited by the io of a policy; disks: %u", hello->disks);
	else
		(void)report_add(report, DOCTOR_LIMITS, "reads", FACT_NOTE, NULL,
				 "not limited: this user has no cgroup io controller here");
	(void)report_add(report, DOCTOR_LIMITS, "kill", FACT_ON, NULL,
			 hello->cgroup_kill
				 ? "whole trees at once, by cgroup.kill and pid namespace"
				 : "whole trees at once, by their pid namespace");
	report_ids(report, hello);
}

/* The number of lines of /proc/swaps after its heading. */
static long swap_count(void)
{
	FILE *stream = fopen("/proc/swaps", "re");
	char line[256];
	long count = -1;

	if (stream == NULL)
		return 0;
	while (fgets(line, sizeof(line), stream) != NULL)
		count++;
	(void)fclose(stream);
	return count;
}

void doctor_notes(struct report *report)
{
	char line[200];
	long number;

	number = read_number("/sys/kernel/mm/ksm/run", 0);
	(void)report_add(report, DOCTOR_NOTES, "ksm", number == 1 ? FACT_OFF : FACT_ON,
			 number == 1 ? "echo 0 | sudo tee /sys/kernel/mm/ksm/run" : NULL,
			 number == 1 ? "merges equal pages: a side channel between sandboxes"
				     : "off");

	number = swap_count();
	(void)report_add(report, DOCTOR_NOTES, "swap", FACT_NOTE, NULL, "%s",
			 number > 0 ? "on: what sandboxes hold may reach a disk" : "off");

	number = read_number("/sys/devices/system/cpu/smt/active", 0);
	(void)report_add(report, DOCTOR_NOTES, "smt", FACT_NOTE,
			 number == 1 ? "echo off | sudo tee /sys/devices/system/cpu/smt/control"
				     : NULL,
			 number == 1 ? "on: a hardware side channel between tenants" : "off");

	read_line("/proc/sys/kernel/core_pattern", line, sizeof(line));
	(void)report_add(
		report, DOCTOR_NOTES, "core_pattern", FACT_NOTE, NULL, "%s%s", line,
		line[0] == '|' ? " (a host program; the rlimit wall keeps it from starting)" : "");

	number = read_number("/proc/sys/kernel/io_uring_disabled", -1);
	(void)report_add(report, DOCTOR_NOTES, "io_uring", FACT_NOTE, NULL, "%s",
			 number == 2   ? "off for all"
			 : number == 1 ? "off for ordinary users"
				       : "on; sandboxes cannot reach it (seccomp)");
}
