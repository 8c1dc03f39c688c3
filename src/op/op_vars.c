// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "op/op_look.h"

#define VARS_MAX 1000U
#define ROWS_MAX 10000U
#define ROWS_DEFAULT 100U
#define SUMMARY_MAX 1000U

struct vars_args {
	const char *id, *name, *from, *to, *code, *sort, *filter, *search, *format;
	uint64_t offset, limit, cursor;
};

static const struct op_param list_params[] = {
	OP_SESSION_ID(struct vars_args),
	{OP_PARAM(struct vars_args, offset, .name = "offset", .type = OP_COUNT, .in = OP_IN_QUERY,
		  .help = "skip this many: `next` of the previous answer (default: 0)")},
	{OP_PARAM(struct vars_args, limit, .name = "limit", .type = OP_COUNT, .in = OP_IN_QUERY,
		  .min = 1, .max = VARS_MAX,
		  .help = "most variables in one answer (default: 1000)")},
};

#define TABLE_FILTER                                                                               \
	{                                                                                          \
		OP_PARAM(struct vars_args, filter, .name = "filter", .type = OP_TEXT,              \
			 .in = OP_IN_QUERY,                                                        \
			 .help = "only rows that meet every condition of a JSON list "             \
				 "[{\"column\",\"op\",\"value\"}]; op "                            \
				 "is eq, ne, lt, le, gt, ge, contains, missing or present")        \
	}
#define TABLE_SEARCH                                                                               \
	{                                                                                          \
		OP_PARAM(struct vars_args, search, .name = "search", .type = OP_TEXT,              \
			 .in = OP_IN_QUERY,                                                        \
			 .help = "only rows with a cell that contains this, ignoring case")        \
	}

static const struct op_param table_params[] = {
	OP_SESSION_ID(struct vars_args),
	{OP_PARAM(struct vars_args, name, .name = "name", .type = OP_TEXT, .in = OP_IN_PATH,
		  .is_required = true, .help = "name of the variable")},
	{OP_PARAM(struct vars_args, offset, .name = "offset", .type = OP_COUNT, .in = OP_IN_QUERY,
		  .help = "number of the first row (default: 0)")},
	{OP_PARAM(struct vars_args, limit, .name = "limit", .type = OP_COUNT, .in = OP_IN_QUERY,
		  .min = 1, .max = ROWS_MAX, .help = "most rows in one answer (default: 100)")},
	{OP_PARAM(
		struct vars_args, sort, .name = "sort", .type = OP_TEXT, .in = OP_IN_QUERY,
		.help = "columns by position, i0 for the first level of the index: 3:desc,i0:asc")},
	TABLE_FILTER,
	TABLE_SEARCH,
	{OP_PARAM(struct vars_args, format, .name = "format", .type = OP_TEXT, .in = OP_IN_QUERY,
		  .choices = "json|csv",
		  .help = "csv: all rows that match, as text; offset and limit are ignored")},
};

static const struct op_param summary_params[] = {
	OP_SESSION_ID(struct vars_args),
	{OP_PARAM(struct vars_args, name, .name = "name", .type = OP_TEXT, .in = OP_IN_PATH,
		  .is_required = true, .help = "name of the variable")},
	{OP_PARAM(struct vars_args, offset, .name = "offset", .type = OP_COUNT, .in = OP_IN_QUERY,
		  .help = "number of the first column (default: 0)")},
	{OP_PARAM(struct vars_args, limit, .name = "limit", .type = OP_COUNT, .in = OP_IN_QUERY,
		  .min = 1, .max = SUMMARY_MAX,
		  .help = "most columns in one answer (default: 1000)")},
	TABLE_FILTER,
	TABLE_SEARCH,
};

static const struct op_param complete_params[] = {
	OP_SESSION_ID(struct vars_args),
	{OP_PARAM(struct vars_args, code, .name = "code", .type = OP_TEXT, .is_required = true,
		  .help = "the code typed so far")},
	{OP_PARAM(struct vars_args, cursor, .name = "cursor", .type = OP_COUNT, .is_required = true,
		  .help = "position of the cursor, in characters")},
};

static const struct op_param diff_params[] = {
	OP_SESSION_ID(struct vars_args),
	{OP_PARAM(struct vars_args, from, .name = "from", .type = OP_TEXT, .in = OP_IN_QUERY,
		  .is_required = true, .help = "id or name of the checkpoint to compare from")},
	{OP_PARAM(struct vars_args, to, .name = "to", .type = OP_TEXT, .in = OP_IN_QUERY,
		  .help = "id or name of the one to compare with (default: the session as it is)")},
};

static void call_list(struct op_call *call)
{
	const struct vars_args *args = call->args;
	struct session *session = op_session_find(call, args->id);
	const struct look_ask ask = {0};
	struct object question;

	if (session == NULL)
		return;
	op_look_init(&question, "vars");
	object_number(&question, "offset", args->offset);
	object_number(&question, "limit", args->limit > 0 ? args->limit : VARS_MAX);
	object_close(&question, '}');
	op_look(call, session, &question, &ask, op_look_pass);
}

