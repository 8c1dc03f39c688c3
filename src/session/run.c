// SPDX-License-Identifier: Apache-2.0
#include "session/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sys/random.h>

#include "base/c.h"
#include "base/json.h"
#include "base/log.h"
#include "session/run_state.h"

#define LATE_MS 2000U /* how long after launch's deadline our own timer ends a run */
#define END_MS 10000U /* how long launch may take to tell the facts */
#define FILES_MAX_DEFAULT 1000U

/* ---- the end ---- */

static void free_when_done(struct run *run)
{
	if (!run->is_freed || run->handles > 0)
		return;
	for (size_t i = 0; i < ARRAY_LEN(run->streams); i++)
		buf_done(&run->streams[i].kept);
	for (size_t i = 0; i < PART_COUNT; i++)
		buf_done(&run->parts[i]);
	buf_done(&run->extras.missing);
	events_done(&run->events);
	payload_done(&run->payload);
	free(run->runtime);
	free(run);
}

static void handle_closed(uv_handle_t *handle)
{
	struct run *run = handle->data;

	run->handles--;
	free_when_done(run);
}

static void feed_closed(void *user)
{
	struct run *run = user;

	run->handles--;
	free_when_done(run);
}

static void tell_verdict(struct run *run)
{
	struct buf members;

	buf_init(&members, RUN_KEPT_MAX);
	if (result_verdict_members(run, &members) == 0)
		(void)events_add(&run->events, "verdict", members.data, members.size);
	buf_done(&members);
}

static void finish(struct run *run)
{
	if (run->state == RUN_OVER)
		return;
	/* What came before DONE has been taken; what others in there wrote since belongs to nobody.
	 */
	if (!run->testimony.is_given)
		run_drain(run);
	run_streams_end(run);
	run->state = RUN_OVER;
	run->over_ns = now_ns();
	run->verdict = verdict_of(&run->facts, &run->testimony);

	guard_free(STEAL(run->guard));
	if (run->ticket != NULL)
		pool_untake(run->pool, STEAL(run->ticket));
	sandbox_end(STEAL(run->sandbox));
	feed_close(&run->feed);
	uv_close((uv_handle_t *)&run->timer, handle_closed);
	payload_done(&run->payload);
	run->payload.memfd = -1;

	if (run->verdict.kind == VERDICT_BACKEND)
		log_event(LOG_LEVEL_INFO, "run.backend", "run=%s why=%s", run->id,
			  run->verdict.message);
	if (run->keep_events)
		tell_verdict(run);
	if (run->calls.done != NULL)
		run->calls.done(run->user, run);
}

static void timer_due(uv_timer_t *timer)
{
	struct run *run = timer->data;

	if (run->state == RUN_RUNNING) {
		/* Launch should have ended it by now. */
		run->facts.is_timed_out = true;
		run_stop(run);
		return;
	}
	if (run->state == RUN_ENDING)
		(void)err_set(&run->facts.why, ERR_INTERNAL, ETIMEDOUT,
			      "viv-launch did not tell how the sandbox ended");
	finish(run);
}

static void fail_later(struct run *run, const struct err *why)
{
	const struct launch_hello *hello = pool_hello(run->pool);

	/* A policy that wants cgroups is refused where there are none; all else is our failure. */
	run->facts.is_denied =
		run->needs_cgroup && hello != NULL && hello->limits == LAUNCH_LIMITS_MEASURED;
	run->facts.why = *why;
	/* From the loop: whoever started the run holds it by then. */
	(void)uv_timer_start(&run->timer, timer_due, 0, 0);
}

/* ---- the middle ---- */

void run_drain(struct run *run)
{
	if (run->sandbox == NULL || run->state == RUN_QUEUED)
		return;
	stream_drain(&run->sandbox->out);
	stream_drain(&run->sandbox->err);
}

void run_stop(struct run *run)
{
	if (run->state != RUN_RUNNING)
		return;
	run->state = RUN_ENDING;
	sandbox_kill(run->sandbox);
	(void)uv_timer_start(&run->timer, timer_due, END_MS, 0);
}

static void sandbox_exited(void *user, const struct launch_exit *facts, const struct err *why)
{
	struct run *run = user;

	/* What it said before it ended counts. */
	if (run->state == RUN_RUNNING)
		channel_read(&run->sandbox->channel);
	if (run->state == RUN_QUEUED) {
		(void)err_set(&run->facts.why, ERR_INTERNAL, ECHILD,
			      "the sandbox ended before the run began");
	} else if (facts != NULL) {
		run->facts.has_exit = true;
		run->facts.exit = *facts;
	} else if (run->facts.why.kind == ERR_NONE) {
		run->facts.why = *why;
	}
	finish(run);
}

