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
		  .help = "only runs of this session")},
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

static bool is_of_session(const char *head, size_t size, const char *session)
{
	const char *value = NULL;
	size_t value_size = 0;

	return json_find(head, size, "session", &value, &value_size) &&
	       value_size == strlen(session) + 2 &&
	       memcmp(value + 1, session, strlen(session)) == 0;
}

static void call_list(struct op_call *call)
{
	const struct list_args *args = call->args;
	uint64_t left = args->limit > 0 ? args->limit : RUNS_DEFAULT;
	struct collection all = {0};
	struct object object;

	logs_each(call->engine->logs, collect, &all);
	object_init(&object, ANSWER_MAX);
	object_open(&object, "runs", '[');
	for (size_t i = all.count; i > 0 && left > 0; i--) {
		struct log *log = all.logs[i - 1];
		const char *head = NULL;
		size_t size = 0;

		if (!flight_may_see(log, &call->caller) || !log_head(log, &head, &size) ||
		    (args->session != NULL && !is_of_session(head, size, args->session)))
			continue;
		run_row_put(&object, NULL, call->engine, log);
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
