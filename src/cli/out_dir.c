// SPDX-License-Identifier: Apache-2.0
#include "cli/out_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/c.h"
#include "base/id.h"
#include "base/io.h"

#define WORKSPACE "/workspace/"
#define NAME_SIZE_MAX 255U

int out_dir_open(struct out_dir *out, const char *path, struct err *err)
{
	*out = (struct out_dir){.dir = -1, .file = -1, .parent = -1};
	if (mkdir(path, 0777) < 0 && errno != EEXIST)
		return err_sys(err, "--out: make %s", path);
	out->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (out->dir < 0)
		return err_sys(err, "--out: open %s", path);
	return 0;
}

static void drop_file(struct out_dir *out)
{
	if (out->file >= 0)
		(void)unlinkat(out->parent, out->temporary, 0);
	drop_fd(&out->file);
	drop_fd(&out->parent);
	out->path[0] = '\0';
}

void out_dir_close(struct out_dir *out)
{
	drop_file(out);
	drop_fd(&out->dir);
}

static bool is_name(const char *name, size_t size)
{
	return size > 0 && size <= NAME_SIZE_MAX && !(size == 1 && name[0] == '.') &&
	       !(size == 2 && name[0] == '.' && name[1] == '.');
}

/* Goes down one step, and makes it where it is missing. A link there is an error, not a way. */
static int step(int dir, const char *name, struct err *err)
{
	int next;

	if (mkdirat(dir, name, 0777) < 0 && errno != EEXIST)
		return err_sys(err, "make a folder");
	next = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (next < 0)
		return err_sys(err, "open a folder");
	return next;
}

/* The folder in which the last name of `path` belongs. */
static int walk(int root, const char *path, int *ret_parent, const char **ret_name, struct err *err)
{
	AUTO_CLOSE int dir = fcntl(root, F_DUPFD_CLOEXEC, 0);
	const char *rest =
		strncmp(path, WORKSPACE, strlen(WORKSPACE)) == 0 ? path + strlen(WORKSPACE) : path;

	if (dir < 0)
		return err_sys(err, "duplicate a descriptor");
	for (;;) {
		size_t size = strcspn(rest, "/");
		char name[NAME_SIZE_MAX + 1];
		int next;

		if (!is_name(rest, size))
			return err_set(err, ERR_BAD_REQUEST, EINVAL, "its path is not a plain one");
		if (rest[size] == '\0')
			break;
		memcpy(name, rest, size);
		name[size] = '\0';
		next = step(dir, name, err);
		if (next < 0)
			return next;
		(void)close(dir);
		dir = next;
		rest += size + 1;
	}
	*ret_parent = steal_fd(&dir);
	*ret_name = rest;
	return 0;
}

static int open_file(struct out_dir *out, const char *path, struct err *err)
{
	char id[ID_SIZE];
	const char *name = NULL;
	int r;

	drop_file(out);
	if (strlen(path) > OUT_PATH_MAX)
		return err_set(err, ERR_BAD_REQUEST, ENAMETOOLONG, "its path is too long");
	r = walk(out->dir, path, &out->parent, &name, err);
	if (r < 0)
		return r;

	/* Under a name of our own until it is whole; then renamed over whatever has its name. */
	id_new(".viv-", id);
	(void)snprintf(out->temporary, sizeof(out->temporary), "%s", id);
	out->file = openat(out->parent, out->temporary,
			   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (out->file < 0)
		return err_sys(err, "make a file");
	(void)snprintf(out->path, sizeof(out->path), "%s", path);
	return 0;
}

static int finish_file(struct out_dir *out, struct err *err)
{
	const char *slash = strrchr(out->path, '/');
	const char *name = slash != NULL ? slash + 1 : out->path;

	drop_fd(&out->file);
	if (renameat(out->parent, out->temporary, out->parent, name) < 0) {
		int r = err_sys(err, "put a file in its place");

		(void)unlinkat(out->parent, out->temporary, 0);
		drop_file(out);
		return r;
	}
	drop_file(out);
	return 0;
}

int out_dir_piece(struct out_dir *out, const char *path, const void *bytes, size_t size,
		  bool is_last, struct err *err)
{
	int r = 0;

	if (out->file < 0 || strcmp(out->path, path) != 0)
		r = open_file(out, path, err);
	if (r == 0)
		r = io_write_all(out->file, bytes, size, err);
	if (r == 0 && is_last)
		r = finish_file(out, err);
	if (r < 0)
		drop_file(out);
	return r;
}
