// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "backend/namespace/launcher_start.h"
#include "base/c.h"
#include "daemon/daemon.h"
#include "policy/paths.h"

#define USER_NAME "vivarium"

/* Gives a directory to the user that root becomes. Works by descriptor: where others can write to
 * the parent, the directory given away must be the one that was checked, not a link to something
 * else. */
static int give_dir(const char *path, const char *key, const struct passwd *user, struct err *err)
{
	AUTO_CLOSE int dir = -1;
	struct stat status;
	char closed[PATHS_MAX];

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return err_sys(err, "make %s", path);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0 || fstat(dir, &status) < 0)
		return err_sys(err, "open the directory %s", path);
	if (status.st_uid != 0 && status.st_uid != user->pw_uid)
		return err_set(err, ERR_FORBIDDEN, EPERM,
			       "%s belongs to uid %u; remove it, or give it to " USER_NAME, path,
			       (unsigned int)status.st_uid);
	if (fchown(dir, user->pw_uid, user->pw_gid) < 0)
		return err_sys(err, "give %s to " USER_NAME, path);
	if (!path_can_enter(path, user->pw_uid, closed, sizeof(closed)))
		return err_set(err, ERR_FORBIDDEN, EACCES,
			       "the user " USER_NAME ", which root's daemon runs as, cannot enter "
			       "%s; chmod o+x %s, or set another %s in the config",
			       closed, closed, key);
	return 0;
}

/* Allows one minder at a time: a second one would take over the socket of the first one's
 * launch. */
static int lock_dir(const char *path, int *ret_lock, struct err *err)
{
	AUTO_CLOSE int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (dir < 0)
		return err_sys(err, "open the directory %s", path);
	if (flock(dir, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK
			       ? err_set(err, ERR_BUSY, EBUSY,
					 "%s: another viv serve uses it; stop that one, or give "
					 "this one a runtime_dir of its own",
					 path)
			       : err_sys(err, "lock %s", path);
	*ret_lock = steal_fd(&dir);
	return 0;
}

static int become(const struct passwd *user, pid_t minder, struct err *err)
{
	if (setgroups(0, NULL) < 0 || setresgid(user->pw_gid, user->pw_gid, user->pw_gid) < 0 ||
	    setresuid(user->pw_uid, user->pw_uid, user->pw_uid) < 0)
		return err_sys(err, "become " USER_NAME);
	/* Without the minder nothing can start viv-launch: die as in a crash, so that launch keeps
	 * everything for the next pair. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return err_sys(err, "PR_SET_PDEATHSIG");
	if (getppid() != minder) /* the minder ended before that call */
		(void)raise(SIGKILL);
	return 0;
}

struct minder {
	const struct backend_stay *stay;
	bool is_keeping;     /* the stop keeps sandboxes for the next daemon */
	pid_t serve, launch; /* launch is 0: none runs, or another minder started it */
	int lock;            /* owned */
	int signals;         /* owned */
	int wish;            /* owned: serve writes here when there is no launch */
};

/* Starts launch. Only launch holds its socket, so that clients notice at once when it ends. */
static int start_launch(struct minder *minder, struct err *err)
{
	AUTO_CLOSE int listener = -1;
	int r = launcher_listen(minder->stay, &listener, err);

	return r < 0 ? r : launcher_spawn(minder->stay, listener, &minder->launch, err);
}

/* Serve asks for a launch. Until the end of the previous one has been reported nothing is done:
 * serve repeats the request. */
static void take_wish(struct minder *minder)
{
	AUTO_CLOSE int there = -1;
	struct err err = {0};
	char wishes[64];

	if (read(minder->wish, wishes, sizeof(wishes)) <= 0 || minder->launch > 0)
		return;
	if (launcher_is_absent(launcher_dial(minder->stay->path, &there, &err)) &&
	    start_launch(minder, &err) < 0)
		(void)fprintf(stderr, "viv serve: %s\n", err.text);
}

static void end_launch(struct minder *minder)
{
	if (minder->launch <= 0)
		return;
	(void)kill(minder->launch, SIGTERM);
	(void)unlink(minder->stay->path);
}

/* Should launch end with serve? After a crash of serve, launch keeps everything for the next pair.
 * A serve that a signal ended before it could handle signals, or that could not start, has put
 * nothing into launch. */
static bool is_over(const struct minder *minder, int status)
{
	if (WIFSIGNALED(status))
		return WTERMSIG(status) == SIGTERM || WTERMSIG(status) == SIGINT;
	return !minder->is_keeping || WEXITSTATUS(status) != 0;
}

/* Handles the signals that arrived. Returns the exit status once the serving process has ended,
 * else -1. */
static int take_signals(struct minder *minder)
{
	struct signalfd_siginfo info;
	int status = 0;
	pid_t pid;

	while (read(minder->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo != SIGCHLD)
			(void)kill(minder->serve, (int)info.ssi_signo);
	}
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == minder->serve) {
			if (is_over(minder, status))
				end_launch(minder);
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		}
		if (pid == minder->launch)
			minder->launch = 0; /* serve says whether it wants another */
	}
	return -1;
}

