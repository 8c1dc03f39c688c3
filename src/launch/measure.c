// SPDX-License-Identifier: Apache-2.0
#include "launch/measure.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "base/c.h"
#include "base/io.h"
#include "launch/files.h"

#define AREAS_MAX 256
#define SAMPLE_FD 3
#define EXACT_NS 250000000ULL /* the exact figure is not read more often, */
#define EXACT_SHARE 20U       /* ... nor for more than one part of so many of the time */

/* One sandbox's sample, sent by the child. The init's pid shows that it is still the same
 * sandbox. */
struct sample {
	uint32_t id;
	pid_t init;
	uint64_t shared;       /* tmpfs, saved files, shared anonymous memory */
	uint64_t cheap, exact; /* of the processes */
	uint64_t took_ns;
	bool is_exact;
};

/* Shared anonymous memory, each area once. Its pages may be in no process's page tables, so the
 * size of the area counts. */
struct areas {
	size_t count;
	uint64_t inodes[AREAS_MAX];
	uint64_t size;
};

/* Adds the value of a line "key 123 kB" of a file in `folder`. False: no such line, as in a process
 * whose first thread has ended while others go on. */
static bool add_field(const char *folder, const char *file, const char *key, uint64_t *sum)
{
	uint64_t kib = 0;
	char path[640];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, file);
	if (!io_read_number(AT_FDCWD, path, key, &kib))
		return false;
	*sum += kib * KIB;
	return true;
}

/* Adds the memory of the first thread that has any: all threads share it. */
static void add_memory(const char *pid, const char *file, const char *key, uint64_t *sum)
{
	const struct dirent *entry = NULL;
	char folder[300];
	DIR *stream = NULL;

	(void)snprintf(folder, sizeof(folder), "/proc/%s", pid);
	if (add_field(folder, file, key, sum))
		return;
	(void)snprintf(folder, sizeof(folder), "/proc/%s/task", pid);
	stream = opendir(folder);
	while (stream != NULL && (entry = readdir(stream)) != NULL) {
		char task[600];

		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(task, sizeof(task), "%s/%s", folder, entry->d_name);
		if (add_field(task, file, key, sum))
			break;
	}
	if (stream != NULL)
		(void)closedir(stream);
}

static void add_area(struct areas *areas, uint64_t inode, uint64_t size)
{
	for (size_t i = 0; i < areas->count; i++) {
		if (areas->inodes[i] == inode)
			return;
	}
	if (areas->count < AREAS_MAX)
		areas->inodes[areas->count++] = inode;
	areas->size += size;
}

/* "start-end rw-s offset dev inode  /dev/zero (deleted)" is shared anonymous memory. */
static void add_areas(const char *pid, struct areas *areas)
{
	char path[300];
	char line[512];
	FILE *stream = NULL;

	(void)snprintf(path, sizeof(path), "/proc/%s/maps", pid);
	stream = fopen(path, "re");
	while (stream != NULL && fgets(line, sizeof(line), stream) != NULL) {
		unsigned long start = 0;
		unsigned long end = 0;
		unsigned long inode = 0;
		char flags[8] = "";

		if (strstr(line, " /dev/zero (deleted)") == NULL)
			continue;
		if (sscanf(line, "%lx-%lx %7s %*s %*s %lu", &start, &end, flags, &inode) == 4 &&
		    flags[3] == 's')
			add_area(areas, inode, end - start);
	}
	if (stream != NULL)
		(void)fclose(stream);
}

static ino_t pidns_of(const char *pid)
{
	struct stat status;
	char path[300];

	(void)snprintf(path, sizeof(path), "/proc/%s/ns/pid", pid);
	return stat(path, &status) == 0 ? status.st_ino : 0;
}

/* Adds up a figure of all processes in the pid namespace; with `areas`, also their shared anonymous
 * memory. */
static uint64_t add_processes(DIR *proc, ino_t pidns, const char *file, const char *key,
			      struct areas *areas)
{
	const struct dirent *entry = NULL;
	uint64_t sum = 0;

	rewinddir(proc);
	while ((entry = readdir(proc)) != NULL) {
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
		    pidns_of(entry->d_name) != pidns)
			continue;
		add_memory(entry->d_name, file, key, &sum);
		if (areas != NULL)
			add_areas(entry->d_name, areas);
	}
	return sum;
}

/*
 * Memory of all processes in the box's pid namespace, without files: those are in its tmpfs, which
 * is counted separately. The cheap figure counts memory shared with the zygote, or between the
 * heads of a session, once per process, so it can only be too high: good enough for a limit, not
 * for a report. The exact figure (Pss), which walks the page tables, is read when the cheap one is
 * above `enough`, and when it is due for the report.
 */
static void measure_processes(const struct box *box, ino_t pidns, uint64_t enough,
			      struct sample *sample)
{
	struct areas areas = {0};
	uint64_t now = now_ns();
	DIR *proc = opendir("/proc");

