// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "backend/choose.h"
#include "base/c.h"
#include "base/json.h"
#include "session/run_state.h"

#define ELSEWHERE "remote" /* the runtime of a run over there, as long as nobody names it */
#define TRIES 2U           /* a sidecar is asked twice at most */
#define SLACK_MS 10000U

static bool find(const char *object, size_t size, const char *name, char kind,
		 const char **ret_value, size_t *ret_size)
{
	return json_find(object, size, name, ret_value, ret_size) && (*ret_value)[0] == kind;
}

/* ---- whose it is ---- */

enum backend_use run_use(const struct run_request *request)
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
	/* What only this host can do is for whoever makes sandboxes here. A pin still holds. */
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

/* ---- what it says ---- */

static void tell_started(struct run *run)
{
	if (run->is_told)
		return;
	run->is_told = true;
	run_tell_started(run);
}

static void job_started(void *user, const char *runtime)
{
	struct run *run = user;

	if (run->is_told || run->state != RUN_RUNNING)
		return;
	if (runtime[0] != '\0') {
		free(run->runtime);
		run->runtime = xstrdup(runtime);
	}
	tell_started(run);
}

static void job_output(void *user, int stream, const void *bytes, size_t size)
{
	struct run *run = user;

	if (run->state != RUN_RUNNING)
		return;
	tell_started(run);
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

/* Its bytes, for whoever writes them down; false: they did not come, or are none. */
static void give_file(struct run *run, const char *path, const char *value, size_t size)
{
	uint8_t *bytes = NULL;
	size_t count = 0;

	if (run->calls.file == NULL || size < 2 || size / 4 * 3 > RUN_RETURNED_MAX + 3)
		return;
	bytes = malloc(size);
	if (bytes != NULL && sodium_base642bin(bytes, size, value + 1, size - 2, NULL, &count, NULL,
					       sodium_base64_VARIANT_ORIGINAL) == 0)
		run->calls.file(run->user, path, bytes, count, true);
	free(bytes);
}

/* A file as it is listed: what its bytes are goes another way. */
static void take_file(struct run *run, const char *value, size_t size)
{
	static const char *const names[] = {"path", "size", "mime", "sha256"};
	char path[RUN_FILE_PATH_MAX + 1] = "";
	const char *part = NULL;
	size_t part_size = 0;
	struct buf fact;

	if (!find(value, size, "path", '"', &part, &part_size))
		return;
	testimony_text(part, part_size, path, sizeof(path));
	buf_init(&fact, 4 * sizeof(path));
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (json_find(value, size, names[i], &part, &part_size) && part[0] != '{' &&
		    part[0] != '[')
			(void)(buf_format(&fact, "%s\"%s\":", i == 0 ? "{" : ",", names[i]) == 0 &&
			       buf_append(&fact, part, part_size) == 0);
	}
	(void)buf_text(&fact, "}");
	if (json_is_valid(fact.data, fact.size)) {
		if (find(value, size, "base64", '"', &part, &part_size)) {
			give_file(run, path, part, part_size);
			run_job_return(run, path, part, part_size);
		}
		(void)run_take_fact(run, "file", (const char *)fact.data, fact.size);
	}
	buf_done(&fact);
}

static void job_fact(void *user, const char *type, const char *value, size_t size)
{
	struct run *run = user;

	if (run->state != RUN_RUNNING)
		return;
	tell_started(run);
	if (strcmp(type, "file") == 0)
		take_file(run, value, size);
	else
		(void)run_take_fact(run, type, value, size);
}

/* ---- its end ---- */

/* Only names that we know, too, are passed on. */
static void take_walls(struct run *run, struct span list)
{
	run->hello.walls = 0;
	for (enum wall_id id = 0; id < WALL_COUNT; id++) {
		char quoted[32];
		int n = snprintf(quoted, sizeof(quoted), "\"%s\"", wall_name(id));

		if (list.size > 0 && list.at[0] == '[' &&
		    memmem(list.at, list.size, quoted, (size_t)n) != NULL)
			run->hello.walls |= 1U << id;
	}
}

