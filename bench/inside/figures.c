// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include <sys/resource.h>

#include "base/c.h"
#include "bench.h"

#define POOL_SIZE 4
#define BURST_WIDTH 8
#define CPU_TURNS 8
#define BWRAP_SHARE 10 /* one bubblewrap for so many rounds: it is that slow */
#define LIVE_EXTRA 40  /* sandboxes by which a rate beside live ones is measured */
#define LIVE_SIZE (4 * MIB)

enum target {
	AT_MOST,
	AT_LEAST,
};

/* One row of "figures". `ratio` < 0: there is nothing to compare with. */
static void add_figure(json_t *report, const char *name, double value, const char *unit,
		       const char *against, double ratio, enum target kind, double target)
{
	double judged = ratio >= 0 ? ratio : value;
	bool is_met = kind == AT_MOST ? judged <= target : judged >= target;
	json_t *row = json_pack("{s:s, s:f, s:s, s:s, s:s, s:f, s:b}", "name", name, "value", value,
				"unit", unit, "against", against, "relation",
				kind == AT_MOST ? "at most" : "at least", "target", target, "met",
				is_met);

	(void)json_object_set_new(row, "ratio", ratio >= 0 ? json_real(ratio) : json_null());
	(void)json_array_append_new(json_object_get(report, "figures"), row);
}

static void add_plain(json_t *report, const char *name, double value, const char *unit)
{
	(void)json_array_append_new(json_object_get(report, "figures"),
				    json_pack("{s:s, s:f, s:s, s:n}", "name", name, "value", value,
					      "unit", unit, "ratio"));
}

/* Everything whose ratio counts, measured in turns. */
struct turns {
	struct samples fork, print, warm, groupby, bwrap;
};

static int take_turn(struct bench *bench, struct turns *turns, bool with_bwrap, struct err *err)
{
	uint64_t ns;
	int r;

	r = twin_ask(&bench->twin, TWIN_FORK, 1, &ns, err);
	if (r < 0)
		return r;
	samples_add(&turns->fork, ns);

	r = bench_one(bench, bench_print, &ns, err);
	if (r < 0)
		return r;
	samples_add(&turns->print, ns);

	r = twin_ask(&bench->twin, TWIN_GROUPBY, 1, &ns, err);
	if (r < 0)
		return r;
	samples_add(&turns->warm, ns);

	r = bench_one(bench, bench_groupby, &ns, err);
	if (r < 0)
		return r;
	samples_add(&turns->groupby, ns);

	if (!with_bwrap)
		return 0;
	r = bwrap_run(bench->kind.runtime, &ns, err);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	samples_add(&turns->bwrap, ns);
	return 0;
}

static void tell_turns(struct turns *turns, json_t *report)
{
	double fork = samples_us(&turns->fork, 0.5);
	double print = samples_us(&turns->print, 0.5);
	double warm = samples_us(&turns->warm, 0.5);
	double groupby = samples_us(&turns->groupby, 0.5);
	double bwrap = samples_us(&turns->bwrap, 0.5);

	add_plain(report, "bare fork + exit + wait, p50", fork / 1e3, "ms");
	add_figure(report, "pooled print(1), p50", print / 1e3, "ms", "a bare fork", print / fork,
		   AT_MOST, 0.4);
	add_plain(report, "pooled print(1), p99", samples_us(&turns->print, 0.99) / 1e3, "ms");
	add_plain(report, "groupby in a warm interpreter, p50", warm / 1e3, "ms");
	add_figure(report, "pooled groupby of 10k rows, p50", groupby / 1e3, "ms",
		   "a warm interpreter", groupby / warm, AT_MOST, 3.5);
	if (bwrap > 0) {
		add_plain(report, "groupby by bubblewrap + python3, p50", bwrap / 1e3, "ms");
		add_figure(report, "pooled groupby is faster by", bwrap / groupby, "x",
			   "bubblewrap + python3", bwrap / groupby, AT_LEAST, 25);
	}
}

int bench_latency(struct bench *bench, const struct bench_size *size, json_t *report,
		  struct err *err)
{
	struct turns turns = {0};
	uint64_t ns;
	int r;

	r = bench_keep(bench, POOL_SIZE, err);
	for (uint32_t i = 0; r == 0 && i < 5; i++)
		r = bench_one(bench, bench_groupby, &ns, err);
	for (uint32_t i = 0; r == 0 && i < 5; i++)
		r = twin_ask(&bench->twin, TWIN_GROUPBY, 1, &ns, err);
	for (uint32_t i = 0; r == 0 && i < size->rounds; i++)
		r = take_turn(bench, &turns, i % BWRAP_SHARE == 0, err);
	if (r == 0)
		tell_turns(&turns, report);

