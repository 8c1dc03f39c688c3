// SPDX-License-Identifier: Apache-2.0
/* Which cgroup hierarchies exist, where in them we may build, and removing what dead launchers
 * left. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/file.h>
#include <sys/stat.h>

#include "base/c.h"
#include "base/id.h"
#include "base/io.h"
#include "launch/cgroup.h"

#define NAME_PREFIX "vivarium-"

/* How often an ending launcher retries while the last processes of a killed launcher are dying: ten
 * seconds in all, for a busy machine. */
#define SWEEP_TRIES 1000
#define SWEEP_WAIT_NS 10000000L

static const char *const v1_controller[CGROUP_TREES] = {
	[CGROUP_V1_MEMORY] = "memory",
	[CGROUP_V1_PIDS] = "pids",
	[CGROUP_V1_CPU] = "cpu",
	[CGROUP_V1_BLKIO] = "blkio",
};

static bool has_word(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = list; (at = strstr(at, word)) != NULL; at += length) {
		bool starts = at == list || at[-1] == ',' || at[-1] == ' ';
		char end = at[length];

		if (starts && (end == '\0' || end == ',' || end == ' ' || end == '\n'))
			return true;
	}
	return false;
}

/* Our own group in a hierarchy, from /proc/self/cgroup ("" for v2). False: not found. */
static bool own_path(const char *controller, char *ret_path, size_t size)
{
	FILE *stream = fopen("/proc/self/cgroup", "re");
	char line[512];
	bool found = false;

	if (stream == NULL)
		return false;
	while (!found && fgets(line, sizeof(line), stream) != NULL) {
		char *names = strchr(line, ':');
		char *path = names != NULL ? strchr(names + 1, ':') : NULL;

		if (path == NULL)
			continue;
		*path++ = '\0';
		names++;
		path[strcspn(path, "\n")] = '\0';
		found = controller[0] == '\0' ? names[0] == '\0' : has_word(names, controller);
		if (found)
			(void)snprintf(ret_path, size, "%s", path);
	}
	(void)fclose(stream);
	return found;
}

/* Where a hierarchy is mounted: v2 when `controller` is "", else the v1 mount that has it. */
static bool mount_point(const char *controller, char *ret_path, size_t size)
{
	FILE *stream = setmntent("/proc/self/mounts", "re");
	const struct mntent *entry = NULL;
	bool found = false;

	if (stream == NULL)
		return false;
	while (!found && (entry = getmntent(stream)) != NULL) {
		if (controller[0] == '\0')
			found = strcmp(entry->mnt_type, "cgroup2") == 0;
		else
			found = strcmp(entry->mnt_type, "cgroup") == 0 &&
				has_word(entry->mnt_opts, controller);
		if (found)
			(void)snprintf(ret_path, size, "%s", entry->mnt_dir);
	}
	(void)endmntent(stream);
	return found;
}

/* False: the group still has processes. */
static bool remove_group(int dir, const char *name)
{
	const struct dirent *entry = NULL;
	DIR *stream = NULL;
	int fd;

	/* Most groups have no children. */
	if (unlinkat(dir, name, AT_REMOVEDIR) == 0)
		return true;
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return true;
	stream = fdopendir(fd);
	if (stream == NULL) {
		(void)close(fd);
		return true;
	}
	while ((entry = readdir(stream)) != NULL) {
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			(void)remove_group(dirfd(stream), entry->d_name);
	}
	(void)closedir(stream);
	return unlinkat(dir, name, AT_REMOVEDIR) == 0 || errno != EBUSY;
}

/* Removes the groups of dead launchers: kill -9 of one leaves its groups. A live launcher holds a
 * lock on its own group, which the kernel releases at its death. (A pid in the name would not do:
 * launchers in other pid namespaces use the same tree.) False: a group is not empty yet, because
 * its last processes are still dying. */
