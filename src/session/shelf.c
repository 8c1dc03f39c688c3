// SPDX-License-Identifier: Apache-2.0
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "base/log.h"
#include "session/payload.h"
#include "session/pool_state.h"

#define SPAWNS_URGENT_MAX 8U /* while a ticket waits */
#define IDLE_DELAY_MS 1U     /* so that the verdict is sent first */
#define ATTEMPTS_MAX 3U      /* then the waiting ticket fails */
#define BACKOFF_FIRST_NS (100ULL * 1000000ULL)
#define BACKOFF_DOUBLINGS 8U

/* ---- shelves ---- */

static bool kind_is(const struct box_kind *a, const struct box_kind *b)
{
	const char *data_a = a->data != NULL ? a->data : "";
	const char *data_b = b->data != NULL ? b->data : "";

	return a->backend == b->backend && a->runtime == b->runtime && a->is_cold == b->is_cold &&
	       memcmp(&a->plan, &b->plan, sizeof(a->plan)) == 0 &&
	       strcmp(a->trust, b->trust) == 0 && strcmp(data_a, data_b) == 0;
}

struct shelf *shelf_find(const struct pool *pool, const struct box_kind *kind)
{
	struct shelf *shelf = NULL;

	LIST_FOREACH(shelf, &pool->shelves, entry) {
		if (kind_is(&shelf->kind, kind))
			return shelf;
	}
	return NULL;
}

void shelf_free(struct shelf *shelf)
{
	LIST_REMOVE(shelf, entry);
	free(shelf->trust);
	free(shelf->data);
	free(shelf);
}

int shelf_get(struct pool *pool, const struct box_kind *kind, struct shelf **ret_shelf,
	      struct err *err)
{
	struct shelf *shelf = shelf_find(pool, kind);
	struct pool_backend *maker = pool_maker(pool, kind->backend);
	int r;

	if (shelf != NULL) {
		*ret_shelf = shelf;
		return 0;
	}
	if (maker == NULL || maker->instance == NULL)
		return err_field(err, ERR_UNSUPPORTED, ENOSYS, "backend",
				 "%s makes no sandboxes here",
				 kind->backend != NULL ? kind->backend->name : "none");
	r = plan_check(&kind->plan, err);
	if (r == 0 && pool->settings.config != NULL)
		r = config_check_shown(pool->settings.config, kind->runtime, kind->data, err);
	if (r == 0)
		r = maker->seen.backend->prepare(maker->instance, kind, err);
	if (r < 0)
		return r;

	shelf = xnew(struct shelf);
	shelf->kind = *kind;
	shelf->kind.trust = shelf->trust = xtext(kind->trust);
	shelf->kind.data = shelf->data = xstrdup(kind->data);
	shelf->maker = maker;
	TAILQ_INIT(&shelf->ready);
	TAILQ_INIT(&shelf->tickets);
	LIST_INSERT_HEAD(&pool->shelves, shelf, entry);
	*ret_shelf = shelf;
	return 0;
}

static void ticket_answer(struct pool_ticket *ticket, struct sandbox *sandbox,
			  const struct err *why)
{
	struct pool_ticket copy = *ticket;

	TAILQ_REMOVE(&ticket->shelf->tickets, ticket, entry);
	free(ticket);
	copy.taken(copy.user, sandbox, why);
}

void shelf_fail_tickets(struct shelf *shelf, const struct err *why)
{
	while (!TAILQ_EMPTY(&shelf->tickets))
		ticket_answer(TAILQ_FIRST(&shelf->tickets), NULL, why);
}

void shelf_hand_out(struct pool *pool, struct shelf *shelf,
		    void (*taken)(void *user, struct sandbox *sandbox, const struct err *why),
		    void *user)
{
	struct sandbox *sandbox = TAILQ_FIRST(&shelf->ready);

	TAILQ_REMOVE(&shelf->ready, sandbox, entry);
	shelf->ready_count--;
	pool->taken_count++;
	if (pool->busy_count++ == 0)
		pool->busy_since_ns = now_ns();
	sandbox_take(sandbox, NULL, NULL);
	taken(user, sandbox, NULL);
}

/* ---- refill: when ---- */

static void refill_due(uv_timer_t *timer)
{
	pool_work(timer->data);
}

void pool_work_later(struct pool *pool, uint64_t ms)
{
	uint64_t due = uv_is_active((uv_handle_t *)&pool->refill_timer)
			       ? uv_timer_get_due_in(&pool->refill_timer)
			       : UINT64_MAX;

	if (pool->is_closed || due <= ms)
		return;
	(void)uv_timer_start(&pool->refill_timer, refill_due, ms, 0);
}

void pool_work_soon(struct pool *pool)
{
	pool_work_later(pool, pool->busy_count == 0 ? IDLE_DELAY_MS : pool->settings.busy_defer_ms);
}

