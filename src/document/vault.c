// SPDX-License-Identifier: Apache-2.0
#include "document/vault.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/c.h"
#include "base/id.h"
#include "base/io.h"

#define SWEEP_MAX 100000U /* entries looked at when the vault is opened */
#define FOLDER_MODE 0755
#define FILE_MODE 0644

int vault_open_beneath(int dir, const char *path, int flags)
{
	struct open_how how = {
		.flags = (unsigned)(flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	int fd = -1;

	/* EAGAIN: something was renamed at the wrong moment (man 2 openat2). */
	for (int i = 0; i < 16 && fd < 0; i++) {
		fd = (int)syscall(SYS_openat2, dir, path[0] != '\0' ? path : ".", &how,
				  sizeof(how));
		if (fd < 0 && errno != EAGAIN && errno != EINTR)
			break;
	}
	return fd;
}

/* Turns errno into an error about `path`. */
static int explain(struct err *err, const char *path)
{
	int num = errno;

	switch (num) {
	case ELOOP:
	case EXDEV:
		return err_set(err, ERR_FORBIDDEN, EPERM, "%.200s: the vault follows no links",
			       path);
	case ENOENT:
	case ENOTDIR:
		return err_set(err, ERR_NOT_FOUND, ENOENT, "%.200s: there is no such file", path);
	case EEXIST:
		return err_set(err, ERR_CONFLICT, EEXIST, "%.200s: it is there already", path);
	case EISDIR:
		return err_set(err, ERR_BAD_REQUEST, EISDIR, "%.200s: it is a folder", path);
	case ENAMETOOLONG:
		return err_set(err, ERR_BAD_REQUEST, ENAMETOOLONG, "%.200s: a name is too long",
			       path);
	default:
		errno = num;
		return err_sys(err, "vault: %.200s", path);
	}
}

/* ---- names ---- */

/* Appends one component to `path`. */
static int add_component(char *path, const char *name, size_t size, struct err *err)
{
	size_t at = strlen(path);
	size_t depth = at > 0 ? 2 : 1;

	for (size_t i = 0; i < at; i++)
		depth += path[i] == '/';
	for (size_t i = 0; i < size; i++) {
		if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f)
			return err_set(err, ERR_BAD_REQUEST, EINVAL,
				       "a path has no control characters");
	}
	if (size >= strlen(VAULT_TEMP) && strncmp(name, VAULT_TEMP, strlen(VAULT_TEMP)) == 0)
		return err_set(err, ERR_FORBIDDEN, EPERM, "names with " VAULT_TEMP " are ours");
	if (size > 255 || at + size + 2 > VAULT_PATH_SIZE || depth > VAULT_DEPTH_MAX)
		return err_set(err, ERR_BAD_REQUEST, ENAMETOOLONG, "the path is too long");
	if (at > 0)
		path[at++] = '/';
	memcpy(path + at, name, size);
	path[at + size] = '\0';
	return 0;
}

static int drop_component(char *path, struct err *err)
{
	char *slash = strrchr(path, '/');

	if (path[0] == '\0')
		return err_set(err, ERR_FORBIDDEN, EPERM, "the path leads out of the vault");
	*(slash != NULL ? slash : path) = '\0';
	return 0;
}

int vault_path(const struct vault *vault, const char *asked, bool is_absolute_known,
	       char ret_path[VAULT_PATH_SIZE], struct err *err)
{
	size_t root = strlen(vault->root);
	char path[VAULT_PATH_SIZE] = "";

	if (is_absolute_known && asked[0] == '/') {
		if (strncmp(asked, vault->root, root) != 0 ||
		    (asked[root] != '/' && asked[root] != '\0'))
			return err_set(err, ERR_FORBIDDEN, EPERM,
				       "the path leads out of the vault");
		asked += root;
	}
	while (*asked != '\0') {
		size_t size = strcspn(asked, "/");
		int r = 0;

		if (size == 2 && strncmp(asked, "..", 2) == 0)
			r = drop_component(path, err);
		else if (size > 0 && (size != 1 || asked[0] != '.'))
			r = add_component(path, asked, size, err);
		if (r < 0)
			return r;
		asked += size;
		asked += strspn(asked, "/");
	}
	memcpy(ret_path, path, strlen(path) + 1);
	return 0;
}

/* ---- opening ---- */

static const char *user_name(char *text, size_t size)
{
	const struct passwd *entry = getpwuid(geteuid());

	if (entry != NULL)
		return entry->pw_name;
	(void)snprintf(text, size, "%u", (unsigned)geteuid());
	return text;
}

static int refuse(const char *root, struct err *err)
{
	int num = errno;
	char number[16];
	const char *user = user_name(number, sizeof(number));

	return err_set(err, ERR_INTERNAL, num,
		       "the vault %.200s: the user %s, as whom the daemon serves, must be able to "
		       "read and write there (%s); run: install -d -o %s %.100s",
		       root, user, strerror(num), user, root);
}

/* Is this a name that id_new made? No other file is swept. */
static bool is_ours(const char *name)
{
	const char *rest = name + strlen(VAULT_TEMP);

	return strncmp(name, VAULT_TEMP, strlen(VAULT_TEMP)) == 0 && strlen(rest) == 26 &&
	       strspn(rest, "0123456789abcdefghjkmnpqrstvwxyz") == 26;
}

/* Removes leftovers of a crash: files that never got their name, folders that had lost theirs. */
static int sweep_one(void *user, const struct vault_entry *entry)
{
	const int64_t *now_s = user;

	if (is_ours(entry->name) && entry->kind != VAULT_FOLDER &&
	    *now_s - entry->mtime_s > VAULT_STALE_S)
		vault_clear(entry->parent, entry->name);
	return 0;
}

int vault_open(struct vault *vault, const char *root, struct err *err)
{
	AUTO_CLOSE int dir = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	*vault = (struct vault){.dir = -1};
	if (dir < 0)
		return refuse(root, err);
	vault->root = strdup(root);
	if (vault->root == NULL)
		return err_set(err, ERR_INTERNAL, ENOMEM, "no memory for the vault");
	for (size_t size = strlen(root); size > 1 && root[size - 1] == '/'; size--)
		vault->root[size - 1] = '\0';
	vault->dir = steal_fd(&dir);
	return 0;
}

int vault_prepare(const char *root, struct err *err)
{
	int64_t now_s = (int64_t)time(NULL);
	const struct vault_walk sweep = {
		.with_hidden = true,
		.entries_max = SWEEP_MAX,
		.tell = sweep_one,
		.user = &now_s,
	};
	struct vault vault;
	bool is_cut;
	int r;

	if (mkdir(root, FOLDER_MODE) < 0 && errno != EEXIST)
		return refuse(root, err);
	r = vault_open(&vault, root, err);
	if (r == 0 && faccessat(vault.dir, ".", R_OK | W_OK | X_OK, AT_EACCESS) < 0)
		r = refuse(root, err);
	if (r == 0)
		r = vault_each(&vault, "", &sweep, &is_cut, err);
	vault_close(&vault);
	return r;
}

void vault_close(struct vault *vault)
{
	if (vault->root == NULL)
		return;
	drop_fd(&vault->dir);
	free(STEAL(vault->root));
}

/* ---- folders ---- */

/* Makes a folder; it is on disk once its parent has been synced. */
static int make_one(int dir, const char *name)
{
	AUTO_CLOSE int made = -1;

	if (mkdirat(dir, name, FOLDER_MODE) < 0)
		return -1;
	/* The mode must not depend on our umask, since sandboxes read the vault under another uid.
	 * Set by descriptor: by now the name may mean something else. */
	made = vault_open_beneath(dir, name, O_RDONLY | O_DIRECTORY);
	if (made < 0 || fchmod(made, FOLDER_MODE) < 0)
		return -1;
	return fsync(dir);
}

/* Opens the folder of `path`, and tells the name in it. If `makes`, makes missing folders. */
static int open_parent(const struct vault *vault, const char *path, bool makes, int *ret_dir,
		       const char **ret_name, struct err *err)
{
	AUTO_CLOSE int dir = vault_open_beneath(vault->dir, "", O_RDONLY | O_DIRECTORY);
	const char *slash;

	while (dir >= 0 && (slash = strchr(path, '/')) != NULL) {
		char name[256];
		int next;

		(void)snprintf(name, sizeof(name), "%.*s", (int)(slash - path), path);
		next = vault_open_beneath(dir, name, O_RDONLY | O_DIRECTORY);
		if (next < 0 && errno == ENOENT && makes &&
		    (make_one(dir, name) == 0 || errno == EEXIST))
			next = vault_open_beneath(dir, name, O_RDONLY | O_DIRECTORY);
		if (next < 0 && errno == ENOTDIR && makes)
			return err_set(err, ERR_BAD_REQUEST, ENOTDIR,
				       "%.200s: it is a file, not a folder", name);
		if (next < 0)
			return explain(err, path);
		drop_fd(&dir);
		dir = next;
		path = slash + 1;
	}
	if (dir < 0)
		return explain(err, path);
	*ret_dir = steal_fd(&dir);
	*ret_name = path;
	return 0;
}

int vault_make_folder(const struct vault *vault, const char *path, struct err *err)
{
	AUTO_CLOSE int dir = -1;
	const char *name = path;
	int r;

	if (path[0] == '\0')
		return err_set(err, ERR_BAD_REQUEST, EINVAL, "a name is wanted");
	r = open_parent(vault, path, false, &dir, &name, err);
	if (r < 0)
		return r;
	if (make_one(dir, name) < 0)
		return explain(err, path);
	return 0;
}

/* ---- files ---- */

int vault_read(const struct vault *vault, const char *path, struct buf *buf, struct err *err)
{
	AUTO_CLOSE int fd = vault_open_beneath(vault->dir, path, O_RDONLY);
	struct stat status;

	if (fd < 0)
		return explain(err, path);
	if (fstat(fd, &status) < 0)
		return err_sys(err, "look at %.200s", path);
	if (S_ISDIR(status.st_mode))
		return err_set(err, ERR_BAD_REQUEST, EISDIR, "%.200s: it is a folder", path);
	if (!S_ISREG(status.st_mode))
		return err_set(err, ERR_FORBIDDEN, EPERM, "%.200s: it is no ordinary file", path);
	if (status.st_size > VAULT_FILE_MAX)
		return err_set(err, ERR_TOO_LARGE, EFBIG, "File too large (%lld bytes). Max is %u.",
			       (long long)status.st_size, VAULT_FILE_MAX);
	return io_read_all(fd, buf, err);
}

/* May `how` put a file at this name, given what is there now? */
static int check_target(int dir, const char *name, enum vault_put how, mode_t *ret_mode,
			struct err *err)
{
	struct stat status;

	*ret_mode = FILE_MODE;
	if (fstatat(dir, name, &status, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno == ENOENT && how != VAULT_UPDATE)
			return 0;
		return explain(err, name);
	}
	if (how == VAULT_CREATE || how == VAULT_ADD)
		errno = EEXIST;
	else if (S_ISDIR(status.st_mode))
		errno = EISDIR;
	else if (!S_ISREG(status.st_mode))
		errno = ELOOP;
	else {
		*ret_mode = status.st_mode & 0777;
		return 0;
	}
	return explain(err, name);
}

static int write_temp(int dir, const char *temp, mode_t mode, const void *data, size_t size,
		      struct err *err)
{
	AUTO_CLOSE int fd =
		openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r;

	if (fd < 0)
		return explain(err, "a temporary file");
	r = io_write_all(fd, data, size, err);
	if (r < 0)
		return r;
	if (fchmod(fd, mode) < 0 || fsync(fd) < 0)
		return err_sys(err, "vault: write");
	/* Some file systems report only now that there was no space. */
	if (close(steal_fd(&fd)) < 0)
		return err_sys(err, "vault: write");
	return 0;
}

/* A file system without RENAME_NOREPLACE has hard links, or cannot do this in one step at all. */
static int rename_new(int dir, const char *temp, const char *name)
{
	if (renameat2(dir, temp, dir, name, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -1;
	if (linkat(dir, temp, dir, name, 0) < 0)
		return -1;
	(void)unlinkat(dir, temp, 0);
	return 0;
}

int vault_put(const struct vault *vault, const char *path, enum vault_put how, const void *data,
	      size_t size, struct err *err)
{
	bool is_new = how == VAULT_CREATE || how == VAULT_ADD;
	bool makes = how == VAULT_CREATE || how == VAULT_WRITE;
	AUTO_CLOSE int dir = -1;
	char temp[ID_SIZE];
	const char *name = path;
	mode_t mode = 0;
	int r;

	if (path[0] == '\0')
		return err_set(err, ERR_BAD_REQUEST, EISDIR, "the vault itself is a folder");
	if (size > VAULT_FILE_MAX)
		return err_set(err, ERR_TOO_LARGE, EFBIG, "File too large (%zu bytes). Max is %u.",
			       size, VAULT_FILE_MAX);
	r = open_parent(vault, path, makes, &dir, &name, err);
	if (r == 0)
		r = check_target(dir, name, how, &mode, err);
	if (r < 0)
		return r;

	id_new(VAULT_TEMP, temp);
	r = write_temp(dir, temp, mode, data, size, err);
	if (r == 0 && (is_new ? rename_new(dir, temp, name) : renameat(dir, temp, dir, name)) < 0)
		r = explain(err, path);
	if (r < 0) {
		(void)unlinkat(dir, temp, 0);
		return r;
	}
	if (fsync(dir) < 0)
		return err_sys(err, "vault: %.200s", path);
	return 0;
}

int vault_remove(const struct vault *vault, const char *path, bool with_folders, struct err *err)
{
	AUTO_CLOSE int dir = -1;
	char temp[ID_SIZE];
	struct stat status;
	const char *name = path;
	int r;

	if (path[0] == '\0')
		return err_set(err, ERR_FORBIDDEN, EPERM, "the vault itself stays");
	r = open_parent(vault, path, false, &dir, &name, err);
	if (r < 0)
		return r;
	if (fstatat(dir, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return explain(err, path);
	if (!S_ISDIR(status.st_mode)) {
		if (unlinkat(dir, name, 0) < 0 || fsync(dir) < 0)
			return explain(err, path);
		return 0;
	}
	if (!with_folders)
		return err_set(err, ERR_BAD_REQUEST, EISDIR, "%.200s: it is a folder", path);

	/* The rename removes it in one step, even if we are killed here; the sweep takes the rest.
	 */
	id_new(VAULT_TEMP, temp);
	if (renameat(dir, name, dir, temp) < 0 || fsync(dir) < 0)
		return explain(err, path);
	vault_clear(dir, temp);
	return 0;
}
