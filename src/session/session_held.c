// SPDX-License-Identifier: Apache-2.0
/* Runs of a session that wait for a person or for room: they keep their place, and what is behind
 * them waits. */
#include <string.h>

#include "session/session_state.h"

struct job *session_next_job(const struct session *session)
{
	struct job *job = TAILQ_FIRST(&session->jobs);

	return job != NULL && (job->run == NULL || !run_is_held(job->run)) ? job : NULL;
}

struct run *session_held_run(const struct session *session, const char *id)
{
	const struct job *job = NULL;

	TAILQ_FOREACH(job, &session->jobs, entry) {
		if (job->run != NULL && run_is_held(job->run) &&
		    (id != NULL ? strcmp(run_facts(job->run).id, id) == 0 : session->run == NULL))
			return job->run;
	}
	return NULL;
}
