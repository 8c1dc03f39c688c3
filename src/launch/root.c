// SPDX-License-Identifier: Apache-2.0
#include "launch/root.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <linux/mount.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/c.h"
#include "base/io.h"
#include "launch/root_parts.h"

/* Any directory will do: it is covered in a mount namespace that only this file uses. */
#define STAGE "/tmp"
#define READ_ONLY ROOT_READ_ONLY
#define DEVICE (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC)

/* Directories of the root, parents first. */
static const char *const directories[] = {
	"usr", "etc", "dev", "dev/shm", "proc", "tmp", "workspace", "viv", "data",
};

/* On a merged-/usr host these are links into /usr, elsewhere directories of their own. */
static const char *const usr_links[] = {"bin", "sbin", "lib", "lib32", "lib64", "libx32"};

static const char *const devices[] = {"null", "zero", "full", "random", "urandom"};

static const struct {
	const char *name, *target;
} links[] = {
	{"dev/fd", "/proc/self/fd"},
	{"dev/stdin", "/proc/self/fd/0"},
	{"dev/stdout", "/proc/self/fd/1"},
	{"dev/stderr", "/proc/self/fd/2"},
};

/* An /etc made by us: names for the one id, no host names, no resolver. */
static const struct {
	const char *name, *text;
} etc_files[] = {
	{"etc/passwd", "user:x:1000:1000:user:/tmp:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n"},
	{"etc/group", "user:x:1000:\nnogroup:x:65534:\n"},
	{"etc/hosts", "127.0.0.1 localhost\n::1 localhost\n"},
	{"etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"},
	{"etc/hostname", "vivarium\n"},
};

/* Names in the host's /etc that Python and its libraries read: public files without secrets.
 * alternatives holds the links to the BLAS in use. A missing name is left out. Files are copied
 * (every mount of the template is copied again for each sandbox), folders with many files bound. */
static const char *const etc_names[] = {"alternatives", "ld.so.cache", "matplotlibrc", "fonts",
					"mime.types"};

int root_clone(int from, const char *path, uint64_t attributes, int *ret_tree, struct err *err)
{
	struct mount_attr attr = {.attr_set = attributes, .propagation = MS_PRIVATE};
	AUTO_CLOSE int tree =
		(int)syscall(SYS_open_tree, from, path,
			     OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_EMPTY_PATH);

	if (tree < 0)
		return err_sys(err, "clone the mount %s", path);
	if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr,
		    sizeof(attr)) < 0)
		return err_sys(err, "restrict the mount %s", path);
	*ret_tree = steal_fd(&tree);
	return 0;
}

