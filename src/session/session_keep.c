// SPDX-License-Identifier: Apache-2.0
/* Writing states to disk: a look at the head or at a checkpoint pickles what it can, and its bytes
 * are written as they come. Nobody waits for this, and a run that comes meanwhile goes first. */
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
#define KEEP_PAUSE 4U /* seconds of rest for each second of writing */
#define KEEP_PAUSE_MAX_NS (60ULL * 1000000000)

/* A write under way: a state, the session's workspace, or both. */
struct keeping {
	struct session *session;   /* borrowed */
	struct store_state *state; /* owned; NULL: none, or the store has it */
	struct look *look;         /* borrowed; NULL: none is under way */
	bool is_head;              /* the state is that of the head */
	bool is_alone;             /* only the workspace is written */
	bool is_now;               /* the session's workspace is known with this: `workspace` */
	bool is_own;               /* the workspace that is written is also that of the state */
	bool is_shared;            /* a branch had the same workspace when this began */
	bool is_files;             /* the workspace is being written, before the variables */
	char checkpoint[ID_SIZE];  /* the checkpoint that is looked at; "": the head */
	uint64_t workspace;        /* number of a store_files; 0: empty */
	uint64_t version;          /* of the workspace */
	uint64_t turns, begun_ns;
	int fd; /* owned */
	uint64_t size;
	char *missing; /* owned: what the file that is being synced lacks */
	struct buf answer;
	struct err err;
};

static void ask(struct keeping *keeping);

struct store_state *session_keeping_state(const struct session *session)
{
	return session->disk.keeping != NULL ? session->disk.keeping->state : NULL;
}

/* ---- what must be written ---- */

static bool is_stored(const struct session *session, const char *id)
{
	return stored_find(session->disk.stored, id) != NULL;
}

/* The newest checkpoint with a name is written first, since jobs wait for it; then the newest one
 * without, since its loss would matter most. The state that a session began with is written as
 * well: without it, a session without a run could not be woken. */
static struct checkpoint *next_checkpoint(const struct session *session)
{
	struct checkpoint *checkpoint = NULL;
	struct checkpoint *newest = NULL;

	TAILQ_FOREACH_REVERSE(checkpoint, &session->states.live, checkpoint_list, entry)
	{
		if (checkpoint->is_keep_tried || is_stored(session, checkpoint->id))
			continue;
		if (checkpoint->name != NULL)
			return checkpoint;
		newest = newest == NULL ? checkpoint : newest;
	}
	return newest;
}

/* A named checkpoint promises its files as well. Only the present files can be read, so a named
 * checkpoint is written to disk before anything may change them. */
bool session_keep_is_first(const struct session *session)
{
	const struct checkpoint *next = NULL;

	if (!session_is_kept(session) || session->table->store == NULL ||
	    session->disk.reload != NULL)
		return false;
	next = next_checkpoint(session);
	return next != NULL && next->name != NULL;
}

/* Files can change without a new state: by a rollback, or by a failed run that left them. A session
 * is frozen only once its files are on disk. */
static bool is_workspace_due(const struct session *session)
{
	uint64_t version = session->files.version;

	return session->sandbox != NULL && session->state != SESSION_FROZEN &&
	       session->former == NULL && session->disk.reload == NULL &&
	       stored_last(session->disk.stored) != NULL &&
	       (version == 0 ||
		(version != session->disk.written && version != session->disk.tried));
}

bool session_keep_is_due(const struct session *session)
{
	return session_is_kept(session) && session->table->store != NULL &&
	       (session->disk.keeping != NULL || session->disk.keep == KEEP_DUE ||
		next_checkpoint(session) != NULL || is_workspace_due(session));
}

void disk_set_due(struct disk *disk, bool is_due)
{
	if (disk->keep != KEEP_OFF)
		disk->keep = is_due ? KEEP_DUE : KEEP_DONE;
}

void disk_try_again(struct disk *disk)
{
	if (disk->why[0] == '\0')
		return;
	disk->tried = 0;
	disk_set_due(disk, true);
}

/* The stored workspace of this version; NULL: it was not written. */
static const struct store_files *known_files(const struct session *session, uint64_t version)
{
	const struct store_files *files = NULL;

	if (session->disk.stored == NULL || version == 0)
		return NULL;
	TAILQ_FOREACH(files, &session->disk.stored->files, entry) {
		if (files->version == version)
			return files;
	}
	return NULL;
}

