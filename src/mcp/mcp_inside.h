// SPDX-License-Identifier: Apache-2.0
/*
 * Mcp, inside - what the files of MCP share
 *
 * Owns:    the structs of a message, a request, a stream, a session, a call and a task.
 * May not: be included by anything but src/mcp and its tests.
 *
 * A message comes in (mcp_message.c), is a request of one era (mcp_door.c), is handled by the row
 * of its method (mcp_methods.c), and is answered by its stream (mcp_stream.c): as one JSON text, or
 * as events once there is something to say before the answer.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include <sys/queue.h>

#include "api/decode.h"
#include "api/scan.h"
#include "base/id.h"
#include "mcp/mcp.h"
#include "op/ask.h"

#define MCP_NEWEST "2026-07-28"
#define MCP_NEWEST_LEGACY "2025-11-25"
#define MCP_META "io.modelcontextprotocol/"
#define MCP_TASKS MCP_META "tasks"

#define MCP_MESSAGE_MAX (16U << 20) /* one message of a client, arguments and all */
#define MCP_SMALL_MAX (1U << 20)    /* a message without a tool's arguments */
#define MCP_TREE_COST 64U           /* bytes of a JSON tree per byte of its text, at worst */
#define MCP_CAPABILITIES_MAX 4096U  /* bytes, as text: they are kept with the session */
#define MCP_ANSWER_MAX (256U << 20)
#define MCP_ID_MAX 512            /* of a request's id, as JSON text */
#define MCP_HELD_MAX (256U << 20) /* bytes of all messages under way */
#define MCP_SESSIONS_MAX 1024
#define MCP_REQUESTS_MAX 4096 /* under way at once, for all clients */
#define MCP_LISTENERS_MAX 256
#define MCP_TASKS_MAX 512
#define MCP_TOOLS_MAX 96

enum mcp_code {
	MCP_PARSE_ERROR = -32700,
	MCP_INVALID_REQUEST = -32600,
	MCP_NO_METHOD = -32601,
	MCP_INVALID_PARAMS = -32602,
	MCP_INTERNAL = -32603,
	MCP_NO_RESOURCE = -32002, /* 2025 era only */
	MCP_HEADER_MISMATCH = -32020,
	MCP_NO_CAPABILITY = -32021,
	MCP_NO_VERSION = -32022,
};

/* ---- a message ---- */

struct mcp_message {
	json_t *tree;          /* owned: the message without a tool's arguments */
	size_t tree_held;      /* estimate of the memory that the tree takes */
	const json_t *params;  /* borrowed from the tree; NULL: none */
	const json_t *meta;    /* params._meta; NULL: none */
	const char *method;    /* borrowed from the tree; NULL: an answer from the client */
	char id[MCP_ID_MAX];   /* JSON text, sent back unchanged; "": none */
	const char *arguments; /* params.arguments as JSON text, borrowed; NULL: none */
	size_t arguments_size;
};

/* Parses one message. On failure *ret_code has the error code, and the id is set if it could be
 * read. `bytes` must live as long as the message. */
int mcp_message_read(const char *bytes, size_t size, struct mcp_message *message,
		     enum mcp_code *ret_code, struct err *err);
void mcp_message_done(struct mcp_message *message);

/* The string member `name` of `object`; NULL: missing, or not a string. */
const char *mcp_text(const json_t *object, const char *name);

/* ---- a stream ---- */

struct mcp_wire; /* the transport's side of one answer */

/* Carries the answer to one request; or the GET stream of a session, which has no request. */
struct mcp_stream {
	struct mcp *mcp;             /* borrowed */
	struct mcp_session *session; /* borrowed; NULL: the 2026 era */
	struct mcp_request *request; /* borrowed: its answer is due; NULL: none is */
	struct mcp_wire *wire;       /* borrowed; NULL: no client is connected */
	struct buf bytes;            /* events */
	size_t sent;                 /* bytes that the wire has taken */
	size_t hangs_up_at;          /* offset in `bytes` at which to hang up; 0: nowhere */
	struct mcp_event *events;    /* owned: the end of each event; only with a session */
	size_t event_count, event_room;
	uint32_t number;    /* within its session */
	bool is_begun;      /* the answer is sent as events */
	bool is_over;       /* nothing will be added */
	bool is_listener;   /* subscriptions/listen */
	bool has_forgotten; /* sent bytes were dropped: the client cannot resume */
	bool is_kept;       /* over, and kept only so that the client can resume */
	uint64_t begun_ns, quiet_ns;
	char id[MCP_ID_MAX];           /* of the request, for listeners */
	unsigned wants;                /* listeners only: enum mcp_change */
	TAILQ_ENTRY(mcp_stream) entry; /* in mcp->streams */
};

