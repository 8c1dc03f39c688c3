// SPDX-License-Identifier: Apache-2.0
/* The states of a session: the list of checkpoints, their names, and where each comes from. A state
 * that is neither live nor on disk any more leaves no hole: its children become children of its
 * parent, and say how many states are missing in between. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "base/log.h"
#include "session/session_state.h"

/* ---- the list ---- */

struct checkpoint *states_find(const struct states *states, const char *id)
{
	struct checkpoint *checkpoint = NULL;

	TAILQ_FOREACH(checkpoint, &states->live, entry) {
		if (strcmp(checkpoint->id, id) == 0)
			return checkpoint;
	}
	return NULL;
}

struct checkpoint *states_current(const struct states *states)
{
	return states_find(states, states->current);
}

struct checkpoint *states_last(const struct states *states)
{
	struct checkpoint *current = states_current(states);

	return current != NULL ? current : TAILQ_LAST(&states->live, checkpoint_list);
}

void states_want(struct states *states)
{
	id_new("cp_", states->next);
}

bool session_checkpoint_is_due(const struct session *session)
{
	return session->states.next[0] != '\0' && session->state != SESSION_FORKING;
}

bool session_has_checkpoint(const struct session *session, const char *id)
{
	return states_find(&session->states, id) != NULL ||
	       (id[0] != '\0' && strcmp(session->states.next, id) == 0);
}

void session_free_checkpoint(struct session *session, struct checkpoint *checkpoint)
{
	TAILQ_REMOVE(&session->states.live, checkpoint, entry);
	if (session->states.suspect == checkpoint)
		session->states.suspect = NULL;
	session_state_gone(session, checkpoint->id, checkpoint->parent, checkpoint->not_kept);
	head_free(checkpoint->head);
	free(checkpoint->name);
	free(checkpoint->lacks);
	free(checkpoint);
}

/* ---- room ---- */

/* May this checkpoint be dropped to make room? */
static bool is_spare(const struct session *session, const struct checkpoint *checkpoint)
{
	return checkpoint->name == NULL && strcmp(checkpoint->id, session->states.current) != 0 &&
	       checkpoint->head->forking == NULL;
}

static bool has_unnamed(const struct states *states)
{
	const struct checkpoint *checkpoint = TAILQ_FIRST(&states->live);

	while (checkpoint != NULL && checkpoint->name != NULL)
		checkpoint = TAILQ_NEXT(checkpoint, entry);
	return checkpoint != NULL;
}

/* The first checkpoint has its own number; a later one may replace one without a name, which is
 * dropped when the new one is made. */
bool session_has_room(const struct session *session)
{
	return session->sandbox == NULL || TAILQ_EMPTY(&session->states.live) ||
	       has_unnamed(&session->states) ||
	       head_room(session->sandbox, HEAD_FOR_CHECKPOINT, 1) >= 0;
}

void session_want_checkpoint(struct session *session)
{
	struct states *states = &session->states;

	(void)snprintf(states->blocker, sizeof(states->blocker), "%s",
		       session_has_room(session) ? "" : HEAD_NO_ROOM);
	if (states->blocker[0] == '\0')
		states_want(states);
}

/* How many sessions of the sandbox have not begun their first checkpoint? */
static int count_bare(const struct session *session)
{
	const struct session *other = NULL;
	int count = 0;

	for (size_t i = 0; i < SESSION_BUCKETS; i++) {
		LIST_FOREACH(other, &session->table->buckets[i], entry)
			count += other->sandbox == session->sandbox && other->is_transactional &&
				 other->coming == NULL && TAILQ_EMPTY(&other->states.live);
	}
	return count;
}

int session_make_room(struct session *session, const struct checkpoint *from, uint32_t count,
		      struct err *err)
{
	int left = head_room(session->sandbox, HEAD_FOR_BRANCH, count) - count_bare(session);
	struct checkpoint *checkpoint = NULL;
	struct checkpoint *next = NULL;
	int spare = 0;

