// SPDX-License-Identifier: Apache-2.0
#include "op/op_conversation.h"

#include <errno.h>
#include <string.h>

#include "op/announce.h"
#include "op/stored.h"
#include "session/session.h"

#define ROW_MAX 4096U
#define BODY_MAX (CONVERSATION_DOCUMENT_MAX + (64U << 10)) /* and the other members */
#define LIST_MAX ((size_t)CONVERSATION_COUNT_MAX * ROW_MAX)

struct conversation_args {
	const char *id;
	const char *name, *session;
	enum op_bool sandbox;
	struct run_bytes document;
	uint64_t version;
};

#define NAME                                                                                       \
	{                                                                                          \
		OP_PARAM(struct conversation_args, name, .name = "name", .type = OP_TEXT,          \
			 .max = CONVERSATION_NAME_MAX, .help = "a name for people")                \
	}
#define SESSION                                                                                    \
	{                                                                                          \
		OP_PARAM(struct conversation_args, session, .name = "session", .type = OP_TEXT,    \
			 .takes_null = true,                                                       \
			 .help = "id of the session that its cells run in; null: none")            \
	}
#define SANDBOX                                                                                    \
	{                                                                                          \
		OP_PARAM(struct conversation_args, sandbox, .name = "sandbox", .type = OP_BOOL,    \
			 .help = "whether its cells can run (default: true)")                      \
	}
#define DOCUMENT                                                                                   \
	{                                                                                          \
		OP_PARAM(struct conversation_args, document, .name = "document", .type = OP_JSON,  \
			 .help = "an object of at most 4 MiB; only its list `cells` is counted")   \
	}

static const struct op_param create_params[] = {NAME, SESSION, SANDBOX, DOCUMENT};

static const struct op_param id_params[] = {OP_CONVERSATION_ID(struct conversation_args)};

static const struct op_param change_params[] = {
	OP_CONVERSATION_ID(struct conversation_args),
	{OP_PARAM(struct conversation_args, version, .name = "version", .type = OP_COUNT,
		  .is_required = true,
		  .help = "the version that is changed: it must be the latest")},
	NAME,
	SESSION,
	SANDBOX,
	DOCUMENT,
};

struct conversation *op_conversation_find(struct op_call *call, const char *id)
{
	struct conversation *conversation =
		conversations_find(call->engine->conversations, call->caller.name, id);
	struct err err = {0};

	if (conversation != NULL)
		return conversation;
	(void)err_set(&err, ERR_NOT_FOUND, ENOENT, "there is no conversation %.60s", id);
	op_fail(call, &err);
	return NULL;
}

/* ---- list, get, delete ---- */

struct listing {
	struct buf body;
	int r;
	const char *joint;
};

static void list_one(void *user, const struct conversation *conversation)
{
	struct listing *listing = user;

	if (listing->r == 0)
		listing->r = buf_text(&listing->body, listing->joint);
	if (listing->r == 0)
		listing->r = conversation_put(conversation, &listing->body);
	listing->joint = "},\n";
}

static void answer_or_fail(struct op_call *call, unsigned status, struct buf *take_body, int r)
{
	struct err err = {0};

	if (r == 0) {
		op_answer(call, status, take_body);
	} else {
		(void)err_set(&err, ERR_INTERNAL, -r, "no memory for the answer");
		op_fail(call, &err);
	}
	buf_done(take_body);
}

static void call_list(struct op_call *call)
{
	struct listing listing = {.joint = ""};

	buf_init(&listing.body, LIST_MAX);
	listing.r = buf_text(&listing.body, "{\"conversations\":[");
	conversations_each(call->engine->conversations, call->caller.name, list_one, &listing);
	if (listing.r == 0)
		listing.r = buf_text(&listing.body, listing.joint[0] != '\0' ? "}]}\n" : "]}\n");
	answer_or_fail(call, 200, &listing.body, listing.r);
}

/* Answers with the conversation as it is now, with its document. */
static void answer_whole(struct op_call *call, const struct conversation *conversation)
{
	struct err err = {0};
	uint64_t size = 0;
	struct buf head;
	int fd = -1;
	int r = conversation_open(conversation, &fd, &size, &err);

	if (r < 0) {
		op_fail(call, &err);
		return;
	}
	buf_init(&head, ROW_MAX);
	r = conversation_put(conversation, &head);
	if (r == 0)
		r = buf_text(&head, ",\"document\":");
	if (r < 0) {
		drop_fd(&fd);
		answer_or_fail(call, 0, &head, r);
		return;
	}
	stored_answer(call, &head, &fd, size, "}\n");
}

static void call_get(struct op_call *call)
{
	const struct conversation_args *args = call->args;
	const struct conversation *conversation = op_conversation_find(call, args->id);

	if (conversation != NULL)
		answer_whole(call, conversation);
}

static void announce(const struct op_call *call, const struct conversation *conversation)
{
	announce_conversation(call->engine, call->caller.name, conversation_id(conversation),
			      conversation_version(conversation));
}

struct others {
	const char *session;
	bool is_used;
};

static void look_at_session(void *user, const struct conversation *conversation)
{
	struct others *others = user;

	others->is_used |= strcmp(conversation_session(conversation), others->session) == 0;
}

