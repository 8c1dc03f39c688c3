// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/c.h"
#include "floor.h"

#define ID 1000U
#define SHELL_NS (CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS)

void floor_need(bool is_done, const char *what)
{
	if (is_done)
		return;
	(void)fprintf(stderr, "floor: %s: %s\n", what, strerror(errno));
	_exit(1);
}

void floor_put(int dir, const char *path, const char *text)
{
	AUTO_CLOSE int fd = openat(dir, path, O_WRONLY | O_CLOEXEC);

	floor_need(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), path);
}

void floor_write(const struct floor_stage *stage)
{
	for (size_t at = 0; at < FLOOR_WRITTEN; at += 4 * KIB)
		stage->memory[at]++;
}

/* ---- the root that all copy: as launch/root.c builds it ---- */

static void bind_at(const char *path, int stage, const char *target, uint64_t attributes)
{
	struct mount_attr attr = {.attr_set = attributes, .propagation = MS_PRIVATE};
	AUTO_CLOSE int tree = (int)syscall(SYS_open_tree, AT_FDCWD, path,
					   OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);

	floor_need(tree >= 0, path);
	floor_need(syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr,
			   sizeof(attr)) == 0,
		   path);
	floor_need(syscall(SYS_move_mount, tree, "", stage, target, MOVE_MOUNT_F_EMPTY_PATH) == 0,
		   target);
}

static void make_root(void)
{
	static const char *const folders[] = {"usr", "etc",      "etc/fonts", "etc/alternatives",
					      "dev", "dev/shm",  "proc",      "tmp",
					      "viv", "workspace"};
	static const char *const devices[] = {"null", "zero", "full", "random", "urandom"};
	const uint64_t read_only = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	AUTO_CLOSE int stage = -1;

	floor_need(unshare(CLONE_NEWNS) == 0 &&
			   mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
			   mount("tmpfs", "/tmp", "tmpfs", 0, "mode=0755") == 0,
		   "a root");
	stage = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		floor_need(mkdirat(stage, folders[i], 0755) == 0, folders[i]);
	bind_at("/usr", stage, "usr", read_only);
	for (size_t i = 2; i <= 3; i++) {
		char path[64];

		(void)snprintf(path, sizeof(path), "/%s", folders[i]);
		if (access(path, R_OK) == 0)
			bind_at(path, stage, folders[i], read_only);
	}
	for (size_t i = 0; i < ARRAY_LEN(devices); i++) {
		char path[64];

		(void)snprintf(path, sizeof(path), "/dev/%s", devices[i]);
		floor_need(mknodat(stage, path + 1, S_IFREG | 0644, 0) == 0, path);
		bind_at(path, stage, path + 1, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	}
	floor_need(mount("proc", "/tmp/proc", "proc", 0, NULL) == 0, "proc");
	floor_need(fchdir(stage) == 0 && syscall(SYS_pivot_root, ".", ".") == 0 &&
			   umount2(".", MNT_DETACH) == 0 && chdir("/") == 0,
		   "pivot_root");
}

int floor_root(void)
{
	AUTO_CLOSE int own = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	int made;

	make_root();
	made = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	floor_need(made >= 0 && setns(own, CLONE_NEWNS) == 0, "a root");
	return made;
}

/* ---- one sandbox ---- */

static void make_mounts(const struct floor_stage *stage)
{
	static const char *const places[] = {"/workspace", "/tmp", "/dev/shm"};
	char options[96];

	floor_need(setns(stage->mntns, CLONE_NEWNS) == 0 && unshare(CLONE_NEWNS) == 0,
		   "copy the root");
	(void)snprintf(options, sizeof(options), "size=64m,nr_inodes=4096,mode=0700,uid=%u,gid=%u",
		       stage->has_range ? ID : 0, stage->has_range ? ID : 0);
	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		floor_need(mount("tmpfs", places[i], "tmpfs", MS_NOSUID | MS_NODEV, options) == 0,
			   places[i]);
}

/* Returns the old one, open: the maps are written through it. */
static int swap_proc(void)
{
	int full = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int context = (int)syscall(SYS_fsopen, "proc", FSOPEN_CLOEXEC);
	AUTO_CLOSE int fresh = -1;

	floor_need(syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, "subset", "pid", 0) == 0 &&
			   syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, "hidepid",
				   "invisible", 0) == 0 &&
			   syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0,
		   "proc");
	fresh = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, MOUNT_ATTR_RDONLY);
	floor_need(fresh >= 0 && umount2("/proc", MNT_DETACH) == 0 &&
			   syscall(SYS_move_mount, fresh, "", AT_FDCWD, "/proc",
				   MOVE_MOUNT_F_EMPTY_PATH) == 0,
		   "proc");
	return full;
}

static void enter_user(const struct floor_stage *stage, int proc)
{
	char map[48];

	floor_need(prctl(PR_SET_KEEPCAPS, 1) == 0, "keepcaps");
	if (stage->has_range)
		floor_need(setresgid(ID, ID, ID) == 0 && setresuid(ID, ID, ID) == 0, "setresuid");
	floor_need(unshare(CLONE_NEWUSER) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0, "unshare user");
	(void)snprintf(map, sizeof(map), "%u %u 1", ID, stage->has_range ? ID : 0);
	floor_put(proc, "self/setgroups", "deny");
	floor_put(proc, "self/uid_map", map);
	floor_put(proc, "self/gid_map", map);
}