	TAILQ_FOREACH(checkpoint, &session->states.live, entry)
		spare += checkpoint != from && is_spare(session, checkpoint);
	if (left + spare < 0)
		return err_set(err, ERR_CONFLICT, EMFILE, HEAD_NO_ROOM);
	for (checkpoint = TAILQ_FIRST(&session->states.live); checkpoint != NULL && left < 0;
	     checkpoint = next) {
		next = TAILQ_NEXT(checkpoint, entry);
		if (checkpoint == from || !is_spare(session, checkpoint))
			continue;
		session_free_checkpoint(session, checkpoint);
		left++;
	}
	return 0;
}

void session_trim_checkpoints(struct session *session, uint32_t keep)
{
	struct checkpoint *checkpoint = NULL;
	struct checkpoint *next = NULL;
	uint32_t unnamed = 0;

	TAILQ_FOREACH(checkpoint, &session->states.live, entry)
		unnamed += checkpoint->name == NULL;
	for (checkpoint = TAILQ_FIRST(&session->states.live);
	     checkpoint != NULL &&
	     (unnamed > keep || head_room(session->sandbox, HEAD_FOR_CHECKPOINT, 0) < 0);
	     checkpoint = next) {
		next = TAILQ_NEXT(checkpoint, entry);
		if (!is_spare(session, checkpoint))
			continue;
		session_free_checkpoint(session, checkpoint);
		unnamed--;
	}
}

int session_no_state(const struct session *session, const char *field, const char *id,
		     struct err *err)
{
	return err_field(err, ERR_NOT_FOUND, ENOENT, field,
			 "no state has the id or the name %.60s; list the checkpoints to see "
			 "which exist%s",
			 id,
			 session_is_kept(session)
				 ? ""
				 : " (a frozen session drops those without a name, except the "
				   "last, unless it is made with keep)");
}

int session_no_checkpoint(const struct session *session, const char *id, struct err *err)
{
	return session_no_state(session, "checkpoint", id, err);
}

const char *session_checkpoint_id(const struct session *session, const char *word)
{
	const struct checkpoint *live = NULL;
	const struct store_state *state = NULL;
	const char *found = word;
	uint64_t newest = 0;

	if (session_has_checkpoint(session, word) ||
	    stored_find(session->disk.stored, word) != NULL)
		return word;
	TAILQ_FOREACH(live, &session->states.live, entry) {
		if (live->name != NULL && strcmp(live->name, word) == 0 &&
		    live->created_ms >= newest) {
			found = live->id;
			newest = live->created_ms;
		}
	}
	if (session->disk.stored == NULL)
		return found;
	TAILQ_FOREACH(state, &session->disk.stored->states, entry) {
		if (state->name != NULL && strcmp(state->name, word) == 0 &&
		    state->created_ms > newest) {
			found = state->id;
			newest = state->created_ms;
		}
	}
	return found;
}

/* Removes this name. Returns whether the state had it. */
static bool take_name_off(char **name, const char *taken)
{
	if (*name == NULL || strcmp(*name, taken) != 0)
		return false;
	free(STEAL(*name));
	return true;
}

/* Gives the checkpoint's name to its stored state, or removes that name from another state. Returns
 * whether the state has changed. */
static bool name_one(struct store_state *state, struct checkpoint *checkpoint)
{
	if (strcmp(state->id, checkpoint->id) == 0) {
		free(state->name);
		state->name = xstrdup(checkpoint->name);
		return true;
	}
	if (!take_name_off(&state->name, checkpoint->name))
		return false;
	memcpy(checkpoint->name_was, state->id, ID_SIZE);
	return true;
}

