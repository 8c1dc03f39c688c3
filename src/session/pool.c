// SPDX-License-Identifier: Apache-2.0
#include "session/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sys/queue.h>

#include "backend/backend.h"
#include "backend/launcher.h"
#include "base/c.h"
#include "base/log.h"
#include "session/sandbox.h"
#include "session/zygote.h"

#define SPAWNS_MAX 2U
#define SPAWNS_URGENT_MAX 8U /* when somebody waits */
#define FORKS_MAX 5000U
#define AGE_MS (30U * 60U * 1000U)
#define BUSY_DEFER_MS 200U
#define IDLE_DELAY_MS 1U /* the verdict goes out first */
#define TICK_MS 1000U
#define HELLO_MAX_NS (60ULL * 1000000000ULL) /* a cold start on a loaded machine */
#define ATTEMPTS_MAX 3U                      /* then whoever waits is told */
#define BACKOFF_FIRST_NS (100ULL * 1000000ULL)
#define BACKOFF_DOUBLINGS 8U

struct pool_ticket {
	struct shelf *shelf; /* borrowed: lives while it has tickets */
	void (*taken)(void *user, struct sandbox *sandbox, const struct err *why);
	void *user;
	uint32_t attempts;
	TAILQ_ENTRY(pool_ticket) entry;
};

/* The sandboxes of one kind. */
struct shelf {
	struct pool_kind kind; /* trust and data are owned copies */
	char *trust, *data;    /* owned */
	struct lineage *lineage;
	uint32_t keep;   /* how many to have ready */
	uint32_t ready_count, coming_count;
	uint32_t failures;
	uint64_t retry_ns;
	TAILQ_HEAD(, sandbox) ready;
	TAILQ_HEAD(, pool_ticket) tickets;
	LIST_ENTRY(shelf) entry;
};

struct pool {
	uv_loop_t *loop; /* borrowed */
	struct pool_settings settings;
	struct launcher *launcher; /* owned */
	const struct backend *backend;
	struct zygotes *zygotes; /* owned */
	uv_timer_t refill_timer, tick_timer;
	LIST_HEAD(, shelf) shelves;
	struct sandbox *sandboxes[LAUNCH_SANDBOXES_MAX]; /* by number; NULL: free */
	uint32_t next_id;
	uint32_t coming_count;
	uint32_t busy_count; /* taken and not ended */
	uint64_t busy_since_ns;
	bool is_working, needs_work; /* pool_work runs; and must look once more */
	bool is_lost, is_closed;
	struct err why; /* is_lost */
	bool has_counted;
	struct launch_counted counted;
	int handles;
};

static void pool_work(struct pool *pool);

/* ---- shelves ---- */

static bool kind_is(const struct pool_kind *a, const struct pool_kind *b)
{
	const char *data_a = a->data != NULL ? a->data : "";
	const char *data_b = b->data != NULL ? b->data : "";

	return a->runtime == b->runtime && a->is_cold == b->is_cold &&
	       memcmp(&a->plan, &b->plan, sizeof(a->plan)) == 0 &&
	       strcmp(a->trust, b->trust) == 0 && strcmp(data_a, data_b) == 0;
}

static struct shelf *shelf_find(const struct pool *pool, const struct pool_kind *kind)
{
	struct shelf *shelf = NULL;

	LIST_FOREACH(shelf, &pool->shelves, entry) {
		if (kind_is(&shelf->kind, kind))
			return shelf;
	}
	return NULL;
}

static void shelf_free(struct shelf *shelf)
{
	LIST_REMOVE(shelf, entry);
	free(shelf->trust);
	free(shelf->data);
	free(shelf);
}

static char *copy_text(const char *text)
{
	char *copy = strdup(text != NULL ? text : "");

	if (copy == NULL)
		abort();
	return copy;
}

static int shelf_get(struct pool *pool, const struct pool_kind *kind, struct shelf **ret_shelf,
		     struct err *err)
{
	struct shelf *shelf = shelf_find(pool, kind);
	struct lineage *lineage = NULL;
	int r;

	if (shelf != NULL) {
		*ret_shelf = shelf;
		return 0;
	}
	r = plan_check(&kind->plan, err);
	if (r == 0)
		r = zygotes_lineage(pool->zygotes, kind->runtime, kind->trust, kind->data, &lineage,
				    err);
	if (r < 0)
		return r;

