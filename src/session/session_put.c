// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "session/session_state.h"

static const char *const state_names[] = {
	[SESSION_STARTING] = "starting", [SESSION_IDLE] = "idle",
	[SESSION_RUNNING] = "running",   [SESSION_FORKING] = "idle",
	[SESSION_ROLLING] = "idle",      [SESSION_FREEZING] = "frozen",
	[SESSION_FROZEN] = "frozen",     [SESSION_THAWING] = "frozen",
	[SESSION_ASLEEP] = "asleep",     [SESSION_LOST] = "lost",
	[SESSION_CLOSED] = "lost",
};

static int put_text_member(struct buf *buf, const char *before, const char *text)
{
	int r = buf_text(buf, before);

	return r < 0 ? r : json_put_text(buf, text);
}

static int put_id(struct buf *buf, const char *before, const char *id)
{
	return id[0] != '\0' ? put_text_member(buf, before, id) : buf_format(buf, "%snull", before);
}

/* Its states on disk; and why the last one is not there, where it should be. */
static int put_keeping(const struct session *session, struct buf *buf)
{
	const struct stored *stored = session->stored;
	int r;

	if (!session->is_kept)
		return buf_text(buf, ",\"keep\":false");
	r = buf_format(buf,
		       ",\"keep\":true,\"kept\":{\"states\":%u,\"bytes\":%llu,\"dropped\":%llu,"
		       "\"pending\":%s",
		       stored != NULL ? stored->count : 0,
		       stored != NULL ? (unsigned long long)stored_bytes(stored) : 0,
		       stored != NULL ? (unsigned long long)stored->dropped : 0,
		       session_keep_is_due(session) ? "true" : "false");
	if (r == 0 && session->keep_why[0] != '\0')
		r = put_text_member(buf, ",\"why\":", session->keep_why);
	return r == 0 ? buf_text(buf, "}") : r;
}

static const char *state_name(const struct session *session)
{
	return session->reload != NULL ? "starting" : state_names[session->state];
}

int session_put(const struct session *session, struct buf *buf)
{
	int r = put_text_member(buf, "{\"id\":", session->id);

	if (r == 0)
		r = put_text_member(buf, ",\"name\":", session->name);
	if (r == 0)
		r = buf_format(buf, ",\"state\":\"%s\"", state_name(session));
	if (r == 0)
		r = put_id(buf, ",\"token\":", session->token);
	if (r == 0)
		r = put_text_member(buf, ",\"policy\":", session->policy->name);
	if (r == 0)
		r = put_text_member(buf, ",\"runtime\":", session->kind.runtime->name);
	if (r == 0)
		r = put_text_member(buf, ",\"backend\":", session->kind.backend->name);
	if (r == 0)
		r = buf_format(buf,
			       ",\"created_ms\":%llu,\"used_ms\":%llu,\"idle_ms\":%u,\"ttl_ms\":%u,"
			       "\"runs\":%llu,\"memory\":%llu,\"transactional\":%s",
			       (unsigned long long)session->created_ms,
			       (unsigned long long)session->used_ms, session->idle_ms,
			       session->ttl_ms, (unsigned long long)session->runs,
			       (unsigned long long)session->memory,
			       session->is_transactional ? "true" : "false");
	if (r == 0)
		r = put_id(buf, ",\"head\":", session->current);
	if (r == 0 && session->run != NULL)
		r = put_text_member(buf, ",\"run\":", run_facts(session->run).id);
	if (r == 0 && session->blocker[0] != '\0')
		r = put_text_member(buf, ",\"checkpoint_blocked_by\":", session->blocker);
	if (r == 0 && session->sandbox != NULL && session->sandbox->sessions > 1)
		r = buf_text(buf, ",\"files\":\"shared\"");
	if (r == 0)
		r = put_keeping(session, buf);
	if (r == 0 && (session->state == SESSION_LOST || session->state == SESSION_ASLEEP))
		r = put_text_member(buf, ",\"why\":", session->why.text);
	return r == 0 ? buf_text(buf, "}") : r;
}

void session_show(struct session *session)
{
	const struct sessions_settings *settings = &session->table->settings;
	const char *state = state_name(session);
	const char *run = session->run != NULL ? run_facts(session->run).id : "";

	if (settings->changed == NULL || session->is_ended || session->is_restored ||
	    (session->told_state == state && strcmp(session->told_run, run) == 0 &&
	     strcmp(session->told_head, session->current) == 0))
		return;
	session->told_state = state;
	memcpy(session->told_head, session->current, sizeof(session->told_head));
	(void)snprintf(session->told_run, sizeof(session->told_run), "%s", run);
	settings->changed(settings->user, session);
}

