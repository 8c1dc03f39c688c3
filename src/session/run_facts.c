// SPDX-License-Identifier: Apache-2.0
#include "backend/backend.h"
#include "base/c.h"
#include "session/run_state.h"

void run_leave(struct run *run, enum run_left left, const char *checkpoint)
{
	run->left = left;
	buf_consume(&run->checkpoint, run->checkpoint.size);
	(void)buf_text(&run->checkpoint, checkpoint);
}

bool run_has_begun(const struct run *run)
{
	return run->begun_ns > 0;
}

bool run_is_running(const struct run *run)
{
	return run->state == RUN_RUNNING || run->state == RUN_ENDING;
}

const char *run_blocker(const struct run *run)
{
	return run->extras.blocker;
}

enum testimony_failed run_failed(const struct run *run)
{
	return run->is_look ? FAILED_NOT : run->extras.failed;
}

bool run_is_look(const struct run *run)
{
	return run->is_look;
}

void run_hold(struct run *run, bool is_held)
{
	if (run->state != RUN_RUNNING || run->channel == NULL)
		return;
	if (is_held)
		channel_pause(run->channel);
	else
		channel_resume(run->channel);
}

bool run_files_dirty(const struct run *run)
{
	return run->extras.is_files_dirty;
}

bool run_is_over(const struct run *run)
{
	return run->state == RUN_OVER;
}

struct events *run_events(struct run *run)
{
	return &run->events;
}

/* Launch hears of a run's beginning when a short one is over: what the interpreter itself has used
 * since its code was sent is counted, too. */
void run_take_exit(struct run *run, const struct box_exit *facts)
{
	struct box_exit *exit = &run->facts.exit;
	uint64_t before = run->mark.own_us;

	run->facts.has_exit = true;
	*exit = *facts;
	if (run->own_us > exit->cpu_us)
		exit->cpu_us = run->own_us;
	if (run->mark.is_set && facts->own_us > before && facts->own_us - before > exit->cpu_us)
		exit->cpu_us = facts->own_us - before;
}

struct run_facts run_facts(const struct run *run)
{
	uint64_t end = run->state == RUN_OVER ? run->over_ns : now_ns();
	uint64_t begun = run->begun_ns > 0 ? run->begun_ns : end;

	return (struct run_facts){
		.id = run->id,
		.runtime = run->runtime,
		.backend = run->backend,
		.walls = run->hello.walls,
		.is_claimed = run->elsewhere != NULL && run->elsewhere->jobs->is_claimed,
		.has_limits =
			!run->no_limits && run->backend[0] != '\0', /* none: it was in no sandbox */
		.limits = run->limits,
		.verdict = run->verdict,
		.usage =
			{
				.queue_ms = (double)(begun - run->asked_ns) / 1e6,
				.wall_ms = (double)(end - begun) / 1e6,
				.cpu_ms = (double)run->facts.exit.cpu_us / 1e3,
				.peak_memory = run->facts.exit.peak,
				.output_bytes = run->streams[0].seen + run->streams[1].seen,
			},
		.truncated =
			{
				.out = run->streams[0].is_cut,
				.err = run->streams[1].is_cut,
				.files = run->is_files_cut,
				.result = run->is_result_cut,
				.events = run->is_events_cut,
			},
		.out = &run->streams[0].kept,
		.err = &run->streams[1].kept,
		.result = &run->parts[PART_RESULT],
		.error = &run->parts[PART_ERROR],
		.table = &run->parts[PART_TABLE],
		.displays = &run->parts[PART_DISPLAYS],
		.charts = &run->parts[PART_CHARTS],
		.files = &run->parts[PART_FILES],
		.saved = &run->parts[PART_SAVED],
		.missing = &run->extras.missing,
		.pid = run->hello.pid,
		.memory = run->facts.exit.memory,
		.left = run->left,
		.checkpoint = &run->checkpoint,
	};
}