	shelf = xnew(struct shelf);
	shelf->kind = *kind;
	shelf->kind.trust = shelf->trust = copy_text(kind->trust);
	shelf->kind.data = shelf->data = copy_text(kind->data);
	shelf->lineage = lineage;
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

static void fail_tickets(struct shelf *shelf, const struct err *why)
{
	while (!TAILQ_EMPTY(&shelf->tickets))
		ticket_answer(TAILQ_FIRST(&shelf->tickets), NULL, why);
}

static void hand_out(struct pool *pool, struct shelf *shelf,
		     void (*taken)(void *user, struct sandbox *sandbox, const struct err *why),
		     void *user)
{
	struct sandbox *sandbox = TAILQ_FIRST(&shelf->ready);

	TAILQ_REMOVE(&shelf->ready, sandbox, entry);
	shelf->ready_count--;
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

/* Looks again in a moment: soon when nobody is busy, else when the wait has been long enough. */
static void refill_later(struct pool *pool, uint64_t ms)
{
	uint64_t due = uv_is_active((uv_handle_t *)&pool->refill_timer)
			       ? uv_timer_get_due_in(&pool->refill_timer)
			       : UINT64_MAX;

	if (pool->is_closed || due <= ms)
		return;
	(void)uv_timer_start(&pool->refill_timer, refill_due, ms, 0);
}

static void refill_soon(struct pool *pool)
{
	refill_later(pool, pool->busy_count == 0 ? IDLE_DELAY_MS : pool->settings.busy_defer_ms);
}

/* ---- what sandboxes tell ---- */

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
		hand_out(pool, shelf, copy.taken, copy.user);
	}
	if (!pool->is_closed)
		pool_work(pool);
}

static void shelf_set_back(struct shelf *shelf)
{
	uint32_t doublings =
		shelf->failures < BACKOFF_DOUBLINGS ? shelf->failures : BACKOFF_DOUBLINGS;

	shelf->failures++;
	shelf->retry_ns = now_ns() + (BACKOFF_FIRST_NS << doublings);
}

static void sandbox_has_failed(void *user, struct sandbox *sandbox, const struct err *why)
{
	struct pool *pool = user;
	struct shelf *shelf = sandbox->shelf;

	if (sandbox->state == SANDBOX_READY) {
		TAILQ_REMOVE(&shelf->ready, sandbox, entry);
		shelf->ready_count--;
	} else {
		pool->coming_count--;
		shelf->coming_count--;
	}
	sandbox_end(sandbox);
	shelf_set_back(shelf);

	if (!TAILQ_EMPTY(&shelf->tickets)) {
		struct pool_ticket *ticket = TAILQ_FIRST(&shelf->tickets);

		ticket->attempts++;
		if (ticket->attempts >= (shelf->kind.is_cold ? 1 : ATTEMPTS_MAX) || pool->is_lost)
			ticket_answer(ticket, NULL, why);
	} else {
		log_event(LOG_LEVEL_WARNING, "pool.spawn", "runtime=%s failures=%u why=%s",
			  shelf->kind.runtime->name, shelf->failures, why->text);
	}
	if (!pool->is_closed && !pool->is_lost)
		refill_later(pool, IDLE_DELAY_MS);
}

/* A closed pool stays until the loop has closed its timers and every taker has let go. */
static void free_when_done(struct pool *pool)
{
	if (pool->is_closed && pool->handles == 0 && pool->busy_count == 0)
		free(pool);
}

static void sandbox_has_ended(void *user, struct sandbox *sandbox)
{
	struct pool *pool = user;

	(void)sandbox;
	pool->busy_count--;
	if (pool->is_closed)
		free_when_done(pool);
	else
		refill_soon(pool);
}

static void sandbox_is_gone(void *user, struct sandbox *sandbox)
{
	struct pool *pool = user;

	pool->sandboxes[sandbox->id] = NULL;
}

static const struct sandbox_calls sandbox_calls = {
	.ready = sandbox_is_ready,
	.failed = sandbox_has_failed,
	.ended = sandbox_has_ended,
	.gone = sandbox_is_gone,
};

