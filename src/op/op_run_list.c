// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "op/object.h"
#include "op/run_log.h"
#include "op/run_row.h"
#include "session/session.h"

#define RUNS_MAX 1000U
#define RUNS_DEFAULT 100U
#define ANSWER_MAX (4UL << 20)

struct list_args {
	const char *session;
	uint64_t limit;
};

static const struct op_param list_params[] = {
	{OP_PARAM(struct list_args, session, .name = "session", .type = OP_TEXT, .in = OP_IN_QUERY,
		  .help = "only runs of the session with this id; for a branch, also those that it "
			  "inherits")},
	{OP_PARAM(struct list_args, limit, .name = "limit", .type = OP_COUNT, .in = OP_IN_QUERY,
		  .min = 1, .max = RUNS_MAX, .help = "how many of the latest runs (default: 100)")},
};

/* The logs of all runs, so that they can be walked from the latest back. */
struct collection {
	struct log **logs; /* owned; each is borrowed */
	size_t count, room;
};

static void collect(void *user, struct log *log)
{
	struct collection *all = user;

	if (strncmp(log_id(log), "run_", 4) != 0)
		return;
	if (all->count == all->room) {
		size_t room = all->room > 0 ? all->room * 2 : 256;
		struct log **more = reallocarray(all->logs, room, sizeof(struct log *));

		if (more == NULL)
			abort(); /* as xnew() does: a list that lacks runs would not be true */
		all->logs = more;
		all->room = room;
	}
	all->logs[all->count++] = log;
}

/* Which runs are listed. A branch also lists the runs of the sessions it was forked from, up to the
 * fork. */
struct wanted {
	const char *session;          /* NULL: all runs */
	const struct session *branch; /* NULL: there is no such session any more */
	uint32_t reached; /* a bit for each origin: the walk has reached its last inherited run */
};

/* The walk goes from the latest run back, so all runs of an origin that follow its last inherited
 * one are older, and inherited, too. */
static bool is_inherited(struct wanted *wanted, struct span of, const char *run)
{
	const char *session = NULL;
	const char *last = NULL;

	for (uint32_t i = 0;
	     wanted->branch != NULL && session_origin(wanted->branch, i, &session, &last); i++) {
		if (!span_is(of, session))
			continue;
		if (strcmp(run, last) == 0)
			wanted->reached |= 1U << i;
		return (wanted->reached & (1U << i)) != 0;
	}
	return false;
}

static bool is_wanted(struct wanted *wanted, const struct log *log, bool *ret_inherited)
{
	struct log_head head;

	*ret_inherited = false;
	if (!log_head(log, &head))
		return false;
	if (wanted->session == NULL)
		return true;
	*ret_inherited = is_inherited(wanted, head.session, log_id(log));
	return *ret_inherited || span_is(head.session, wanted->session);
}

static void call_list(struct op_call *call)
{
	const struct list_args *args = call->args;
	uint64_t left = args->limit > 0 ? args->limit : RUNS_DEFAULT;
	struct wanted wanted = {.session = args->session};
	struct collection all = {0};
	struct object object;
	struct err err;

	if (args->session != NULL && strncmp(args->session, "ses_", 4) != 0) {
		(void)err_field(
			&err, ERR_BAD_REQUEST, EINVAL, "session",
			"not the id of a session; a name does not do, since it is not unique");
		op_fail(call, &err);
		return;
	}
	if (args->session != NULL)
		wanted.branch = sessions_find(call->engine->sessions, args->session);
	logs_each(call->engine->logs, collect, &all);
	object_init(&object, ANSWER_MAX);
	object_open(&object, "runs", '[');
	for (size_t i = all.count; i > 0 && left > 0; i--) {
		struct log *log = all.logs[i - 1];
		bool is_of_origin = false;

		if (!run_log_may_see(log, &call->caller) || !is_wanted(&wanted, log, &is_of_origin))
			continue;
		object_open(&object, NULL, '{');
		run_row_members(&object, call->engine, log);
		if (is_of_origin)
			object_bool(&object, "inherited", true);
		object_close(&object, '}');
		left--;
	}
	free(all.logs);
	object_close(&object, ']');
	object_answer(&object, call, 200);
}

const struct op op_run_list = {
	.name = "run.list",
	.method = "GET",
	.path = "/v1/runs",
	.help = "The latest runs, and who asked for them; `verdict` is null while one goes on",
	.params = list_params,
	.param_count = ARRAY_LEN(list_params),
	.args_size = sizeof(struct list_args),
	.answer = "Runs",
	.call = call_list,
};
