// SPDX-License-Identifier: Apache-2.0
#include "session/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sys/random.h>

#include "backend/backend.h"
#include "base/c.h"
#include "base/log.h"
#include "policy/number.h"
#include "session/head.h"
#include "session/run_state.h"

#define END_MS 60000U /* how long a box may take to report the facts, on a busy machine */
#define LATE_MS 2000U /* how long after the box's deadline our own timer ends a run */

/* ---- memory ---- */

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
	run->state = RUN_QUEUED;
	run->asked_ns = now_ns();
	run->payload.memfd = -1;
	run->waiting.check.memfd = -1;
	run->input.write = run->input.read = -1;
	run->job.order.members = -1;
	run->place.backend = "";
	run_told_init(&run->told);
	buf_init(&run->end.extras.missing, 2UL * TESTIMONY_MAX);
	buf_init(&run->end.extras.left_out, 2UL * TESTIMONY_MAX);
	buf_init(&run->end.checkpoint, RUN_LEFT_MAX);
	(void)uv_timer_init(pool_loop(pool), &run->timer);
	run->timer.data = run;
	run->handles = 1;
	return run;
}

static void free_when_done(struct run *run)
{
	if (run->state != RUN_FREED || run->handles > 0)
		return;
	run_told_done(&run->told);
	buf_done(&run->end.extras.missing);
	buf_done(&run->end.extras.left_out);
	buf_done(&run->end.checkpoint);
	drop_fd(&run->input.write);
	drop_fd(&run->input.read);
	payload_done(&run->payload);
	payload_done(&run->waiting.check);
	free((char *)(uintptr_t)run->waiting.kind.trust);
	free((char *)(uintptr_t)run->waiting.kind.data);
	order_done(&run->job.order);
	free(run->runtime);
	free(run);
}

void run_handle_closed(void *user)
{
	struct run *run = user;

	run->handles--;
	free_when_done(run);
}

static void timer_closed(uv_handle_t *timer)
{
	run_handle_closed(timer->data);
}

void run_free(struct run *run)
{
	if (run == NULL)
		return;
	run->state = RUN_FREED;
	free_when_done(run);
}

/* ---- the end ---- */

static void put_verdict(struct run *run)
{
	struct buf members;

	buf_init(&members, RUN_KEPT_MAX);
	if (result_verdict_members(run, &members) == 0)
		run_tell(run, "verdict", members.data, members.size);
	buf_done(&members);
}

/* Clients wait for the end of the log. If it does not take the verdict, the verdict is written
 * without its lists; if there is no room even for that, the log ends without one. */
static void tell_verdict(struct run *run)
{
	struct log *log = run->told.log;

	put_verdict(run);
	if (log == NULL || log_is_over(log))
		return;
	buf_cut(&run->told.parts[RESULT_FILES], 0);
	buf_cut(&run->end.extras.missing, 0);
	buf_cut(&run->end.extras.left_out, 0);
	run->told.cut.files = true;
	run->told.cut.result = true;
	put_verdict(run);
	if (!log_is_over(log))
		log_end(log);
}

/* Lets go of the run's sandbox or head: later output is not this run's. */
static void leave_place(struct run *run)
{
	struct run_place *place = &run->place;

	if (place->host == NULL) {
		sandbox_end(place->sandbox);
	} else if (place->head != NULL) {
		if (place->out != NULL) {
			stream_listen(place->out, NULL, NULL);
			stream_listen(place->err, NULL, NULL);
		}
		place->head->ended = NULL;
		if (place->head->state == HEAD_READY)
			head_listen(place->head);
	}
	place->sandbox = NULL;
	place->head = NULL;
	place->channel = NULL;
	place->out = place->err = NULL;
}

/* Removes the payload from what the backend keeps, unless a branch has since put its own payload
 * there. */
