// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include <sys/stat.h>

#include "base/json.h"
#include "op/op_look.h"

#define FILES_MAX 10000U
#define WRITE_MS 60000U

struct files_args {
	const char *id, *path, *after;
	enum op_bool recursive;
	uint64_t limit;
};

#define PATH_ROW                                                                                   \
	{                                                                                          \
		OP_PARAM(struct files_args, path, .name = "path", .type = OP_TEXT,                 \
			 .in = OP_IN_PATH, .is_required = true,                                    \
			 .help = "the file, relative to /workspace")                               \
	}

static const struct op_param list_params[] = {
	OP_SESSION_ID(struct files_args),
	{OP_PARAM(struct files_args, path, .name = "path", .type = OP_TEXT, .in = OP_IN_QUERY,
		  .help = "a folder, relative to /workspace (default: /workspace)")},
	{OP_PARAM(struct files_args, recursive, .name = "recursive", .type = OP_BOOL,
		  .in = OP_IN_QUERY, .help = "also list what is in its folders (default: false)")},
	{OP_PARAM(struct files_args, after, .name = "after", .type = OP_TEXT, .in = OP_IN_QUERY,
		  .help = "continue after this path: `next` of the previous answer")},
	{OP_PARAM(struct files_args, limit, .name = "limit", .type = OP_COUNT, .in = OP_IN_QUERY,
		  .min = 1, .max = FILES_MAX, .help = "most files in one answer (default: 1000)")},
};

static const struct op_param file_params[] = {
	OP_SESSION_ID(struct files_args),
	PATH_ROW,
};

/* All states of a session share one /workspace: the list shows what is there now, even if a
 * checkpoint answered. */
static void listed(struct op_call *call, const char *json, size_t size,
		   const struct look_state *state)
{
	(void)state;
	op_look_pass(call, json, size, &(struct look_state){0});
}

static void call_list(struct op_call *call)
{
	const struct files_args *args = call->args;
	struct session *session = op_session_find(call, args->id);
	const struct look_ask ask = {0};
	struct object question;

	if (session == NULL)
		return;
	op_look_init(&question, "files");
	if (args->path != NULL)
		object_text(&question, "path", args->path);
	if (args->after != NULL)
		object_text(&question, "after", args->after);
	object_bool(&question, "recursive", args->recursive == OP_YES);
	if (args->limit > 0)
		object_number(&question, "limit", args->limit);
	object_close(&question, '}');
	op_look(call, session, &question, &ask, listed);
}

static void call_read(struct op_call *call)
{
	const struct files_args *args = call->args;
	struct session *session = op_session_find(call, args->id);
	struct object question;

	if (session == NULL)
		return;
	op_look_init(&question, "read");
	object_text(&question, "path", args->path);
	object_close(&question, '}');
	op_look_bytes(call, session, &question, NULL);
}

/* ---- changes: made by the head itself, in order with runs, so that rolling back a run that was
 * going on does not undo them ---- */

static void touch(const struct op_call *call, const char *id)
{
	struct session *session = sessions_find(call->engine->sessions, id);

	if (session != NULL)
		session_touch_files(session);
}

static void written(struct op_call *call, const char *json, size_t size,
		    const struct look_state *state)
{
	const struct files_args *args = call->args;
	struct span file = span_member((struct span){json, size}, "file");
	bool is_new = span_member((struct span){json, size}, "created").at[0] == 't';
	struct err err = {0};
	struct buf body;

	(void)state;
	touch(call, args->id);
	buf_init(&body, size + KIB);
	if (file.size > 0 && buf_append(&body, file.at, file.size) == 0 &&
	    buf_text(&body, "\n") == 0) {
		op_answer(call, is_new ? 201 : 200, &body);
	} else {
		(void)err_set(&err, ERR_CONFLICT, EIO, "the session did not say what it wrote");
		op_fail(call, &err);
	}
	buf_done(&body);
}

static void call_write(struct op_call *call)
{
	const struct files_args *args = call->args;
	struct session *session = op_session_find(call, args->id);
	struct look_ask ask = {.is_in_head = true, .timeout_ms = WRITE_MS};
	struct object question;
	struct err err = {0};
	struct stat status;

	if (session == NULL)
		return;
	if (fstat(call->body, &status) < 0) {
		(void)err_sys(&err, "look at the body");
		op_fail(call, &err);
		return;
	}
	ask.bytes = (struct run_bytes){.fd = call->body, .size = (uint64_t)status.st_size};
	op_look_init(&question, "write");
	object_text(&question, "path", args->path);
	object_close(&question, '}');
	op_look(call, session, &question, &ask, written);
}

static void removed(struct op_call *call, const char *json, size_t size,
		    const struct look_state *state)
{
	const struct files_args *args = call->args;
	struct buf none;

	(void)json;
	(void)size;
	(void)state;
	touch(call, args->id);
	buf_init(&none, 0);
	op_answer(call, 204, &none);
	buf_done(&none);
}

static void call_remove(struct op_call *call)
{
	const struct files_args *args = call->args;
	struct session *session = op_session_find(call, args->id);
	const struct look_ask ask = {.is_in_head = true, .timeout_ms = WRITE_MS};
	struct object question;

	if (session == NULL)
		return;
	op_look_init(&question, "remove");
	object_text(&question, "path", args->path);
	object_close(&question, '}');
	op_look(call, session, &question, &ask, removed);
}

const struct op op_files_list = {
	.name = "files.list",
	.method = "GET",
	.path = "/v1/sessions/{id}/files",
	.help = "The files below /workspace of a session",
	.params = list_params,
	.param_count = ARRAY_LEN(list_params),
	.args_size = sizeof(struct files_args),
	.answer = "Files",
	.call = call_list,
};

const struct op op_files_read = {
	.name = "files.read",
	.method = "GET",
	.path = "/v1/sessions/{id}/files/{path...}",
	.help = "The bytes of a file below /workspace",
	.params = file_params,
	.param_count = ARRAY_LEN(file_params),
	.args_size = sizeof(struct files_args),
	.answer = "Bytes",
	.call = call_read,
};

const struct op op_files_write = {
	.name = "files.write",
	.method = "PUT",
	.path = "/v1/sessions/{id}/files/{path...}",
	.help = "Write a file below /workspace: 201 when it is new, 200 when there was one",
	.params = file_params,
	.param_count = ARRAY_LEN(file_params),
	.args_size = sizeof(struct files_args),
	.answer = "File",
	.also = "200 File",
	.status = 201,
	.is_raw = true,
	.call = call_write,
};

const struct op op_files_remove = {
	.name = "files.delete",
	.method = "DELETE",
	.path = "/v1/sessions/{id}/files/{path...}",
	.help = "Remove a file, or an empty folder, below /workspace",
	.params = file_params,
	.param_count = ARRAY_LEN(file_params),
	.args_size = sizeof(struct files_args),
	.status = 204,
	.call = call_remove,
};
