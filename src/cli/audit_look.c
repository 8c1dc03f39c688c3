// SPDX-License-Identifier: Apache-2.0
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "base/c.h"
#include "base/io.h"
#include "cli/audit.h"

#define STATUS_MAX 16384

/* One sandbox process as the host sees it, and the callback for findings. */
struct look {
	pid_t pid;
	struct buf status;
	audit_tell *tell; /* borrowed for the call */
	void *user;
};

static bool read_proc(pid_t pid, const char *name, struct buf *text)
{
	struct err err = {0};
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return io_read_file(AT_FDCWD, path, text, &err) == 0;
}

pid_t audit_find_marker(const struct audit_plant *plant)
{
	DIR *stream = opendir("/proc");
	const struct dirent *entry = NULL;
	pid_t found = 0;

	if (stream == NULL)
		return 0;
	while (found == 0 && (entry = readdir(stream)) != NULL) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		struct buf text;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		buf_init(&text, 64);
		if (read_proc(pid, "comm", &text)) {
			const char *name = buf_string(&text);
			size_t length = strlen(plant->marker);

			if (strncmp(name, plant->marker, length) == 0 && name[length] == '\n')
				found = pid;
		}
		buf_done(&text);
	}
	(void)closedir(stream);
	return found;
}

/* The value of a line of /proc/PID/status, "" when there is none. */
static void status_value(struct look *look, const char *key, char *ret_value, size_t size)
{
	char line_start[32];
	const char *at = NULL;

	(void)snprintf(line_start, sizeof(line_start), "\n%s:\t", key);
	ret_value[0] = '\0';
	at = strstr(buf_string(&look->status), line_start);
	if (at == NULL)
		return;
	at += strlen(line_start);
	(void)snprintf(ret_value, size, "%.*s", (int)strcspn(at, "\n"), at);
}

static void expect_status(struct look *look, enum wall_id wall, const char *key, const char *value,
			  const char *tries)
{
	char seen[64];
	char detail[128];
	char name[48];
	bool is_right;

	status_value(look, key, seen, sizeof(seen));
	is_right = strcmp(seen, value) == 0;
	(void)snprintf(name, sizeof(name), "outside_%s", key);
	(void)snprintf(detail, sizeof(detail), "%s: %s", key, seen);
	look->tell(look->user, wall, name, tries, is_right ? AUDIT_HELD : AUDIT_BREACHED, detail);
}

static void look_at_ids(struct look *look)
{
	unsigned int ids[4] = {0};
	char seen[64];
	bool is_read;
	bool is_held;

	status_value(look, "Uid", seen, sizeof(seen));
	is_read = sscanf(seen, "%u %u %u %u", &ids[0], &ids[1], &ids[2], &ids[3]) ==
		  4; // NOLINT(cert-err34-c)
	is_held =
		is_read && ids[0] != 0 && ids[0] == ids[1] && ids[0] == ids[2] && ids[0] == ids[3];
	if (geteuid() == 0)
		is_held = is_held && ids[0] >= 65536;
	look->tell(look->user, WALL_USER, "outside_uid", "be root, or one of the host's users",
		   is_held ? AUDIT_HELD : AUDIT_BREACHED, seen);
}

/* Without a range of ids, setgroups is denied for good (man 7 user_namespaces), so the groups of
 * the user stay. They give access to nothing: the root holds no private file of the host. */
static void look_at_groups(struct look *look)
{
	char seen[128];
	bool has_none;

	status_value(look, "Groups", seen, sizeof(seen));
	has_none = seen[strspn(seen, " ")] == '\0';
	look->tell(look->user, WALL_USER, "outside_groups", "keep groups of the host",
		   has_none         ? AUDIT_HELD
		   : geteuid() != 0 ? AUDIT_SKIPPED
				    : AUDIT_BREACHED,
		   has_none ? "none" : seen);
}

static void look_at_spaces(struct look *look)
{
	static const struct {
		enum wall_id wall;
		const char *space;
	} rows[] = {
		{WALL_USER, "user"},     {WALL_MOUNT, "mnt"}, {WALL_PID, "pid"},
		{WALL_NET, "net"},       {WALL_IPC, "ipc"},   {WALL_UTS, "uts"},
		{WALL_CGROUP, "cgroup"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char path[64];
		char mine[64] = "";
		char theirs[64] = "";
		char name[48];
		enum audit_outcome outcome = AUDIT_SKIPPED;

		(void)snprintf(name, sizeof(name), "outside_%s", rows[i].space);
		(void)snprintf(path, sizeof(path), "/proc/self/ns/%s", rows[i].space);
		(void)!readlink(path, mine, sizeof(mine) - 1);
		(void)snprintf(path, sizeof(path), "/proc/%d/ns/%s", look->pid, rows[i].space);
		if (readlink(path, theirs, sizeof(theirs) - 1) > 0)
			outcome = strcmp(mine, theirs) != 0 ? AUDIT_HELD : AUDIT_BREACHED;
		look->tell(look->user, rows[i].wall, name, "be in the host's namespace", outcome,
			   outcome == AUDIT_SKIPPED ? "this user may not see it from outside"
						    : theirs);
	}
}

static void look_at_fds(struct look *look)
{
	const struct dirent *entry = NULL;
	char path[64];
	char detail[64];
	DIR *stream = NULL;
	int count = 0;
	int highest = -1;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", look->pid);
	stream = opendir(path);
	if (stream == NULL) {
		look->tell(look->user, WALL_FDS, "outside_fds", "keep a descriptor of the host",
			   AUDIT_SKIPPED, "this user may not see it from outside");
		return;
	}
	while ((entry = readdir(stream)) != NULL) {
		int fd = (int)strtol(entry->d_name, NULL, 10);

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		count++;
		if (fd > highest)
			highest = fd;
	}
	(void)closedir(stream);
	(void)snprintf(detail, sizeof(detail), "%d descriptors, the highest is %d", count, highest);
	look->tell(look->user, WALL_FDS, "outside_fds", "keep a descriptor of the host",
		   highest <= 3 ? AUDIT_HELD : AUDIT_BREACHED, detail);
}

void audit_look(const struct audit_plant *plant, audit_tell *tell, void *user)
{
	static const char *const sets[] = {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"};
	struct look look = {.pid = audit_find_marker(plant), .tell = tell, .user = user};

	buf_init(&look.status, STATUS_MAX);
	if (look.pid == 0 || !read_proc(look.pid, "status", &look.status)) {
		tell(user, WALL_PID, "outside", "be looked at from outside", AUDIT_SKIPPED,
		     "the host's /proc does not show the sandbox to this user");
		buf_done(&look.status);
		return;
	}

	look_at_ids(&look);
	look_at_groups(&look);
	expect_status(&look, WALL_SECCOMP, "Seccomp", "2", "run without a filter");
	expect_status(&look, WALL_CAPS, "NoNewPrivs", "1", "gain by exec");
	for (size_t i = 0; i < ARRAY_LEN(sets); i++)
		expect_status(&look, WALL_CAPS, sets[i], "0000000000000000", "hold a capability");
	look_at_spaces(&look);
	look_at_fds(&look);
	buf_done(&look.status);
}