/* Members that both kinds have. */
struct shown {
	const char *id, *name, *parent, *run;
	uint64_t created_ms, memory;
	bool has_files, is_live;
	const struct store_state *state; /* NULL: it is not on disk */
};

static int put_stored(const struct session *session, const struct store_state *state,
		      struct buf *buf)
{
	const struct store_files *files = stored_files(session->stored, state->files);
	const char *more = files != NULL ? files->missing : "[]";
	const char *first = state->missing;
	const char *joint = strlen(first) > 2 && strlen(more) > 2 ? "," : "";

	/* Two lists as one: the last bracket of the first and the first of the last are left out.
	 */
	return buf_format(buf, ",\"bytes\":%llu,\"missing\":%.*s%s%s",
			  (unsigned long long)(state->size + (files != NULL ? files->size : 0)),
			  (int)strlen(first) - 1, first, joint, more + 1);
}

static int put_shown(const struct session *session, const struct shown *shown, struct buf *buf)
{
	int r = put_text_member(buf, "{\"id\":", shown->id);

	if (r == 0)
		r = put_id(buf, ",\"name\":", shown->name != NULL ? shown->name : "");
	if (r == 0)
		r = put_id(buf, ",\"parent\":", shown->parent);
	if (r == 0)
		r = put_id(buf, ",\"run\":", shown->run);
	if (r == 0)
		r = buf_format(buf, ",\"kind\":\"%s\",\"created_ms\":%llu,\"memory\":%llu",
			       shown->is_live ? "live" : "portable",
			       (unsigned long long)shown->created_ms,
			       (unsigned long long)shown->memory);
	if (r == 0 && !shown->has_files)
		r = buf_format(buf, ",\"files\":\"%s\"",
			       session->sandbox != NULL && session->sandbox->sessions > 1
				       ? "shared"
				       : "skipped");
	if (r == 0 && shown->state != NULL)
		r = put_stored(session, shown->state, buf);
	return r == 0 ? buf_text(buf, "}") : r;
}

static struct shown show_live(const struct session *session, const struct checkpoint *checkpoint)
{
	return (struct shown){
		.id = checkpoint->id,
		.name = checkpoint->name,
		.parent = checkpoint->parent,
		.run = checkpoint->run,
		.created_ms = checkpoint->created_ms,
		.memory = checkpoint->memory,
		.has_files = checkpoint->files != FILES_SKIPPED,
		.is_live = true,
		.state = session->stored != NULL ? stored_find(session->stored, checkpoint->id)
						 : NULL,
	};
}

static struct shown show_portable(const struct store_state *state)
{
	return (struct shown){
		.id = state->id,
		.name = state->name,
		.parent = state->parent,
		.run = state->run,
		.created_ms = state->created_ms,
		.memory = state->memory,
		.has_files = state->has_files,
		.state = state,
	};
}

/* The next on disk that does not live as well. */
static const struct store_state *skip_live(const struct session *session,
					   const struct store_state *state)
{
	while (state != NULL && session_find_checkpoint(session, state->id) != NULL)
		state = TAILQ_NEXT(state, entry);
	return state;
}

int session_put_checkpoints(const struct session *session, struct buf *buf)
{
	const struct checkpoint *live = TAILQ_FIRST(&session->checkpoints);
	const struct store_state *state =
		session->stored != NULL ? skip_live(session, TAILQ_FIRST(&session->stored->states))
					: NULL;
	const char *joint = "";
	int r = buf_text(buf, "{\"checkpoints\":[");

	while (r == 0 && (live != NULL || state != NULL)) {
		bool is_live =
			live != NULL && (state == NULL || live->created_ms < state->created_ms);
		struct shown shown = is_live ? show_live(session, live) : show_portable(state);

		r = buf_text(buf, joint);
		if (r == 0)
			r = put_shown(session, &shown, buf);
		if (is_live)
			live = TAILQ_NEXT(live, entry);
		else
			state = skip_live(session, TAILQ_NEXT(state, entry));
		joint = ",";
	}
	return r == 0 ? buf_text(buf, "]}") : r;
}

bool session_put_checkpoint(const struct session *session, const char *id, struct buf *buf)
{
	const struct checkpoint *checkpoint = session_find_checkpoint(session, id);
	struct shown shown;

	if (checkpoint == NULL)
		return false;
	shown = show_live(session, checkpoint);
	return put_shown(session, &shown, buf) == 0;
}
