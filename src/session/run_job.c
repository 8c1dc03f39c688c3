// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/choose.h"
#include "base/c.h"
#include "base/json.h"
#include "session/run_state.h"
#include "session/shape.h"

#define ELSEWHERE "remote" /* the runtime of a run elsewhere, until the other side names it */
#define TRIES 2U           /* a sidecar is asked at most twice */
#define SLACK_MS 10000U

static bool find(const char *object, size_t size, const char *name, char kind,
		 const char **ret_value, size_t *ret_size)
{
	return json_find(object, size, name, ret_value, ret_size) && (*ret_value)[0] == kind;
}

/* ---- which backend ---- */

bool run_is_job(const struct run *run)
{
	const struct run_place *place = &run->place;

	return place->host == NULL && place->maker != NULL && place->maker->jobs != NULL;
}

/* The use that a backend must support to do this run. */
static enum backend_use run_use(const struct run_request *request)
{
	if (request->kind.runtime->is_shell)
		return request->kind.data != NULL ? BACKEND_EXPLORE : BACKEND_EXPLORE_AWAY;
	return request->is_command ? BACKEND_COMMAND : BACKEND_PYTHON;
}

int run_choose(struct pool *pool, struct run_request *request, struct err *err)
{
	const struct backend_host host = pool_host(pool);
	const struct backend *backend = NULL;
	struct err why = {0};
	bool is_away;
	int r = backend_choose(&host, run_use(request), request->backend, request->is_sidecar,
			       &backend, err);

	if (r < 0)
		return r;
	is_away = backend->jobs != NULL && backend->jobs->is_claimed;
	/* A run that only this host can do goes to a backend that makes sandboxes here. A pin still
	 * holds. */
	if (is_away && order_check(request, &why) < 0 &&
	    (request->kind.runtime->is_shell ||
	     backend_choose(&host, BACKEND_SESSION, request->backend, request->is_sidecar, &backend,
			    err) < 0)) {
		*err = why;
		return -why.num;
	}
	request->kind.backend = backend;
	return 0;
}

/* ---- calls of the job ---- */

static void job_started(void *user, const char *runtime)
{
	struct run *run = user;

	if (run->told.is_started || run->state != RUN_RUNNING)
		return;
	if (runtime[0] != '\0') {
		free(run->runtime);
		run->runtime = xstrdup(runtime);
	}
	run_tell_started(run);
}

static void job_output(void *user, int stream, const void *bytes, size_t size)
{
	struct run *run = user;

	if (run->state != RUN_RUNNING)
		return;
	run_tell_started(run);
	run_bytes_in(run, stream, bytes, size);
}

static void job_text(void *user, int stream, const char *value, size_t size)
{
	struct buf text;

	buf_init(&text, size + 8);
	if (testimony_decode(&text, value, size) == 0)
		job_output(user, stream, text.data, text.size);
	buf_done(&text);
}

/* Takes the fact of a file. Its bytes go to run_take_base64. */
static void take_file(struct run *run, const char *value, size_t size)
{
	char path[RUN_FILE_PATH_MAX + 1] = "";
	const char *part = NULL;
	size_t part_size = 0;

	if (!find(value, size, "path", '"', &part, &part_size))
		return;
	testimony_text(part, part_size, path, sizeof(path));
	if (find(value, size, "base64", '"', &part, &part_size))
		run_take_base64(run, path, part, part_size);
	run_take_fact(run, "file", value, size);
}

static void job_fact(void *user, const char *type, const char *value, size_t size)
{
	struct run *run = user;

	if (run->state != RUN_RUNNING)
		return;
	run_tell_started(run);
	if (strcmp(type, "file") == 0)
		take_file(run, value, size);
	else
		run_take_fact(run, type, value, size);
}

/* ---- the end of the job ---- */

/* Only names that this version knows are passed on. */
static void take_walls(struct run *run, struct span list)
{
	run->place.hello.walls = 0;
	for (enum wall_id id = 0; id < WALL_COUNT; id++) {
		char quoted[32];
		int n = snprintf(quoted, sizeof(quoted), "\"%s\"", wall_name(id));

		if (list.size > 0 && list.at[0] == '[' &&
		    memmem(list.at, list.size, quoted, (size_t)n) != NULL)
			run->place.hello.walls |= 1U << id;
	}
}

static void take_limits(struct run *run, struct span value)
{
	char name[16] = "";

	if (value.size > 0)
		testimony_text(value.at, value.size, name, sizeof(name));
	for (size_t i = 0; limits_names[i] != NULL; i++) {
		if (strcmp(limits_names[i], name) == 0) {
			run->place.limits = (enum box_limits)i;
			run->place.has_limits = true;
		}
	}
}