	samples_done(&turns.fork);
	samples_done(&turns.print);
	samples_done(&turns.warm);
	samples_done(&turns.groupby);
	samples_done(&turns.bwrap);
	return r;
}

/* Processor time that the twin takes for `spawns` forks of a kind, added to *sum_ns. */
static int add_fork_cpu(struct bench *bench, enum twin_task task, uint32_t spawns, uint64_t *sum_ns,
			struct err *err)
{
	uint64_t before = 0;
	uint64_t after = 0;
	uint64_t ns;
	int r;

	r = twin_ask(&bench->twin, TWIN_CPU, 0, &before, err);
	if (r == 0)
		r = twin_ask(&bench->twin, task, spawns, &ns, err);
	if (r == 0)
		r = twin_ask(&bench->twin, TWIN_CPU, 0, &after, err);
	*sum_ns += after - before;
	return r;
}

/* Makes `spawns` sandboxes and ends them, unused. */
static int spawn_and_end(struct bench *bench, uint32_t spawns, struct err *err)
{
	struct backend_counted counted;
	int r;

	r = bench_keep(bench, spawns, err);
	if (r == 0)
		r = bench_keep(bench, 0, err);
	return r < 0 ? r : bench_settle(bench, &counted, err);
}

/*
 * What isolation costs: a sandbox that is made, waits unused and is ended, less a fork of the same
 * interpreter that does the same Python (its own random numbers, a rehearsed cell) without walls.
 * In turns; launch's clock has ticks of 10 ms, so it is read only before the first and after the
 * last: it stands still while the twin works.
 */
static int measure_cpu(struct bench *bench, uint32_t spawns, json_t *report, struct err *err)
{
	const uint32_t chunk = spawns / CPU_TURNS;
	pid_t launch = pool_helper(bench->trial.pool, bench->kind.backend);
	uint64_t before;
	uint64_t ready_ns = 0;
	uint64_t bare_ns = 0;
	double walled;
	double ready;
	int r;

	r = spawn_and_end(bench, 1, err);
	before = proc_tree_cpu_ns(launch);
	for (uint32_t i = 0; r == 0 && i < CPU_TURNS; i++) {
		r = spawn_and_end(bench, chunk, err);
		if (r == 0)
			r = add_fork_cpu(bench, TWIN_BURST, chunk, &bare_ns, err);
		if (r == 0)
			r = add_fork_cpu(bench, TWIN_READY, chunk, &ready_ns, err);
	}
	if (r < 0)
		return r;

	spawns = chunk * CPU_TURNS;
	walled = (double)(proc_tree_cpu_ns(launch) - before) / spawns / 1e6;
	ready = (double)ready_ns / spawns / 1e6;
	add_plain(report, "processor time of a bare fork", (double)bare_ns / spawns / 1e6, "ms");
	add_plain(report, "processor time of a fork ready for a run", ready, "ms");
	add_plain(report, "processor time of a sandbox", walled, "ms");
	add_figure(report, "processor time that isolation adds", walled - ready, "ms", "", -1,
		   AT_MOST, 0.5);
	return 0;
}

static int measure_rate(struct bench *bench, uint32_t spawns, json_t *report, struct err *err)
{
	uint64_t bare_ns = 0;
	uint64_t walled_ns = 0;
	uint64_t ns;
	int r;

	r = bench_keep(bench, BURST_WIDTH, err);
	for (uint32_t i = 0; r == 0 && i < 4; i++) {
		r = twin_ask(&bench->twin, TWIN_BURST, spawns / 4, &ns, err);
		bare_ns += ns;
		if (r == 0)
			r = bench_burst(bench, bench_print, spawns / 4, BURST_WIDTH, &ns, err);
		walled_ns += ns;
	}
	if (r < 0)
		return r;
	spawns = spawns / 4 * 4;
	add_plain(report, "bare forks, sustained", spawns / ((double)bare_ns / 1e9), "/s");
	add_figure(report, "fresh sandboxes with a run each, sustained",
		   spawns / ((double)walled_ns / 1e9), "/s", "bare forks",
		   (double)bare_ns / (double)walled_ns, AT_LEAST, 0.5);
	return 0;
}

