// SPDX-License-Identifier: Apache-2.0
#include "base/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <linux/openat2.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/c.h"

#define DEPTH_MAX 128U

static int open_folder(int dir, const char *name)
{
	struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
	};

	return (int)syscall(SYS_openat2, dir, name, &how, sizeof(how));
}

/* Empties the folder open at `take_fd`. Ignores failures: removing the folder itself reports
 * them. */
static void empty(int *take_fd, unsigned depth)
{
	DIR *stream = fdopendir(*take_fd);
	const struct dirent *entry = NULL;

	if (stream == NULL)
		return;
	(void)steal_fd(take_fd); /* closedir() closes it */
	while ((entry = readdir(stream)) != NULL) {
		AUTO_CLOSE int inner = -1;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (unlinkat(dirfd(stream), entry->d_name, 0) == 0 ||
		    (errno != EISDIR && errno != EPERM) || depth == DEPTH_MAX)
			continue;
		inner = open_folder(dirfd(stream), entry->d_name);
		if (inner >= 0)
			empty(&inner, depth + 1);
		(void)unlinkat(dirfd(stream), entry->d_name, AT_REMOVEDIR);
	}
	(void)closedir(stream);
}

int tree_remove(int dir, const char *name)
{
	AUTO_CLOSE int fd = open_folder(dir, name);
	struct stat info;

	if (fd < 0)
		return unlinkat(dir, name, 0) < 0 ? -errno : 0;
	if (fstat(fd, &info) < 0)
		return -errno;
	if (geteuid() != 0 || info.st_uid == 0) {
		empty(&fd, 1);
	} else {
		gid_t group = (gid_t)setfsgid(info.st_gid);
		uid_t user = (uid_t)setfsuid(info.st_uid);

		/* setfsuid() does not report failure; only a second call shows whether it worked
		 * (man 2 setfsuid). */
		if ((uid_t)setfsuid((uid_t)-1) == info.st_uid)
			empty(&fd, 1);
		(void)setfsuid(user);
		(void)setfsgid(group);
	}
	return unlinkat(dir, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}
