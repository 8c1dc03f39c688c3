// SPDX-License-Identifier: Apache-2.0
#include "session/admission.h"

#include <assert.h>
#include <errno.h>

#include "base/c.h"

#define MINUTE_NS (60 * 1000000000ULL)
#define SECOND_NS 1000000000ULL
#define RETRY_RUN_S 1      /* runs are short */
#define RETRY_MEMORY_S 5   /* half of what the pressure's average looks back */
#define RETRY_SESSION_S 30 /* sessions end by rest */
#define RETRY_HELD_S 30    /* a person takes a while */
#define HELD_BODIES 2U     /* of all held runs together, in largest bodies */

/* All callers with one token; the first lane is that of callers without one. */
struct admission_lane {
	const struct config_token *token; /* borrowed; NULL: no quota */
	uint64_t runs;                    /* running, waiting and held */
	uint64_t held, held_bytes;
	uint64_t sessions;
	uint64_t free_ns; /* when the bucket of runs per minute is full again */
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

/* A bucket of a minute's runs, as one number: each run moves the time at which it is full again
 * one interval further; a run that would move it beyond a minute from now has to wait until it
 * would not. Returns how long, 0: it may. */
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

/* `what` and the number allowed make the message. */
static void refuse(struct admission_refusal *to, unsigned status, uint32_t retry_after_s,
		   const char *reason, const char *what, uint64_t allowed)
{
	*to = (struct admission_refusal){
		.status = status, .retry_after_s = retry_after_s, .reason = reason};
	(void)err_set(&to->err, ERR_BUSY, EBUSY, "%s (%llu); try again in %u s", what,
		      (unsigned long long)allowed, retry_after_s);
}

static bool is_short_of_memory(const struct admission *admission, uint64_t now,
			       struct admission_refusal *to)
{
	struct err err = {0};

	if (admission->pressure == NULL || pressure_check(admission->pressure, now, &err) == 0)
		return false;
	*to = (struct admission_refusal){
		.status = 503, .retry_after_s = RETRY_MEMORY_S, .reason = "memory", .err = err};
	return true;
}

static bool has_room(const struct admission *admission)
{
	return admission->counts.running < admission->config->concurrent_runs &&
	       TAILQ_EMPTY(&admission->queued);
}

/* The token's own limits: they hold however idle the machine is. */
static bool is_over_quota(const struct admission_lane *lane, uint64_t rate_ns,
			  struct admission_refusal *to)
{
	const struct config_token *token = lane->token;

	if (rate_ns > 0) {
		refuse(to, 429, seconds_up(rate_ns), "rate",
		       "this token has had its runs of a minute", token->runs_per_minute);
		return true;
	}
	if (token != NULL && lane->runs >= token->concurrent_runs) {
		refuse(to, 429, RETRY_RUN_S, "token_runs",
		       "this token has as many runs at once as it may", token->concurrent_runs);
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
		refuse(to, 503, RETRY_RUN_S, "queue", "as many runs are waiting as may",
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

	/* Only what was let in is charged: a client that hammers is not kept out for longer. */
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

/* What waits for a person waits for long: it is bounded by number and by bytes, for each and in
 * all.
 */
static bool is_hold_refused(const struct admission *admission, const struct admission_lane *lane,
			    uint64_t bytes, struct admission_refusal *to)
{
	const struct config *config = admission->config;

	if (admission->counts.held >= config->held) {
		refuse(to, 503, RETRY_HELD_S, "held",
		       "as many runs as may wait to be allowed already", config->held);
		return true;
	}
	/* Half of the places at most: who asks for much keeps nobody else from asking. */
	if (lane->token != NULL && config->token_count > 1 &&
	    lane->held >= (config->held + 1) / 2) {
		refuse(to, 429, RETRY_HELD_S, "held",
		       "as many runs of this token as may wait to be allowed already", lane->held);
		return true;
	}
	if (lane->held_bytes > 0 && lane->held_bytes + bytes > config->body) {
		refuse(to, lane->token != NULL ? 429 : 503, RETRY_HELD_S, "held",
		       "the runs of this caller that wait to be allowed have as many bytes as they "
		       "may",
		       config->body);
		return true;
	}
	if (admission->counts.held_bytes + bytes > HELD_BODIES * config->body) {
		refuse(to, 503, RETRY_HELD_S, "held",
		       "the runs that wait to be allowed have as many bytes as they may",
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

/* `start` may leave at once, or ask for more: the outermost call goes on. */
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
		refuse(ret_refusal, 429, RETRY_SESSION_S, "token_sessions",
		       "this token has as many sessions as it may", token->sessions);
		return -EBUSY;
	}
	if (admission->counts.sessions >= admission->config->sessions) {
		refuse(ret_refusal, 503, RETRY_SESSION_S, "sessions",
		       "there are as many sessions as may be", admission->config->sessions);
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
