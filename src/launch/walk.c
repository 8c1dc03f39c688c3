// SPDX-License-Identifier: Apache-2.0
#include "launch/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/c.h"
#include "base/io.h"

#define PROCESSES_MAX 8192UL
#define LIST_MAX (PROCESSES_MAX * 8) /* bytes of pids, one per line */

/* Fields of /proc/PID/stat, counted from 3, the first after the name in brackets. */
enum {
	STAT_STATE = 3,
	STAT_PARENT = 4,
	STAT_BORN = 22,
	STAT_EXIT = 52,
};

/* PIDFD_GET_INFO needs Linux 6.13, its exit code 6.15; older headers lack both. */
struct pidfd_exit {
	uint64_t mask;
	uint64_t cgroup;
	uint32_t ids[11];
	int32_t exit_code;
};

#define PIDFD_GET_EXIT _IOWR(0xFF, 11, struct pidfd_exit)
#define PIDFD_EXIT_BIT (1ULL << 3)

struct process {
	pid_t pid;
	pid_t parent;
	uint64_t born;
	bool is_live;
};

struct processes {
	size_t count;
	size_t room;
	size_t vanished;      /* listed, but ended before they could be examined */
	struct process *list; /* owned; sorted by pid */
};

/* The text after the name in /proc/PID/stat; the name may contain anything, but the last bracket
 * ends it. NULL: the process has ended. */
static const char *read_stat(pid_t pid, struct buf *text)
{
	struct err ignored = {0};
	const char *at = NULL;
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (io_read_file(AT_FDCWD, path, text, &ignored) == 0)
		at = strrchr(buf_string(text), ')');
	return at != NULL ? at + 1 : NULL;
}

static const char *stat_field(const char *at, int number)
{
	for (int field = STAT_STATE - 1; at != NULL && field < number; field++) {
		at = strchr(at, ' ');
		if (at != NULL)
			at++;
	}
	return at;
}

static bool look_at(pid_t pid, struct process *ret_process)
{
	AUTO_BUF struct buf text = {.max = 4096};
	const char *behind = read_stat(pid, &text);
	const char *state = stat_field(behind, STAT_STATE);
	const char *parent = stat_field(behind, STAT_PARENT);
	const char *born = stat_field(behind, STAT_BORN);

	if (state == NULL || parent == NULL || born == NULL)
		return false;
	*ret_process = (struct process){
		.pid = pid,
		.parent = (pid_t)strtol(parent, NULL, 10),
		.born = strtoull(born, NULL, 10),
		.is_live = *state != 'Z' && *state != 'X',
	};
	return true;
}

ino_t walk_pidns(pid_t pid)
{
	struct stat status;
	char path[48];

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/pid", pid);
	return pid > 0 && stat(path, &status) == 0 ? status.st_ino : 0;
}

bool walk_born(pid_t pid, uint64_t *ret_born)
{
	struct process process;

	if (!look_at(pid, &process))
		return false;
	*ret_born = process.born;
	return true;
}

bool walk_is_over(int pidfd)
{
	struct pollfd ready = {.fd = pidfd, .events = POLLIN};

	return pidfd >= 0 && poll(&ready, 1, 0) == 1;
}

static bool status_of_reaped(int pidfd, int *ret_status)
{
	struct pidfd_exit info = {.mask = PIDFD_EXIT_BIT};

	if (ioctl(pidfd, PIDFD_GET_EXIT, &info) < 0 || !(info.mask & PIDFD_EXIT_BIT))
		return false;
	*ret_status = info.exit_code;
	return true;
}

static bool status_of_zombie(pid_t pid, int *ret_status)
{
	const char *behind = NULL;
	const char *state = NULL;
	const char *code = NULL;
	AUTO_BUF struct buf text = {.max = 4096};

	/* A reader without permission sees 0 there, which is not an exit code. */
	if (walk_pidns(pid) == 0)
		return false;
	behind = read_stat(pid, &text);
	state = stat_field(behind, STAT_STATE);
	code = stat_field(behind, STAT_EXIT);
	if (state == NULL || *state != 'Z')
		code = NULL;
	if (code != NULL)
		*ret_status = (int)strtol(code, NULL, 10);
	return code != NULL;
}

/* The pidfd tells the status once the process has been reaped, /proc until then; it may be reaped
 * between the two. */
bool walk_status(pid_t pid, int pidfd, int *ret_status)
{
	return status_of_reaped(pidfd, ret_status) || status_of_zombie(pid, ret_status) ||
	       status_of_reaped(pidfd, ret_status);
}

static void add(struct processes *all, pid_t pid)
{
	if (all->count == all->room) {
		size_t room = all->room == 0 ? 64 : all->room * 2;
		struct process *list = reallocarray(all->list, room, sizeof(*list));

		if (list == NULL || room > PROCESSES_MAX * 2) {
			if (list != NULL)
				all->list = list;
			return;
		}
		all->list = list;
		all->room = room;
	}
	if (look_at(pid, &all->list[all->count]))
		all->count++;
	else
		all->vanished++;
}

