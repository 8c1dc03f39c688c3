// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "base/c.h"
#include "bench.h"

#define BENCH_TIMEOUT_MS 60000
#define READY_MS 120000
#define SETTLE_MS 30000

/* A burst of runs under way. */
struct burst {
	struct bench *bench;
	struct run_request request;
	uint32_t to_start;
	uint32_t running;
	struct err err; /* of the first run that failed */
};

static struct run_request request_of(const struct bench *bench, const char *code)
{
	struct run_request request =
		trial_request(bench->kind.runtime, &bench->kind.plan, code, BENCH_TIMEOUT_MS);

	request.kind = bench->kind;
	return request;
}

/* A run that did not end well measures nothing. */
static int check_run(const struct run *run, struct err *err)
{
	struct run_facts facts = run_facts(run);

	if (facts.verdict.kind == VERDICT_OK)
		return 0;
	return err_set(err, ERR_INTERNAL, EIO, "a run ended as %s: %.300s",
		       verdict_name(facts.verdict.kind), facts.verdict.message);
}

static int wait_ready(struct bench *bench, struct err *err)
{
	uint64_t end = now_ns() + READY_MS * 1000000ULL;
	uint32_t ready = 0;
	uint32_t coming = 0;

	for (;;) {
		pool_ready(bench->trial.pool, &bench->kind, &ready, &coming);
		if (ready >= bench->keep && coming == 0)
			return 0;
		if (now_ns() > end)
			return err_set(err, ERR_INTERNAL, ETIMEDOUT,
				       "only %u of %u sandboxes are ready", ready, bench->keep);
		(void)uv_run(&bench->trial.loop, UV_RUN_ONCE);
	}
}

int bench_keep(struct bench *bench, uint32_t count, struct err *err)
{
	int r;

	bench->keep = count;
	r = pool_keep(bench->trial.pool, &bench->kind, count, err);
	return r < 0 ? r : wait_ready(bench, err);
}

int bench_settle(struct bench *bench, struct backend_counted *ret_counted, struct err *err)
{
	uint64_t end = now_ns() + SETTLE_MS * 1000000ULL;
	int r;

	r = wait_ready(bench, err);
	if (r < 0)
		return r;
	do {
		r = pool_count(bench->trial.pool, bench->kind.backend, ret_counted, err);
		if (r < 0)
			return r;
		if (ret_counted->sandboxes <= bench->keep)
			return 0;
		uv_sleep(2);
	} while (now_ns() < end);
	return err_set(err, ERR_INTERNAL, ETIMEDOUT, "launch still holds %u sandboxes, %u are kept",
		       ret_counted->sandboxes, bench->keep);
}

int bench_one(struct bench *bench, const char *code, uint64_t *ret_ns, struct err *err)
{
	struct run_request request = request_of(bench, code);
	const struct run_calls calls = {0};
	struct backend_counted counted;
	struct run *run = NULL;
	uint64_t start;
	int r;

	/* The last run's sandbox is taken apart first: its end is not this run's latency. */
	r = bench_settle(bench, &counted, err);
	if (r < 0)
		return r;

	start = now_ns();
	r = run_start(bench->trial.pool, &request, &calls, NULL, &run, err);
	if (r < 0)
		return r;
	run_wait(run);
	*ret_ns = now_ns() - start;

	r = check_run(run, err);
	run_free(run);
	return r;
}

static void burst_done(void *user, struct run *run);

static void burst_start(struct burst *burst)
{
	const struct run_calls calls = {.done = burst_done};
	struct run *run = NULL;

	burst->to_start--;
	if (run_start(burst->bench->trial.pool, &burst->request, &calls, burst, &run,
		      &burst->err) == 0)
		burst->running++;
	else
		burst->to_start = 0;
}

static void burst_done(void *user, struct run *run)
{
	struct burst *burst = user;
	struct err err = {0};

	if (check_run(run, &err) < 0) {
		burst->err = err;
		burst->to_start = 0;
	}
	run_free(run);
	burst->running--;
	if (burst->to_start > 0)
		burst_start(burst);
}

int bench_burst(struct bench *bench, const char *code, uint32_t runs, uint32_t width,
		uint64_t *ret_ns, struct err *err)
{
	struct burst burst = {.bench = bench, .request = request_of(bench, code), .to_start = runs};
	uint64_t start = now_ns();

	while (burst.to_start > 0 && burst.running < width)
		burst_start(&burst);
	while (burst.running > 0)
		(void)uv_run(&bench->trial.loop, UV_RUN_ONCE);
	*ret_ns = now_ns() - start;
	if (burst.err.kind != ERR_NONE) {
		*err = burst.err;
		return -err->num;
	}
	return 0;
}
