// SPDX-License-Identifier: Apache-2.0
/*
 * Remote state - the inside of the remote backend, for remote*.c alone
 *
 * Owns:    nothing of its own: remote.c keeps the other side's health, remote_job.c asks for runs,
 *          remote_wire.c reads what comes back.
 */
#pragma once

#include <sys/queue.h>

#include "backend/remote.h"
#include "backend/transfer.h"
#include "base/buf.h"

#define REMOTE_LINE_MAX (16UL << 20) /* a file of 8 MiB as base64, plus some room */
#define REMOTE_ANSWER_MAX (256ULL << 20)
#define REMOTE_WHOLE_MAX (48ULL << 20) /* of an answer in one piece */
#define REMOTE_TEXT_MAX 500

struct remote {
	uv_loop_t *loop;             /* borrowed */
	const struct config *config; /* borrowed */
	struct transfers *transfers; /* owned */
	struct transfer *asking;     /* /health request under way */
	enum config_remote kind;     /* AUTO: not known */
	bool is_known;               /* `why` is an answer, not a guess */
	struct err why;              /* ERR_NONE: it is reachable */
	uv_timer_t timer;
	void (*changed)(void *user, const struct err *why);
	void *changed_user;
	LIST_HEAD(, backend_job) jobs;
};

/* The answer of one job, as far as it has been read. */
struct remote_wire {
	const struct backend_job_calls *calls; /* borrowed */
	void *user;                            /* borrowed */
	struct buf rest;                       /* owned: an incomplete line */
	struct buf end;                        /* owned: the last event; empty: not received yet */
	unsigned charts;
	uint64_t said; /* bytes of output */
};

struct backend_job {
	struct remote *remote;     /* borrowed */
	struct transfer *transfer; /* under way; NULL: between two */
	struct remote_wire wire;
	enum backend_use use;
	enum config_remote kind; /* which routes it uses, once it starts */
	bool is_sidecar;
	uint32_t timeout_ms;
	int members; /* owned */
	uint64_t core_size, members_size;
	char beyond[64];
	struct buf explore; /* owned: members of an explore: command, cwd, root */
	bool is_again;      /* uses the route without a stream, after the one with a stream
			     * failed */
	bool is_waiting;    /* waits for the remote's /health */
	bool is_starting;   /* the starting function reports a failure */
	struct err start_why;
	LIST_ENTRY(backend_job) entry;
};

/* remote.c: requests /health, unless a request is under way. */
void remote_look(struct remote *remote);

/* remote.c: records what a job or /health found: unreachable, or reachable (ERR_NONE). */
void remote_found(struct remote *remote, const struct err *why);

/* remote.c: reports that it does not answer, without its address. */
int remote_silent(const struct transfer_end *end, struct err *err);

/* remote_job.c: the remote's kind is known now, or why it is not. */
void remote_job_go(struct backend_job *job, const struct err *why);

/* remote_wire.c: reads bytes of a stream of events, line by line; skips lines that are not events.
 * -EMSGSIZE for a line that is too long, -ECANCELED once the last event has come. */
int remote_wire_bytes(struct remote_wire *wire, enum config_remote kind, const char *bytes,
		      size_t size);

/* remote_wire.c: reads the answer of /exec-python, of /exec and of /v1/explore: 0 and wire->end, or
 * -EPROTO when it has the wrong form. */
int remote_wire_python(struct remote_wire *wire, const char *body, size_t size);
int remote_wire_explore(struct remote_wire *wire, enum config_remote kind, const char *body,
			size_t size);

/* remote_wire.c: is member `name` of this object a boolean? False for anything else. */
bool remote_wire_has_bool(const char *body, size_t size, const char *name);
