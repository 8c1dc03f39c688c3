// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "api/exchange.h"
#include "base/c.h"
#include "base/json.h"
#include "mcp/mcp_inside.h"
#include "session/engine.h"

#define NO_SESSION (-32001) /* the code that the 2025 era's reference servers use */
#define SESSION_HEADER "Mcp-Session-Id"
#define VERSION_HEADER "MCP-Protocol-Version"
#define TOO_MANY "too many requests are under way; try again later"

/* ---- answers before there is a request ---- */

static void refuse_as(struct exchange *call, unsigned status, const char *id, int code,
		      const char *message)
{
	AUTO_BUF struct buf json = {.max = 4 * KIB};

	mcp_put_error(&json, id, (enum mcp_code)code, message, NULL);
	exchange_answer(call, status, &json);
}

static void refuse(struct exchange *call, unsigned status, const struct err *err)
{
	refuse_as(call, status, "", status >= 500 ? MCP_INTERNAL : MCP_INVALID_REQUEST, err->text);
}

static void accept_only(struct exchange *call)
{
	AUTO_BUF struct buf nothing = {.max = 1};

	exchange_answer(call, 202, &nothing);
}

/* ---- requests ---- */

static struct mcp_request *request_new(struct mcp *mcp, const struct op_caller *caller)
{
	struct mcp_request *request = xnew(struct mcp_request);

	request->mcp = mcp;
	request->name = xstrdup(caller->name);
	request->peer = xstrdup(caller->peer);
	request->caller = *caller;
	request->caller.name = request->name;
	request->caller.peer = request->peer;
	buf_init(&request->bytes, MCP_MESSAGE_MAX);
	return request;
}

/* From here on the request is answered by its stream. */
static void begin(struct exchange *call, struct mcp_request *request)
{
	struct mcp *mcp = request->mcp;
	struct mcp_stream *stream = mcp_stream_new(mcp, request->session);

	mcp_take_client(request);
	LIST_INSERT_HEAD(&mcp->requests, request, entry);
	mcp->request_count++;
	if (request->session != NULL)
		request->session->busy++;
	request->stream = stream;
	stream->request = request;
	mcp_wire_join(call, stream);
}

/* ---- the 2026 era ---- */

static void refuse_version(struct mcp_request *request, const char *asked)
{
	AUTO_BUF struct buf data = {.max = 4 * KIB};

	(void)buf_text(&data, "{\"supported\":");
	(void)mcp_put_versions(&data);
	json_put(&data, ",'requested':%.*s}", (int)strnlen(asked, 64), asked);
	mcp_refuse(request, 400, MCP_NO_VERSION, buf_string(&data), "Unsupported protocol version");
}

/* Checks a header that must match the body. False: refused, and answered. */
static bool check_header(struct mcp_request *request, const struct exchange *call, const char *name,
			 const char *text)
{
	const char *header = exchange_header(call, name);

	if (text == NULL || mcp_header_is(header, text))
		return true;
	mcp_refuse(request, 400, MCP_HEADER_MISMATCH, NULL,
		   header != NULL ? "the header %s does not match the body"
				  : "the header %s is missing; it must match the body",
		   name);
	return false;
}

/* The argument session_id and its header must both be present, and equal, or both absent. */
static bool check_routed(struct mcp_request *request, const struct exchange *call)
{
	static const char name[] = "Mcp-Param-Session-Id";
	const char *tool = mcp_text(request->message.params, "name");
	const struct mcp_view *view = tool != NULL ? mcp_view_find(request->mcp, tool) : NULL;
	const char *header = exchange_header(call, name);
	const char *value = NULL;
	size_t size = 0;
	bool is_given;

	if (strcmp(request->method->name, "tools/call") != 0 || view == NULL ||
	    param_find(&view->op, OP_IN_BODY, "session_id") == NULL)
		return true;
	is_given = request->message.arguments != NULL && request->message.arguments[0] == '{' &&
		   json_find(request->message.arguments, request->message.arguments_size,
			     "session_id", &value, &size) &&
		   value[0] != 'n';
	if (is_given ? header != NULL && mcp_header_is_json(header, value, size) : header == NULL)
		return true;
	mcp_refuse(request, 400, MCP_HEADER_MISMATCH, NULL,
		   "the header %s and the argument session_id must be given together, and be equal",
		   name);
	return false;
}

