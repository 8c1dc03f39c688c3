// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "op/flight.h"
#include "op/object.h"
#include "op/run_row.h"

#define RUNS_MAX 1000U
#define RUNS_DEFAULT 100U
#define ANSWER_MAX (4UL << 20)

struct list_args {
	const char *session;
	uint64_t limit;
};

static const struct op_param list_params[] = {
	{OP_PARAM(struct list_args, session, .name = "session", .type = OP_TEXT, .in = OP_IN_QUERY,
		  .help = "only runs of this session, and those that it goes on from as a branch")},
	{OP_PARAM(struct list_args, limit, .name = "limit", .type = OP_COUNT, .in = OP_IN_QUERY,
		  .min = 1, .max = RUNS_MAX, .help = "only the latest so many (default: 100)")},
};

/* Every log, so that they can be gone through from the latest on. */
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
			return; /* the oldest are first: a list that is cut lacks the latest */
		all->logs = more;
		all->room = room;
	}
	all->logs[all->count++] = log;
}

/* Which runs are listed. Of a branch also those of the sessions it was forked from, up to there. */
struct wanted {
	const char *session;          /* NULL: all runs */
	const struct session *branch; /* NULL: there is no such session any more */
	uint32_t reached;             /* a bit for each origin: its last run has been passed */
};

static bool is_text(const char *value, size_t size, const char *text)
{
	return size == strlen(text) + 2 && memcmp(value + 1, text, size - 2) == 0;
}

/* From the latest on: what comes after the last one of an origin was before it. */
static bool is_inherited(struct wanted *wanted, const char *value, size_t size, const char *run)
{
	const char *session = NULL;
	const char *last = NULL;

	for (uint32_t i = 0;
	     wanted->branch != NULL && session_origin(wanted->branch, i, &session, &last); i++) {
		if (!is_text(value, size, session))
			continue;
		if (strcmp(run, last) == 0)
			wanted->reached |= 1U << i;
		return (wanted->reached & (1U << i)) != 0;
	}
	return false;
}

static bool is_wanted(struct wanted *wanted, const struct log *log, bool *ret_inherited)
{
	const char *head = NULL;
	const char *value = NULL;
	size_t size = 0;
	size_t value_size = 0;

	*ret_inherited = false;
	if (!log_head(log, &head, &size))
		return false;
	if (wanted->session == NULL)
		return true;
	if (!json_find(head, size, "session", &value, &value_size))
		return false;
	*ret_inherited = is_inherited(wanted, value, value_size, log_id(log));
	return *ret_inherited || is_text(value, value_size, wanted->session);
}

static void call_list(struct op_call *call)
{
	const struct list_args *args = call->args;
	uint64_t left = args->limit > 0 ? args->limit : RUNS_DEFAULT;
	struct wanted wanted = {.session = args->session};
	struct collection all = {0};
	struct object object;

	if (args->session != NULL)
		wanted.branch = sessions_find(call->engine->sessions, args->session);
	logs_each(call->engine->logs, collect, &all);
	object_init(&object, ANSWER_MAX);
	object_open(&object, "runs", '[');
	for (size_t i = all.count; i > 0 && left > 0; i--) {
		struct log *log = all.logs[i - 1];
		bool is_of_origin = false;

		if (!flight_may_see(log, &call->caller) || !is_wanted(&wanted, log, &is_of_origin))
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