static bool sweep(int parent)
{
	int copy = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = copy >= 0 ? fdopendir(copy) : NULL;
	const struct dirent *entry = NULL;
	bool is_clean = true;

	if (stream == NULL) {
		if (copy >= 0)
			(void)close(copy);
		return true;
	}
	while ((entry = readdir(stream)) != NULL) {
		AUTO_CLOSE int dir = -1;

		if (strncmp(entry->d_name, NAME_PREFIX, strlen(NAME_PREFIX)) != 0)
			continue;
		dir = openat(parent, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (dir >= 0 && flock(dir, LOCK_EX | LOCK_NB) == 0 &&
		    !remove_group(parent, entry->d_name))
			is_clean = false;
	}
	(void)closedir(stream);
	return is_clean;
}

/* Makes our directory below `path` and locks it. In between, another launcher may mistake it for a
 * dead one's and remove it: then it is made again. */
static int open_tree_at(struct cgroups *groups, enum cgroup_tree tree, const char *path,
			struct err *err)
{
	AUTO_CLOSE int parent = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int ours = -1;
	struct stat status = {0};

	if (parent < 0)
		return err_sys(err, "open %s", path);
	(void)sweep(parent);
	while (status.st_nlink == 0) {
		drop_fd(&ours);
		if (mkdirat(parent, groups->name, 0755) < 0 && errno != EEXIST)
			return err_sys(err, "make a cgroup in %s", path);
		ours = openat(parent, groups->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (ours < 0 && errno == ENOENT)
			continue;
		if (ours < 0 || flock(ours, LOCK_EX) < 0)
			return err_sys(err, "open %s/%s", path, groups->name);
		if (fstatat(parent, groups->name, &status, AT_SYMLINK_NOFOLLOW) < 0)
			status.st_nlink = 0;
	}

	groups->parent[tree] = steal_fd(&parent);
	groups->tree[tree] = steal_fd(&ours);
	return 0;
}

static void close_tree(struct cgroups *groups, enum cgroup_tree tree)
{
	if (groups->tree[tree] >= 0) {
		(void)remove_group(groups->parent[tree], groups->name);
		/* Processes of a killed launcher may still have been dying when we started. */
		for (int i = 0; i < SWEEP_TRIES && !sweep(groups->parent[tree]); i++)
			(void)nanosleep(&(struct timespec){.tv_nsec = SWEEP_WAIT_NS}, NULL);
	}
	drop_fd(&groups->tree[tree]);
	drop_fd(&groups->parent[tree]);
}

/*
 * v2 allows processes only in leaves once controllers are enabled below a group. Root builds at the
 * top of the tree, which is free of that rule; a user with a delegated group of its own (a systemd
 * unit or scope with Delegate=yes) moves itself into a leaf of it first.
 */
static int open_v2(struct cgroups *groups, struct err *err)
{
	static const char *const controllers = "+memory +pids +cpu";
	char mounted[256];
	char own[512];
	char path[800];
	struct err ignored = {0};
	AUTO_BUF struct buf text = {.max = 4096};
	int r;

	if (!mount_point("", mounted, sizeof(mounted)))
		return err_set(err, ERR_UNSUPPORTED, ENOENT, "no cgroup v2 is mounted");
	(void)snprintf(path, sizeof(path), "%s", mounted);
	if (geteuid() != 0) {
		if (!own_path("", own, sizeof(own)))
			return err_set(err, ERR_UNSUPPORTED, ENOENT, "not in a cgroup v2");
		(void)snprintf(path, sizeof(path), "%s%s", mounted, own);
	}
	r = open_tree_at(groups, CGROUP_V2, path, err);
	if (r < 0)
		return r;

	if (geteuid() != 0) {
		(void)mkdirat(groups->parent[CGROUP_V2], "viv-launch", 0755);
		(void)io_write_file(groups->parent[CGROUP_V2], "viv-launch/cgroup.procs", "0",
				    &ignored);
	}
	(void)io_write_file(groups->parent[CGROUP_V2], "cgroup.subtree_control", controllers,
			    &ignored);
	(void)io_write_file(groups->tree[CGROUP_V2], "cgroup.subtree_control", controllers,
			    &ignored);
	/* Written separately: if io is not available to us, the other controllers still work. */
	(void)io_write_file(groups->parent[CGROUP_V2], "cgroup.subtree_control", "+io", &ignored);
	(void)io_write_file(groups->tree[CGROUP_V2], "cgroup.subtree_control", "+io", &ignored);

	if (io_read_file(groups->tree[CGROUP_V2], "cgroup.subtree_control", &text, &ignored) == 0) {
		groups->v2_limits = has_word(buf_string(&text), "memory") &&
				    has_word(buf_string(&text), "pids") &&
				    has_word(buf_string(&text), "cpu");
		groups->v2_io = has_word(buf_string(&text), "io");
	}
	return 0;
}

/* v1 allows processes anywhere: our directory goes below our current group, whose limits then apply
 * as well. */
static int open_v1_tree(struct cgroups *groups, enum cgroup_tree tree, struct err *err)
{
	char mounted[256];
	char own[512];
	char path[800];

	if (!mount_point(v1_controller[tree], mounted, sizeof(mounted)) ||
	    !own_path(v1_controller[tree], own, sizeof(own)))
		return err_set(err, ERR_UNSUPPORTED, ENOENT, "no cgroup controller %s",
			       v1_controller[tree]);
	(void)snprintf(path, sizeof(path), "%s%s", mounted, own);
	return open_tree_at(groups, tree, path, err);
}

static int open_v1(struct cgroups *groups, struct err *err)
{
	struct err ignored = {0};

	for (enum cgroup_tree tree = CGROUP_V1_MEMORY; tree <= CGROUP_V1_CPU; tree++) {
		int r = open_v1_tree(groups, tree, err);

		if (r < 0)
			return r;
	}
	if (!groups->v2_io)
		(void)open_v1_tree(groups, CGROUP_V1_BLKIO, &ignored);
	groups->v1_limits = true;
	return 0;
}

void cgroups_open(struct cgroups *groups)
{
	*groups = (struct cgroups){0};
	for (size_t i = 0; i < CGROUP_TREES; i++) {
		groups->tree[i] = -1;
		groups->parent[i] = -1;
	}
	id_new(NAME_PREFIX, groups->name);

	if (open_v2(groups, &groups->why) < 0)
		close_tree(groups, CGROUP_V2);
}

void cgroups_open_v1(struct cgroups *groups)
{
	struct err v2_err = groups->why;
	struct err v1_err = {0};

	groups->why = (struct err){0};
	if (groups->v2_limits || open_v1(groups, &v1_err) == 0) {
		cgroups_find_disks(groups);
		/* A tree that limits nothing would only cost each new process one more move. */
		if (groups->disk_count == 0)
			close_tree(groups, CGROUP_V1_BLKIO);
		return;
	}
	for (enum cgroup_tree tree = CGROUP_V1_MEMORY; tree < CGROUP_TREES; tree++)
		close_tree(groups, tree);
	(void)err_set(&groups->why, ERR_UNSUPPORTED, ENOTSUP, "v2: %.200s; v1: %.200s",
		      v2_err.kind != ERR_NONE ? v2_err.text : "lacks memory, pids or cpu",
		      v1_err.text);
}

void cgroups_close(struct cgroups *groups)
{
	for (enum cgroup_tree tree = 0; tree < CGROUP_TREES; tree++)
		close_tree(groups, tree);
}