static int list_group(const struct outer *outer, const struct slot *slot, struct processes *all)
{
	struct err ignored = {0};
	AUTO_BUF struct buf text = {.max = LIST_MAX};
	int r;

	r = cgroup_list(&outer->groups, &slot->group, &text, &ignored);
	for (const char *at = buf_string(&text); r == 0 && *at >= '1' && *at <= '9';
	     at = strchr(at, '\n') + 1)
		add(all, (pid_t)strtol(at, NULL, 10));
	return r;
}

/* Without a cgroup: lists every process in the sandbox's pid namespace. */
static int list_namespace(const struct slot *slot, struct processes *all)
{
	const struct dirent *entry = NULL;
	DIR *stream = opendir("/proc");

	if (stream == NULL)
		return -errno;
	while ((entry = readdir(stream)) != NULL) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid > 0 && walk_pidns(pid) == slot->pidns)
			add(all, pid);
	}
	(void)closedir(stream);
	return 0;
}

static int by_pid(const void *one, const void *other)
{
	const struct process *a = one;
	const struct process *b = other;

	return (a->pid > b->pid) - (a->pid < b->pid);
}

static const struct process *find(const struct processes *all, pid_t pid)
{
	const struct process key = {.pid = pid};

	return all->count > 0 ? bsearch(&key, all->list, all->count, sizeof(key), by_pid) : NULL;
}

static const struct head *head_of(const struct slot *slot, pid_t pid)
{
	const struct head *head = NULL;

	if (slot->first.pid == pid)
		return &slot->first;
	LIST_FOREACH(head, &slot->heads, next) {
		if (head->pid == pid)
			return head;
	}
	return NULL;
}

/* Clock ticks are long: within one tick, pids decide, which the kernel assigns in order. */
static bool is_younger(const struct process *process, uint64_t born, pid_t number)
{
	return process->born > born || (process->born == born && process->pid > number);
}

/* Has the process lost its parents? If not, `ret_owner` is the head it belongs to, if any. */
static bool is_orphan(const struct outer *outer, const struct processes *all,
		      const struct process *process, const struct slot *slot,
		      const struct head **ret_owner)
{
	const struct process *up = process;

	*ret_owner = NULL;
	for (size_t i = 0; i <= all->count && up != NULL; i++) {
		*ret_owner = head_of(slot, up->pid);
		if (*ret_owner != NULL)
			return false;
		if (up->parent == outer->inner_pid && up == process)
			return false; /* the init, or one of launch's helpers */
		up = find(all, up->parent);
	}
	return true;
}

/* Does the process belong to the head? A checkpoint starts nothing, so an orphan was another
 * head's. */
static bool is_own(const struct outer *outer, const struct processes *all,
		   const struct process *process, const struct head *head)
{
	const struct head *owner = NULL;

	if (is_orphan(outer, all, process, head->slot, &owner))
		return !head->is_parked && is_younger(process, head->born, head->number);
	return owner == head;
}

/* Was the process started after the head was parked, and does it belong to no head? */
static bool is_since(const struct outer *outer, const struct processes *all,
		     const struct process *process, const struct head *head)
{
	const struct head *owner = NULL;

	return is_orphan(outer, all, process, head->slot, &owner) &&
	       is_younger(process, head->parked_born, head->parked_number);
}

/* Is the process not a head itself, but started by one? */
static bool is_left(const struct outer *outer, const struct processes *all,
		    const struct process *process, const struct head *head)
{
	const struct head *owner = NULL;

	return is_orphan(outer, all, process, head->slot, &owner) ||
	       (owner != NULL && owner->pid != process->pid);
}

/* Pids are reused; the time of birth shows that it is still the process that we saw. */
static bool kill_one(const struct process *process)
{
	AUTO_CLOSE int pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	uint64_t born = 0;

	if (pidfd < 0 || !walk_born(process->pid, &born) || born != process->born)
		return false;
	(void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	return true;
}

static size_t each_meant(const struct outer *outer, const struct head *head, bool kills,
			 bool (*is_meant)(const struct outer *outer, const struct processes *all,
					  const struct process *process, const struct head *head))
{
	struct processes all = {0};
	size_t killed = 0;
	int r;

	if (outer->groups.tree[CGROUP_V2] >= 0)
		r = list_group(outer, head->slot, &all);
	else
		r = list_namespace(head->slot, &all);
	if (r < 0)
		killed = 1; /* a process that could not be seen may still be alive */
	if (all.count > 0)
		qsort(all.list, all.count, sizeof(all.list[0]), by_pid);
	for (size_t i = 0; i < all.count; i++) {
		const struct process *process = &all.list[i];

		/* A process that ended before it could be killed may have a child that was not
		 * listed: one that keeps forking and ending is never met alive. */
		if (process->is_live && is_meant(outer, &all, process, head) &&
		    (!kills || kill_one(process) || is_meant == is_left))
			killed++;
	}
	if (is_meant == is_left)
		killed += all.vanished;
	free(all.list);
	return killed;
}

size_t walk_kill(const struct outer *outer, const struct head *head)
{
	return each_meant(outer, head, true, is_own);
}

size_t walk_kill_since(const struct outer *outer, const struct head *head)
{
	return each_meant(outer, head, true, is_since);
}

size_t walk_left(const struct outer *outer, const struct slot *slot, bool kills)
{
	return each_meant(outer, &slot->first, kills, is_left);
}
