// SPDX-License-Identifier: Apache-2.0
/* Another policy and another Python for a session that goes on. */
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "session/session_state.h"

struct session_change *session_change_new(const struct session_change *from)
{
	struct session_change *change = xnew(struct session_change);

	*change = *from;
	change->kind.trust = xtext(from->kind.trust);
	change->kind.data = xstrdup(from->kind.data);
	return change;
}

void session_change_free(struct session_change *change)
{
	if (change == NULL)
		return;
	free((char *)(uintptr_t)change->kind.trust);
	free((char *)(uintptr_t)change->kind.data);
	free(change);
}

void session_change_swap(struct session *session, struct session_change *change)
{
	const struct session_change is = {
		.policy = session->policy, .kind = session->kind, .pin = session->pin};

	session->policy = change->policy;
	session->kind = change->kind;
	session->pin = change->pin;
	*change = is;
}

bool session_is_changing(const struct session *session)
{
	const struct job *job = NULL;

	if (session_reload_changes(session))
		return true;
	TAILQ_FOREACH(job, &session->jobs, entry) {
		if (job->change != NULL)
			return true;
	}
	return false;
}
