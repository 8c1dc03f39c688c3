// SPDX-License-Identifier: Apache-2.0
#include "session/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sys/random.h>

#include "backend/backend.h"
#include "base/c.h"
#include "base/json.h"
#include "base/log.h"
#include "session/head.h"
#include "session/lent.h"
#include "session/run_state.h"

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
	buf_done(&run->checkpoint);
	buf_done(&run->returned);
	drop_fd(&run->stdin_write);
	drop_fd(&run->stdin_read);
	events_done(&run->events);
	payload_done(&run->payload);
	order_done(&run->order);
	run_held_done(run);
	free(run->runtime);
	free(run);
}

static void handle_closed(uv_handle_t *handle)
{
	struct run *run = handle->data;

	run->handles--;
	free_when_done(run);
}

void run_feed_closed(void *user)
{
	struct run *run = user;

	run->handles--;
	free_when_done(run);
}

/* How far what a run says was taken with this event: a successor of ours goes on behind it. */
void run_marks(const struct run *run, uint64_t marks[3])
{
	marks[0] = run->out != NULL ? run->out->taken - run->streams[0].held_size : 0;
	marks[1] = run->err != NULL ? run->err->taken - run->streams[1].held_size : 0;
	marks[2] = run->frame_mark;
}

void run_tell(struct run *run, const char *type, const void *members, size_t size)
{
	struct err err = {0};
	uint64_t marks[3];

	if (run->log == NULL) {
		(void)events_add(&run->events, type, members, size);
		return;
	}
	run_marks(run, marks);
	if (log_add(run->log, type, members, size, marks, strcmp(type, "verdict") == 0, &err) < 0) {
		run->is_events_cut = true;
		log_event(LOG_LEVEL_ERROR, "run.log", "run=%s why=%s", run->id, err.text);
	}
}

static void tell_verdict(struct run *run)
{
	struct buf members;

	buf_init(&members, RUN_KEPT_MAX);
	if (result_verdict_members(run, &members) == 0)
		run_tell(run, "verdict", members.data, members.size);
	buf_done(&members);
}

/* Whatever the sandbox says from now on is no longer ours. */
static void leave_seat(struct run *run)
{
	if (run->host == NULL) {
		sandbox_end(STEAL(run->sandbox));
	} else if (run->head != NULL) {
		struct err err = {0};

		if (run->is_pipe_stdin && !run->head->sandbox->is_ending)
			(void)sandbox_keep_stdin(run->head->sandbox, -1, &err);
		if (run->out != NULL) {
			stream_listen(run->out, NULL, NULL);
			stream_listen(run->err, NULL, NULL);
		}
		if (run->head->state == HEAD_READY)
			head_listen(run->head);
		run->head = NULL;
	}
	run->channel = NULL;
	run->out = run->err = NULL;
}

void run_finish(struct run *run)
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
	run->facts.is_offline = (run->hello.walls & (1U << WALL_NET)) != 0;
	run->verdict = verdict_of(&run->facts, &run->testimony);
	if (run->elsewhere != NULL)
		run_job_finish(run);

	guard_free(STEAL(run->guard));
	if (run->ticket != NULL)
		pool_untake(run->pool, STEAL(run->ticket));
	if (run->host != NULL)
		run->host->over(run->host_user, run);
	feed_close(&run->feed);
	lent_stdin_back(run->head != NULL ? run->head->sandbox : NULL, &run->stdin_write,
			&run->stdin_read);
	uv_close((uv_handle_t *)&run->timer, handle_closed);
	payload_done(&run->payload);
	run->payload.memfd = -1;

	if (run->verdict.kind == VERDICT_BACKEND)
		log_event(LOG_LEVEL_INFO, "run.backend", "run=%s why=%s", run->id,
			  run->verdict.message);
	if (run->keep_events)
		tell_verdict(run);
	leave_seat(run);
	if (run->calls.done != NULL)
		run->calls.done(run->user, run);
}

void run_timer_due(uv_timer_t *timer)
{
	struct run *run = timer->data;

	if (run->state == RUN_RUNNING) {
		/* Launch should have ended it by now. */
		run->facts.is_timed_out = true;
		run_stop(run);
		return;
	}
	if (run->state == RUN_ENDING && run->elsewhere == NULL && !run->facts.has_exit)
		(void)err_set(&run->facts.why, ERR_INTERNAL, ETIMEDOUT,
			      "viv-launch did not tell how the sandbox ended");
	run_finish(run);
}

void run_fail_later(struct run *run, const struct err *why)
{
	const struct backend_facts *facts = pool_facts(run->pool, run->maker);

	/* A policy that wants cgroups is refused where there are none; all else is our failure. */
	run->facts.is_denied =
		run->needs_cgroup && facts != NULL && facts->limits == BOX_LIMITS_MEASURED;
	run->facts.why = *why;
	/* From the loop: whoever started the run holds it by then. */
	(void)uv_timer_start(&run->timer, run_timer_due, 0, 0);
}