/* Appends the text between the brackets of a list of texts. */
static void take_texts(struct span list, struct buf *buf)
{
	if (list.size > 2 && shape_fits("text[]", strlen("text[]"), list.at, list.size))
		(void)testimony_ascii(buf, list.at + 1, list.size - 2);
}

/* Takes the result of the job. If another machine did the run, all of it is only a claim. */
static void take_end(struct run *run, const struct result *end)
{
	run->job.claim = end->verdict;
	run->job.claim.by =
		run->place.maker->jobs->is_claimed ? VERDICT_BY_REMOTE : VERDICT_BY_SUPERVISOR;
	take_walls(run, end->members[RESULT_WALLS]);
	take_limits(run, end->members[RESULT_LIMITS]);
	fields_read(allowed_fields, end->members[RESULT_ALLOWED].at,
		    end->members[RESULT_ALLOWED].size, &run->end.allowed);
	run->end.facts.exit.cpu_us = (uint64_t)(1000 * end->usage.cpu_ms);
	run->end.facts.exit.peak = end->usage.peak_memory;
	run->told.cut.out |= end->truncated.out;
	run->told.cut.err |= end->truncated.err;
	run->told.cut.files |= end->truncated.files;
	run->told.cut.result |= end->truncated.result;
	run->told.cut.events |= end->truncated.events;
	take_texts(end->members[RESULT_MISSING], &run->end.extras.missing);
	take_texts(end->members[RESULT_LEFT_OUT], &run->end.extras.left_out);
}

static void job_ended(void *user, const char *event, size_t size, const struct err *why)
{
	struct run *run = user;
	struct result end;

	run->job.job = NULL;
	if (run->state != RUN_RUNNING)
		return;
	run_tell_started(run);
	if (event == NULL) {
		run->end.facts.why = *why;
	} else {
		result_read(event, size, &end);
		take_end(run, &end);
		if (run->job.claim.kind == VERDICT_NONE)
			(void)err_set(&run->end.facts.why, ERR_INTERNAL, EPROTO,
				      "the end of the run was reported without a verdict");
	}
	run_finish(run);
}

/* ---- the start of the job ---- */

int run_job_prepare(struct run *run, const struct run_request *request, struct err *err)
{
	int r = order_make(request, &run->job.order, err);

	if (r < 0)
		return r;
	run->place.backend = run->place.maker->name;
	run->job.use = run_use(request);
	/* The limits that were requested need not be those that the other side grants. */
	run->end.allowed.memory = 0;
	run->end.allowed.cpus = 0;
	free(run->runtime);
	run->runtime =
		xstrdup(request->kind.runtime->is_shell ? request->kind.runtime->name : ELSEWHERE);
	return 0;
}

void run_job_go(struct run *run)
{
	static const struct backend_job_calls calls = {
		.started = job_started,
		.output = job_output,
		.text = job_text,
		.fact = job_fact,
		.ended = job_ended,
	};
	const struct backend_host host = pool_host(run->pool);
	const struct backend_jobs *jobs = run->place.maker->jobs;
	const struct backend_ask ask = {
		.use = run->job.use,
		.timeout_ms = run->terms.timeout_ms,
		.output_max = run->terms.output_max,
		.id = run->id,
		.members = run->job.order.members,
		.core_size = run->job.order.core_size,
		.members_size = run->job.order.members_size,
		.beyond = run->job.order.beyond,
		.is_sidecar = run->job.order.is_sidecar,
		.command = run->job.order.command,
		.folder = run->job.order.folder,
		.root = run->job.order.root,
		.cwd = run->job.order.cwd,
	};
	uint64_t patience = (uint64_t)run->terms.timeout_ms + jobs->patience_ms(&host);
	struct err err = {0};

	run->state = RUN_RUNNING;
	run->begun_ns = now_ns();
	(void)uv_timer_start(&run->timer, run_timer_due, TRIES * patience + SLACK_MS, 0);
	if (jobs->start(&host, pool_loop(run->pool), &ask, &calls, run, &run->job.job, &err) < 0) {
		run->end.facts.why = err;
		run_tell_started(run);
		run_stop(run);
	}
	order_done(&run->job.order);
}

void run_job_finish(struct run *run)
{
	struct backend_job *job = STEAL(run->job.job);

	/* Facts that we know ourselves outweigh another machine's claims. */
	if (run->job.claim.kind != VERDICT_NONE && !verdict_is_fact(&run->end.facts))
		run->end.verdict = run->job.claim;
	else if (run->end.verdict.kind == VERDICT_BACKEND && run->place.maker->jobs->is_claimed)
		verdict_set_remedy(&run->end.verdict, "remote", "");
	if (job != NULL)
		run->place.maker->jobs->cancel(job);
}
