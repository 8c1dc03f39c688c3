// SPDX-License-Identifier: Apache-2.0
/* Reports to clients: the session and its checkpoints as JSON, and, in the result of a run, the
 * checkpoint that was made or why there is none, the one that the session went back to, the runs
 * that this undid, and what a session that was woken lacks. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "session/session_state.h"

#define BLOCKER_JSON_MAX 400U
#define UNDONE_MAX 16U /* how many runs are named at most */

static const char *or_null(const char *text)
{
	return text != NULL && text[0] != '\0' ? text : NULL;
}

static void put_why(struct buf *buf, const char *name, const char *text)
{
	struct buf why;

	/* The text comes from the runner: if it does not fit once escaped, it is not repeated. */
	buf_init(&why, BLOCKER_JSON_MAX);
	if (json_put_text(&why, text) < 0) {
		buf_consume(&why, why.size);
		(void)buf_text(&why, "\"something that cannot be named\"");
	}
	(void)buf_format(buf, "\"%s\":%s", name, buf_string(&why));
	buf_done(&why);
}

static void put_kept(struct session *session, struct buf *buf)
{
	const struct states *states = &session->states;
	const struct files *files = &session->files;

	if (states->blocker[0] != '\0') {
		put_why(buf, "skipped", states->blocker);
		json_put(buf, ",'last':%s", or_null(states->current));
		return;
	}
	json_put(buf, "'id':%s",
		 session_checkpoint_is_due(session) ? states->next : states->current);
	/* The checkpoint is made after this answer: say only what is certain now. */
	if (session_shares_files(session))
		json_put(buf, ",'files':'shared'");
	else if (!files->is_dirty && !files->has_others && files->kind == FILES_SKIPPED)
		json_put(buf, ",'files':'skipped'");
}

static void put_note(struct buf *buf, struct buf *text)
{
	struct buf note;

	buf_init(&note, RUN_LEFT_MAX / 2);
	if (json_put_text(&note, buf_string(text)) == 0)
		(void)buf_format(buf, ",\"note\":%s", buf_string(&note));
	buf_done(&note);
	buf_done(text);
}

static void say_after(struct buf *text, const char *run)
{
	if (run != NULL && run[0] != '\0')
		(void)buf_format(text, "as it was after %s", run);
	else
		(void)buf_text(text, "as it was when it began");
}

/* Lists the runs that the state on disk does not contain. */
static void say_undone(const json_t *woken, struct buf *text)
{
	const json_t *ids = json_object_get(woken, "undone");
	json_int_t count = json_integer_value(json_object_get(woken, "undone_count"));
	const json_t *id = NULL;
	size_t i = 0;

	if (count == 0)
		return;
	(void)buf_text(text, ", ");
	say_after(text, json_string_value(json_object_get(woken, "after")));
	(void)buf_format(text, "; %lld later run%s not in it: ", count,
			 count == 1 ? " is" : "s are");
	json_array_foreach(ids, i, id)
		(void)buf_format(text, "%s%s", i == 0 ? "" : ", ", json_string_value(id));
	if ((size_t)count > json_array_size(ids))
		(void)buf_text(text, ", ...");
}

static void say_woken(const struct session *session, struct buf *to)
{
	const json_t *woken = session->disk.woken;
	const json_t *missing = json_object_get(woken, "missing");
	const char *instead_of = json_string_value(json_object_get(woken, "instead_of"));
	const json_t *fact = NULL;
	struct buf text;
	size_t i = 0;

	buf_init(&text, RUN_LEFT_MAX / 4);
	if (json_is_true(json_object_get(woken, "variables")))
		(void)buf_text(&text, "the session was woken from its state on disk");
	else if (json_is_true(json_object_get(woken, "files")))
		(void)buf_text(&text, "the session was restarted: its files are there, its "
				      "variables are not");
	else
		(void)buf_text(&text, "the session was restarted, and was not kept on disk: its "
				      "files and variables are gone");
	if (instead_of != NULL)
		(void)buf_format(&text,
				 "; not the one that it was at, %s, whose bytes are gone from "
				 "disk, but %s",
				 instead_of, json_string_value(json_object_get(woken, "state")));
	say_undone(woken, &text);
	json_array_foreach(missing, i, fact)
		(void)buf_format(&text, "%s%s", i == 0 ? "; could not be kept: " : ", ",
				 json_string_value(json_object_get(fact, "name")));
	(void)buf_append(to, text.data, text.size);
	buf_done(&text);
}