/* ---- refill: what ---- */

static int free_id(struct pool *pool, uint32_t *ret_id, struct err *err)
{
	for (uint32_t i = 0; i < LAUNCH_SANDBOXES_MAX; i++) {
		uint32_t id = (pool->next_id + i) % LAUNCH_SANDBOXES_MAX;

		if (pool->sandboxes[id] == NULL) {
			pool->next_id = id + 1;
			*ret_id = id;
			return 0;
		}
	}
	return err_set(err, ERR_BUSY, EBUSY, "all %d sandboxes are in use", LAUNCH_SANDBOXES_MAX);
}

static int spawn(struct pool *pool, struct shelf *shelf, const struct place *place, struct err *err)
{
	struct backend_start start = {
		.root = place->root,
		.zygote = place->zygote,
		.python = place->python,
		.plan = shelf->kind.plan,
	};
	struct sandbox *sandbox = NULL;
	int r = free_id(pool, &start.sandbox, err);

	if (r == 0)
		r = sandbox_new(pool->loop, pool->launcher, pool->backend, &start, &sandbox_calls,
				pool, &sandbox, err);
	if (r < 0)
		return r;

	sandbox->shelf = shelf;
	pool->sandboxes[sandbox->id] = sandbox;
	pool->coming_count++;
	shelf->coming_count++;
	if (place->zygote >= 0)
		lineage_forked(pool->zygotes, shelf->lineage);
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

/* Refill leaves the processors to runs that are busy, unless the shelf is nearly empty: then the
 * next run would wait for a whole spawn. */
static bool may_refill(const struct pool *pool, const struct shelf *shelf)
{
	return pool->busy_count == 0 || shelf->ready_count <= shelf->keep / 4 ||
	       now_ns() - pool->busy_since_ns >= pool->settings.busy_defer_ms * 1000000ULL;
}

/* How many to ask for now; *ret_more tells whether some are left for later. */
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
	if (urgent == 0 && (!may_refill(pool, shelf) ||
			    (shelf->failures > 0 && now_ns() < shelf->retry_ns)))
		return 0;
	return wanted - have < room ? wanted - have : room;
}

static void shelf_work(struct pool *pool, struct shelf *shelf, bool *ret_more)
{
	uint32_t count = shelf_wants(pool, shelf, ret_more);

	for (uint32_t i = 0; i < count; i++) {
		struct place place;
		struct err err = {0};
		int r = lineage_place(pool->zygotes, shelf->lineage, shelf->kind.is_cold, &place,
				      &err);

		if (r == -EAGAIN)
			return;
		if (r == 0)
			r = spawn(pool, shelf, &place, &err);
		if (r < 0) {
			shelf_set_back(shelf);
			if (!TAILQ_EMPTY(&shelf->tickets))
				fail_tickets(shelf, &err);
			else
				log_event(LOG_LEVEL_WARNING, "pool.refill",
					  "runtime=%s failures=%u why=%s",
					  shelf->kind.runtime->name, shelf->failures, err.text);
			return;
		}
	}
}

static void shelves_work(struct pool *pool)
{
	struct shelf *shelf = LIST_FIRST(&pool->shelves);
	bool has_more = false;

	while (shelf != NULL) {
		struct shelf *next = NULL;

		shelf_work(pool, shelf, &has_more);
		next = LIST_NEXT(shelf, entry);
		if (shelf->keep == 0 && shelf->ready_count == 0 && shelf->coming_count == 0 &&
		    TAILQ_EMPTY(&shelf->tickets))
			shelf_free(shelf);
		shelf = next;
	}
	/* Answers that come (HELLO, a zygote up) call again; a wait that no answer ends needs the
	 * clock. */
	if (has_more && pool->coming_count == 0)
		refill_later(pool, pool->settings.busy_defer_ms);
}

/* Whoever is told that there is no sandbox may ask for another at once: that comes back here, and
 * the shelves must not change under the walk over them. */
static void pool_work(struct pool *pool)
{
	pool->needs_work = true;
	if (pool->is_working)
		return;

	pool->is_working = true;
	while (pool->needs_work && !pool->is_closed && !pool->is_lost && pool->backend != NULL) {
		pool->needs_work = false;
		shelves_work(pool);
	}
	pool->is_working = false;
}