static void take_payload_back(struct run *run)
{
	struct sandbox *sandbox = run->place.head != NULL ? run->place.sandbox : NULL;
	uint64_t inode = payload_inode(run->payload.memfd);
	struct err err = {0};

	payload_done(&run->payload);
	run->payload.memfd = -1;
	if (sandbox != NULL && !sandbox->is_ending && inode != 0 &&
	    payload_inode(sandbox->payload) == inode)
		(void)sandbox_keep_payload(sandbox, -1, &err);
}

/* When the run was over: from the facts, if they say so, since viv may not have been running then;
 * else now. */
static uint64_t end_ns(const struct run *run)
{
	uint64_t now = now_ns();
	uint64_t over = run->end.facts.has_exit ? run->end.facts.exit.over_ns : 0;

	return over > run->begun_ns && run->begun_ns > 0 && over < now ? over : now;
}

static void decide(struct run *run)
{
	struct verdict_facts *facts = &run->end.facts;

	facts->is_offline = (run->place.hello.walls & (1U << WALL_NET)) != 0;
	facts->memory_max = run->terms.memory_max;
	facts->output_max = run->terms.output_max;
	facts->timeout_ms = run->terms.timeout_ms;
	facts->timeout_max_ms = run->terms.timeout_max_ms;
	run->end.verdict = verdict_of(facts, &run->end.testimony);
	if (run_is_job(run))
		run_job_finish(run);
	if (run->end.verdict.kind == VERDICT_BACKEND)
		log_event(LOG_LEVEL_INFO, "run.backend", "run=%s why=%s", run->id,
			  run->end.verdict.message);
}

/* Asks the session what is left of its state. */
static void ask_host(struct run *run)
{
	struct run_end *end = &run->end;

	end->left = run->place.host->over(run->place.host_user, run, &end->checkpoint);
	if (end->left == RUN_LEFT_LOST && end->verdict.kind == VERDICT_BACKEND &&
	    run_has_begun(run))
		verdict_set_remedy(&end->verdict, "gone", "");
}

void run_finish(struct run *run)
{
	struct run_place *place = &run->place;

	if (run->state >= RUN_OVER)
		return;
	/* After DONE everything that the run wrote has been taken; what other processes of the
	 * sandbox wrote since belongs to no run. */
	if (!run->end.testimony.is_given)
		run_drain(run);
	run_streams_end(run);
	run->state = RUN_OVER;
	run->over_ns = end_ns(run);
	decide(run);

	guard_free(STEAL(run->waiting.guard));
	if (run->waiting.ticket != NULL)
		pool_untake(STEAL(run->waiting.ticket));
	if (place->host != NULL && place->host->over != NULL)
		ask_host(run);
	uv_close((uv_handle_t *)&run->timer, timer_closed);
	run_stdin_end(run);
	take_payload_back(run);

	if (run->told.noise > 0)
		log_event(LOG_LEVEL_WARNING, "run.noise", "run=%s dropped=%u", run->id,
			  run->told.noise);
	if (run->terms.keeps_events)
		tell_verdict(run);
	leave_place(run);
	if (run->calls.done != NULL)
		run->calls.done(run->user, run);
}

void run_timer_due(uv_timer_t *timer)
{
	struct run *run = timer->data;

	if (run->state == RUN_RUNNING) {
		/* The box should have ended the run by now. */
		run->end.facts.is_timed_out = true;
		run_stop(run);
		return;
	}
	if (run->state == RUN_ENDING && !run_is_job(run) && !run->end.facts.has_exit)
		(void)err_set(&run->end.facts.why, ERR_INTERNAL, ETIMEDOUT,
			      "the backend did not report how the sandbox ended");
	run_finish(run);
}

/* Finishes the run from the loop, since the present caller still uses it. */
static void finish_later(struct run *run)
{
	(void)uv_timer_start(&run->timer, run_timer_due, 0, 0);
}

static void fail_later(struct run *run, const struct err *why)
{
	const struct backend_facts *facts = pool_facts(run->pool, run->place.maker);

	/* A policy that requires cgroups is refused on a host without them; any other reason is our
	 * failure. */
	run->end.facts.is_denied =
		run->terms.needs_cgroup && facts != NULL && facts->limits == BOX_LIMITS_MEASURED;
	run->end.facts.why = *why;
	run->state = RUN_FAILING;
	finish_later(run);
}