static void channel_ended(void *user, const struct err *why)
{
	struct run *run = user;

	/* A plain end is the code's affair: its exit, or its deadline, follows. */
	if (why->kind == ERR_NONE || run->state != RUN_RUNNING)
		return;
	run->facts.is_protocol_broken = true;
	(void)err_set(&run->facts.why, ERR_BAD_REQUEST, EPROTO,
		      "ended by the supervisor: its channel carried %s", why->text);
	run_stop(run);
}

/* ---- the beginning ---- */

static void tell_started(struct run *run)
{
	struct buf members;

	if (!run->keep_events)
		return;
	buf_init(&members, 4096);
	if (buf_format(&members, ",\"run\":\"%s\",\"backend\":\"%s\",\"runtime\":", run->id,
		       run->backend) == 0 &&
	    json_put_text(&members, run->runtime) == 0)
		(void)events_add(&run->events, "started", members.data, members.size);
	buf_done(&members);
}

static void set_host(struct run *run)
{
	const struct launch_hello *hello = pool_hello(run->pool);

	run->backend = run->sandbox->backend->name;
	run->limits = hello != NULL ? (enum launch_limits)hello->limits : LAUNCH_LIMITS_MEASURED;
	run->hello = run->sandbox->hello;
}

static int send_code(struct run *run, struct err *err)
{
	/* The code first: the sandbox is awake while we still tell launch. */
	int r = channel_send(&run->sandbox->channel, &run->payload.frame, &run->payload.memfd, err);

	if (r == 0)
		r = sandbox_begin(run->sandbox, run->timeout_ms, err);
	if (r < 0 || !run->is_live) {
		drop_fd(&run->sandbox->in);
		return r;
	}
	r = feed_open(&run->feed, pool_loop(run->pool), run->stdin_fd, &run->sandbox->in,
		      feed_closed, run, err);
	if (r == 0)
		run->handles++;
	return r;
}

/* Sandbox there, guard content: go. */
static void begin(struct run *run)
{
	static const struct channel_calls calls = {.frame = run_frame, .ended = channel_ended};
	struct err err = {0};

	/* Cancelled while it waited: the timer that ends it is due, and must stay so. */
	if (run->sandbox == NULL || run->guard != NULL || run->facts.is_cancelled)
		return;
	run->state = RUN_RUNNING;
	run->begun_ns = now_ns();
	channel_listen(&run->sandbox->channel, &calls, run);
	stream_listen(&run->sandbox->out, run_bytes_in, run);
	stream_listen(&run->sandbox->err, run_bytes_in, run);
	tell_started(run);
	(void)uv_timer_start(&run->timer, timer_due, (uint64_t)run->timeout_ms + LATE_MS, 0);
	if (send_code(run, &err) < 0) {
		run->facts.why = err;
		run_stop(run);
	}
}

static void sandbox_taken(void *user, struct sandbox *sandbox, const struct err *why)
{
	struct run *run = user;

	run->ticket = NULL;
	if (sandbox == NULL) {
		fail_later(run, why);
		return;
	}
	run->sandbox = sandbox;
	sandbox_take(sandbox, sandbox_exited, run);
	set_host(run);
	begin(run);
}

static void guard_answered(void *user, const struct verdict_testimony *testimony,
			   const struct err *why)
{
	struct run *run = user;

	guard_free(STEAL(run->guard));
	if (testimony == NULL) {
		run->facts.why = *why;
		finish(run);
		return;
	}
	if (testimony->kind != VERDICT_OK) {
		/* The check's own sandbox ended as it should: that is the fact behind it. */
		run->testimony = *testimony;
		run->testimony.kind = VERDICT_GUARD;
		run->facts.has_exit = true;
		finish(run);
		return;
	}
	begin(run);
}

