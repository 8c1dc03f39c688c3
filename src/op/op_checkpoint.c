// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "op/op_session.h"
#include "session/admission.h"

#define FORK_MAX 16U

struct checkpoint_args {
	const char *id;
	const char *name;
	const char *checkpoint;
	const char *policy, *runtime;
	uint64_t n;
};

static const struct op_param id_params[] = {OP_SESSION_ID(struct checkpoint_args)};

static const struct op_param make_params[] = {
	OP_SESSION_ID(struct checkpoint_args),
	{OP_PARAM(struct checkpoint_args, name, .name = "name", .type = OP_TEXT,
		  .help = "a name; named checkpoints are never dropped automatically. If another "
			  "checkpoint has this name, it loses it, and `name_was` says which one")},
};

static const struct op_param rollback_params[] = {
	OP_SESSION_ID(struct checkpoint_args),
	{OP_PARAM(struct checkpoint_args, checkpoint, .name = "checkpoint", .type = OP_TEXT,
		  .is_required = true, .help = "id or name of the checkpoint to go back to")},
};

static const struct op_param restart_params[] = {
	OP_SESSION_ID(struct checkpoint_args),
	{OP_PARAM(struct checkpoint_args, policy, .name = "policy", .type = OP_TEXT,
		  .help = "another policy from now on (default: the one it has)")},
	{OP_PARAM(struct checkpoint_args, runtime, .name = "runtime", .type = OP_TEXT,
		  .help = "another Python environment from now on (default: the one it has)")},
};

static const struct op_param drop_params[] = {
	OP_SESSION_ID(struct checkpoint_args),
	{OP_PARAM(struct checkpoint_args, checkpoint, .name = "checkpoint", .type = OP_TEXT,
		  .in = OP_IN_PATH, .is_required = true, .help = "id or name of the checkpoint")},
};

static const struct op_param fork_params[] = {
	OP_SESSION_ID(struct checkpoint_args),
	{OP_PARAM(struct checkpoint_args, n, .name = "n", .type = OP_COUNT, .min = 1,
		  .max = FORK_MAX, .help = "how many branches (default: 1)")},
	{OP_PARAM(struct checkpoint_args, checkpoint, .name = "checkpoint", .type = OP_TEXT,
		  .help = "id or name of the checkpoint to go on from (default: the session as "
			  "it is)")},
};

static void call_list(struct op_call *call)
{
	const struct checkpoint_args *args = call->args;
	const struct session *session = op_session_find(call, args->id);
	struct buf body;

	if (session == NULL)
		return;
	buf_init(&body, SESSION_ANSWER_MAX);
	(void)session_put_checkpoints(session, &body);
	op_answer(call, 200, &body);
	buf_done(&body);
}

static void made(void *user, const char *checkpoint, const struct err *why)
{
	struct op_call *call = user;
	const struct checkpoint_args *args = call->args;
	const struct session *session = NULL;
	struct buf body;

	if (why != NULL) {
		op_fail(call, why);
		return;
	}
	session = op_session_find(call, args->id);
	if (session == NULL)
		return;
	buf_init(&body, SESSION_ANSWER_MAX);
	(void)session_put_checkpoint(session, checkpoint, &body);
	op_answer(call, 201, &body);
	buf_done(&body);
}

static void call_make(struct op_call *call)
{
	const struct checkpoint_args *args = call->args;
	struct session *session = op_session_find(call, args->id);
	struct err err = {0};
	int r = 0;

	if (session == NULL)
		return;
	if (args->name != NULL && (args->name[0] == '\0' || strlen(args->name) > SESSION_NAME_MAX))
		r = err_field(&err, ERR_BAD_REQUEST, EINVAL, "name", "1 to %d bytes",
			      SESSION_NAME_MAX);
	if (r == 0)
		r = session_checkpoint(session, args->name, made, call, &err);
	if (r < 0)
		op_fail(call, &err);
}

static void rolled_back(void *user, const char *checkpoint, const struct err *why)
{
	struct op_call *call = user;
	const struct checkpoint_args *args = call->args;

	(void)checkpoint;
	op_session_done(call, args->id, why);
}

static void call_rollback(struct op_call *call)
{
	const struct checkpoint_args *args = call->args;
	struct session *session = op_session_find(call, args->id);
	struct err err = {0};

	if (session != NULL &&
	    session_rollback(session, args->checkpoint, rolled_back, call, &err) < 0)
		op_fail(call, &err);
}