/* A short run can be over before the box learns that it began, so the CPU time that the interpreter
 * has used since the code was sent counts as well. */
static void take_exit(struct run *run, const struct box_exit *facts)
{
	const struct run_place *place = &run->place;
	struct box_exit *exit = &run->end.facts.exit;
	uint64_t before = place->mark.own_us;

	run->end.facts.has_exit = true;
	*exit = *facts;
	if (place->own_us > exit->cpu_us)
		exit->cpu_us = place->own_us;
	if (place->mark.is_set && facts->own_us > before && facts->own_us - before > exit->cpu_us)
		exit->cpu_us = facts->own_us - before;
}

static void head_has_ended(void *user, const struct box_exit *facts)
{
	struct run *run = user;

	take_exit(run, facts);
	run_finish(run);
}

/* Can the facts be measured without asking the backend? Not near the deadline: the backend may be
 * ending the head already, and reports that. */
static bool is_measured(struct run *run)
{
	uint64_t half_ns = (uint64_t)run->terms.timeout_ms * 1000000 / 2;

	run->end.facts.has_exit = !run->terms.is_look && now_ns() - run->begun_ns < half_ns &&
				  head_measure(run->place.head, &run->end.facts.exit);
	return run->end.facts.has_exit;
}

/* Ends the run in its head. The head of a look is dropped, and so is one in which no further run
 * would work. If the head has already ended, the session calls run_exited once it has handled
 * that. */
static void stop_in_head(struct run *run)
{
	const struct run_place *place = &run->place;
	bool is_done = run->end.testimony.is_given && !run->end.facts.is_output_exceeded;
	bool is_damaged = run_failed(run) != FAILED_NOT;
	struct err err = {0};

	if (place->head->state == HEAD_OVER)
		return;
	if (is_done && !is_damaged && is_measured(run))
		finish_later(run);
	else if (is_done && !place->head->is_look &&
		 !(is_damaged && place->host->can_go_back(place->host_user)))
		/* if the backend is gone, so is the head, and its end is reported */
		(void)head_end(place->head, head_has_ended, run, &err);
	else
		head_drop(place->head);
}

void run_stop(struct run *run)
{
	if (run->state != RUN_RUNNING)
		return;
	run->state = RUN_ENDING;
	if (run_is_job(run)) {
		finish_later(run); /* the job may be calling us: it must not be freed here */
		return;
	}
	(void)uv_timer_start(&run->timer, run_timer_due, END_MS, 0);
	run->place.own_us = box_own_us(&run->place.mark);
	if (run->place.host == NULL)
		sandbox_kill(run->place.sandbox);
	else
		stop_in_head(run);
}

void run_exited(void *user, const struct box_exit *facts, const struct err *why)
{
	struct run *run = user;

	/* Frames that the sandbox sent before its end still count. */
	if (run->state == RUN_RUNNING) {
		channel_resume(run->place.channel);
		channel_read(run->place.channel);
	}
	if (run->state < RUN_RUNNING) {
		(void)err_set(&run->end.facts.why, ERR_INTERNAL, ECHILD,
			      "the sandbox ended before the run began");
	} else if (facts != NULL) {
		take_exit(run, facts);
	} else if (run->end.facts.why.kind == ERR_NONE) {
		run->end.facts.why = *why;
	}
	run_finish(run);
}

static void channel_ended(void *user, const struct err *why)
{
	struct run *run = user;

	/* End of file alone is no error: the code closed it, and its exit or its deadline
	 * follows. */
	if (why->kind == ERR_NONE || run->state != RUN_RUNNING)
		return;
	run->end.facts.is_protocol_broken = true;
	(void)err_set(&run->end.facts.why, ERR_BAD_REQUEST, EPROTO,
		      "ended by the supervisor: its channel carried %s", why->text);
	run_stop(run);
}

