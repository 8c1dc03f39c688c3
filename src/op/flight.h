// SPDX-License-Identifier: Apache-2.0
/*
 * Flight - a run of the daemon, from its admission to the audit log
 *
 * Owns:    the run, its place in admission, its line in the audit log and in the metrics. It goes
 * on when the client that asked for it is gone. May not: keep what the run says: its log does, and
 * whoever wants to know reads that.
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

struct flight;

#define FLIGHT_CODE_MAX (1U << 20) /* bytes of code in the log: for people and the notebook */
#define FLIGHT_DECIDER_SIZE 80

/* What makes one kind of flight another than a run's. */
struct flight_kind {
	/* The request, once it is admitted; what that points to goes with the flight. */
	int (*request)(struct flight *flight, const struct op_call *call,
		       struct run_request *request, struct err *err);

	/* The name of the policy that the call asks for; NULL: none. */
	const char *(*policy)(const struct op_call *call);

	/* The answer, from the run's result (JSON). */
	int (*answer)(const char *result, size_t size, struct buf *buf, struct err *err);
};

struct flight {
	const struct flight_kind *kind; /* static; NULL: a run */
	void *scratch;                  /* owned: what its request points to */
	struct engine *engine;          /* borrowed */
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
	uint64_t held_ms, until_ms; /* since 1970, to be shown: the deadline is the run's own */
	char *inputs;               /* owned: a JSON list of what comes with the code */
	char decided_by[FLIGHT_DECIDER_SIZE]; /* who allowed or denied it; "": nobody */
	const char *stand_ins; /* static: as the run was asked for; NULL: none. A door may count its
				  own */
	char via_kept[16];     /* `via` of a run that began before this daemon */
	char sha256[AUDIT_SHA256_SIZE];
	char *code; /* owned: only where the policy's audit_code wants it */
	size_t code_size;
	uint64_t asked_ns, made_ns, admitted_ns;
	LIST_ENTRY(flight) entry;
};

/* Runs `args` for this call: in `session`, or in a sandbox of its own (NULL), and answers it: with
 * the result, with events, or for detach with the run's id. */
void flight_take_off(struct op_call *call, const struct op_run_args *args, struct session *session);

/* The same for what is no plain run; its request sets flight->policy. */
void flight_take_off_as(struct op_call *call, const struct flight_kind *kind);

/* By the run's id; NULL: it is over, or never was. */
struct flight *flight_find(const struct engine *engine, const char *id);

/* May this caller know of this run? Runs belong to the token that started them; overseers look. */
bool flight_may_see(const struct log *log, const struct op_caller *caller);

/* The log of a run that the caller may see; of one that is its own. NULL: the call has failed. */
struct log *flight_find_log(struct op_call *call, const char *id);
struct log *flight_find_own(struct op_call *call, const char *id);

/* ---- held (flight_held.c) ---- */

/* Does the policy of this call want a person to allow it? */
bool flight_is_to_be_held(const struct op_call *call, const struct flight_kind *kind,
			  const struct session *session);

/* What its request keeps in memory, about. */
uint64_t flight_bytes(const struct op_call *call, const struct flight_kind *kind);

/* The request of a held run: how long it waits, and what is shown of it. */
int flight_keep(struct flight *flight, struct run_request *request, struct err *err);

/* May this caller decide on it now? Errors as below. */
int flight_check_decider(const struct flight *flight, const struct op_caller *caller,
			 struct err *err);

/* A run that was made before there was room for it goes its way. */
void flight_begin(struct flight *flight);

/* A person's word, of this caller. ERR_FORBIDDEN: not his to say; ERR_CONFLICT: it is not held (any
 * more); ERR_BUSY: it cannot start now, and stays held. */
int flight_allow(struct flight *flight, const struct op_caller *caller, struct err *err);
int flight_deny(struct flight *flight, const struct op_caller *caller, const char *why,
		struct err *err);

/* From a log that has no end: was it to be allowed, and had not begun? */
bool flight_was_held(const struct log *log);

/* The daemon goes: every held run ends, as nobody allowed it. */
void flights_deny_held(struct engine *engine, const char *message);

/* A run that was on when a former daemon died: `calls` for it, and its flight. */
extern const struct run_calls flight_calls;
struct flight *flight_resume(struct engine *engine, struct log *log);

void flight_set_run(void *flight, struct run *run); /* NULL: it could not be; the flight goes */

/* What a run that never began leaves: its session as it is. */
enum run_left flight_left(const struct engine *engine, const struct log *log);

/* flight_log.c, for flight.c: the log and what it says of the run; the code's sum for the audit
 * log. */
int flight_open_log(struct flight *flight, const struct run_request *request, struct err *err);
void flight_note_code(struct flight *flight, const struct run_request *request);

/* For flight*.c alone: one that nobody flies yet; its end; a text that goes with it (NULL: ""). */
struct flight *flight_new(struct engine *engine);
void flight_free(struct flight *flight);

/* Answers the call with the events behind `after`; `follow`: also those to come. Lines are sent as
 * they are. A quiet stream says `keepalive` now and then, and with `follow` one of a run that is
 * held says so first. Neither has a number: they are of the stream, not of the run. */
void flight_stream(struct op_call *call, struct log *log, uint64_t after, bool follow);