/* After a restart of the daemon, and after a rollback to a checkpoint from before it, no version is
 * known: the files get one now. They are those of the checkpoint that the session is at unless they
 * may have changed since. */
static void number_files(struct session *session)
{
	struct checkpoint *current = states_current(&session->states);

	if (session->files.version > 0)
		return;
	files_changed(&session->files);
	if (current != NULL && current->files_version == 0 && !session->files.is_dirty &&
	    !session->files.has_others)
		current->files_version = session->files.version;
}

/* Plans which files the state has: those on disk, or else the present ones, the only ones that can
 * be read. While a branch shares them, the present files may be those of the branch. */
static void plan_files(struct keeping *keeping, uint64_t version, enum checkpoint_files files)
{
	const struct session *session = keeping->session;
	const struct store_files *known = known_files(session, version);
	struct store_state *state = keeping->state;
	const struct store_state *old = stored_find(session->disk.stored, state->id);

	state->has_files = true;
	if (known != NULL) {
		state->files = known->number;
	} else if (old != NULL && old->has_files) {
		state->files = old->files;
	} else if (files != FILES_NONE) {
		keeping->is_own =
			version == session->files.version && !session_shares_files(session);
		state->has_files = keeping->is_own;
	}
}

static bool is_empty(const struct files *files)
{
	return files->kind == FILES_NONE && !files->is_dirty && !files->has_others &&
	       !files->is_left;
}

/* Plans how the session's workspace gets to the disk. It is read unless it is there. */
static void plan_workspace(struct keeping *keeping)
{
	const struct session *session = keeping->session;
	const struct stored *stored = session->disk.stored;
	const struct store_files *known = known_files(session, session->files.version);
	bool is_written = stored != NULL && stored->has_workspace &&
			  session->disk.written == session->files.version;

	keeping->is_now = true;
	if (known != NULL)
		keeping->workspace = known->number;
	else if (is_written && !keeping->is_own)
		keeping->workspace = stored->workspace;
	else
		keeping->is_files = keeping->is_own || !is_empty(&session->files);
}

static void plan_checkpoint(struct keeping *keeping, const struct checkpoint *from)
{
	struct store_state *state = keeping->state = xnew(struct store_state);

	(void)snprintf(keeping->checkpoint, ID_SIZE, "%s", from->id);
	memcpy(state->id, from->id, ID_SIZE);
	memcpy(state->parent, from->parent, ID_SIZE);
	memcpy(state->run, from->run, ID_SIZE);
	state->name = xstrdup(from->name);
	state->not_kept = from->not_kept;
	state->created_ms = from->created_ms;
	state->memory = from->memory;
	plan_files(keeping, from->files_version, from->files);
}

static void plan_head(struct keeping *keeping)
{
	const struct session *session = keeping->session;
	struct store_state *state = keeping->state = xnew(struct store_state);

	id_new("cp_", state->id);
	session_put_parent(session, state->parent, &state->not_kept);
	memcpy(state->run, session->states.last_run, ID_SIZE);
	state->created_ms = wall_ms();
	state->memory = session->memory;
	plan_files(keeping, session->files.version,
		   is_empty(&session->files) ? FILES_NONE : FILES_SKIPPED);
}

static struct keeping *plan(struct session *session)
{
	struct keeping *keeping = xnew(struct keeping);
	struct checkpoint *from = NULL;

	number_files(session);
	keeping->session = session;
	keeping->is_head = session->disk.keep == KEEP_DUE;
	keeping->fd = -1;
	keeping->turns = session->turns;
	keeping->version = session->files.version;
	keeping->is_shared = session_shares_files(session);
	keeping->begun_ns = now_ns();
	buf_init(&keeping->answer, KEEP_ANSWER_MAX);
	from = !keeping->is_head ? next_checkpoint(session)
	       : session->states.blocker[0] == '\0' &&
			       (!session->files.is_dirty || session_shares_files(session))
		       ? states_current(&session->states)
		       : NULL;
	keeping->is_alone = !keeping->is_head && from == NULL;
	if (from != NULL)
		plan_checkpoint(keeping, from);
	else if (keeping->is_head)
		plan_head(keeping);
	if (from == NULL || keeping->is_head || from->files_version == keeping->version)
		plan_workspace(keeping);
	return keeping;
}