void run_abandon(struct run *run, bool is_cancelled, const struct err *why)
{
	run->end.facts.is_cancelled |= is_cancelled;
	if (run->end.facts.why.kind == ERR_NONE)
		run->end.facts.why = *why;
	run_finish(run);
}

void run_cancel(struct run *run, bool is_interrupt)
{
	/* Once the runner has reported the end, there is nothing left to cancel. */
	if (run->state == RUN_FAILING || run->state >= RUN_ENDING)
		return;
	run->end.facts.is_cancelled = true;
	run->end.facts.is_interrupted = is_interrupt;
	if (run->state == RUN_RUNNING) {
		run_stop(run);
		return;
	}
	run->state = RUN_FAILING;
	finish_later(run);
}

void run_cancel_for(struct run *run, const struct err *why)
{
	if (run->state == RUN_FAILING || run->state >= RUN_ENDING)
		return;
	if (run->end.facts.why.kind == ERR_NONE)
		run->end.facts.why = *why;
	run_cancel(run, false);
}

/* ---- sending the code ---- */

void run_take_place(struct run *run, struct head *head, struct sandbox *sandbox)
{
	struct run_place *place = &run->place;
	const struct backend_facts *facts = NULL;

	if (head == NULL)
		sandbox_take(sandbox, run_exited, run);
	facts = pool_facts(run->pool, sandbox->backend);
	place->head = head;
	place->sandbox = sandbox;
	place->backend = sandbox->backend->name;
	place->has_limits = true;
	place->limits = facts != NULL ? facts->limits : BOX_LIMITS_MEASURED;
	place->hello = sandbox->hello;
	place->channel = head != NULL ? head->channel : &sandbox->channel;
	place->out = head != NULL ? head->pipes.out : &sandbox->out;
	place->err = head != NULL ? head->pipes.err : &sandbox->err;
}

void run_listen(struct run *run)
{
	static const struct channel_calls calls = {.frame = run_frame, .ended = channel_ended};
	static const struct channel_calls logged = {
		.frame = run_frame, .ended = channel_ended, .piece = run_piece};
	struct run_place *place = &run->place;
	uint64_t gone_ms = (now_ns() - run->begun_ns) / 1000000; /* also before this viv */
	uint64_t left_ms = gone_ms < run->terms.timeout_ms ? run->terms.timeout_ms - gone_ms : 0;

	channel_listen(place->channel, run->told.log != NULL ? &logged : &calls, run);
	channel_resume(place->channel);
	if (place->out != NULL) {
		stream_listen(place->out, run_bytes_in, run);
		stream_listen(place->err, run_bytes_in, run);
	}
	(void)uv_timer_start(&run->timer, run_timer_due, left_ms + LATE_MS, 0);
}

static int send_to_head(struct run *run, struct err *err)
{
	struct run_place *place = &run->place;
	AUTO_CLOSE int lent = -1;
	AUTO_CLOSE int in = -1;
	int fds[2] = {-1, -1};
	size_t count = 0;
	int r = payload_lend(&run->payload, &lent, err);

	if (r == 0)
		r = run_stdin_lend(run, &in, err);
	if (r == 0 && run->payload.memfd >= 0)
		r = sandbox_keep_payload(place->sandbox, run->payload.memfd, err);
	if (lent >= 0)
		fds[count++] = lent;
	if (in >= 0)
		fds[count++] = in;
	head_mark(place->head);
	if (r == 0)
		r = channel_send_fds(place->channel, &run->payload.frame, fds, count, err);
	drop_fd(&lent);
	drop_fd(&in);
	if (r == 0)
		r = head_begin(place->head, run->terms.timeout_ms, err);
	head_count(place->head);
	return r;
}