/* ---- the middle ---- */

void run_drain(struct run *run)
{
	if (run->out == NULL || run->state == RUN_QUEUED)
		return;
	stream_drain(run->out);
	stream_drain(run->err);
}

/* Are its facts here already? Where its deadline is near launch may be ending the head by now, and
 * says so. */
static bool is_measured(struct run *run)
{
	uint64_t half_ns = (uint64_t)run->timeout_ms * 1000000 / 2;

	run->facts.has_exit = run->head != NULL && !run->is_look &&
			      now_ns() - run->begun_ns < half_ns &&
			      head_measure(run->head, &run->facts.exit);
	return run->facts.has_exit;
}

void run_stop(struct run *run)
{
	if (run->state != RUN_RUNNING)
		return;
	run->state = RUN_ENDING;
	if (run->elsewhere != NULL) {
		/* From the loop: this may be inside of what the job says, which must outlive that.
		 */
		(void)uv_timer_start(&run->timer, run_timer_due, 0, 0);
		return;
	}
	(void)uv_timer_start(&run->timer, run_timer_due, END_MS, 0);
	run->own_us = box_own_us(&run->mark);
	if (run->host == NULL)
		sandbox_kill(run->sandbox);
	else if (run->testimony.is_given && !run->facts.is_output_exceeded &&
		 run_failed(run) == FAILED_NOT && is_measured(run))
		/* From the loop: whoever told of its end still holds it. */
		(void)uv_timer_start(&run->timer, run_timer_due, 0, 0);
	else if (run->testimony.is_given && !run->facts.is_output_exceeded)
		run->host->end(run->host_user, run);
	else
		run->host->stop(run->host_user, run);
}

void run_ended(struct run *run, const struct box_exit *facts)
{
	run_take_exit(run, facts);
	run_finish(run);
}

void run_exited(struct run *run, const struct box_exit *facts, const struct err *why)
{
	/* What it said before it ended counts. */
	if (run->state == RUN_RUNNING) {
		channel_resume(run->channel);
		channel_read(run->channel);
	}
	if (run->state == RUN_QUEUED) {
		(void)err_set(&run->facts.why, ERR_INTERNAL, ECHILD,
			      "the sandbox ended before the run began");
	} else if (facts != NULL) {
		run_take_exit(run, facts);
	} else if (run->facts.why.kind == ERR_NONE) {
		run->facts.why = *why;
	}
	run_finish(run);
}

void run_sandbox_exited(void *user, const struct box_exit *facts, const struct err *why)
{
	run_exited(user, facts, why);
}

void run_channel_ended(void *user, const struct err *why)
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

void run_sandbox_taken(void *user, struct sandbox *sandbox, const struct err *why)
{
	struct run *run = user;

	run->ticket = NULL;
	if (sandbox == NULL) {
		run_fail_later(run, why);
		return;
	}
	run->sandbox = sandbox;
	sandbox_take(sandbox, run_sandbox_exited, run);
	run_sit(run);
	run_go(run);
}

void run_guard_answered(void *user, const struct verdict_testimony *testimony,
			const struct err *why)
{
	struct run *run = user;

	guard_free(STEAL(run->guard));
	if (testimony == NULL) {
		run->facts.why = *why;
		run_finish(run);
		return;
	}
	if (testimony->kind != VERDICT_OK) {
		/* The check's own sandbox ended as it should: that is the fact behind it. */
		run->testimony = *testimony;
		run->testimony.kind = VERDICT_GUARD;
		run->facts.has_exit = true;
		run_finish(run);
		return;
	}
	run_go(run);
}

static void set_limits(struct run *run, const struct run_request *request)
{
	run->timeout_ms = request->timeout_ms;
	run->output_max = request->output_max;
	run->needs_cgroup = request->kind.plan.limits == LIMITS_CGROUP;
	run->files_max = request->files_max > 0 ? request->files_max : FILES_MAX_DEFAULT;
	run->files_bytes_max = request->kind.plan.disk + MIB;
	run->is_look = request->look != NULL;
	if (run->is_look) /* an export has all variables in it, too */
		run->files_bytes_max += 4 * request->kind.plan.memory;
	run->want_files = request->want_files || request->returns_files;
	run->returns_files = request->returns_files;
	run->keep_events = request->keep_events || request->log != NULL;
	run->log = request->log;
	run->is_live = request->stdin_kind == RUN_STDIN_LIVE;
	run->is_pipe_stdin = request->stdin_kind == RUN_STDIN_PIPE;
	run->stdin_fd = request->stdin_fd;
	run->facts.memory_max = request->kind.plan.memory;
	run->facts.output_max = request->output_max;
	run->facts.timeout_ms = request->timeout_ms;
	run->facts.timeout_max_ms = request->timeout_max_ms;
}

struct run *run_blank(struct pool *pool, const char *id, const struct run_calls *calls, void *user)
{
	struct run *run = xnew(struct run);

