// SPDX-License-Identifier: Apache-2.0
/*
 * Admission - which run or session may start now, which waits, and which is refused
 *
 * Owns:    the counts of runs and sessions, per token and in total; the bounded queue: round robin
 *          between tokens, first come first served within one.
 * May not: start or end anything itself: it only says when.
 *
 * A run above its token's own quota does not wait: it is refused (429) until one of the token's
 * runs, waiting ones included, is over. A run above the machine's limit waits while the queue has
 * room, and is refused (503) otherwise. No token can occupy the machine alone: tokens get free
 * places in turn.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <sys/queue.h>

#include "base/err.h"
#include "policy/config.h"
#include "session/pressure.h"

struct admission;
struct admission_lane;

/* One run's place. In the caller's memory, zeroed except for `start` and `user`; must not move
 * until admission_leave. */
struct admission_ticket {
	void (*start)(void *user); /* a run that waited may start now */
	void *user;

	/* Admission's own. */
	struct admission_lane *lane; /* borrowed; NULL: holds no place */
	bool is_waiting;
	bool is_held;
	uint64_t held_bytes;
	TAILQ_ENTRY(admission_ticket) next;
};

enum admission_answer {
	ADMISSION_NOW,     /* the ticket holds a place; `start` is not called */
	ADMISSION_WAIT,    /* `start` follows, from inside another ticket's admission_leave */
	ADMISSION_REFUSED, /* the refusal says why; the ticket holds nothing */
};

struct admission_refusal {
	uint32_t retry_after_s; /* at least 1 */
	const char *reason;     /* a word for the metrics: "rate", "queue", "memory", ... */
	struct err err;         /* ERR_QUOTA: the token's own; ERR_BUSY: the machine's */
};

struct admission_counts {
	uint64_t running, waiting, held, sessions;
	uint64_t held_bytes;
};

/* The config is borrowed until admission_free, and so is `pressure` (NULL: not looked at). */
struct admission *admission_new(const struct config *config, struct pressure *pressure);
void admission_free(struct admission *admission);

/* Asks for a run. `token` is one of the config's, or NULL; `now` is monotonic, in ns. */
enum admission_answer admission_run(struct admission *admission, const struct config_token *token,
				    uint64_t now, struct admission_ticket *ticket,
				    struct admission_refusal *ret_refusal);

/* Asks for a run that a person must allow first. It counts towards its token's quota, but takes no
 * place of the machine; `bytes` are what it keeps in memory. False: refused. */
bool admission_hold(struct admission *admission, const struct config_token *token, uint64_t now,
		    uint64_t bytes, struct admission_ticket *ticket,
		    struct admission_refusal *ret_refusal);

/* The held run was allowed: it is not refused any more, but may have to wait; then `start`
 * follows. */
enum admission_answer admission_allow(struct admission *admission, struct admission_ticket *ticket);

/* Takes a place, without a check, for a run that was under way before this daemon started. */
void admission_run_kept(struct admission *admission, const struct config_token *token,
			struct admission_ticket *ticket);

/* The run is over, or no longer wants to wait. Other runs may start from inside this call. Accepts
 * a ticket that holds no place. */
void admission_leave(struct admission *admission, struct admission_ticket *ticket);

/* The run's request was refused: it has not run, and is not counted in its token's rate per minute.
 * Otherwise like admission_leave. */
void admission_take_back(struct admission *admission, struct admission_ticket *ticket);

/* Asks for a session; returns 0, or -EBUSY and a refusal. The _kept form takes a place without a
 * check. */
int admission_session(struct admission *admission, const struct config_token *token, uint64_t now,
		      struct admission_refusal *ret_refusal);
void admission_session_kept(struct admission *admission, const struct config_token *token);
void admission_session_leave(struct admission *admission, const struct config_token *token);

struct admission_counts admission_counts(const struct admission *admission);
