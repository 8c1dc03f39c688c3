// SPDX-License-Identifier: Apache-2.0
#include "launch/saved_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/sendfile.h>
#include <sys/stat.h>

#include "base/c.h"
#include "base/io.h"

#define TICK_NS_MAX 50000000 /* changes further apart than this differ in time on any kernel */
#define BLOCK 512
#define PROBE "probe"

static int64_t ns_of(const struct timespec *time)
{
	return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

bool saved_file_has_fine_clock(int store)
{
	AUTO_CLOSE int fd = openat(store, PROBE, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct stat before = {0};
	struct stat after = {0};

	if (fd < 0 || write(fd, "a", 1) != 1 || fstat(fd, &before) < 0 || write(fd, "b", 1) != 1 ||
	    fstat(fd, &after) < 0)
		return false;
	(void)unlinkat(store, PROBE, 0);
	return ns_of(&before.st_ctim) != ns_of(&after.st_ctim);
}

/* Records that the copy and the file are equal now. */
static int note(struct saved_tree *tree, const struct stat *copy, const struct stat *file,
		struct err *err)
{
	struct saved_record record = {
		.copy = copy->st_ino,
		.ino = file->st_ino,
		.size = (uint64_t)file->st_size,
		.mtime_ns = ns_of(&file->st_mtim),
		.ctime_ns = ns_of(&file->st_ctim),
	};
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	/* A change within the same clock tick would leave no trace, so the file counts as
	 * changed. */
	if (!tree->has_fine_clock && ns_of(&now) - record.ctime_ns < TICK_NS_MAX)
		record.ctime_ns = 0;
	return saved_index_put(&tree->index, &record, err);
}

/* Copies one range of data. (copy_file_range does not work between two tmpfs mounts.) */
static int copy_range(int in, int out, off_t from, off_t to, struct err *err)
{
	if (lseek(out, from, SEEK_SET) < 0)
		return err_sys(err, "copy a file");
	while (from < to) {
		ssize_t n = sendfile(out, in, &from, (size_t)(to - from));

		if (n < 0)
			return err_sys(err, "copy a file");
		if (n == 0)
			break; /* the file has become shorter meanwhile */
	}
	return 0;
}

static int copy_data(int in, int out, off_t size, struct err *err)
{
	off_t at = 0;

	while (at < size) {
		off_t data = lseek(in, at, SEEK_DATA);
		off_t hole = data >= 0 ? lseek(in, data, SEEK_HOLE) : -1;
		int r;

		if (data < 0 && errno == ENXIO)
			break; /* only a hole up to the end */
		if (data < 0 || hole < 0)
			return err_sys(err, "read a file");
		if (data >= size)
			break;
		r = copy_range(in, out, data, hole < size ? hole : size, err);
		if (r < 0)
			return r;
		at = hole;
	}
	if (ftruncate(out, size) < 0)
		return err_sys(err, "copy a file");
	return 0;
}

static int finish(int fd, const struct stat *like, struct stat *ret_status, struct err *err)
{
	const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, like->st_mtim};

	if (fchmod(fd, like->st_mode & 07777) < 0 || futimens(fd, times) < 0 ||
	    fstat(fd, ret_status) < 0)
		return err_sys(err, "finish a file");
	return 0;
}

static bool link_same(const struct saved_tree *tree, const struct saved_dirs *dirs,
		      const char *name, const struct stat *status)
{
	struct stat copy;

	return dirs->like >= 0 && fstatat(dirs->like, name, &copy, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(copy.st_mode) && saved_index_is_same(&tree->index, &copy, status) &&
	       linkat(dirs->like, name, dirs->to, name, 0) == 0;
}

static int too_large(const struct saved_tree *tree, struct err *err)
{
	return err_set(err, ERR_TOO_LARGE, EFBIG, "copies of files above %llu MiB are not kept",
		       (unsigned long long)(tree->room / MIB));
}

int saved_file_save(struct saved_tree *tree, const struct saved_dirs *dirs, const char *name,
		    const struct stat *status, struct err *err)
{
	AUTO_CLOSE int in = -1;
	AUTO_CLOSE int out = -1;
	struct stat now = {0};
	struct stat copy = {0};
	int r;

	if (link_same(tree, dirs, name, status))
		return 0;
	in = openat(dirs->from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (in < 0 || fstat(in, &now) < 0)
		return err_sys(err, "open a file to save");
	if (!S_ISREG(now.st_mode))
		return 0;
	if (tree->used + (uint64_t)now.st_blocks * BLOCK > tree->room)
		return too_large(tree, err);

	out = openat(dirs->to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (out < 0)
		return err_sys(err, "save a file");
	r = copy_data(in, out, now.st_size, err);
	if (r == -ENOSPC)
		return too_large(tree, err);
	if (r == 0)
		r = finish(out, &now, &copy, err);
	if (r < 0)
		return r;
	tree->used += (uint64_t)copy.st_blocks * BLOCK;
	tree->copied += (uint64_t)copy.st_blocks * BLOCK;
	return note(tree, &copy, &now, err);
}

/* Opens the file to write to: the existing one if it is the file that was saved, else a new one. */
static int open_target(const struct saved_tree *tree, int to, const char *name,
		       const struct stat *copy, struct err *err)
{
	struct stat status;
	int fd = -1;

	if (fstatat(to, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode) &&
	    saved_index_is_of(&tree->index, copy, &status))
		fd = openat(to, name, O_WRONLY | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	if (unlinkat(to, name, 0) < 0 && errno != ENOENT)
		return err_sys(err, "replace a file");
	fd = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return fd < 0 ? err_sys(err, "restore a file") : fd;
}

int saved_file_restore(struct saved_tree *tree, int from, int to, const char *name,
		       const struct stat *copy, struct err *err)
{
	AUTO_CLOSE int in = -1;
	AUTO_CLOSE int out = -1;
	struct stat status;
	int r;

	if (fstatat(to, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	    saved_index_is_same(&tree->index, copy, &status))
		return 0;
	in = openat(from, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (in < 0)
		return err_sys(err, "open a saved file");
	out = open_target(tree, to, name, copy, err);
	if (out < 0)
		return out;
	r = copy_data(in, out, copy->st_size, err);
	if (r == 0)
		r = finish(out, copy, &status, err);
	return r < 0 ? r : note(tree, copy, &status, err);
}

/* Removes one name; true on success. Removing a copy's last name removes its record, too. */
static bool remove_one(struct saved_tree *tree, int dir, const char *name, bool is_copy)
{
	struct stat status;

	if (is_copy && fstatat(dir, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISREG(status.st_mode) && status.st_nlink == 1) {
		uint64_t bytes = (uint64_t)status.st_blocks * BLOCK;

		saved_index_remove(&tree->index, status.st_ino);
		tree->used -= bytes < tree->used ? bytes : tree->used;
	}
	return unlinkat(dir, name, 0) == 0 || unlinkat(dir, name, AT_REMOVEDIR) == 0 ||
	       errno == ENOENT;
}

/* Moves a directory that is not empty up to `top`, under a name that is free there. */
static int move_up(int dir, const char *name, int top, uint32_t *serial, struct err *err)
{
	char free_name[16];
	int r;

	do {
		(void)snprintf(free_name, sizeof(free_name), "%u", (*serial)++);
		r = renameat2(dir, name, top, free_name, RENAME_NOREPLACE);
	} while (r < 0 && errno == EEXIST);
	return r < 0 ? err_sys(err, "take a directory apart") : 0;
}

/* Empties a directory. With `top`, deeper directories are moved there instead of being entered. */
static int empty(struct saved_tree *tree, int dir, int top, bool is_copy, uint32_t *serial,
		 struct err *err)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry = NULL;
	int r = 0;

	if (stream == NULL)
		return err_sys(err, "open a directory to remove");
	while (r == 0 && (entry = readdir(stream)) != NULL) {
		AUTO_CLOSE int below = -1;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		    remove_one(tree, dir, entry->d_name, is_copy))
			continue;
		if (top >= 0) {
			r = move_up(dir, entry->d_name, top, serial, err);
			continue;
		}
		below = openat(dir, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (below < 0)
			r = err_sys(err, "open a directory to remove");
		else
			r = empty(tree, below, dir, is_copy, serial, err);
		if (r == 0 && unlinkat(dir, entry->d_name, AT_REMOVEDIR) < 0 && errno != ENOTEMPTY)
			r = err_sys(err, "remove a directory");
	}
	(void)closedir(stream);
	return r;
}

/* Opens two levels of a tree at a time, however deep it is. Directories that were moved up are
 * handled in the next round. */
int saved_file_remove(struct saved_tree *tree, int dir, const char *name, bool is_copy,
		      struct err *err)
{
	AUTO_CLOSE int top = -1;
	uint32_t serial = 0;

	if (remove_one(tree, dir, name, is_copy))
		return 0;
	top = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (top < 0)
		return err_sys(err, "open a directory to remove");
	while (unlinkat(dir, name, AT_REMOVEDIR) < 0) {
		int r;

		if (errno == ENOENT)
			break;
		if (errno != ENOTEMPTY)
			return err_sys(err, "remove a directory");
		r = empty(tree, top, -1, is_copy, &serial, err);
		if (r < 0)
			return r;
	}
	return 0;
}