static void take_limits(struct run *run, struct span value)
{
	char name[16] = "";

	if (value.size > 0)
		testimony_text(value.at, value.size, name, sizeof(name));
	for (size_t i = 0; limits_names[i] != NULL; i++) {
		if (strcmp(limits_names[i], name) == 0) {
			run->limits = (enum box_limits)i;
			run->no_limits = false;
		}
	}
}

/* All of it is a claim, if another machine says so. */
static void take_end(struct run *run, const struct result *end)
{
	struct span missing = end->members[RESULT_MISSING];

	run->claim = end->verdict;
	run->claim.by =
		run->elsewhere->jobs->is_claimed ? VERDICT_BY_REMOTE : VERDICT_BY_SUPERVISOR;
	take_walls(run, end->members[RESULT_WALLS]);
	take_limits(run, end->members[RESULT_LIMITS]);
	run->facts.exit.cpu_us = (uint64_t)(1000 * end->usage.cpu_ms);
	run->facts.exit.peak = end->usage.peak_memory;
	run->streams[0].is_cut |= end->truncated.out;
	run->streams[1].is_cut |= end->truncated.err;
	run->is_files_cut |= end->truncated.files;
	run->is_result_cut |= end->truncated.result;
	run->is_events_cut |= end->truncated.events;
	/* What stands between the brackets. */
	if (missing.size > 2 && missing.at[0] == '[')
		(void)testimony_ascii(&run->extras.missing, missing.at + 1, missing.size - 2);
}

static void job_ended(void *user, const char *event, size_t size, const struct err *why)
{
	struct run *run = user;
	struct result end;

	run->job = NULL;
	if (run->state != RUN_RUNNING)
		return;
	tell_started(run);
	if (event == NULL) {
		run->facts.why = *why;
	} else {
		result_read(event, size, &end);
		take_end(run, &end);
		if (run->claim.kind == VERDICT_NONE)
			(void)err_set(&run->facts.why, ERR_INTERNAL, EPROTO,
				      "what it told as the run's end is no verdict");
	}
	run_finish(run);
}

/* ---- its beginning ---- */

int run_job_prepare(struct run *run, const struct run_request *request, struct err *err)
{
	int r = order_make(request, &run->order, err);

	if (r < 0)
		return r;
	run->backend = run->elsewhere->name;
	run->no_limits = true;
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
	const struct backend_jobs *jobs = run->elsewhere->jobs;
	const struct backend_ask ask = {
		.use = run->use,
		.timeout_ms = run->timeout_ms,
		.output_max = run->output_max,
		.id = run->id,
		.members = run->order.members,
		.core_size = run->order.core_size,
		.members_size = run->order.members_size,
		.beyond = run->order.beyond,
		.is_sidecar = run->order.is_sidecar,
		.command = run->order.command,
		.folder = run->order.folder,
		.root = run->order.root,
		.cwd = run->order.cwd,
	};
	uint64_t patience = (uint64_t)run->timeout_ms + jobs->patience_ms(&host);
	struct err err = {0};

	if (run->guard != NULL || run->facts.is_cancelled)
		return;
	run->state = RUN_RUNNING;
	run->begun_ns = now_ns();
	(void)uv_timer_start(&run->timer, run_timer_due, TRIES * patience + SLACK_MS, 0);
	if (jobs->start(&host, pool_loop(run->pool), &ask, &calls, run, &run->job, &err) < 0) {
		run->facts.why = err;
		tell_started(run);
		run_stop(run);
	}
	order_done(&run->order);
}

void run_job_finish(struct run *run)
{
	struct backend_job *job = STEAL(run->job);

	/* What we know ourselves outweighs what another machine says. */
	if (run->claim.kind != VERDICT_NONE && !verdict_is_fact(&run->facts))
		run->verdict = run->claim;
	else if (run->verdict.kind == VERDICT_BACKEND && run->elsewhere->jobs->is_claimed)
		verdict_set_remedy(&run->verdict, "remote", "");
	if (job != NULL)
		run->elsewhere->jobs->cancel(job);
}
