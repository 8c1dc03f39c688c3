// SPDX-License-Identifier: Apache-2.0
#include "launch/zygote.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <linux/sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/c.h"
#include "base/io.h"
#include "proto/frame.h"
#include "proto/zygote_msg.h"

#define ZYGOTE_SOCKET 3
#define PRELOADS_MAX 128

/* Makes malloc() take its memory in huge pages (glibc 2.35 and later), which are cheap to fork. It
 * has to be there at the exec; the zygote removes it, so that programs that code starts do without.
 */
#define HUGE_MALLOC "GLIBC_TUNABLES=glibc.malloc.hugetlb=1"

/* The whole environment of every interpreter; of a zygote its first entry, too. One thread per math
 * library: a zygote must be single-threaded to fork, and a sandbox has one cpu unless its policy
 * says more. */
static const char *const environment[] = {
	HUGE_MALLOC,
	"PATH=/usr/local/bin:/usr/bin:/bin",
	"HOME=/tmp",
	"TMPDIR=/tmp",
	"LANG=C.UTF-8",
	"TZ=UTC",
	"MPLBACKEND=Agg",
	"MPLCONFIGDIR=/tmp/.matplotlib",
	"OPENBLAS_NUM_THREADS=1",
	"OMP_NUM_THREADS=1",
	"MKL_NUM_THREADS=1",
	"NUMEXPR_NUM_THREADS=1",
	NULL,
};

/* execve wants char *const *; it does not write through them. */
static void exec_python(const char *python, const char *const *argv, bool is_zygote)
{
	const char *const *envp = is_zygote ? environment : environment + 1;

	(void)execve(python, (char *const *)(uintptr_t)argv, (char *const *)(uintptr_t)envp);
}

/* Splits the preload list, which is separated by single spaces, in place. */
static void zygote_argv(char *preload, const char **argv, size_t count)
{
	char *save = NULL;

	for (char *name = strtok_r(preload, " ", &save); name != NULL && count < PRELOADS_MAX;
	     name = strtok_r(NULL, " ", &save))
		argv[count++] = name;
	argv[count] = NULL;
}

static _Noreturn void zygote_main(const struct launch_zygote *zygote, int mntns, int socket)
{
	static const char message[] = "viv-launch: the zygote could not start\n";
	const char *argv[PRELOADS_MAX + 1] = {zygote->python, "-I", "/viv/main.py", "zygote", "3"};
	struct launch_zygote copy = *zygote;
	sigset_t none;
	int null;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGPIPE, SIG_DFL);
	zygote_argv(copy.preload, argv, 5);

	/* Some imports need a place to write: a /tmp that no sandbox sees. */
	if (setns(mntns, CLONE_NEWNS) == 0 && unshare(CLONE_NEWNS) == 0 && chdir("/") == 0 &&
	    mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=64m,mode=0700") == 0) {
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
		/* stderr stays launch's own: a failing import reports its error there. */
		if (null >= 0 && dup2(null, 0) == 0 && dup2(null, 1) == 1 &&
		    dup2(socket, ZYGOTE_SOCKET) == ZYGOTE_SOCKET &&
		    syscall(SYS_close_range, ZYGOTE_SOCKET + 1, ~0U, 0U) == 0)
			exec_python(zygote->python, argv, true);
	}
	(void)!write(2, message, sizeof(message) - 1);
	_exit(127);
}

static int send_walls(int socket, const struct inner *inner, struct err *err)
{
	struct zygote_walls walls = {
		.type = ZYGOTE_WALLS,
		.landlock_abi = inner->input.landlock_abi,
		.is_measured = inner->input.is_measured,
		.is_shared = inner->input.map.count == 1,
	};
	ssize_t n = io_send_fds(socket, &walls, sizeof(walls), NULL, 0);

	if (n < 0)
		return err_set(err, ERR_INTERNAL, (int)-n, "tell the zygote its walls");
	return 0;
}

int zygote_start(const struct launch_zygote *zygote, int mntns, const struct inner *inner,
		 int *ret_socket, struct err *err)
{
	int pair[2];
	pid_t pid;
	int r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, "socketpair");
	/* ZYGOTE_SOCKET could be the number of mntns or of the socket: move both out of its way. */
	pid = fork();
	if (pid == 0) {
		int high_mntns = fcntl(mntns, F_DUPFD_CLOEXEC, 64);
		int high_socket = fcntl(pair[1], F_DUPFD_CLOEXEC, 64);

		zygote_main(zygote, high_mntns, high_socket);
	}
	(void)close(pair[1]);
	if (pid < 0) {
		(void)close(pair[0]);
		return err_sys(err, "fork a zygote");
	}

	r = send_walls(pair[0], inner, err);
	if (r < 0) {
		(void)close(pair[0]);
		return r;
	}
	*ret_socket = pair[0];
	return 0;
}

static _Noreturn void cold_main(struct walls_input *walls, int status, const char *python)
{
	char up[16] = "";
	char abi[16] = "";
	char shown[16] = "";
	const char *const argv[] = {python, "-I", "/viv/main.py", "cold", up, abi, shown, NULL};
	struct walls_report report = {0};
	struct err err = {0};

	/* HELLO means that code can run here, so it waits until the interpreter is known to
	 * exist. */
	if (walls_wait(status, walls, &err) == 0 && walls_up(walls, &report, &err) == 0 &&
	    access(python, X_OK) < 0) {
		(void)err_sys(&err, "exec %s", python);
	} else if (err.kind == ERR_NONE &&
		   frame_send_hello(WALL_CHANNEL_FD, report.up, report.landlock_abi, report.shown,
				    &err) == 0) {
		/* Heads forked from this interpreter send the same values in their HELLO. */
		(void)snprintf(up, sizeof(up), "%u", report.up);
		(void)snprintf(abi, sizeof(abi), "%u", report.landlock_abi);
		(void)snprintf(shown, sizeof(shown), "%u", report.shown);
		/* The channel survives this one exec; main.py marks it close-on-exec again. */
		(void)fcntl(WALL_CHANNEL_FD, F_SETFD, 0);
		exec_python(python, argv, false);
		(void)err_sys(&err, "exec %s", python);
	}
	/* The status socket is closed once the fds wall is up: then only stderr is left. */
	if (send(status, &err, sizeof(err), MSG_NOSIGNAL) < 0)
		(void)dprintf(2, "vivarium: %s\n", err.text);
	_exit(125);
}

pid_t zygote_cold(struct walls_input *walls, int own_pidns, int cgroup, int status,
		  const char *python, struct err *err)
{
	struct clone_args args = {.exit_signal = SIGCHLD};
	pid_t pid = -1;

	if (cgroup >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (unsigned)cgroup;
	}

	/* Only children enter the pid namespace; this process stays where it is. */
	if (setns(walls->shell_pidfd, CLONE_NEWPID) < 0)
		return err_sys(err, "aim at the shell's pid namespace");
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0)
		cold_main(walls, status, python);
	if (pid < 0)
		(void)err_sys(err, "fork a cold interpreter");
	if (setns(own_pidns, CLONE_NEWPID) < 0)
		abort(); /* every later child would end up in that sandbox */
	return pid < 0 ? -1 : pid;
}