/* ---- the end of writing ---- */

static void keeping_free(struct keeping *keeping)
{
	if (keeping->fd >= 0)
		stored_abort(keeping->session->disk.stored, &keeping->fd);
	/* If the checkpoint has ended meanwhile, the state no longer exists anywhere. */
	if (keeping->state != NULL)
		session_state_gone(keeping->session, keeping->state->id, keeping->state->parent,
				   keeping->state->not_kept);
	store_state_free(keeping->state);
	free(keeping->missing);
	buf_done(&keeping->answer);
	free(keeping);
}

static void rest_a_while(struct session *session, const struct keeping *keeping)
{
	uint64_t pause = (now_ns() - keeping->begun_ns) * KEEP_PAUSE;

	session->disk.not_before_ns =
		now_ns() + (pause < KEEP_PAUSE_MAX_NS ? pause : KEEP_PAUSE_MAX_NS);
}

static void tell_unkept(struct session *session, const struct err *why)
{
	struct buf members;

	(void)snprintf(session->disk.why, sizeof(session->disk.why), "%.255s", why->text);
	buf_init(&members, 4UL * SESSION_BLOCKER_MAX);
	if (buf_text(&members, ",\"why\":") == 0 && json_put_text(&members, session->disk.why) == 0)
		session_tell(session, "not_kept", buf_string(&members));
	buf_done(&members);
	session->told.state = NULL; /* clients see the reason, so tell them in any case */
	session_show(session);
}

/* Writing failed. This state and these files are not tried again, the next ones are. */
static void give_up(struct keeping *keeping, const struct err *why)
{
	struct session *session = keeping->session;
	struct checkpoint *checkpoint = states_find(&session->states, keeping->checkpoint);

	session->disk.keeping = NULL;
	if (session->state == SESSION_CLOSED || session->sandbox == NULL) {
		keeping_free(keeping);
		return;
	}
	log_event(LOG_LEVEL_WARNING, "session.keep", "session=%s why=%s", session->id, why->text);
	if (keeping->is_head || keeping->is_alone) {
		tell_unkept(session, why);
		session->disk.tried = keeping->version;
	}
	if (checkpoint != NULL)
		checkpoint->is_keep_tried = true;
	if (keeping->is_head && keeping->turns == session->turns)
		disk_set_due(&session->disk, false);
	rest_a_while(session, keeping);
	keeping_free(keeping);
	session_kick(session);
}

/* A run or a rollback began meanwhile, so that the bytes are a mixture of two states, or a branch,
 * which may change the files. */
static bool is_spoiled(const struct keeping *keeping)
{
	const struct session *session = keeping->session;

	if (keeping->is_files && keeping->version != session->files.version)
		return true;
	return keeping->turns != session->turns &&
	       (keeping->is_files || keeping->checkpoint[0] == '\0');
}

static void start_again(struct keeping *keeping)
{
	struct session *session = keeping->session;

	session->disk.keeping = NULL;
	keeping_free(keeping);
	session_kick(session);
}

/* Is nothing of the session, as it is now, missing on disk? */
static bool is_all_written(const struct keeping *keeping)
{
	const struct session *session = keeping->session;

	return keeping->is_head ||
	       (keeping->is_alone && strcmp(session->disk.state, session->states.current) == 0);
}

/* The state, or the workspace, is on the disk and survives a power cut. */
static void state_settled(void *user, const struct err *why)
{
	struct keeping *keeping = user;
	struct session *session = keeping->session;
	struct checkpoint *checkpoint = states_find(&session->states, keeping->checkpoint);

	if (why != NULL) {
		give_up(keeping, why);
		return;
	}
	/* A state that the store drops to make room is not written again. */
	if (checkpoint != NULL)
		checkpoint->is_keep_tried = true;
	if (keeping->is_now)
		session->disk.written = keeping->version;
	if (is_all_written(keeping))
		session->disk.why[0] = '\0';
	if (keeping->is_head && keeping->turns == session->turns)
		disk_set_due(&session->disk, false);
	session->disk.keeping = NULL;
	stored_tidy(session->disk.stored);
	rest_a_while(session, keeping);
	keeping_free(keeping);
	session_tell(session, "kept", "");
	session->told.state = NULL; /* clients see the bytes on disk, so tell them in any case */
	session_show(session);
	session_record(session);
	session_kick(session);
}

