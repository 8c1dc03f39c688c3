// SPDX-License-Identifier: Apache-2.0
/*
 * Door - how a foreign API stands on our HTTP server
 *
 * Owns:    what a door is (a row with routes), and what its handlers are given: the request, its
 *          body, the ops, one answer.
 * May not: know any door. Host, Origin, body sizes and memory are checked here, for all of them.
 *
 * A call: its route is found, Host and Origin and the token are checked, `begin` may refuse it
 * before its body is read, the body comes, `run` is called, which answers at once or later, whole
 * or as a stream. An answer is due even when the client has left; it then goes nowhere.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "op/ask.h"
#include "op/op.h"

#define DOOR_JSON_MAX (1U << 20) /* bytes that become a tree */

struct door_call;

struct door_route {
	const char *method;
	const char *path; /* behind the prefix: "/exec", "/kernels/{id}", "/files/{path...}"; "":
			     the prefix itself */
	bool is_open;     /* no token needed */

	/* The members of a JSON object that are wanted, by name and type alone: OP_BYTES a text of
	 * any length, OP_JSON any value of any length, OP_FILES a list likewise, any other type a
	 * small value of whatever kind. All else is read over; of two with one name the last
	 * counts. NULL: the body as it is. */
	const struct op_param *members;
	size_t member_count;

	void (*begin)(struct door_call *call); /* may answer; NULL: nothing to do */
	void (*run)(struct door_call *call);
};

#define DOOR_MEMBERS(rows_) .members = (rows_), .member_count = ARRAY_LEN(rows_)

struct door {
	const char *name; /* of its section in the config, too */
	const struct door_route *routes;
	size_t route_count;

	/* Where the config has it: DOOR_CONFIG(atlas) means atlas_enabled and atlas_prefix. */
	size_t enabled_at, prefix_at;

	const char *token_header; /* for the secret, beside Authorization: Bearer; NULL: none */
	bool is_exclusive;        /* under --dialect NAME beside it only /v1 is there */
	bool has_cors;            /* pages of allowed origins may read its answers */
	const char *exposes;      /* with it: names of headers that they may see, or NULL */

	/* What is refused before `run`: Host or Origin (403), no token (401), no such path (404),
	 * by this method (405), too large (413), no JSON object (400), no memory (503). Must
	 * answer. */
	void (*refuse)(struct door_call *call, unsigned status, const struct err *err);

	/* `viv serve --dialect NAME`: what its own environment says, into the config, before
	 * anything is opened. May be NULL. */
	int (*boot)(struct config *config, struct err *err);

	/* What it keeps for the daemon's life, as call->state. Both may be NULL. */
	int (*open)(struct engine *engine, void **ret_state, struct err *err);
	void (*close)(void *state);
};

#define DOOR_CONFIG(name_)                                                                         \
	.enabled_at = offsetof(struct config, name_##_enabled),                                    \
	.prefix_at = offsetof(struct config, name_##_prefix)

/* Every door there is, NULL behind the last (door_table.c). */
extern const struct door *const door_table[];

/* One request. Valid until `ended`. */
struct door_call {
	const struct door *door;
	const struct door_route *route; /* NULL in `refuse` of an unknown path */
	void *state;                    /* from the door's open() */
	struct engine *engine;          /* borrowed */
	struct op_caller caller;
	uint32_t retry_after_s; /* for a 429 or 503, as the last ask had it; 0: soon */

	/* The handler's own. */
	void *user;
	void (*left)(struct door_call *call); /* the client closed its end, or is gone */
	void (*drained)(
		struct door_call *call); /* a stream that was full has room, or nobody to read it */
	void (*ended)(struct door_call *call); /* the last word: free what is yours */
};

/* Zeroed memory that lives as long as the call. */
void *door_memory(struct door_call *call, size_t size);

/* Counts memory that the call keeps until its end beside its body; a large answer is counted by
 * itself. False: all calls together keep too much. */
bool door_keep(struct door_call *call, uint64_t size);

/* Keeps the call alive until it is released: for timers and the like. Each ask does so by itself.
 */
void door_hold(struct door_call *call);
void door_release(struct door_call *call);

/* ---- the request; NULL where there is none, or when the client is gone ---- */

const char *door_method(const struct door_call *call);
const char *door_header(const struct door_call *call, const char *name);
const char *door_query(const struct door_call *call, const char *name);
const char *door_var(const struct door_call *call, const char *name); /* {name} of the path */

/* ---- its body, from `run` on ---- */

/* As it came; only without members. With `in_memory` its data can be read in place, else a large
 * one has data NULL and a memfd, ready for an op's args. */
int door_body(struct door_call *call, bool in_memory, struct run_bytes *ret_bytes, struct err *err);
uint64_t door_body_size(const struct door_call *call);

/* The tree of a body of at most DOOR_JSON_MAX; only without members. Borrowed from the call. NULL:
 * ERR_BAD_REQUEST or ERR_TOO_LARGE. */
json_t *door_json(struct door_call *call, struct err *err);

/* Members by name. A small one as a tree, borrowed; NULL: not given (null is a json_null). */
json_t *door_member(struct door_call *call, const char *name);

/* A text (OP_BYTES, always in memory, NUL not behind it) or the JSON of an OP_JSON or OP_FILES.
 * False: not given, null, or for a text something else than a string. */
bool door_large(struct door_call *call, const char *name, bool in_memory,
		struct run_bytes *ret_bytes);

/* A text was wanted, and what was given is neither that nor null. */
bool door_is_wrong(const struct door_call *call, const char *name);

/* ---- ops ---- */

/* ask_start for this call: its engine and its caller; `user` of the callbacks is the call. The args
 * must live until done: door_memory. */
struct ask *door_ask(struct door_call *call, const struct op *op, const void *args,
		     const struct ask_calls *calls);

/* The status our own API gives this error. */
unsigned door_status(const struct err *err);

/* ---- the answer ---- */

/* One more header of the answer; both are copied. Replaces what the kit would say. */
void door_set_header(struct door_call *call, const char *name, const char *value);

/* The whole answer, as application/json or as another type. Consumes the body. */
void door_answer(struct door_call *call, unsigned status, struct buf *take_json);
void door_answer_as(struct door_call *call, unsigned status, const char *type,
		    struct buf *take_body);

/* ... from a tree, which is consumed; or {"<key>": "<text>"}; or from a format of JSON text. */
void door_answer_tree(struct door_call *call, unsigned status, json_t *take_json);
void door_answer_text(struct door_call *call, unsigned status, const char *key, const char *text);

/* An answer in pieces: begin, write as often as you like, end. False from door_write: the client
 * has enough for now, `drained` follows (what was given is kept all the same; a client that takes
 * nothing while DOOR_QUEUE_MAX waits for it is cut off). door_cut: so that nobody takes it for
 * whole. */
#define DOOR_QUEUE_MAX (64U << 20)
void door_stream(struct door_call *call, unsigned status, const char *type);
bool door_write(struct door_call *call, const void *data, size_t size);
void door_end(struct door_call *call);
void door_cut(struct door_call *call);

bool door_is_answered(const struct door_call *call); /* whole, or begun */
