// SPDX-License-Identifier: Apache-2.0
#include "attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/c.h"
#include "base/io.h"

/* As in a sandbox. */
#define ROOM_ID 1000

/* The room is built on top of this, in a mount namespace that nobody else sees. */
#define ROOM "/tmp"

/* No errno is as high (255 is what an act may end with by itself). */
#define EXIT_GAVE_UP 254

_Noreturn void give_up(const char *what)
{
	(void)fprintf(stderr, "gave up: %s\n", what);
	_exit(EXIT_GAVE_UP);
}

int tried(long result)
{
	return result >= 0 ? 0 : errno;
}

void put_up(const struct wall *wall, const struct walls_input *input)
{
	struct err err = {0};

	if (wall == NULL)
		return;
	/* The caps wall stands before those that need this. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		give_up("no_new_privs");
	if (wall->up(input, &err) < 0)
		give_up(err.text);
}

static int map_ids(uid_t uid, gid_t gid, struct err *err)
{
	char map[48];
	int r = io_write_file(AT_FDCWD, "/proc/self/setgroups", "deny", err);

	if (r < 0)
		return r;
	(void)snprintf(map, sizeof(map), "%d %u 1", ROOM_ID, uid);
	r = io_write_file(AT_FDCWD, "/proc/self/uid_map", map, err);
	if (r < 0)
		return r;
	(void)snprintf(map, sizeof(map), "%d %u 1", ROOM_ID, gid);
	return io_write_file(AT_FDCWD, "/proc/self/gid_map", map, err);
}

static int bring_in(const char *path, bool is_directory, struct err *err)
{
	char target[64];
	AUTO_CLOSE int fd = -1;

	(void)snprintf(target, sizeof(target), ROOM "%s", path);
	if (is_directory && mkdir(target, 0755) < 0)
		return err_sys(err, "mkdir %s", path);
	if (!is_directory) {
		fd = open(target, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
		if (fd < 0)
			return err_sys(err, "create %s", path);
	}
	if (mount(path, target, NULL, MS_BIND | MS_REC, NULL) < 0)
		return err_sys(err, "bind %s", path);
	return 0;
}

static int furnish(struct err *err)
{
	static const char *const folders[] = {"/usr", "/etc", "/proc"};
	static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random",
					      "/dev/urandom"};
	static const char *const empty[] = {ROOM "/dev", ROOM "/dev/shm", ROOM "/tmp",
					    ROOM "/workspace"};
	static const char *const links[] = {"bin", "sbin", "lib", "lib64"};

	for (size_t i = 0; i < ARRAY_LEN(empty); i++) {
		if (mkdir(empty[i], 0700) < 0)
			return err_sys(err, "mkdir %s", empty[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		int r = bring_in(folders[i], true, err);

		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < ARRAY_LEN(devices); i++) {
		int r = bring_in(devices[i], false, err);

		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < ARRAY_LEN(links); i++) {
		char target[16], path[32];

		(void)snprintf(target, sizeof(target), "usr/%s", links[i]);
		(void)snprintf(path, sizeof(path), ROOM "/%s", links[i]);
		if (symlink(target, path) < 0)
			return err_sys(err, "link %s", path);
	}
	return 0;
}

static int make_room(struct err *err)
{
	uid_t uid = getuid();
	gid_t gid = getgid();
	int r;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return err_sys(err, "unshare user and mount");
	r = map_ids(uid, gid, err);
	if (r < 0)
		return r;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return err_sys(err, "private mounts");
	if (mount("tmpfs", ROOM, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755") < 0)
		return err_sys(err, "mount the room");
	r = furnish(err);
	if (r < 0)
		return r;
	/* Not chroot: in one, no further user namespace can be made, and tests want to be refused
	 * that by a wall. The old root lies on top of the new one until it is taken off. */
	if (chdir(ROOM) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 ||
	    umount2(".", MNT_DETACH) < 0 || chdir("/workspace") < 0)
		return err_sys(err, "enter the room");
	return 0;
}

int room_enter(void)
{
	struct err err = {0};
	int r = make_room(&err);

	if (r < 0)
		(void)fprintf(stderr, "no room: %s\n", err.text);
	return r;
}

void room_input(struct walls_input *ret_input)
{
	struct walls_input input = {
		.plan =
			{
				.version = PLAN_VERSION,
				.limits = LIMITS_MEASURED,
				.memory = 512 * MIB,
				.disk = 256 * MIB,
				.pids = 64,
				.cpus_milli = 1000,
				.files = 1024,
			},
		.shell_pidfd = -1,
		.std = {0, 1, 2},
		.landlock_abi = landlock_probe(),
	};
	struct err err = {0};
	struct sock_filter *filter = NULL;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		give_up("socketpair");
	input.channel = pair[0];
	if (seccomp_build(&(struct seccomp_kind){0}, &filter, &input.filter_count, &err) < 0)
		give_up(err.text);
	input.filter = filter;
	*ret_input = input;
}

static _Noreturn void attempt_main(attempt_act *act, const struct wall *wall)
{
	/* cmocka's own, under which a child that crashes would report as a test of its own. */
	static const int caught[] = {SIGFPE, SIGILL, SIGSEGV, SIGBUS, SIGSYS};
	struct walls_input input;

	for (size_t i = 0; i < ARRAY_LEN(caught); i++)
		(void)signal(caught[i], SIG_DFL);
	if (room_enter() < 0)
		give_up("the room");
	room_input(&input);
	_exit(act(&input, wall));
}

int attempt(attempt_act *act, const struct wall *wall)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		attempt_main(act, wall);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		return -WTERMSIG(status);
	assert_true(WIFEXITED(status));
	assert_int_not_equal(WEXITSTATUS(status), EXIT_GAVE_UP);
	return WEXITSTATUS(status);
}

static int try_room(void)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0)
		_exit(room_enter() < 0);
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 ? 0 : -1;
}

int run_attempts(const char *name, const struct CMUnitTest *tests, size_t count)
{
	const char *must_run = getenv("VIV_MUST_RUN");

	if (try_room() < 0) {
		(void)printf("SKIP %s: needs user namespaces (sysctl user.max_user_namespaces)\n",
			     name);
		return must_run != NULL && strcmp(must_run, "1") == 0 ? 1 : 77;
	}
	return _cmocka_run_group_tests(name, tests, count, NULL, NULL);
}
