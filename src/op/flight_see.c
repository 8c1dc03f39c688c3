// SPDX-License-Identifier: Apache-2.0
/* Who may know of a run, and whose it is. */
#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "op/flight.h"

bool flight_was_held(const struct log *log)
{
	const char *head = NULL;
	const char *value = NULL;
	size_t size = 0;
	size_t value_size = 0;

	return log_seq(log) == 0 && log_head(log, &head, &size) &&
	       json_find(head, size, "held", &value, &value_size) && value[0] == 't';
}

static bool is_own(const struct log *log, const struct op_caller *caller)
{
	const char *owner = log_owner(log);

	return owner != NULL && strcmp(owner, caller->name) == 0;
}

bool flight_may_see(const struct log *log, const struct op_caller *caller)
{
	return caller->is_overseer || is_own(log, caller);
}

/* A run that is not the caller's is not there. */
static struct log *find_log(struct op_call *call, const char *id,
			    bool (*may)(const struct log *log, const struct op_caller *caller))
{
	struct log *log = logs_find(call->engine->logs, id);
	struct err err = {0};

	if (log != NULL && strncmp(id, "run_", 4) == 0 && may(log, &call->caller))
		return log;
	(void)err_set(&err, ERR_NOT_FOUND, ENOENT, "there is no run %.60s", id);
	op_fail(call, &err);
	return NULL;
}

struct log *flight_find_log(struct op_call *call, const char *id)
{
	return find_log(call, id, flight_may_see);
}

struct log *flight_find_own(struct op_call *call, const char *id)
{
	return find_log(call, id, is_own);
}
