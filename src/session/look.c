// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "session/session_state.h"

#define LOOK_MS 10000U
#define LOOK_RESULT_MAX (8ULL * MIB)
#define LOOKS_MAX 8U /* forks at a time: checkpoints need some of a sandbox's heads \ */

/* One question: a run in a throw-away fork. */
struct look {
	struct session *session; /* borrowed; NULL once it has ended, and for a look in the head */
	struct run *run;         /* owned */
	struct head *head;       /* owned: the throw-away fork */
	struct look_calls calls;
	void *user;               /* borrowed until done */
	char checkpoint[ID_SIZE]; /* the checkpoint that was asked for; "": the head */
	struct look_state state;  /* that is looked at */
	uint64_t forked_ns;       /* when its fork was requested; 0: not yet */
	pid_t source;             /* the interpreter that was asked to fork */
	bool is_stuck;            /* ... refused or failed to: asking again does not help */
	LIST_ENTRY(look) entry;
};

static void look_end(struct look *look, const struct err *why)
{
	struct look_calls calls = look->calls;
	void *user = look->user;
	struct look_state state = look->state;

	if (look->session != NULL) {
		LIST_REMOVE(look, entry);
		session_kick(look->session); /* another look may wait for a free place */
	}
	head_free(look->head);
	run_free(look->run);
	free(look);
	if (calls.done != NULL)
		calls.done(user, &state, why);
}

/* ---- the run in the fork ---- */

static const struct run_host look_host = {0};

static void run_fact(void *user, const char *type, const char *value, size_t size)
{
	struct look *look = user;

	if (strcmp(type, "look") == 0 && look->calls.answer != NULL)
		look->calls.answer(look->user, value, size);
}

static void run_file_piece(void *user, const char *path, const void *bytes, size_t size,
			   bool is_last)
{
	struct look *look = user;

	(void)path;
	if (look->calls.file != NULL && !look->calls.file(look->user, bytes, size, is_last))
		run_cancel(look->run, false);
}

static void run_done(void *user, struct run *run)
{
	struct look *look = user;
	struct run_facts facts = run_facts(run);
	bool is_ours = facts.verdict.kind == VERDICT_BACKEND; /* the message is a whole sentence */
	bool is_passing = is_ours && !look->is_stuck;
	struct err why = {0};

	if (facts.verdict.kind == VERDICT_OK && facts.truncated.files)
		(void)err_set(&why, ERR_TOO_LARGE, EFBIG,
			      "the answer is larger than the session may be");
	else if (facts.verdict.kind == VERDICT_TIMEOUT)
		(void)err_set(&why, ERR_CONFLICT, ETIMEDOUT, "the answer took longer than %llu s%s",
			      (unsigned long long)facts.verdict.limit_value / 1000,
			      look->head != NULL ? "; ask for less of it, or have a run make it"
						 : ""); /* a look in the head changes something */
	else if (facts.verdict.kind == VERDICT_MEMORY)
		(void)err_set(&why, ERR_CONFLICT, ENOMEM,
			      "the session has too little memory left for this; delete variables "
			      "that are no longer needed, or work under a policy with more memory");
	else if (facts.verdict.kind != VERDICT_OK)
		(void)err_set(
			&why, is_passing ? ERR_BUSY : ERR_CONFLICT, EIO, "%s%s",
			is_ours ? "" : "the session could not answer: ", facts.verdict.message);
	look_end(look, why.kind != ERR_NONE ? &why : NULL);
}

static const struct run_calls look_run_calls = {
	.fact = run_fact,
	.file = run_file_piece,
	.done = run_done,
};

/* ---- the fork ---- */

static void abandon(struct look *look, const struct err *why)
{
	look->is_stuck = why->kind == ERR_CONFLICT || why->kind == ERR_NOT_FOUND;
	run_abandon(look->run, false, why);
}

static void head_ready(void *user, struct head *head)
{
	struct look *look = user;

	run_begin(look->run, head);
	if (look->session != NULL)
		session_kick(look->session); /* its parent may fork again */
}

