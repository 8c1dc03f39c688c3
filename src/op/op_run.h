// SPDX-License-Identifier: Apache-2.0
/*
 * Served run - a run that the daemon does for a client, from its admission to the audit log
 *
 * Owns:    the run, its place in admission, its line in the audit log and in the metrics. It goes
 *          on when the client that asked for it is gone.
 * May not: keep the output of the run: its log does, and every reader reads that.
 */
#pragma once

#include <stdbool.h>

#include <sys/queue.h>

#include "base/id.h"
#include "obs/audit.h"
#include "op/op.h"
#include "session/admission.h"
#include "session/engine.h"
#include "session/log.h"
#include "session/session.h"

#define SERVED_DECIDER_SIZE 80

/* Makes the answer from the result of a run, for ops that do not answer with the result itself. */
typedef int op_run_answer(const struct result *result, struct buf *buf, struct err *err);

struct served_run {
	op_run_answer *answer; /* NULL: the result itself is the answer */
	struct engine *engine; /* borrowed */
	char id[ID_SIZE];
	char session[ID_SIZE]; /* "": none */
	char *token, *peer;    /* owned */
	const char *via;       /* static: the door it came through */
	char client[OP_CLIENT_MAX + 1];
	const char *op; /* static: its row's name */
	const struct policy *policy;
	struct run *run; /* owned */
	struct log *log; /* borrowed */
	struct admission_ticket ticket;
	struct op_call *call; /* waits for the result; NULL: nobody does */
	bool is_cancelled_with_client;
	bool is_held;               /* a person must allow it first */
	uint64_t held_ms, until_ms; /* since 1970, for display: the run has its own deadline */
	char *inputs;               /* owned: a JSON list of what comes with the code */
	char decided_by[SERVED_DECIDER_SIZE]; /* who allowed or denied it; "": nobody */
	const char *stand_ins; /* static: as in the request; NULL: none. Lets a door count its own
				  runs */
	char via_kept[16];     /* `via` of a run that an earlier daemon began */
	char sha256[AUDIT_SHA256_SIZE];
	char *code; /* owned; only if the policy sets audit_code */
	size_t code_size;
	uint64_t asked_ns, made_ns, admitted_ns;
	LIST_ENTRY(served_run) entry;
};

/* Runs a request that `policy` has granted, in `session` or, if that is NULL, in a sandbox of its
 * own, and answers the call: with the result, with events, or, for detach, with the run's id. */
void op_run_serve(struct op_call *call, const struct policy *policy, struct session *session,
		  struct run_request *request, op_run_answer *answer);

/* Finds a run by its id; NULL: it is over, or never was. */
struct served_run *served_find(const struct engine *engine, const char *id);

/* Begins a run that was made before there was room for it. */
void served_begin(struct served_run *served);

/* For a run that was going on when the previous daemon died: its callbacks, and what the head of
 * its log says of it. */
extern const struct run_calls served_calls;
struct served_run *served_resume(struct engine *engine, struct log *log);

/* NULL: the run could not be resumed, and `served` is freed. */
void served_set_run(void *served, struct run *run);

/* ---- held (held.c) ---- */

/* Prepares a request to be held: how long it waits, and what is shown of it. */
int served_keep(struct served_run *served, struct run_request *request, struct err *err);

/* May this caller decide on it now? Errors as below. */
int served_check_decider(const struct served_run *served, const struct op_caller *caller,
			 struct err *err);

/* Allows or denies the run for this caller. ERR_FORBIDDEN: the caller may not decide; ERR_CONFLICT:
 * the run is not held (any more); ERR_BUSY: it cannot start now, and stays held. */
int served_allow(struct served_run *served, const struct op_caller *caller, struct err *err);
int served_deny(struct served_run *served, const struct op_caller *caller, const char *why,
		struct err *err);

/* Denies every held run, because the daemon is stopping. */
void served_deny_held(struct engine *engine, const char *message);