static _Noreturn void init_main(const struct floor_stage *stage, enum floor_step last, int status)
{
	AUTO_CLOSE int proc = -1;

	if (last >= STEP_MOUNTS)
		make_mounts(stage);
	if (last >= STEP_PROC)
		proc = swap_proc();
	if (last >= STEP_NET)
		floor_need(setns(stage->netns, CLONE_NEWNET) == 0, "net");
	if (last >= STEP_USER)
		enter_user(stage, proc);
	floor_need(send(status, "i", 1, MSG_NOSIGNAL) == 1, "tell");
	(void)close_range(0, ~0U, 0);
	for (;;)
		(void)pause();
}

static void no_caps(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct none[2] = {0};

	for (int cap = 0; prctl(PR_CAPBSET_DROP, cap) == 0; cap++)
		continue;
	floor_need(syscall(SYS_capset, &header, none) == 0, "capset");
}

static void landlock(void)
{
	static const char *const places[] = {"/",         "/workspace", "/tmp",     "/dev/shm",
					     "/dev/null", "/dev/zero",  "/dev/full"};
	const uint64_t read_file = LANDLOCK_ACCESS_FS_READ_FILE;
	const struct landlock_ruleset_attr all = {.handled_access_fs = (1ULL << 13) - 1};
	AUTO_CLOSE int ruleset =
		(int)syscall(SYS_landlock_create_ruleset, &all, sizeof(all.handled_access_fs), 0);

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		AUTO_CLOSE int fd = open(places[i], O_PATH | O_CLOEXEC);
		struct landlock_path_beneath_attr rule = {.allowed_access = read_file,
							  .parent_fd = fd};

		floor_need(syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH,
				   &rule, 0) == 0,
			   "landlock");
	}
	floor_need(syscall(SYS_landlock_restrict_self, ruleset, 0) == 0, "landlock");
}

/* Stands in for the interpreter: a process that joins the shell and waits for its end. */
static _Noreturn void head_main(const struct floor_stage *stage, enum floor_step last, int init,
				int status)
{
	const struct sock_fprog program = {.len = stage->filter_count, .filter = stage->filter};
	char go;

	if (last >= STEP_CGROUP)
		floor_need(send(stage->control, "h", 1, 0) == 1 &&
				   recv(stage->control, &go, 1, 0) == 1,
			   "cgroup");
	if (last >= STEP_JOIN)
		floor_need(setns(init, CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET) ==
					   0 &&
				   unshare(CLONE_NEWCGROUP) == 0 &&
				   setns(init, CLONE_NEWUSER) == 0 && setresgid(ID, ID, ID) == 0 &&
				   setresuid(ID, ID, ID) == 0,
			   "join");
	if (last >= STEP_CAPS)
		no_caps();
	floor_need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
	if (last >= STEP_LANDLOCK && stage->abi > 0)
		landlock();
	if (last >= STEP_SECCOMP)
		floor_need(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0,
			   "seccomp");
	floor_write(stage);
	floor_need(send(status, "h", 1, MSG_NOSIGNAL) == 1, "tell");
	(void)recv(status, &go, 1, 0);
	_exit(0);
}

static void one_fork(const struct floor_stage *stage)
{
	pid_t pid = fork();

	floor_need(pid >= 0, "fork");
	if (pid == 0) {
		floor_write(stage);
		_exit(0);
	}
	floor_need(waitpid(pid, NULL, 0) == pid, "wait");
}

void floor_sandbox(const struct floor_stage *stage, enum floor_step last)
{
	int pidfd = -1;
	int pair[2];
	struct clone_args args = {
		.flags = CLONE_PIDFD | (last >= STEP_NAMESPACES ? (uint64_t)SHELL_NS : 0),
		.pidfd = (uint64_t)(uintptr_t)&pidfd,
		.exit_signal = SIGCHLD,
	};
	pid_t init, head;
	char byte;

	if (last == STEP_FORK) {
		one_fork(stage);
		return;
	}
	floor_need(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0, "socketpair");
	init = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (init == 0)
		init_main(stage, last, pair[1]);
	floor_need(init > 0 && recv(pair[0], &byte, 1, 0) == 1, "a shell");

	if (last >= STEP_NAMESPACES)
		floor_need(setns(pidfd, CLONE_NEWPID) == 0, "pid namespace");
	head = fork();
	if (head == 0)
		head_main(stage, last, pidfd, pair[1]);
	if (last >= STEP_NAMESPACES)
		floor_need(setns(stage->own_pidns, CLONE_NEWPID) == 0, "pid namespace");
	floor_need(head > 0 && recv(pair[0], &byte, 1, 0) == 1, "an interpreter");

	/* The head first: the shell's init waits for all of its namespace. */
	floor_need(kill(init, SIGKILL) == 0 && kill(head, SIGKILL) == 0, "kill");
	floor_need(waitpid(head, NULL, 0) == head && waitpid(init, NULL, 0) == init, "wait");
	(void)close(pidfd);
	(void)close(pair[0]);
	(void)close(pair[1]);
}