	/* If /proc cannot be read, memory counts as exceeded: the run ends rather than go on
	 * unmeasured. */
	if (proc == NULL) {
		sample->cheap = UINT64_MAX / 2;
		return;
	}
	sample->cheap = add_processes(proc, pidns, "status", "\nRssAnon:", &areas);
	sample->shared = areas.size;
	if (sample->cheap + areas.size > enough ||
	    (now >= box->exact.next_ns && sample->cheap != box->exact.cheap)) {
		sample->is_exact = true;
		sample->exact = add_processes(proc, pidns, "smaps_rollup", "\nPss_Anon:", NULL);
		sample->took_ns = now_ns() - now;
	}
	(void)closedir(proc);
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

static bool is_measured(const struct box *box)
{
	return box->is_armed && !box->is_dying && box->init.pid > 0;
}

static _Noreturn void sampler_main(const struct inner *inner, int out)
{
	const struct box *box = NULL;
	struct err err = {0};

	/* Closes all other descriptors: the sample must work even where launch has none left. */
	if (dup2(out, SAMPLE_FD) != SAMPLE_FD ||
	    syscall(SYS_close_range, SAMPLE_FD + 1, ~0U, 0U) < 0)
		_exit(1);
	out = SAMPLE_FD;

	LIST_FOREACH(box, &inner->boxes, next) {
		struct sample sample = {.id = box->id, .init = box->init.pid};
		/* A session gives up checkpoints above half of its limit, so the exact figure
		 * matters from there on. */
		uint64_t half = box->spawn.plan.memory / 2;
		uint64_t files;
		char init[16];

		if (!is_measured(box))
			continue;
		(void)snprintf(init, sizeof(init), "%d", sample.init);
		files = tmpfs_memory(sample.init) + files_used(box->files);
		measure_processes(box, pidns_of(init), half > files ? half - files : 0, &sample);
		sample.shared += files;
		if (io_write_all(out, &sample, sizeof(sample), &err) < 0)
			break;
	}
	_exit(0);
}

void measure_start(struct inner *inner)
{
	int pair[2];
	pid_t pid;

	if (inner->sample >= 0 || pipe2(pair, O_CLOEXEC) < 0)
		return;
	pid = fork();
	if (pid == 0)
		sampler_main(inner, pair[1]);
	(void)close(pair[1]);
	if (pid < 0 || inner_watch_sample(inner, pair[0]) < 0) {
		(void)close(pair[0]);
		return;
	}
	inner->sample = pair[0];
}

/* The memory of the processes for a report: the last exact figure, and what the cheap one has grown
 * by since. */
static uint64_t reported(struct box *box, const struct sample *sample)
{
	struct box_exact *exact = &box->exact;
	uint64_t rest = sample->took_ns * EXACT_SHARE;
	uint64_t both = exact->exact + sample->cheap;

	if (sample->is_exact) {
		exact->exact = sample->exact;
		exact->cheap = sample->cheap;
		exact->next_ns = now_ns() + (rest > EXACT_NS ? rest : EXACT_NS);
		return sample->exact;
	}
	if (exact->next_ns == 0)
		return sample->cheap;
	return both > exact->cheap ? both - exact->cheap : 0;
}

static void judge(struct inner *inner, const struct sample *sample)
{
	struct launch_event event = {.type = LAUNCH_EXIT, .id = sample->id};
	struct box *box = inner->by_id[sample->id];
	uint64_t most = sample->shared + (sample->is_exact ? sample->exact : sample->cheap);

	if (box == NULL || box->init.pid != sample->init || box->is_dying)
		return;
	/* The sample of a short run may come after its end; the next run still reports it. */
	box->used = sample->shared + reported(box, sample);
	if (!is_measured(box))
		return;
	if (box->used > box->peak)
		box->peak = box->used;
	if (most <= box->spawn.plan.memory)
		return;

	event.exit.sandbox = box->id;
	event.exit.cause = LAUNCH_CAUSE_MEMORY;
	event.exit.code = -1;
	event.exit.peak = box->peak;
	if (box->is_shared)
		event.type = INNER_ABOVE; /* the outer half knows which head runs, and ends it */
	inner_tell(inner, &event, -1);
	if (!box->is_shared)
		boxes_kill(inner, box->id);
}

void measure_read(struct inner *inner)
{
	struct sample sample;

	if (inner->sample < 0)
		return;
	if (read(inner->sample, &sample, sizeof(sample)) == (ssize_t)sizeof(sample)) {
		if (sample.id < LAUNCH_SANDBOXES_MAX)
			judge(inner, &sample);
		return;
	}
	(void)epoll_ctl(inner->epoll, EPOLL_CTL_DEL, inner->sample, NULL);
	drop_fd(&inner->sample);
}