/* The session object, with the state that it was woken from. */
static void woken_up(void *user, const char *checkpoint, const struct err *why)
{
	struct op_call *call = user;
	const struct checkpoint_args *args = call->args;
	const struct session *session = why == NULL ? op_session_find(call, args->id) : NULL;
	struct buf body;

	(void)checkpoint;
	if (why != NULL)
		op_fail(call, why);
	if (session == NULL)
		return;
	buf_init(&body, SESSION_ANSWER_MAX);
	if (session_put(session, &body) == 0) {
		body.size--; /* the bracket */
		session_put_woken(session, &body);
		(void)buf_text(&body, "}\n");
	}
	op_answer(call, 200, &body);
	buf_done(&body);
}

static void call_wake(struct op_call *call)
{
	const struct checkpoint_args *args = call->args;
	struct session *session = op_session_find(call, args->id);
	struct err err = {0};

	if (session != NULL && session_wake_up(session, woken_up, call, &err) < 0)
		op_fail(call, &err);
}

static void call_restart(struct op_call *call)
{
	const struct checkpoint_args *args = call->args;
	struct session *session = op_session_find(call, args->id);
	bool is_other = args->policy != NULL || args->runtime != NULL;
	struct session_change change = {0};
	const struct backend *pin = session != NULL ? session_pin(session) : NULL;
	struct op_create_args asked = {.policy = args->policy,
				       .runtime = args->runtime,
				       .backend = pin != NULL ? pin->name : NULL};
	struct err err = {0};
	int r = 0;

	if (session == NULL)
		return;
	if (asked.policy == NULL)
		asked.policy = session_policy(session)->name;
	if (asked.runtime == NULL)
		asked.runtime = session_kind(session)->runtime->name;
	if (is_other)
		r = op_session_choose(call, &asked, &change, &err);
	if (r == 0)
		r = session_restart(session, is_other ? &change : NULL, rolled_back, call, &err);
	if (r < 0)
		op_fail(call, &err);
}

static void call_drop(struct op_call *call)
{
	const struct checkpoint_args *args = call->args;
	struct session *session = op_session_find(call, args->id);
	struct err err = {0};
	struct buf none;

	if (session == NULL)
		return;
	if (session_drop_checkpoint(session, args->checkpoint, &err) < 0) {
		op_fail(call, &err);
		return;
	}
	buf_init(&none, 0);
	op_answer(call, 204, &none);
	buf_done(&none);
}

/* ---- fork ---- */

struct branching {
	uint32_t left;  /* branches still to come */
	uint32_t count; /* those that exist */
	char made[FORK_MAX][ID_SIZE];
	struct buf body;
};

/* The caller gets all branches or none. */
static void close_branches(const struct op_call *call, const struct branching *branching)
{
	for (uint32_t i = 0; i < branching->count; i++) {
		struct session *branch = sessions_find(call->engine->sessions, branching->made[i]);

		if (branch != NULL)
			session_close(branch);
	}
}

static void end_branching(struct op_call *call, const struct err *why)
{
	struct branching *branching = STEAL(call->state);

	if (why == NULL && buf_text(&branching->body, "],\"files\":\"shared\"}") == 0) {
		op_answer(call, 201, &branching->body);
	} else {
		struct err err = {.kind = ERR_INTERNAL, .num = ENOMEM, .text = "no memory"};

		close_branches(call, branching);
		op_fail(call, why != NULL ? why : &err);
	}
	buf_done(&branching->body);
	free(branching);
}

static void branched(void *user, struct session *branch, const struct err *why)
{
	struct op_call *call = user;
	const struct checkpoint_args *args = call->args;
	struct branching *branching = call->state;
	struct session *session = NULL;
	struct err err = {0};

	if (why != NULL) {
		end_branching(call, why);
		return;
	}
	if (branching->count > 0)
		(void)buf_text(&branching->body, ",");
	(void)session_put(branch, &branching->body);
	(void)snprintf(branching->made[branching->count++], ID_SIZE, "%s", session_id(branch));
	branching->left--;
	if (branching->left == 0) {
		end_branching(call, NULL);
		return;
	}
	session = sessions_find(call->engine->sessions, args->id);
	if (session == NULL)
		(void)err_set(&err, ERR_NOT_FOUND, ESRCH, "the session ended");
	if (session == NULL ||
	    session_fork(session, args->checkpoint, branching->left, branched, call, &err) < 0)
		end_branching(call, &err);
}