static int send_to_sandbox(struct run *run, struct err *err)
{
	struct run_place *place = &run->place;
	int lent = -1;
	int r = 0;

	if (run->told.log != NULL) {
		/* The backend's copy of a stdin without a writer would keep it open. */
		if (run->terms.stdin_kind != RUN_STDIN_PIPE)
			drop_fd(&place->sandbox->in);
		r = sandbox_keep(place->sandbox, run->id, err);
	}
	if (r < 0)
		return r;
	/* Send the code first: the sandbox wakes up while we are still telling the box. */
	box_mark(place->sandbox->box, place->sandbox->channel.sender, &place->mark);
	r = payload_lend(&run->payload, &lent, err);
	if (r == 0)
		r = channel_send(place->channel, &run->payload.frame, &lent, err);
	if (r == 0)
		r = sandbox_begin(place->sandbox, run->terms.timeout_ms, err);
	if (r == 0)
		r = run_stdin_feed(run, err);
	return r;
}

/* Starts the run once it has a place and its guard has agreed. */
static void go(struct run *run)
{
	struct run_place *place = &run->place;
	struct err err = {0};

	if (run->state != RUN_QUEUED || run->waiting.guard != NULL)
		return;
	if (run_is_job(run)) {
		run_job_go(run);
		return;
	}
	if (place->channel == NULL)
		return;
	run->state = RUN_RUNNING;
	run->begun_ns = now_ns();
	run->told.frame_mark = place->channel->counter;
	if (place->out != NULL) {
		stream_drain(place->out);
		stream_drain(place->err);
		stream_rewind(place->out);
		stream_rewind(place->err);
	}
	run_listen(run);
	run_tell_started(run);
	run_note(run, NULL, 0);
	if ((place->head != NULL ? send_to_head(run, &err) : send_to_sandbox(run, &err)) < 0) {
		run->end.facts.why = err;
		run_stop(run);
	}
}

void run_set_pool(struct run *run, struct pool *pool)
{
	run->pool = pool;
}

void run_begin(struct run *run, struct head *head)
{
	run_take_place(run, head, head->sandbox);
	go(run);
}

static void sandbox_taken(void *user, struct sandbox *sandbox, const struct err *why)
{
	struct run *run = user;

	run->waiting.ticket = NULL;
	if (sandbox == NULL) {
		fail_later(run, why);
		return;
	}
	run_take_place(run, NULL, sandbox);
	go(run);
}

static void guard_answered(void *user, const struct verdict_testimony *testimony,
			   const struct err *why)
{
	struct run *run = user;

	guard_free(STEAL(run->waiting.guard));
	if (testimony == NULL) {
		run->end.facts.why = *why;
		run_finish(run);
		return;
	}
	if (testimony->kind != VERDICT_OK) {
		/* The check's own sandbox ended normally, which is the fact for this verdict. */
		run->end.testimony = *testimony;
		run->end.testimony.kind = VERDICT_GUARD;
		run->end.facts.has_exit = true;
		run_finish(run);
		return;
	}
	go(run);
}

/* ---- the beginning ---- */

static void set_terms(struct run *run, const struct run_request *request)
{
	const struct plan *plan = &request->kind.plan;

	run->terms = (struct run_terms){
		.timeout_ms = request->timeout_ms,
		.timeout_max_ms = request->timeout_max_ms,
		.output_max = request->output_max,
		.memory_max = plan->memory,
		.files_bytes_max = plan->disk + MIB,
		.files_max = request->files_max > 0 ? request->files_max : RUN_FILES_MAX,
		.stdin_kind = request->stdin_kind,
		.is_look = request->look != NULL,
		.keeps_events = request->keep_events || request->log != NULL,
		.wants_files = request->return_files == OP_YES ||
			       (request->want_files && run->calls.file != NULL),
		.returns_files = request->return_files == OP_YES,
		.needs_cgroup = plan->limits == LIMITS_CGROUP,
	};
	/* An export also contains all variables. A larger one could hardly be read again, and the
	 * memory that would lend it is the daemon's: no limit of the sandbox counts it. */
	if (run->terms.is_look)
		run->terms.files_bytes_max += plan->memory;
	run->end.allowed = (struct run_allowed){
		.timeout_ms = request->timeout_ms,
		.memory = plan->memory,
		.output = request->output_max,
		.cpus = plan->cpus_milli / 1e3,
	};
}

