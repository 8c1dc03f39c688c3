// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>

#include <sys/stat.h>

#include "base/c.h"
#include "base/tree.h"
#include "document/vault.h"

struct found {
	char *name; /* owned */
	uint64_t size;
	int64_t mtime_s;
	bool is_folder;
};

/* The entries of one folder. */
struct folder {
	struct found *items; /* owned */
	size_t count, room;
};

struct walk {
	const struct vault_walk *ask;
	char path[VAULT_PATH_SIZE];
	uint32_t left; /* entries that may still be told */
	unsigned depth;
	bool is_cut;
};

static void folder_done(struct folder *folder)
{
	for (size_t i = 0; i < folder->count; i++)
		free(folder->items[i].name);
	free(STEAL(folder->items));
	folder->count = 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct found *)a)->name, ((const struct found *)b)->name);
}

static int folders_first(const void *a, const void *b)
{
	const struct found *one = a;
	const struct found *two = b;
	int order = (int)two->is_folder - (int)one->is_folder;

	if (order == 0)
		order = strcasecmp(one->name, two->name);
	return order != 0 ? order : strcmp(one->name, two->name);
}

/* Adds an entry for a file or folder; everything else, links above all, is left out. */
static int add_entry(struct folder *folder, int dir, const char *name)
{
	struct stat status;

	if (fstatat(dir, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return 0; /* gone meanwhile */
	if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
		return 0;
	if (folder->count == folder->room) {
		size_t room = folder->room > 0 ? 2 * folder->room : 32;
		struct found *more = reallocarray(folder->items, room, sizeof(*more));

		if (more == NULL)
			return -ENOMEM;
		folder->items = more;
		folder->room = room;
	}
	folder->items[folder->count] = (struct found){
		.name = strdup(name),
		.size = (uint64_t)status.st_size,
		.mtime_s = (int64_t)status.st_mtim.tv_sec,
		.is_folder = S_ISDIR(status.st_mode),
	};
	return folder->items[folder->count++].name != NULL ? 0 : -ENOMEM;
}

/* Reads a folder, at most as many entries as may still be listed. */
static int folder_read(struct walk *walk, int dir, struct folder *folder)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = copy >= 0 ? fdopendir(copy) : NULL;
	const struct dirent *entry;
	int r = 0;

	if (stream == NULL) {
		if (copy >= 0)
			(void)close(copy);
		return 0; /* not ours to read: it looks empty */
	}
	while (r == 0 && (entry = readdir(stream)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		    (entry->d_name[0] == '.' && !walk->ask->with_hidden))
			continue;
		if (folder->count >= walk->left) {
			walk->is_cut = true;
			break;
		}
		r = add_entry(folder, dir, entry->d_name);
	}
	(void)closedir(stream);
	if (folder->count > 0)
		qsort(folder->items, folder->count, sizeof(*folder->items),
		      walk->ask->order == VAULT_BY_NAME ? by_name : folders_first);
	return r;
}

static int walk_folder(struct walk *walk, int dir);

static int tell(const struct walk *walk, int dir, const struct found *found, enum vault_kind kind)
{
	const struct vault_entry entry = {
		.kind = kind,
		.path = walk->path,
		.name = found->name,
		.size = found->size,
		.mtime_s = found->mtime_s,
		.parent = dir,
	};

	return walk->ask->tell(walk->ask->user, &entry);
}

/* A folder that cannot be opened, or is too deep, is listed as an empty one. */
static int walk_below(struct walk *walk, int dir, const struct found *found)
{
	AUTO_CLOSE int next = -1;
	int r = tell(walk, dir, found, VAULT_FOLDER);

	if (r < 0)
		return r;
	if (walk->depth >= VAULT_DEPTH_MAX) {
		walk->is_cut = true;
	} else {
		next = vault_open_beneath(dir, found->name, O_RDONLY | O_DIRECTORY);
		walk->depth++;
		if (next >= 0)
			r = walk_folder(walk, next);
		walk->depth--;
	}
	return r < 0 ? r : tell(walk, dir, found, VAULT_FOLDER_OVER);
}

static int walk_folder(struct walk *walk, int dir)
{
	size_t at = strlen(walk->path);
	struct folder folder = {0};
	int r = folder_read(walk, dir, &folder);

	for (size_t i = 0; r >= 0 && i < folder.count; i++) {
		const struct found *found = &folder.items[i];
		int n = snprintf(walk->path + at, sizeof(walk->path) - at, "%s%s",
				 at > 0 ? "/" : "", found->name);

		if (walk->left == 0 || (size_t)n >= sizeof(walk->path) - at) {
			walk->is_cut = true;
			break;
		}
		walk->left--;
		r = found->is_folder ? walk_below(walk, dir, found)
				     : tell(walk, dir, found, VAULT_FILE);
		walk->path[at] = '\0';
	}
	walk->path[at] = '\0';
	folder_done(&folder);
	return r;
}

int vault_each(const struct vault *vault, const char *path, const struct vault_walk *ask,
	       bool *ret_is_cut, struct err *err)
{
	AUTO_CLOSE int dir = vault_open_beneath(vault->dir, path, O_RDONLY | O_DIRECTORY);
	struct walk walk = {
		.ask = ask,
		.left = ask->entries_max > 0 ? ask->entries_max : VAULT_ENTRIES_MAX,
	};
	int r;

	if (dir < 0 && errno == ENOTDIR)
		return err_set(err, ERR_BAD_REQUEST, ENOTDIR, "%.200s: it is no folder", path);
	if (dir < 0 && (errno == ELOOP || errno == EXDEV))
		return err_set(err, ERR_FORBIDDEN, EPERM, "%.200s: the vault follows no links",
			       path);
	if (dir < 0 && errno == ENOENT)
		return err_set(err, ERR_NOT_FOUND, ENOENT, "%.200s: there is no such folder", path);
	if (dir < 0)
		return err_sys(err, "vault: %.200s", path);
	memcpy(walk.path, path, strlen(path) + 1);
	r = walk_folder(&walk, dir);
	if (r == -ENOMEM)
		return err_set(err, ERR_INTERNAL, ENOMEM, "no memory for the list");
	*ret_is_cut = walk.is_cut;
	return r < 0 ? r : 0;
}

/* ---- removing ---- */

void vault_clear(int dir, const char *name)
{
	(void)tree_remove(dir, name);
}
