// SPDX-License-Identifier: Apache-2.0
/*
 * Bench - how fast and how small sandboxes are on this host, beside the same Python without walls
 *
 * Owns:    the measurements. Everything that is compared is measured in turns, in one run, so that
 *          what else the machine does falls on both sides.
 * May not: be a test: a figure over its target is told, not failed.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/types.h>

#include "base/err.h"
#include "cli/trial.h"
#include "policy/runtime.h"

/* ---- samples ---- */

struct samples {
	uint64_t *ns; /* owned */
	size_t count;
	size_t capacity;
};

void samples_add(struct samples *samples, uint64_t ns);
void samples_done(struct samples *samples);

/* The value below which `share` (0 to 1) of the samples lie, in microseconds; 0 without samples. */
double samples_us(struct samples *samples, double share);

/* ---- the twin: a zygote's interpreter, ready to fork, without walls (bench_twin.c) ---- */

struct twin {
	pid_t pid;
	int to, from; /* owned */
};

enum twin_task {
	TWIN_FORK,    /* one bare fork + exit + wait */
	TWIN_BURST,   /* `count` of them, eight at a time */
	TWIN_READY,   /* the same, and each child makes itself ready for a run before it ends */
	TWIN_GROUPBY, /* bench_groupby, in the warm interpreter itself */
	TWIN_CPU,     /* processor time used so far, with that of its children */
	TWIN_HOLD,    /* as many live children as `count`, ready for a run, and no more */
};

/* Starts it and waits until its imports are done. */
int twin_open(const struct runtime *runtime, struct twin *ret_twin, struct err *err);
void twin_close(struct twin *twin);

/* Nanoseconds, measured by the twin itself. */
int twin_ask(struct twin *twin, enum twin_task task, uint32_t count, uint64_t *ret_ns,
	     struct err *err);

/* bubblewrap + a fresh python3 that runs bench_groupby; -ENOENT where there is no bubblewrap. */
int bwrap_run(const struct runtime *runtime, uint64_t *ret_ns, struct err *err);

/* What is run: a print, and a small analysis with its imports. */
extern const char bench_print[];
extern const char bench_groupby[];

/* ---- processes (bench_proc.c) ---- */

#define PROC_TREE_MAX 8192

/* `root` and everything below it. Returns the count. */
size_t proc_tree(pid_t root, pid_t *ret_pids, size_t max);

/* Processor time of the tree, with that of children that have ended. Nanoseconds. */
uint64_t proc_tree_cpu_ns(pid_t root);

/* Memory that only this process holds, and all it maps; bytes. 0: not to be seen by this user. */
uint64_t proc_private(pid_t pid);
uint64_t proc_rss(pid_t pid);

/* Bytes that new processes could have. */
uint64_t memory_available(void);

/* Uses that much memory for a moment. A virtual machine gets its memory from its host at the first
 * touch, at three times the price, and gives it back when it lies idle: what is measured after this
 * does not pay for that. */
void memory_touch(uint64_t bytes);

/* ---- sandboxes (bench_pool.c) ---- */

struct bench {
	struct trial trial;
	struct twin twin;
	struct box_kind kind; /* runtime borrowed from the config */
	uint32_t keep;        /* sandboxes kept ready now */
};

/* Keeps `count` ready and waits until they are. */
int bench_keep(struct bench *bench, uint32_t count, struct err *err);

/* One run in a ready sandbox: from request to verdict. Settles first, unmeasured. */
int bench_one(struct bench *bench, const char *code, uint64_t *ret_ns, struct err *err);

/* `runs` runs, `width` at a time, each in a fresh sandbox. */
int bench_burst(struct bench *bench, const char *code, uint32_t runs, uint32_t width,
		uint64_t *ret_ns, struct err *err);

/* Waits until launch holds nothing but what is kept ready. */
int bench_settle(struct bench *bench, struct backend_counted *ret_counted, struct err *err);

/* ---- figures (bench_figures.c) ---- */

struct bench_size {
	uint32_t rounds; /* of the interleaved part */
	uint32_t spawns; /* for rates and processor time */
	uint32_t live;   /* most live sandboxes */
	uint32_t runs;   /* of the leak check */
};

/* Each puts its figures into `report`: "figures" (rows with name, value, unit, ratio, target, met),
 * "live" and "leaks". */
int bench_latency(struct bench *bench, const struct bench_size *size, json_t *report,
		  struct err *err);
int bench_spawns(struct bench *bench, const struct bench_size *size, json_t *report,
		 struct err *err);
int bench_live(struct bench *bench, const struct bench_size *size, json_t *report, struct err *err);
int bench_leaks(struct bench *bench, const struct bench_size *size, json_t *report,
		struct err *err);