/* Has the session dropped the interpreter that was asked to fork? */
static bool has_lost_source(const struct look *look)
{
	const struct head *source = look->head->sandbox->heads[look->head->parent];

	return source == NULL || source->pid != look->source || source->is_dropped ||
	       source->state == HEAD_OVER;
}

static void head_failed(void *user, struct head *head, const struct err *why)
{
	struct look *look = user;
	struct session *session = look->session;
	struct err copy = *why;

	(void)head;
	if (session != NULL && has_lost_source(look)) {
		/* The session has gone to another state: fork that one instead. */
		head_free(STEAL(look->head));
		look->forked_ns = 0;
	} else {
		abandon(look, &copy);
	}
	if (session != NULL)
		session_kick(session);
}

static void look_exited(void *user, struct head *head, const struct box_exit *facts,
			const struct err *why)
{
	struct look *look = user;

	(void)head;
	run_exited(look->run, facts, why);
}

static const struct head_calls look_head_calls = {
	.ready = head_ready,
	.failed = head_failed,
	.exited = look_exited,
};

/* The head to fork: the requested checkpoint's; else the session's, if it is idle; else the last
 * checkpoint's. */
static struct head *source_of(const struct session *session, struct look *look)
{
	struct checkpoint *checkpoint = NULL;

	if (look->checkpoint[0] != '\0') {
		checkpoint = states_find(&session->states, look->checkpoint);
	} else if (session->state == SESSION_IDLE) {
		look->state = (struct look_state){0};
		return session->head;
	} else if (session->state == SESSION_RUNNING) {
		checkpoint = states_last(&session->states);
		(void)snprintf(look->state.blocker, sizeof(look->state.blocker), "%s",
			       session->states.blocker);
	}
	if (checkpoint == NULL)
		return NULL;
	memcpy(look->state.id, checkpoint->id, sizeof(look->state.id));
	return checkpoint->head;
}

static void looks_late(uv_timer_t *timer);

static void await_fork(struct session *session, uint64_t ms)
{
	if (!uv_is_active((const uv_handle_t *)&session->timers[TIMER_LOOK]))
		(void)uv_timer_start(&session->timers[TIMER_LOOK], looks_late, ms, 0);
}

/* Fails looks whose interpreter did not fork in time. */
static void looks_late(uv_timer_t *timer)
{
	struct session *session = timer->data;
	struct look *look = LIST_FIRST(&session->looks);
	uint64_t first = now_ns() - LOOK_MS * 1000000ULL;
	struct err why = {0};

	(void)err_set(&why, ERR_CONFLICT, ETIMEDOUT, "the interpreter did not fork in %u s",
		      LOOK_MS / 1000);
	while (look != NULL) {
		struct look *next = LIST_NEXT(look, entry);
		bool is_coming = look->forked_ns > 0 && !run_has_begun(look->run);

		if (is_coming && look->forked_ns <= first)
			abandon(look, &why);
		else if (is_coming)
			await_fork(session, (look->forked_ns - first) / 1000000 + 1);
		look = next;
	}
}

void looks_work(struct session *session)
{
	struct look *look = NULL;
	struct look *next = NULL;
	uint32_t count = 0;

	if (session->disk.reload != NULL)
		return; /* the session is only half read */
	LIST_FOREACH(look, &session->looks, entry)
		count += look->forked_ns > 0;
	for (look = LIST_FIRST(&session->looks); look != NULL && count < LOOKS_MAX; look = next) {
		struct head *source = look->forked_ns > 0 ? NULL : source_of(session, look);
		struct err err = {0};
		int r = -EBUSY;

		next = LIST_NEXT(look, entry);
		if (look->checkpoint[0] != '\0' && look->forked_ns == 0 &&
		    !session_has_checkpoint(session, look->checkpoint))
			r = session_no_checkpoint(session, look->checkpoint, &err);
		if (source != NULL) {
			look->source = source->pid;
			r = head_fork(source, true, NULL, NULL, &look_head_calls, look, &look->head,
				      &err);
		}
		if (r == 0) {
			look->forked_ns = now_ns();
			await_fork(session, LOOK_MS);
			count++;
			session_wake(session);
		} else if (r != -EBUSY && (r != -EMFILE || count == 0)) {
			abandon(look, &err);
		}
	}
}

