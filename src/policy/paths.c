// SPDX-License-Identifier: Apache-2.0
#include "policy/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/c.h"

/* An absolute path from the environment, or NULL: XDG says to ignore relative ones. */
static const char *from_environment(const char *name)
{
	const char *path = getenv(name);

	return path != NULL && path[0] == '/' ? path : NULL;
}

bool path_can_enter(const char *path, uid_t uid, char *ret_closed, size_t size)
{
	size_t length = strlen(path);

	for (size_t i = 1; i <= length; i++) {
		struct stat info;

		if (path[i] != '/' && path[i] != '\0')
			continue;
		(void)snprintf(ret_closed, size, "%.*s", (int)i, path);
		if (stat(ret_closed, &info) < 0)
			return errno == ENOENT;
		if ((info.st_mode & (info.st_uid == uid ? S_IXUSR : S_IXOTH)) == 0)
			return false;
	}
	return true;
}

/* Root's daemon becomes another user, who cannot use a folder that only root may enter, such as
 * that of a root login (/run/user/0). */
static const char *daemon_dir(const char *name)
{
	const char *path = from_environment(name);
	char closed[PATHS_MAX];

	if (path != NULL && geteuid() == 0 &&
	    !path_can_enter(path, (uid_t)-1, closed, sizeof(closed)))
		return NULL;
	return path;
}

static bool join(char *ret_path, size_t size, const char *directory, const char *rest)
{
	int n = snprintf(ret_path, size, "%s%s", directory, rest);

	return n > 0 && (size_t)n < size;
}

bool path_user_config(char *ret_path, size_t size)
{
	const char *config = from_environment("XDG_CONFIG_HOME");
	const char *home = from_environment("HOME");

	if (config != NULL)
		return join(ret_path, size, config, "/vivarium");
	return home != NULL && join(ret_path, size, home, "/.config/vivarium");
}

bool path_own_config(char *ret_path, size_t size)
{
	if (geteuid() == 0 && from_environment("XDG_CONFIG_HOME") == NULL)
		return join(ret_path, size, PATH_SYSTEM_CONFIG, "");
	return path_user_config(ret_path, size);
}

void path_state(char *ret_path, size_t size)
{
	const char *state = daemon_dir("XDG_STATE_HOME");
	const char *home = from_environment("HOME");

	if (state != NULL && join(ret_path, size, state, "/vivarium"))
		return;
	if (geteuid() != 0 && home != NULL && join(ret_path, size, home, "/.local/state/vivarium"))
		return;
	(void)join(ret_path, size, "/var/lib/vivarium", "");
}

void path_runtime(char *ret_path, size_t size)
{
	const char *runtime = daemon_dir("XDG_RUNTIME_DIR");

	if (runtime != NULL && join(ret_path, size, runtime, "/vivarium"))
		return;
	if (geteuid() == 0)
		(void)join(ret_path, size, "/run/vivarium", "");
	else
		(void)snprintf(ret_path, size, "/tmp/vivarium-%u", (unsigned int)geteuid());
}

int path_make_private(const char *path, struct err *err)
{
	AUTO_CLOSE int fd = -1;
	struct stat info;

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return err_sys(err, "make %s", path);

	/* By descriptor: the directory that is checked is the one that exists, and links are not
	 * followed. */
	fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &info) < 0)
		return err_sys(err, "open the directory %s", path);
	if (info.st_uid != geteuid() && info.st_uid != 0)
		return err_set(err, ERR_FORBIDDEN, EPERM,
			       "%s belongs to uid %u; remove it, or set runtime_dir in the config",
			       path, (unsigned int)info.st_uid);
	if (info.st_mode & (S_IWGRP | S_IWOTH))
		return err_set(err, ERR_FORBIDDEN, EPERM,
			       "%s can be changed by others (mode %04o); chmod go-w %s", path,
			       info.st_mode & 07777, path);
	return 0;
}

bool path_is_below(const char *path, const char *directory)
{
	size_t size = strlen(directory);

	if (strcmp(directory, "/") == 0)
		return path[0] == '/';
	return strncmp(path, directory, size) == 0 && (path[size] == '/' || path[size] == '\0');
}

/* Absolute, and without "//", "/./", "/../" or a slash at the end. */
static bool is_normal(const char *path)
{
	if (path[0] != '/')
		return false;
	while (*path == '/') {
		size_t size = strcspn(path + 1, "/");

		if (size == 0 || (size == 1 && path[1] == '.') ||
		    (size == 2 && path[1] == '.' && path[2] == '.'))
			return false;
		path += 1 + size;
	}
	return true;
}

bool path_is_too_wide(const char *path)
{
	/* Nothing in these trees is a program or data. */
	static const char *const trees[] = {"/etc", "/proc", "/sys", "/dev", "/run", "/boot"};
	/* A single entry of these may be meant, but never all of it. */
	static const char *const roots[] = {
		"/home", "/root",  "/var",     "/var/lib",   "/var/log",    "/var/run", "/tmp",
		"/usr",  "/opt",   "/srv",     "/mnt",       "/media",      "/bin",     "/sbin",
		"/lib",  "/lib64", "/var/tmp", "/usr/local", "/lost+found",
	};
	const char *home = from_environment("HOME");

	if (!is_normal(path))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(trees); i++) {
		if (path_is_below(path, trees[i]))
			return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(roots); i++) {
		if (strcmp(path, roots[i]) == 0)
			return true;
	}
	if (path_is_below(path, "/home") && strchr(path + strlen("/home/"), '/') == NULL)
		return true;
	return home != NULL && path_is_below(home, path);
}

/* The deepest existing directory on the way to `path`. */
static int open_deepest(const char *path)
{
	char part[PATH_MAX];
	int fd = -1;

	if (snprintf(part, sizeof(part), "%s", path) >= (int)sizeof(part) || part[0] != '/')
		return -1;
	for (;;) {
		char *slash = strrchr(part, '/');

		fd = open(part, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0 || strcmp(part, "/") == 0)
			return fd;
		slash[slash == part ? 1 : 0] = '\0';
	}
}

bool path_holds(const char *directory, const char *path)
{
	AUTO_CLOSE int fd = open_deepest(path);
	struct stat wanted, here = {0};
	bool is_top = false;

	if (path_is_below(path, directory))
		return true;
	if (stat(directory, &wanted) < 0)
		return false; /* a directory that does not exist shows nothing */
	while (fd >= 0 && !is_top) {
		struct stat below = here;
		int up;

		if (fstat(fd, &here) < 0)
			return true;
		if (here.st_dev == wanted.st_dev && here.st_ino == wanted.st_ino)
			return true;
		/* The root is its own parent. */
		is_top = here.st_dev == below.st_dev && here.st_ino == below.st_ino;
		up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (up < 0)
			return true;
		drop_fd(&fd);
		fd = up;
	}
	return fd < 0;
}
