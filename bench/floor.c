// SPDX-License-Identifier: Apache-2.0
/*
 * Floor - what the kernel alone charges for one sandbox on this host
 *
 * Makes and ends the same kernel objects that viv-launch makes for a sandbox, in the same order and
 * with the same seccomp program, from a small process: no Python, no protocol, no checks. What
 * stands in for the interpreter writes to as much of its memory as a fork that makes itself ready.
 * Walls are added one at a time, in turns, so that each row is what one of them costs. Prints JSON:
 * processor time per sandbox in milliseconds. What `viv bench` finds above it is ours.
 */
#include "floor.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/c.h"
#include "walls/wall.h"

#define TURNS 10
#define CONTROL_FD 3
#define RANGE_FIRST 0x78000000U
#define RANGE_COUNT 65536U

static const char *const names[STEP_COUNT] = {
	[STEP_FORK] = "a fork that writes 3 MiB",
	[STEP_TWO] = "two processes that wait for each other",
	[STEP_NAMESPACES] = "pid, ipc and uts namespaces",
	[STEP_MOUNTS] = "a copy of the root, three tmpfs",
	[STEP_PROC] = "a proc of its own",
	[STEP_NET] = "a network namespace from the pool",
	[STEP_USER] = "a user namespace with one id",
	[STEP_JOIN] = "the interpreter joins, with its cgroup namespace",
	[STEP_CAPS] = "no capabilities",
	[STEP_LANDLOCK] = "landlock",
	[STEP_SECCOMP] = "seccomp",
	[STEP_CGROUP] = "moves into three v1 cgroups",
};

static const char *const hierarchies[FLOOR_GROUPS] = {"memory", "pids", "cpu"};

