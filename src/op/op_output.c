// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sys/stat.h>

#include "base/json.h"
#include "op/op_conversation.h"
#include "op/stored.h"

struct output_args {
	const char *id;
	const char *cell;
};

static const struct op_param output_params[] = {
	OP_CONVERSATION_ID(struct output_args),
	{OP_PARAM(struct output_args, cell, .name = "cell", .type = OP_TEXT, .in = OP_IN_PATH,
		  .is_required = true,
		  .help = "id of the cell: 1 to 64 of A-Z, a-z, 0-9, _ and -")},
};

static void finish(struct op_call *call, int r, const struct err *err)
{
	struct buf none;

	if (r < 0) {
		op_fail(call, err);
		return;
	}
	buf_init(&none, 0);
	op_answer(call, 204, &none);
	buf_done(&none);
}

static void call_get(struct op_call *call)
{
	const struct output_args *args = call->args;
	const struct conversation *conversation = op_conversation_find(call, args->id);
	struct err err = {0};
	uint64_t size = 0;
	struct buf none;
	int fd = -1;
	int r;

	if (conversation == NULL)
		return;
	/* A cell without kept output is no error: a page asks for every cell that it opens. */
	r = conversation_open_output(conversation, args->cell, &fd, &size, &err);
	if (r < 0) {
		finish(call, err.kind == ERR_NOT_FOUND ? 0 : r, &err);
		return;
	}
	(void)snprintf(call->filename, sizeof(call->filename), "output.json");
	buf_init(&none, 0);
	stored_answer(call, &none, &fd, size, "");
}

static int write_body(const struct op_call *call, struct conversation *conversation,
		      struct err *err)
{
	const struct output_args *args = call->args;
	struct run_bytes body = {.fd = call->body};
	struct stored_view view = {0};
	struct stat status;
	int r;

	if (fstat(call->body, &status) < 0)
		return err_sys(err, "look at the body");
	body.size = (uint64_t)status.st_size;
	r = stored_open(&body, CONVERSATION_OUTPUT_MAX, &view, err);
	if (r < 0)
		return err_wrap(err, "the output");
	if (!json_is_valid(view.data, view.size))
		r = err_set(err, ERR_BAD_REQUEST, EINVAL, "the output is not JSON");
	else
		r = conversation_write_output(conversation, args->cell, view.data, view.size, err);
	stored_close(&view);
	return r;
}

static void call_put(struct op_call *call)
{
	const struct output_args *args = call->args;
	struct conversation *conversation = op_conversation_find(call, args->id);
	struct err err = {0};

	if (conversation != NULL)
		finish(call, write_body(call, conversation, &err), &err);
}

static void call_remove(struct op_call *call)
{
	const struct output_args *args = call->args;
	struct conversation *conversation = op_conversation_find(call, args->id);
	struct err err = {0};

	if (conversation != NULL)
		finish(call, conversation_remove_output(conversation, args->cell, &err), &err);
}

const struct op op_output_get = {
	.name = "output.get",
	.method = "GET",
	.path = "/v1/conversations/{id}/outputs/{cell}",
	.help = "What a cell showed, as it was kept; 204 when nothing is kept",
	.params = output_params,
	.param_count = ARRAY_LEN(output_params),
	.args_size = sizeof(struct output_args),
	.answer = "Output",
	.also = "204",
	.call = call_get,
};

const struct op op_output_put = {
	.name = "output.put",
	.method = "PUT",
	.path = "/v1/conversations/{id}/outputs/{cell}",
	.help = "Keep what a cell showed, any JSON of at most 4 MiB, for when its run's events are "
		"gone",
	.params = output_params,
	.param_count = ARRAY_LEN(output_params),
	.args_size = sizeof(struct output_args),
	.status = 204,
	.is_raw = true,
	.body_max = CONVERSATION_OUTPUT_MAX,
	.call = call_put,
};

const struct op op_output_remove = {
	.name = "output.remove",
	.method = "DELETE",
	.path = "/v1/conversations/{id}/outputs/{cell}",
	.help = "Forget what a cell showed",
	.params = output_params,
	.param_count = ARRAY_LEN(output_params),
	.args_size = sizeof(struct output_args),
	.status = 204,
	.call = call_remove,
};
