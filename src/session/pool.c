// SPDX-License-Identifier: Apache-2.0
#include "session/pool.h"

#include <errno.h>
#include <stdio.h>
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

/* ---- calls of backends ---- */

/* Updates the facts by which a backend is chosen. A backend that worked and then died is being
 * restarted and stays a candidate: pool_take reports its error. */
static void note_seen(struct pool_backend *maker)
{
	struct pool *pool = maker->pool;
	bool is_hopeless = maker->is_lost &&
			   (maker->seen.facts == NULL || maker->seen.facts->unfit.kind != ERR_NONE);

	maker->seen.why = is_hopeless ? &maker->why : NULL;
	pool->seen[maker - pool->backends] = maker->seen;
}

static void lose(struct pool_backend *maker, const struct err *why)
{
	struct pool *pool = maker->pool;
	struct sandbox *sandbox = LIST_FIRST(&pool->sandboxes);
	struct shelf *shelf = NULL;

	maker->is_lost = true;
	maker->why = *why;
	note_seen(maker);
	while (sandbox != NULL) {
		struct sandbox *next = LIST_NEXT(sandbox, in_pool);

		if (sandbox->backend == maker->seen.backend)
			sandbox_lost(sandbox, why);
		sandbox = next;
	}
	LIST_FOREACH(shelf, &pool->shelves, entry) {
		if (shelf->maker == maker)
			shelf_fail_tickets(shelf, why);
	}
}

static void backend_lost(void *user, const struct err *why)
{
	struct pool_backend *maker = user;
	const struct pool_settings *set = &maker->pool->settings;

	lose(maker, why);
	if (set->kept != NULL)
		set->kept->lost(set->kept_user, why);
}

static void backend_hello(void *user, const struct backend_facts *facts)
{
	struct pool_backend *maker = user;

	maker->seen.facts = facts;
	note_seen(maker);
	if (facts->unfit.kind != ERR_NONE)
		lose(maker, &facts->unfit);
	else
		pool_work(maker->pool);
}

static void backend_changed(void *user)
{
	struct pool_backend *maker = user;

	pool_work(maker->pool);
}

static void box_kept(void *user, struct box *box, const char *name, int *take_fds, size_t fd_count)
{
	struct pool_backend *maker = user;
	const struct pool_settings *set = &maker->pool->settings;
	struct sandbox *sandbox = NULL;

	if (set->kept == NULL || shelf_adopt(maker->pool, box, take_fds, fd_count, &sandbox) < 0)
		return;
	(void)snprintf(sandbox->kept_name, sizeof(sandbox->kept_name), "%s", name);
	set->kept->sandbox(set->kept_user, sandbox, name);
}

static void head_kept(void *user, struct box *box, uint32_t head, pid_t pid, int *take_fds,
		      size_t fd_count)
{
	struct pool_backend *maker = user;
	const struct pool_settings *set = &maker->pool->settings;

	if (set->kept != NULL && box->calls == &sandbox_box_calls)
		set->kept->head(set->kept_user, box->user, head, pid, take_fds, fd_count);
}

static void all_attached(void *user)
{
	struct pool_backend *maker = user;
	const struct pool_settings *set = &maker->pool->settings;

	maker->is_attached = true;
	if (set->kept != NULL)
		set->kept->all(set->kept_user);
	pool_work(maker->pool);
}

static void backend_counted(void *user, const struct backend_counted *counted)
{
	struct pool *pool = ((struct pool_backend *)user)->pool;

	pool->counted = *counted;
	pool->has_counted = true;
}

static const struct backend_calls backend_calls = {
	.hello = backend_hello,
	.changed = backend_changed,
	.kept = box_kept,
	.kept_head = head_kept,
	.attached = all_attached,
	.counted = backend_counted,
	.lost = backend_lost,
};

