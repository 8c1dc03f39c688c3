// SPDX-License-Identifier: Apache-2.0
#include "backend/box.h"

/* A process's own clock includes the current time slice, which the cgroup's sum does not have
 * yet. */
static uint64_t clock_us(clockid_t clock)
{
	struct timespec used;

	if (clock == 0 || clock_gettime(clock, &used) < 0)
		return 0;
	return (uint64_t)used.tv_sec * 1000000 + (uint64_t)used.tv_nsec / 1000;
}

uint64_t box_process_us(pid_t pid)
{
	clockid_t clock = 0;

	return pid > 0 && clock_getcpuclockid(pid, &clock) == 0 ? clock_us(clock) : 0;
}

uint64_t box_own_us(const struct box_mark *mark)
{
	uint64_t now = mark->is_set ? clock_us(mark->clock) : 0;

	return now > mark->own_us ? now - mark->own_us : 0;
}

void box_mark(struct box *box, pid_t pid, struct box_mark *ret_mark)
{
	struct box_mark mark = {.is_set = true};

	if (pid > 0 && clock_getcpuclockid(pid, &mark.clock) != 0)
		mark.clock = 0;
	mark.own_us = clock_us(mark.clock);
	if (box != NULL && box->impl->mark != NULL)
		box->impl->mark(box, &mark);
	*ret_mark = mark;
}