static int mind(struct minder *minder)
{
	struct pollfd polls[] = {{.fd = minder->signals, .events = POLLIN},
				 {.fd = minder->wish, .events = POLLIN}};
	int status = -1;

	while (status < 0) {
		(void)poll(polls, ARRAY_LEN(polls), -1);
		status = take_signals(minder);
		if (status < 0 && (polls[1].revents & POLLIN) != 0)
			take_wish(minder);
		if ((polls[1].revents & POLLIN) == 0 && (polls[1].revents & POLLHUP) != 0)
			polls[1].fd = -1;
	}
	return status;
}

static int watch_signals(int *ret_fd, struct err *err)
{
	static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGCHLD};
	sigset_t set;

	(void)sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		(void)sigaddset(&set, numbers[i]);
	*ret_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (*ret_fd < 0 || sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return err_sys(err, "signals");
	return 0;
}

static int serve_as(const struct config *config, const struct daemon_options *options,
		    const struct passwd *user, pid_t minder, const struct backend_stay *stay,
		    struct err *err)
{
	sigset_t none;
	int r = become(user, minder, err);

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	return r < 0 ? r : daemon_serve(config, options, stay, err);
}

/* Connects to a launch that a previous daemon left with its sandboxes, or starts one. */
static int first_launch(struct minder *minder, int *ret_connected, struct err *err)
{
	const char *path = minder->stay->path;
	int r = launcher_dial(path, ret_connected, err);

	if (!launcher_is_absent(r))
		return r;
	r = start_launch(minder, err);
	return r < 0 ? r : launcher_dial(path, ret_connected, err);
}

static int run_as(const struct config *config, const struct daemon_options *options,
		  const struct passwd *user, struct backend_stay *stay, struct err *err)
{
	struct minder minder = {
		.stay = stay, .is_keeping = options->keep, .lock = -1, .signals = -1, .wish = -1};
	pid_t self = getpid();
	int wish[2] = {-1, -1};
	int r = give_dir(config->runtime_dir, "runtime_dir", user, err);

	if (r == 0)
		r = give_dir(config->state_dir, "state_dir", user, err);
	if (r == 0)
		r = lock_dir(config->runtime_dir, &minder.lock, err);
	if (r == 0)
		r = watch_signals(&minder.signals, err);
	if (r == 0 && pipe2(wish, O_CLOEXEC | O_NONBLOCK) < 0)
		r = err_sys(err, "pipe");
	if (r == 0)
		r = first_launch(&minder, &stay->connected, err);
	minder.wish = wish[0];
	stay->wish = wish[1];
	if (r == 0) {
		minder.serve = fork();
		r = minder.serve < 0 ? err_sys(err, "fork") : 0;
	}
	if (r < 0) {
		end_launch(&minder);
		return r;
	}
	if (minder.serve == 0) {
		drop_fd(&minder.lock);
		drop_fd(&minder.signals);
		drop_fd(&minder.wish);
		return serve_as(config, options, user, self, stay, err);
	}
	drop_fd(&stay->connected);
	drop_fd(&stay->wish);
	return mind(&minder);
}

int daemon_main(const struct config *config, const struct daemon_options *options, struct err *err)
{
	const char *unit = getenv("VIVARIUM_LAUNCH"); /* set by a service manager that starts
						       * launch */
	const struct passwd *user = NULL;
	char path[512];
	struct backend_stay stay = {.path = path,
				    .owner = geteuid(),
				    .reattach_ms = (uint32_t)config->reattach_ms,
				    .connected = -1,
				    .wish = -1};

	(void)snprintf(path, sizeof(path), "%s/launch.sock", config->runtime_dir);
	stay.is_minded = unit != NULL || geteuid() == 0;
	if (geteuid() != 0) {
		stay.path = unit != NULL ? unit : path;
		return daemon_serve(config, options, &stay, err);
	}
	user = getpwnam(USER_NAME);
	if (user == NULL)
		return err_set(err, ERR_UNSUPPORTED, ENOENT,
			       "as root, viv serve runs as the user " USER_NAME
			       ", which does not exist; make "
			       "it: useradd --system --home-dir /nonexistent --shell "
			       "/usr/sbin/nologin " USER_NAME);
	stay.owner = user->pw_uid;
	return run_as(config, options, user, &stay, err);
}
