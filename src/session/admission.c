// SPDX-License-Identifier: Apache-2.0
#include "session/admission.h"

#include <assert.h>
#include <errno.h>

#include "base/c.h"

#define MINUTE_NS (60 * 1000000000ULL)
#define SECOND_NS 1000000000ULL
#define RETRY_RUN_S 1      /* runs are short */
#define RETRY_MEMORY_S 5   /* half the period of the pressure average */
#define RETRY_SESSION_S 30 /* sessions end when they have been idle */
#define RETRY_HELD_S 30    /* a person takes some time */
#define HELD_BODIES 2U     /* all held runs together may have the size of so many largest bodies */

/* All callers with the same token; the first lane is for callers without a token. */
struct admission_lane {
	const struct config_token *token; /* borrowed; NULL: no quota */
	uint64_t runs;                    /* running, waiting and held */
	uint64_t held, held_bytes;
	uint64_t sessions;
	uint64_t free_ns; /* when the bucket of runs per minute will be full again */
	TAILQ_HEAD(, admission_ticket) waiting;
	TAILQ_ENTRY(admission_lane) next;
};

struct admission {
	const struct config *config;         /* borrowed */
	struct pressure *pressure;           /* borrowed; may be NULL */
	struct admission_lane *lanes;        /* owned: one more than there are tokens */
	TAILQ_HEAD(, admission_lane) queued; /* lanes with waiting runs; the first is next */
	struct admission_counts counts;
	bool is_starting;
};

struct admission *admission_new(const struct config *config, struct pressure *pressure)
{
	struct admission *admission = xnew(struct admission);

	admission->config = config;
	admission->pressure = pressure;
	admission->lanes = xcalloc(config->token_count + 1, sizeof(*admission->lanes));
	TAILQ_INIT(&admission->queued);
	for (size_t i = 0; i <= config->token_count; i++) {
		admission->lanes[i].token = i > 0 ? &config->tokens[i - 1] : NULL;
		TAILQ_INIT(&admission->lanes[i].waiting);
	}
	return admission;
}

void admission_free(struct admission *admission)
{
	if (admission == NULL)
		return;
	free(admission->lanes);
	free(admission);
}

struct admission_counts admission_counts(const struct admission *admission)
{
	return admission->counts;
}

static struct admission_lane *lane_of(struct admission *admission, const struct config_token *token)
{
	if (token == NULL)
		return &admission->lanes[0];
	assert(token >= admission->config->tokens &&
	       token < admission->config->tokens + admission->config->token_count);
	return &admission->lanes[1 + (token - admission->config->tokens)];
}

static uint64_t interval_ns(const struct config_token *token)
{
	return MINUTE_NS / token->runs_per_minute;
}

/* A bucket that holds one minute's runs, kept as one number: each run moves the time at which the
 * bucket is full again by one interval; a run that would move it beyond one minute from now has to
 * wait. Returns how long; 0: the run may start. */
static uint64_t rate_wait(const struct admission_lane *lane, uint64_t now, uint64_t *ret_free_ns)
{
	uint64_t from;

	if (lane->token == NULL)
		return 0;
	from = (lane->free_ns > now ? lane->free_ns : now) + interval_ns(lane->token);
	*ret_free_ns = from;
	return from - now > MINUTE_NS ? from - now - MINUTE_NS : 0;
}

static uint32_t seconds_up(uint64_t ns)
{
	uint64_t seconds = (ns + SECOND_NS - 1) / SECOND_NS;

	return seconds > 0 ? (uint32_t)seconds : 1;
}

/* The message consists of `what` and the number allowed. */
static void refuse(struct admission_refusal *to, enum err_kind kind, uint32_t retry_after_s,
		   const char *reason, const char *what, uint64_t allowed)
{
	*to = (struct admission_refusal){.retry_after_s = retry_after_s, .reason = reason};
	(void)err_set(&to->err, kind, EBUSY, "%s (%llu); try again in %u s", what,
		      (unsigned long long)allowed, retry_after_s);
}

/* Sessions do not end soon by themselves, so the message does not only advise to wait. */
static void refuse_session(struct admission_refusal *to, enum err_kind kind, const char *reason,
			   const char *what, uint64_t allowed)
{
	*to = (struct admission_refusal){.retry_after_s = RETRY_SESSION_S, .reason = reason};
	(void)err_set(&to->err, kind, EBUSY,
		      "%s (%llu); delete one, or wait until one has been idle long enough to end",
		      what, (unsigned long long)allowed);
}

static bool is_short_of_memory(const struct admission *admission, uint64_t now,
			       struct admission_refusal *to)
{
	struct err err = {0};

