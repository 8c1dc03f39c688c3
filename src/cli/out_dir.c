// SPDX-License-Identifier: Apache-2.0
#include "cli/out_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/c.h"
#include "base/io.h"

#define WORKSPACE "/workspace/"
#define NAME_SIZE_MAX 255U

/* Names without a leading dot that programs in the folder obey all the same. */
static const struct name_row {
	const char *name;
	const char *why;
} refused_names[] = {
	{"vivarium.yaml", "viv would obey it"},
	/* With HEAD, objects and refs a folder is a bare repository; its config runs programs. */
	{"HEAD", "git would take the folder for a repository, and obey it"},
};

/* ---- the folder ---- */

/* True if `place` is this folder or below it, and also if that cannot be determined. */
static bool holds(const struct stat *folder, const char *place)
{
	AUTO_CLOSE int dir = open(place, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat info;

	if (dir < 0)
		return errno != ENOENT && errno != ENOTDIR;
	if (fstat(dir, &info) < 0)
		return true;
	for (;;) {
		struct stat above;
		int up;

		if (info.st_dev == folder->st_dev && info.st_ino == folder->st_ino)
			return true;
		up = openat(dir, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (up < 0)
			return true;
		(void)close(dir);
		dir = up;
		if (fstat(dir, &above) < 0)
			return true;
		if (above.st_dev == info.st_dev && above.st_ino == info.st_ino)
			return false; /* the root is its own parent */
		info = above;
	}
}

int out_dir_open(struct out_dir *out, const char *path, bool may_replace, struct err *err)
{
	const char *home = getenv("HOME");
	struct stat info;

	*out = (struct out_dir){.dir = -1, .file = -1, .parent = -1, .may_replace = may_replace};
	if (mkdir(path, 0777) < 0 && errno != EEXIST)
		return err_sys(err, "--out: make %s", path);
	out->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (out->dir < 0)
		return err_sys(err, "--out: open %s", path);
	if (fstat(out->dir, &info) < 0)
		return err_sys(err, "--out: stat %s", path);

	out->is_lived_in =
		holds(&info, ".") || (home != NULL && home[0] != '\0' && holds(&info, home));
	if (may_replace && out->is_lived_in)
		return err_set(err, ERR_BAD_REQUEST, EPERM,
			       "--overwrite: %.200s is the current folder, your home, or above one "
			       "of them; choose a folder that holds only results",
			       path);
	return 0;
}

/* ---- one file ---- */

static void drop_file(struct out_dir *out)
{
	if (out->temporary[0] != '\0')
		(void)unlinkat(out->parent, out->temporary, 0);
	out->temporary[0] = '\0';
	drop_fd(&out->file);
	drop_fd(&out->parent);
}

void out_dir_close(struct out_dir *out)
{
	drop_file(out);
	drop_fd(&out->dir);
}

static int check_name(const char *name, size_t size, struct err *err)
{
	bool is_step = size <= 2 && memcmp(name, "..", size) == 0; /* "", "." and ".." */

	if (is_step || size > NAME_SIZE_MAX)
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "its path has a part that is empty, '.', '..' or too long");
	if (name[0] == '.')
		return err_set(err, ERR_FORBIDDEN, EPERM,
			       "names that begin with a dot are never written");
	/* Case is ignored: some file systems do the same. */
	for (size_t i = 0; i < ARRAY_LEN(refused_names); i++) {
		const struct name_row *row = &refused_names[i];

		if (size == strlen(row->name) && strncasecmp(name, row->name, size) == 0)
			return err_set(err, ERR_FORBIDDEN, EPERM, "%s is never written: %s",
				       row->name, row->why);
	}
	return 0;
}

/* Checks every name of a path before the first of its folders is made. */
static int check_path(const char *path, struct err *err)
{
	for (unsigned int depth = 1;; depth++) {
		size_t size = strcspn(path, "/");
		int r = check_name(path, size, err);

		if (r < 0)
			return r;
		if (depth > OUT_DEPTH_MAX)
			return err_set(err, ERR_TOO_LARGE, ENAMETOOLONG,
				       "its path has more than %u names", OUT_DEPTH_MAX);
		if (path[size] == '\0')
			return 0;
		path += size + 1;
	}
}

/* Opens the next folder of a path, and makes it if it is missing. A symbolic link is an error. */
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

/* Opens the folder in which the last name of the checked `path` belongs. */
static int walk(int root, const char *path, int *ret_parent, struct err *err)
{
	AUTO_CLOSE int dir = fcntl(root, F_DUPFD_CLOEXEC, 0);

	if (dir < 0)
		return err_sys(err, "duplicate a descriptor");
	for (const char *slash = strchr(path, '/'); slash != NULL; slash = strchr(path, '/')) {
		char name[NAME_SIZE_MAX + 1];
		int next;

		(void)snprintf(name, sizeof(name), "%.*s", (int)(slash - path), path);
		next = step(dir, name, err);
		if (next < 0)
			return next;
		(void)close(dir);
		dir = next;
		path = slash + 1;
	}
	*ret_parent = steal_fd(&dir);
	return 0;
}

static int refuse_taken(struct err *err)
{
	return err_set(err, ERR_CONFLICT, EEXIST, "its name is taken, and nothing is replaced");
}

/* Checks that a file may get this name: before its bytes are written, and again at the end. */
static int check_free(const struct out_dir *out, const char *name, struct err *err)
{
	struct stat info;

	if (fstatat(out->parent, name, &info, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : err_sys(err, "look for a file");
	if (!out->may_replace)
		return refuse_taken(err);
	if (!S_ISREG(info.st_mode))
		return err_set(err, ERR_CONFLICT, EEXIST,
			       "its name is taken by something other than a regular file, which is "
			       "kept");
	return 0;
}

static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static int open_file(struct out_dir *out, struct err *err)
{
	const char *path = out->path;
	int r;

	if (strncmp(path, WORKSPACE, strlen(WORKSPACE)) == 0)
		path += strlen(WORKSPACE);
	r = check_path(path, err);
	if (r == 0)
		r = walk(out->dir, path, &out->parent, err);
	if (r == 0)
		r = check_free(out, last_name(path), err);
	if (r < 0)
		return r;

	/* The file has a temporary name until it is complete. */
	id_new(".viv-", out->temporary);
	out->file = openat(out->parent, out->temporary,
			   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (out->file < 0) {
		r = err_sys(err, "make a file");
		out->temporary[0] = '\0'; /* a file of that name is not ours */
		return r;
	}
	return 0;
}

/* Gives the file its name only if the name is free; the kernel checks and renames in one step. */
static int place_new(const struct out_dir *out, const char *name, struct err *err)
{
	int r = renameat2(out->parent, out->temporary, out->parent, name, RENAME_NOREPLACE);

	/* NFS and others do not support this flag; link() never replaces a file either. */
	if (r < 0 && errno == EINVAL) {
		r = linkat(out->parent, out->temporary, out->parent, name, 0);
		if (r == 0)
			(void)unlinkat(out->parent, out->temporary, 0);
	}
	if (r < 0)
		return errno == EEXIST ? refuse_taken(err) : err_sys(err, "rename the file");
	return 0;
}

static int finish_file(struct out_dir *out, struct err *err)
{
	const char *name = last_name(out->path);
	int r;

	if (!out->may_replace) {
		r = place_new(out, name, err);
	} else {
		r = check_free(out, name, err);
		if (r == 0 && renameat(out->parent, out->temporary, out->parent, name) < 0)
			r = err_sys(err, "rename the file");
	}
	if (r < 0)
		return r;
	out->temporary[0] = '\0';
	return 1;
}

static int take_piece(struct out_dir *out, const void *bytes, size_t size, bool is_last,
		      struct err *err)
{
	int r = 0;

	if (out->file < 0)
		r = open_file(out, err);
	if (r == 0)
		r = io_write_all(out->file, bytes, size, err);
	if (r == 0 && is_last)
		r = finish_file(out, err);
	return r;
}

int out_dir_piece(struct out_dir *out, const char *path, const void *bytes, size_t size,
		  bool is_last, struct err *err)
{
	int r = 0;

	if (strlen(path) > OUT_PATH_MAX)
		return err_set(err, ERR_BAD_REQUEST, ENAMETOOLONG, "its path is too long");
	if (strcmp(out->path, path) != 0) {
		drop_file(out);
		out->is_refused = false;
		(void)snprintf(out->path, sizeof(out->path), "%s", path);
	}
	/* Without a refused piece, the rest would be another file. */
	if (!out->is_refused)
		r = take_piece(out, bytes, size, is_last, err);
	if (r < 0 || is_last)
		drop_file(out);
	out->is_refused = !is_last && (out->is_refused || r < 0);
	if (is_last)
		out->path[0] = '\0';
	return r;
}