/* Checks what every request of this era must have. False: refused, and answered. */
static bool check_modern(struct mcp_request *request, const struct exchange *call)
{
	const struct mcp_message *message = &request->message;
	const char *version = mcp_text(message->meta, MCP_META "protocolVersion");
	const struct mcp_method *method = mcp_method_find(message->method, true);

	if (version == NULL ||
	    !json_is_object(json_object_get(message->meta, MCP_META "clientCapabilities"))) {
		mcp_refuse(request, 400, MCP_INVALID_PARAMS, NULL,
			   "_meta: must have " MCP_META "protocolVersion, a text, and " MCP_META
			   "clientCapabilities, an object");
		return false;
	}
	if (!check_header(request, call, VERSION_HEADER, version))
		return false;
	if (strcmp(version, MCP_NEWEST) != 0) {
		refuse_version(request, version);
		return false;
	}
	if (!check_header(request, call, "Mcp-Method", message->method))
		return false;
	if (method == NULL) {
		mcp_refuse(request, 404, MCP_NO_METHOD, NULL, "Method not found: %.64s",
			   message->method);
		return false;
	}
	request->method = method;
	if (method->name_param != NULL &&
	    !check_header(request, call, "Mcp-Name", mcp_text(message->params, method->name_param)))
		return false;
	return check_routed(request, call);
}

static void take_modern(struct exchange *call, struct mcp_request *request)
{
	request->is_modern = true;
	if (request->message.method == NULL) {
		mcp_request_free(request);
		refuse_as(call, 400, "", MCP_INVALID_REQUEST,
			  "this is an answer, but the server has asked the client nothing");
		return;
	}
	/* Notifications need no answer; a client cancels by closing the stream. */
	if (request->message.id[0] == '\0') {
		mcp_request_free(request);
		accept_only(call);
		return;
	}
	begin(call, request);
	if (check_modern(request, call))
		request->method->call(request);
}

/* ---- the 2025 era ---- */

/* The session that the header names. NULL: there is none, and the call was answered. */
static struct mcp_session *find_session(struct exchange *call, struct mcp *mcp, const char *id)
{
	const char *header = exchange_header(call, SESSION_HEADER);
	struct mcp_session *session;

	if (header == NULL) {
		refuse_as(call, 400, id, MCP_INVALID_REQUEST,
			  "the header " SESSION_HEADER
			  " is missing; the answer to initialize has it");
		return NULL;
	}
	session = mcp_session_find(mcp, header, &call->caller);
	if (session == NULL)
		refuse_as(call, 404, id, NO_SESSION,
			  "there is no such session, or it has ended; initialize begins a new one");
	return session;
}

static void take_initialize(struct exchange *call, struct mcp_request *request)
{
	const char *version = mcp_text(request->message.params, "protocolVersion");
	struct err err = {0};

	if (request->message.id[0] == '\0' || version == NULL) {
		refuse_as(call, 400, request->message.id, MCP_INVALID_PARAMS,
			  "initialize: needs an id and params.protocolVersion, a text");
		mcp_request_free(request);
		return;
	}
	if (json_dumpb(json_object_get(request->message.params, "capabilities"), NULL, 0,
		       JSON_COMPACT | JSON_ENCODE_ANY) > MCP_CAPABILITIES_MAX) {
		refuse_as(call, 400, request->message.id, MCP_INVALID_PARAMS,
			  "capabilities: are too large");
		mcp_request_free(request);
		return;
	}
	request->session = mcp_session_new(request->mcp, &call->caller, &err);
	if (request->session == NULL) {
		refuse_as(call, 503, request->message.id, MCP_INTERNAL, err.text);
		mcp_request_free(request);
		return;
	}
	if (mcp_legacy_version(version) != NULL)
		request->session->version = mcp_legacy_version(version);
	exchange_set_header(call, SESSION_HEADER, request->session->id);
	request->method = mcp_method_find("initialize", false);
	begin(call, request);
	request->method->call(request);
}

