// SPDX-License-Identifier: Apache-2.0
#include "session/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sys/resource.h>

#include "backend/choose.h"
#include "base/c.h"
#include "session/pool_state.h"

#define SPAWNS_MAX 2U
#define FORKS_MAX 5000U
#define AGE_MS (30U * 60U * 1000U)
#define BUSY_DEFER_MS 200U
#define TICK_MS 1000U
#define HELLO_MAX_NS (60ULL * 1000000000ULL) /* a cold start on a loaded machine */

void pool_free_when_done(struct pool *pool)
{
	if (pool->is_closed && pool->handles == 0 && pool->taken_count == 0)
		free(pool);
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
		shelf_fail_tickets(shelf, why);
}

static void launch_lost(void *user, const struct err *why)
{
	struct pool *pool = user;

	lose(pool, why);
	if (pool->settings.kept != NULL)
		pool->settings.kept->lost(pool->settings.kept_user, why);
}

static void launch_hello(void *user, const struct launch_hello *hello)
{
	struct pool *pool = user;
	const struct backend_host host = {.hello = hello};
	struct err err = {0};

	if (backend_choose_local(&host, &pool->backend, &err) < 0) {
		lose(pool, &err);
		return;
	}
	pool_work(pool);
}

/* A sandbox that launch kept for us, or one of its heads. */
static void take_kept(struct pool *pool, const struct launch_event *event, int *take_fds,
		      size_t fd_count)
{
	const struct pool_kept_calls *calls = pool->settings.kept;
	struct sandbox *sandbox =
		event->id < LAUNCH_SANDBOXES_MAX ? pool->sandboxes[event->id] : NULL;
	char name[LAUNCH_NAME_MAX];

	if (event->type == LAUNCH_ATTACHED) {
		pool->is_attached = true;
		calls->all(pool->settings.kept_user);
		pool_work(pool);
	} else if (event->type == LAUNCH_KEPT_HEAD) {
		if (sandbox != NULL && (fd_count >= 1 || event->head.head == 0))
			calls->head(pool->settings.kept_user, sandbox, event->head.head,
				    event->head.pid, take_fds, fd_count);
	} else if (shelf_adopt(pool, event->id, take_fds, fd_count, &sandbox) == 0) {
		memcpy(name, event->kept.name, sizeof(name));
		name[sizeof(name) - 1] = '\0';
		memcpy(sandbox->kept_name, name, sizeof(name));
		calls->sandbox(pool->settings.kept_user, sandbox, name);
	}
}

static void launch_event(void *user, const struct launch_event *event, int *take_fds,
			 size_t fd_count)
{
	struct pool *pool = user;

	if (zygotes_event(pool->zygotes, event))
		return;
	if (pool->settings.kept != NULL &&
	    (event->type == LAUNCH_KEPT || event->type == LAUNCH_KEPT_HEAD ||
	     event->type == LAUNCH_ATTACHED)) {
		take_kept(pool, event, take_fds, fd_count);
		return;
	}
	if (event->type == LAUNCH_METERED && event->id < LAUNCH_SANDBOXES_MAX &&
	    pool->sandboxes[event->id] != NULL) {
		meter_take(&pool->meters, &pool->sandboxes[event->id]->meter, take_fds, fd_count);
		return;
	}
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
			shelf_sandbox_failed(pool, sandbox, &why);
	}
}

/* ---- public ---- */

static void handle_closed(uv_handle_t *handle)
{
	struct pool *pool = handle->data;

	pool->handles--;
	pool_free_when_done(pool);
}

/* Each sandbox takes four descriptors here: with the usual 1024 there would be room for 250. */
static void raise_file_limit(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return;
	files.rlim_cur = files.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &files);
}

int pool_new(uv_loop_t *loop, const struct pool_settings *settings, struct pool **ret_pool,
	     struct err *err)
{
	static const struct launcher_calls calls = {
		.event = launch_event, .hello = launch_hello, .lost = launch_lost};
	struct pool *pool = xnew(struct pool);
	struct pool_settings *set = &pool->settings;
	int r;

	meters_init(&pool->meters);
	if (settings != NULL)
		*set = *settings;
	set->spawns_max = set->spawns_max > 0 ? set->spawns_max : SPAWNS_MAX;
	set->zygote_forks_max = set->zygote_forks_max > 0 ? set->zygote_forks_max : FORKS_MAX;
	set->zygote_age_ms = set->zygote_age_ms > 0 ? set->zygote_age_ms : AGE_MS;
	set->busy_defer_ms = set->busy_defer_ms > 0 ? set->busy_defer_ms : BUSY_DEFER_MS;
	raise_file_limit();
	pool->loop = loop;
	pool->is_attached = set->stay == NULL;
	LIST_INIT(&pool->shelves);

	if (set->stay != NULL)
		r = launcher_connect(loop, set->stay, &calls, pool, &pool->launcher, err);
	else if (set->launch_socket > 0)
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

struct backend_host pool_host(const struct pool *pool)
{
	/* One that worked and died is being started again: whoever takes a sandbox is told. */
	bool is_hopeless = pool->is_lost && pool->backend == NULL;

	return (struct backend_host){
		.config = pool->settings.config,
		.hello = pool_hello(pool),
		.launch_why = is_hopeless ? &pool->why : NULL,
		.remote = pool->settings.remote,
	};
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
		shelf_hand_out(pool, shelf, taken, user);
		pool_work_soon(pool);
		return 0;
	}
	ticket = xnew(struct pool_ticket);
	*ticket = (struct pool_ticket){.shelf = shelf, .taken = taken, .user = user};
	TAILQ_INSERT_TAIL(&shelf->tickets, ticket, entry);
	*ret_ticket = ticket;
	/* From the loop, so that the answer never comes before the caller has its ticket. */
	pool_work_later(pool, 0);
	return 0;
}

void pool_untake(struct pool *pool, struct pool_ticket *ticket)
{
	(void)pool;
	TAILQ_REMOVE(&ticket->shelf->tickets, ticket, entry);
	free(ticket);
}

void pool_rest(struct pool *pool, struct sandbox *sandbox, bool is_resting)
{
	if (sandbox->is_resting == is_resting)
		return;
	sandbox->is_resting = is_resting;
	if (!is_resting && pool->busy_count++ == 0)
		pool->busy_since_ns = now_ns();
	if (is_resting) {
		pool->busy_count--;
		pool_work_soon(pool);
	}
}

void pool_each(const struct pool *pool,
	       void (*each)(void *user, const struct pool_kind *kind, uint32_t keep, uint32_t ready,
			    uint32_t coming, const struct err *why),
	       void *user)
{
	const struct shelf *shelf = NULL;

	LIST_FOREACH(shelf, &pool->shelves, entry) {
		if (shelf->keep > 0)
			each(user, &shelf->kind, shelf->keep, shelf->ready_count,
			     shelf->coming_count, shelf->failures > 0 ? &shelf->why : NULL);
	}
}

uint32_t pool_sandboxes(const struct pool *pool)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < LAUNCH_SANDBOXES_MAX; i++)
		count += pool->sandboxes[i] != NULL;
	return count;
}

void pool_quit(struct pool *pool)
{
	const struct launch_request request = {.type = LAUNCH_QUIT};
	struct err err = {0};

	(void)launcher_send(pool->launcher, &request, NULL, 0, &err);
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
