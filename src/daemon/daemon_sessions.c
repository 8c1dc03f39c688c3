// SPDX-License-Identifier: Apache-2.0
/* The daemon's side of a session's life: its place in admission, and the clients that follow it. */
#include <errno.h>
#include <string.h>

#include "base/c.h"
#include "daemon/daemon_state.h"
#include "op/announce.h"

static const struct config_token *token_of(const struct daemon *daemon,
					   const struct session *session)
{
	for (size_t i = 0; i < daemon->config->token_count; i++) {
		if (strcmp(daemon->config->tokens[i].name, session_token(session)) == 0)
			return &daemon->config->tokens[i];
	}
	return NULL;
}

void daemon_session_begun(void *user, const struct session *session)
{
	struct daemon *daemon = user;

	admission_session_kept(daemon->engine.admission, token_of(daemon, session));
}

void daemon_session_ended(void *user, const struct session *session)
{
	struct daemon *daemon = user;

	if (session_is_counted(session))
		admission_session_leave(daemon->engine.admission, token_of(daemon, session));
	announce_session_gone(&daemon->engine, session_token(session), session_id(session));
}

void daemon_session_slept(void *user, const struct session *session)
{
	struct daemon *daemon = user;

	admission_session_leave(daemon->engine.admission, token_of(daemon, session));
}

int daemon_session_woke(void *user, const struct session *session, struct err *err)
{
	struct daemon *daemon = user;
	struct admission_refusal refusal = {0};

	if (daemon->is_stopping)
		return err_set(err, ERR_BUSY, ESHUTDOWN, "the daemon is stopping");
	if (admission_session(daemon->engine.admission, token_of(daemon, session), now_ns(),
			      &refusal) < 0) {
		*err = refusal.err;
		return -EBUSY;
	}
	return 0;
}

void daemon_session_changed(void *user, const struct session *session)
{
	struct daemon *daemon = user;

	announce_session(&daemon->engine, session);
}
