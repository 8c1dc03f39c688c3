// SPDX-License-Identifier: Apache-2.0
/*
 * Backend - a way to build sandboxes, or to have runs done elsewhere
 *
 * Owns:    the table of backends: what each is called, how strong it is, what it takes, whether it
 *          is there and what would bring it.
 * May not: know runs: a started sandbox is a channel that speaks frames and a number to kill it by;
 *          a job is a request that somebody else carries out and tells about (job.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/job.h"
#include "backend/namespace/launcher.h"
#include "base/err.h"
#include "policy/config.h"
#include "policy/plan.h"

struct remote;

enum backend_fd {
	BACKEND_STDIN,
	BACKEND_STDOUT,
	BACKEND_STDERR,
	BACKEND_CHANNEL,
	BACKEND_FD_COUNT,
};

/* Everything that one sandbox is built from. */
struct backend_start {
	uint32_t sandbox; /* its number, free until it is gone */
	uint32_t root;
	int32_t zygote;     /* -1: cold, execs `python` */
	const char *python; /* as seen inside the root */
	struct plan plan;
	int fds[BACKEND_FD_COUNT]; /* borrowed: the sandbox's ends */
};

/* What is known of this host and its surroundings. Everything is borrowed, and may be NULL. */
struct backend_host {
	const struct config *config;
	const struct launch_hello *hello; /* NULL: not said yet */
	const struct err *launch_why;     /* not NULL: viv-launch is gone, and why */
	struct remote *remote;            /* NULL: none is configured */
};

struct backend {
	const char *name;
	int priority;
	const char *isolation; /* what stands between code and host, in a word or two */
	unsigned uses;         /* a bit per enum backend_use that it can be for */
	const char *not_for;   /* why it is not for the others; NULL: it is for all */
	const char *remedy;    /* what brings it; one sentence, no full stop */

	/* Can it work here? 0, or why not. What is not known yet is taken for granted. */
	int (*probe)(const struct backend_host *host, struct err *err);

	/* Sandboxes of our own; NULL for one that takes jobs. */
	int (*start)(struct launcher *launcher, const struct backend_start *start, struct err *err);
	int (*kill)(struct launcher *launcher, uint32_t sandbox, struct err *err);

	/* Jobs; NULL for one that makes sandboxes. */
	const struct backend_jobs *jobs;
};

extern const struct backend backend_gvisor, backend_microvm, backend_namespace, backend_process,
	backend_remote;

/* Every backend, highest priority first, NULL behind the last. */
extern const struct backend *const backend_table[];

/* By name; NULL when there is none. */
const struct backend *backend_find(const char *name);
