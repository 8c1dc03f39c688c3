// SPDX-License-Identifier: Apache-2.0
#include "base/c.h"
#include "bench.h"

#define LEAK_WIDTH 8
#define WARM_UP_RUNS 200
#define ROUNDS_MAX 4
#define RSS_SLACK (512 * KIB) /* what an allocator may keep back */

/* What launch and viv hold, with the pool at rest. */
enum {
	HELD_SANDBOXES,
	HELD_ZYGOTES,
	HELD_ROOTS,
	HELD_NETNS,
	HELD_CGROUPS,
	HELD_FDS_OUTER,
	HELD_FDS_INNER,
	HELD_FDS_VIV,
	HELD_PROCESSES,
	HELD_MOUNTS,
	HELD_RSS_OUTER,
	HELD_RSS_INNER,
	HELD_COUNT,
};

static uint64_t count_lines(const char *path)
{
	FILE *stream = fopen(path, "re");
	uint64_t lines = 0;
	int byte;

	if (stream == NULL)
		return 0;
	while ((byte = getc(stream)) != EOF)
		lines += byte == '\n';
	(void)fclose(stream);
	return lines;
}

/* The next number a new descriptor would get says how far ours reach. */
static uint64_t own_fds(void)
{
	int fd = dup(STDERR_FILENO);

	if (fd >= 0)
		(void)close(fd);
	return fd >= 0 ? (uint64_t)fd : 0;
}

static int take_stock(struct bench *bench, uint64_t ret_values[HELD_COUNT], struct err *err)
{
	pid_t outer = pool_helper(bench->trial.pool, bench->kind.backend);
	pid_t *pids = xcalloc(PROC_TREE_MAX, sizeof(*pids));
	struct backend_counted counted = {0};
	char path[48];
	size_t processes;
	pid_t inner;
	int r;

	r = bench_settle(bench, &counted, err);
	processes = proc_tree(outer, pids, PROC_TREE_MAX);
	inner = processes > 1 ? pids[1] : 0; /* the outer half has but one child */
	free(pids);
	if (r < 0)
		return r;

	(void)snprintf(path, sizeof(path), "/proc/%d/mountinfo", inner);
	ret_values[HELD_SANDBOXES] = counted.sandboxes;
	ret_values[HELD_ZYGOTES] = counted.zygotes;
	ret_values[HELD_ROOTS] = counted.roots;
	ret_values[HELD_NETNS] = counted.netns;
	ret_values[HELD_CGROUPS] = counted.cgroups;
	ret_values[HELD_FDS_OUTER] = counted.fds_outer;
	ret_values[HELD_FDS_INNER] = counted.fds_inner;
	ret_values[HELD_FDS_VIV] = own_fds();
	ret_values[HELD_PROCESSES] = processes;
	ret_values[HELD_MOUNTS] = count_lines(path);
	ret_values[HELD_RSS_OUTER] = proc_rss(outer);
	ret_values[HELD_RSS_INNER] = proc_rss(inner);
	return 0;
}

static const struct {
	const char *name;
	uint64_t slack;
} held_rows[HELD_COUNT] = {
	[HELD_SANDBOXES] = {"sandboxes", 0},
	[HELD_ZYGOTES] = {"zygotes", 0},
	[HELD_ROOTS] = {"roots", 0},
	[HELD_NETNS] = {"netns", 0},
	[HELD_CGROUPS] = {"cgroups", 0},
	[HELD_FDS_OUTER] = {"fds of launch, outer", 0},
	[HELD_FDS_INNER] = {"fds of launch, inner", 0},
	[HELD_FDS_VIV] = {"fds of viv", 0},
	[HELD_PROCESSES] = {"processes", 0},
	[HELD_MOUNTS] = {"mounts", 0},
	[HELD_RSS_OUTER] = {"memory of launch, outer", RSS_SLACK},
	[HELD_RSS_INNER] = {"memory of launch, inner", RSS_SLACK},
};

static bool is_grown(const uint64_t before[HELD_COUNT], const uint64_t after[HELD_COUNT], size_t i)
{
	return after[i] > before[i] + held_rows[i].slack;
}

static bool has_grown(const uint64_t before[HELD_COUNT], const uint64_t after[HELD_COUNT])
{
	for (size_t i = 0; i < HELD_COUNT; i++) {
		if (is_grown(before, after, i))
			return true;
	}
	return false;
}

static void tell_stock(const uint64_t before[HELD_COUNT], const uint64_t after[HELD_COUNT],
		       uint32_t runs, double seconds, json_t *report)
{
	json_t *held = json_array();

	for (size_t i = 0; i < HELD_COUNT; i++)
		(void)json_array_append_new(
			held, json_pack("{s:s, s:I, s:I, s:b}", "name", held_rows[i].name, "before",
					(json_int_t)before[i], "after", (json_int_t)after[i],
					"grown", is_grown(before, after, i)));
	(void)json_object_set_new(report, "leaks",
				  json_pack("{s:i, s:f, s:b, s:o}", "runs", (int)runs, "runs_per_s",
					    runs / seconds, "grown", has_grown(before, after),
					    "held", held));
}

int bench_leaks(struct bench *bench, const struct bench_size *size, json_t *report, struct err *err)
{
	uint64_t before[HELD_COUNT] = {0};
	uint64_t after[HELD_COUNT] = {0};
	uint32_t runs = size->runs;
	uint64_t ns = 1;
	int r;

	/* Pools inside launch fill up to what a burst needs; that is no leak, so it comes first.
	 * On a busy host a later burst may need more. A leak grows again, and by more in twice as
	 * many runs; a pool that is full does not. */
	r = bench_keep(bench, LEAK_WIDTH, err);
	if (r == 0)
		r = bench_burst(bench, bench_print, WARM_UP_RUNS, LEAK_WIDTH, &ns, err);
	if (r == 0)
		r = take_stock(bench, before, err);
	for (unsigned round = 0; r == 0 && round < ROUNDS_MAX; round++) {
		if (round > 0) {
			memcpy(before, after, sizeof(before));
			runs *= 2;
		}
		r = bench_burst(bench, bench_print, runs, LEAK_WIDTH, &ns, err);
		if (r == 0)
			r = take_stock(bench, after, err);
		if (r == 0 && !has_grown(before, after))
			break;
	}
	if (r == 0)
		tell_stock(before, after, runs, (double)ns / 1e9, report);
	return r;
}
