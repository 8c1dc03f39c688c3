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
	[SESSION_LOST] = "lost",         [SESSION_CLOSED] = "lost",
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

int session_put(const struct session *session, struct buf *buf)
{
	int r = put_text_member(buf, "{\"id\":", session->id);

	if (r == 0)
		r = put_text_member(buf, ",\"name\":", session->name);
	if (r == 0)
		r = buf_format(buf, ",\"state\":\"%s\"", state_names[session->state]);
	if (r == 0)
		r = put_id(buf, ",\"token\":", session->token);
	if (r == 0)
		r = put_text_member(buf, ",\"policy\":", session->policy->name);
	if (r == 0)
		r = put_text_member(buf, ",\"runtime\":", session->kind.runtime->name);
	if (r == 0)
		r = put_text_member(buf, ",\"backend\":",
				    session->sandbox != NULL ? session->sandbox->backend->name
							     : "namespace");
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
	if (r == 0 && session->state == SESSION_LOST)
		r = put_text_member(buf, ",\"why\":", session->why.text);
	return r == 0 ? buf_text(buf, "}") : r;
}

void session_show(struct session *session)
{
	const struct sessions_settings *settings = &session->table->settings;
	const char *state = state_names[session->state];
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

static int put_checkpoint(const struct session *session, const struct checkpoint *checkpoint,
			  struct buf *buf)
{
	int r = put_text_member(buf, "{\"id\":", checkpoint->id);

	if (r == 0)
		r = put_id(buf, ",\"name\":", checkpoint->name != NULL ? checkpoint->name : "");
	if (r == 0)
		r = put_id(buf, ",\"parent\":", checkpoint->parent);
	if (r == 0)
		r = put_id(buf, ",\"run\":", checkpoint->run);
	if (r == 0)
		r = buf_format(buf, ",\"created_ms\":%llu,\"memory\":%llu",
			       (unsigned long long)checkpoint->created_ms,
			       (unsigned long long)checkpoint->memory);
	if (r == 0 && checkpoint->files == FILES_SKIPPED)
		r = buf_format(buf, ",\"files\":\"%s\"",
			       session->sandbox != NULL && session->sandbox->sessions > 1
				       ? "shared"
				       : "skipped");
	return r == 0 ? buf_text(buf, "}") : r;
}

int session_put_checkpoints(const struct session *session, struct buf *buf)
{
	const struct checkpoint *checkpoint = NULL;
	bool is_first = true;
	int r = buf_text(buf, "{\"checkpoints\":[");

	TAILQ_FOREACH(checkpoint, &session->checkpoints, entry) {
		if (r == 0)
			r = buf_text(buf, is_first ? "" : ",");
		if (r == 0)
			r = put_checkpoint(session, checkpoint, buf);
		is_first = false;
	}
	return r == 0 ? buf_text(buf, "]}") : r;
}

bool session_put_checkpoint(const struct session *session, const char *id, struct buf *buf)
{
	const struct checkpoint *checkpoint = session_find_checkpoint(session, id);

	return checkpoint != NULL && put_checkpoint(session, checkpoint, buf) == 0;
}