static void tick(uv_timer_t *timer)
{
	struct pool *pool = timer->data;
	struct sandbox *sandbox = NULL;
	struct sandbox *next = NULL;
	struct err why = {0};

	for (size_t i = 0; i < pool->backend_count; i++) {
		struct pool_backend *maker = &pool->backends[i];

		if (maker->instance != NULL && maker->seen.backend->tick != NULL)
			maker->seen.backend->tick(maker->instance);
	}
	(void)err_set(&why, ERR_INTERNAL, ETIMEDOUT, "a sandbox did not come up in %llu s",
		      HELLO_MAX_NS / 1000000000ULL);
	for (sandbox = LIST_FIRST(&pool->sandboxes); sandbox != NULL; sandbox = next) {
		next = LIST_NEXT(sandbox, in_pool);
		if (sandbox->state == SANDBOX_COMING &&
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

/* Each sandbox takes four descriptors here: the usual limit of 1024 would allow 250 sandboxes. */
static void raise_file_limit(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return;
	files.rlim_cur = files.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &files);
}

/* A backend that cannot be opened is kept with its error; if none can be opened, the error of the
 * first is returned. */
static int open_backends(struct pool *pool, struct err *err)
{
	const struct pool_settings *set = &pool->settings;
	const struct backend_settings how = {
		.stay = set->stay,
		.forks_max = set->zygote_forks_max,
		.age_ms = set->zygote_age_ms,
	};
	const struct backend *const *table = set->table != NULL ? set->table : backend_table;
	bool is_any = false;

	for (; *table != NULL; table++) {
		struct pool_backend *maker = &pool->backends[pool->backend_count];

		if ((*table)->open == NULL || pool->backend_count == POOL_BACKENDS_MAX)
			continue;
		/* If boxes cannot be kept, there is nothing to wait for. */
		*maker = (struct pool_backend){.pool = pool,
					       .seen.backend = *table,
					       .is_attached = set->stay == NULL ||
							      (*table)->box->keep == NULL};
		if ((*table)->open(*table, pool->loop, &how, &backend_calls, maker,
				   &maker->instance, &maker->why) < 0)
			maker->is_lost = true;
		else
			is_any = true;
		pool->backend_count++;
		note_seen(maker);
	}
	if (is_any)
		return 0;
	*err = pool->backends[0].why;
	return err->num > 0 ? -err->num : -ENOSYS;
}

int pool_new(uv_loop_t *loop, const struct pool_settings *settings, struct pool **ret_pool,
	     struct err *err)
{
	struct pool *pool = xnew(struct pool);
	struct pool_settings *set = &pool->settings;
	int r;

	if (settings != NULL)
		*set = *settings;
	set->spawns_max = set->spawns_max > 0 ? set->spawns_max : SPAWNS_MAX;
	set->zygote_forks_max = set->zygote_forks_max > 0 ? set->zygote_forks_max : FORKS_MAX;
	set->zygote_age_ms = set->zygote_age_ms > 0 ? set->zygote_age_ms : AGE_MS;
	set->busy_defer_ms = set->busy_defer_ms > 0 ? set->busy_defer_ms : BUSY_DEFER_MS;
	raise_file_limit();
	pool->loop = loop;
	LIST_INIT(&pool->shelves);
	LIST_INIT(&pool->sandboxes);

	r = open_backends(pool, err);
	if (r < 0) {
		free(pool);
		return r;
	}
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
	for (size_t i = 0; i < pool->backend_count; i++) {
		struct pool_backend *maker = &pool->backends[i];

		lose(maker, &why);
		if (maker->instance != NULL)
			maker->seen.backend->close(STEAL(maker->instance));
	}
	while (!LIST_EMPTY(&pool->shelves))
		shelf_free(LIST_FIRST(&pool->shelves));
	uv_close((uv_handle_t *)&pool->refill_timer, handle_closed);
	uv_close((uv_handle_t *)&pool->tick_timer, handle_closed);
}

struct pool_backend *pool_maker(struct pool *pool, const struct backend *backend)
{
	for (size_t i = 0; i < pool->backend_count; i++) {
		if (pool->backends[i].seen.backend == backend)
			return &pool->backends[i];
	}
	return NULL;
}

const struct backend_facts *pool_facts(const struct pool *pool, const struct backend *backend)
{
	for (size_t i = 0; i < pool->backend_count; i++) {
		if (pool->seen[i].facts != NULL &&
		    (backend == NULL || pool->seen[i].backend == backend))
			return pool->seen[i].facts;
	}
	return NULL;
}

static bool is_undecided(const struct pool *pool)
{
	for (size_t i = 0; i < pool->backend_count; i++) {
		if (pool->seen[i].facts == NULL && !pool->backends[i].is_lost)
			return true;
	}
	return false;
}

int pool_wait_hello(struct pool *pool, const struct backend_facts **ret_facts, struct err *err)
{
	while (is_undecided(pool))
		(void)uv_run(pool->loop, UV_RUN_ONCE);
	*ret_facts = pool_facts(pool, NULL);
	if (*ret_facts != NULL)
		return 0;
	*err = pool->backends[0].why;
	return err->num > 0 ? -err->num : -ENOSYS;
}

pid_t pool_helper(struct pool *pool, const struct backend *backend)
{
	const struct pool_backend *maker = pool_maker(pool, backend);

	return maker != NULL && maker->instance != NULL && backend->helper != NULL
		       ? backend->helper(maker->instance)
		       : 0;
}

uv_loop_t *pool_loop(const struct pool *pool)
{
	return pool->loop;
}

struct backend_host pool_host(const struct pool *pool)
{
	return (struct backend_host){
		.config = pool->settings.config,
		.table = pool->settings.table,
		.seen = pool->seen,
		.seen_count = pool->backend_count,
		.remote = pool->settings.remote,
	};
}

int pool_keep(struct pool *pool, const struct box_kind *kind, uint32_t count, struct err *err)
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

void pool_ready(const struct pool *pool, const struct box_kind *kind, uint32_t *ret_ready,
		uint32_t *ret_coming)
{
	const struct shelf *shelf = shelf_find(pool, kind);

	*ret_ready = shelf != NULL ? shelf->ready_count : 0;
	*ret_coming = shelf != NULL ? shelf->coming_count : 0;
}

int pool_take(struct pool *pool, const struct box_kind *kind,
	      void (*taken)(void *user, struct sandbox *sandbox, const struct err *why), void *user,
	      struct pool_ticket **ret_ticket, struct err *err)
{
	struct pool_ticket *ticket = NULL;
	struct shelf *shelf = NULL;
	int r;

	const struct pool_backend *maker = pool_maker(pool, kind->backend);

	if (maker != NULL && maker->is_lost) {
		*err = maker->why;
		return err_code(err);
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
	/* Work from the loop, so that the answer never comes before the caller has its ticket. */
	pool_work_later(pool, 0);
	return 0;
}

void pool_untake(struct pool_ticket *ticket)
{
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
	       void (*each)(void *user, const struct box_kind *kind, uint32_t keep, uint32_t ready,
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
	const struct sandbox *sandbox = NULL;
	uint32_t count = 0;

	LIST_FOREACH(sandbox, &pool->sandboxes, in_pool)
		count++;
	return count;
}

int pool_quit(struct pool *pool, struct err *err)
{
	int worst = 0;

	for (size_t i = 0; i < pool->backend_count; i++) {
		struct pool_backend *maker = &pool->backends[i];
		int r = 0;

		if (maker->instance != NULL && maker->seen.backend->quit != NULL)
			r = maker->seen.backend->quit(maker->instance, err);
		if (r < 0)
			worst = r;
	}
	return worst;
}

int pool_count(struct pool *pool, const struct backend *backend,
	       struct backend_counted *ret_counted, struct err *err)
{
	const struct pool_backend *maker = pool_maker(pool, backend);
	int r;

	if (maker == NULL || maker->instance == NULL || backend->count == NULL)
		return err_set(err, ERR_UNSUPPORTED, ENOSYS, "the backend does not count");
	pool->has_counted = false;
	r = backend->count(maker->instance, err);
	if (r < 0)
		return r;
	while (!pool->has_counted && !maker->is_lost)
		(void)uv_run(pool->loop, UV_RUN_ONCE);
	if (!pool->has_counted) {
		*err = maker->why;
		return -maker->why.num;
	}
	*ret_counted = pool->counted;
	return 0;
}
