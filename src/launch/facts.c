// SPDX-License-Identifier: Apache-2.0
#include "launch/facts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sys/resource.h>

#include "base/c.h"
#include "base/io.h"
#include "launch/inner.h"

#define TICK_NS 50000000ULL

struct slot *facts_slot(struct outer *outer, uint32_t id)
{
	if (id >= LAUNCH_SANDBOXES_MAX || !outer->slots[id].is_live)
		return NULL;
	return &outer->slots[id];
}

static void tell(struct outer *outer, const struct launch_event *event)
{
	link_send(&outer->client, event, sizeof(*event), NULL, 0);
}

void facts_tell_err(struct outer *outer, uint32_t type, uint32_t id, const struct err *err)
{
	struct launch_event event = {.type = type, .id = id, .err = *err};

	tell(outer, &event);
}

static uint32_t slot_id(const struct outer *outer, const struct slot *slot)
{
	return (uint32_t)(slot - outer->slots);
}

static void disarm(struct outer *outer, struct slot *slot)
{
	if (slot->is_armed)
		TAILQ_REMOVE(&outer->armed, slot, armed);
	slot->is_armed = false;
}

/* CPU time of a live process, by its own clock (man 3 clock_getcpuclockid). */
static uint64_t cpu_us_of(pid_t pid)
{
	struct timespec used;
	clockid_t clock;

	if (pid <= 0 || clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) < 0)
		return 0;
	return (uint64_t)used.tv_sec * 1000000 + (uint64_t)used.tv_nsec / 1000;
}

/* The facts of a run's end: once, and before anything is torn down. */
static void tell_exit(struct outer *outer, struct slot *slot, const struct launch_exit *facts)
{
	struct launch_event event = {.type = LAUNCH_EXIT, .id = slot_id(outer, slot)};
	struct cgroup_facts counted;

	disarm(outer, slot);
	if (slot->is_told)
		return;
	slot->is_told = true;

	cgroup_read(&outer->groups, &slot->group, &counted);
	event.exit = *facts;
	event.exit.sandbox = event.id;
	event.exit.oom_kills = counted.oom_kills;
	if (counted.peak > event.exit.peak)
		event.exit.peak = counted.peak;
	tell(outer, &event);
}

static void send_inner(struct outer *outer, uint32_t type, uint32_t id)
{
	struct launch_request request = {.type = type, .id = id};

	link_send(&outer->inner, &request, offsetof(struct launch_request, id) + sizeof(request.id),
		  NULL, 0);
}

/* The most that a live process had in memory; where no cgroup counts this must do. */
static uint64_t peak_of(pid_t pid)
{
	struct buf text;
	struct err err = {0};
	const char *at = NULL;
	uint64_t peak = 0;
	char path[32];

	buf_init(&text, 16 * KIB);
	(void)snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (pid > 0 && io_read_file(AT_FDCWD, path, &text, &err) == 0)
		at = strstr(buf_string(&text), "\nVmHWM:");
	if (at != NULL)
		peak = strtoull(at + strlen("\nVmHWM:"), NULL, 10) * KIB;
	buf_done(&text);
	return peak;
}

void facts_end(struct outer *outer, struct slot *slot, enum launch_cause cause)
{
	struct launch_exit facts = {.cause = cause, .code = -1, .cpu_us = cpu_us_of(slot->head)};
	uint32_t id = slot_id(outer, slot);

	if (outer->hello.limits == LAUNCH_LIMITS_MEASURED)
		facts.peak = peak_of(slot->head);
	if (slot->head > 0 || slot->is_armed) /* user code ran: its end has a cause */
		tell_exit(outer, slot, &facts);
	if (outer->groups.v2_limits)
		cgroup_kill(&outer->groups, &slot->group);
	send_inner(outer, LAUNCH_KILL, id); /* ends the pid namespace, and all in it */
}

/* The number of a process in our pid namespace, from its pidfd. 0: it is gone already. */
static pid_t pid_of(int pidfd)
{
	struct buf text;
	struct err err = {0};
	const char *at = NULL;
	char path[48];
	pid_t pid = 0;

	buf_init(&text, 4096);
	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	if (io_read_file(AT_FDCWD, path, &text, &err) == 0)
		at = strstr(buf_string(&text), "\nPid:");
	if (at != NULL)
		pid = (pid_t)strtol(at + strlen("\nPid:"), NULL, 10);
	buf_done(&text);
	return pid > 0 ? pid : 0;
}