	if (admission->pressure == NULL || pressure_check(admission->pressure, now, &err) == 0)
		return false;
	*to = (struct admission_refusal){
		.retry_after_s = RETRY_MEMORY_S, .reason = "memory", .err = err};
	return true;
}

static bool has_room(const struct admission *admission)
{
	return admission->counts.running < admission->config->concurrent_runs &&
	       TAILQ_EMPTY(&admission->queued);
}

/* Checks the token's own limits, which hold however idle the machine is. */
static bool is_over_quota(const struct admission_lane *lane, uint64_t rate_ns,
			  struct admission_refusal *to)
{
	const struct config_token *token = lane->token;

	if (rate_ns > 0) {
		refuse(to, ERR_QUOTA, seconds_up(rate_ns), "rate",
		       "this token has used up its runs per minute", token->runs_per_minute);
		return true;
	}
	if (token != NULL && lane->runs >= token->concurrent_runs) {
		refuse(to, ERR_QUOTA, RETRY_RUN_S, "token_runs",
		       "this token has reached its limit of concurrent runs",
		       token->concurrent_runs);
		return true;
	}
	return false;
}

static bool is_refused(const struct admission *admission, const struct admission_lane *lane,
		       uint64_t now, uint64_t rate_ns, struct admission_refusal *to)
{
	if (is_over_quota(lane, rate_ns, to) || is_short_of_memory(admission, now, to))
		return true;
	if (!has_room(admission) && admission->counts.waiting >= admission->config->queue) {
		refuse(to, ERR_BUSY, RETRY_RUN_S, "queue", "the queue of waiting runs is full",
		       admission->config->queue);
		return true;
	}
	return false;
}

static void wait_in_line(struct admission *admission, struct admission_lane *lane,
			 struct admission_ticket *ticket)
{
	if (TAILQ_EMPTY(&lane->waiting))
		TAILQ_INSERT_TAIL(&admission->queued, lane, next);
	TAILQ_INSERT_TAIL(&lane->waiting, ticket, next);
	ticket->is_waiting = true;
	admission->counts.waiting++;
}

static void stop_waiting(struct admission *admission, struct admission_ticket *ticket)
{
	struct admission_lane *lane = ticket->lane;

	TAILQ_REMOVE(&lane->waiting, ticket, next);
	if (TAILQ_EMPTY(&lane->waiting))
		TAILQ_REMOVE(&admission->queued, lane, next);
	ticket->is_waiting = false;
	admission->counts.waiting--;
}

enum admission_answer admission_run(struct admission *admission, const struct config_token *token,
				    uint64_t now, struct admission_ticket *ticket,
				    struct admission_refusal *ret_refusal)
{
	struct admission_lane *lane = lane_of(admission, token);
	uint64_t free_ns = 0;
	uint64_t rate_ns = rate_wait(lane, now, &free_ns);

	assert(ticket->lane == NULL);
	if (is_refused(admission, lane, now, rate_ns, ret_refusal))
		return ADMISSION_REFUSED;

	/* Only admitted runs are charged: a client that keeps asking is not kept out for longer. */
	lane->free_ns = free_ns;
	if (has_room(admission)) {
		admission_run_kept(admission, token, ticket);
		return ADMISSION_NOW;
	}
	ticket->lane = lane;
	lane->runs++;
	wait_in_line(admission, lane, ticket);
	return ADMISSION_WAIT;
}

/* Runs that wait for a person may wait for long: their number and bytes are limited, per token and
 * in total. */
static bool is_hold_refused(const struct admission *admission, const struct admission_lane *lane,
			    uint64_t bytes, struct admission_refusal *to)
{
	const struct config *config = admission->config;

	if (admission->counts.held >= config->held) {
		refuse(to, ERR_BUSY, RETRY_HELD_S, "held",
		       "the number of runs that wait to be allowed is at its limit", config->held);
		return true;
	}
	/* A token gets at most half of the places, so that it cannot keep others out. */
	if (lane->token != NULL && config->token_count > 1 &&
	    lane->held >= (config->held + 1) / 2) {
		refuse(to, ERR_QUOTA, RETRY_HELD_S, "held",
		       "the number of this token's runs that wait to be allowed is at its limit",
		       lane->held);
		return true;
	}
	if (lane->held_bytes > 0 && lane->held_bytes + bytes > config->body) {
		refuse(to, lane->token != NULL ? ERR_QUOTA : ERR_BUSY, RETRY_HELD_S, "held",
		       "this caller's runs that wait to be allowed have reached their limit of "
		       "bytes",
		       config->body);
		return true;
	}
	if (admission->counts.held_bytes + bytes > HELD_BODIES * config->body) {
		refuse(to, ERR_BUSY, RETRY_HELD_S, "held",
		       "the runs that wait to be allowed have reached their limit of bytes",
		       HELD_BODIES * config->body);
		return true;
	}
	return false;
}