/* Says why no newer state was used. A newer one may be on disk; a rollback to it takes a new
 * sandbox and lacks what could not be written, so that is left to the client. */
static void say_newer(const struct session *session, struct buf *text)
{
	const struct store_state *state = stored_find(session->disk.stored, session->back.stored);

	if (session->back.why[0] != '\0')
		(void)buf_format(text, ". No newer %sstate was kept: %s",
				 state != NULL ? "live " : "", session->back.why);
	if (state != NULL)
		(void)buf_format(text,
				 ". The state after %s is on disk: a rollback to %s brings it "
				 "back, without what could not be saved",
				 state->run, state->id);
}

/* Writes the note of a rollback: to which state, which runs are undone, why no newer state was
 * used, and which state the session had been woken from. */
static void put_note_back(const struct session *session, const struct checkpoint *to,
			  struct buf *buf)
{
	bool is_files = !session->files.is_left;
	struct buf text;

	buf_init(&text, RUN_LEFT_MAX / 2);
	(void)buf_format(&text, "rolled back: variables%s are what they were ",
			 is_files ? " and the files of /workspace" : "");
	if (session->back.count <= 1)
		(void)buf_text(&text, "before this run");
	else if (to != NULL && to->run[0] != '\0')
		(void)buf_format(&text, "after %s; %u runs are undone, this one and %u before it",
				 to->run, session->back.count, session->back.count - 1);
	else
		(void)buf_format(&text,
				 "when the session began; %u runs are undone, this one and %u "
				 "before it",
				 session->back.count, session->back.count - 1);
	say_newer(session, &text);
	if (!is_files)
		(void)buf_text(&text, ". Files stay as they are");
	if (session->disk.woken != NULL) {
		(void)buf_text(&text, ". Before that, ");
		say_woken(session, &text);
	}
	put_note(buf, &text);
}

/* Sets `why` to the reason why the present state is not on disk although it should be; leaves it
 * alone if nothing is wrong. */
static void find_unkept(const struct session *session, struct err *why)
{
	if (!session_is_kept(session) || session->table->store == NULL)
		return;
	if (session->disk.why[0] != '\0')
		(void)err_set(why, ERR_BUSY, ENOSPC, "%s", session->disk.why);
	else
		(void)store_check_room(session->table->store, why);
}

static void say_unkept(const struct session *session, const char *what, const struct err *why,
		       struct buf *text)
{
	const struct store_state *state = stored_find(session->disk.stored, session->disk.state);

	if (state == NULL)
		state = stored_last(session->disk.stored);
	(void)buf_format(text,
			 "%s is not saved: %s. The next run tries again; if the daemon or the "
			 "machine stops before, the session ",
			 what, why->text);
	if (state == NULL) {
		(void)buf_text(text, "is gone");
		return;
	}
	(void)buf_text(text, "comes back ");
	say_after(text, state->run);
}

/* Writes why `what` is not on disk, and appends the same sentence to `note` unless that is NULL. */
static void put_unkept(const struct session *session, const char *what, const struct err *unkept,
		       struct buf *buf, struct buf *note)
{
	struct buf text;

	buf_init(&text, RUN_LEFT_MAX / 4);
	say_unkept(session, what, unkept, &text);
	if (note != NULL)
		(void)buf_format(note, "%s%s", note->size > 0 ? ". And " : "", buf_string(&text));
	(void)buf_text(buf, ",\"kept\":{");
	put_why(buf, "why", unkept->text);
	put_note(buf, &text);
	(void)buf_text(buf, "}");
}

