// SPDX-License-Identifier: Apache-2.0
#include "launch/idmap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/random.h>
#include <sys/wait.h>

#include "base/c.h"
#include "base/io.h"

/* Above the ranges of distributions and systemd (systemd-nspawn ends at 0x6fffffff): room for 2047
 * launchers at a time, each with its own range. */
#define ROOT_RANGES 0x78000000U
#define ROOT_RANGE_COUNT 2047U

static int write_map(pid_t pid, const char *file, const char *text, struct err *err)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	return io_write_file(AT_FDCWD, path, text, err);
}

/* Finds "name:start:count" with a count that is large enough in /etc/subuid or /etc/subgid. */
static uint32_t subordinate_start(const char *file, const char *name, uid_t id)
{
	uint32_t start = 0;
	char number[16];
	char line[256];
	FILE *stream = fopen(file, "re");

	if (stream == NULL)
		return 0;
	(void)snprintf(number, sizeof(number), "%u", id);
	while (start == 0 && fgets(line, sizeof(line), stream) != NULL) {
		char *save = NULL;
		const char *owner = strtok_r(line, ":", &save);
		const char *first = strtok_r(NULL, ":", &save);
		const char *count = strtok_r(NULL, ":\n", &save);

		if (owner == NULL || first == NULL || count == NULL)
			continue;
		if (strcmp(owner, name) != 0 && strcmp(owner, number) != 0)
			continue;
		if (strtoul(count, NULL, 10) >= IDMAP_COUNT)
			start = (uint32_t)strtoul(first, NULL, 10);
	}
	(void)fclose(stream);
	return start;
}

