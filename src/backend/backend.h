// SPDX-License-Identifier: Apache-2.0
/*
 * Backend - a way to build sandboxes, or to have runs done elsewhere
 *
 * Owns:    the table of backends: what each is called, how strong it is, what it takes, whether it
 *          is there and what would bring it.
 * May not: know runs: a box is a sandbox that can be begun, killed and asked for what it can do
 *          (box.h); a job is a request that somebody else carries out and tells about (job.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "backend/box.h"
#include "backend/job.h"
#include "base/err.h"
#include "policy/backend_names.h"
#include "policy/config.h"
#include "policy/plan.h"

struct remote;

/* What an open backend knows of this host. */
struct backend_facts {
	enum box_limits limits;
	uint32_t walls; /* that its boxes have here: a bit per enum wall_id */
	uint32_t landlock_abi;
	uint32_t uid_count; /* host ids at hand: 1 = all boxes share the caller's */
	bool is_root;
	bool cgroup_kill;     /* boxes are killed by cgroup.kill */
	bool can_freeze;      /* `freeze` works here */
	uint32_t reattach_ms; /* how long boxes live without a viv; 0: they end with it */
	uint32_t disks;       /* from which a box reads no faster than its plan says */
	struct err why;       /* why limits are only measured; ERR_NONE otherwise */
	struct err unfit;     /* why it makes no boxes here; ERR_NONE: it does */
};

/* How many of everything a backend holds, for the bench and tests. */
struct backend_counted {
	uint32_t sandboxes, zygotes, roots, netns, cgroups, fds_outer, fds_inner, heads;
	uint64_t rss_outer, rss_inner;
};

/* A helper process of a backend that outlives viv: it listens at `path`, for `owner` alone. */
struct backend_stay {
	const char *path;
	uid_t owner;
	uint32_t reattach_ms;
	bool is_minded; /* somebody else starts it: wait for that, never start one */
	int wish;       /* a byte here asks that somebody for it; -1: he watches by himself */
	int connected;  /* the first connection, if there is one already; -1: none */
};

/* How a backend is opened. */
struct backend_settings {
	const struct backend_stay *stay; /* not NULL: its helper stays; copied */
	int socket;                      /* tests: speak to this instead of starting a helper */
	uint32_t forks_max, age_ms;      /* of a template; then it is replaced */
};

/* What an open backend tells, from the loop. */
struct backend_calls {
	/* What this host gives; the first call. Boxes are made from here on. */
	void (*hello)(void *user, const struct backend_facts *facts);

	/* A template that somebody waited for is there, or is not to be. */
	void (*changed)(void *user);

	/* What a helper that stays had kept: each box, with the descriptors of its `keep` (the
	 * callee sets the box's calls, and leaves `calls` NULL when it has no use for it); behind
	 * it each of its heads (number 0 comes without descriptors); behind the last one
	 * `attached`. */
	void (*kept)(void *user, struct box *box, const char *name, int *take_fds, size_t fd_count);
	void (*kept_head)(void *user, struct box *box, uint32_t head, pid_t pid, int *take_fds,
			  size_t fd_count);
	void (*attached)(void *user);

	void (*counted)(void *user, const struct backend_counted *counted);

	/* It is gone, and every box with it: no call of theirs comes any more. */
	void (*lost)(void *user, const struct err *why);
};

/* One that is open. A backend's own struct begins with this. */
struct backend_instance {
	const struct backend *backend; /* a static row */
};

/* What was seen of a backend that is open. Everything is borrowed. */
struct backend_seen {
	const struct backend *backend;
	const struct backend_facts *facts; /* NULL: not said yet */
	const struct err *why;             /* not NULL: it is gone, and why */
};

/* What the choice goes by. Everything is borrowed, and may be NULL. */
struct backend_host {
	const struct config *config;
	const struct backend *const *table; /* NULL: backend_table */
	const struct backend_seen *seen;
	size_t seen_count;
	const struct err *why; /* not NULL: nothing is open for now, and why */
	struct remote *remote; /* NULL: none is configured */
};

struct backend {
	const char *name;
	int priority;
	const char *isolation; /* what stands between code and host, in a word or two */
	unsigned uses;         /* a bit per enum backend_use that it can be for */
	const char *not_for;   /* why it is not for the others; NULL: it is for all */
	const char *remedy;    /* what brings it; one sentence, no full stop */

	/* Can it work here? 0, or why not. NULL: whoever opens it finds out. */
	int (*probe)(const struct backend_host *host, struct err *err);

	/* Boxes: all of these; or NULL for one that takes jobs. */

	/* `self` is this row, `calls` a static row, `user` borrowed until `close`. */
	int (*open)(const struct backend *self, uv_loop_t *loop,
		    const struct backend_settings *settings, const struct backend_calls *calls,
		    void *user, struct backend_instance **ret_instance, struct err *err);

	/* Ends every box. No call comes after this; boxes are freed, the loop gives back the rest.
	 */
	void (*close)(struct backend_instance *instance);

	/* Can boxes of this kind be made at all? Templates are begun. */
	int (*prepare)(struct backend_instance *instance, const struct box_kind *kind,
		       struct err *err);

	/* Makes a box around these descriptors (still the caller's). -EAGAIN: its template is on
	 * its way, `changed` follows. */
	int (*make)(struct backend_instance *instance, const struct box_kind *kind,
		    const int fds[BOX_FD_COUNT], const struct box_calls *calls, void *user,
		    struct box **ret_box, struct err *err);

	/* Every second or so. May be NULL. */
	void (*tick)(struct backend_instance *instance);

	/* Of a helper: `quit` ends it and all it keeps, `count` asks for `counted`, `helper` is its
	 * pid. May be NULL. */
	int (*quit)(struct backend_instance *instance, struct err *err);
	int (*count)(struct backend_instance *instance, struct err *err);
	pid_t (*helper)(const struct backend_instance *instance);

	/* What its boxes can do. */
	const struct box_impl *box;

	/* Jobs; NULL for one that makes boxes. */
	const struct backend_jobs *jobs;
};

#define BACKEND_ROW(name) extern const struct backend backend_##name;
BACKEND_NAMES(BACKEND_ROW)
#undef BACKEND_ROW

/* Every backend, highest priority first, NULL behind the last. */
extern const struct backend *const backend_table[];

/* By name; NULL when there is none. */
const struct backend *backend_find(const char *name);

/* The table that a host goes by. */
const struct backend *const *backend_all(const struct backend_host *host);

/* What sessions in its boxes go without, a word each ("checkpoints"); NULL behind the last. One
 * that takes jobs has no sessions, and lacks nothing. */
const char *backend_lack(const struct backend *backend, size_t at);

/* Can it work here? 0, or why not. What is not known yet is taken for granted. */
int backend_probe(const struct backend *backend, const struct backend_host *host, struct err *err);
