// SPDX-License-Identifier: Apache-2.0
#include "launch/saved_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/c.h"
#include "launch/saved_file.h"

#define DEPTH_MAX 64
#define ENTRIES_MAX 20000

#define DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* "h7": the tree of head 7; "n7" while it is being made. */
struct tree_name {
	char text[16];
};

static struct tree_name name_of(char kind, uint32_t head)
{
	struct tree_name name;

	(void)snprintf(name.text, sizeof(name.text), "%c%u", kind, head);
	return name;
}

static bool is_dots(const char *name)
{
	return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

/* A separate stream for a directory; the descriptor stays the caller's. */
static DIR *list(int dir)
{
	int fd = openat(dir, ".", DIRECTORY);
	DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;

	if (stream == NULL && fd >= 0)
		(void)close(fd);
	return stream;
}

/* The next name other than "." and ".."; NULL at the end. */
static const char *next_name(DIR *stream)
{
	const struct dirent *entry = NULL;

	while ((entry = readdir(stream)) != NULL) {
		if (!is_dots(entry->d_name))
			return entry->d_name;
	}
	return NULL;
}

static bool is_kind(const struct stat *one, const struct stat *other)
{
	return (one->st_mode & S_IFMT) == (other->st_mode & S_IFMT);
}

static bool is_time(const struct stat *one, const struct stat *other)
{
	return one->st_mtim.tv_sec == other->st_mtim.tv_sec &&
	       one->st_mtim.tv_nsec == other->st_mtim.tv_nsec;
}

/* Sets a directory's mode and time. Done last: filling the directory changes its time and may need
 * write permission. */
static int finish_directory(int dir, const struct stat *like, struct err *err)
{
	const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, like->st_mtim};

	if (fchmod(dir, like->st_mode & 07777) < 0 || futimens(dir, times) < 0)
		return err_sys(err, "finish a directory");
	return 0;
}