static struct run *run_new(struct pool *pool, const struct run_request *request,
			   const struct run_calls *calls, void *user)
{
	struct run *run = run_blank(pool, request->id, calls, user);

	run->runtime = xstrdup(request->kind.runtime->name);
	if (getrandom(&run->nonce, sizeof(run->nonce), 0) < 0)
		abort();
	set_terms(run, request);
	run->place.maker = request->kind.backend;
	run->told.log = request->log;
	run->input.fd = request->stdin_fd;
	if (!request->is_command)
		run->waiting.guard_runtime = request->guard_runtime;
	for (size_t i = 0; i < ARRAY_LEN(run->told.streams); i++)
		buf_init(&run->told.streams[i].kept, request->output_max);
	return run;
}

/* Frees a run of which nothing has happened yet. */
static int give_up(struct run *run, int r)
{
	run->state = RUN_OVER;
	uv_close((uv_handle_t *)&run->timer, timer_closed);
	run_free(run);
	return r;
}

static int ask_guard(struct run *run, const struct box_kind *of_run, struct err *err)
{
	struct run_waiting *waiting = &run->waiting;
	struct box_kind kind = *of_run;
	int r;

	if (waiting->guard_runtime == NULL)
		return 0;
	kind.runtime = waiting->guard_runtime;
	kind.data = NULL;
	r = guard_kind(run->pool, &kind, err);
	if (r < 0)
		return r;
	return guard_start(run->pool, &kind, &waiting->check, run->nonce, guard_answered, run,
			   &waiting->guard, err);
}

/* Requests everything that the run waits for. */
static void set_out(struct run *run, const struct box_kind *kind)
{
	struct err why = {0};
	int r = ask_guard(run, kind, &why);

	if (r == 0 && run_is_job(run))
		go(run);
	else if (r == 0 && run->place.host == NULL)
		r = pool_take(run->pool, kind, sandbox_taken, run, &run->waiting.ticket, &why);
	if (r < 0)
		fail_later(run, &why);
}

/* libuv timers use the monotonic clock, so setting the wall clock does not change when a run is
 * denied. */
static void hold_due(uv_timer_t *timer)
{
	char message[128];
	char time[32];

	number_format(NUMBER_MS, uv_timer_get_repeat(timer), time, sizeof(time));
	(void)snprintf(message, sizeof(message), "nobody allowed it within %s; nothing ran", time);
	run_deny(timer->data, message, true);
}

/* Everything that the run will do is in its sealed payload, which can no longer change and was not
 * sent anywhere yet. */
static void hold(struct run *run, const struct run_request *request)
{
	struct box_kind *kind = &run->waiting.kind;

	*kind = request->kind;
	kind->trust = xstrdup(request->kind.trust);
	kind->data = xstrdup(request->kind.data);
	run->state = RUN_HELD;
	if (request->held_ms > 0)
		(void)uv_timer_start(&run->timer, hold_due, request->held_ms, request->held_ms);
}

static int start(struct run *run, const struct run_request *request, struct err *err)
{
	int r;

	if (run_is_job(run))
		r = run_job_prepare(run, request, err);
	else
		r = payload_run(request, run->nonce, &run->payload, err);
	if (r == 0 && run->waiting.guard_runtime != NULL)
		r = payload_check(request, run->nonce, &run->waiting.check, err);
	if (r < 0)
		return give_up(run, r);
	if (request->is_held)
		hold(run, request);
	else
		set_out(run, &request->kind);
	return 0;
}

/* ---- public ---- */

int run_start(struct pool *pool, const struct run_request *request, const struct run_calls *calls,
	      void *user, struct run **ret_run, struct err *err)
{
	struct run_request chosen = *request;
	struct run *run = NULL;
	int r = chosen.kind.backend == NULL ? run_choose(pool, &chosen, err) : 0;

	if (r < 0)
		return r;
	run = run_new(pool, &chosen, calls, user);
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

	run->place.host = host;
	run->place.host_user = host_user;
	run->end.facts.is_session = true;
	r = start(run, request, err);
	if (r == 0)
		*ret_run = run;
	return r;
}

