// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/stat.h>

#include "base/json.h"
#include "obs/audit.h"
#include "op/op_look.h"
#include "op/op_text.h"
#include "session/log.h"

#define EXPORT_TYPE "application/vnd.vivarium.session"
#define NOTEBOOK_TYPE "application/x-ipynb+json"

struct export_args {
	const char *id;
};

static const struct op_param export_params[] = {OP_SESSION_ID(struct export_args)};

/* ---- export ---- */

static void call_export(struct op_call *call)
{
	const struct export_args *args = call->args;
	struct session *session = op_session_find(call, args->id);
	struct object question;

	if (session == NULL)
		return;
	(void)snprintf(call->filename, sizeof(call->filename), "%s.vivarium", session_id(session));
	op_look_init(&question, "export");
	object_close(&question, '}');
	op_look_bytes(call, session, &question, EXPORT_TYPE);
}

/* ---- notebook ---- */

static void call_notebook(struct op_call *call)
{
	const struct export_args *args = call->args;
	const struct session *session = op_session_find(call, args->id);
	struct log_text *book = NULL;
	const char *name = NULL;
	const char *origin = NULL;
	const char *run = NULL;

	if (session == NULL)
		return;
	name = session_name(session);
	(void)snprintf(call->filename, sizeof(call->filename), "%s.ipynb", session_id(session));
	call->is_foreign = true;
	book = logs_notebook_open(call->engine->logs, session_id(session),
				  name[0] != '\0' ? name : NULL);
	for (uint32_t i = 0; session_origin(session, i, &origin, &run); i++)
		log_notebook_inherit(book, origin, run);
	op_text(call, NOTEBOOK_TYPE, book);
}

/* ---- import ---- */

/* The bytes are hostile: they are read in the new session's sandbox, and nowhere else. */
struct import {
	struct op_call *call;  /* borrowed until answered */
	char session[ID_SIZE]; /* the new session; closed if the import fails */
	struct buf answer;
};

/* An import runs what is in the bytes, so it gets a line in the audit log, as a run does. */
static void write_down(const struct import *import, const struct session *session,
		       const struct err *why)
{
	const struct op_call *call = import->call;
	const struct audit_run line = {
		.session = import->session,
		.token = call->caller.name,
		.peer = call->caller.peer,
		.op = call->op->name,
		.policy = session != NULL ? session_policy(session)->name : NULL,
		.runtime = session != NULL ? session_kind(session)->runtime->name : NULL,
		.verdict = why == NULL ? "ok" : err_kind_name(why->kind),
		.exit_code = why == NULL ? 0 : 1,
		.state = why == NULL ? "preserved" : "lost",
	};

	if (call->engine->audit != NULL)
		audit_put(call->engine->audit, &line);
}

static void end_import(struct import *import, struct buf *body, const struct err *why)
{
	struct op_call *call = import->call;
	struct session *session = sessions_find(call->engine->sessions, import->session);

	write_down(import, session, why);
	if (why != NULL && session != NULL)
		session_close(session);
	buf_done(&import->answer);
	free(import);
	if (why != NULL)
		op_fail(call, why);
	else
		op_answer(call, 201, body);
}

static void take_answer(void *user, const char *json, size_t size)
{
	struct import *import = user;

	buf_consume(&import->answer, import->answer.size);
	(void)buf_append(&import->answer, json, size);
}

static int put_list(struct buf *body, const struct buf *answer, const char *name)
{
	const char *value = "[]";
	size_t size = 2;
	int r;

	if (!json_find(answer->data, answer->size, name, &value, &size) || value[0] != '[') {
		value = "[]";
		size = 2;
	}
	r = buf_format(body, ",\"%s\":", name);
	return r < 0 ? r : buf_append(body, value, size);
}

/* The session object, with the names that were imported and those that were lost. */
static int put_imported(const struct import *import, const struct session *session,
			struct buf *body)
{
	int r = session_put(session, body);

	if (r < 0)
		return r;
	while (body->size > 0 && body->data[body->size - 1] != '}')
		body->size--;
	body->size -= body->size > 0;
	r = put_list(body, &import->answer, "names");
	if (r == 0)
		r = put_list(body, &import->answer, "lost");
	return r < 0 ? r : buf_text(body, "}\n");
}

