// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "session/session_state.h"

#define LOOK_MS 10000U
#define LOOK_RESULT_MAX (8ULL * MIB)
#define LOOKS_MAX 8U /* forks at a time: the others must not take the place of checkpoints */

/* One question: a run in a fork that nobody keeps. */
struct look {
	struct session *session; /* borrowed: NULL once it has ended, or asked of the head */
	struct run *run;         /* owned */
	struct head *head;       /* owned: the throw-away fork */
	struct look_calls calls;
	void *user;               /* borrowed until done */
	char checkpoint[ID_SIZE]; /* asked for; "": the head */
	char as_of[ID_SIZE];      /* looked at; "": the head */
	bool has_source;          /* its fork was asked for */
	uint64_t forked_ns;       /* ... then */
	LIST_ENTRY(look) entry;
};

static void look_end(struct look *look, const struct err *why)
{
	struct look_calls calls = look->calls;
	void *user = look->user;
	char as_of[ID_SIZE];

	memcpy(as_of, look->as_of, sizeof(as_of));
	if (look->session != NULL) {
		LIST_REMOVE(look, entry);
		session_kick(look->session); /* another one may wait for its place */
	}
	head_free(look->head);
	run_free(look->run);
	free(look);
	if (calls.done != NULL)
		calls.done(user, as_of, why);
}

/* ---- the run in the fork ---- */

static void host_stop(void *user, struct run *run)
{
	struct look *look = user;

	(void)run;
	/* All was said, or enough was: either way the fork goes. */
	if (look->head != NULL)
		head_drop(look->head);
}

static void host_over(void *user, struct run *run)
{
	(void)user;
	(void)run;
}

static const struct run_host look_host = {
	.end = host_stop,
	.stop = host_stop,
	.over = host_over,
};

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
	struct err why = {0};

	if (facts.verdict.kind == VERDICT_OK && facts.truncated.files)
		(void)err_set(&why, ERR_TOO_LARGE, EFBIG, "it is larger than the session may be");
	else if (facts.verdict.kind == VERDICT_TIMEOUT)
		(void)err_set(&why, ERR_CONFLICT, ETIMEDOUT,
			      "the answer took longer than %u s; ask for less of it, or have a run "
			      "make it",
			      LOOK_MS / 1000);
	else if (facts.verdict.kind != VERDICT_OK)
		(void)err_set(&why, ERR_CONFLICT, EIO, "the look ended as %s: %s",
			      verdict_name(facts.verdict.kind), facts.verdict.message);
	look_end(look, why.kind != ERR_NONE ? &why : NULL);
}

static const struct run_calls look_run_calls = {
	.fact = run_fact,
	.file = run_file_piece,
	.done = run_done,
};

/* ---- the fork ---- */

static void head_ready(void *user, struct head *head)
{
	struct look *look = user;

	run_begin(look->run, head);
	if (look->session != NULL)
		session_kick(look->session); /* its parent may fork again */
}

static void head_failed(void *user, struct head *head, const struct err *why)
{
	struct look *look = user;
	struct session *session = look->session;
	struct err copy = *why;

	(void)head;
	run_abandon(look->run, false, &copy);
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

/* Whom to fork: what was asked for; the head when it is idle; else the last checkpoint. */
static struct head *source_of(const struct session *session, struct look *look)
{
	struct checkpoint *checkpoint = NULL;

	if (look->checkpoint[0] != '\0') {
		checkpoint = session_find_checkpoint(session, look->checkpoint);
	} else if (session->state == SESSION_IDLE) {
		look->as_of[0] = '\0';
		return session->head;
	} else if (session->state == SESSION_RUNNING) {
		checkpoint = session_last_checkpoint(session);
	}
	if (checkpoint == NULL)
		return NULL;
	memcpy(look->as_of, checkpoint->id, sizeof(look->as_of));
	return checkpoint->head;
}

static void await_fork(struct session *session, uint64_t ms)
{
	if (!uv_is_active((const uv_handle_t *)&session->late))
		(void)uv_timer_start(&session->late, looks_late, ms, 0);
}

/* An interpreter that does not fork when told must not keep who asked. */
void looks_late(uv_timer_t *timer)
{
	struct session *session = timer->data;
	struct look *look = LIST_FIRST(&session->looks);
	uint64_t first = now_ns() - LOOK_MS * 1000000ULL;
	struct err why = {0};

	(void)err_set(&why, ERR_CONFLICT, ETIMEDOUT, "the interpreter did not fork in %u s",
		      LOOK_MS / 1000);
	while (look != NULL) {
		struct look *next = LIST_NEXT(look, entry);
		bool is_coming = look->has_source && !run_has_begun(look->run);

		if (is_coming && look->forked_ns <= first)
			run_abandon(look->run, false, &why);
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

	if (session->reload != NULL)
		return; /* what would be seen is half of it */
	LIST_FOREACH(look, &session->looks, entry)
		count += look->has_source;
	for (look = LIST_FIRST(&session->looks); look != NULL && count < LOOKS_MAX; look = next) {
		struct head *source = look->has_source ? NULL : source_of(session, look);
		struct err err = {0};
		int r = -EBUSY;

		next = LIST_NEXT(look, entry);
		if (look->checkpoint[0] != '\0' && !look->has_source &&
		    !session_has_checkpoint(session, look->checkpoint))
			r = session_no_checkpoint(session, look->checkpoint, &err);
		if (source != NULL)
			r = head_fork(source, true, NULL, NULL, &look_head_calls, look, &look->head,
				      &err);
		if (r == 0) {
			look->has_source = true;
			look->forked_ns = now_ns();
			await_fork(session, LOOK_MS);
			count++;
			session_wake(session);
		} else if (r != -EBUSY && (r != -EMFILE || count == 0)) {
			run_abandon(look->run, false, &err);
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
		run_abandon(look->run, false, why);
	}
}

static int check(const struct session *session, const struct look_ask *ask, struct err *err)
{
	if (session->state == SESSION_LOST || session->state == SESSION_CLOSED)
		return err_set(err, ERR_CONFLICT, ESTALE, "the session is lost: %s",
			       session->why.text);
	if (session->state == SESSION_ASLEEP && !ask->is_in_head)
		return err_set(err, ERR_CONFLICT, ESTALE,
			       "the session is asleep; wake it, or run something in it");
	if (ask->checkpoint != NULL && !session_has_checkpoint(session, ask->checkpoint) &&
	    session->stored != NULL && stored_find(session->stored, ask->checkpoint) != NULL)
		return err_set(
			err, ERR_CONFLICT, ESTALE,
			"checkpoint: %.60s is on disk, and can be looked at when the session "
			"has gone back to it",
			ask->checkpoint);
	if (ask->checkpoint != NULL && !session_has_checkpoint(session, ask->checkpoint))
		return session_no_checkpoint(session, ask->checkpoint, err);
	/* While a state is read in, its checkpoint is still to come. */
	if (ask->checkpoint == NULL && !ask->is_in_head && session->state == SESSION_RUNNING &&
	    session->reload == NULL && session_last_checkpoint(session) == NULL)
		return err_set(err, ERR_CONFLICT, EBUSY,
			       "a run is on, and there is no checkpoint to look at instead");
	return 0;
}

/* Who came first is answered first. */
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
	struct look *look = NULL;
	int r = check(session, ask, err);

	if (r < 0)
		return r;
	look = xnew(struct look);
	look->calls = *calls;
	look->user = user;
	if (ask->checkpoint != NULL)
		(void)snprintf(look->checkpoint, sizeof(look->checkpoint), "%s", ask->checkpoint);
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
	return look->as_of;
}
