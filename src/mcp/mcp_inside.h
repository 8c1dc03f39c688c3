// SPDX-License-Identifier: Apache-2.0
/*
 * Mcp, inside - what the files of MCP share
 *
 * Owns:    the structs of a message, a request, a stream, a session, a call and a task.
 * May not: be included by anything but src/dialect/mcp*.c and their tests.
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
#define MCP_SMALL_MAX (1U << 20)    /* ... without the arguments of a tool */
#define MCP_TREE_COST 64U           /* bytes of a tree for each of its text, at the worst */
#define MCP_CAPABILITIES_MAX 4096U  /* of a session's client, as text: they are kept with it */
#define MCP_ANSWER_MAX (256U << 20)
#define MCP_ID_MAX 512            /* of a request, as JSON text */
#define MCP_HELD_MAX (256U << 20) /* of all messages under way */
#define MCP_SESSIONS_MAX 1024
#define MCP_REQUESTS_MAX 4096 /* under way at a time, of all clients */
#define MCP_LISTENERS_MAX 256
#define MCP_TASKS_MAX 512
#define MCP_TOOLS_MAX 96

enum mcp_code {
	MCP_PARSE_ERROR = -32700,
	MCP_INVALID_REQUEST = -32600,
	MCP_NO_METHOD = -32601,
	MCP_INVALID_PARAMS = -32602,
	MCP_INTERNAL = -32603,
	MCP_SERVER_ERROR = -32000, /* the 2025 era's own */
	MCP_NO_RESOURCE = -32002,  /* ... */
	MCP_HEADER_MISMATCH = -32020,
	MCP_NO_CAPABILITY = -32021,
	MCP_NO_VERSION = -32022,
};

/* ---- a message ---- */

struct mcp_message {
	json_t *tree;          /* owned: all but the arguments of a tool */
	size_t tree_held;      /* about as much memory as it takes */
	const json_t *params;  /* borrowed from the tree; NULL: none */
	const json_t *meta;    /* params._meta; NULL: none */
	const char *method;    /* borrowed from the tree; NULL: it is an answer to us */
	char id[MCP_ID_MAX];   /* JSON text, to be sent back as it is; "": none */
	const char *arguments; /* params.arguments as JSON text, borrowed from the bytes; NULL */
	size_t arguments_size;
};

/* Takes apart one message. The code of the failure is in *ret_code; the id is set where there is
 * one to answer to. `bytes` must stay as long as the message. */
int mcp_message_read(const char *bytes, size_t size, struct mcp_message *message,
		     enum mcp_code *ret_code, struct err *err);
void mcp_message_done(struct mcp_message *message);

/* A member of `object` that is a text; NULL: it is not. */
const char *mcp_text(const json_t *object, const char *name);

/* The items of a JSON list, or the members of an object, in valid JSON text: moves `item` (zeroed
 * at first) to the next one and returns true. Of an object's member `key` gets the name's JSON
 * text. */
struct mcp_item {
	const char *key, *value;
	size_t key_size, value_size;
};
bool mcp_next_item(const char *json, size_t size, struct mcp_item *item);

/* ---- a stream ---- */

struct mcp_wire; /* the transport's side of one answer */

