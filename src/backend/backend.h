// SPDX-License-Identifier: Apache-2.0
/*
 * Backend - a way to build sandboxes, or to have runs done elsewhere
 *
 * Owns:    the table of backends: the name, strength and uses of each, whether it works here, and
 *          how to make it work.
 * May not: know runs: a box is a sandbox with its operations (box.h); a job is a request that
 *          another server carries out and reports on (job.h).
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

/* Facts about this host from an open backend. */
struct backend_facts {
	enum box_limits limits; /* set it explicitly: 0 claims the strongest */
	uint32_t walls;         /* walls of its boxes on this host: a bit per enum wall_id */
	uint32_t landlock_abi;
	uint32_t uid_count; /* host ids available; 1: all boxes share the caller's */
	bool is_root;
	bool cgroup_kill;     /* boxes are killed by cgroup.kill */
	bool can_freeze;      /* `freeze` works here */
	uint32_t reattach_ms; /* how long boxes live without a viv; 0: they end with it */
	uint32_t disks;       /* disks on which it can limit a box's read rate as its plan says */
	struct err why;       /* why limits are only measured; ERR_NONE otherwise */
	struct err unfit;     /* why it cannot make boxes here; ERR_NONE: it can */
};

/* How many of each thing a backend holds, for the benchmark and tests. */
struct backend_counted {
	uint32_t sandboxes, zygotes, roots, netns, cgroups, fds_outer, fds_inner, heads;
	uint64_t rss_outer, rss_inner;
};

/* A helper process of a backend that outlives viv: it listens at `path`, for `owner` only. */
struct backend_stay {
	const char *path;
	uid_t owner;
	uint32_t reattach_ms;
	bool is_minded; /* another process starts it: wait for that, never start it here */
	int wish;       /* a byte written here asks that process for it; -1: it watches by itself */
	int connected;  /* the first connection, if already made; -1: none */
};

/* How a backend is opened. */
struct backend_settings {
	const struct backend_stay *stay; /* not NULL: its helper outlives viv; copied */
	int socket;                      /* tests: speak to this instead of starting a helper */
	uint32_t forks_max, age_ms;      /* of a template, which is then replaced */
};

/* Callbacks of an open backend, from the loop. */
struct backend_calls {
	/* Facts about this host; the first call. Boxes can be made from here on. */
	void (*hello)(void *user, const struct backend_facts *facts);

	/* A template that a caller waited for is ready, or has failed. */
	void (*changed)(void *user);

	/* Called only by a backend whose boxes have `keep` and whose helper stays, before any box
	 * is made there, for everything kept: each box, with the descriptors of its `keep` (the
	 * callee sets the box's calls, and leaves `calls` NULL when it does not want the box); then
	 * each of its heads (number 0 comes without descriptors); after the last box `attached`. */
	void (*kept)(void *user, struct box *box, const char *name, int *take_fds, size_t fd_count);
	void (*kept_head)(void *user, struct box *box, uint32_t head, pid_t pid, int *take_fds,
			  size_t fd_count);
	void (*attached)(void *user);

	void (*counted)(void *user, const struct backend_counted *counted);

	/* The backend is lost, and every box with it: their callbacks are not called any more. */
	void (*lost)(void *user, const struct err *why);
};

/* An open backend. A backend's own struct begins with this. */
struct backend_instance {
	const struct backend *backend; /* a static row */
};

/* The state of an open backend. Everything is borrowed. */
struct backend_seen {
	const struct backend *backend;
	const struct backend_facts *facts; /* NULL: not known yet */
	const struct err *why;             /* not NULL: why it was lost */
};

/* The input of the choice. Everything is borrowed, and may be NULL. */
struct backend_host {
	const struct config *config;
	const struct backend *const *table; /* NULL: backend_table */
	const struct backend_seen *seen;
	size_t seen_count;
	const struct err *why; /* not NULL: why nothing is open for now */
	struct remote *remote; /* NULL: not configured */
};

struct backend {
	const char *name;
	uint32_t priority;     /* the order tries the highest first; no two have the same */
	const char *isolation; /* what stands between code and host, in a word or two */
	unsigned uses;         /* a bit per enum backend_use that it can be for */

	/* The uses for which the order may choose it. For its other uses backends.pin or
	 * backends.priority must name it; the pin of a request or of a policy is not enough. A
	 * backend without walls has no bit for Python, commands and sessions here, so none of them
	 * falls back to it. */
	unsigned by_order;

	const char *not_for; /* why it is not for the others; NULL: it is for all */
	const char *remedy;  /* what brings it; one sentence, no full stop */

	/* Can it work here? 0, or why not. NULL: opening it shows. */
	int (*probe)(const struct backend_host *host, struct err *err);

	/* For a backend that makes boxes: all of these. For one that takes jobs: NULL. */

	/* `self` is this row, `calls` a static row, `user` borrowed until `close`. */
	int (*open)(const struct backend *self, uv_loop_t *loop,
		    const struct backend_settings *settings, const struct backend_calls *calls,
		    void *user, struct backend_instance **ret_instance, struct err *err);

	/* Ends every box. No callback comes after this; boxes are freed at once, the rest by the
	 * loop. */
	void (*close)(struct backend_instance *instance);

	/* Can boxes of this kind be made at all? Also starts to build their templates. */
	int (*prepare)(struct backend_instance *instance, const struct box_kind *kind,
		       struct err *err);

	/* Makes a box around these descriptors (still the caller's). -EAGAIN: its template is being
	 * built, `changed` follows. */
	int (*make)(struct backend_instance *instance, const struct box_kind *kind,
		    const int fds[BOX_FD_COUNT], const struct box_calls *calls, void *user,
		    struct box **ret_box, struct err *err);

	/* Called about once a second. May be NULL. */
	void (*tick)(struct backend_instance *instance);

	/* For a backend with a helper: `quit` ends it and everything it keeps, `count` requests
	 * `counted`, `helper` is its pid. May be NULL. */
	int (*quit)(struct backend_instance *instance, struct err *err);
	int (*count)(struct backend_instance *instance, struct err *err);
	pid_t (*helper)(const struct backend_instance *instance);

	/* The functions of its boxes, and the walls that they can have: a bit per enum wall_id.
	 * Which of those exist on this host is in `walls` of struct backend_facts. */
	const struct box_impl *box;
	uint32_t walls;

	/* For a backend that takes jobs; NULL for one that makes boxes. */
	const struct backend_jobs *jobs;
};

#define BACKEND_ROW(name) extern const struct backend backend_##name;
BACKEND_NAMES(BACKEND_ROW)
#undef BACKEND_ROW

/* Every backend, highest priority first, NULL-terminated. */
extern const struct backend *const backend_table[];

/* Finds a backend by name; NULL: no such backend. */
const struct backend *backend_find(const char *name);

/* The backend table of a host. */
const struct backend *const *backend_all(const struct backend_host *host);

/* Features that sessions in its boxes lack, one word at a time ("checkpoints"); NULL after the
 * last. A backend that takes jobs has no sessions, and lacks nothing. */
const char *backend_lack(const struct backend *backend, size_t at);

/* Can it work here? 0, or why not. An unknown answer counts as yes. */
int backend_probe(const struct backend *backend, const struct backend_host *host, struct err *err);