bool admission_hold(struct admission *admission, const struct config_token *token, uint64_t now,
		    uint64_t bytes, struct admission_ticket *ticket,
		    struct admission_refusal *ret_refusal)
{
	struct admission_lane *lane = lane_of(admission, token);
	uint64_t free_ns = 0;
	uint64_t rate_ns = rate_wait(lane, now, &free_ns);

	assert(ticket->lane == NULL);
	if (is_over_quota(lane, rate_ns, ret_refusal) ||
	    is_short_of_memory(admission, now, ret_refusal) ||
	    is_hold_refused(admission, lane, bytes, ret_refusal))
		return false;
	lane->free_ns = free_ns;
	lane->runs++;
	lane->held++;
	lane->held_bytes += bytes;
	admission->counts.held++;
	admission->counts.held_bytes += bytes;
	ticket->lane = lane;
	ticket->is_held = true;
	ticket->held_bytes = bytes;
	return true;
}

static void stop_holding(struct admission *admission, struct admission_ticket *ticket)
{
	ticket->lane->held--;
	ticket->lane->held_bytes -= ticket->held_bytes;
	admission->counts.held--;
	admission->counts.held_bytes -= ticket->held_bytes;
	ticket->is_held = false;
}

enum admission_answer admission_allow(struct admission *admission, struct admission_ticket *ticket)
{
	assert(ticket->is_held);
	stop_holding(admission, ticket);
	if (has_room(admission)) {
		admission->counts.running++;
		return ADMISSION_NOW;
	}
	wait_in_line(admission, ticket->lane, ticket);
	return ADMISSION_WAIT;
}

void admission_run_kept(struct admission *admission, const struct config_token *token,
			struct admission_ticket *ticket)
{
	assert(ticket->lane == NULL);
	ticket->lane = lane_of(admission, token);
	ticket->is_waiting = false;
	ticket->lane->runs++;
	admission->counts.running++;
}

/* `start` may call admission_leave or admission_run at once: the outermost call continues the
 * loop. */
static void start_waiting(struct admission *admission)
{
	if (admission->is_starting)
		return;
	admission->is_starting = true;
	while (admission->counts.running < admission->config->concurrent_runs &&
	       !TAILQ_EMPTY(&admission->queued)) {
		struct admission_lane *lane = TAILQ_FIRST(&admission->queued);
		struct admission_ticket *ticket = TAILQ_FIRST(&lane->waiting);

		stop_waiting(admission, ticket);
		if (!TAILQ_EMPTY(&lane->waiting)) {
			TAILQ_REMOVE(&admission->queued, lane, next);
			TAILQ_INSERT_TAIL(&admission->queued, lane, next);
		}
		admission->counts.running++;
		ticket->start(ticket->user);
	}
	admission->is_starting = false;
}

void admission_leave(struct admission *admission, struct admission_ticket *ticket)
{
	if (ticket->lane == NULL)
		return;
	if (ticket->is_held)
		stop_holding(admission, ticket);
	else if (ticket->is_waiting)
		stop_waiting(admission, ticket);
	else
		admission->counts.running--;
	ticket->lane->runs--;
	ticket->lane = NULL;
	start_waiting(admission);
}

void admission_take_back(struct admission *admission, struct admission_ticket *ticket)
{
	if (ticket->lane != NULL && ticket->lane->token != NULL)
		ticket->lane->free_ns -= interval_ns(ticket->lane->token);
	admission_leave(admission, ticket);
}

int admission_session(struct admission *admission, const struct config_token *token, uint64_t now,
		      struct admission_refusal *ret_refusal)
{
	const struct admission_lane *lane = lane_of(admission, token);

	if (token != NULL && lane->sessions >= token->sessions) {
		refuse_session(ret_refusal, ERR_QUOTA, "token_sessions",
			       "this token has reached its limit of sessions", token->sessions);
		return -EBUSY;
	}
	if (admission->counts.sessions >= admission->config->sessions) {
		refuse_session(ret_refusal, ERR_BUSY, "sessions",
			       "the limit of sessions is reached", admission->config->sessions);
		return -EBUSY;
	}
	if (is_short_of_memory(admission, now, ret_refusal))
		return -EBUSY;
	admission_session_kept(admission, token);
	return 0;
}

void admission_session_kept(struct admission *admission, const struct config_token *token)
{
	lane_of(admission, token)->sessions++;
	admission->counts.sessions++;
}

void admission_session_leave(struct admission *admission, const struct config_token *token)
{
	struct admission_lane *lane = lane_of(admission, token);

	assert(lane->sessions > 0);
	lane->sessions--;
	admission->counts.sessions--;
}