static void ask_table(struct object *question, const char *kind, const struct vars_args *args)
{
	op_look_init(question, kind);
	object_text(question, "name", args->name);
	object_text(question, "filter", args->filter);
	object_text(question, "search", args->search);
}

static void call_table(struct op_call *call)
{
	const struct vars_args *args = call->args;
	struct session *session = op_session_find(call, args->id);
	const struct look_ask ask = {0};
	bool is_csv = args->format != NULL && strcmp(args->format, "csv") == 0;
	struct object question;

	if (session == NULL)
		return;
	ask_table(&question, is_csv ? "csv" : "table", args);
	object_text(&question, "sort", args->sort);
	if (!is_csv) {
		object_number(&question, "offset", args->offset);
		object_number(&question, "limit", args->limit > 0 ? args->limit : ROWS_DEFAULT);
	}
	object_close(&question, '}');
	if (is_csv)
		op_look_bytes(call, session, &question, "text/csv; charset=utf-8");
	else
		op_look(call, session, &question, &ask, op_look_pass);
}

static void call_summary(struct op_call *call)
{
	const struct vars_args *args = call->args;
	struct session *session = op_session_find(call, args->id);
	const struct look_ask ask = {0};
	struct object question;

	if (session == NULL)
		return;
	ask_table(&question, "summary", args);
	object_number(&question, "offset", args->offset);
	object_number(&question, "limit", args->limit > 0 ? args->limit : SUMMARY_MAX);
	object_close(&question, '}');
	op_look(call, session, &question, &ask, op_look_pass);
}

static void call_complete(struct op_call *call)
{
	const struct vars_args *args = call->args;
	struct session *session = op_session_find(call, args->id);
	const struct look_ask ask = {0};
	struct object question;

	if (session == NULL)
		return;
	op_look_init(&question, "complete");
	object_text(&question, "code", args->code);
	object_number(&question, "cursor", args->cursor);
	object_close(&question, '}');
	op_look(call, session, &question, &ask, op_look_pass);
}

/* ---- diff ---- */

/* The second state compares itself with what the first one printed; the daemon reads neither. */
static void printed(struct op_call *call, const char *json, size_t size,
		    const struct look_state *state)
{
	const struct vars_args *args = call->args;
	struct session *session = op_session_find(call, args->id);
	const struct look_ask ask = {.checkpoint = args->to,
				     .field = "to",
				     .bytes = {.data = json, .size = size, .fd = -1}};
	struct object question;

	(void)state;
	if (session == NULL)
		return;
	op_look_init(&question, "diff");
	object_close(&question, '}');
	op_look(call, session, &question, &ask, op_look_pass);
}

static void call_diff(struct op_call *call)
{
	const struct vars_args *args = call->args;
	struct session *session = op_session_find(call, args->id);
	const struct look_ask ask = {.checkpoint = args->from, .field = "from"};
	struct object question;

	if (session == NULL)
		return;
	op_look_init(&question, "print");
	object_close(&question, '}');
	op_look(call, session, &question, &ask, printed);
}

const struct op op_vars_list = {
	.name = "vars.list",
	.method = "GET",
	.path = "/v1/sessions/{id}/vars",
	.help = "The variables of a session; during a run, those of the last checkpoint (as_of)",
	.params = list_params,
	.param_count = ARRAY_LEN(list_params),
	.args_size = sizeof(struct vars_args),
	.answer = "Vars",
	.call = call_list,
};

const struct op op_vars_table = {
	.name = "vars.table",
	.method = "GET",
	.path = "/v1/sessions/{id}/vars/{name}",
	.help = "Rows of a variable that is a table: a frame, an array, a list or a dict",
	.params = table_params,
	.param_count = ARRAY_LEN(table_params),
	.args_size = sizeof(struct vars_args),
	.answer = "Table",
	.also = "200 Csv",
	.call = call_table,
};

const struct op op_vars_summary = {
	.name = "vars.summary",
	.method = "GET",
	.path = "/v1/sessions/{id}/vars/{name}/summary",
	.help = "What is in each column of a table: counts, range, histogram, most frequent values",
	.params = summary_params,
	.param_count = ARRAY_LEN(summary_params),
	.args_size = sizeof(struct vars_args),
	.answer = "TableSummary",
	.call = call_summary,
};

const struct op op_complete = {
	.name = "session.complete",
	.method = "POST",
	.path = "/v1/sessions/{id}/complete",
	.help = "Completions at the cursor: names, attributes and keys of the live session",
	.params = complete_params,
	.param_count = ARRAY_LEN(complete_params),
	.args_size = sizeof(struct vars_args),
	.answer = "Completion",
	.call = call_complete,
};

const struct op op_diff = {
	.name = "session.diff",
	.method = "GET",
	.path = "/v1/sessions/{id}/diff",
	.help = "Which names were added, removed or changed between two states",
	.params = diff_params,
	.param_count = ARRAY_LEN(diff_params),
	.args_size = sizeof(struct vars_args),
	.answer = "Diff",
	.call = call_diff,
};