void run_allow_later(struct run *run)
{
	if (run->state == RUN_HELD)
		(void)uv_timer_stop(&run->timer);
}

void run_allow(struct run *run, struct pool *pool)
{
	if (run->state != RUN_HELD)
		return;
	(void)uv_timer_stop(&run->timer);
	run->state = RUN_QUEUED;
	run->pool = pool;
	set_out(run, &run->waiting.kind);
	if (run->place.host != NULL)
		run->place.host->allowed(run->place.host_user);
}

void run_deny(struct run *run, const char *message, bool is_undecided)
{
	(void)uv_timer_stop(&run->timer);
	run->end.facts.is_denied = true;
	run->end.facts.is_undecided = is_undecided;
	(void)snprintf(run->end.facts.denial, sizeof(run->end.facts.denial), "%s", message);
	run_finish(run);
}

void run_doubt(struct run *run)
{
	payload_doubt(&run->payload);
}

void run_hold(struct run *run, bool is_held)
{
	if (run->state != RUN_RUNNING || run->place.channel == NULL)
		return;
	if (is_held)
		channel_pause(run->place.channel);
	else
		channel_resume(run->place.channel);
}

void run_wait(struct run *run)
{
	while (run->state < RUN_OVER)
		(void)uv_run(pool_loop(run->pool), UV_RUN_ONCE);
}

bool run_is_held(const struct run *run)
{
	return run->state == RUN_HELD;
}

bool run_may_begin(const struct run *run)
{
	return run->state == RUN_QUEUED;
}

bool run_has_begun(const struct run *run)
{
	return run->begun_ns > 0;
}

bool run_is_running(const struct run *run)
{
	return run->state == RUN_RUNNING || run->state == RUN_ENDING;
}

bool run_is_over(const struct run *run)
{
	return run->state >= RUN_OVER;
}

bool run_is_look(const struct run *run)
{
	return run->terms.is_look;
}

const struct testimony_extras *run_extras(const struct run *run)
{
	return &run->end.extras;
}

enum testimony_failed run_failed(const struct run *run)
{
	return run->terms.is_look ? FAILED_NOT : run->end.extras.failed;
}

struct events *run_events(struct run *run)
{
	return &run->told.events;
}

struct run_facts run_facts(const struct run *run)
{
	const struct run_told *told = &run->told;
	const struct run_end *end = &run->end;
	uint64_t over_ns = run->state >= RUN_OVER ? run->over_ns : now_ns();
	uint64_t begun_ns = run->begun_ns > 0 ? run->begun_ns : over_ns;

	return (struct run_facts){
		.id = run->id,
		.runtime = run->runtime,
		.backend = run->place.backend,
		.walls = run->place.hello.walls,
		.is_claimed = run_is_job(run) && run->place.maker->jobs->is_claimed,
		.has_limits = run->place.has_limits,
		.limits = run->place.limits,
		.verdict = end->verdict,
		.usage =
			{
				.queue_ms = (double)(begun_ns - run->asked_ns) / 1e6,
				.wall_ms = (double)(over_ns - begun_ns) / 1e6,
				.cpu_ms = (double)end->facts.exit.cpu_us / 1e3,
				.peak_memory = end->facts.exit.peak,
				.output_bytes = told->streams[0].seen + told->streams[1].seen,
			},
		.allowed = end->allowed,
		.truncated = told->cut,
		.out = &told->streams[0].kept,
		.err = &told->streams[1].kept,
		.parts = told->parts,
		.missing = &end->extras.missing,
		.left_out = &end->extras.left_out,
		.pid = run->place.hello.pid,
		.memory = end->facts.exit.memory,
		.left = end->left,
		.checkpoint = &end->checkpoint,
	};
}