/* Memory that exists only because a sandbox waits: its interpreter and its init. */
static int measure_memory(struct bench *bench, json_t *report, struct err *err)
{
	const uint32_t count = 32;
	pid_t launch = pool_helper(bench->trial.pool, bench->kind.backend);
	pid_t *before = xcalloc(PROC_TREE_MAX, sizeof(*before));
	pid_t *after = xcalloc(PROC_TREE_MAX, sizeof(*after));
	struct backend_counted counted;
	size_t before_count = 0;
	size_t after_count = 0;
	uint64_t bytes = 0;
	int r;

	r = bench_keep(bench, 0, err);
	if (r == 0)
		r = bench_settle(bench, &counted, err);
	if (r == 0) {
		before_count = proc_tree(launch, before, PROC_TREE_MAX);
		r = bench_keep(bench, count, err);
	}
	if (r == 0)
		after_count = proc_tree(launch, after, PROC_TREE_MAX);
	for (size_t i = 0; i < after_count; i++) {
		bool is_new = true;

		for (size_t j = 0; j < before_count; j++)
			is_new = is_new && before[j] != after[i];
		if (is_new)
			bytes += proc_private(after[i]);
	}
	free(before);
	free(after);
	if (r < 0)
		return r;
	if (bytes > 0)
		add_figure(report, "private memory of an idle sandbox",
			   (double)bytes / count / (double)MIB, "MiB", "", -1, AT_MOST, 4);
	return bench_keep(bench, POOL_SIZE, err);
}

int bench_spawns(struct bench *bench, const struct bench_size *size, json_t *report,
		 struct err *err)
{
	int r;

	r = measure_cpu(bench, size->spawns, report, err);
	if (r == 0)
		r = measure_rate(bench, size->spawns, report, err);
	return r < 0 ? r : measure_memory(bench, report, err);
}

/* Each sandbox takes four descriptors here and up to six in launch, and some memory. */
static bool has_room(uint32_t live)
{
	struct rlimit files;

	return getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur > live * 8ULL + 256 &&
	       memory_available() > live * (16 * MIB);
}

/* The same without walls: how fast the twin makes forks ready for a run beside so many others. */
static int live_forks(struct bench *bench, uint32_t live, double *ret_rate, struct err *err)
{
	uint64_t ns;
	int r;

	r = twin_ask(&bench->twin, TWIN_HOLD, live, &ns, err);
	if (r == 0)
		r = twin_ask(&bench->twin, TWIN_HOLD, live + LIVE_EXTRA, &ns, err);
	*ret_rate = LIVE_EXTRA / ((double)ns / 1e9);
	return r < 0 ? r : twin_ask(&bench->twin, TWIN_HOLD, 0, &ns, err);
}

static int measure_live(struct bench *bench, uint32_t live, uint32_t rounds, json_t *rows,
			struct err *err)
{
	struct samples print = {0};
	double forks = 0;
	uint64_t start;
	double rate = 0;
	uint64_t ns;
	int r;

	memory_touch((live + LIVE_EXTRA) * LIVE_SIZE);
	r = live_forks(bench, live, &forks, err);
	if (r == 0)
		r = bench_keep(bench, live, err);
	for (uint32_t i = 0; r == 0 && i < rounds; i++) {
		r = bench_one(bench, bench_print, &ns, err);
		if (r == 0)
			samples_add(&print, ns);
	}
	if (r == 0) {
		start = now_ns();
		r = bench_keep(bench, live + LIVE_EXTRA, err);
		rate = LIVE_EXTRA / ((double)(now_ns() - start) / 1e9);
	}
	if (r == 0)
		(void)json_array_append_new(
			rows, json_pack("{s:i, s:f, s:f, s:f, s:f}", "live", (int)live, "p50_ms",
					samples_us(&print, 0.5) / 1e3, "p99_ms",
					samples_us(&print, 0.99) / 1e3, "spawns_per_s", rate,
					"forks_per_s", forks));
	samples_done(&print);
	return r;
}

int bench_live(struct bench *bench, const struct bench_size *size, json_t *report, struct err *err)
{
	json_t *rows = json_array();
	int r = 0;

	(void)json_object_set_new(report, "live", rows);
	for (uint32_t live = 1; r == 0 && live <= size->live; live *= 10) {
		if (!has_room(live)) {
			(void)json_array_append_new(
				rows,
				json_pack("{s:i, s:s}", "live", (int)live, "skipped",
					  "too few descriptors (ulimit -n) or too little memory"));
			break;
		}
		r = measure_live(bench, live, size->rounds / 2 + 1, rows, err);
	}
	return r < 0 ? r : bench_keep(bench, POOL_SIZE, err);
}