/* A newborn interpreter. On v1 it waits: move it into its groups, then let it go on. Its number
 * is good: the inner half has not reaped it, or the pidfd says -1. */
static void on_born(struct outer *outer, const struct launch_event *event, int pidfd)
{
	struct slot *slot = facts_slot(outer, event->id);
	pid_t pid = pidfd >= 0 ? pid_of(pidfd) : 0;
	struct err err = {0};

	if (slot == NULL)
		return;
	slot->head = pid;
	if (outer->hello.limits != LAUNCH_LIMITS_V1)
		return;
	if (pid == 0 || cgroup_attach(&outer->groups, &slot->group, pid, &err) < 0) {
		/* It died, or it must not run without limits: it never stood, and GONE says why. */
		free(slot->err);
		slot->err = xnew(struct err);
		*slot->err = err;
		slot->is_told = true;
		send_inner(outer, LAUNCH_KILL, event->id);
		return;
	}
	send_inner(outer, INNER_ATTACHED, event->id);
}

static void on_gone(struct outer *outer, struct launch_event *event)
{
	struct slot *slot = facts_slot(outer, event->id);

	if (slot == NULL)
		return;
	disarm(outer, slot);
	slot->is_live = false;
	if (slot->err != NULL && event->err.kind == ERR_NONE)
		event->err = *slot->err;
	free(STEAL(slot->err));
	cgroup_give(&outer->groups, &slot->group);
	tell(outer, event);
}

static uint32_t count_fds(void)
{
	DIR *stream = opendir("/proc/self/fd");
	uint32_t count = 0;

	if (stream == NULL)
		return 0;
	while (readdir(stream) != NULL)
		count++;
	(void)closedir(stream);
	return count;
}

static void on_counted(struct outer *outer, struct launch_event *event)
{
	struct rusage usage;

	event->counted.cgroups = (uint32_t)outer->groups.free_count;
	for (size_t i = 0; i < LAUNCH_SANDBOXES_MAX; i++)
		event->counted.cgroups += outer->slots[i].is_live;
	event->counted.fds_outer = count_fds();
	if (getrusage(RUSAGE_SELF, &usage) == 0)
		event->counted.rss_outer = (uint64_t)usage.ru_maxrss * KIB;
	tell(outer, event);
}

void facts_event(struct outer *outer, struct launch_event *event, int *take_fds, size_t fd_count)
{
	struct slot *slot = NULL;

	switch (event->type) {
	case INNER_UP:
		outer->is_inner_up = true;
		break;
	case INNER_HEAD_PID:
		on_born(outer, event, fd_count > 0 ? take_fds[0] : -1);
		break;
	case LAUNCH_EXIT:
		slot = facts_slot(outer, event->id);
		if (slot != NULL)
			tell_exit(outer, slot, &event->exit);
		break;
	case LAUNCH_GONE:
		on_gone(outer, event);
		break;
	case LAUNCH_COUNTED:
		on_counted(outer, event);
		break;
	default:
		tell(outer, event);
		break;
	}
}

int facts_timeout(const struct outer *outer)
{
	const struct slot *slot = NULL;
	uint64_t now = now_ns();
	uint64_t next = UINT64_MAX;

	if (TAILQ_EMPTY(&outer->armed))
		return -1;
	TAILQ_FOREACH(slot, &outer->armed, armed) {
		if (slot->end_ns < next)
			next = slot->end_ns;
	}
	if (outer->hello.limits == LAUNCH_LIMITS_V1 && outer->next_tick_ns < next)
		next = outer->next_tick_ns;
	return next > now ? (int)((next - now) / 1000000 + 1) : 0;
}

void facts_tick(struct outer *outer)
{
	struct slot *slot = TAILQ_FIRST(&outer->armed);
	uint64_t now = now_ns();
	bool looks = outer->hello.limits == LAUNCH_LIMITS_V1 && now >= outer->next_tick_ns;

	if (looks)
		outer->next_tick_ns = now + TICK_NS;
	while (slot != NULL) {
		struct slot *next = TAILQ_NEXT(slot, armed);
		struct cgroup_facts counted = {0};

		/* v1 kills one process at a time; the rest of the sandbox goes with it. */
		if (looks)
			cgroup_read(&outer->groups, &slot->group, &counted);
		if (counted.oom_kills > 0)
			facts_end(outer, slot, LAUNCH_CAUSE_SELF);
		else if (now >= slot->end_ns)
			facts_end(outer, slot, LAUNCH_CAUSE_DEADLINE);
		slot = next;
	}
}
