// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "backend/launcher_start.h"
#include "base/c.h"
#include "base/log.h"
#include "daemon/daemon.h"

#define USER_NAME "vivarium"
#define RESPAWN_US 100000U

/* The directories that root makes for the user it becomes. */
static int give_dir(const char *path, const struct passwd *user, struct err *err)
{
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return err_sys(err, "make %s", path);
	if (chown(path, user->pw_uid, user->pw_gid) < 0)
		return err_sys(err, "give %s to " USER_NAME, path);
	return 0;
}

static int become(const struct passwd *user, struct err *err)
{
	if (setgroups(0, NULL) < 0 || setresgid(user->pw_gid, user->pw_gid, user->pw_gid) < 0 ||
	    setresuid(user->pw_uid, user->pw_uid, user->pw_uid) < 0)
		return err_sys(err, "become " USER_NAME);
	/* Without the one who can start viv-launch there is no point in going on. */
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0)
		return err_sys(err, "PR_SET_PDEATHSIG");
	return 0;
}

static int exit_of(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Waits for the one that serves, and starts viv-launch again whenever it ends. */
static int mind(pid_t serve, pid_t launch, const struct launcher_stay *stay, int listener)
{
	sigset_t all;

	(void)sigfillset(&all);
	for (;;) {
		int status = 0;
		struct err err = {0};
		int number = 0;
		pid_t pid = waitpid(-1, &status, WNOHANG);

		if (pid == serve)
			return exit_of(status);
		if (pid > 0 && pid == launch) {
			/* QUIT ends it on purpose, and then nobody serves for long either. */
			(void)usleep(RESPAWN_US);
			if (waitpid(serve, &status, WNOHANG) == serve)
				return exit_of(status);
			if (launcher_spawn(stay, listener, &launch, &err) < 0)
				(void)fprintf(stderr, "viv serve: %s\n", err.text);
			continue;
		}
		if (pid > 0)
			continue;
		if (sigwait(&all, &number) == 0 &&
		    (number == SIGTERM || number == SIGINT || number == SIGHUP))
			(void)kill(serve, number);
	}
}

static int run_as(const struct config *config, const struct daemon_options *options,
		  const struct passwd *user, struct err *err)
{
	char path[512];
	struct launcher_stay stay = {.path = path,
				     .owner = user->pw_uid,
				     .reattach_ms = (uint32_t)config->reattach_ms,
				     .is_minded = true,
				     .connected = -1};
	AUTO_CLOSE int listener = -1;
	sigset_t all;
	pid_t launch = 0;
	pid_t serve;
	int r;

	(void)snprintf(path, sizeof(path), "%s/launch.sock", config->runtime_dir);
	r = give_dir(config->runtime_dir, user, err);
	if (r == 0)
		r = give_dir(config->state_dir, user, err);
	/* One that a former daemon left answers already; its owner keeps its sandboxes. */
	if (r == 0 && launcher_dial(path, &stay.connected, err) < 0) {
		r = launcher_listen(&stay, &listener, err);
		if (r == 0)
			r = launcher_spawn(&stay, listener, &launch, err);
		if (r == 0)
			r = launcher_dial(path, &stay.connected, err);
	}
	if (r < 0)
		return r;
	serve = fork();
	if (serve < 0)
		return err_sys(err, "fork");
	if (serve == 0) {
		drop_fd(&listener);
		r = become(user, err);
		return r < 0 ? r : daemon_serve(config, options, &stay, err);
	}
	drop_fd(&stay.connected);
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, NULL);
	return mind(serve, launch, &stay, listener);
}

int daemon_main(const struct config *config, const struct daemon_options *options, struct err *err)
{
	const struct passwd *user = NULL;
	char path[512];
	struct launcher_stay stay = {.path = path,
				     .owner = geteuid(),
				     .reattach_ms = (uint32_t)config->reattach_ms,
				     .connected = -1};

	(void)snprintf(path, sizeof(path), "%s/launch.sock", config->runtime_dir);
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
