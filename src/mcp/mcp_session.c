// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "base/c.h"
#include "mcp/mcp_inside.h"

#define IDLE_NS 3600000000000U /* a session without requests for an hour is ended */

/* Closes the sandboxes that tools kept for this session. */
static void close_sandboxes(struct mcp_session *session)
{
	struct op_caller caller = {.name = session->token, .peer = session->peer};

	for (size_t i = 0; i < session->memory_count; i++) {
		const char *const pairs[] = {"id", session->memory[i].value, NULL};
		struct decoded decoded = {0};
		struct err err = {0};

		if (strncmp(session->memory[i].value, "ses_", 4) == 0 &&
		    mcp_op_decode(&op_session_delete, pairs, &decoded, &err) == 0)
			(void)mcp_op_start(session->mcp, &caller, &op_session_delete, &decoded,
					   NULL, NULL, NULL, NULL);
	}
}

/* Drops the session's requests: the client has ended the session, or has been gone for long. */
static void end_requests(struct mcp_session *session)
{
	struct mcp_request *request = LIST_FIRST(&session->mcp->requests);

	while (request != NULL) {
		struct mcp_request *next = LIST_NEXT(request, entry);

		if (request->session == session)
			mcp_request_drop(request);
		request = next;
	}
}

static void end_streams(struct mcp_session *session)
{
	struct mcp_stream *stream = TAILQ_FIRST(&session->mcp->streams);

	session->open = NULL;
	while (stream != NULL) {
		struct mcp_stream *next = TAILQ_NEXT(stream, entry);

		if (stream->session == session) {
			stream->session = NULL;
			stream->is_over = true;
			if (stream->wire != NULL)
				mcp_wire_ready(stream->wire);
			mcp_stream_release(stream);
		}
		stream = next;
	}
}

void mcp_session_end(struct mcp_session *session)
{
	end_requests(session);
	end_streams(session);
	/* When the daemon stops, it ends its sessions itself. */
	if (!session->mcp->is_closing)
		close_sandboxes(session);
	TAILQ_REMOVE(&session->mcp->sessions, session, entry);
	session->mcp->session_count--;
	json_decref(session->capabilities);
	free(session->token);
	free(session->peer);
	free(session);
}

/* Does this token have so many sessions that others may lose theirs for lack of room? */
static bool has_too_many(const struct mcp *mcp, const char *token)
{
	const struct mcp_session *session = NULL;
	size_t count = 0;

	TAILQ_FOREACH(session, &mcp->sessions, entry)
		count += strcmp(session->token, token) == 0;
	return count > MCP_SESSIONS_MAX / 4;
}

static bool is_idle(const struct mcp_session *session)
{
	return session->busy == 0 && session->open == NULL;
}

/* Ends the least recently used idle session: of a token with more than its share, so that nobody
 * can push out the sessions of others; else of any token. False: all are busy. */
static bool make_room(struct mcp *mcp)
{
	struct mcp_session *session = NULL, *found = NULL;

	TAILQ_FOREACH(session, &mcp->sessions, entry) {
		if (!is_idle(session))
			continue;
		if (has_too_many(mcp, session->token)) {
			found = session;
			break;
		}
		if (found == NULL)
			found = session;
	}
	if (found != NULL)
		mcp_session_end(found);
	return found != NULL;
}

struct mcp_session *mcp_session_new(struct mcp *mcp, const struct op_caller *caller,
				    struct err *err)
{
	struct mcp_session *session;

	if (mcp->session_count >= MCP_SESSIONS_MAX && !make_room(mcp)) {
		(void)err_set(err, ERR_BUSY, EBUSY,
			      "there are %d sessions, and all of them are busy; try again later",
			      MCP_SESSIONS_MAX);
		return NULL;
	}
	session = xnew(struct mcp_session);
	session->mcp = mcp;
	id_new("mcp_", session->id);
	session->token = xtext(caller->name);
	session->peer = xtext(caller->peer);
	session->version = MCP_NEWEST_LEGACY;
	session->log_level = -1;
	session->used_ns = now_ns();
	TAILQ_INSERT_TAIL(&mcp->sessions, session, entry);
	mcp->session_count++;
	mcp_watch(mcp);
	return session;
}

struct mcp_session *mcp_session_find(struct mcp *mcp, const char *id,
				     const struct op_caller *caller)
{
	struct mcp_session *session = NULL;

	TAILQ_FOREACH(session, &mcp->sessions, entry) {
		if (strcmp(session->id, id) == 0)
			break;
	}
	if (session == NULL || strcmp(session->token, caller->name) != 0)
		return NULL;
	session->used_ns = now_ns();
	TAILQ_REMOVE(&mcp->sessions, session, entry);
	TAILQ_INSERT_TAIL(&mcp->sessions, session, entry);
	return session;
}

void mcp_sessions_tick(struct mcp *mcp, uint64_t now)
{
	struct mcp_session *session = TAILQ_FIRST(&mcp->sessions);

	while (session != NULL) {
		struct mcp_session *next = TAILQ_NEXT(session, entry);

		if (is_idle(session) && now - session->used_ns > IDLE_NS)
			mcp_session_end(session);
		session = next;
	}
}

/* ---- what tools remember in a session ---- */

static struct mcp_session *session_of(const struct mcp_call *call)
{
	struct mcp_session *session = NULL;

	TAILQ_FOREACH(session, &call->mcp->sessions, entry) {
		if (strcmp(session->id, call->session) == 0)
			return session;
	}
	return NULL;
}

static struct mcp_memory *memory_of(struct mcp_session *session, const char *key)
{
	for (size_t i = 0; session != NULL && i < session->memory_count; i++) {
		if (strcmp(session->memory[i].key, key) == 0)
			return &session->memory[i];
	}
	return NULL;
}

bool mcp_call_has_session(const struct mcp_call *call)
{
	return session_of(call) != NULL;
}

const char *mcp_call_recall(const struct mcp_call *call, const char *key)
{
	const struct mcp_memory *memory = memory_of(session_of(call), key);

	return memory != NULL && memory->value[0] != '\0' ? memory->value : NULL;
}

void mcp_call_remember(struct mcp_call *call, const char *key, const char *value)
{
	struct mcp_session *session = session_of(call);
	struct mcp_memory *memory = memory_of(session, key);

	if (session == NULL || (memory == NULL && session->memory_count == MCP_MEMORY_MAX))
		return;
	if (memory == NULL) {
		memory = &session->memory[session->memory_count++];
		(void)snprintf(memory->key, sizeof(memory->key), "%s", key);
	}
	(void)snprintf(memory->value, sizeof(memory->value), "%s", value != NULL ? value : "");
}