/* Writes the note: which state the session was woken from, and why its present state is not on
 * disk. */
static void put_news(const struct session *session, const struct err *unkept, struct buf *buf)
{
	struct buf text;

	buf_init(&text, RUN_LEFT_MAX / 2);
	if (session->disk.woken != NULL)
		say_woken(session, &text);
	if (unkept->text[0] != '\0')
		put_unkept(session, "the state after this run", unkept, buf, &text);
	if (text.size > 0)
		put_note(buf, &text);
	else
		buf_done(&text);
}

static void put_back(const struct session *session, struct buf *buf)
{
	const struct checkpoint *last = states_last(&session->states);

	json_put(buf, "'id':%s", last != NULL ? last->id : "");
	if (session->files.is_left)
		json_put(buf, ",'files':%s", session_shares_files(session) ? "shared" : "skipped");
	(void)buf_append(buf, session->back.members.data, session->back.members.size);
	put_note_back(session, last, buf);
}

void session_put_woken(const struct session *session, struct buf *buf)
{
	AUTO_FREE char *text = json_dumps(session->disk.woken, JSON_COMPACT);

	if (text != NULL)
		(void)buf_format(buf, ",\"woken\":%s", text);
}

/* Forgets `woken` once a run before this one has reported it. It stays in the record until then: a
 * daemon that is killed before the verdict is in the journal makes the verdict of that run again.
 */
static void forget_woken(struct disk *disk, const char *run)
{
	if (disk->woken_run[0] != '\0' && strcmp(disk->woken_run, run) != 0)
		json_decref(STEAL(disk->woken));
	(void)snprintf(disk->woken_run, sizeof(disk->woken_run), "%s", run);
}

void session_put_left(struct session *session, const char *run, bool lives, struct buf *buf)
{
	struct err unkept = {0};

	forget_woken(&session->disk, run);
	find_unkept(session, &unkept);
	if (!session->is_transactional && session->disk.woken == NULL && unkept.text[0] == '\0')
		return;
	(void)buf_text(buf, ",\"checkpoint\":{");
	if (!session->is_transactional)
		json_put(buf, "'skipped':'the session is not transactional','last':null");
	else if (lives)
		put_kept(session, buf);
	else
		put_back(session, buf);
	session_put_woken(session, buf);
	if (lives)
		put_news(session, &unkept, buf);
	(void)buf_text(buf, "}");
}

struct since {
	const struct session *session;
	uint64_t us, count;
	json_t *ids; /* borrowed; NULL: not wanted */
};

static bool has_changed_it(struct log *log)
{
	struct log_reader reader = {0};
	struct event end = {0};
	const char *text = NULL;
	size_t size = 0;
	bool is_preserved = false;

	if (!log_is_over(log) || !log_last_note(log, &text, &size))
		return false; /* the run has not begun */
	log_reader_open(&reader, log, log_seq(log) - 1, NULL, NULL);
	if (log_reader_next(&reader, &text, &size) > 0) {
		event_read(text, size, &end);
		is_preserved = span_is(end.told.members[RESULT_STATE], "preserved");
	}
	log_reader_close(&reader);
	return is_preserved;
}

static void look_since(void *user, struct log *log)
{
	struct since *since = user;
	struct log_head head;

	if (log_last_us(log) <= since->us || !log_head(log, &head) ||
	    !span_is(head.session, since->session->id) || !has_changed_it(log))
		return;
	since->count++;
	if (since->ids != NULL && json_array_size(since->ids) < UNDONE_MAX)
		(void)json_array_append_new(since->ids, json_string(log_id(log)));
}

uint64_t session_runs_since(const struct session *session, uint64_t since_ms, json_t *ids)
{
	/* A run that ended in the same millisecond is in the state. */
	struct since since = {.session = session, .us = since_ms * 1000 + 999, .ids = ids};

	logs_each(session->table->logs, look_since, &since);
	return since.count;
}