/* Where the session is, as the meta on disk says. */
struct place {
	char state[ID_SIZE];
	uint64_t workspace;
	bool has_workspace;
};

static struct place place_now(const struct session *session)
{
	const struct stored *stored = session->disk.stored;
	struct place place = {.workspace = stored->workspace,
			      .has_workspace = stored->has_workspace};

	memcpy(place.state, session->disk.state, ID_SIZE);
	return place;
}

/* The next meta could not be written. */
static void place_restore(struct session *session, const struct place *was)
{
	memcpy(session->disk.state, was->state, ID_SIZE);
	session->disk.stored->workspace = was->workspace;
	session->disk.stored->has_workspace = was->has_workspace;
}

/* The next meta has this workspace. */
static void take_workspace(const struct keeping *keeping)
{
	struct stored *stored = keeping->session->disk.stored;

	if (!keeping->is_now)
		return;
	stored->workspace = keeping->workspace;
	stored->has_workspace = true;
}

/* States on disk whose files are the present ones have this workspace from now on: one that was
 * written without files, and to which the session went back, or one that the previous daemon wrote,
 * whose workspace has been read again. */
static void give_files(const struct keeping *keeping)
{
	const struct session *session = keeping->session;
	const struct checkpoint *checkpoint = NULL;
	struct store_state *state = NULL;

	if (session_shares_files(session))
		return;
	TAILQ_FOREACH(checkpoint, &session->states.live, entry) {
		state = stored_find(session->disk.stored, checkpoint->id);
		if (state == NULL || checkpoint->files_version != keeping->version)
			continue;
		state->files = keeping->workspace;
		state->has_files = true;
	}
}

/* The workspace is complete, and no state is written with it. */
static void workspace_written(struct keeping *keeping)
{
	struct session *session = keeping->session;
	const struct place was = place_now(session);
	struct err err = {0};

	take_workspace(keeping);
	give_files(keeping);
	if (session_store_record(session, &err) < 0) {
		place_restore(session, &was);
		give_up(keeping, &err);
		return;
	}
	stored_settle(session->disk.stored, state_settled, keeping);
}

static void state_written(struct keeping *keeping, char *take_missing)
{
	struct session *session = keeping->session;
	struct stored *stored = session->disk.stored;
	const struct place was = place_now(session);
	struct err err = {0};
	struct buf record;
	int r;

	keeping->state->missing = take_missing;
	if (keeping->is_head && keeping->turns == session->turns)
		memcpy(session->disk.state, keeping->state->id, ID_SIZE);
	take_workspace(keeping);
	buf_init(&record, STORE_RECORD_MAX);
	r = session_put_record(&record, session);
	if (r < 0) {
		(void)err_set(&err, ERR_INTERNAL, -r, "no memory for the record");
	} else {
		r = stored_end_state(stored, &keeping->fd, STEAL(keeping->state), &record, &err);
	}
	buf_done(&record);
	if (r < 0) {
		place_restore(session, &was);
		give_up(keeping, &err);
		return;
	}
	stored_settle(stored, state_settled, keeping);
}

static void files_written(struct keeping *keeping, char *take_missing)
{
	struct session *session = keeping->session;
	struct store_files *files = xnew(struct store_files);
	struct err err = {0};

	files->missing = take_missing;
	/* A branch that ended while the files were read may have changed them. */
	files->version = keeping->is_shared || session_shares_files(session) ? 0 : keeping->version;
	if (stored_end_files(session->disk.stored, &keeping->fd, files, &err) < 0) {
		give_up(keeping, &err);
		return;
	}
	keeping->workspace = files->number;
	if (keeping->is_own)
		keeping->state->files = files->number;
	keeping->is_files = false;
	if (keeping->is_alone)
		workspace_written(keeping);
	else
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
	if (stored_sync(keeping->session->disk.stored, keeping->fd, file_synced, keeping, &err) < 0)
		give_up(keeping, &err);
}

/* The sandbox is about to go. A look that is under way fails by itself; a file that is being synced
 * is left to the store. */
void session_drop_keeping(struct session *session, const struct err *why)
{
	struct keeping *keeping = session->disk.keeping;

	if (keeping == NULL || keeping->look != NULL)
		return;
	stored_forget(session->disk.stored);
	if (keeping->state != NULL) {
		give_up(keeping, why);
		return;
	}
	session->disk.keeping = NULL;
	keeping_free(keeping);
}