/* ---- what launch tells ---- */

static void lose(struct pool *pool, const struct err *why)
{
	struct shelf *shelf = NULL;

	pool->is_lost = true;
	pool->why = *why;
	for (uint32_t i = 0; i < LAUNCH_SANDBOXES_MAX; i++) {
		if (pool->sandboxes[i] != NULL)
			sandbox_lost(pool->sandboxes[i], why);
	}
	LIST_FOREACH(shelf, &pool->shelves, entry)
		fail_tickets(shelf, why);
}

static void launch_lost(void *user, const struct err *why)
{
	lose(user, why);
}

static void launch_hello(void *user, const struct launch_hello *hello)
{
	struct pool *pool = user;
	struct err err = {0};

	if (backend_choose(NULL, hello, &pool->backend, &err) < 0) {
		lose(pool, &err);
		return;
	}
	pool_work(pool);
}

static void launch_event(void *user, const struct launch_event *event)
{
	struct pool *pool = user;

	if (zygotes_event(pool->zygotes, event))
		return;
	if (event->type == LAUNCH_COUNTED) {
		pool->counted = event->counted;
		pool->has_counted = true;
	} else if (event->id < LAUNCH_SANDBOXES_MAX && pool->sandboxes[event->id] != NULL) {
		sandbox_event(pool->sandboxes[event->id], event);
	}
}

static void zygotes_changed(void *user)
{
	pool_work(user);
}

static void tick(uv_timer_t *timer)
{
	struct pool *pool = timer->data;
	struct err why = {0};

	zygotes_tick(pool->zygotes);
	(void)err_set(&why, ERR_INTERNAL, ETIMEDOUT, "a sandbox did not come up in %llu s",
		      HELLO_MAX_NS / 1000000000ULL);
	for (uint32_t i = 0; i < LAUNCH_SANDBOXES_MAX; i++) {
		struct sandbox *sandbox = pool->sandboxes[i];

		if (sandbox != NULL && sandbox->state == SANDBOX_COMING &&
		    now_ns() - sandbox->asked_ns >= HELLO_MAX_NS)
			sandbox_has_failed(pool, sandbox, &why);
	}
}

/* ---- public ---- */

static void handle_closed(uv_handle_t *handle)
{
	struct pool *pool = handle->data;

	pool->handles--;
	free_when_done(pool);
}

int pool_new(uv_loop_t *loop, const struct pool_settings *settings, struct pool **ret_pool,
	     struct err *err)
{
	static const struct launcher_calls calls = {
		.event = launch_event, .hello = launch_hello, .lost = launch_lost};
	struct pool *pool = xnew(struct pool);
	struct pool_settings *set = &pool->settings;
	int r;

	if (settings != NULL)
		*set = *settings;
	set->spawns_max = set->spawns_max > 0 ? set->spawns_max : SPAWNS_MAX;
	set->zygote_forks_max = set->zygote_forks_max > 0 ? set->zygote_forks_max : FORKS_MAX;
	set->zygote_age_ms = set->zygote_age_ms > 0 ? set->zygote_age_ms : AGE_MS;
	set->busy_defer_ms = set->busy_defer_ms > 0 ? set->busy_defer_ms : BUSY_DEFER_MS;
	pool->loop = loop;
	LIST_INIT(&pool->shelves);

	if (set->launch_socket > 0)
		r = launcher_attach(loop, &set->launch_socket, &calls, pool, &pool->launcher, err);
	else
		r = launcher_open(loop, &calls, pool, &pool->launcher, err);
	if (r < 0) {
		free(pool);
		return r;
	}
	pool->zygotes = zygotes_new(pool->launcher, set->zygote_forks_max, set->zygote_age_ms,
				    zygotes_changed, pool);
	(void)uv_timer_init(loop, &pool->refill_timer);
	(void)uv_timer_init(loop, &pool->tick_timer);
	pool->refill_timer.data = pool->tick_timer.data = pool;
	pool->handles = 2;
	(void)uv_timer_start(&pool->tick_timer, tick, TICK_MS, TICK_MS);
	*ret_pool = pool;
	return 0;
}

