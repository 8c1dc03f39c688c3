// SPDX-License-Identifier: Apache-2.0
/*
 * Admission - who may start work now, who waits, and who is told to come back
 *
 * Owns:    the counts of runs and sessions, of each token and in all; the bounded queue: round
 *          robin between tokens, first come first served within one.
 * May not: start or end anything itself: it says when.
 *
 * A token's own quota is not waited for: its next run is refused (429) until one of its runs,
 * waiting ones included, is over. The machine's limit is waited for, while the queue has room (503
 * when not). No token can fill the machine's time: each gets the next free place in turn.
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

/* One run's place. The caller's memory, zeroed but for `start` and `user`; it stays where it is
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
	ADMISSION_NOW,     /* it holds a place; `start` is not called */
	ADMISSION_WAIT,    /* `start` follows, from inside somebody's admission_leave */
	ADMISSION_REFUSED, /* the refusal says why; the ticket holds nothing */
};

struct admission_refusal {
	unsigned status;        /* 429: the token's quota; 503: the machine's */
	uint32_t retry_after_s; /* at least 1 */
	const char *reason;     /* a word for the metrics: "rate", "queue", "memory", ... */
	struct err err;         /* ERR_BUSY */
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

/* Asks for a run that somebody must allow first. It counts as one of its token's, but takes no
 * place of the machine's; `bytes` are what it keeps in memory. False: refused. */
bool admission_hold(struct admission *admission, const struct config_token *token, uint64_t now,
		    uint64_t bytes, struct admission_ticket *ticket,
		    struct admission_refusal *ret_refusal);

/* It was allowed: never refused, but it may have to wait; then `start` follows. */
enum admission_answer admission_allow(struct admission *admission, struct admission_ticket *ticket);

/* A run that was under way before we started: takes a place without asking. */
void admission_run_kept(struct admission *admission, const struct config_token *token,
			struct admission_ticket *ticket);

/* The run is over, or does not want to wait any more. Others may start from inside this. Accepts a
 * ticket that holds no place. */
void admission_leave(struct admission *admission, struct admission_ticket *ticket);

/* The run was refused for what it asks: it has not run, and is not charged to its token's minute.
 * Else as admission_leave. */
void admission_take_back(struct admission *admission, struct admission_ticket *ticket);

/* Asks for a session; 0, or -EBUSY and a refusal. The _kept form takes a place without asking. */
int admission_session(struct admission *admission, const struct config_token *token, uint64_t now,
		      struct admission_refusal *ret_refusal);
void admission_session_kept(struct admission *admission, const struct config_token *token);
void admission_session_leave(struct admission *admission, const struct config_token *token);

struct admission_counts admission_counts(const struct admission *admission);
