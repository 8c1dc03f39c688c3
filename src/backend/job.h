// SPDX-License-Identifier: Apache-2.0
/*
 * Job - a run that a backend has done by somebody else
 *
 * Owns:    what is asked of that somebody, and how it is told what it says.
 * May not: believe: texts are checked JSON and nothing more. Whoever listens decides what they are
 *          worth.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/err.h"

enum backend_use {
	BACKEND_PYTHON,       /* one run of Python */
	BACKEND_COMMAND,      /* one run of a shell command in a sandbox */
	BACKEND_SESSION,      /* sandboxes that stay */
	BACKEND_EXPLORE,      /* a shell command over a folder of this host */
	BACKEND_EXPLORE_AWAY, /* ... over a folder of whoever does it */
	BACKEND_USE_COUNT,
};

/* A header of what a remote is asked: a run is passed on once. Two that have each other for a
 * remote, or one that has itself, would pass it on for ever. */
#define BACKEND_FORWARDED "Vivarium-Forwarded"

struct backend_host;
struct backend_job;

/* Pointers are borrowed until the start returns. */
struct backend_ask {
	enum backend_use use;
	uint32_t timeout_ms;
	uint64_t output_max; /* bytes of each stream that are worth telling */
	const char *id;      /* of the run, for the log */

	/* Python and commands: members of a JSON object without its braces, in a file. Up to
	 * `core_size` they are what every sidecar takes; the rest is for a Vivarium. */
	int members; /* the job's copy is its own */
	uint64_t core_size, members_size;
	const char *beyond; /* name of a member that no sidecar takes; NULL: there is none */
	bool is_sidecar; /* it means what it means to a sidecar: by those routes, whoever it is */

	/* Explore. */
	const char *command;
	const char *folder; /* on this host; NULL: the other side's own */
	const char *root;   /* its name over there; NULL: the usual one */
	const char *cwd;    /* below the folder; "": the folder itself */
};

/* They come from the loop, never from inside the start. */
struct backend_job_calls {
	/* It is on; `runtime` is its name over there, hostile; "": not told. At most once. */
	void (*started)(void *user, const char *runtime);

	/* Bytes of stdout (1) or stderr (2). */
	void (*output)(void *user, int stream, const void *bytes, size_t size);

	/* The same as a JSON string. */
	void (*text)(void *user, int stream, const char *value, size_t size);

	/* A display, chart, table, result, error or file: `value` is a JSON object. */
	void (*fact)(void *user, const char *type, const char *value, size_t size);

	/* The end, and the last call: a JSON object {"verdict":{...},...} as in the last event of
	 * a run, or NULL and how it failed. The job is gone. */
	void (*ended)(void *user, const char *event, size_t size, const struct err *why);
};

struct backend_jobs {
	bool is_claimed; /* what it tells is another machine's word */

	/* `calls` and `user` are borrowed until the end or the cancel. */
	int (*start)(const struct backend_host *host, uv_loop_t *loop,
		     const struct backend_ask *ask, const struct backend_job_calls *calls,
		     void *user, struct backend_job **ret_job, struct err *err);

	/* No call comes any more, and the job is gone. Not from inside one of its calls. */
	void (*cancel)(struct backend_job *job);

	/* Longest that it may take beside the run's own timeout, until it tells its end. */
	uint32_t (*patience_ms)(const struct backend_host *host);
};
