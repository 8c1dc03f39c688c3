// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/c.h"
#include "launch/root_parts.h"
#include "proto/launch_msg.h"

/* Mounted over a Python to hide it; made in the new root, and useless by themselves. */
#define NO_FILE "etc/no-python"
#define NO_FOLDER "etc/no-python.d"

#if defined(__x86_64__)
#define LIBRARIES "usr/lib/x86_64-linux-gnu"
#elif defined(__aarch64__)
#define LIBRARIES "usr/lib/aarch64-linux-gnu"
#else
#define LIBRARIES "usr/lib/none"
#endif

/* Folders with programs and the libraries they load. Everything else below /usr, such as a Python
 * that was installed by hand, can be read but not executed. */
static const char *const open_folders[] = {
	"usr/bin", "usr/sbin", "usr/lib64", "usr/local/bin", "usr/local/sbin", "usr/local/lib",
};

/* Folders to search for a Python: the same, plus those of hosts without a merged /usr. */
static const char *const searched[] = {
	"usr/bin",        "usr/sbin",      "usr/lib", "usr/lib64", "usr/libexec", "usr/local/bin",
	"usr/local/sbin", "usr/local/lib", LIBRARIES, "bin",       "sbin",        "lib",
	"lib64",
};

static const char *const names[] = {"python", "pypy", "libpython", "libpypy", "graalpy"};

static bool is_folder(int stage, const char *path)
{
	struct stat status;

	return fstatat(stage, path, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
}

static int open_folder(int stage, const char *path, struct err *err)
{
	char source[64];

	if (!is_folder(stage, path))
		return 0;
	(void)snprintf(source, sizeof(source), "/%s", path);
	return root_bind(source, stage, path, ROOT_READ_ONLY, err);
}

static bool is_python(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	}
	return false;
}

/* Only ELF files need a cover: a script of that name starts an interpreter that is covered already.
 * Every cover is a mount, and every mount is copied for each sandbox. */
static bool is_elf(int folder, const char *name)
{
	AUTO_CLOSE int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char magic[4] = "";

	/* A file that cannot be read may still be a Python. */
	if (fd < 0)
		return errno != ENOENT;
	return read(fd, magic, sizeof(magic)) == (ssize_t)sizeof(magic) &&
	       memcmp(magic, "\177ELF", sizeof(magic)) == 0;
}

static int cover(int stage, int folder, const char *path, const char *name, struct err *err)
{
	AUTO_CLOSE int tree = -1;
	char target[LAUNCH_PATH_MAX];
	struct stat status;
	int r;

	/* A link needs no cover: its target is covered itself, or is where nothing can be
	 * executed. */
	if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
	    (!S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode)) ||
	    (S_ISREG(status.st_mode) && !is_elf(folder, name)))
		return 0;
	r = snprintf(target, sizeof(target), "%s/%s", path, name);
	if (r < 0 || (size_t)r >= sizeof(target))
		return err_set(err, ERR_UNSUPPORTED, ENAMETOOLONG, "cover %s/%s", path, name);
	r = root_clone(stage, S_ISDIR(status.st_mode) ? NO_FOLDER : NO_FILE,
		       ROOT_READ_ONLY | MOUNT_ATTR_NOEXEC, &tree, err);
	if (r < 0)
		return r;
	return root_attach(tree, stage, target, err);
}

static int cover_in(int stage, const char *path, struct err *err)
{
	int folder = is_folder(stage, path)
			     ? openat(stage, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
			     : -1;
	const struct dirent *entry = NULL;
	DIR *stream = NULL;
	int r = 0;

	if (folder < 0)
		return 0;
	stream = fdopendir(folder);
	if (stream == NULL) {
		r = err_sys(err, "list /%s", path);
		(void)close(folder);
		return r;
	}
	while (r == 0 && (entry = readdir(stream)) != NULL) {
		if (is_python(entry->d_name))
			r = cover(stage, folder, path, entry->d_name, err);
	}
	(void)closedir(stream);
	return r;
}

int root_without_python(int stage, struct err *err)
{
	int r = root_make_file(stage, NO_FILE, "", err);

	if (r == 0 && mkdirat(stage, NO_FOLDER, 0755) < 0)
		r = err_sys(err, "make /" NO_FOLDER);
	/* A second name for the folder, used by commands written for a sidecar. */
	if (r == 0 && symlinkat("data", stage, "semantic") < 0)
		r = err_sys(err, "make the link /semantic");
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(open_folders); i++)
		r = open_folder(stage, open_folders[i], err);
	/* The system's libraries are in one subfolder of /usr/lib, or directly in it. */
	if (r == 0)
		r = open_folder(stage, is_folder(stage, LIBRARIES) ? LIBRARIES : "usr/lib", err);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(searched); i++)
		r = cover_in(stage, searched[i], err);
	return r;
}
