// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "op/op.h"
#include "op/run_log.h"

struct code_args {
	const char *id;
};

static const struct op_param params[] = {
	{OP_PARAM(struct code_args, id, .name = "id", .type = OP_TEXT, .in = OP_IN_PATH,
		  .is_required = true, .help = "id of the run")},
};

/* A copy, since the log's own is valid only until something else is read. */
struct code {
	size_t size, taken;
	char bytes[];
};

static int64_t read_code(void *user, void *data, size_t room)
{
	struct code *code = user;
	size_t left = code->size - code->taken;
	size_t n = left < room ? left : room;

	if (n == 0)
		return -1;
	memcpy(data, code->bytes + code->taken, n);
	code->taken += n;
	return (int64_t)n;
}

static void call_code(struct op_call *call)
{
	const struct code_args *args = call->args;
	struct log *log = run_log_find(call, args->id);
	struct op_source source = {.read = read_code, .close = free};
	struct code *code = NULL;
	const char *text = NULL;
	struct err err = {0};
	size_t size = 0;

	if (log == NULL)
		return;
	if (log_code(log, &text, &size))
		code = malloc(sizeof(*code) + size);
	if (code == NULL) {
		(void)err_set(&err, ERR_NOT_FOUND, ENOENT, "the code of %.60s is not kept",
			      args->id);
		op_fail(call, &err);
		return;
	}
	*code = (struct code){.size = size};
	if (size > 0)
		memcpy(code->bytes, text, size);
	source.user = code;
	call->is_foreign = true;
	op_stream(call, 200, "text/plain; charset=utf-8", (int64_t)size, &source);
}

const struct op op_run_code = {
	.name = "run.code",
	.method = "GET",
	.path = "/v1/runs/{id}/code",
	.help = "The code or command of a run as it was sent, at most its first MiB",
	.params = params,
	.param_count = ARRAY_LEN(params),
	.args_size = sizeof(struct code_args),
	.answer = "Code",
	.call = call_code,
};
