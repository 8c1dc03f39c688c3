// SPDX-License-Identifier: Apache-2.0
/* States of a session on their way to disk: a look at the head or at a checkpoint pickles what can
 * be pickled, and what it sends is written piece by piece. Nobody waits for it, and a run that
 * comes meanwhile goes first. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/c.h"
#include "base/json.h"
#include "base/log.h"
#include "session/session_state.h"

#define KEEP_MS 120000U /* a session that pickles longer than this is not kept */
#define KEEP_ANSWER_MAX (16U << 20)
#define KEEP_PAUSE 4U /* for each second of writing that many of rest */
#define KEEP_PAUSE_MAX_NS (60ULL * 1000000000)

/* One state that is being written. */
struct keeping {
	struct session *session;   /* borrowed */
	struct store_state *state; /* owned */
	struct look *look;         /* borrowed; NULL: none is on */
	bool is_head;              /* the session as it is */
	bool is_files;             /* its workspace comes first */
	char checkpoint[ID_SIZE];  /* that is looked at; "": the head */
	uint64_t version, turns, begun_ns;
	int fd; /* owned */
	uint64_t size;
	char *missing; /* owned: of the file that is put on the disk */
	struct buf answer;
	struct err err;
};

static void ask(struct keeping *keeping);

/* ---- what is to be written ---- */

static bool is_stored(const struct session *session, const char *id)
{
	return session->stored != NULL && stored_find(session->stored, id) != NULL;
}

/* Newest first: it is the one that would be missed most. What a session began with is worth it once
 * it has run something: before, there is nothing to go back from. */
static struct checkpoint *next_checkpoint(const struct session *session)
{
	struct checkpoint *checkpoint = NULL;

	TAILQ_FOREACH_REVERSE(checkpoint, &session->checkpoints, checkpoint_list, entry)
	{
		if (!checkpoint->is_keep_tried && !is_stored(session, checkpoint->id) &&
		    (session->runs > 0 || checkpoint->files != FILES_NONE))
			return checkpoint;
	}
	return NULL;
}

bool session_keep_is_due(const struct session *session)
{
	return session->is_kept && session->table->store != NULL &&
	       (session->keeping != NULL || session->needs_keeping ||
		next_checkpoint(session) != NULL);
}

void session_changed(struct session *session)
{
	session->needs_keeping = session->is_kept;
}

/* The workspace of this version, if it was written before. */
static const struct store_files *known_files(const struct session *session, uint64_t version)
{
	const struct store_files *files = NULL;

	if (session->stored == NULL || version == 0)
		return NULL;
	TAILQ_FOREACH(files, &session->stored->files, entry) {
		if (files->version == version)
			return files;
	}
	return NULL;
}

static void plan_files(struct keeping *keeping, enum checkpoint_files files, bool is_dirty)
{
	const struct session *session = keeping->session;
	const struct store_files *known = known_files(session, keeping->version);

	keeping->state->has_files = true;
	if (known != NULL) {
		keeping->state->files = known->number;
	} else if (files != FILES_NONE || is_dirty) {
		/* Files are read as they are: of another moment there is nothing to read. */
		keeping->is_files = keeping->version == session->files_version;
		keeping->state->has_files = keeping->is_files;
	}
}

static struct keeping *plan(struct session *session)
{
	struct keeping *keeping = xnew(struct keeping);
	struct store_state *state = keeping->state = xnew(struct store_state);
	struct checkpoint *from = NULL;

	keeping->session = session;
	keeping->is_head = session->needs_keeping;
	keeping->fd = -1;
	keeping->turns = session->turns;
	keeping->begun_ns = now_ns();
	buf_init(&keeping->answer, KEEP_ANSWER_MAX);
	from = !keeping->is_head ? next_checkpoint(session)
	       : session->blocker[0] == '\0' && !session->files_dirty
		       ? session_find_checkpoint(session, session->current)
		       : NULL;
	if (from != NULL) {
		(void)snprintf(keeping->checkpoint, ID_SIZE, "%s", from->id);
		memcpy(state->id, from->id, ID_SIZE);
		memcpy(state->parent, from->parent, ID_SIZE);
		memcpy(state->run, from->run, ID_SIZE);
		state->name = xstrdup(from->name);
		state->created_ms = from->created_ms;
		state->memory = from->memory;
		keeping->version = from->files_version;
		plan_files(keeping, from->files, false);
		return keeping;
	}
	id_new("cp_", state->id);
	memcpy(state->parent, session->current, ID_SIZE);
	memcpy(state->run, session->last_run, ID_SIZE);
	state->created_ms = wall_ms();
	state->memory = session->memory;
	keeping->version = session->files_version;
	plan_files(keeping, session->files, session->files_dirty);
	return keeping;
}

/* ---- the end of one ---- */