/* newuidmap PID 0 START COUNT: the set-uid helper that checks /etc/subuid for us. */
static bool helper_maps(const char *helper, pid_t pid, uint32_t start)
{
	char pid_text[16];
	char start_text[16];
	char count_text[16];
	int status = -1;
	pid_t child;

	(void)snprintf(pid_text, sizeof(pid_text), "%d", pid);
	(void)snprintf(start_text, sizeof(start_text), "%u", start);
	(void)snprintf(count_text, sizeof(count_text), "%u", (unsigned)IDMAP_COUNT);

	child = fork();
	if (child == 0) {
		(void)execl(helper, helper, pid_text, "0", start_text, count_text, (char *)NULL);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return false;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Our name, from lines as they stand in /etc/passwd. (fgetpwent(3) reads no pipe: it seeks.) */
static bool read_name(FILE *stream, char *ret_name, size_t size)
{
	AUTO_FREE char *line = NULL;
	size_t room = 0;
	bool found = false;

	while (!found && getline(&line, &room, stream) > 0) {
		char *at = line;
		const char *name = strsep(&at, ":");
		const char *password = strsep(&at, ":");
		const char *number = strsep(&at, ":");

		found = password != NULL && number != NULL &&
			strtoul(number, NULL, 10) == getuid() &&
			(size_t)snprintf(ret_name, size, "%s", name) < size;
	}
	return found;
}

/* A user who is not in /etc/passwd may be known to a name server. The libraries that query it
 * cannot be loaded into a statically linked program, so getent does it (man 5 nsswitch.conf). */
static bool ask_name(char *ret_name, size_t size)
{
	bool found = false;
	FILE *stream = NULL;
	char number[16];
	int pair[2];
	pid_t child;

	(void)snprintf(number, sizeof(number), "%u", getuid());
	if (pipe2(pair, O_CLOEXEC) < 0)
		return false;
	child = fork();
	if (child == 0) {
		if (dup2(pair[1], STDOUT_FILENO) == STDOUT_FILENO)
			(void)execl("/usr/bin/getent", "getent", "passwd", number, (char *)NULL);
		_exit(127);
	}
	(void)close(pair[1]);
	stream = child > 0 ? fdopen(pair[0], "r") : NULL;
	if (stream == NULL) {
		(void)close(pair[0]);
	} else {
		found = read_name(stream, ret_name, size);
		(void)fclose(stream);
	}
	if (child > 0)
		(void)waitpid(child, NULL, 0);
	return found;
}

static void find_name(char *ret_name, size_t size)
{
	FILE *stream = fopen("/etc/passwd", "re");
	bool found = stream != NULL && read_name(stream, ret_name, size);

	if (stream != NULL)
		(void)fclose(stream);
	if (!found && !ask_name(ret_name, size))
		ret_name[0] = '\0';
}

static bool map_subordinate(pid_t pid, struct idmap *map)
{
	char name[256];
	uint32_t uid;
	uint32_t gid;

	/* Checked first because it is cheap: looking up a user's name may query servers. */
	if (access("/usr/bin/newuidmap", X_OK) < 0 || access("/usr/bin/newgidmap", X_OK) < 0)
		return false;
	find_name(name, sizeof(name));
	uid = subordinate_start("/etc/subuid", name, getuid());
	gid = subordinate_start("/etc/subgid", name, getuid());
	if (uid == 0 || gid == 0)
		return false;

	if (!helper_maps("/usr/bin/newgidmap", pid, gid))
		return false;
	if (!helper_maps("/usr/bin/newuidmap", pid, uid))
		return false;
	*map = (struct idmap){.count = IDMAP_COUNT, .uid = uid, .gid = gid};
	return true;
}

static int map_root(pid_t pid, struct idmap *map, struct err *err)
{
	uint32_t start = 0;
	char text[64];
	int r;

	if (getrandom(&start, sizeof(start), 0) != (ssize_t)sizeof(start))
		return err_sys(err, "getrandom");
	start = ROOT_RANGES + start % ROOT_RANGE_COUNT * IDMAP_COUNT;
	(void)snprintf(text, sizeof(text), "0 %u %u", start, (unsigned)IDMAP_COUNT);
	r = write_map(pid, "uid_map", text, err);
	if (r < 0)
		return r;
	r = write_map(pid, "gid_map", text, err);
	if (r < 0)
		return r;
	*map = (struct idmap){.count = IDMAP_COUNT, .uid = start, .gid = start};
	return 0;
}

/* Maps a single id. Without a range, setgroups must be given up first (man 7 user_namespaces). */
static int map_single(pid_t pid, struct idmap *map, struct err *err)
{
	char text[64];
	int r;

	r = write_map(pid, "setgroups", "deny", err);
	if (r < 0)
		return r;
	(void)snprintf(text, sizeof(text), "0 %u 1", getuid());
	r = write_map(pid, "uid_map", text, err);
	if (r < 0)
		return r;
	(void)snprintf(text, sizeof(text), "0 %u 1", getgid());
	r = write_map(pid, "gid_map", text, err);
	if (r < 0)
		return r;
	*map = (struct idmap){.count = 1, .uid = getuid(), .gid = getgid()};
	return 0;
}

/* Are all ids mapped to themselves? Then 0 is the host's root, an id that no sandbox may have. */
static bool is_first_namespace(void)
{
	AUTO_BUF struct buf text = {.max = 4096};
	struct err err = {0};
	unsigned long inside = 1;
	unsigned long outside = 1;
	bool is_first = true; /* when in doubt */

	if (io_read_file(AT_FDCWD, "/proc/self/uid_map", &text, &err) == 0 &&
	    sscanf(buf_string(&text), "%lu %lu", &inside, &outside) == 2)
		is_first = inside == 0 && outside == 0;
	return is_first;
}

int idmap_write(pid_t pid, struct idmap *ret_map, struct err *err)
{
	/* Root of a user namespace (in a container) may not be allowed the range: then it uses its
	 * one id, which is not the host's 0. */
	if (getuid() == 0 && map_root(pid, ret_map, err) == 0)
		return 0;
	if (getuid() == 0 && is_first_namespace())
		return -err->num;
	*err = (struct err){0};
	if (getuid() != 0 && map_subordinate(pid, ret_map))
		return 0;
	return map_single(pid, ret_map, err);
}
