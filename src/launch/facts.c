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
#include "launch/attach.h"
#include "launch/freeze.h"
#include "launch/heads.h"
#include "launch/inner.h"
#include "launch/walk.h"

#define TICK_NS 50000000ULL

struct slot *facts_slot(struct outer *outer, uint32_t id)
{
	if (id >= LAUNCH_SANDBOXES_MAX || !outer->slots[id].is_live)
		return NULL;
	return &outer->slots[id];
}

void facts_tell(struct outer *outer, const struct launch_event *event, int *take_fds,
		size_t fd_count)
{
	if (outer->is_attached) {
		link_send(&outer->client, event, sizeof(*event), take_fds, fd_count);
		return;
	}
	for (size_t i = 0; i < fd_count; i++)
		drop_fd(&take_fds[i]);
}

void facts_tell_err(struct outer *outer, uint32_t type, uint32_t id, const struct err *err)
{
	struct launch_event event = {.type = type, .id = id, .err = *err};

	facts_tell(outer, &event, NULL, 0);
}

uint32_t slot_id(const struct outer *outer, const struct slot *slot)
{
	return (uint32_t)(slot - outer->slots);
}

void facts_disarm(struct outer *outer, struct head *head)
{
	if (head->is_armed)
		TAILQ_REMOVE(&outer->armed, head, armed);
	head->is_armed = false;
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

/* A line "key  123 kB" of a live process, in bytes. */
static uint64_t status_bytes(pid_t pid, const char *key)
{
	uint64_t kib = 0;
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (pid > 0)
		(void)io_read_number(AT_FDCWD, path, key, &kib);
	return kib * KIB;
}

/* The sandbox's time where a cgroup counts it, else the head's own. */
uint64_t facts_cpu(const struct outer *outer, const struct head *head)
{
	uint64_t cpu_us = 0;

	if (cgroup_cpu(&outer->groups, &head->slot->group, &cpu_us))
		return cpu_us;
	return cpu_us_of(head->pid);
}

uint64_t facts_oom_kills(const struct outer *outer, const struct slot *slot)
{
	struct cgroup_facts counted;

	cgroup_read(&outer->groups, &slot->group, &counted);
	return counted.oom_kills;
}

void facts_fill(const struct outer *outer, const struct head *head, struct launch_exit *facts)
{
	const struct slot *slot = head->slot;
	uint64_t before = head->is_armed ? head->oom_before : slot->oom_before;
	uint64_t cpu_us = head->has_run ? facts_cpu(outer, head) : 0;
	uint64_t own_us = cpu_us_of(head->pid);
	struct cgroup_facts counted;

	cgroup_read(&outer->groups, &slot->group, &counted);
	if (outer->hello.limits == LAUNCH_LIMITS_MEASURED)
		counted.peak =
			status_bytes(head->pid, "\nVmHWM:"); /* a sample may have missed the peak */
	facts->own_us = own_us > facts->cpu_us ? own_us : facts->cpu_us;
	facts->over_ns = head->over_ns > 0 ? head->over_ns : now_ns();
	facts->sandbox = slot_id(outer, slot);
	facts->head = head->id;
	facts->oom_kills = counted.oom_kills > before ? counted.oom_kills - before : 0;
	if (counted.peak > facts->peak)
		facts->peak = counted.peak;
	if (cpu_us == 0) /* its clock ended with it: the inner half has the time from wait(2) */
		cpu_us = facts->cpu_us;
	facts->cpu_us = cpu_us > head->cpu_before ? cpu_us - head->cpu_before : 0;
	if (counted.peak > 0 && outer->hello.limits != LAUNCH_LIMITS_MEASURED)
		facts->memory = cgroup_memory(&outer->groups, &slot->group);
}

void facts_tell_exit(struct outer *outer, struct slot *slot, const struct launch_exit *facts)
{
	struct launch_event event = {.type = LAUNCH_EXIT, .id = slot_id(outer, slot)};

	event.exit = *facts;
	attach_note_exit(slot, facts);
	facts_tell(outer, &event, NULL, 0);
}

/* Reports the end of a sandbox with one head: once, before anything is torn down. */
static void tell_exit(struct outer *outer, struct slot *slot, const struct launch_exit *facts)
{
	struct launch_exit all = *facts;

	if (!slot->is_told) {
		slot->is_told = true;
		facts_fill(outer, &slot->first, &all);
		facts_tell_exit(outer, slot, &all);
	}
	facts_disarm(outer, &slot->first);
}

void facts_send_inner(struct outer *outer, uint32_t type, uint32_t id)
{
	struct launch_request request = {.type = type, .id = id};

	link_send(&outer->inner, &request, offsetof(struct launch_request, id) + sizeof(request.id),
		  NULL, 0);
}

uint64_t facts_resident(pid_t pid)
{
	return status_bytes(pid, "\nVmRSS:");
}

/* Will the inner half report more than can be seen here? It has the samples where no cgroup counts,
 * and the status from wait(2) of a process that ended by itself. A short run may also end before we
 * have heard of its process. */
static bool is_counted_inside(const struct outer *outer, const struct slot *slot)
{
	return slot->first.pid == 0 || outer->hello.limits == LAUNCH_LIMITS_MEASURED ||
	       cpu_us_of(slot->first.pid) == 0;
}

void facts_end(struct outer *outer, struct slot *slot, enum launch_cause cause)
{
	struct launch_exit facts = {.cause = cause, .code = -1};
	struct err ignored = {0};
	uint32_t id = slot_id(outer, slot);

	if (slot->is_shared) {
		heads_end_all(outer, slot, cause);
	} else if (slot->first.pid > 0 || slot->first.is_armed) {
		/* User code ran, so its end has a cause. */
		slot->is_asked = cause == LAUNCH_CAUSE_ASKED && is_counted_inside(outer, slot);
		if (!slot->is_asked)
			tell_exit(outer, slot, &facts);
	}
	if (outer->groups.v2_limits)
		cgroup_kill(&outer->groups, &slot->group);
	if (slot->is_frozen || slot->is_held)
		(void)cgroup_freeze(&outer->groups, &slot->group, false, &ignored);
	slot->is_frozen = false;
	slot->is_held = false;
	facts_send_inner(outer, LAUNCH_KILL, id); /* ends the pid namespace and everything in it */
}

/* The pid of a process in our pid namespace, from its pidfd. 0: it has ended. */
static pid_t pid_of(int pidfd)
{
	uint64_t pid = 0;
	char path[48];

	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	(void)io_read_number(AT_FDCWD, path, "\nPid:", &pid);
	return (pid_t)pid > 0 ? (pid_t)pid : 0;
}

/* An interpreter was born. On v1 it waits for the descriptors of its groups. Its pid is valid: the
 * inner half has not reaped it, or the pidfd says -1. */
static void on_born(struct outer *outer, const struct launch_event *event, int pidfd)
{
	struct slot *slot = facts_slot(outer, event->id);
	pid_t pid = pidfd >= 0 ? pid_of(pidfd) : 0;
	struct launch_request go = {.type = INNER_ATTACH, .id = event->id};
	int tasks[WALL_TASKS_MAX];
	size_t count = 0;
	struct err err = {0};

	if (slot == NULL)
		return;
	slot->first.pid = pid;
	slot->pidns = walk_pidns(pid);
	if (outer->hello.limits != LAUNCH_LIMITS_V1)
		return;
	if (pid == 0 || cgroup_open_tasks(&outer->groups, &slot->group, tasks, &count, &err) < 0) {
		/* The interpreter died, or must not run without limits: the sandbox never came up,
		 * and GONE says why. */
		free(slot->err);
		slot->err = xnew(struct err);
		*slot->err = err;
		slot->is_told = true;
		facts_send_inner(outer, LAUNCH_KILL, event->id);
		return;
	}
	link_send(&outer->inner, &go, offsetof(struct launch_request, id) + sizeof(go.id), tasks,
		  count);
}

static void on_gone(struct outer *outer, struct launch_event *event)
{
	const struct launch_exit asked = {.cause = LAUNCH_CAUSE_ASKED, .code = -1};
	struct slot *slot = facts_slot(outer, event->id);

	if (slot == NULL)
		return;
	heads_end_all(outer, slot, LAUNCH_CAUSE_SELF);
	if (slot->is_asked)
		tell_exit(outer, slot, &asked);
	facts_disarm(outer, &slot->first);
	freeze_done(outer, slot);
	slot->first.is_dead = true;
	slot->is_live = false;
	outer->used_count -= slot->has_run;
	if (slot->err != NULL && event->err.kind == ERR_NONE)
		event->err = *slot->err;
	free(STEAL(slot->err));
	cgroup_give(&outer->groups, &slot->group);
	attach_note_gone(slot, &event->err);
	facts_tell(outer, event, NULL, 0);
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
	for (size_t i = 0; i < outer->slot_count; i++) {
		const struct head *head = NULL;

		if (!outer->slots[i].is_live)
			continue;
		event->counted.cgroups++;
		LIST_FOREACH(head, &outer->slots[i].heads, next)
			event->counted.heads++;
	}
	event->counted.fds_outer = count_fds();
	if (getrusage(RUSAGE_SELF, &usage) == 0)
		event->counted.rss_outer = (uint64_t)usage.ru_maxrss * KIB;
	facts_tell(outer, event, NULL, 0);
}

static void on_first_over(struct outer *outer, const struct launch_event *event)
{
	struct slot *slot = facts_slot(outer, event->id);
	struct launch_exit facts = event->exit;

	if (slot == NULL)
		return;
	if (slot->is_shared) {
		heads_first_over(outer, slot, &event->exit);
		return;
	}
	if (slot->is_asked) {
		facts.cause = LAUNCH_CAUSE_ASKED;
		facts.code = -1;
		facts.signal = 0;
	}
	tell_exit(outer, slot, &facts);
}

static void on_filed(struct outer *outer, const struct launch_event *event)
{
	struct slot *slot = facts_slot(outer, event->id);

	if (slot != NULL)
		slot->is_filing = false;
	facts_tell(outer, event, NULL, 0);
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
	case INNER_FORGOTTEN:
		outer->is_forgetting = false;
		break;
	case INNER_ABOVE:
		slot = facts_slot(outer, event->id);
		if (slot != NULL)
			heads_above(outer, slot, event->exit.peak);
		break;
	case LAUNCH_ENDED:
		heads_ended(outer, &event->exit);
		break;
	case LAUNCH_EXIT:
		on_first_over(outer, event);
		break;
	case LAUNCH_SAVED:
	case LAUNCH_RESTORED:
		on_filed(outer, event);
		break;
	case LAUNCH_GONE:
		on_gone(outer, event);
		break;
	case LAUNCH_COUNTED:
		on_counted(outer, event);
		break;
	default:
		facts_tell(outer, event, NULL, 0);
		break;
	}
}

