// SPDX-License-Identifier: Apache-2.0
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include <sys/mman.h>

#include "base/c.h"
#include "base/io.h"
#include "bench.h"

void samples_add(struct samples *samples, uint64_t ns)
{
	if (samples->count == samples->capacity) {
		size_t capacity = samples->capacity > 0 ? samples->capacity * 2 : 256;
		uint64_t *grown = reallocarray(samples->ns, capacity, sizeof(*grown));

		if (grown == NULL)
			abort();
		samples->ns = grown;
		samples->capacity = capacity;
	}
	samples->ns[samples->count++] = ns;
}

void samples_done(struct samples *samples)
{
	free(samples->ns);
	*samples = (struct samples){0};
}

static int compare(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a;
	uint64_t right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

double samples_us(struct samples *samples, double share)
{
	size_t index;

	if (samples->count == 0)
		return 0;
	qsort(samples->ns, samples->count, sizeof(*samples->ns), compare);
	index = (size_t)(share * (double)(samples->count - 1) + 0.5);
	return (double)samples->ns[index] / 1e3;
}

/* /proc/PID/stat behind the name, which may hold anything: field 3 comes first. */
static bool read_stat(pid_t pid, struct buf *text, const char **ret_fields)
{
	struct err err = {0};
	char path[40];
	const char *end = NULL;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (io_read_file(AT_FDCWD, path, text, &err) < 0)
		return false;
	end = strrchr(buf_string(text), ')');
	if (end == NULL)
		return false;
	*ret_fields = end + 2;
	return true;
}

/* The numbered field of man 5 proc; 3 is the state. */
static uint64_t stat_field(const char *fields, int number)
{
	for (int i = 3; i < number && fields != NULL; i++) {
		fields = strchr(fields, ' ');
		if (fields != NULL)
			fields++;
	}
	return fields != NULL ? strtoull(fields, NULL, 10) : 0;
}

static pid_t parent_of(pid_t pid)
{
	const char *fields = NULL;
	struct buf text;
	pid_t parent = 0;

	buf_init(&text, 4096);
	if (read_stat(pid, &text, &fields))
		parent = (pid_t)stat_field(fields, 4);
	buf_done(&text);
	return parent;
}

static bool contains(const pid_t *pids, size_t count, pid_t pid)
{
	for (size_t i = 0; i < count; i++) {
		if (pids[i] == pid)
			return true;
	}
	return false;
}

/* A parent may have the higher number, so look until a whole pass adds nothing. */
size_t proc_tree(pid_t root, pid_t *ret_pids, size_t max)
{
	size_t count = 1;
	size_t before;

	ret_pids[0] = root;
	do {
		DIR *stream = opendir("/proc");
		const struct dirent *entry = NULL;

		before = count;
		while (stream != NULL && count < max && (entry = readdir(stream)) != NULL) {
			pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

			if (isdigit((unsigned char)entry->d_name[0]) &&
			    !contains(ret_pids, count, pid) &&
			    contains(ret_pids, count, parent_of(pid)))
				ret_pids[count++] = pid;
		}
		if (stream != NULL)
			(void)closedir(stream);
	} while (count > before);
	return count;
}

uint64_t proc_tree_cpu_ns(pid_t root)
{
	pid_t *pids = xcalloc(PROC_TREE_MAX, sizeof(*pids));
	size_t count = proc_tree(root, pids, PROC_TREE_MAX);
	uint64_t tick_ns = 1000000000ULL / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t ticks = 0;

	for (size_t i = 0; i < count; i++) {
		const char *fields = NULL;
		struct buf text;

		buf_init(&text, 4096);
		/* utime, stime, cutime, cstime */
		if (read_stat(pids[i], &text, &fields)) {
			for (int field = 14; field <= 17; field++)
				ticks += stat_field(fields, field);
		}
		buf_done(&text);
	}
	free(pids);
	return ticks * tick_ns;
}

/* Sum of the lines of a file that start with `prefix`, in KiB there. */
static uint64_t sum_lines(const char *path, const char *prefix)
{
	FILE *stream = fopen(path, "re");
	uint64_t sum = 0;
	char line[256];

	if (stream == NULL)
		return 0;
	while (fgets(line, sizeof(line), stream) != NULL) {
		const char *number = strchr(line, ':');

		if (number != NULL && strncmp(line, prefix, strlen(prefix)) == 0)
			sum += strtoull(number + 1, NULL, 10) * KIB;
	}
	(void)fclose(stream);
	return sum;
}

uint64_t proc_private(pid_t pid)
{
	char path[48];

	(void)snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", pid);
	return sum_lines(path, "Private_"); /* Private_Clean and Private_Dirty */
}

uint64_t proc_rss(pid_t pid)
{
	char path[48];

	(void)snprintf(path, sizeof(path), "/proc/%d/status", pid);
	return sum_lines(path, "VmRSS");
}

uint64_t memory_available(void)
{
	return sum_lines("/proc/meminfo", "MemAvailable");
}

void memory_touch(uint64_t bytes)
{
	uint8_t *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return;
	for (uint64_t at = 0; at < bytes; at += 4 * KIB)
		memory[at] = 1;
	(void)munmap(memory, bytes);
}