void back_note_run(struct way_back *back, const char *run)
{
	if (back->since_count < SESSION_SINCE_MAX)
		(void)snprintf(back->since[back->since_count++], ID_SIZE, "%s", run);
}

static void put_undone(struct buf *buf, const char *run)
{
	bool is_first = buf->data[buf->size - 1] == '[';

	(void)buf_format(buf, "%s\"%s\"", is_first ? "" : ",", run);
}

void session_note_back(struct session *session, const struct checkpoint *to)
{
	bool is_older = strcmp(session->states.current, to->id) != 0;
	const struct store_state *stored = session_stored_since(session);
	struct buf *back = &session->back.members;

	(void)snprintf(session->back.stored, sizeof(session->back.stored), "%s",
		       stored != NULL ? stored->id : "");
	session->back.count = session->back.since_count;
	session->back.why[0] = '\0';
	buf_consume(back, back->size);
	if (to->run[0] != '\0')
		(void)buf_format(back, ",\"after\":\"%s\"", to->run);
	(void)buf_text(back, ",\"undone\":[");
	if (is_older && session->states.last_run[0] != '\0' && session->back.since_count == 0 &&
	    strcmp(session->states.last_run, to->run) != 0) {
		put_undone(back, session->states.last_run);
		session->back.count++;
	}
	for (uint32_t i = 0; i < session->back.since_count; i++)
		put_undone(back, session->back.since[i]);
	if (session->run != NULL && !run_is_look(session->run)) {
		put_undone(back, run_facts(session->run).id);
		session->back.count++;
	}
	(void)buf_text(back, "]");
	if (session->back.since_count > 0 && session->states.blocker[0] != '\0')
		(void)snprintf(session->back.why, sizeof(session->back.why), "%s",
			       session->states.blocker);
	else if (is_older)
		(void)snprintf(session->back.why, sizeof(session->back.why),
			       "the newer checkpoint had ended");
	if (session->back.why[0] != '\0') {
		(void)buf_text(back, ",");
		put_why(back, "why", session->back.why);
	}
}

/* ---- the session itself ---- */

static const char *const state_names[] = {
	[SESSION_STARTING] = "starting", [SESSION_IDLE] = "idle",
	[SESSION_RUNNING] = "running",   [SESSION_FORKING] = "idle",
	[SESSION_ROLLING] = "idle",      [SESSION_FREEZING] = "frozen",
	[SESSION_FROZEN] = "frozen",     [SESSION_THAWING] = "frozen",
	[SESSION_ASLEEP] = "asleep",     [SESSION_LOST] = "lost",
	[SESSION_CLOSED] = "lost",
};

/* The states on disk, and why the last one could not be written. */
static int put_keeping(const struct session *session, struct buf *buf)
{
	const struct stored *stored = session->disk.stored;

	if (!session_is_kept(session))
		return buf_text(buf, ",\"keep\":false");
	json_put(buf, ",'keep':true,'kept':{'states':%u,'bytes':%llu,'dropped':%llu,'pending':%i",
		 stored != NULL ? stored->count : 0,
		 stored != NULL ? (unsigned long long)stored_bytes(stored) : 0,
		 stored != NULL ? (unsigned long long)stored->dropped : 0,
		 session_keep_is_due(session));
	if (session->disk.why[0] != '\0')
		json_put(buf, ",'why':%s", session->disk.why);
	return json_put(buf, "}");
}

static const char *state_name(const struct session *session)
{
	return session->disk.reload != NULL ? "starting" : state_names[session->state];
}

/* A rollback to a live checkpoint brings no files back while branches share them. A rollback to a
 * state on disk does, in a new sandbox. */
static const char *files_word(const struct session *session, bool has_files, bool is_live)
{
	if (is_live && session_shares_files(session))
		return "shared";
	return has_files ? NULL : "skipped";
}

/* The checkpoint has forked the new head, and its files are being copied: until that is done it
 * counts as a checkpoint without files. */