	if (id != NULL)
		(void)snprintf(run->id, sizeof(run->id), "%s", id);
	else
		id_new("run_", run->id);
	run->pool = pool;
	run->calls = *calls;
	run->user = user;
	run->payload.memfd = -1;
	run->held_check.memfd = -1;
	run->stdin_write = run->stdin_read = -1;
	run->order.members = -1;
	run->backend = "";
	run->asked_ns = now_ns();
	for (size_t i = 0; i < PART_COUNT; i++)
		buf_init(&run->parts[i], RUN_KEPT_MAX + MIB);
	buf_init(&run->extras.missing, 2UL * TESTIMONY_MAX);
	buf_init(&run->checkpoint, RUN_LEFT_MAX);
	buf_init(&run->returned, RUN_RETURNED_MAX);
	events_init(&run->events, EVENTS_KEEP_DEFAULT);
	(void)uv_timer_init(pool_loop(pool), &run->timer);
	run->timer.data = run;
	run->handles = 1;
	return run;
}

static struct run *run_new(struct pool *pool, const struct run_request *request,
			   const struct run_calls *calls, void *user)
{
	struct run *run = run_blank(pool, request->id, calls, user);

	run->maker = request->kind.backend;
	run->runtime = xstrdup(request->kind.runtime->name);
	if (getrandom(&run->nonce, sizeof(run->nonce), 0) < 0)
		abort();
	set_limits(run, request);
	for (size_t i = 0; i < ARRAY_LEN(run->streams); i++)
		buf_init(&run->streams[i].kept, request->output_max);
	return run;
}

static int ask_guard(struct run *run, const struct run_request *request, struct err *err)
{
	struct box_kind kind = request->kind;
	struct payload payload = {.memfd = -1};
	int r;

	if (request->guard_runtime == NULL || request->is_command)
		return 0;
	kind.runtime = request->guard_runtime;
	kind.data = NULL;
	r = guard_kind(run->pool, &kind, err);
	if (r == 0)
		r = payload_check(request, run->nonce, &payload, err);
	if (r == 0)
		r = guard_start(run->pool, &kind, &payload, run->nonce, run_guard_answered, run,
				&run->guard, err);
	payload_done(&payload);
	return r;
}

/* ---- public ---- */

/* Nothing has happened: as if it had never been. */
static int give_up(struct run *run, int r)
{
	run->state = RUN_OVER;
	uv_close((uv_handle_t *)&run->timer, handle_closed);
	run_free(run);
	return r;
}

static int start(struct run *run, const struct run_request *request, struct err *err)
{
	struct err why = {0};
	int r;

	if (run->elsewhere != NULL)
		r = run_job_prepare(run, request, err);
	else
		r = payload_run(request, run->nonce, &run->payload, err);
	if (r == 0 && request->is_held)
		r = run_keep_held(run, request, err);
	if (r < 0)
		return give_up(run, r);
	if (run->is_held)
		return 0;
	r = ask_guard(run, request, &why);
	if (r == 0 && run->elsewhere != NULL)
		run_go(run);
	else if (r == 0 && run->host == NULL)
		r = pool_take(run->pool, &request->kind, run_sandbox_taken, run, &run->ticket,
			      &why);
	if (r < 0)
		run_fail_later(run, &why);
	return 0;
}

int run_start(struct pool *pool, const struct run_request *request, const struct run_calls *calls,
	      void *user, struct run **ret_run, struct err *err)
{
	struct run_request chosen = *request;
	struct run *run = NULL;
	int r = chosen.kind.backend == NULL ? run_choose(pool, &chosen, err) : 0;

	if (r < 0)
		return r;
	run = run_new(pool, &chosen, calls, user);
	run->use = run_use(&chosen);
	if (chosen.kind.backend->jobs != NULL)
		run->elsewhere = chosen.kind.backend;
	r = start(run, &chosen, err);
	if (r == 0)
		*ret_run = run;
	return r;
}

int run_prepare(struct pool *pool, const struct run_request *request, const struct run_host *host,
		void *host_user, const struct run_calls *calls, void *user, struct run **ret_run,
		struct err *err)
{
	struct run *run = run_new(pool, request, calls, user);
	int r;

	run->host = host;
	run->host_user = host_user;
	run->facts.is_session = true;
	r = start(run, request, err);
	if (r == 0)
		*ret_run = run;
	return r;
}

void run_abandon(struct run *run, bool is_cancelled, const struct err *why)
{
	run->facts.is_cancelled |= is_cancelled;
	if (run->facts.why.kind == ERR_NONE)
		run->facts.why = *why;
	run_finish(run);
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
		(void)uv_timer_start(&run->timer, run_timer_due, 0, 0);
}

void run_wait(struct run *run)
{
	while (run->state != RUN_OVER)
		(void)uv_run(pool_loop(run->pool), UV_RUN_ONCE);
}

void run_free(struct run *run)
{
	if (run == NULL)
		return;
	run->is_freed = true;
	free_when_done(run);
}
