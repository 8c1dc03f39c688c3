// SPDX-License-Identifier: Apache-2.0
#include "launch/measure.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/c.h"
#include "base/io.h"

static uint64_t kib_field(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at != NULL ? strtoull(at + strlen(key), NULL, 10) * KIB : 0;
}

/* The sum of two fields of a file in /proc/PID. */
static uint64_t read_fields(const char *pid, const char *file, const char *one, const char *two)
{
	struct buf text;
	struct err err = {0};
	uint64_t value = 0;
	char path[300];

	buf_init(&text, 16 * KIB);
	(void)snprintf(path, sizeof(path), "/proc/%s/%s", pid, file);
	if (io_read_file(AT_FDCWD, path, &text, &err) == 0)
		value = kib_field(buf_string(&text), one) + kib_field(buf_string(&text), two);
	buf_done(&text);
	return value;
}

static ino_t pidns_of(const char *pid)
{
	struct stat status;
	char path[300];

	(void)snprintf(path, sizeof(path), "/proc/%s/ns/pid", pid);
	return stat(path, &status) == 0 ? status.st_ino : 0;
}

/*
 * Memory of all processes in the box's pid namespace. The cheap figure counts what is shared with
 * the zygote as the sandbox's own, so it can only be too high: the exact one (Pss), which walks
 * the page tables, is asked for only when the cheap one is above the limit.
 */
static uint64_t processes_memory(ino_t pidns, uint64_t limit)
{
	uint64_t rough = 0;
	uint64_t exact = 0;
	const struct dirent *entry = NULL;
	DIR *stream = opendir("/proc");

	if (stream == NULL)
		return 0;
	while ((entry = readdir(stream)) != NULL) {
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		    pidns_of(entry->d_name) == pidns)
			rough += read_fields(entry->d_name, "status", "RssAnon:", "RssShmem:");
	}
	if (rough > limit) {
		rewinddir(stream);
		while ((entry = readdir(stream)) != NULL) {
			if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
			    pidns_of(entry->d_name) == pidns)
				exact += read_fields(entry->d_name, "smaps_rollup",
						     "Pss_Anon:", "Pss_Shmem:");
		}
		rough = exact;
	}
	(void)closedir(stream);
	return rough;
}

static uint64_t tmpfs_memory(pid_t init)
{
	static const char *const mounts[] = {"workspace", "tmp", "dev/shm"};
	uint64_t sum = 0;

	for (size_t i = 0; i < ARRAY_LEN(mounts); i++) {
		struct statfs status;
		char path[64];

		(void)snprintf(path, sizeof(path), "/proc/%d/root/%s", init, mounts[i]);
		if (statfs(path, &status) == 0)
			sum += (uint64_t)(status.f_blocks - status.f_bfree) *
			       (uint64_t)status.f_bsize;
	}
	return sum;
}

static void measure_box(struct inner *inner, struct box *box)
{
	struct launch_event event = {.type = LAUNCH_EXIT, .id = box->id};
	uint64_t limit = box->spawn.plan.memory;
	char init[16];
	uint64_t used;

	(void)snprintf(init, sizeof(init), "%d", box->init.pid);
	used = tmpfs_memory(box->init.pid);
	used += processes_memory(pidns_of(init), limit > used ? limit - used : 0);
	if (used > box->peak)
		box->peak = used;
	if (used <= limit)
		return;

	event.exit.sandbox = box->id;
	event.exit.cause = LAUNCH_CAUSE_MEMORY;
	event.exit.code = -1;
	event.exit.peak = box->peak;
	inner_tell(inner, &event, -1);
	boxes_kill(inner, box->id);
}

void measure_all(struct inner *inner)
{
	struct box *box = LIST_FIRST(&inner->boxes);

	while (box != NULL) {
		struct box *next = LIST_NEXT(box, next);

		if (box->is_armed && !box->is_dying && box->init.pid > 0)
			measure_box(inner, box);
		box = next;
	}
}