static bool is_copying(const struct session *session, const struct checkpoint *checkpoint)
{
	return session->state == SESSION_FORKING && session->coming == NULL &&
	       checkpoint->files == FILES_SKIPPED &&
	       strcmp(checkpoint->id, session->states.current) == 0;
}

static const char *live_word(const struct session *session, const struct checkpoint *checkpoint)
{
	const char *word = files_word(session, checkpoint->files != FILES_SKIPPED, true);

	return word != NULL && strcmp(word, "skipped") == 0 && is_copying(session, checkpoint)
		       ? "coming"
		       : word;
}

const char *session_files_left(const struct session *session)
{
	const struct checkpoint *current = states_current(&session->states);

	return session->files.is_left || current == NULL
		       ? files_word(session, !session->files.is_left, true)
		       : live_word(session, current);
}

int session_put(const struct session *session, struct buf *buf)
{
	const char *files = session_files_left(session);

	json_put(buf,
		 "{'id':%s,'name':%s,'state':%s,'token':%s,'policy':%s,'runtime':%s,'backend':%s,"
		 "'created_ms':%llu,'used_ms':%llu,'idle_ms':%u,'ttl_ms':%u,'runs':%llu,"
		 "'memory':%llu,'transactional':%i,'head':%s",
		 session->id, session->name, state_name(session), or_null(session->token),
		 session->policy->name, session->kind.runtime->name, session->kind.backend->name,
		 (unsigned long long)session->life.created_ms,
		 (unsigned long long)session->life.used_ms, session->life.idle_ms,
		 session->life.ttl_ms, (unsigned long long)session->runs,
		 (unsigned long long)session->memory, session->is_transactional,
		 or_null(session->states.current));
	if (session->states.went_back_ms > 0)
		json_put(buf, ",'went_back_ms':%llu",
			 (unsigned long long)session->states.went_back_ms);
	if (session->run != NULL)
		json_put(buf, ",'run':%s", run_facts(session->run).id);
	if (session->states.blocker[0] != '\0')
		json_put(buf, ",'checkpoint_blocked_by':%s", session->states.blocker);
	if (files != NULL)
		json_put(buf, ",'files':%s", files);
	put_keeping(session, buf);
	if (session->state == SESSION_LOST || session->state == SESSION_ASLEEP)
		json_put(buf, ",'why':%s", session->why.text);
	return json_put(buf, "}");
}

void session_show(struct session *session)
{
	const struct sessions_settings *settings = &session->table->settings;
	const char *state = state_name(session);
	const char *run = session->run != NULL ? run_facts(session->run).id : "";

	if (settings->changed == NULL || session->state == SESSION_CLOSED ||
	    session->former != NULL ||
	    (session->told.state == state && strcmp(session->told.run, run) == 0 &&
	     strcmp(session->told.head, session->states.current) == 0))
		return;
	session->told.state = state;
	memcpy(session->told.head, session->states.current, sizeof(session->told.head));
	(void)snprintf(session->told.run, sizeof(session->told.run), "%s", run);
	settings->changed(settings->user, session);
}

/* A checkpoint as clients read it, live or on disk. */
struct shown {
	const char *id, *name, *parent, *run;
	const char *name_was;     /* NULL: not shown; "": none */
	const struct err *unkept; /* why it is not on disk; NULL: not shown */
	uint32_t not_kept;
	uint64_t created_ms, memory;
	const char *files; /* NULL: a rollback brings the files back */
	bool is_live;
	const char *lacks;               /* NULL: nothing */
	const struct store_state *state; /* NULL: it is not on disk */
};

static int put_stored(const struct session *session, const struct store_state *state,
		      struct buf *buf)
{
	const struct store_files *files = stored_files(session->disk.stored, state->files);
	const char *more = files != NULL ? files->missing : "[]";
	const char *first = state->missing;
	const char *joint = strlen(first) > 2 && strlen(more) > 2 ? "," : "";