struct mcp_event {
	size_t end;
};

enum mcp_change {
	MCP_CHANGE_TOOLS = 1,
	MCP_CHANGE_PROMPTS = 2,
	MCP_CHANGE_RESOURCES = 4,
};

struct mcp_stream *mcp_stream_new(struct mcp *mcp, struct mcp_session *session);

/* Frees the stream once it has no request and no wire, unless it is kept for a client to resume. */
void mcp_stream_release(struct mcp_stream *stream);

/* Sends a message ahead of the answer. `is_needed`: kept even when the client reads slowly. */
void mcp_stream_send(struct mcp_stream *stream, const char *json, size_t size, bool is_needed);

/* Sends the answer: as JSON with this status, or as the last event. Consumes it; an empty buffer
 * ends the stream without an answer. */
void mcp_stream_answer(struct mcp_stream *stream, unsigned status, struct buf *take_json);

/* Disconnects the client, which reconnects for the rest after retry_ms. */
void mcp_stream_hang_up(struct mcp_stream *stream, unsigned retry_ms);

/* For the transport: the next bytes, as http_source.read; and the news that the wire is gone. */
int64_t mcp_stream_read(struct mcp_stream *stream, void *data, size_t room);
void mcp_stream_wire_gone(struct mcp_stream *stream);

/* Finds the stream of an event's id ("3_7") and rewinds it to just after that event. NULL:
 * unknown. */
struct mcp_stream *mcp_stream_resume(struct mcp_session *session, const char *event_id);

/* Once a second: sends comments on quiet streams, and ends forgotten ones. */
void mcp_streams_tick(struct mcp *mcp, uint64_t now);

/* The wire (mcp_wire.c). After mcp_wire_join, this exchange carries the stream. */
struct exchange;
void mcp_wire_join(struct exchange *call, struct mcp_stream *stream);
void mcp_wire_reply(struct mcp_wire *wire, unsigned status, struct buf *take_json);
void mcp_wire_begin(struct mcp_wire *wire); /* if the client is gone, the stream loses its wire */
void mcp_wire_ready(struct mcp_wire *wire); /* the stream has more */

/* ---- a session of the 2025 era ---- */

#define MCP_MEMORY_MAX 16

struct mcp_memory {
	char key[32];
	char value[ID_SIZE];
};

struct mcp_session {
	struct mcp *mcp; /* borrowed */
	char id[ID_SIZE];
	char *token;                    /* owned: name of its token */
	char *peer;                     /* owned */
	char client[OP_CLIENT_MAX + 1]; /* name in its clientInfo; "": none, or unfit */
	const char *version;            /* a constant */
	json_t *capabilities;           /* owned: the client's */
	int log_level;                  /* of mcp_log_level() */
	uint32_t stream_count;
	struct mcp_stream *open; /* borrowed: the stream that GET opened; NULL: none */
	struct mcp_memory memory[MCP_MEMORY_MAX];
	size_t memory_count;
	uint64_t used_ns;
	uint32_t busy;                  /* requests under way */
	TAILQ_ENTRY(mcp_session) entry; /* in mcp->sessions, least recently used first */
};

struct mcp_session *mcp_session_new(struct mcp *mcp, const struct op_caller *caller,
				    struct err *err);
/* NULL: there is none, or it belongs to another caller. */
struct mcp_session *mcp_session_find(struct mcp *mcp, const char *id,
				     const struct op_caller *caller);
void mcp_session_end(struct mcp_session *session);
void mcp_sessions_tick(struct mcp *mcp, uint64_t now);

/* ---- a request ---- */

struct mcp_request {
	struct mcp *mcp;             /* borrowed */
	struct mcp_session *session; /* borrowed; NULL: the 2026 era */
	bool is_modern;
	struct mcp_message message;
	struct buf bytes;          /* of the message */
	size_t held;               /* our part of mcp->held */
	struct mcp_stream *stream; /* borrowed until answered */
	struct op_caller caller;   /* name and peer are below */
	char *name, *peer;         /* owned */
	const struct mcp_method *method;
	struct mcp_call *call;         /* borrowed: the tool at work; NULL: none */
	struct mcp_op *op;             /* borrowed: the op it waits for; NULL: none */
	struct mcp_question *question; /* borrowed: a question to the client; NULL: none */
	uint64_t progress;             /* notifications sent */
	LIST_ENTRY(mcp_request) entry;
};

struct mcp_method {
	const char *name;
	void (*call)(struct mcp_request *request);
	bool in_legacy, in_modern;
	bool is_cached; /* the answer says how long it may be cached */
	unsigned ttl_ms;
	const char *name_param; /* params.<this> is also the header Mcp-Name; NULL: none */
};

