// SPDX-License-Identifier: Apache-2.0
/*
 * Slots - the sandboxes as the outer half sees them, and the requests that make them
 *
 * Owns:    struct outer and the checks of every request.
 * May not: do anything for a request that is not in its table, or before all of it was checked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/queue.h>
#include <sys/types.h>

#include "launch/cgroup.h"
#include "launch/idmap.h"
#include "launch/link.h"
#include "proto/launch_msg.h"

struct kept;
struct slot;

/* One interpreter of a sandbox. Most sandboxes have one all their life; forks of a session's are
 * allocated as they come. */
struct head {
	LIST_ENTRY(head) next;    /* of its slot; the first one is in no list */
	TAILQ_ENTRY(head) armed;  /* those with a deadline */
	TAILQ_ENTRY(head) ending; /* those of which something may be left */
	struct slot *slot;        /* borrowed: the slot it is part of */
	uint32_t id;
	pid_t pid; /* as the host counts; 0: not born, or over */
	int pidfd; /* owned; the first head's only once there is another */
	/* Owned: kept for the next viv; -1 where there is none. The first head's are among what is
	 * kept with the sandbox. */
	int fds[LAUNCH_HEAD_FDS_MAX];
	bool is_look;
	bool has_run;         /* BEGIN came */
	bool is_armed;        /* user code runs; in the list of deadlines */
	bool is_parked;       /* a checkpoint: it forked the next head and waits */
	bool is_dead;         /* its process is over; what it started may not be */
	pid_t number;         /* what pid was at its birth */
	uint64_t born;        /* in clock ticks since the boot; 0 for the first head */
	pid_t parked_number;  /* of the head that it was parked for, ... */
	uint64_t parked_born; /* ... and its birth: what is younger was started after that */
	uint64_t end_ns;      /* deadline */
	uint64_t looked_ns;   /* when its sandbox's memory was looked at */
	uint64_t oom_before;  /* counted at BEGIN */
	uint64_t cpu_before;  /* in us, at BEGIN */
	struct head_end *end; /* owned: set while it is ending */
};

struct slot {
	bool is_live;    /* from SPAWN to GONE */
	bool is_told;    /* LAUNCH_EXIT of the first head was sent */
	bool is_shared;  /* it has, or had, a second head: its end is not the first one's */
	bool is_showing; /* folders of the host are in its root */
	bool has_run;    /* BEGIN came before */
	bool has_saved;  /* SAVE came before */
	bool is_frozen;  /* by LAUNCH_FREEZE */
	bool is_held;    /* stopped for a moment, so that nothing forks while a head is ended */
	bool is_filing;  /* LAUNCH_SAVED or LAUNCH_RESTORED is due */
	bool is_waiting; /* LAUNCH_FROZEN or _SWEPT is due; in the list of those */
	bool is_swept;   /* ... that is LAUNCH_SWEPT: what is no head is being ended */
	uint32_t quiet;  /* ... and so many walks in a row have found nothing */
	bool is_asked;   /* it is being ended, as asked; the inner half tells what was counted */
	uint32_t locks;  /* of files, when there were many to count */
	struct cgroup group;
	struct err *err; /* owned: why it never stood, when the outer half knows */
	ino_t pidns;
	uint64_t oom_before;   /* at the last BEGIN while no other head ran */
	uint64_t frozen_by_ns; /* FROZEN is an error then */
	struct kept *kept;     /* owned, or NULL: it ends with viv */
	TAILQ_ENTRY(slot) waiting;
	LIST_HEAD(head_list, head) heads; /* owned: all but the first */
	struct head first;
};

struct outer {
	struct link client;
	struct link inner;
	int epoll;
	int signals;
	int listener;     /* or -1: this launch ends with its client */
	uid_t owner;      /* who may be a client, beside root */
	uid_t client_uid; /* whose rights paths are opened with */
	gid_t client_gid;
	pid_t inner_pid;
	bool is_inner_up;   /* before its exec nobody may look through its /proc/PID/root */
	bool is_attached;   /* the client has been told all and may ask */
	bool is_forgetting; /* what an earlier client left is being taken down */
	bool is_quitting;
	uint64_t away_ns; /* since when there is no client */
	struct idmap map;
	struct cgroups groups;
	struct launch_hello hello;
	uint64_t next_tick_ns;
	uint64_t locks_ns;   /* when file locks are counted next (watch.c) */
	uint64_t refresh_ns; /* when names in shown folders are looked up anew (watch.c) */
	uint32_t used_count; /* of sandboxes that have had a run */
	uint32_t showing;    /* a bit for each root that has folders of the host in it */
	TAILQ_HEAD(, head) armed;
	TAILQ_HEAD(, head) ending;
	TAILQ_HEAD(, slot) waiting;
	/* Those from here on were never used, and reading them is a page fault for each page. */
	uint32_t slot_count;
	struct slot slots[LAUNCH_SANDBOXES_MAX];
};

/* What an epoll event of the outer half belongs to: the kind in the upper half, sandbox and head in
 * the lower. */
enum watched {
	WATCHED_SIGNALS,
	WATCHED_CLIENT,
	WATCHED_INNER,
	WATCHED_LISTENER,
	WATCHED_HEAD,
};

#define WATCHED(kind, sandbox, head)                                                               \
	((uint64_t)(kind) << 32 | (uint64_t)(sandbox) << 8 | (uint64_t)(head))

void slots_init(struct outer *outer);

/* Forgets everything; nothing of it is alive any more. */
void slots_done(struct outer *outer);

/* Of the slot's place in the table. */
uint32_t slot_id(const struct outer *outer, const struct slot *slot);

/* A message from viv, `size` bytes of it; descriptors that are used are taken. */
void slots_request(struct outer *outer, struct launch_request *request, size_t size, int *take_fds,
		   size_t fd_count);