int root_attach(int tree, int stage, const char *target, struct err *err)
{
	if (syscall(SYS_move_mount, tree, "", stage, target, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return err_sys(err, "attach /%s", target);
	return 0;
}

int root_bind(const char *path, int stage, const char *target, uint64_t attributes, struct err *err)
{
	AUTO_CLOSE int tree = -1;
	int r = root_clone(AT_FDCWD, path, attributes, &tree, err);

	if (r < 0)
		return r;
	return root_attach(tree, stage, target, err);
}

int root_make_file(int stage, const char *name, const char *text, struct err *err)
{
	AUTO_CLOSE int fd = openat(stage, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	if (fd < 0)
		return err_sys(err, "make /%s", name);
	return io_write_all(fd, text, strlen(text), err);
}

/* mkdir -p below the stage. A target inside a bound tree must exist there already. */
static int make_directories(int stage, const char *path, struct err *err)
{
	char part[LAUNCH_PATH_MAX];

	for (size_t i = 1; i <= strlen(path); i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		(void)snprintf(part, sizeof(part), "%.*s", (int)i, path);
		if (mkdirat(stage, part, 0755) < 0 && errno != EEXIST)
			return err_sys(err, "make /%s", part);
	}
	return 0;
}

static int copy_file(int from, const char *path, int to, const char *target, struct err *err)
{
	AUTO_CLOSE int in = openat(from, path, O_RDONLY | O_CLOEXEC);
	AUTO_CLOSE int out = openat(to, target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	struct stat status;
	ssize_t n;

	if (in < 0 || out < 0 || fstat(in, &status) < 0)
		return err_sys(err, "copy %s", path);
	if ((status.st_mode & S_IXUSR) != 0 && fchmod(out, 0755) < 0)
		return err_sys(err, "make %s a program", path);
	do {
		n = sendfile(out, in, NULL, 1 << 20);
	} while (n > 0);
	if (n < 0)
		return err_sys(err, "copy %s", path);
	return 0;
}

/* Copies the files of a directory, but not its subdirectories. */
static int copy_files(int from, int to, struct err *err)
{
	int listed = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = listed >= 0 ? fdopendir(listed) : NULL;
	const struct dirent *entry = NULL;
	int r = 0;

	if (stream == NULL)
		return err_sys(err, "list a directory to copy");
	while (r == 0 && (entry = readdir(stream)) != NULL) {
		if (entry->d_type == DT_REG)
			r = copy_file(from, entry->d_name, to, entry->d_name, err);
	}
	(void)closedir(stream);
	return r;
}

static int fill_usr(int stage, bool is_bare, struct err *err)
{
	int r = root_bind("/usr", stage, "usr", is_bare ? READ_ONLY | MOUNT_ATTR_NOEXEC : READ_ONLY,
			  err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_LEN(usr_links); i++) {
		char path[32];
		char target[128];
		struct stat status;
		ssize_t n;

		(void)snprintf(path, sizeof(path), "/%s", usr_links[i]);
		if (lstat(path, &status) < 0)
			continue;
		if (S_ISLNK(status.st_mode)) {
			n = readlink(path, target, sizeof(target) - 1);
			if (n < 0)
				return err_sys(err, "read the link %s", path);
			target[n] = '\0';
			if (symlinkat(target, stage, usr_links[i]) < 0)
				return err_sys(err, "make the link %s", path);
			continue;
		}
		r = make_directories(stage, usr_links[i], err);
		if (r < 0)
			return r;
		r = root_bind(path, stage, usr_links[i], READ_ONLY, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int fill_etc_name(int stage, const char *name, struct err *err)
{
	char path[64];
	char target[64];
	struct stat status;
	int r;

	(void)snprintf(path, sizeof(path), "/etc/%s", name);
	(void)snprintf(target, sizeof(target), "etc/%s", name);
	if (stat(path, &status) < 0)
		return 0;
	if (!S_ISDIR(status.st_mode))
		return copy_file(AT_FDCWD, path, stage, target, err);
	r = make_directories(stage, target, err);
	if (r < 0)
		return r;
	return root_bind(path, stage, target, READ_ONLY, err);
}

static int fill_etc(int stage, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(etc_files); i++) {
		int r = root_make_file(stage, etc_files[i].name, etc_files[i].text, err);

		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < ARRAY_LEN(etc_names); i++) {
		int r = fill_etc_name(stage, etc_names[i], err);

		if (r < 0)
			return r;
	}
	return 0;
}

static int fill_dev(int stage, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(devices); i++) {
		char path[32];
		char target[32];
		int r;

		(void)snprintf(path, sizeof(path), "/dev/%s", devices[i]);
		(void)snprintf(target, sizeof(target), "dev/%s", devices[i]);
		r = root_make_file(stage, target, "", err);
		if (r < 0)
			return r;
		r = root_bind(path, stage, target, DEVICE, err);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < ARRAY_LEN(links); i++) {
		if (symlinkat(links[i].target, stage, links[i].name) < 0)
			return err_sys(err, "make the link /%s", links[i].name);
	}
	return 0;
}

/* Copied, not bound: a bind would show the host's path in the sandbox's mountinfo. */
static int fill_runner(int stage, int runner, bool is_bare, struct err *err)
{
	AUTO_CLOSE int from =
		openat(runner, is_bare ? "bin" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int to = openat(stage, "viv", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (from < 0)
		return err_sys(err, "open the runner");
	if (to < 0)
		return err_sys(err, "open /viv");
	return copy_files(from, to, err);
}

static int fill_binds(int stage, const struct launch_root *root, const int *trees, struct err *err)
{
	for (uint32_t i = 0; i < root->bind_count; i++) {
		const char *target = root->binds[i].target + 1; /* checked: starts with a slash */
		int r = make_directories(stage, target, err);

		if (r < 0)
			return r;
		r = root_attach(trees[i], stage, target, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Other interpreters keep the files of a run at this path, and programs made for them use it.
 * Skipped where a runtime's own folder has that name. The link is relative, or it would lead out of
 * the stage. */
static int link_data(int stage, struct err *err)
{
	if (mkdirat(stage, "mnt", 0755) < 0 && errno != EEXIST)
		return err_sys(err, "make /mnt");
	if (symlinkat("../workspace", stage, "mnt/data") < 0 && errno != EEXIST)
		return err_sys(err, "make the link /mnt/data");
	return 0;
}

static int fill(int stage, const struct launch_root *root, int runner, const int *trees,
		struct err *err)
{
	int r;

	for (size_t i = 0; i < ARRAY_LEN(directories); i++) {
		if (mkdirat(stage, directories[i], 0755) < 0)
			return err_sys(err, "make /%s", directories[i]);
	}
	r = fill_usr(stage, root->is_bare != 0, err);
	if (r == 0 && root->is_bare != 0)
		r = root_without_python(stage, err);
	if (r < 0)
		return r;
	r = fill_etc(stage, err);
	if (r < 0)
		return r;
	r = fill_dev(stage, err);
	if (r < 0)
		return r;
	r = fill_runner(stage, runner, root->is_bare != 0, err);
	if (r < 0)
		return r;
	r = fill_binds(stage, root, trees, err);
	if (r == 0 && root->is_bare == 0)
		r = link_data(stage, err);
	return r;
}

/* Clones the binds before leaving the mount namespace that their descriptors belong to. */
static int clone_binds(const struct launch_root *root, const int *binds, int *trees,
		       struct err *err)
{
	for (uint32_t i = 0; i < root->bind_count; i++) {
		int r = root_clone(binds[i], "",
				   root->is_bare != 0 ? READ_ONLY | MOUNT_ATTR_NOEXEC : READ_ONLY,
				   &trees[i], err);

		if (r < 0)
			return err_wrap(err, "%s", root->binds[i].source);
	}
	return 0;
}

/*
 * Builds the root. The order matters: proc is mounted while the host's is still visible (the kernel
 * lets a user namespace mount proc only next to a fully visible one), the old root is unmounted
 * before the new one becomes read-only, and nothing is left that leads back: pivot_root(".", ".")
 * stacks the old root on the new one, where one lazy unmount drops it (man 2 pivot_root).
 */
static int build(const struct launch_root *root, int runner, const int *binds, struct err *err)
{
	struct mount_attr attr = {.attr_set = READ_ONLY};
	int trees[LAUNCH_BINDS_MAX]; /* closed by the end of this process */
	AUTO_CLOSE int stage = -1;
	int r;

	r = clone_binds(root, binds, trees, err);
	if (r < 0)
		return r;
	if (unshare(CLONE_NEWNS) < 0)
		return err_sys(err, "unshare mounts");
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return err_sys(err, "make mounts private");
	if (mount("vivarium", STAGE, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=16m") < 0)
		return err_sys(err, "mount the root");
	stage = open(STAGE, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (stage < 0)
		return err_sys(err, "open the root");

	(void)umask(022);
	r = fill(stage, root, runner, trees, err);
	if (r < 0)
		return r;
	if (mount("proc", STAGE "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		return err_sys(err, "mount proc (is /proc masked here, as in a container?)");

	if (fchdir(stage) < 0)
		return err_sys(err, "enter the root");
	if (syscall(SYS_pivot_root, ".", ".") < 0)
		return err_sys(err, "pivot_root");
	if (umount2(".", MNT_DETACH) < 0)
		return err_sys(err, "drop the old root");
	if (chdir("/") < 0)
		return err_sys(err, "chdir /");
	if (syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, &attr, sizeof(attr)) < 0)
		return err_sys(err, "make the root read-only");
	return 0;
}

static _Noreturn void builder_main(const struct launch_root *root, int runner, const int *binds,
				   int answer)
{
	struct err err = {0};
	int mntns = -1;

	if (build(root, runner, binds, &err) == 0) {
		mntns = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
		if (mntns < 0)
			(void)err_sys(&err, "open the mount namespace");
	}
	(void)io_send_fds(answer, &err, sizeof(err), &mntns, mntns >= 0 ? 1 : 0);
	_exit(0);
}

int root_start(const struct launch_root *root, int runner, const int *binds, int *ret_answer,
	       struct err *err)
{
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, "socketpair");
	pid = fork();
	if (pid == 0)
		builder_main(root, runner, binds, pair[1]);
	(void)close(pair[1]);
	if (pid < 0) {
		(void)close(pair[0]);
		return err_sys(err, "fork");
	}
	*ret_answer = pair[0]; /* pid 1 reaps the builder with all other children */
	return 0;
}

int root_finish(uint32_t id, int answer, int *ret_mntns, struct err *err)
{
	int fds[IO_FDS_MAX];
	size_t fd_count = 0;
	struct err built = {0};
	ssize_t n = io_recv_fds(answer, &built, sizeof(built), fds, &fd_count);

	if (n != (ssize_t)sizeof(built))
		return err_set(err, ERR_INTERNAL, EIO, "the root builder died");
	if (built.kind != ERR_NONE || fd_count != 1) {
		for (size_t i = 0; i < fd_count; i++)
			(void)close(fds[i]);
		*err = built;
		return err_wrap(err, "root %u", id);
	}
	*ret_mntns = fds[0];
	return 0;
}