static void imported(void *user, const struct look_state *state, const struct err *why)
{
	struct import *import = user;
	struct op_call *call = import->call;
	const struct session *session = sessions_find(call->engine->sessions, import->session);
	struct err err = {0};
	struct buf body;

	(void)state;
	buf_init(&body, SESSION_ANSWER_MAX + import->answer.size);
	if (why != NULL)
		err = *why;
	else if (session == NULL || import->answer.size == 0)
		(void)err_set(&err, ERR_CONFLICT, EIO, "the session ended while it was filled");
	else if (!op_look_failed((const char *)import->answer.data, import->answer.size, &err) &&
		 put_imported(import, session, &body) < 0)
		(void)err_set(&err, ERR_INTERNAL, ENOMEM, "no memory for the answer");
	end_import(import, &body, err.kind != ERR_NONE ? &err : NULL);
	buf_done(&body);
}

static int ask_import(struct import *import, struct session *session, struct err *err)
{
	static const struct look_calls calls = {.answer = take_answer, .done = imported};
	struct look_ask ask = {
		.json = "{\"kind\":\"import\"}",
		.is_in_head = true,
		.timeout_ms = (uint32_t)session_policy(session)->timeout_max_ms,
	};
	struct stat status;

	if (fstat(import->call->body, &status) < 0)
		return err_sys(err, "look at the body");
	ask.bytes = (struct run_bytes){.fd = import->call->body, .size = (uint64_t)status.st_size};
	return session_look(session, &ask, &calls, import, NULL, err);
}

static void created(void *user, struct session *session, const struct err *why)
{
	struct op_call *call = user;
	struct import *import = NULL;
	struct err err = {0};

	if (why != NULL) {
		op_fail(call, why);
		return;
	}
	import = xnew(struct import);
	import->call = call;
	(void)snprintf(import->session, sizeof(import->session), "%s", session_id(session));
	buf_init(&import->answer, SESSION_ANSWER_MAX * 16UL);
	if (ask_import(import, session, &err) < 0)
		end_import(import, NULL, &err);
}

/* Loading a pickle runs code that nobody can read beforehand. */
static void call_import(struct op_call *call)
{
	const struct op_create_args *args = call->args;
	const struct policy *policy = NULL;
	struct err err = {0};

	policy = op_policy(call->engine->config, &call->caller, args->policy, &err);
	if (policy != NULL && policy->approve) {
		(void)err_field(&err, ERR_FORBIDDEN, EPERM, "policy",
				"under %s a person allows what runs, but nobody can read what "
				"an exported session would do; run code in a new session instead",
				policy->name);
		op_fail(call, &err);
		return;
	}
	op_session_make(call, args, created);
}

const struct op op_export = {
	.name = "session.export",
	.method = "GET",
	.path = "/v1/sessions/{id}/export",
	.help = "Variables that can be pickled, files, and the names of what is left out, as bytes",
	.params = export_params,
	.param_count = ARRAY_LEN(export_params),
	.args_size = sizeof(struct export_args),
	.answer = "Exported",
	.call = call_export,
};

const struct op op_notebook = {
	.name = "session.notebook",
	.method = "GET",
	.path = "/v1/sessions/{id}/export.ipynb",
	.help = "The runs of a session, for a branch also those that it inherits, and what they "
		"showed, as a Jupyter notebook",
	.params = export_params,
	.param_count = ARRAY_LEN(export_params),
	.args_size = sizeof(struct export_args),
	.answer = "Notebook",
	.call = call_notebook,
};

const struct op op_import = {
	.name = "session.import",
	.method = "POST",
	.path = "/v1/sessions/import",
	.help = "Make a session from an exported one; `lost` names what was not restored",
	.params = op_import_params,
	.param_count = OP_CREATE_PARAMS,
	.args_size = sizeof(struct op_create_args),
	.answer = "Imported",
	.status = 201,
	.is_raw = true,
	.call = call_import,
};
