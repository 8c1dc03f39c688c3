// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <sys/stat.h>

#include "base/c.h"
#include "base/io.h"
#include "policy/paths.h"
#include "policy/runtime.h"

#define CFG_MAX (64U << 10)
/* The place for an environment whose own path is covered by the sandbox's own mounts. */
#define ELSEWHERE "/opt/vivarium/"

static bool is_file(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

static bool is_directory(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* A shim of pyenv and the like: it starts an interpreter that is somewhere else. */
static bool is_script(const char *path)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	char start[2] = "";

	return fd >= 0 && read(fd, start, sizeof(start)) == 2 && memcmp(start, "#!", 2) == 0;
}

static int join(char ret_path[PATH_MAX], const char *directory, const char *name, struct err *err)
{
	int n = snprintf(ret_path, PATH_MAX, "%s/%s", directory, name);

	if (n < 0 || n >= PATH_MAX)
		return err_set(err, ERR_BAD_REQUEST, ENAMETOOLONG, "%s: the path is too long",
			       directory);
	return 0;
}

/* Cuts the last part off: "/a/b" -> "/a", "/a" -> "/". */
static void go_up(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash != NULL)
		slash[slash == path ? 1 : 0] = '\0';
}

/* Finds the interpreter that `python` means: a file, or bin/python3 of a directory. Symlinks are
 * resolved in the directory part only: a venv is recognized by the place of its link. */
static int find_interpreter(const char *python, char ret_path[PATH_MAX], struct err *err)
{
	static const char *const names[] = {"bin/python3", "bin/python"};
	char path[PATH_MAX], directory[PATH_MAX], resolved[PATH_MAX];
	const char *name;
	int r;

	r = snprintf(path, sizeof(path), "%s", python);
	if (r < 0 || (size_t)r >= sizeof(path))
		return err_set(err, ERR_BAD_REQUEST, ENAMETOOLONG, "the path is too long");
	for (size_t i = 0; is_directory(python) && i < ARRAY_LEN(names) && !is_file(path); i++) {
		r = join(path, python, names[i], err);
		if (r < 0)
			return r;
	}
	if (!is_file(path) || access(path, X_OK) < 0)
		return err_set(err, ERR_UNSUPPORTED, ENOENT,
			       "%.300s is neither a Python interpreter nor a venv with bin/python3",
			       python);

	if (is_script(path))
		return err_set(err, ERR_UNSUPPORTED, EINVAL,
			       "%.300s is a script; name the interpreter it starts (import sys; "
			       "sys.executable)",
			       path);

	name = strrchr(path, '/');
	(void)snprintf(directory, sizeof(directory), "%.*s", (int)(name - path), path);
	if (realpath(directory[0] != '\0' ? directory : "/", resolved) == NULL)
		return err_sys(err, "%s", directory);
	return join(ret_path, resolved, name + 1, err);
}

/* The value of a key in a pyvenv.cfg ("home = /usr/bin"). */
static bool find_key(char *text, const char *key, char *ret_value, size_t size)
{
	char *rest = NULL;

	for (char *line = strtok_r(text, "\r\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\r\n", &rest)) {
		size_t word;

		line += strspn(line, " \t");
		word = strcspn(line, " \t=");
		if (word != strlen(key) || strncasecmp(line, key, word) != 0)
			continue;
		line += word + strspn(line + word, " \t");
		if (*line++ != '=')
			continue;
		line += strspn(line, " \t");
		word = strlen(line);
		while (word > 0 && (line[word - 1] == ' ' || line[word - 1] == '\t'))
			word--;
		(void)snprintf(ret_value, size, "%.*s", (int)word, line);
		return true;
	}
	return false;
}

/* Is the interpreter in a venv? Then returns its root, and the home of the interpreter it was made
 * from. */
static int look_for_venv(const char *interpreter, char ret_root[PATH_MAX], char ret_home[PATH_MAX],
			 bool *ret_is_venv, struct err *err)
{
	char root[PATH_MAX], cfg[PATH_MAX];
	AUTO_BUF struct buf text = {.max = CFG_MAX};
	int r;

	(void)snprintf(root, sizeof(root), "%s", interpreter);
	go_up(root);
	go_up(root);
	*ret_is_venv = false;
	r = join(cfg, root, "pyvenv.cfg", err);
	if (r < 0 || !is_file(cfg))
		return r;

	r = io_read_file(AT_FDCWD, cfg, &text, err);
	if (r >= 0) {
		(void)buf_string(&text);
		r = find_key((char *)text.data, "home", ret_home, PATH_MAX) && ret_home[0] == '/'
			    ? 0
			    : err_set(err, ERR_UNSUPPORTED, EINVAL, "%.300s names no home", cfg);
	}
	if (r < 0)
		return r;
	memcpy(ret_root, root, sizeof(root));
	*ret_is_venv = true;
	return 0;
}

/* Does the sandbox mount something of its own over this path? */
static bool is_covered(const char *path)
{
	static const char *const own[] = {"/tmp", "/workspace", "/data", "/viv"};

	for (size_t i = 0; i < ARRAY_LEN(own); i++) {
		if (path_is_below(path, own[i]))
			return true;
	}
	return false;
}

static int add_bind(struct runtime_layout *layout, const char *source, const char *target,
		    struct err *err)
{
	struct runtime_bind *bind = &layout->binds[layout->bind_count];