/* ---- calls of sandboxes ---- */

static void sandbox_is_ready(void *user, struct sandbox *sandbox)
{
	struct pool *pool = user;
	struct shelf *shelf = sandbox->shelf;

	pool->coming_count--;
	shelf->coming_count--;
	shelf->failures = 0;
	TAILQ_INSERT_TAIL(&shelf->ready, sandbox, entry);
	shelf->ready_count++;

	if (!TAILQ_EMPTY(&shelf->tickets)) {
		struct pool_ticket *ticket = TAILQ_FIRST(&shelf->tickets);
		struct pool_ticket copy = *ticket;

		TAILQ_REMOVE(&shelf->tickets, ticket, entry);
		free(ticket);
		shelf_hand_out(pool, shelf, copy.taken, copy.user);
	} else if (shelf->ready_count > shelf->keep) {
		/* The sandbox is no longer wanted. */
		TAILQ_REMOVE(&shelf->ready, sandbox, entry);
		shelf->ready_count--;
		sandbox_end(sandbox);
	}
	if (!pool->is_closed)
		pool_work(pool);
}

/* Returns whether the failure is new: each is logged once, not at every attempt. */
static bool shelf_set_back(struct shelf *shelf, const struct err *why)
{
	bool is_news = shelf->failures == 0 || strcmp(shelf->why.text, why->text) != 0;

	uint32_t doublings =
		shelf->failures < BACKOFF_DOUBLINGS ? shelf->failures : BACKOFF_DOUBLINGS;

	shelf->failures++;
	shelf->why = *why;
	shelf->retry_ns = now_ns() + (BACKOFF_FIRST_NS << doublings);
	return is_news;
}

void shelf_sandbox_failed(void *user, struct sandbox *sandbox, const struct err *why)
{
	struct pool *pool = user;
	struct shelf *shelf = sandbox->shelf;
	const struct pool_backend *maker = shelf->maker; /* outlives the shelf */
	bool is_news;

	if (sandbox->state == SANDBOX_READY) {
		TAILQ_REMOVE(&shelf->ready, sandbox, entry);
		shelf->ready_count--;
	} else {
		pool->coming_count--;
		shelf->coming_count--;
	}
	sandbox_end(sandbox);
	is_news = shelf_set_back(shelf, why);

	if (!TAILQ_EMPTY(&shelf->tickets)) {
		struct pool_ticket *ticket = TAILQ_FIRST(&shelf->tickets);

		ticket->attempts++;
		if (ticket->attempts >= (shelf->kind.is_cold ? 1 : ATTEMPTS_MAX) || maker->is_lost)
			ticket_answer(ticket, NULL, why);
	} else if (is_news && !pool->is_closed && !maker->is_lost) {
		log_event(LOG_LEVEL_WARNING, "pool.spawn", "runtime=%s failures=%u why=%s",
			  shelf->kind.runtime->name, shelf->failures, why->text);
	}
	if (!pool->is_closed && !maker->is_lost)
		pool_work_later(pool, IDLE_DELAY_MS);
}

static void sandbox_has_ended(void *user, struct sandbox *sandbox)
{
	struct pool *pool = user;

	pool->taken_count--;
	if (!sandbox->is_resting)
		pool->busy_count--;
	if (pool->is_closed)
		pool_free_when_done(pool);
	else
		pool_work_soon(pool);
}

static void sandbox_is_gone(void *user, struct sandbox *sandbox)
{
	(void)user;
	LIST_REMOVE(sandbox, in_pool);
}

static const struct sandbox_calls sandbox_calls = {
	.ready = sandbox_is_ready,
	.failed = shelf_sandbox_failed,
	.ended = sandbox_has_ended,
	.gone = sandbox_is_gone,
};

/* ---- refill: what ---- */

static int spawn(struct pool *pool, struct shelf *shelf, struct err *err)
{
	struct sandbox *sandbox = NULL;
	int r = sandbox_new(pool->loop, shelf->maker->instance, &shelf->kind,
			    pool->settings.stay != NULL, &sandbox_calls, pool, &sandbox, err);

	if (r < 0)
		return r;
	assert(sandbox != NULL);
	sandbox->shelf = shelf;
	LIST_INSERT_HEAD(&pool->sandboxes, sandbox, in_pool);
	pool->coming_count++;
	shelf->coming_count++;
	return 0;
}

int shelf_adopt(struct pool *pool, struct box *box, int *take_fds, size_t fd_count,
		struct sandbox **ret_sandbox)
{
	int fds[SANDBOX_KEPT_COUNT] = {-1, -1, -1, -1, -1, -1, -1};
	struct err err = {0};
	int r;

