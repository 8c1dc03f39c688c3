// SPDX-License-Identifier: Apache-2.0
#include "obs/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include <sys/resource.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/c.h"
#include "base/io.h"

#define STAT_MAX 4096
#define START_FIELD 22 /* man 5 proc_pid_stat: starttime */

static double seconds_of(const struct timeval *time)
{
	return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

static double clock_seconds(clockid_t clock)
{
	struct timespec now = {0};

	(void)clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Linux 6.2 and later give the count as the size of the directory; on older kernels it must be
 * listed, which is slow with ten thousand descriptors. */
static uint64_t count_fds(void)
{
	struct stat info = {0};
	uint64_t count = 0;
	DIR *directory;

	if (stat("/proc/self/fd", &info) == 0 && info.st_size > 0)
		return (uint64_t)info.st_size;
	directory = opendir("/proc/self/fd");
	if (directory == NULL)
		return 0;
	for (const struct dirent *entry; (entry = readdir(directory)) != NULL;)
		count += entry->d_name[0] != '.';
	(void)closedir(directory);
	return count > 0 ? count - 1 : 0; /* without the directory's own */
}

/* The text of a small file of /proc; "" when it cannot be read. */
static const char *read_text(const char *path, struct buf *buf)
{
	struct err err = {0};

	buf_init(buf, STAT_MAX);
	if (io_read_file(AT_FDCWD, path, buf, &err) < 0)
		return "";
	return buf_string(buf);
}

/* Field `number` of a stat line. The name in field 2 may contain spaces and ')', so fields are
 * counted from the last ')'. */
static double stat_field(const char *text, int number)
{
	const char *at = strrchr(text, ')');

	for (int i = 2; at != NULL && i < number; i++) {
		at = strchr(at, ' ');
		if (at != NULL)
			at++;
	}
	return at != NULL ? strtod(at, NULL) : 0;
}

static double find_start(void)
{
	struct buf buf;
	double ticks = stat_field(read_text("/proc/self/stat", &buf), START_FIELD);

	buf_done(&buf);
	return clock_seconds(CLOCK_REALTIME) - clock_seconds(CLOCK_BOOTTIME) +
	       ticks / (double)sysconf(_SC_CLK_TCK);
}

static uint64_t find_memory(void)
{
	struct buf buf;
	const char *text = read_text("/proc/self/statm", &buf);
	const char *resident = strchr(text, ' ');
	uint64_t pages = resident != NULL ? strtoull(resident + 1, NULL, 10) : 0;

	buf_done(&buf);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

struct process_facts process_look(void)
{
	struct process_facts facts = {
		.start_seconds = find_start(), .memory = find_memory(), .fds = count_fds()};
	struct rusage usage = {0};
	struct rlimit limit = {0};

	if (getrusage(RUSAGE_SELF, &usage) == 0)
		facts.cpu_seconds = seconds_of(&usage.ru_utime) + seconds_of(&usage.ru_stime);
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		facts.fds_max = limit.rlim_cur;
	return facts;
}