/* Only notifications/cancelled has an effect here. */
static void take_notification(struct mcp_session *session, const struct mcp_message *message)
{
	json_t *id = json_object_get(message->params, "requestId");
	struct mcp_request *request;
	AUTO_FREE char *text = NULL;

	if (strcmp(message->method, "notifications/cancelled") != 0 ||
	    (!json_is_string(id) && !json_is_number(id)))
		return;
	text = json_dumps(id, JSON_ENCODE_ANY);
	request = text != NULL ? mcp_request_find(session, text) : NULL;
	if (request != NULL && strcmp(request->message.method, "initialize") != 0)
		mcp_request_drop(request);
}

static void take_legacy_request(struct exchange *call, struct mcp_request *request)
{
	if (mcp_request_find(request->session, request->message.id) != NULL) {
		refuse_as(call, 400, request->message.id, MCP_INVALID_REQUEST,
			  "id: a request with this id is under way in this session");
		mcp_request_free(request);
		return;
	}
	begin(call, request);
	request->method = mcp_method_find(request->message.method, false);
	if (request->method == NULL)
		mcp_refuse(request, 0, MCP_NO_METHOD, NULL, "Method not found: %.64s",
			   request->message.method);
	else
		request->method->call(request);
}

static void take_legacy(struct exchange *call, struct mcp_request *request)
{
	const struct mcp_message *message = &request->message;

	if (message->method != NULL && strcmp(message->method, "initialize") == 0) {
		take_initialize(call, request);
		return;
	}
	request->session = find_session(call, request->mcp, message->id);
	if (request->session == NULL) {
		mcp_request_free(request);
	} else if (message->method != NULL && message->id[0] != '\0') {
		take_legacy_request(call, request);
	} else {
		accept_only(call);
		if (message->method != NULL)
			take_notification(request->session, message);
		else if (mcp_extra != NULL)
			mcp_extra->answered(request->session, message);
		mcp_request_free(request);
	}
}

/* ---- POST ---- */

static bool is_modern(const struct exchange *call, const struct mcp_message *message)
{
	const char *header = exchange_header(call, VERSION_HEADER);
	const char *version = mcp_text(message->meta, MCP_META "protocolVersion");

	if (version != NULL)
		return mcp_legacy_version(version) == NULL;
	return header != NULL && mcp_legacy_version(header) == NULL;
}

/* False: refused, and answered. */
static bool check_post(struct exchange *call, struct mcp *mcp)
{
	const char *accept = exchange_header(call, "Accept");
	const char *type = exchange_header(call, "Content-Type");

	if (accept != NULL && (!mcp_accepts(accept, "application/json") ||
			       !mcp_accepts(accept, "text/event-stream"))) {
		refuse_as(call, 406, "", MCP_INVALID_REQUEST,
			  "Accept: must have application/json and text/event-stream");
		return false;
	}
	if (type != NULL && !mcp_accepts(type, "application/json")) {
		refuse_as(call, 415, "", MCP_INVALID_REQUEST,
			  "Content-Type: must be application/json");
		return false;
	}
	if (exchange_body_size(call) > MCP_MESSAGE_MAX) {
		refuse_as(call, 413, "", MCP_INVALID_REQUEST,
			  "a message may have at most 16 MiB; send larger files with "
			  "PUT /v1/sessions/{id}/files/{path}");
		return false;
	}
	if (mcp->request_count >= MCP_REQUESTS_MAX ||
	    !mcp_has_room(mcp, &call->caller, exchange_body_size(call))) {
		refuse_as(call, 503, "", MCP_INTERNAL, TOO_MANY);
		return false;
	}
	return true;
}