/* The way of the answer to one request; or the stream of a session that belongs to none. */
struct mcp_stream {
	struct mcp *mcp;             /* borrowed */
	struct mcp_session *session; /* borrowed; NULL: the 2026 era */
	struct mcp_request *request; /* borrowed: whose answer is due; NULL: given, or none is */
	struct mcp_wire *wire;       /* borrowed; NULL: nobody listens (any more) */
	struct buf bytes;            /* events */
	size_t sent;                 /* bytes that the wire has taken */
	struct mcp_event *events;    /* owned: where each event ends; only of a session */
	size_t event_count, event_room;
	uint32_t number;    /* within its session */
	bool is_begun;      /* events are being sent */
	bool is_over;       /* nothing will be added */
	bool hangs_up;      /* the wire is let go when it has all */
	bool is_listener;   /* subscriptions/listen */
	bool has_forgotten; /* what was sent cannot be asked for again */
	bool is_kept;       /* over, and only there to be asked for again */
	uint64_t begun_ns, quiet_ns;
	char id[MCP_ID_MAX];           /* of the request, for its listeners */
	unsigned wants;                /* of a listener: enum mcp_change */
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

/* Frees it once nobody needs it: no request, no wire, nothing to be asked for again. */
void mcp_stream_release(struct mcp_stream *stream);

/* A message on its way that is not the answer. `is_needed`: not dropped when the client is slow. */
void mcp_stream_send(struct mcp_stream *stream, const char *json, size_t size, bool is_needed);

/* Sends what was begun as events from now on. */
void mcp_stream_begin(struct mcp_stream *stream);

/* The answer: as JSON with this status, or as the last event. Consumes it; an empty one ends the
 * stream without an answer. */
void mcp_stream_answer(struct mcp_stream *stream, unsigned status, struct buf *take_json);

/* Lets the client go and come back for the rest (it asks again after retry_ms). */
void mcp_stream_hang_up(struct mcp_stream *stream, unsigned retry_ms);

/* The transport's: the next bytes, as http_source.read; and that it is gone. */
int64_t mcp_stream_read(struct mcp_stream *stream, void *data, size_t room);
void mcp_stream_wire_gone(struct mcp_stream *stream);

/* The stream of an event's id ("3_7") and its place: sends again what comes behind. NULL: unknown.
 */
struct mcp_stream *mcp_stream_resume(struct mcp_session *session, const char *event_id);

/* Tells every listener, in both eras. */
void mcp_tell_change(struct mcp *mcp, enum mcp_change change);

/* Once a second: comments for the quiet, the end for the forgotten. */
void mcp_streams_tick(struct mcp *mcp, uint64_t now);

/* What a wire can do (mcp_wire.c). The stream is answered by this call from now on. */
struct exchange;
void mcp_wire_join(struct exchange *call, struct mcp_stream *stream);
void mcp_wire_reply(struct mcp_wire *wire, unsigned status, struct buf *take_json);
void mcp_wire_begin(struct mcp_wire *wire);
void mcp_wire_ready(struct mcp_wire *wire); /* the stream has more; it is the caller's to release */
void mcp_wire_resume(struct mcp_wire *wire); /* the client has room; the stream may go */

/* ---- a session of the 2025 era ---- */

#define MCP_MEMORY_MAX 16

struct mcp_memory {
	char key[32];
	char value[ID_SIZE];
};

struct mcp_session {
	struct mcp *mcp; /* borrowed */
	char id[ID_SIZE];
	char *token;                    /* owned: whose it is */
	char *peer;                     /* owned */
	char client[OP_CLIENT_MAX + 1]; /* its clientInfo's name; "": none that we repeat */
	const char *version;            /* a constant */
	json_t *capabilities;           /* owned: the client's */
	int log_level;                  /* index in the levels */
	uint32_t stream_count;
	struct mcp_stream *open; /* borrowed: the stream by GET; NULL: none */
	struct mcp_memory memory[MCP_MEMORY_MAX];
	size_t memory_count;
	uint64_t used_ns;
	uint32_t busy;                  /* requests under way */
	TAILQ_ENTRY(mcp_session) entry; /* in mcp->sessions, the longest unused first */
};

struct mcp_session *mcp_session_new(struct mcp *mcp, const struct op_caller *caller,
				    struct err *err);
/* NULL: there is none, or it is not this caller's. */
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
	struct mcp_op *op;             /* borrowed: what it waits for; NULL: nothing */
	struct mcp_question *question; /* borrowed: a question to the client; NULL: none */
	uint64_t progress;             /* notifications sent */
	LIST_ENTRY(mcp_request) entry;
};

struct mcp_method {
	const char *name;
	void (*call)(struct mcp_request *request);
	bool in_legacy, in_modern;
	bool is_cached; /* the answer says for how long it holds */
	unsigned ttl_ms;
	const char *name_param; /* params.<this> is also the header Mcp-Name; NULL: none */
};

/* What the client calls itself, in this message or when its session began, is its caller's. */
void mcp_take_client(struct mcp_request *request);

const struct mcp_method *mcp_method_find(const char *name, bool is_modern);

/* The same text as a constant, if it is a version of the 2025 era that we speak; else NULL. */
const char *mcp_legacy_version(const char *version);
int mcp_put_versions(struct buf *buf); /* all that we speak, as a list */

/* Answers, and frees the request. `members` are those of the result object, with nothing around;
 * `type`: resultType, NULL: "complete". */
