// SPDX-License-Identifier: Apache-2.0
/*
 * Job - a run that a backend has another server do
 *
 * Owns:    the request to that server, and the callbacks for its answer.
 * May not: trust the answer: texts are checked to be JSON and nothing more. The caller decides how
 *          far to believe them.
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
	BACKEND_SESSION,      /* sandboxes that live longer than one run */
	BACKEND_EXPLORE,      /* a shell command over a folder of this host */
	BACKEND_EXPLORE_AWAY, /* ... over a folder of the server that does it */
	BACKEND_USE_COUNT,
};

/* A header on requests to a remote: a run is forwarded only once. Two servers that are each other's
 * remote, or one that is its own, would forward it for ever. */
#define BACKEND_FORWARDED "Vivarium-Forwarded"

struct backend_host;
struct backend_job;

/* Pointers are borrowed until the start returns. */
struct backend_ask {
	enum backend_use use;
	uint32_t timeout_ms;
	uint64_t output_max; /* bytes of each stream that the caller wants */
	const char *id;      /* of the run, for the log */

	/* Python and commands: members of a JSON object without its braces, in a file. Up to
	 * `core_size` they are those that every sidecar takes; the rest is for a Vivarium. */
	int members; /* borrowed; the job makes its own copy */
	uint64_t core_size, members_size;
	const char *beyond; /* name of a member that no sidecar accepts; NULL: none */
	bool is_sidecar;    /* use a sidecar's routes and their meaning, whatever the remote is */

	/* Explore. */
	const char *command;
	const char *folder; /* on this host; NULL: the remote's own */
	const char *root;   /* its name on the remote; NULL: the default one */
	const char *cwd;    /* below the folder; "": the folder itself */
};

/* Called from the loop, never from inside the start. */
struct backend_job_calls {
	/* The run has started; `runtime` is its name on the remote, hostile; "": not known. At most
	 * once. */
	void (*started)(void *user, const char *runtime);

	/* Bytes of stdout (1) or stderr (2). */
	void (*output)(void *user, int stream, const void *bytes, size_t size);

	/* The same as a JSON string. */
	void (*text)(void *user, int stream, const char *value, size_t size);

	/* A display, chart, table, result, error or file: `value` is a JSON object. */
	void (*fact)(void *user, const char *type, const char *value, size_t size);

	/* The end, and the last call: a JSON object {"verdict":{...},...} as in the last event of a
	 * run, or NULL and why it failed. The job is freed. */
	void (*ended)(void *user, const char *event, size_t size, const struct err *why);
};

struct backend_jobs {
	bool is_claimed; /* its results are another machine's claim */

	/* `calls` and `user` are borrowed until the end or the cancel. */
	int (*start)(const struct backend_host *host, uv_loop_t *loop,
		     const struct backend_ask *ask, const struct backend_job_calls *calls,
		     void *user, struct backend_job **ret_job, struct err *err);

	/* No call comes after this, and the job is freed. Not from inside one of its calls. */
	void (*cancel)(struct backend_job *job);

	/* The longest that it may take to report its end, in addition to the run's own timeout. */
	uint32_t (*patience_ms)(const struct backend_host *host);
};