static int copy_link(int from, int to, const char *name, const struct stat *like, struct err *err)
{
	const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, like->st_mtim};
	char target[PATH_MAX];
	ssize_t n = readlinkat(from, name, target, sizeof(target) - 1);

	if (n < 0)
		return err_sys(err, "read a link");
	target[n] = '\0';
	if (symlinkat(target, to, name) < 0 || utimensat(to, name, times, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(err, "make a link");
	return 0;
}

static bool is_same_link(int one, int other, const char *name)
{
	char target[2][PATH_MAX];
	ssize_t n = readlinkat(one, name, target[0], sizeof(target[0]));

	return n >= 0 && readlinkat(other, name, target[1], sizeof(target[1])) == n &&
	       memcmp(target[0], target[1], (size_t)n) == 0;
}

/* ---- save ---- */

static int save_directory(struct saved_tree *tree, int from, int to, int like, uint32_t depth,
			  struct err *err);

static int save_below(struct saved_tree *tree, const struct saved_dirs *dirs, const char *name,
		      const struct stat *status, uint32_t depth, struct err *err)
{
	AUTO_CLOSE int from = openat(dirs->from, name, DIRECTORY);
	AUTO_CLOSE int like = dirs->like >= 0 ? openat(dirs->like, name, DIRECTORY) : -1;
	AUTO_CLOSE int to = -1;
	int r;

	if (depth >= DEPTH_MAX)
		return err_set(err, ERR_TOO_LARGE, ELOOP, "folders are nested more than %d deep",
			       DEPTH_MAX);
	if (from < 0 || mkdirat(dirs->to, name, 0700) < 0)
		return err_sys(err, "save a directory");
	to = openat(dirs->to, name, DIRECTORY);
	if (to < 0)
		return err_sys(err, "save a directory");
	r = save_directory(tree, from, to, like, depth + 1, err);
	if (r < 0)
		return r;
	return finish_directory(to, status, err);
}

static int save_entry(struct saved_tree *tree, const struct saved_dirs *dirs, const char *name,
		      uint32_t depth, struct err *err)
{
	struct stat status;

	if (fstatat(dirs->from, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : err_sys(err, "look at a file");
	if (S_ISDIR(status.st_mode))
		return save_below(tree, dirs, name, &status, depth, err);
	if (S_ISREG(status.st_mode))
		return saved_file_save(tree, dirs, name, &status, err);
	if (S_ISLNK(status.st_mode))
		return copy_link(dirs->from, dirs->to, name, &status, err);
	return 0; /* the other end of a socket or fifo cannot be saved */
}

static int save_directory(struct saved_tree *tree, int from, int to, int like, uint32_t depth,
			  struct err *err)
{
	const struct saved_dirs dirs = {.from = from, .to = to, .like = like};
	const char *name = NULL;
	DIR *stream = list(from);
	int r = 0;

	if (stream == NULL)
		return err_sys(err, "list a directory");
	while (r == 0 && (name = next_name(stream)) != NULL) {
		if (++tree->entries > ENTRIES_MAX)
			r = err_set(err, ERR_TOO_LARGE, EMFILE, "more than %d files", ENTRIES_MAX);
		else
			r = save_entry(tree, &dirs, name, depth, err);
	}
	(void)closedir(stream);
	return r;
}

int saved_tree_save(struct saved_tree *tree, uint32_t head, int32_t like, struct err *err)
{
	const struct tree_name made = name_of('n', head);
	const struct tree_name name = name_of('h', head);
	const struct tree_name old = name_of('h', (uint32_t)like);
	AUTO_CLOSE int from = like >= 0 ? openat(tree->store, old.text, DIRECTORY) : -1;
	AUTO_CLOSE int to = -1;
	struct err ignored = {0};
	struct stat status;
	int r;

	/* Removes what a helper that was killed while saving has left. */
	r = saved_file_remove(tree, tree->store, made.text, true, err);
	if (r < 0)
		return r;
	if (fstat(tree->workspace, &status) < 0 || mkdirat(tree->store, made.text, 0700) < 0)
		return err_sys(err, "save /workspace");
	to = openat(tree->store, made.text, DIRECTORY);
	if (to < 0)
		return err_sys(err, "save /workspace");
	r = save_directory(tree, tree->workspace, to, from, 0, err);
	if (r == 0)
		r = finish_directory(to, &status, err);
	/* The new copy may link to the head's own previous copy, which is therefore removed only
	 * now. */
	if (r == 0)
		r = saved_tree_remove(tree, head, err);
	if (r == 0 && renameat(tree->store, made.text, tree->store, name.text) < 0)
		r = err_sys(err, "save /workspace");
	if (r < 0)
		(void)saved_file_remove(tree, tree->store, made.text, true, &ignored);
	return r;
}

/* ---- restore ---- */

/* Removes files that are not in the copy, or are of another kind there. */
static int prune(struct saved_tree *tree, int from, int to, bool *changed, struct err *err)
{
	const char *name = NULL;
	DIR *stream = list(to);
	int r = 0;

	if (stream == NULL)
		return err_sys(err, "list a directory");
	while (r == 0 && (name = next_name(stream)) != NULL) {
		struct stat copy;
		struct stat status;

		if (fstatat(to, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (fstatat(from, name, &copy, AT_SYMLINK_NOFOLLOW) == 0 && is_kind(&copy, &status))
			continue;
		*changed = true;
		r = saved_file_remove(tree, to, name, false, err);
	}
	(void)closedir(stream);
	return r;
}

static int restore_directory(struct saved_tree *tree, int from, int to, const struct stat *copy,
			     bool wants_files, struct err *err);

static int restore_below(struct saved_tree *tree, int from, int to, const char *name,
			 const struct stat *copy, bool wants_files, struct err *err)
{
	AUTO_CLOSE int from_below = openat(from, name, DIRECTORY);
	AUTO_CLOSE int to_below = -1;

	if (mkdirat(to, name, 0700) < 0 && errno != EEXIST)
		return err_sys(err, "make a directory again");
	to_below = openat(to, name, DIRECTORY);
	if (from_below < 0 || to_below < 0)
		return err_sys(err, "open a directory to restore");
	return restore_directory(tree, from_below, to_below, copy, wants_files, err);
}

static int restore_link(struct saved_tree *tree, int from, int to, const char *name,
			const struct stat *copy, struct err *err)
{
	int r;

	if (is_same_link(from, to, name))
		return 0;
	r = saved_file_remove(tree, to, name, false, err);
	return r < 0 ? r : copy_link(from, to, name, copy, err);
}

static int restore_entry(struct saved_tree *tree, int from, int to, const char *name,
			 bool wants_files, struct err *err)
{
	struct stat copy;

	if (fstatat(from, name, &copy, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(err, "look at a saved file");
	if (S_ISDIR(copy.st_mode))
		return restore_below(tree, from, to, name, &copy, wants_files, err);
	if (!wants_files)
		return 0;
	if (S_ISLNK(copy.st_mode))
		return restore_link(tree, from, to, name, &copy, err);
	return saved_file_restore(tree, from, to, name, &copy, err);
}

static int restore_directory(struct saved_tree *tree, int from, int to, const struct stat *copy,
			     bool wants_files, struct err *err)
{
	struct stat status;
	const char *name = NULL;
	DIR *stream = NULL;
	bool changed = false;
	int r = prune(tree, from, to, &changed, err);

	if (r < 0)
		return r;
	stream = list(from);
	if (stream == NULL)
		return err_sys(err, "list a saved directory");
	while (r == 0 && (name = next_name(stream)) != NULL)
		r = restore_entry(tree, from, to, name, wants_files, err);
	(void)closedir(stream);
	if (r < 0 || fstat(to, &status) < 0)
		return r;
	if (changed || !is_time(&status, copy) || status.st_mode != copy->st_mode)
		return finish_directory(to, copy, err);
	return 0;
}

int saved_tree_restore(struct saved_tree *tree, uint32_t head, struct err *err)
{
	const struct tree_name name = name_of('h', head);
	AUTO_CLOSE int from = -1;
	struct stat copy;
	int r;

	/* A head for which nothing was ever saved had no files. */
	if (fstat(tree->workspace, &copy) < 0 ||
	    (mkdirat(tree->store, name.text, copy.st_mode & 07777) < 0 && errno != EEXIST))
		return err_sys(err, "make a folder for the files of a state");
	from = openat(tree->store, name.text, DIRECTORY);
	if (from < 0 || fstat(from, &copy) < 0)
		return err_sys(err, "open the files of a state");
	r = restore_directory(tree, from, tree->workspace, &copy, true, err);
	if (r != -ENOSPC)
		return r;
	/* New files used up the space: remove everything that is not in the copy first, then try
	 * again. */
	*err = (struct err){0};
	r = restore_directory(tree, from, tree->workspace, &copy, false, err);
	return r < 0 ? r : restore_directory(tree, from, tree->workspace, &copy, true, err);
}

/* ---- the store ---- */

int saved_tree_remove(struct saved_tree *tree, uint32_t head, struct err *err)
{
	const struct tree_name name = name_of('h', head);

	return saved_file_remove(tree, tree->store, name.text, true, err);
}

int saved_tree_open(struct saved_tree *tree, struct err *err)
{
	struct statfs status;

	if (fstatfs(tree->store, &status) < 0)
		return err_sys(err, "look at the saved files");
	tree->used = (uint64_t)(status.f_blocks - status.f_bfree) * (uint64_t)status.f_bsize;
	tree->has_fine_clock = saved_file_has_fine_clock(tree->store);
	return saved_index_load(&tree->index, tree->store, err);
}