/* Is there room for all branches? Each one counts as a session only once it exists, so the places
 * are taken to find out, and given back. */
static bool has_room(const struct op_call *call, uint64_t count, struct admission_refusal *refusal)
{
	struct admission *admission = call->engine->admission;
	uint64_t taken = 0;

	while (taken < count &&
	       admission_session(admission, call->caller.token, now_ns(), refusal) == 0)
		taken++;
	for (uint64_t i = 0; i < taken; i++)
		admission_session_leave(admission, call->caller.token);
	return taken == count;
}

static void call_fork(struct op_call *call)
{
	const struct checkpoint_args *args = call->args;
	struct session *session = op_session_find(call, args->id);
	struct admission_refusal refusal = {0};
	struct branching *branching = NULL;
	struct err err = {0};

	if (session == NULL)
		return;
	if (!has_room(call, args->n > 0 ? args->n : 1, &refusal)) {
		call->retry_after_s = refusal.retry_after_s;
		op_fail(call, &refusal.err);
		return;
	}
	branching = xnew(struct branching);
	branching->left = args->n > 0 ? (uint32_t)args->n : 1;
	buf_init(&branching->body, SESSION_ANSWER_MAX);
	(void)buf_text(&branching->body, "{\"sessions\":[");
	call->state = branching;
	if (session_fork(session, args->checkpoint, branching->left, branched, call, &err) < 0)
		end_branching(call, &err);
}

const struct op op_checkpoint_list = {
	.name = "checkpoint.list",
	.method = "GET",
	.path = "/v1/sessions/{id}/checkpoints",
	.help = "The states that a session can go back to: live ones, and portable ones on disk",
	.params = id_params,
	.param_count = ARRAY_LEN(id_params),
	.args_size = sizeof(struct checkpoint_args),
	.answer = "Checkpoints",
	.call = call_list,
};

const struct op op_checkpoint_make = {
	.name = "checkpoint.create",
	.method = "POST",
	.path = "/v1/sessions/{id}/checkpoints",
	.help = "Keep the state as it is now; 409 says what blocks it",
	.params = make_params,
	.param_count = ARRAY_LEN(make_params),
	.args_size = sizeof(struct checkpoint_args),
	.answer = "Checkpoint",
	.status = 201,
	.call = call_make,
};

const struct op op_checkpoint_drop = {
	.name = "checkpoint.delete",
	.method = "DELETE",
	.path = "/v1/sessions/{id}/checkpoints/{checkpoint}",
	.help = "Forget a checkpoint and give its memory back",
	.params = drop_params,
	.param_count = ARRAY_LEN(drop_params),
	.args_size = sizeof(struct checkpoint_args),
	.status = 204,
	.call = call_drop,
};

const struct op op_rollback = {
	.name = "session.rollback",
	.method = "POST",
	.path = "/v1/sessions/{id}/rollback",
	.help = "Go back to a checkpoint: variables and files are what they were; `files` tells "
		"if the files stay as they are",
	.params = rollback_params,
	.param_count = ARRAY_LEN(rollback_params),
	.args_size = sizeof(struct checkpoint_args),
	.answer = "Session",
	.call = call_rollback,
};

const struct op op_session_wake = {
	.name = "session.wake",
	.method = "POST",
	.path = "/v1/sessions/{id}/wake",
	.help = "Wake a session that is asleep: its last state on disk is restored",
	.params = id_params,
	.param_count = ARRAY_LEN(id_params),
	.args_size = sizeof(struct checkpoint_args),
	.answer = "Session",
	.call = call_wake,
};

const struct op op_session_restart = {
	.name = "session.restart",
	.method = "POST",
	.path = "/v1/sessions/{id}/restart",
	.help = "Start a new interpreter: the variables are lost, and the files unless the session "
		"is kept",
	.params = restart_params,
	.param_count = ARRAY_LEN(restart_params),
	.args_size = sizeof(struct checkpoint_args),
	.answer = "Session",
	.call = call_restart,
};

const struct op op_fork = {
	.name = "session.fork",
	.method = "POST",
	.path = "/v1/sessions/{id}/fork",
	.help = "Make branches: sessions that go on side by side from here or from a checkpoint",
	.params = fork_params,
	.param_count = ARRAY_LEN(fork_params),
	.args_size = sizeof(struct checkpoint_args),
	.answer = "Sessions",
	.status = 201,
	.call = call_fork,
};
