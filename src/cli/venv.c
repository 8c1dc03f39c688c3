// SPDX-License-Identifier: Apache-2.0
#include "cli/venv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>
#include <sys/wait.h>

#include "base/c.h"
#include "base/id.h"
#include "base/tree.h"

/* Refuses the path of a flag; reads errno. */
static int refuse_path(const char *flag, const char *path, struct err *err)
{
	int num = errno;

	return err_set(err, ERR_BAD_REQUEST, num, "%s %.300s: %s", flag, path,
		       strerrordesc_np(num));
}

/* The folder of our venvs: below $XDG_DATA_HOME, else /var/lib for root, else ~/.local/share. */
static int data_dir(char ret_path[RUNTIME_PATH_MAX], struct err *err)
{
	const char *xdg = getenv("XDG_DATA_HOME");
	const char *home = getenv("HOME");
	int length;

	if (xdg != NULL && xdg[0] == '/')
		length = snprintf(ret_path, RUNTIME_PATH_MAX, "%s/vivarium/runtimes", xdg);
	else if (geteuid() == 0)
		length = snprintf(ret_path, RUNTIME_PATH_MAX, "/var/lib/vivarium/runtimes");
	else if (home != NULL && home[0] == '/')
		length = snprintf(ret_path, RUNTIME_PATH_MAX, "%s/.local/share/vivarium/runtimes",
				  home);
	else
		return err_set(err, ERR_UNSUPPORTED, ENOENT, "set HOME or XDG_DATA_HOME");
	if (length >= RUNTIME_PATH_MAX - 64)
		return err_set(err, ERR_UNSUPPORTED, ENAMETOOLONG,
			       "the data folder's path is too long");
	return 0;
}

/* mkdir -p. */
static int make_folders(const char *path, struct err *err)
{
	char part[RUNTIME_PATH_MAX];

	for (const char *at = path + 1;; at++) {
		if (*at != '/' && *at != '\0')
			continue;
		(void)snprintf(part, sizeof(part), "%.*s", (int)(at - path), path);
		if (mkdir(part, 0755) < 0 && errno != EEXIST)
			return err_sys(err, "make %s", part);
		if (*at == '\0')
			return 0;
	}
}

/* Runs a program with its output on our stderr, and waits. */
static int run_program(const char *const argv[], struct err *err)
{
	/* posix_spawn takes char *const[] and writes to none of them. */
	char *const *plain = (char *const *)(uintptr_t)argv;
	posix_spawn_file_actions_t actions;
	int status = 0;
	pid_t pid = 0;
	int r;

	r = posix_spawn_file_actions_init(&actions);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
	if (r == 0)
		r = posix_spawn(&pid, argv[0], &actions, NULL, plain, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	if (r != 0)
		return err_set(err, ERR_INTERNAL, r, "start %s: %s", argv[0], strerror(r));

	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return err_sys(err, "wait for %s", argv[0]);
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return err_set(err, ERR_BAD_REQUEST, EINVAL, "%s %s %s failed; see above", argv[0],
			       argv[1], argv[2]);
	return 0;
}

static int fill(const char *path, const char *requirements, struct err *err)
{
	char python[RUNTIME_PATH_MAX + 16];
	const char *const make[] = {RUNTIME_PYTHON, "-Im", "venv", path, NULL};
	const char *const get[] = {python,       "-Im",     "pip",
				   "install",    "--quiet", "--disable-pip-version-check",
				   "--no-input", "-r",      requirements,
				   NULL};
	int r;

	(void)snprintf(python, sizeof(python), "%s/bin/python", path);
	r = run_program(make, err);
	if (r < 0)
		return err_wrap(err, "no venv could be made (sudo apt install python3-venv)");
	return run_program(get, err);
}

int venv_make(const char *name, const char *requirements, char ret_path[RUNTIME_PATH_MAX],
	      struct err *err)
{
	char parent[RUNTIME_PATH_MAX];
	char path[RUNTIME_PATH_MAX];
	char unique[ID_SIZE];
	mode_t old_mask;
	int length;
	int r;

	if (access(requirements, R_OK) < 0)
		return refuse_path("--requirements", requirements, err);
	r = data_dir(parent, err);
	if (r < 0)
		return r;

	/* A new name each time, so that replacing a runtime never breaks runs of the old one. */
	id_new("", unique);
	length = snprintf(path, sizeof(path), "%s/%.32s-%.8s", parent, name, unique);
	if (length < 0 || (size_t)length >= sizeof(path))
		return err_set(err, ERR_BAD_REQUEST, ENAMETOOLONG, "%s is too long a path", parent);

	/* Sandboxes have ids of their own and must be able to read what is in there. */
	old_mask = umask(022);
	r = make_folders(parent, err);
	if (r == 0)
		r = fill(path, requirements, err);
	(void)umask(old_mask);
	if (r < 0) {
		venv_remove(path);
		return r;
	}
	(void)snprintf(ret_path, RUNTIME_PATH_MAX, "%s", path);
	return 0;
}

void venv_remove(const char *path)
{
	char parent[RUNTIME_PATH_MAX];
	AUTO_CLOSE int dir = -1;
	struct err err = {0};
	size_t length;

	if (data_dir(parent, &err) < 0)
		return;
	length = strlen(parent);
	if (strncmp(path, parent, length) != 0 || path[length] != '/' || path[length + 1] == '\0' ||
	    strchr(path + length + 1, '/') != NULL || path[length + 1] == '.')
		return;
	dir = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir >= 0)
		(void)tree_remove(dir, path + length + 1);
}

int venv_absolute(const char *path, char ret_path[RUNTIME_PATH_MAX], struct err *err)
{
	AUTO_FREE char *here = NULL;
	int length;

	if (access(path, R_OK) < 0)
		return refuse_path("--python", path, err);
	if (path[0] == '/') {
		length = snprintf(ret_path, RUNTIME_PATH_MAX, "%s", path);
	} else {
		here = getcwd(NULL, 0);
		if (here == NULL)
			return err_sys(err, "working folder");
		length = snprintf(ret_path, RUNTIME_PATH_MAX, "%s/%s", here, path);
	}
	if (length < 0 || length >= RUNTIME_PATH_MAX)
		return err_set(err, ERR_BAD_REQUEST, ENAMETOOLONG, "%s is too long a path", path);
	return 0;
}