	/* Joins two JSON lists: drops the last bracket of one and the first bracket of the
	 * other. */
	return buf_format(buf, ",\"bytes\":%llu,\"missing\":%.*s%s%s",
			  (unsigned long long)stored_state_bytes(session->disk.stored, state),
			  (int)strlen(first) - 1, first, joint, more + 1);
}

static int put_shown(const struct session *session, const struct shown *shown, struct buf *buf)
{
	json_put(buf,
		 "{'id':%s,'name':%s,'parent':%s,'run':%s,'kind':%s,'created_ms':%llu,"
		 "'memory':%llu",
		 shown->id, or_null(shown->name), or_null(shown->parent), or_null(shown->run),
		 shown->is_live ? "live" : "portable", (unsigned long long)shown->created_ms,
		 (unsigned long long)shown->memory);
	if (shown->name_was != NULL && shown->name_was[0] != '\0')
		json_put(buf, ",'name_was':%s", shown->name_was);
	if (shown->not_kept > 0)
		json_put(buf, ",'not_kept':%u", shown->not_kept);
	if (shown->files != NULL)
		json_put(buf, ",'files':%s", shown->files);
	if (shown->lacks != NULL)
		buf_format(buf, ",\"lacks\":%s", shown->lacks);
	if (shown->state != NULL)
		put_stored(session, shown->state, buf);
	else if (shown->unkept != NULL && shown->unkept->text[0] != '\0')
		put_unkept(session, "this state", shown->unkept, buf, NULL);
	return json_put(buf, "}");
}

static struct shown show_live(const struct session *session, const struct checkpoint *checkpoint)
{
	return (struct shown){
		.id = checkpoint->id,
		.name = checkpoint->name,
		.parent = checkpoint->parent,
		.run = checkpoint->run,
		.not_kept = checkpoint->not_kept,
		.created_ms = checkpoint->created_ms,
		.memory = checkpoint->memory,
		.files = live_word(session, checkpoint),
		.is_live = true,
		.lacks = checkpoint->lacks,
		.state = stored_find(session->disk.stored, checkpoint->id),
	};
}

static struct shown show_portable(const struct session *session, const struct store_state *state)
{
	return (struct shown){
		.id = state->id,
		.name = state->name,
		.parent = state->parent,
		.run = state->run,
		.not_kept = state->not_kept,
		.created_ms = state->created_ms,
		.memory = state->memory,
		.files = files_word(session, state->has_files, false),
		.state = state,
	};
}

/* The next stored state that is not live as well. */
static const struct store_state *skip_live(const struct session *session,
					   const struct store_state *state)
{
	while (state != NULL && states_find(&session->states, state->id) != NULL)
		state = TAILQ_NEXT(state, entry);
	return state;
}

int session_put_checkpoints(const struct session *session, struct buf *buf)
{
	const struct checkpoint *live = TAILQ_FIRST(&session->states.live);
	const struct store_state *state =
		session->disk.stored != NULL
			? skip_live(session, TAILQ_FIRST(&session->disk.stored->states))
			: NULL;
	const char *joint = "";

	buf_text(buf, "{\"checkpoints\":[");
	while (buf->failed == 0 && (live != NULL || state != NULL)) {
		bool is_live =
			live != NULL && (state == NULL || live->created_ms < state->created_ms);
		struct shown shown =
			is_live ? show_live(session, live) : show_portable(session, state);

		buf_text(buf, joint);
		put_shown(session, &shown, buf);
		if (is_live)
			live = TAILQ_NEXT(live, entry);
		else
			state = skip_live(session, TAILQ_NEXT(state, entry));
		joint = ",";
	}
	return json_put(buf, "]}");
}

bool session_put_checkpoint(const struct session *session, const char *id, struct buf *buf)
{
	const struct checkpoint *checkpoint = states_find(&session->states, id);
	struct err unkept = {0};
	struct shown shown;

	if (checkpoint == NULL)
		return false;
	find_unkept(session, &unkept);
	shown = show_live(session, checkpoint);
	shown.name_was = checkpoint->name_was;
	shown.unkept = &unkept;
	return put_shown(session, &shown, buf) == 0;
}