void mcp_reply(struct mcp_request *request, const char *type, const char *members, size_t size);
void mcp_reply_buf(struct mcp_request *request, const char *type, struct buf *take_members);
void mcp_reply_json(struct mcp_request *request, const char *type, json_t *take_object);

/* `data`: JSON text, NULL: none. `status`: of the 2026 era; 0: 200. */
void mcp_refuse(struct mcp_request *request, unsigned status, enum mcp_code code, const char *data,
		const char *format, ...) __attribute__((format(printf, 5, 6)));

/* The client gave up: its call is told, and nothing more is sent. */
void mcp_request_drop(struct mcp_request *request);

/* By its id, in this session. */
struct mcp_request *mcp_request_find(struct mcp_session *session, const char *id);

/* An error that answers to no request; `id`: "" for null. */
void mcp_put_error(struct buf *buf, const char *id, enum mcp_code code, const char *message,
		   const char *data);

/* What the client said it can: of this request, or of its session. NULL: nothing. */
const json_t *mcp_capabilities(const struct mcp_request *request);
bool mcp_has_tasks(const struct mcp_request *request);

/* A progress notification, if it was asked for. `total` 0: unknown. */
void mcp_progress(struct mcp_request *request, uint64_t progress, uint64_t total,
		  const char *message, size_t size);

/* A log line (0 debug ... 7 emergency), if it was asked for. */
void mcp_log(struct mcp_request *request, int level, const char *text);
int mcp_log_level(const char *name); /* -1: none */

/* ---- tools ---- */

struct mcp_view {
	const struct mcp_tool *tool;
	struct op op; /* the rows of the arguments, all of them members of one object */
	struct op_param params[SCAN_MEMBERS_MAX];
};

extern const struct mcp_tool *const mcp_tools[]; /* NULL behind the last */
extern const struct mcp_tool mcp_tool_files, mcp_tool_read, mcp_tool_write;

/* What bytes are, by their first ones; and as a JSON string of base64. */
const char *mcp_mime(const void *bytes, size_t size);
int mcp_put_base64(struct buf *buf, const void *bytes, size_t size);

/* The bytes of base64 in ret_bytes, which is set only then. -EINVAL: it is none. */
int mcp_take_base64(const char *text, size_t size, struct buf *ret_bytes);

int mcp_view_init(struct mcp_view *view, const struct mcp_tool *tool);
const struct mcp_view *mcp_view_find(const struct mcp *mcp, const char *name);
int mcp_view_put(const struct mcp_view *view, struct buf *buf); /* as tools/list has it */

struct mcp_call {
	struct mcp *mcp;             /* borrowed */
	const struct mcp_view *view; /* borrowed */
	struct mcp_request *request; /* borrowed: whose answer is due; NULL: a task, or given up */
	struct mcp_task *task;       /* borrowed; NULL: none */
	struct decoded decoded;      /* the arguments */
	struct scan *scan;           /* owned: what they point to */
	size_t held;                 /* our part of mcp->held */
	struct op_caller caller;
	char *name, *peer;     /* owned */
	char session[ID_SIZE]; /* of MCP; "": none */
	struct mcp_op *op;     /* borrowed: at work; NULL: none */
	void *state;
	void (*cancel)(struct mcp_call *call);
	bool is_cancelled;
	uint64_t begun_ns;
	LIST_ENTRY(mcp_call) entry;
};

void mcp_tools_call(struct mcp_request *request);
void mcp_tools_list(struct mcp_request *request);

/* Decodes the arguments by the rows of `view`; what it points to is in `call`. */
int mcp_call_decode(struct mcp_call *call, const struct mcp_view *view, const char *json,
		    size_t size, struct err *err);
void mcp_call_cancel(struct mcp_call *call);

/* A JSON-RPC error as the answer, where a result would be wrong. */
void mcp_answer_refusal(struct mcp_call *call, enum mcp_code code, const char *message);
void mcp_calls_tick(struct mcp *mcp, uint64_t now);

/* ---- ops ---- */

struct mcp_op;

typedef void mcp_op_end(void *user, const struct ask_result *result);

/* Asks an op; `take_decoded` are its arguments, `take_body` (NULL: none) a raw body. With `line`
 * events are wanted, each of which it gets. Nothing is called from in here. */
struct mcp_op *mcp_op_start(struct mcp *mcp, const struct op_caller *caller, const struct op *op,
			    struct decoded *take_decoded, int *take_body,
			    void (*line)(void *user, const char *text, size_t size),
			    mcp_op_end *end, void *user);