/* A kept session ends with the last conversation that uses it. */
static void end_kept(const struct op_call *call, const char *id)
{
	struct session *session = sessions_find(call->engine->sessions, id);
	struct others others = {.session = id};

	if (session == NULL || !session_is_kept(session) ||
	    strcmp(session_token(session), call->caller.name) != 0)
		return;
	conversations_each(call->engine->conversations, call->caller.name, look_at_session,
			   &others);
	if (!others.is_used)
		session_close(session);
}

static void call_delete(struct op_call *call)
{
	const struct conversation_args *args = call->args;
	struct conversation *conversation = op_conversation_find(call, args->id);
	char session[ID_SIZE];
	struct err err = {0};
	struct buf none;

	if (conversation == NULL)
		return;
	(void)snprintf(session, sizeof(session), "%s", conversation_session(conversation));
	if (conversation_remove(conversation, &err) < 0) {
		op_fail(call, &err);
		return;
	}
	end_kept(call, session);
	announce_conversation_gone(call->engine, call->caller.name, args->id);
	buf_init(&none, 0);
	op_answer(call, 204, &none);
	buf_done(&none);
}

/* ---- create, change ---- */

/* Reads what the arguments change. The caller closes the view. */
static int read_change(const struct conversation_args *args, bool *has_sandbox,
		       struct stored_view *ret_view, struct conversation_change *ret_change,
		       struct err *err)
{
	int r = stored_open(&args->document, CONVERSATION_DOCUMENT_MAX, ret_view, err);

	if (r < 0)
		return err_blame(err, "document");
	*has_sandbox = args->sandbox == OP_YES;
	*ret_change = (struct conversation_change){
		.name = args->name,
		.session = args->session,
		.has_sandbox = args->sandbox != OP_UNSET ? has_sandbox : NULL,
		.document = ret_view->size > 0 ? ret_view->data : NULL,
		.size = ret_view->size,
	};
	return 0;
}

static void call_create(struct op_call *call)
{
	struct conversation *conversation = NULL;
	struct conversation_change change = {0};
	struct stored_view view = {0};
	bool has_sandbox = true;
	struct err err = {0};
	int r = read_change(call->args, &has_sandbox, &view, &change, &err);

	if (r == 0)
		r = conversation_new(call->engine->conversations, call->caller.name, &change,
				     &conversation, &err);
	stored_close(&view);
	if (r < 0) {
		op_fail(call, &err);
		return;
	}
	announce(call, conversation);
	answer_whole(call, conversation);
}

static void call_change(struct op_call *call)
{
	const struct conversation_args *args = call->args;
	struct conversation *conversation = op_conversation_find(call, args->id);
	struct conversation_change change = {0};
	struct stored_view view = {0};
	bool has_sandbox = true;
	struct err err = {0};
	struct buf body;
	int r;

	if (conversation == NULL)
		return;
	r = read_change(args, &has_sandbox, &view, &change, &err);
	if (r == 0)
		r = conversation_change(conversation, args->version, &change, &err);
	stored_close(&view);
	if (r < 0) {
		op_fail(call, &err);
		return;
	}
	announce(call, conversation);
	buf_init(&body, ROW_MAX);
	r = conversation_put(conversation, &body);
	if (r == 0)
		r = buf_text(&body, "}\n");
	answer_or_fail(call, 200, &body, r);
}

const struct op op_conversation_list = {
	.name = "conversation.list",
	.method = "GET",
	.path = "/v1/conversations",
	.help = "The caller's conversations without documents, the most recently changed first",
	.answer = "Conversations",
	.call = call_list,
};

const struct op op_conversation_create = {
	.name = "conversation.create",
	.method = "POST",
	.path = "/v1/conversations",
	.help = "Keep a conversation: its cells and notes outlive their session",
	.params = create_params,
	.param_count = ARRAY_LEN(create_params),
	.args_size = sizeof(struct conversation_args),
	.answer = "Conversation",
	.status = 201,
	.body_max = BODY_MAX,
	.call = call_create,
};

const struct op op_conversation_get = {
	.name = "conversation.get",
	.method = "GET",
	.path = "/v1/conversations/{id}",
	.help = "One conversation, with its document as it was sent",
	.params = id_params,
	.param_count = ARRAY_LEN(id_params),
	.args_size = sizeof(struct conversation_args),
	.answer = "Conversation",
	.call = call_get,
};

const struct op op_conversation_change = {
	.name = "conversation.change",
	.method = "PUT",
	.path = "/v1/conversations/{id}",
	.help = "Write the next version of a conversation; 409 when `version` is not the latest",
	.params = change_params,
	.param_count = ARRAY_LEN(change_params),
	.args_size = sizeof(struct conversation_args),
	.answer = "Conversation",
	.body_max = BODY_MAX,
	.call = call_change,
};

const struct op op_conversation_delete = {
	.name = "conversation.delete",
	.method = "DELETE",
	.path = "/v1/conversations/{id}",
	.help = "Delete a conversation and the output of its cells; a session that is kept ends "
		"with its last conversation, any other goes on",
	.params = id_params,
	.param_count = ARRAY_LEN(id_params),
	.args_size = sizeof(struct conversation_args),
	.status = 204,
	.call = call_delete,
};