/* Must heads of this sandbox be checked regularly? On v1, and in a sandbox with several heads, the
 * kernel kills one process at a time. While no client is attached, launch itself looks for the end
 * of a run. */
static bool needs_looks(const struct outer *outer, const struct head *head)
{
	return attach_is_away(outer) || outer->hello.limits == LAUNCH_LIMITS_V1 ||
	       (outer->hello.limits == LAUNCH_LIMITS_V2 && head->slot->is_shared);
}

int facts_timeout(const struct outer *outer)
{
	const struct head *head = NULL;
	uint64_t now = now_ns();
	uint64_t next = UINT64_MAX;

	if (TAILQ_EMPTY(&outer->armed))
		return -1;
	TAILQ_FOREACH(head, &outer->armed, armed) {
		if (head->end_ns < next)
			next = head->end_ns;
		if (needs_looks(outer, head) && outer->next_tick_ns < next)
			next = outer->next_tick_ns;
	}
	return next > now ? (int)((next - now) / 1000000 + 1) : 0;
}

/* Has the kernel killed a process of the head's sandbox for memory? Then the rest is ended, too. */
static bool ends_for_memory(struct outer *outer, struct head *head)
{
	struct slot *slot = head->slot;

	if (facts_oom_kills(outer, slot) <= head->oom_before)
		return false;
	if (slot->is_shared)
		heads_oom(outer, slot);
	else
		facts_end(outer, slot, LAUNCH_CAUSE_SELF);
	return true;
}

/* Checks one running head. True: it ended, perhaps others with it. */
static bool ends(struct outer *outer, struct head *head, uint64_t now, bool looks)
{
	if (looks && needs_looks(outer, head) && head->looked_ns != now) {
		head->looked_ns = now;
		if (ends_for_memory(outer, head))
			return true;
	}
	if (attach_is_away(outer) && (looks || now >= head->end_ns) && attach_has_done(head)) {
		head->over_ns = now;
		facts_disarm(outer, head);
		return true;
	}
	if (now < head->end_ns)
		return false;
	heads_end(outer, head, LAUNCH_CAUSE_DEADLINE);
	return true;
}

void facts_tick(struct outer *outer)
{
	struct head *head = NULL;
	uint64_t now = now_ns();
	bool looks = now >= outer->next_tick_ns;
	bool is_again = true;

	if (TAILQ_EMPTY(&outer->armed))
		return;
	if (looks)
		outer->next_tick_ns = now + TICK_NS;
	while (is_again) {
		is_again = false;
		TAILQ_FOREACH(head, &outer->armed, armed) {
			is_again = ends(outer, head, now, looks);
			if (is_again)
				break; /* the list has changed */
		}
	}
}