void session_stop_keeping(struct session *session)
{
	struct keeping *keeping = STEAL(session->disk.keeping);

	if (keeping == NULL)
		return;
	if (keeping->look != NULL)
		look_cancel(STEAL(keeping->look));
	stored_forget(session->disk.stored);
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
	    stored_append(keeping->session->disk.stored, keeping->fd, keeping->size, bytes, size,
			  &keeping->err) < 0)
		return false;
	keeping->size += size;
	return true;
}

static void look_done(void *user, const struct look_state *state, const struct err *why)
{
	struct keeping *keeping = user;
	const char *lost = "[]";
	size_t size = 2;
	bool is_over;

	(void)state;
	keeping->look = NULL;
	if (keeping->err.kind == ERR_NONE && why != NULL && why->num == ETIMEDOUT)
		(void)err_set(&keeping->err, ERR_CONFLICT, ETIMEDOUT,
			      "writing the state took longer than %u s", KEEP_MS / 1000);
	else if (keeping->err.kind == ERR_NONE && why != NULL)
		keeping->err = *why;
	if (keeping->err.kind == ERR_NONE &&
	    !json_find(keeping->answer.data, keeping->answer.size, "lost", &lost, &size))
		(void)err_set(&keeping->err, ERR_CONFLICT, EIO, "the session gave no answer");
	is_over = keeping->session->state == SESSION_CLOSED || keeping->session->sandbox == NULL;
	if (!is_over && is_spoiled(keeping))
		start_again(keeping);
	else if (is_over || keeping->err.kind != ERR_NONE)
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

	if (session->disk.stored == NULL)
		session_have_stored(session,
				    stored_new(session->table->store, session->id, session->token));
	keeping->size = 0;
	buf_consume(&keeping->answer, keeping->answer.size);
	r = stored_begin(session->disk.stored, &keeping->fd, &err);
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

	if (!session_keep_is_due(session) || session->disk.keeping != NULL ||
	    session->state != SESSION_IDLE || session->disk.reload != NULL)
		return;
	/* Large states are not written after every run: pauses limit their share of the disk's
	 * time. */
	if (now < session->disk.not_before_ns && !session->table->is_stopping &&
	    TAILQ_EMPTY(&session->jobs)) {
		(void)uv_timer_start(&session->timers[TIMER_DISK], again_due,
				     (session->disk.not_before_ns - now) / 1000000 + 1, 0);
		return;
	}
	session->disk.keeping = plan(session);
	if (session->disk.keeping->is_alone && !session->disk.keeping->is_files)
		workspace_written(session->disk.keeping);
	else
		ask(session->disk.keeping);
}

/* If the session has to be restored from disk, it continues from its current checkpoint. */
void session_keep_place(struct session *session)
{
	struct err err = {0};

	if (!session_is_kept(session) || strcmp(session->disk.state, session->states.current) == 0)
		return;
	if (!is_stored(session, session->states.current)) {
		disk_set_due(&session->disk, true);
		return;
	}
	memcpy(session->disk.state, session->states.current, ID_SIZE);
	disk_set_due(&session->disk, false);
	if (session_store_record(session, &err) < 0)
		log_event(LOG_LEVEL_WARNING, "session.keep", "session=%s why=%s", session->id,
			  err.text);
}

/* ---- all sessions ---- */

int sessions_check_room(const struct sessions *sessions, struct err *err)
{
	if (sessions->store == NULL || store_check_room(sessions->store, err) == 0)
		return 0;
	(void)err_wrap(err, "the states of this session cannot be written");
	return err_blame(err, "keep");
}

static void hurry(void *user, struct session *session)
{
	(void)user;
	disk_try_again(&session->disk);
	if (session_keep_is_due(session))
		session_kick(session);
}

void sessions_stop(struct sessions *sessions)
{
	sessions->is_stopping = true;
	sessions_each(sessions, hurry, NULL);
}

static void look_due(void *user, struct session *session)
{
	bool *is_due = user;

	*is_due |= session->sandbox != NULL && session_keep_is_due(session);
}

bool sessions_are_keeping(struct sessions *sessions)
{
	bool is_due = false;

	sessions_each(sessions, look_due, &is_due);
	return is_due;
}