void pool_close(struct pool *pool)
{
	struct err why = {0};

	if (pool == NULL || pool->is_closed)
		return;
	(void)err_set(&why, ERR_INTERNAL, ESHUTDOWN, "the pool was closed");
	pool->is_closed = true;
	launcher_close(pool->launcher);
	lose(pool, &why);
	while (!LIST_EMPTY(&pool->shelves))
		shelf_free(LIST_FIRST(&pool->shelves));
	zygotes_free(pool->zygotes);
	uv_close((uv_handle_t *)&pool->refill_timer, handle_closed);
	uv_close((uv_handle_t *)&pool->tick_timer, handle_closed);
}

const struct launch_hello *pool_hello(const struct pool *pool)
{
	return launcher_hello(pool->launcher);
}

int pool_wait_hello(struct pool *pool, const struct launch_hello **ret_hello, struct err *err)
{
	while (pool_hello(pool) == NULL && !pool->is_lost)
		(void)uv_run(pool->loop, UV_RUN_ONCE);
	if (pool_hello(pool) == NULL) {
		*err = pool->why;
		return -pool->why.num;
	}
	*ret_hello = pool_hello(pool);
	return 0;
}

pid_t pool_launch_pid(const struct pool *pool)
{
	return launcher_pid(pool->launcher);
}

uv_loop_t *pool_loop(const struct pool *pool)
{
	return pool->loop;
}

const struct backend *pool_backend(const struct pool *pool)
{
	return pool->backend;
}

int pool_keep(struct pool *pool, const struct pool_kind *kind, uint32_t count, struct err *err)
{
	struct shelf *shelf = NULL;
	int r = shelf_get(pool, kind, &shelf, err);

	if (r < 0)
		return r;
	shelf->keep = count;
	while (shelf->ready_count > count) {
		struct sandbox *sandbox = TAILQ_FIRST(&shelf->ready);

		TAILQ_REMOVE(&shelf->ready, sandbox, entry);
		shelf->ready_count--;
		sandbox_end(sandbox);
	}
	pool_work(pool);
	return 0;
}

void pool_ready(const struct pool *pool, const struct pool_kind *kind, uint32_t *ret_ready,
		uint32_t *ret_coming)
{
	const struct shelf *shelf = shelf_find(pool, kind);

	*ret_ready = shelf != NULL ? shelf->ready_count : 0;
	*ret_coming = shelf != NULL ? shelf->coming_count : 0;
}

int pool_take(struct pool *pool, const struct pool_kind *kind,
	      void (*taken)(void *user, struct sandbox *sandbox, const struct err *why), void *user,
	      struct pool_ticket **ret_ticket, struct err *err)
{
	struct pool_ticket *ticket = NULL;
	struct shelf *shelf = NULL;
	int r;

	if (pool->is_lost) {
		*err = pool->why;
		return -pool->why.num;
	}
	r = shelf_get(pool, kind, &shelf, err);
	if (r < 0)
		return r;

	*ret_ticket = NULL;
	if (shelf->ready_count > 0) {
		hand_out(pool, shelf, taken, user);
		refill_soon(pool);
		return 0;
	}
	ticket = xnew(struct pool_ticket);
	*ticket = (struct pool_ticket){.shelf = shelf, .taken = taken, .user = user};
	TAILQ_INSERT_TAIL(&shelf->tickets, ticket, entry);
	*ret_ticket = ticket;
	/* From the loop, so that the answer never comes before the caller has its ticket. */
	refill_later(pool, 0);
	return 0;
}

void pool_untake(struct pool *pool, struct pool_ticket *ticket)
{
	(void)pool;
	TAILQ_REMOVE(&ticket->shelf->tickets, ticket, entry);
	free(ticket);
}

int pool_count(struct pool *pool, struct launch_counted *ret_counted, struct err *err)
{
	const struct launch_request request = {.type = LAUNCH_COUNT};
	int r = launcher_send(pool->launcher, &request, NULL, 0, err);

	if (r < 0)
		return r;
	pool->has_counted = false;
	while (!pool->has_counted && !pool->is_lost)
		(void)uv_run(pool->loop, UV_RUN_ONCE);
	if (!pool->has_counted) {
		*err = pool->why;
		return -pool->why.num;
	}
	*ret_counted = pool->counted;
	return 0;
}