void session_name_checkpoint(struct session *session, struct checkpoint *checkpoint,
			     char **take_name)
{
	struct checkpoint *live = NULL;
	struct store_state *coming = session_keeping_state(session);
	struct store_state *state = NULL;
	bool is_written = false;
	struct err err = {0};

	checkpoint->name_was[0] = '\0';
	TAILQ_FOREACH(live, &session->states.live, entry) {
		if (live != checkpoint && take_name_off(&live->name, *take_name))
			memcpy(checkpoint->name_was, live->id, ID_SIZE);
	}
	free(checkpoint->name);
	checkpoint->name = STEAL(*take_name);
	if (coming != NULL)
		(void)name_one(coming, checkpoint);
	if (session->disk.stored == NULL)
		return;
	TAILQ_FOREACH(state, &session->disk.stored->states, entry)
		is_written |= name_one(state, checkpoint);
	if (is_written && stored_write(session->disk.stored, &err) < 0)
		log_event(LOG_LEVEL_WARNING, "session.keep", "session=%s why=%s", session->id,
			  err.text);
}

/* ---- where they come from ---- */

static bool is_there(const struct session *session, const char *id)
{
	const struct store_state *coming = session_keeping_state(session);

	return states_find(&session->states, id) != NULL ||
	       (stored_find(session->disk.stored, id) != NULL) ||
	       (coming != NULL && strcmp(coming->id, id) == 0);
}

/* A state that was dropped. */
struct gone {
	const char *id, *parent;
	uint32_t not_kept;
};

/* If the state that is gone was this parent, replaces it by its own parent. Returns whether it
 * was. */
static bool relink(const struct gone *gone, char parent[ID_SIZE], uint32_t *not_kept)
{
	if (strcmp(parent, gone->id) != 0)
		return false;
	(void)snprintf(parent, ID_SIZE, "%s", gone->parent);
	*not_kept += gone->not_kept + 1;
	return true;
}

/* Which lists have changed and must be written. */
struct changed {
	bool is_live, is_stored;
};

static struct changed forget(struct session *session, const struct gone *gone)
{
	struct changed changed = {0};
	struct checkpoint *checkpoint = NULL;
	struct store_state *state = NULL;

	TAILQ_FOREACH(checkpoint, &session->states.live, entry)
		changed.is_live |= relink(gone, checkpoint->parent, &checkpoint->not_kept);
	if (session->disk.stored != NULL) {
		TAILQ_FOREACH(state, &session->disk.stored->states, entry)
			changed.is_stored |= relink(gone, state->parent, &state->not_kept);
	}
	state = session_keeping_state(session);
	if (state != NULL)
		(void)relink(gone, state->parent, &state->not_kept);
	if (session->states.gone.id[0] != '\0')
		(void)relink(gone, session->states.gone.parent, &session->states.gone.not_kept);
	if (strcmp(session->states.current, gone->id) == 0) {
		memcpy(session->states.gone.id, session->states.current, ID_SIZE);
		(void)snprintf(session->states.gone.parent, ID_SIZE, "%s", gone->parent);
		session->states.gone.not_kept = gone->not_kept + 1;
	}
	return changed;
}

static bool is_since(const struct way_back *back, const char *run)
{
	for (uint32_t i = 0; i < back->since_count; i++) {
		if (strcmp(back->since[i], run) == 0)
			return true;
	}
	return false;
}

const struct store_state *session_stored_since(const struct session *session)
{
	const struct store_state *state = stored_last(session->disk.stored);

	while (state != NULL && !is_since(&session->back, state->run))
		state = TAILQ_PREV(state, store_states, entry);
	return state;
}

/* The last state of the head: usually the current checkpoint; if runs since then could have no
 * checkpoint, the newest state on disk that was written after one of them. */
static const char *last_state(const struct session *session)
{
	const struct store_state *state = session_stored_since(session);

	return state != NULL ? state->id : session->states.current;
}

void session_put_parent(const struct session *session, char ret_parent[ID_SIZE],
			uint32_t *ret_not_kept)
{
	const char *last = last_state(session);

	*ret_not_kept = 0;
	ret_parent[0] = '\0';
	if (is_there(session, last)) {
		(void)snprintf(ret_parent, ID_SIZE, "%s", last);
	} else if (session->states.current[0] != '\0' &&
		   strcmp(session->states.current, session->states.gone.id) == 0) {
		memcpy(ret_parent, session->states.gone.parent, ID_SIZE);
		*ret_not_kept = session->states.gone.not_kept;
	}
}

