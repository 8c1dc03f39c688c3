// SPDX-License-Identifier: Apache-2.0
/*
 * Slots - the sandboxes as the outer half sees them, and the requests that make them
 *
 * Owns:    struct outer and the checks of every request.
 * May not: act on a request that is not in its table, or before all of it was checked.
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

/* One interpreter of a sandbox. Most sandboxes have only one; a session's forks are allocated as
 * they come. */
struct head {
	LIST_ENTRY(head) next;    /* of its slot; the first one is in no list */
	TAILQ_ENTRY(head) armed;  /* those with a deadline */
	TAILQ_ENTRY(head) ending; /* heads that are ending and may have processes left */
	struct slot *slot;        /* borrowed: the slot it is part of */
	uint32_t id;
	pid_t pid; /* in the host's pid namespace; 0: not born, or ended */
	int pidfd; /* owned; the first head's only once there is another */
	/* Owned: kept for the next viv; -1: none. The first head's descriptors are kept with the
	 * sandbox. */
	int fds[LAUNCH_HEAD_FDS_MAX];
	bool is_look;
	bool has_run;         /* BEGIN came */
	bool is_armed;        /* user code runs; on the list of deadlines */
	bool is_parked;       /* a checkpoint: it forked the next head and waits */
	bool is_dead;         /* its process has ended; processes it started may not have */
	pid_t number;         /* its pid at birth */
	uint64_t born;        /* in clock ticks since boot; 0 for the first head */
	pid_t parked_number;  /* the head that it was parked for, ... */
	uint64_t parked_born; /* ... and its birth: younger processes were started after that */
	uint64_t end_ns;      /* deadline */
	uint64_t over_ns;     /* when its run was seen to end while no viv was attached; 0: it was
			       * not */
	uint64_t looked_ns;   /* when its sandbox's memory was last checked */
	uint64_t oom_before;  /* counted at BEGIN */
	uint64_t cpu_before;  /* in us, at BEGIN */
	struct head_end *end; /* owned: set while it is ending */
};

struct slot {
	bool is_live;    /* from SPAWN to GONE */
	bool is_told;    /* LAUNCH_EXIT of the first head was sent */
	bool is_shared;  /* it has, or had, a second head: it does not end with the first */
	bool is_showing; /* folders of the host are in its root */
	bool has_run;    /* BEGIN came before */
	bool has_saved;  /* SAVE came before */
	bool is_frozen;  /* by LAUNCH_FREEZE */
	bool is_held;    /* frozen for a moment, so that nothing forks while a head is ended */
	bool is_filing;  /* LAUNCH_SAVED or LAUNCH_RESTORED is due */
	bool is_waiting; /* LAUNCH_FROZEN or _SWEPT is due; on the list of those */
	bool is_swept;   /* ... and it is LAUNCH_SWEPT: processes outside the heads are being
			  * ended */
	uint32_t quiet;  /* ... and this many walks in a row have found none */
	bool is_asked;   /* it is being ended on request; the inner half reports the counts */
	uint32_t locks;  /* file locks, when there were many to count */
	struct cgroup group;
	struct err *err; /* owned: why it never came up, when the outer half knows */
	ino_t pidns;
	uint64_t oom_before;   /* at the last BEGIN while no other head ran */
	uint64_t frozen_by_ns; /* when FROZEN becomes an error */
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
	uid_t owner;      /* the user who may be a client, besides root */
	uid_t client_uid; /* whose rights paths are opened with */
	gid_t client_gid;
	pid_t inner_pid;
	bool is_inner_up;   /* before its exec nobody may use its /proc/PID/root */
	bool is_attached;   /* the client has received everything kept, and may send requests */
	bool is_forgetting; /* what the previous client left is being removed */
	bool is_quitting;
	uint64_t away_ns; /* since when no client is attached */
	struct idmap map;
	struct cgroups groups;
	struct launch_hello hello;
	uint64_t next_tick_ns;
	uint64_t locks_ns;   /* when file locks are counted next (watch.c) */
	uint64_t refresh_ns; /* when names in shown folders are refreshed next (watch.c) */
	uint32_t used_count; /* of sandboxes that have had a run */
	uint32_t showing;    /* a bit for each root with folders of the host */
	TAILQ_HEAD(, head) armed;
	TAILQ_HEAD(, head) ending;
	TAILQ_HEAD(, slot) waiting;
	/* Slots from here on were never used; reading them costs a page fault per page. */
	uint32_t slot_count;
	struct slot slots[LAUNCH_SANDBOXES_MAX];
};

/* The source of an epoll event of the outer half: its kind in the upper half, sandbox and head in
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

/* Frees everything; all sandboxes must have ended. */
void slots_done(struct outer *outer);

/* The slot's index in the table. */
uint32_t slot_id(const struct outer *outer, const struct slot *slot);

/* Handles a message of `size` bytes from viv; takes the descriptors that it uses. */
void slots_request(struct outer *outer, struct launch_request *request, size_t size, int *take_fds,
		   size_t fd_count);