void looks_fail(struct session *session, const struct err *why)
{
	struct look *look = NULL;

	while ((look = LIST_FIRST(&session->looks)) != NULL) {
		LIST_REMOVE(look, entry);
		look->session = NULL;
		head_free(STEAL(look->head));
		abandon(look, why);
	}
}

static int check(const struct session *session, const struct look_ask *ask, const char *checkpoint,
		 struct err *err)
{
	const char *field = ask->field != NULL ? ask->field : "checkpoint";

	if (session_check_lives(session, err) < 0)
		return -err->num;
	if (session->state == SESSION_ASLEEP && !ask->is_in_head)
		return err_set(err, ERR_CONFLICT, ESTALE,
			       "the session is asleep; wake it, or run something in it");
	if (checkpoint != NULL && !session_has_checkpoint(session, checkpoint) &&
	    stored_find(session->disk.stored, checkpoint) != NULL)
		return err_field(err, ERR_CONFLICT, ESTALE, field,
				 "%.60s is on disk; roll the session back to it before you look "
				 "at it",
				 checkpoint);
	if (checkpoint != NULL && !session_has_checkpoint(session, checkpoint))
		return session_no_state(session, field, checkpoint, err);
	/* While a state is read from disk there is no checkpoint yet, but there will be. */
	if (checkpoint == NULL && !ask->is_in_head && session->state == SESSION_RUNNING &&
	    session->disk.reload == NULL && states_last(&session->states) == NULL)
		return err_set(err, ERR_CONFLICT, EBUSY,
			       "a run is under way, and there is no checkpoint to look at instead");
	return 0;
}

/* Looks are answered in order. */
static void enqueue(struct session *session, struct look *look)
{
	struct look *last = LIST_FIRST(&session->looks);

	look->session = session;
	while (last != NULL && LIST_NEXT(last, entry) != NULL)
		last = LIST_NEXT(last, entry);
	if (last == NULL)
		LIST_INSERT_HEAD(&session->looks, look, entry);
	else
		LIST_INSERT_AFTER(last, look, entry);
	session_kick(session);
}

int session_look(struct session *session, const struct look_ask *ask,
		 const struct look_calls *calls, void *user, struct look **ret_look,
		 struct err *err)
{
	uint32_t timeout_ms = ask->timeout_ms > 0 ? ask->timeout_ms : LOOK_MS;
	const struct run_request request = {
		.look = ask->json,
		.code = ask->bytes,
		.kind = session->kind,
		.is_session = true,
		.timeout_ms = timeout_ms,
		.timeout_max_ms = timeout_ms,
		.output_max = KIB,
		.result_max = LOOK_RESULT_MAX,
		.want_files = true,
	};
	const char *checkpoint =
		ask->checkpoint != NULL ? session_checkpoint_id(session, ask->checkpoint) : NULL;
	struct look *look = NULL;
	int r = check(session, ask, checkpoint, err);

	if (r < 0)
		return r;
	look = xnew(struct look);
	look->calls = *calls;
	look->user = user;
	if (checkpoint != NULL)
		(void)snprintf(look->checkpoint, sizeof(look->checkpoint), "%s", checkpoint);
	if (ask->is_in_head)
		r = session_run(session, &request, &look_run_calls, look, &look->run, err);
	else
		r = run_prepare(session->table->pool, &request, &look_host, look, &look_run_calls,
				look, &look->run, err);
	if (r < 0) {
		free(look);
		return r;
	}
	if (!ask->is_in_head)
		enqueue(session, look);
	if (ret_look != NULL)
		*ret_look = look;
	return 0;
}

void look_cancel(struct look *look)
{
	look->calls = (struct look_calls){0};
	run_cancel(look->run, false);
}

void look_hold(struct look *look, bool is_held)
{
	run_hold(look->run, is_held);
}

const char *look_as_of(const struct look *look)
{
	return look->state.id;
}
