// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "base/c.h"
#include "op/op.h"
#include "op/op_run.h"
#include "op/op_text.h"
#include "op/run_log.h"

#define STDIN_MAX (1U << 20) /* of one piece */

struct run_args {
	const char *id;
	uint64_t after;
	enum op_bool follow;
	struct run_bytes text, base64;
	enum op_bool eof, echo;
};

#define RUN_ID                                                                                     \
	{                                                                                          \
		OP_PARAM(struct run_args, id, .name = "id", .type = OP_TEXT, .in = OP_IN_PATH,     \
			 .is_required = true, .help = "id of the run")                             \
	}

static const struct op_param id_params[] = {RUN_ID};

static const struct op_param events_params[] = {
	RUN_ID,
	{OP_PARAM(struct run_args, after, .name = "after", .type = OP_COUNT, .in = OP_IN_QUERY,
		  .help = "number of the last event that is known already (default: 0)")},
	{OP_PARAM(struct run_args, follow, .name = "follow", .type = OP_BOOL, .in = OP_IN_QUERY,
		  .help = "wait for new events (default: true)")},
};

static const struct op_param stdin_params[] = {
	RUN_ID,
	{OP_PARAM(struct run_args, text, .name = "text", .type = OP_BYTES,
		  .help = "what the code reads next")},
	{OP_PARAM(struct run_args, base64, .name = "base64", .type = OP_BYTES,
		  .help = "the same, for bytes that are not text")},
	{OP_PARAM(struct run_args, eof, .name = "eof", .type = OP_BOOL,
		  .help = "nothing comes after this")},
	{OP_PARAM(struct run_args, echo, .name = "echo", .type = OP_BOOL,
		  .help = "also make it an event, as a terminal shows what a person types")},
};

static void call_get(struct op_call *call)
{
	const struct run_args *args = call->args;
	struct log *log = run_log_find(call, args->id);

	if (log != NULL)
		op_text_result(call, log);
}

static void call_events(struct op_call *call)
{
	const struct run_args *args = call->args;
	struct log *log = run_log_find(call, args->id);

	if (log != NULL)
		run_log_stream(call, log, args->after, args->follow != OP_NO);
}

/* Answers only when the run is over, so that nothing of it is left by then. */
static void cancel_seen(void *user)
{
	struct op_call *call = user;
	struct log_reader *reader = call->state;
	struct buf none;

	if (reader->log != NULL && !log_is_over(reader->log))
		return;
	log_reader_close(reader);
	free(reader);
	call->state = NULL;
	buf_init(&none, 0);
	op_answer(call, 204, &none);
	buf_done(&none);
}

static void call_cancel(struct op_call *call)
{
	const struct run_args *args = call->args;
	struct log *log = run_log_find_own(call, args->id);
	struct served_run *served = NULL;
	struct log_reader *reader = NULL;

	if (log == NULL)
		return;
	reader = xnew(struct log_reader);
	call->state = reader;
	log_reader_open(reader, log, log_seq(log), cancel_seen, call);
	served = served_find(call->engine, args->id);
	if (served != NULL && served->run != NULL && !log_is_over(log))
		run_cancel(served->run, false);
	else
		cancel_seen(call);
}

/* The bytes to write: those of `text`, or of `base64`, decoded into `room`. */
static int stdin_bytes(const struct run_args *args, struct buf *room, struct run_bytes *ret_bytes,
		       struct err *err)
{
	*ret_bytes = args->text;
	if (args->text.size + args->base64.size > 0 && args->text.data == NULL &&
	    args->base64.data == NULL)
		return err_field(err, ERR_TOO_LARGE, EFBIG, "text", "send it in smaller pieces");
	if (args->base64.size == 0)
		return 0;
	if (args->text.size > 0)
		return err_field(err, ERR_BAD_REQUEST, EINVAL, "base64",
				 "give either this or text");
	if (buf_reserve(room, args->base64.size) < 0)
		return err_field(err, ERR_TOO_LARGE, EFBIG, "base64", "send it in smaller pieces");
	if (buf_unbase64(room, args->base64.data, args->base64.size, "") < 0)
		return err_field(err, ERR_BAD_REQUEST, EINVAL, "base64", "this is not base64");
	*ret_bytes = (struct run_bytes){.data = room->data, .size = room->size, .fd = -1};
	return 0;
}

static void call_stdin(struct op_call *call)
{
	const struct run_args *args = call->args;
	struct log *log = run_log_find_own(call, args->id);
	struct served_run *served = NULL;
	struct run_bytes bytes = {0};
	struct err err = {0};
	struct buf answer;
	struct buf room;
	int r;

	if (log == NULL)
		return;
	buf_init(&room, STDIN_MAX);
	served = served_find(call->engine, args->id);
	if (served == NULL && !log_is_over(log))
		r = err_set(&err, ERR_BUSY, EAGAIN,
			    "the daemon was just restarted and has not resumed this run yet; try "
			    "again");
	else if (served == NULL || served->run == NULL)
		r = err_set(&err, ERR_CONFLICT, ESRCH, "the run is over");
	else
		r = stdin_bytes(args, &room, &bytes, &err);
	if (r == 0 && served != NULL)
		r = run_stdin_write(served->run, bytes.data, bytes.size, args->eof == OP_YES, &err);
	if (r == 0 && served != NULL && args->echo == OP_YES)
		run_tell_stdin(served->run, bytes.data, bytes.size);
	buf_done(&room);
	if (r < 0) {
		op_fail(call, &err);
		return;
	}
	buf_init(&answer, KIB);
	(void)buf_text(&answer, "{}");
	op_answer(call, 200, &answer);
	buf_done(&answer);
}

const struct op op_run_get = {
	.name = "run.get",
	.method = "GET",
	.path = "/v1/runs/{id}",
	.help = "The result of a run; its verdict is null while it goes on",
	.params = id_params,
	.param_count = ARRAY_LEN(id_params),
	.args_size = sizeof(struct run_args),
	.answer = "Result",
	.call = call_get,
};

const struct op op_run_events = {
	.name = "run.events",
	.method = "GET",
	.path = "/v1/runs/{id}/events",
	.help = "The events of a run, one JSON object per line, from any number on",
	.params = events_params,
	.param_count = ARRAY_LEN(events_params),
	.args_size = sizeof(struct run_args),
	.answer = "Event",
	.is_stream = true,
	.call = call_events,
};

const struct op op_run_cancel = {
	.name = "run.cancel",
	.method = "DELETE",
	.path = "/v1/runs/{id}",
	.help = "End a run; its verdict is cancelled",
	.params = id_params,
	.param_count = ARRAY_LEN(id_params),
	.args_size = sizeof(struct run_args),
	.status = 204,
	.call = call_cancel,
};

const struct op op_run_stdin = {
	.name = "run.stdin",
	.method = "POST",
	.path = "/v1/runs/{id}/stdin",
	.help = "Write to the stdin of a run that was started with \"stdin\":\"live\"",
	.params = stdin_params,
	.param_count = ARRAY_LEN(stdin_params),
	.args_size = sizeof(struct run_args),
	.answer = "Taken",
	.call = call_stdin,
};