static uint64_t cpu_ns(int who)
{
	struct rusage used;

	floor_need(getrusage(who, &used) == 0, "getrusage");
	return (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000ULL +
	       (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000ULL;
}

/* ---- the two halves ---- */

static void prepare(struct floor_stage *stage)
{
	struct err err = {0};

	stage->control = CONTROL_FD;
	stage->memory = aligned_alloc(4 * KIB, FLOOR_WRITTEN);
	floor_need(stage->memory != NULL, "memory");
	floor_write(stage);
	stage->abi = landlock_probe();
	floor_need(seccomp_build(false, &stage->filter, &stage->filter_count, &err) == 0, err.text);
	floor_need(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
			   mount("proc", "/proc", "proc", 0, NULL) == 0,
		   "proc");
	stage->own_pidns = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
	stage->mntns = floor_root();
	/* Ours is the sandboxes', too: none of them could change it. */
	stage->netns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	floor_need(stage->own_pidns >= 0 && stage->netns >= 0, "namespaces");
}

static int inner_main(uint32_t spawns, bool has_range, bool has_groups)
{
	struct floor_stage stage = {.has_range = has_range};
	uint64_t used[STEP_COUNT] = {0};
	enum floor_step end = has_groups ? STEP_COUNT : STEP_CGROUP;

	prepare(&stage);
	for (uint32_t turn = 0; turn < TURNS; turn++) {
		for (enum floor_step step = STEP_FORK; step < end; step++) {
			uint64_t before = cpu_ns(RUSAGE_SELF) + cpu_ns(RUSAGE_CHILDREN);

			for (uint32_t i = 0; i < spawns / TURNS; i++)
				floor_sandbox(&stage, step);
			used[step] += cpu_ns(RUSAGE_SELF) + cpu_ns(RUSAGE_CHILDREN) - before;
		}
	}
	floor_need(send(CONTROL_FD, used, sizeof(used), 0) == (ssize_t)sizeof(used), "tell");
	return 0;
}

/* Once the maps are written: root of the new user namespace, by an exec, as viv-launch does: who
 * may look into a process is decided by the user namespace that its memory was made in. */
static _Noreturn void become_inner(const struct floor_stage *stage, int control, const char *spawns)
{
	char go;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	floor_need(recv(control, &go, 1, 0) == 1 && setresgid(0, 0, 0) == 0 &&
			   setresuid(0, 0, 0) == 0 && dup2(control, CONTROL_FD) == CONTROL_FD,
		   "become root of the user namespace");
	(void)execl("/proc/self/exe", "floor", spawns, stage->has_range ? "range" : "one",
		    stage->has_groups ? "groups" : "none", (char *)NULL);
	floor_need(false, "exec");
	_exit(1);
}

/* Moves whoever asks into the groups, until the figures come; false when they never do. */
static bool serve_groups(const struct floor_stage *stage, uint64_t used[STEP_COUNT])
{
	for (;;) {
		union {
			struct cmsghdr align;
			char bytes[CMSG_SPACE(sizeof(struct ucred))];
		} control = {0};
		struct iovec part = {used, STEP_COUNT * sizeof(used[0])};
		struct msghdr msg = {.msg_iov = &part,
				     .msg_iovlen = 1,
				     .msg_control = &control,
				     .msg_controllen = sizeof(control)};
		ssize_t n = recvmsg(stage->control, &msg, MSG_CMSG_CLOEXEC);
		struct ucred who;
		char text[16];
		int length;

		if (n != 1)
			return n > 0;
		memcpy(&who, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(who));
		length = snprintf(text, sizeof(text), "%d", who.pid);
		for (size_t i = 0; i < ARRAY_LEN(hierarchies); i++)
			floor_need(write(stage->groups[i], text, (size_t)length) == length,
				   "attach");
		floor_need(send(stage->control, "g", 1, 0) == 1, "answer");
	}
}

static void group_path(char *path, size_t size, size_t i, const char *file)
{
	(void)snprintf(path, size, "/sys/fs/cgroup/%s/viv-floor-%d%s", hierarchies[i], getpid(),
		       file);
}

static void open_groups(struct floor_stage *stage)
{
	char path[128];

	stage->has_groups = true;
	for (size_t i = 0; i < ARRAY_LEN(hierarchies); i++) {
		group_path(path, sizeof(path), i, "");
		(void)mkdir(path, 0755);
		group_path(path, sizeof(path), i, "/cgroup.procs");
		stage->groups[i] = open(path, O_WRONLY | O_CLOEXEC);
		stage->has_groups = stage->has_groups && stage->groups[i] >= 0;
	}
}

static void close_groups(void)
{
	char path[128];

	for (size_t i = 0; i < ARRAY_LEN(hierarchies); i++) {
		group_path(path, sizeof(path), i, "");
		(void)rmdir(path);
	}
}

static pid_t start_inner(const struct floor_stage *stage, int theirs, const char *spawns)
{
	struct clone_args args = {
		.flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC |
			 CLONE_NEWUTS,
		.exit_signal = SIGCHLD,
	};
	char path[48];
	char map[48];
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0)
		become_inner(stage, theirs, spawns);
	floor_need(pid > 0, "a user namespace");
	(void)snprintf(map, sizeof(map), "0 %u %u", stage->has_range ? RANGE_FIRST : getuid(),
		       stage->has_range ? RANGE_COUNT : 1);
	(void)snprintf(path, sizeof(path), "/proc/%d/setgroups", pid);
	if (!stage->has_range)
		floor_put(AT_FDCWD, path, "deny");
	(void)snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	floor_put(AT_FDCWD, path, map);
	if (!stage->has_range)
		(void)snprintf(map, sizeof(map), "0 %u 1", getgid());
	(void)snprintf(path, sizeof(path), "/proc/%d/gid_map", pid);
	floor_put(AT_FDCWD, path, map);
	return pid;
}

int main(int argc, char **argv)
{
	const char *count = argc > 1 ? argv[1] : "400";
	const uint32_t spawns = (uint32_t)strtoul(count, NULL, 10);
	struct floor_stage stage = {.has_range = geteuid() == 0};
	uint64_t used[STEP_COUNT] = {0};
	uint64_t self_ns;
	bool is_done;
	int pair[2];
	int on = 1;
	pid_t pid;

	if (argc == 4)
		return inner_main(spawns, strcmp(argv[2], "range") == 0,
				  strcmp(argv[3], "groups") == 0);
	floor_need(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0 &&
			   setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) == 0,
		   "socketpair");
	open_groups(&stage);
	stage.control = pair[0];
	pid = start_inner(&stage, pair[1], count);
	(void)close(pair[1]);
	floor_need(send(pair[0], "m", 1, 0) == 1, "start");
	self_ns = cpu_ns(RUSAGE_SELF);
	is_done = serve_groups(&stage, used);
	used[STEP_CGROUP] += cpu_ns(RUSAGE_SELF) - self_ns;
	(void)waitpid(pid, NULL, 0);
	close_groups();
	if (!is_done)
		return 1;

	(void)printf("{\"floor\": [");
	for (int step = 0; step < (stage.has_groups ? STEP_COUNT : STEP_CGROUP); step++)
		(void)printf("%s\n  {\"name\": \"%s\", \"ms\": %.4f}", step > 0 ? "," : "",
			     names[step], (double)used[step] / (spawns / TURNS * TURNS) / 1e6);
	(void)printf("\n]}\n");
	return 0;
}