	for (size_t i = 0; i < layout->bind_count; i++) {
		if (strcmp(layout->binds[i].target, target) == 0)
			return 0;
	}
	if (path_is_too_wide(source) || path_is_too_wide(target))
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "%.300s would show too much of the host; give the environment a "
			       "directory of its own",
			       source);
	if (layout->bind_count == RUNTIME_BINDS_MAX)
		return err_set(err, ERR_UNSUPPORTED, E2BIG, "it needs more than %d directories",
			       RUNTIME_BINDS_MAX);
	if (strlen(source) >= sizeof(bind->source) || strlen(target) >= sizeof(bind->target))
		return err_set(err, ERR_BAD_REQUEST, ENAMETOOLONG, "%.300s: the path is too long",
			       source);

	(void)snprintf(bind->source, sizeof(bind->source), "%s", source);
	(void)snprintf(bind->target, sizeof(bind->target), "%s", target);
	layout->bind_count++;
	return 0;
}

/* Binds the prefix above the bin directory that a venv's pyvenv.cfg names, under that name and its
 * real one: the venv's links use the former, Python's own search the latter. */
static int add_home(struct runtime_layout *layout, const char *home, struct err *err)
{
	char prefix[PATH_MAX], real[PATH_MAX];
	int r;

	(void)snprintf(prefix, sizeof(prefix), "%s", home);
	go_up(prefix);
	if (realpath(prefix, real) == NULL)
		return err_sys(err, "%.300s, which the venv was made from", prefix);
	if (path_is_below(real, "/usr") && path_is_below(prefix, "/usr"))
		return 0;
	if (is_covered(prefix) || is_covered(real))
		return err_set(err, ERR_UNSUPPORTED, EINVAL,
			       "the venv was made from %.300s, which a sandbox has its own mount "
			       "for; make it from an interpreter that lives elsewhere",
			       prefix);

	r = add_bind(layout, real, real, err);
	if (r < 0 || path_is_below(prefix, "/usr"))
		return r;
	return add_bind(layout, real, prefix, err);
}

/* Binds the root of the environment, and returns the interpreter's path inside the sandbox. */
static int add_root(struct runtime_layout *layout, const char *name, const char *root,
		    const char *interpreter, struct err *err)
{
	char target[PATH_MAX];
	int n;

	if (is_covered(root))
		n = snprintf(target, sizeof(target), ELSEWHERE "%s", name);
	else
		n = snprintf(target, sizeof(target), "%s", root);
	if (n >= 0 && (size_t)n < sizeof(target))
		n = snprintf(layout->python, sizeof(layout->python), "%s%s", target,
			     interpreter + strlen(root));
	if (n < 0 || (size_t)n >= sizeof(layout->python))
		return err_set(err, ERR_BAD_REQUEST, ENAMETOOLONG, "%.300s: the path is too long",
			       root);
	return path_is_below(root, "/usr") ? 0 : add_bind(layout, root, target, err);
}

/* The final target of the interpreter's link must be inside the root, too. */
static int check_end(const struct runtime_layout *layout, const char *interpreter, struct err *err)
{
	char end[PATH_MAX];

	if (realpath(interpreter, end) == NULL)
		return err_sys(err, "%.300s", interpreter);
	if (path_is_below(end, "/usr"))
		return 0;
	for (size_t i = 0; i < layout->bind_count; i++) {
		if (path_is_below(end, layout->binds[i].source))
			return 0;
	}
	return err_set(err, ERR_UNSUPPORTED, EINVAL,
		       "%.200s leads to %.200s, which is outside its environment", interpreter,
		       end);
}

/* An interpreter outside any venv: its prefix is the directory above bin. */
static int add_plain(struct runtime_layout *layout, const char *name, const char *interpreter,
		     struct err *err)
{
	char real[PATH_MAX], root[PATH_MAX];

	if (realpath(interpreter, real) == NULL)
		return err_sys(err, "%.300s", interpreter);
	(void)snprintf(root, sizeof(root), "%s", real);
	go_up(root);
	if (strncmp(interpreter, root, strlen(root)) == 0 &&
	    strchr(interpreter + strlen(root) + 1, '/') == NULL)
		(void)snprintf(real, sizeof(real), "%s", interpreter); /* python3, not python3.11 */
	if (strcmp(strrchr(root, '/'), "/bin") != 0)
		return err_set(
			err, ERR_UNSUPPORTED, EINVAL,
			"%.300s is not in a directory bin, so what belongs to it is not known",
			real);
	go_up(root);
	return add_root(layout, name, root, real, err);
}

int runtime_binds(const struct runtime *runtime, struct runtime_layout *ret_layout, struct err *err)
{
	char interpreter[PATH_MAX], root[PATH_MAX], home[PATH_MAX];
	struct runtime_layout layout = {0};
	bool is_venv = false;
	int r;

	if (runtime->is_shell) {
		(void)snprintf(layout.python, sizeof(layout.python), "%s", runtime->python);
		*ret_layout = layout;
		return 0;
	}
	r = find_interpreter(runtime->python, interpreter, err);
	if (r == 0 && strlen(interpreter) >= sizeof(layout.host))
		r = err_set(err, ERR_BAD_REQUEST, ENAMETOOLONG, "the path is too long");
	if (r == 0)
		r = look_for_venv(interpreter, root, home, &is_venv, err);
	if (r == 0 && is_venv) {
		r = add_root(&layout, runtime->name, root, interpreter, err);
		if (r == 0)
			r = add_home(&layout, home, err);
	} else if (r == 0) {
		r = add_plain(&layout, runtime->name, interpreter, err);
	}
	if (r == 0)
		r = check_end(&layout, interpreter, err);
	if (r < 0)
		return err_wrap(err, "runtime %s", runtime->name);

	memcpy(layout.host, interpreter, strlen(interpreter) + 1);
	*ret_layout = layout;
	return 0;
}