/* Arguments from names and texts, for ops without a body. */
int mcp_op_decode(const struct op *op, const char *const *pairs, struct decoded *ret_decoded,
		  struct err *err);

/* A run is cancelled; the end is still told. Or not: who asked goes. */
void mcp_op_cancel(struct mcp_op *op);
void mcp_op_drop(struct mcp_op *op);

/* ---- resources, prompts, tasks ---- */

void mcp_resources_list(struct mcp_request *request);
void mcp_resources_templates(struct mcp_request *request);
void mcp_resources_read(struct mcp_request *request);

struct mcp_task {
	struct mcp *mcp; /* borrowed */
	char id[ID_SIZE];
	char *token;    /* owned: whose it is */
	bool is_greedy; /* its token had more than its share when room was last made */
	enum mcp_task_status {
		MCP_TASK_WORKING,
		MCP_TASK_INPUT,
		MCP_TASK_COMPLETED,
		MCP_TASK_FAILED,
		MCP_TASK_CANCELLED,
	} status;
	uint64_t created_ms, updated_ms; /* since the epoch */
	uint64_t touched_ns;
	struct mcp_call *call; /* borrowed: at work; NULL: it is over */
	struct buf result;     /* members of the result, or the error object */
	json_t *inputs;        /* owned: what is asked of the client; NULL: nothing */
	json_t *answers;       /* owned: what it said so far */
	void (*answered)(struct mcp_task *task);
	TAILQ_ENTRY(mcp_task) entry;
};

/* Makes a task of this call and answers its request with it. NULL: too many; it stays a call. */
struct mcp_task *mcp_task_make(struct mcp_call *call);
void mcp_task_finish(struct mcp_task *task, enum mcp_task_status status, struct buf *take_result);
void mcp_task_ask(struct mcp_task *task, json_t *take_inputs,
		  void (*answered)(struct mcp_task *task));
void mcp_task_free(struct mcp_task *task);
void mcp_tasks_get(struct mcp_request *request);
void mcp_tasks_update(struct mcp_request *request);
void mcp_tasks_cancel(struct mcp_request *request);
void mcp_tasks_tick(struct mcp *mcp, uint64_t now);

/* What a server has beside tools that call ops: prompts, resources that are no files, lists that
 * change. Ours has none of it; the server that MCP's conformance suite runs against does
 * (tests/conformance). */
struct mcp_extra {
	const struct mcp_tool *(*tool)(size_t index);                /* NULL: behind the last */
	bool (*call)(struct mcp_request *request, const char *tool); /* true: it was answered */
	void (*put_resources)(struct buf *buf);
	void (*put_templates)(struct buf *buf);
	bool (*read)(struct mcp_request *request, const char *uri); /* true: it was answered */
	void (*prompts_list)(struct mcp_request *request);
	void (*prompts_get)(struct mcp_request *request);
	/* Questions to the client, which only it asks: the answer to one, the end of one. */
	void (*answered)(struct mcp_session *session, const struct mcp_message *message);
	void (*drop_question)(struct mcp_question *question);
};
extern const struct mcp_extra *const mcp_extra; /* NULL: nothing */

/* ---- headers ---- */

/* Does this list of media types have `type`, or something that stands for it? */
bool mcp_accepts(const char *accept, const char *type);

/* Does a header (NULL: there is none) say this text? It may be =?base64?...?=. Or this JSON value?
 */
bool mcp_header_is(const char *header, const char *text);
bool mcp_header_is_json(const char *header, const char *json, size_t size);

/* ---- all of it ---- */

struct mcp {
	struct engine *engine; /* borrowed */
	uv_timer_t tick;       /* once a second, while there is something to watch */
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
	size_t kept;                           /* bytes of streams that are over */
	size_t held;                           /* bytes of messages under way */
	struct mcp_view *views[MCP_TOOLS_MAX]; /* owned */
	size_t view_count;
	uint8_t key[32]; /* signs what clients carry for us */
};

/* Is there memory for so much more of a message? Of several tokens each may have half of it. */
bool mcp_has_room(const struct mcp *mcp, const struct op_caller *caller, uint64_t more);

/* Something has begun that needs the tick. */
void mcp_watch(struct mcp *mcp);

/* Gives the loop its handles back once the last op has answered. */
void mcp_close_when_done(struct mcp *mcp);