static void keeping_free(struct keeping *keeping)
{
	if (keeping->fd >= 0)
		stored_abort(keeping->session->stored, &keeping->fd);
	store_state_free(keeping->state);
	free(keeping->missing);
	buf_done(&keeping->answer);
	free(keeping);
}

static void rest_a_while(struct session *session, const struct keeping *keeping)
{
	uint64_t pause = (now_ns() - keeping->begun_ns) * KEEP_PAUSE;

	session->keep_at_ns = now_ns() + (pause < KEEP_PAUSE_MAX_NS ? pause : KEEP_PAUSE_MAX_NS);
}

/* It did not work out. It is tried again when there is another state, not over and over. */
static void give_up(struct keeping *keeping, const struct err *why)
{
	struct session *session = keeping->session;
	struct checkpoint *checkpoint = session_find_checkpoint(session, keeping->checkpoint);

	session->keeping = NULL;
	if (session->is_ended || session->sandbox == NULL) {
		keeping_free(keeping);
		return;
	}
	log_event(LOG_LEVEL_WARNING, "session.keep", "session=%s why=%s", session->id, why->text);
	if (keeping->is_head)
		(void)snprintf(session->keep_why, sizeof(session->keep_why), "%.255s", why->text);
	if (checkpoint != NULL)
		checkpoint->is_keep_tried = true;
	if (keeping->is_head && keeping->turns == session->turns)
		session->needs_keeping = false;
	rest_a_while(session, keeping);
	keeping_free(keeping);
	session_kick(session);
}

/* A run came in between: what was read is neither the one nor the other. */
static bool is_spoiled(const struct keeping *keeping)
{
	const struct session *session = keeping->session;

	return keeping->turns != session->turns &&
	       (keeping->is_files || keeping->checkpoint[0] == '\0');
}

static void start_again(struct keeping *keeping)
{
	struct session *session = keeping->session;

	session->keeping = NULL;
	keeping_free(keeping);
	session_kick(session);
}

/* It is on the disk, and outlives a power cut: now it counts. */
static void state_settled(void *user, const struct err *why)
{
	struct keeping *keeping = user;
	struct session *session = keeping->session;
	struct checkpoint *checkpoint = session_find_checkpoint(session, keeping->checkpoint);

	if (why != NULL) {
		give_up(keeping, why);
		return;
	}
	/* Once is enough: what room drops is not written again. */
	if (checkpoint != NULL)
		checkpoint->is_keep_tried = true;
	if (keeping->is_head)
		session->keep_why[0] = '\0';
	if (keeping->is_head && keeping->turns == session->turns)
		session->needs_keeping = false;
	session->keeping = NULL;
	rest_a_while(session, keeping);
	keeping_free(keeping);
	session_tell(session, "kept", "");
	session_record(session);
	session_kick(session);
}

static void state_written(struct keeping *keeping, char *take_missing)
{
	struct session *session = keeping->session;
	struct err err = {0};
	struct buf record;
	int r;

	keeping->state->missing = take_missing;
	if (keeping->is_head && keeping->turns == session->turns)
		memcpy(session->kept, keeping->state->id, ID_SIZE);
	buf_init(&record, STORE_RECORD_MAX);
	r = session_put_record(&record, session);
	if (r < 0) {
		(void)err_set(&err, ERR_INTERNAL, -r, "no memory for the record");
	} else {
		r = stored_end_state(session->stored, &keeping->fd, STEAL(keeping->state), &record,
				     &err);
	}
	buf_done(&record);
	if (r < 0)
		give_up(keeping, &err);
	else
		stored_settle(session->stored, state_settled, keeping);
}

static void files_written(struct keeping *keeping, char *take_missing)
{
	struct session *session = keeping->session;
	struct store_files *files = xnew(struct store_files);
	struct err err = {0};

	files->missing = take_missing;
	files->version = keeping->version;
	if (stored_end_files(session->stored, &keeping->fd, files, &err) < 0) {
		give_up(keeping, &err);
		return;
	}
	keeping->state->files = files->number;
	keeping->is_files = false;
	ask(keeping);
}

static void file_synced(void *user, const struct err *why)
{
	struct keeping *keeping = user;

	if (why != NULL)
		give_up(keeping, why);
	else if (keeping->is_files)
		files_written(keeping, STEAL(keeping->missing));
	else
		state_written(keeping, STEAL(keeping->missing));
}

static void file_whole(struct keeping *keeping, char *take_missing)
{
	struct err err = {0};

	keeping->missing = take_missing;
	if (stored_sync(keeping->session->stored, keeping->fd, file_synced, keeping, &err) < 0)
		give_up(keeping, &err);
}

/* The sandbox goes. A look that is on fails by itself; what is written reaches the disk without
 * anybody who waits for it. */