void session_state_gone(struct session *session, const char *id, const char *parent,
			uint32_t not_kept)
{
	const struct gone gone = {id, parent, not_kept};
	struct err err = {0};

	if (session->state == SESSION_CLOSED || is_there(session, id) ||
	    !forget(session, &gone).is_stored)
		return;
	if (stored_write(session->disk.stored, &err) < 0)
		log_event(LOG_LEVEL_WARNING, "session.keep", "session=%s why=%s", session->id,
			  err.text);
}

/* The store drops a state, and writes its meta after this call. */
static void state_dropped(void *user, const struct store_state *state)
{
	struct session *session = user;
	const struct gone gone = {state->id, state->parent, state->not_kept};

	if (states_find(&session->states, state->id) == NULL && forget(session, &gone).is_live &&
	    session->disk.reload == NULL && session->former == NULL)
		session_record(session);
}

static bool is_state_needed(void *user, const struct store_state *state)
{
	return session_needs_state(user, state);
}

void session_have_stored(struct session *session, struct stored *stored)
{
	session->disk.stored = stored;
	stored->dropping = state_dropped;
	stored->is_needed = is_state_needed;
	stored->user = session;
}

void session_remove_stored(struct session *session)
{
	const struct store_state *state = NULL;

	if (session->disk.stored == NULL)
		return;
	TAILQ_FOREACH(state, &session->disk.stored->states, entry)
		state_dropped(session, state);
	stored_remove(STEAL(session->disk.stored));
	session->disk.state[0] = '\0';
}

bool session_origin(const struct session *session, uint32_t i, const char **ret_session,
		    const char **ret_run)
{
	if (i >= session->states.origin_count)
		return false;
	*ret_session = session->states.origins[i].session;
	*ret_run = session->states.origins[i].run;
	return true;
}

void states_add_origin(struct states *states, const char *session, const char *run)
{
	struct origin *origin = NULL;

	if (run[0] == '\0')
		return; /* nothing ran there, so there is nothing to continue */
	if (states->origins == NULL) {
		states->origins = calloc(SESSION_ORIGINS_MAX, sizeof(struct origin));
		if (states->origins == NULL)
			abort();
	}
	/* The list is full: forget the oldest. */
	if (states->origin_count == SESSION_ORIGINS_MAX) {
		states->origin_count--;
		memmove(states->origins, states->origins + 1,
			states->origin_count * sizeof(struct origin));
	}
	origin = &states->origins[states->origin_count++];
	(void)snprintf(origin->session, ID_SIZE, "%s", session);
	(void)snprintf(origin->run, ID_SIZE, "%s", run);
}

/* ---- requests ---- */

int session_drop_checkpoint(struct session *session, const char *word, struct err *err)
{
	const char *checkpoint = session_checkpoint_id(session, word);
	struct checkpoint *found = states_find(&session->states, checkpoint);
	struct store_state *state = stored_find(session->disk.stored, checkpoint);
	int r = 0;

	if (found == NULL && state == NULL)
		return session_no_checkpoint(session, checkpoint, err);
	if (strcmp(session->states.current, checkpoint) == 0 ||
	    strcmp(session->disk.state, checkpoint) == 0 || session->disk.reload != NULL)
		return err_field(
			err, ERR_CONFLICT, EBUSY, "checkpoint",
			"the session would go back to this state, so it cannot be dropped");
	if (state != NULL)
		r = stored_drop(session->disk.stored, state, err);
	if (r == 0 && found != NULL) {
		session_free_checkpoint(session, found);
		session_record(session);
	}
	if (r == 0) {
		session->told.state = NULL; /* clients list checkpoints, so tell them in any case */
		session_show(session);
	}
	return r;
}

void session_touch_files(struct session *session)
{
	session->files.is_dirty = true;
	session->files.has_others = true;
	files_changed(&session->files);
	session_share_change(session);
	disk_set_due(&session->disk, true);
	if (session->is_transactional && session->states.blocker[0] == '\0' &&
	    session->state == SESSION_IDLE) {
		session_want_checkpoint(session);
		session_kick(session);
	}
}
