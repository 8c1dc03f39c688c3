// SPDX-License-Identifier: Apache-2.0
#include "backend/namespace/meter.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/c.h"

void meters_init(struct meters *meters)
{
	TAILQ_INIT(&meters->open);
}

void meter_take(struct meters *meters, struct meter *meter, int *take_fds, size_t fd_count)
{
	/* Where no cgroup counts, it stays marked as asked, so that launch is not asked again. */
	if (fd_count != LAUNCH_METER_COUNT)
		return;
	meter_done(meter);
	for (size_t i = 0; i < LAUNCH_METER_COUNT; i++)
		meter->fds[i] = steal_fd(&take_fds[i]);
	meter->is_asked = false;
	meter->meters = meters;
	TAILQ_INSERT_TAIL(&meters->open, meter, entry);
	if (++meters->count > METERS_MAX)
		meter_done(TAILQ_FIRST(&meters->open));
}

void meter_done(struct meter *meter)
{
	if (meter->meters == NULL)
		return;
	for (size_t i = 0; i < LAUNCH_METER_COUNT; i++)
		drop_fd(&meter->fds[i]);
	TAILQ_REMOVE(&meter->meters->open, meter, entry);
	meter->meters->count--;
	meter->meters = NULL;
}

/* The number after `key`, or the first one of the file. */
static bool read_number(const struct meter *meter, enum launch_meter which, const char *key,
			uint64_t *ret_number)
{
	char text[512];
	ssize_t n = pread(meter->fds[which], text, sizeof(text) - 1, 0);
	const char *at = text;

	if (n <= 0)
		return false;
	text[n] = '\0';
	if (key != NULL)
		at = strstr(text, key);
	if (at == NULL)
		return false;
	*ret_number = strtoull(at + (key != NULL ? strlen(key) : 0), NULL, 10);
	return true;
}

void meter_mark(const struct meter *meter, struct box_mark *mark)
{
	mark->has_kills = meter->meters != NULL &&
			  read_number(meter, LAUNCH_METER_KILLS, "oom_kill ", &mark->kills);
}

void meter_count(struct meter *meter, bool is_alone, struct box_mark *mark)
{
	if (meter->meters == NULL)
		return;
	TAILQ_REMOVE(&meter->meters->open, meter, entry);
	TAILQ_INSERT_TAIL(&meter->meters->open, meter, entry);
	/* Kernels that cannot reset the peak report that of the sandbox's whole life. */
	if (is_alone)
		(void)!pwrite(meter->fds[LAUNCH_METER_PEAK], "0", 1, 0);
	mark->has_counts = mark->has_kills &&
			   read_number(meter, LAUNCH_METER_CPU, "usage_usec ", &mark->cpu_us);
}

bool meter_read(const struct meter *meter, const struct box_mark *mark, struct box_exit *facts)
{
	uint64_t own = box_own_us(mark);
	uint64_t cpu = 0, kills = 0;

	if (meter->meters == NULL || !mark->has_counts ||
	    !read_number(meter, LAUNCH_METER_KILLS, "oom_kill ", &kills) || kills != mark->kills ||
	    !read_number(meter, LAUNCH_METER_CPU, "usage_usec ", &cpu) ||
	    !read_number(meter, LAUNCH_METER_PEAK, NULL, &facts->peak) ||
	    !read_number(meter, LAUNCH_METER_MEMORY, NULL, &facts->memory))
		return false;
	facts->cpu_us = cpu > mark->cpu_us ? cpu - mark->cpu_us : 0;
	if (own > facts->cpu_us)
		facts->cpu_us = own;
	return true;
}