void session_drop_keeping(struct session *session, const struct err *why)
{
	struct keeping *keeping = session->keeping;

	if (keeping == NULL || keeping->look != NULL)
		return;
	stored_forget(session->stored);
	if (keeping->state != NULL) {
		give_up(keeping, why);
		return;
	}
	session->keeping = NULL;
	keeping_free(keeping);
}

/* ---- the looks ---- */

static void take_answer(void *user, const char *json, size_t size)
{
	struct keeping *keeping = user;

	buf_consume(&keeping->answer, keeping->answer.size);
	(void)buf_append(&keeping->answer, json, size);
}

static bool take_bytes(void *user, const void *bytes, size_t size, bool is_last)
{
	struct keeping *keeping = user;

	(void)is_last;
	if (keeping->err.kind != ERR_NONE ||
	    stored_append(keeping->session->stored, keeping->fd, keeping->size, bytes, size,
			  &keeping->err) < 0)
		return false;
	keeping->size += size;
	return true;
}

static void look_done(void *user, const char *as_of, const struct err *why)
{
	struct keeping *keeping = user;
	const char *lost = "[]";
	size_t size = 2;

	(void)as_of;
	keeping->look = NULL;
	if (keeping->err.kind == ERR_NONE && why != NULL)
		keeping->err = *why;
	if (keeping->err.kind == ERR_NONE &&
	    !json_find(keeping->answer.data, keeping->answer.size, "lost", &lost, &size))
		(void)err_set(&keeping->err, ERR_CONFLICT, EIO, "the session gave no answer");
	if (keeping->session->is_ended || keeping->session->sandbox == NULL)
		give_up(keeping, &keeping->err);
	else if (is_spoiled(keeping))
		start_again(keeping);
	else if (keeping->err.kind != ERR_NONE)
		give_up(keeping, &keeping->err);
	else
		file_whole(keeping, store_missing(lost, size));
}

static void ask(struct keeping *keeping)
{
	static const struct look_calls calls = {
		.answer = take_answer, .file = take_bytes, .done = look_done};
	struct session *session = keeping->session;
	const struct look_ask question = {
		.json = keeping->is_files ? "{\"kind\":\"export\",\"only\":\"files\"}"
					  : "{\"kind\":\"export\",\"only\":\"variables\"}",
		.checkpoint = keeping->checkpoint[0] != '\0' ? keeping->checkpoint : NULL,
		.timeout_ms = KEEP_MS,
	};
	struct err err = {0};
	int r;

	if (session->stored == NULL)
		session->stored = stored_new(session->table->store, session->id, session->token);
	keeping->size = 0;
	buf_consume(&keeping->answer, keeping->answer.size);
	r = stored_begin(session->stored, &keeping->fd, &err);
	if (r == 0)
		r = session_look(session, &question, &calls, keeping, &keeping->look, &err);
	if (r < 0)
		give_up(keeping, &err);
}

static void again_due(uv_timer_t *timer)
{
	session_kick(timer->data);
}

void session_keep(struct session *session)
{
	uint64_t now = now_ns();

	if (!session_keep_is_due(session) || session->keeping != NULL ||
	    session->state != SESSION_IDLE || session->reload != NULL)
		return;
	/* Large states are not written after every run: each takes its share of the disk's time. */
	if (now < session->keep_at_ns && !session->table->is_stopping &&
	    TAILQ_EMPTY(&session->jobs)) {
		(void)uv_timer_start(&session->again, again_due,
				     (session->keep_at_ns - now) / 1000000 + 1, 0);
		return;
	}
	session->keeping = plan(session);
	ask(session->keeping);
}

/* The session is at this checkpoint now; whoever makes it again goes on from there. */
void session_keep_place(struct session *session)
{
	struct err err = {0};
	struct buf record;

	if (!session->is_kept || strcmp(session->kept, session->current) == 0)
		return;
	if (!is_stored(session, session->current)) {
		session->needs_keeping = true;
		return;
	}
	memcpy(session->kept, session->current, ID_SIZE);
	session->needs_keeping = false;
	buf_init(&record, STORE_RECORD_MAX);
	if (session_put_record(&record, session) == 0 &&
	    stored_set_record(session->stored, &record, &err) < 0)
		log_event(LOG_LEVEL_WARNING, "session.keep", "session=%s why=%s", session->id,
			  err.text);
	buf_done(&record);
}

void session_name_state(struct session *session, const char *id, const char *name)
{
	struct store_state *state =
		session->stored != NULL ? stored_find(session->stored, id) : NULL;
	struct err err = {0};

	if (state == NULL)
		return;
	free(state->name);
	state->name = xstrdup(name);
	if (stored_write(session->stored, &err) < 0)
		log_event(LOG_LEVEL_WARNING, "session.keep", "session=%s why=%s", session->id,
			  err.text);
}