static void post(struct exchange *call)
{
	struct mcp *mcp = call->state;
	struct mcp_request *request;
	struct run_bytes bytes = {0};
	enum mcp_code code = MCP_PARSE_ERROR;
	struct err err = {0};
	int r;

	if (!check_post(call, mcp))
		return;
	request = request_new(mcp, &call->caller);
	r = exchange_body(call, true, &bytes, &err);
	if (r == 0 && buf_append(&request->bytes, bytes.data, (size_t)bytes.size) < 0)
		r = err_set(&err, ERR_INTERNAL, ENOMEM, "no memory for the message");
	request->held = request->bytes.size;
	mcp->held += request->held;
	if (r == 0)
		r = mcp_message_read(buf_string(&request->bytes), request->bytes.size,
				     &request->message, &code, &err);
	request->held += request->message.tree_held;
	mcp->held += request->message.tree_held;
	if (r == 0 && mcp->held > MCP_HELD_MAX) {
		refuse_as(call, 503, request->message.id, MCP_INTERNAL, TOO_MANY);
		mcp_request_free(request);
	} else if (r < 0) {
		refuse_as(call, err.kind == ERR_TOO_LARGE ? 413 : 400, request->message.id,
			  (int)code, err.text);
		mcp_request_free(request);
	} else if (is_modern(call, &request->message)) {
		take_modern(call, request);
	} else {
		take_legacy(call, request);
	}
}

/* ---- GET and DELETE, only in the 2025 era ---- */

static bool check_legacy(struct exchange *call)
{
	const char *version = exchange_header(call, VERSION_HEADER);

	if (version == NULL || mcp_legacy_version(version) != NULL)
		return true;
	exchange_set_header(call, "Allow", "POST");
	refuse_as(call, 405, "", MCP_INVALID_REQUEST, "this version of the protocol has only POST");
	return false;
}

static void get(struct exchange *call)
{
	const char *last = exchange_header(call, "Last-Event-ID");
	struct mcp_stream *stream = NULL;
	struct mcp_session *session;

	if (!check_legacy(call))
		return;
	if (!mcp_accepts(exchange_header(call, "Accept"), "text/event-stream")) {
		refuse_as(call, 406, "", MCP_INVALID_REQUEST,
			  "Accept: must have text/event-stream");
		return;
	}
	session = find_session(call, call->state, "");
	if (session == NULL)
		return;
	if (last != NULL)
		stream = mcp_stream_resume(session, last);
	if (stream == NULL && session->open != NULL) {
		refuse_as(call, 409, "", MCP_INVALID_REQUEST,
			  "this session already has an open GET stream");
		return;
	}
	if (stream == NULL)
		stream = session->open = mcp_stream_new(session->mcp, session);
	mcp_wire_join(call, stream);
	stream->is_begun = true;
	/* A first comment makes the server send the headers at once. */
	if (stream == session->open)
		(void)buf_text(&stream->bytes, ": welcome\n\n");
	mcp_wire_begin(stream->wire);
	if (stream->wire == NULL)
		mcp_stream_wire_gone(stream);
}

static void delete_session(struct exchange *call)
{
	struct mcp_session *session;
	AUTO_BUF struct buf nothing = {.max = 1};

	if (!check_legacy(call))
		return;
	session = find_session(call, call->state, "");
	if (session == NULL)
		return;
	mcp_session_end(session);
	exchange_answer(call, 204, &nothing);
}

static int open_door(struct engine *engine, void **ret_state, struct err *err)
{
	*ret_state = mcp_new(engine, err);
	return *ret_state != NULL ? 0 : -err->num;
}

static void close_door(void *state)
{
	mcp_close(state);
}

static const struct door_route routes[] = {
	{.method = "POST", .path = "", .run = post},
	{.method = "GET", .path = "", .run = get},
	{.method = "DELETE", .path = "", .run = delete_session},
};

const struct door door_mcp = {
	.name = "mcp",
	.routes = routes,
	.route_count = ARRAY_LEN(routes),
	.config = &mcp_config,
	.has_cors = true,
	.exposes = SESSION_HEADER ", " VERSION_HEADER ", Retry-After",
	.refuse = refuse,
	.open = open_door,
	.close = close_door,
};
