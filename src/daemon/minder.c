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

#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "backend/launcher_start.h"
#include "base/c.h"
#include "base/log.h"
#include "daemon/daemon.h"

#define USER_NAME "vivarium"
#define WISH_NS 1000000000ULL /* how long a wish for another launch holds */

/* The directories that root makes for the user it becomes. By descriptor: where others can write
 * above it, what is given away must be what was looked at, and no link to anything else. */
static int give_dir(const char *path, const struct passwd *user, struct err *err)
{
	AUTO_CLOSE int dir = -1;
	struct stat status;

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
	return 0;
}

static int become(const struct passwd *user, struct err *err)
{
	if (setgroups(0, NULL) < 0 || setresgid(user->pw_gid, user->pw_gid, user->pw_gid) < 0 ||
	    setresuid(user->pw_uid, user->pw_uid, user->pw_uid) < 0)
		return err_sys(err, "become " USER_NAME);
	/* Without the one who can start viv-launch there is no point in going on: die as a crash
	 * would, so that launch keeps everything for the next pair. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return err_sys(err, "PR_SET_PDEATHSIG");
	return 0;
}

struct minder {
	const struct launcher_stay *stay;
	pid_t serve, launch; /* launch is 0 while it is one that another minder started */
	int listener;        /* owned; -1: launch has it from another minder */
	int signals;         /* owned */
	int wish;            /* owned: serve writes here when it finds no launch */
	uint64_t wished_ns;  /* when it did so while we still knew of one; 0: never */
};

/* Starts viv-launch, if there is none. */
static void start_launch(struct minder *minder)
{
	AUTO_CLOSE int there = -1;
	struct err err = {0};
	int r = 0;

	minder->wished_ns = minder->launch > 0 ? now_ns() : 0;
	if (minder->launch > 0)
		return;
	if (minder->listener < 0) {
		if (launcher_dial(minder->stay->path, &there, &err) == 0)
			return;
		r = launcher_listen(minder->stay, &minder->listener, &err);
	}
	if (r == 0)
		r = launcher_spawn(minder->stay, minder->listener, &minder->launch, &err);
	if (r < 0)
		(void)fprintf(stderr, "viv serve: %s\n", err.text);
}

/* Takes the signals that came. Returns the exit status once the one that serves has ended, else
 * -1. */
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
			/* It could not start: then what was started for it goes, too. After a
			 * crash launch keeps everything for the next pair. */
			if (WIFEXITED(status) && WEXITSTATUS(status) != 0 && minder->launch > 0) {
				(void)kill(minder->launch, SIGTERM);
				(void)unlink(minder->stay->path);
			}
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		}
		if (pid == minder->launch) {
			minder->launch = 0; /* serve says whether it wants another one */
			/* A socket closes before its process is dead: the wish may come first. */
			if (minder->wished_ns != 0 && now_ns() - minder->wished_ns < WISH_NS)
				start_launch(minder);
		}
	}
	return -1;
}

static int mind(struct minder *minder)
{
	struct pollfd polls[] = {{.fd = minder->signals, .events = POLLIN},
				 {.fd = minder->wish, .events = POLLIN}};
	int status = -1;

	while (status < 0) {
		char wishes[64];

		(void)poll(polls, ARRAY_LEN(polls), -1);
		status = take_signals(minder);
		if (status < 0 && (polls[1].revents & POLLIN) != 0 &&
		    read(minder->wish, wishes, sizeof(wishes)) > 0)
			start_launch(minder);
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
		    const struct passwd *user, const struct launcher_stay *stay, struct err *err)
{
	sigset_t none;
	int r = become(user, err);

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	return r < 0 ? r : daemon_serve(config, options, stay, err);
}

static int run_as(const struct config *config, const struct daemon_options *options,
		  const struct passwd *user, struct err *err)
{
	char path[512];
	struct launcher_stay stay = {.path = path,
				     .owner = user->pw_uid,
				     .reattach_ms = (uint32_t)config->reattach_ms,
				     .is_minded = true,
				     .connected = -1,
				     .wish = -1};
	struct minder minder = {.stay = &stay, .listener = -1, .signals = -1, .wish = -1};
	int wish[2] = {-1, -1};
	int r;

	(void)snprintf(path, sizeof(path), "%s/launch.sock", config->runtime_dir);
	r = give_dir(config->runtime_dir, user, err);
	if (r == 0)
		r = give_dir(config->state_dir, user, err);
	if (r == 0)
		r = watch_signals(&minder.signals, err);
	if (r == 0 && pipe2(wish, O_CLOEXEC | O_NONBLOCK) < 0)
		r = err_sys(err, "pipe");
	if (r < 0)
		return r;
	/* One that a former daemon left answers already, and keeps its sandboxes. */
	if (launcher_dial(path, &stay.connected, err) < 0) {
		start_launch(&minder);
		r = launcher_dial(path, &stay.connected, err);
		if (r < 0)
			return r;
	}
	minder.wish = wish[0];
	stay.wish = wish[1];
	minder.serve = fork();
	if (minder.serve < 0)
		return err_sys(err, "fork");
	if (minder.serve == 0) {
		drop_fd(&minder.listener);
		drop_fd(&minder.signals);
		drop_fd(&minder.wish);
		return serve_as(config, options, user, &stay, err);
	}
	drop_fd(&stay.connected);
	drop_fd(&stay.wish);
	return mind(&minder);
}

int daemon_main(const struct config *config, const struct daemon_options *options, struct err *err)
{
	const char *unit = getenv("VIVARIUM_LAUNCH"); /* a service manager's: it starts launch */
	const struct passwd *user = NULL;
	char path[512];
	struct launcher_stay stay = {.path = path,
				     .owner = geteuid(),
				     .reattach_ms = (uint32_t)config->reattach_ms,
				     .connected = -1,
				     .wish = -1};

	(void)snprintf(path, sizeof(path), "%s/launch.sock", config->runtime_dir);
	if (unit != NULL) {
		stay.path = unit;
		stay.is_minded = true;
	}
	if (geteuid() != 0)
		return daemon_serve(config, options, &stay, err);
	user = getpwnam(USER_NAME);
	if (user == NULL)
		return err_set(err, ERR_UNSUPPORTED, ENOENT,
			       "as root it becomes the user " USER_NAME ", and there is none; make "
			       "it: useradd --system --home-dir /nonexistent --shell "
			       "/usr/sbin/nologin " USER_NAME);
	return run_as(config, options, user, err);
}