/* Copies the client's name, from this message or from the start of its session, to the caller. */
void mcp_take_client(struct mcp_request *request);

const struct mcp_method *mcp_method_find(const char *name, bool is_modern);

/* The version as a constant, if it is one of the 2025 era that we support; else NULL. */
const char *mcp_legacy_version(const char *version);
int mcp_put_versions(struct buf *buf); /* all that we support, as a JSON list */

/* Answer and free the request. `members` are those of the result object, without its braces;
 * `type`: resultType, NULL: "complete". */
void mcp_reply(struct mcp_request *request, const char *type, const char *members, size_t size);
void mcp_reply_buf(struct mcp_request *request, const char *type, struct buf *take_members);

/* Answers with an error and frees the request. `data`: JSON text, NULL: none. `status`: HTTP status
 * in the 2026 era; 0: 200. */
void mcp_refuse(struct mcp_request *request, unsigned status, enum mcp_code code, const char *data,
		const char *format, ...) __attribute__((format(printf, 5, 6)));

/* The client gave up: cancels its call and sends nothing more. */
void mcp_request_drop(struct mcp_request *request);

/* For a request that was never begun, or is answered. */
void mcp_request_free(struct mcp_request *request);

/* The session's request with this id; NULL: none. */
struct mcp_request *mcp_request_find(struct mcp_session *session, const char *id);

/* Appends a JSON-RPC error object; `id` "": without an id, since it answers no request. */
void mcp_put_error(struct buf *buf, const char *id, enum mcp_code code, const char *message,
		   const char *data);

/* The client's capabilities, from this request or its session. NULL: none. */
const json_t *mcp_capabilities(const struct mcp_request *request);
bool mcp_has_tasks(const struct mcp_request *request);

/* Sends a progress notification, if the client asked for it. `total` 0: unknown. */
void mcp_progress(struct mcp_request *request, uint64_t progress, uint64_t total,
		  const char *message, size_t size);

/* The index of a log level, 0 debug ... 7 emergency; -1: there is none of this name. */
int mcp_log_level(const char *name);

/* ---- tools ---- */

struct mcp_view {
	const struct mcp_tool *tool;
	struct op op; /* the rows of the arguments, all as members of one object */
	struct op_param params[SCAN_MEMBERS_MAX];
};

extern const struct mcp_tool *const mcp_tools[]; /* NULL-terminated */
extern const struct mcp_tool mcp_tool_files, mcp_tool_read, mcp_tool_write;

/* The MIME type of bytes, by their first ones; and bytes as a JSON string of base64. */
const char *mcp_mime(const void *bytes, size_t size);
int mcp_put_base64(struct buf *buf, const void *bytes, size_t size);

int mcp_view_init(struct mcp_view *view, const struct mcp_tool *tool);
const struct mcp_view *mcp_view_find(const struct mcp *mcp, const char *name);

struct mcp_call {
	struct mcp *mcp;             /* borrowed */
	const struct mcp_view *view; /* borrowed */
	struct mcp_request *request; /* borrowed: its answer is due; NULL: a task, or cancelled */
	struct mcp_task *task;       /* borrowed; NULL: none */
	struct decoded decoded;      /* the arguments */
	struct scan *scan;           /* owned: memory that the arguments point to */
	size_t held;                 /* our part of mcp->held */
	struct op_caller caller;
	char *name, *peer;     /* owned */
	char session[ID_SIZE]; /* the MCP session's id; "": none */
	struct mcp_op *op;     /* borrowed: at work; NULL: none */
	void *state;
	void (*cancel)(struct mcp_call *call);
	bool is_cancelled;
	uint64_t begun_ns;
	LIST_ENTRY(mcp_call) entry;
};

/* Answers with the op's result, through the tool's `done` if it has one. */
mcp_op_done mcp_op_passed;

void mcp_tools_call(struct mcp_request *request);
void mcp_tools_list(struct mcp_request *request);

void mcp_call_cancel(struct mcp_call *call);

/* Answers with a JSON-RPC error, where a tool result would be wrong. */
void mcp_answer_refusal(struct mcp_call *call, enum mcp_code code, const char *message);
void mcp_calls_tick(struct mcp *mcp, uint64_t now);

/* ---- ops ---- */

struct mcp_op;

typedef void mcp_op_end(void *user, const struct ask_result *result);

/* Starts an op; `take_decoded` are its arguments, `take_body` (NULL: none) a raw body. With
 * `line`, which gets each event of the run, `end` gets the run's result. Calls neither before it
 * returns. */
struct mcp_op *mcp_op_start(struct mcp *mcp, const struct op_caller *caller, const struct op *op,
			    struct decoded *take_decoded, int *take_body,
			    void (*line)(void *user, const char *text, size_t size),
			    mcp_op_end *end, void *user);