	if (fd_count < SANDBOX_KEPT_IN || fd_count > SANDBOX_KEPT_COUNT)
		return -EPROTO;
	for (size_t i = 0; i < fd_count; i++)
		fds[i] = steal_fd(&take_fds[i]);
	/* There may be a payload but no stdin. They can be told apart: a payload is a file, a stdin
	 * a pipe. */
	if (fds[SANDBOX_KEPT_PAYLOAD] < 0 && payload_inode(fds[SANDBOX_KEPT_IN]) != 0)
		fds[SANDBOX_KEPT_PAYLOAD] = steal_fd(&fds[SANDBOX_KEPT_IN]);
	r = sandbox_adopt(pool->loop, box, fds, &sandbox_calls, pool, ret_sandbox, &err);
	if (r < 0) {
		log_event(LOG_LEVEL_ERROR, "pool.adopt", "sandbox=%u why=%s", box->number,
			  err.text);
		return r;
	}
	LIST_INSERT_HEAD(&pool->sandboxes, *ret_sandbox, in_pool);
	pool->taken_count++;
	if (pool->busy_count++ == 0)
		pool->busy_since_ns = now_ns();
	return 0;
}

static uint32_t ticket_count(const struct shelf *shelf)
{
	const struct pool_ticket *ticket = NULL;
	uint32_t count = 0;

	TAILQ_FOREACH(ticket, &shelf->tickets, entry)
		count++;
	return count;
}

/* Refill leaves the processors to busy runs, unless the shelf is nearly empty: then the next run
 * would wait for a whole spawn. */
static bool may_refill(const struct pool *pool, const struct shelf *shelf)
{
	return pool->busy_count == 0 || shelf->ready_count <= shelf->keep / 4 ||
	       now_ns() - pool->busy_since_ns >= pool->settings.busy_defer_ms * 1000000ULL;
}

/* How many sandboxes to request now; *ret_more is set if more are wanted. */
static uint32_t shelf_wants(const struct pool *pool, const struct shelf *shelf, bool *ret_more)
{
	uint32_t urgent = ticket_count(shelf);
	uint32_t wanted = urgent + shelf->keep;
	uint32_t have = shelf->ready_count + shelf->coming_count;
	uint32_t cap = urgent > 0 ? SPAWNS_URGENT_MAX : pool->settings.spawns_max;
	uint32_t room = pool->coming_count < cap ? cap - pool->coming_count : 0;

	if (wanted <= have)
		return 0;
	*ret_more = true;
	if (urgent == 0 &&
	    (!may_refill(pool, shelf) || (shelf->failures > 0 && now_ns() < shelf->retry_ns)))
		return 0;
	return wanted - have < room ? wanted - have : room;
}

static void shelf_work(struct pool *pool, struct shelf *shelf, bool *ret_more)
{
	uint32_t count = shelf_wants(pool, shelf, ret_more);

	for (uint32_t i = 0; i < count; i++) {
		struct err err = {0};
		int r = spawn(pool, shelf, &err);

		if (r == -EAGAIN)
			return;
		if (r < 0) {
			bool is_news = shelf_set_back(shelf, &err);

			if (!TAILQ_EMPTY(&shelf->tickets))
				shelf_fail_tickets(shelf, &err);
			else if (is_news)
				log_event(LOG_LEVEL_WARNING, "pool.refill",
					  "runtime=%s failures=%u why=%s",
					  shelf->kind.runtime->name, shelf->failures, err.text);
			return;
		}
	}
}

static bool is_open(const struct pool_backend *maker)
{
	return maker->seen.facts != NULL && maker->is_attached && !maker->is_lost;
}

static void shelves_work(struct pool *pool)
{
	struct shelf *shelf = LIST_FIRST(&pool->shelves);
	bool has_more = false;

	while (shelf != NULL) {
		struct shelf *next = NULL;

		if (is_open(shelf->maker))
			shelf_work(pool, shelf, &has_more);
		next = LIST_NEXT(shelf, entry);
		if (shelf->keep == 0 && shelf->ready_count == 0 && shelf->coming_count == 0 &&
		    TAILQ_EMPTY(&shelf->tickets))
			shelf_free(shelf);
		shelf = next;
	}
	/* The calls of backends and sandboxes (HELLO, a template is up) come back here; only if
	 * none is expected, a timer is needed. */
	if (has_more && pool->coming_count == 0)
		pool_work_later(pool, pool->settings.busy_defer_ms);
}

/* A caller that is told that there is no sandbox may request another at once, which calls this
 * again: the shelves must not change during the walk over them. */
void pool_work(struct pool *pool)
{
	pool->needs_work = true;
	if (pool->is_working)
		return;

	pool->is_working = true;
	while (pool->needs_work && !pool->is_closed) {
		pool->needs_work = false;
		shelves_work(pool);
	}
	pool->is_working = false;
}