static void set_limits(struct run *run, const struct run_request *request)
{
	run->timeout_ms = request->timeout_ms;
	run->output_max = request->output_max;
	run->needs_cgroup = request->kind.plan.limits == LIMITS_CGROUP;
	run->files_max = request->files_max > 0 ? request->files_max : FILES_MAX_DEFAULT;
	run->files_bytes_max = request->kind.plan.disk + MIB;
	run->want_files = request->want_files;
	run->keep_events = request->keep_events;
	run->is_live = request->stdin_kind == RUN_STDIN_LIVE;
	run->stdin_fd = request->stdin_fd;
	run->facts.memory_max = request->kind.plan.memory;
	run->facts.output_max = request->output_max;
	run->facts.timeout_ms = request->timeout_ms;
	run->facts.timeout_max_ms = request->timeout_max_ms;
	for (size_t i = 0; i < ARRAY_LEN(run->streams); i++)
		buf_init(&run->streams[i].kept, request->output_max);
	for (size_t i = 0; i < PART_COUNT; i++)
		buf_init(&run->parts[i], RUN_KEPT_MAX + MIB);
	buf_init(&run->extras.missing, 2UL * TESTIMONY_MAX);
	events_init(&run->events, EVENTS_KEEP_DEFAULT);
}

static struct run *run_new(struct pool *pool, const struct run_request *request,
			   const struct run_calls *calls, void *user)
{
	struct run *run = xnew(struct run);

	id_new("run_", run->id);
	run->pool = pool;
	run->calls = *calls;
	run->user = user;
	run->payload.memfd = -1;
	run->backend = "";
	run->asked_ns = now_ns();
	run->runtime = strdup(request->kind.runtime->name);
	if (run->runtime == NULL || getrandom(&run->nonce, sizeof(run->nonce), 0) < 0)
		abort();
	set_limits(run, request);
	(void)uv_timer_init(pool_loop(pool), &run->timer);
	run->timer.data = run;
	run->handles = 1;
	return run;
}

static int ask_guard(struct run *run, const struct run_request *request, struct err *err)
{
	struct pool_kind kind = request->kind;
	struct payload payload = {.memfd = -1};
	int r;

	if (request->guard_runtime == NULL || request->is_command)
		return 0;
	kind.runtime = request->guard_runtime;
	kind.data = NULL;
	r = payload_check(request, run->nonce, &payload, err);
	if (r == 0)
		r = guard_start(run->pool, &kind, &payload, run->nonce, guard_answered, run,
				&run->guard, err);
	payload_done(&payload);
	return r;
}

/* ---- public ---- */

int run_start(struct pool *pool, const struct run_request *request, const struct run_calls *calls,
	      void *user, struct run **ret_run, struct err *err)
{
	struct run *run = run_new(pool, request, calls, user);
	struct err why = {0};
	int r = payload_run(request, run->nonce, &run->payload, err);

	if (r < 0) {
		run->state = RUN_OVER;
		uv_close((uv_handle_t *)&run->timer, handle_closed);
		run_free(run);
		return r;
	}
	r = ask_guard(run, request, &why);
	if (r == 0)
		r = pool_take(pool, &request->kind, sandbox_taken, run, &run->ticket, &why);
	if (r < 0)
		fail_later(run, &why);
	*ret_run = run;
	return 0;
}

void run_cancel(struct run *run, bool is_interrupt)
{
	/* Once the runner has said how it ended, there is nothing left to cancel. */
	if (run->state == RUN_OVER || run->state == RUN_ENDING)
		return;
	run->facts.is_cancelled = true;
	run->facts.is_interrupted = is_interrupt;
	if (run->state == RUN_RUNNING)
		run_stop(run);
	else
		(void)uv_timer_start(&run->timer, timer_due, 0, 0);
}

void run_wait(struct run *run)
{
	while (run->state != RUN_OVER)
		(void)uv_run(pool_loop(run->pool), UV_RUN_ONCE);
}

bool run_is_over(const struct run *run)
{
	return run->state == RUN_OVER;
}

struct events *run_events(struct run *run)
{
	return &run->events;
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
		.truncated_stdout = run->streams[0].is_cut,
		.truncated_stderr = run->streams[1].is_cut,
		.truncated_files = run->is_files_cut,
		.truncated_result = run->is_result_cut,
		.truncated_events = run->is_events_cut,
		.out = &run->streams[0].kept,
		.err = &run->streams[1].kept,
		.result = &run->parts[PART_RESULT],
		.error = &run->parts[PART_ERROR],
		.table = &run->parts[PART_TABLE],
		.displays = &run->parts[PART_DISPLAYS],
		.charts = &run->parts[PART_CHARTS],
		.files = &run->parts[PART_FILES],
		.missing = &run->extras.missing,
		.pid = run->hello.pid,
	};
}

void run_free(struct run *run)
{
	if (run == NULL)
		return;
	run->is_freed = true;
	free_when_done(run);
}