/* Decodes pairs of names and strings, for ops without a body. */
int mcp_op_decode(const struct op *op, const char *const *pairs, struct decoded *ret_decoded,
		  struct err *err);

/* Both cancel the op, a run included. After mcp_op_cancel `end` is still called, after mcp_op_drop
 * it is not. */
void mcp_op_cancel(struct mcp_op *op);
void mcp_op_drop(struct mcp_op *op);

/* ---- resources, prompts, tasks ---- */

void mcp_resources_list(struct mcp_request *request);
void mcp_resources_templates(struct mcp_request *request);
void mcp_resources_read(struct mcp_request *request);

struct mcp_task {
	struct mcp *mcp; /* borrowed */
	char id[ID_SIZE];
	char *token;    /* owned: name of its token */
	bool is_greedy; /* its token had more than its share at the last cleanup */
	enum mcp_task_status {
		MCP_TASK_WORKING,
		MCP_TASK_INPUT,
		MCP_TASK_COMPLETED,
		MCP_TASK_FAILED,
		MCP_TASK_CANCELLED,
	} status;
	uint64_t created_ms, updated_ms; /* since the epoch */
	uint64_t touched_ns;
	struct mcp_call *call; /* borrowed: still running; NULL: over */
	struct buf result;     /* members of the result, or the error object */
	json_t *inputs;        /* owned: questions to the client; NULL: none */
	json_t *answers;       /* owned: the client's answers so far */
	void (*answered)(struct mcp_task *task);
	TAILQ_ENTRY(mcp_task) entry;
};

/* Turns this call into a task and answers its request with it. NULL: too many tasks; it stays a
 * call. */
struct mcp_task *mcp_task_make(struct mcp_call *call);
void mcp_task_finish(struct mcp_task *task, enum mcp_task_status status, struct buf *take_result);
void mcp_task_free(struct mcp_task *task);
void mcp_tasks_get(struct mcp_request *request);
void mcp_tasks_update(struct mcp_request *request);
void mcp_tasks_cancel(struct mcp_request *request);
void mcp_tasks_tick(struct mcp *mcp, uint64_t now);

/* Features beyond tools that call ops: prompts, resources that are not files, lists that change.
 * Our server has none of them; the server for MCP's conformance suite does (tests/conformance). */
struct mcp_extra {
	const struct mcp_tool *(*tool)(size_t index);                /* NULL: after the last */
	bool (*call)(struct mcp_request *request, const char *tool); /* true: it was answered */
	void (*put_resources)(struct buf *buf);
	void (*put_templates)(struct buf *buf);
	bool (*read)(struct mcp_request *request, const char *uri); /* true: it was answered */
	void (*prompts_list)(struct mcp_request *request);
	void (*prompts_get)(struct mcp_request *request);
	/* For questions to the client, which only that server asks: an answer, an end. */
	void (*answered)(struct mcp_session *session, const struct mcp_message *message);
	void (*drop_question)(struct mcp_question *question);
};
extern const struct mcp_extra *const mcp_extra; /* NULL: nothing */

/* ---- headers ---- */

/* Does this list of media types have `type`, or a wildcard for it? */
bool mcp_accepts(const char *accept, const char *type);

/* Does a header (NULL: absent) equal this text, or this JSON value? It may be =?base64?...?=. */
bool mcp_header_is(const char *header, const char *text);
bool mcp_header_is_json(const char *header, const char *json, size_t size);

/* ---- the whole server ---- */

struct mcp {
	struct engine *engine; /* borrowed */
	uv_timer_t tick;       /* once a second, while there is something to check */
	bool is_closing;
	bool is_ticking;
	TAILQ_HEAD(, mcp_session) sessions;
	TAILQ_HEAD(, mcp_stream) streams;
	TAILQ_HEAD(, mcp_task) tasks;
	LIST_HEAD(, mcp_request) requests;
	LIST_HEAD(, mcp_call) calls;
	LIST_HEAD(, mcp_op) ops;
	LIST_HEAD(, mcp_question) questions;
	size_t session_count, request_count, task_count, listener_count;
	size_t kept;                           /* bytes of ended streams kept for resuming */
	size_t held;                           /* bytes of messages under way */
	struct mcp_view *views[MCP_TOOLS_MAX]; /* owned */
	size_t view_count;
	uint8_t key[32]; /* signs state that clients send back to us */
};

/* Is there room for `more` bytes of messages? With several tokens, each may hold half. */
bool mcp_has_room(const struct mcp *mcp, const struct op_caller *caller, uint64_t more);

/* Starts the tick, if it is not running. */
void mcp_watch(struct mcp *mcp);

/* Closes the handles once the last op has answered. */
void mcp_close_when_done(struct mcp *mcp);
