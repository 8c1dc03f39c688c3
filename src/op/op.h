// SPDX-License-Identifier: Apache-2.0
/*
 * Op - one thing a client can ask for, as a row
 *
 * Owns:    names, types and help of an op's parameters. Every door calls the same ops; routes,
 *          checks, OpenAPI, tools and every help text come from these rows.
 * May not: know which door a call came through.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "policy/config.h"
#include "session/param.h"
#include "session/pool.h"
#include "session/request.h"
#include "session/run.h"

#define OP_CLIENT_MAX 64

struct config_token;
struct engine;
struct log;
struct op_call;
struct result;

/* The client that makes a call. */
struct op_caller {
	const struct config_token *token; /* borrowed: from the config; NULL: none */
	const char *name;                 /* of the token; "" without one */
	const char *peer;                 /* "unix", or an address, for the audit log */
	bool is_forwarded;                /* another Vivarium forwards the call for its client */
	const char *via; /* static: the door that the call came through; NULL: "http" */
	char client[OP_CLIENT_MAX + 1]; /* the name that the client claims for itself; "": none */
	bool is_overseer;               /* may see what belongs to any token, but not change it */
	bool may_decide;                /* may allow and deny held runs */
	bool has_wrong_key;             /* sent a key for deciding that is not the daemon's */
};

/* Sets `client` if the text is 1 to OP_CLIENT_MAX printable ASCII characters, else to "". */
void op_client_set(struct op_caller *caller, const char *text);

/* May the caller see what belongs to this token? An overseer may see everything. */
bool op_may_see(const struct op_caller *caller, const char *token);

/* An answer in pieces. `read` returns what http/http.h says: > 0 a count, 0 nothing now (op_wake
 * follows), -1 the end, -2 broken off. */
struct op_source {
	int64_t (*read)(void *user, void *data, size_t room);
	void (*close)(void *user); /* called once, after the last read */
	void *user;
};

/* How a door takes answers. Each call ends in exactly one of answer, fail, stream and result. */
struct op_door {
	void (*answer)(struct op_call *call, unsigned status, struct buf *take_json);
	void (*fail)(struct op_call *call, const struct err *err);
	void (*stream)(struct op_call *call, unsigned status, const char *type, int64_t size,
		       const struct op_source *source);
	void (*wake)(struct op_call *call);
	bool (*hold)(struct op_call *call, uint64_t size); /* NULL: the door counts elsewhere */
	/* Takes the result of a run, in place of an answer or stream. NULL: the door wants JSON
	 * text. */
	void (*result)(struct op_call *call, struct log *log);
};

/* One call of an op. The door owns it and keeps it until it was answered and, for a stream,
 * closed. */
struct op_call {
	const struct op *op;
	struct engine *engine; /* borrowed */
	struct op_caller caller;
	const void *args;  /* the op's own struct; each field was checked against its row */
	int body;          /* borrowed: a memfd with the raw body (is_raw ops); -1: none */
	bool wants_events; /* the client would rather have events than one result */
	bool is_cancelled_with_client; /* ?on_disconnect=cancel */
	char run[ID_SIZE];      /* set by the op: the run it started; "": none. Sent in a header */
	char session[ID_SIZE];  /* set by the op: the session it answers with; "": none */
	uint32_t retry_after_s; /* sent with a failure; 0: not sent */

	/* For a stream, sent in headers: the checkpoint it is from, the name to save it under (""
	 * for none), and whether a sandbox made it, so that no browser runs what is in it. */
	char as_of[ID_SIZE];
	char filename[ID_SIZE + 16];
	bool is_foreign;
	const struct op_door *door;
	void *door_user; /* the door's */

	/* For the op while it waits. `left` (may be NULL) is called when the client goes away; the
	 * op must still answer, and the answer is dropped. */
	void *state;
	void (*left)(struct op_call *call);
};

struct op {
	const char *name;   /* "run", "session.create": also in OpenAPI and the audit log */
	const char *method; /* NULL: no HTTP route */
	const char *path;
	const char *help;
	const struct op_param *params;
	size_t param_count;
	size_t args_size;
	const char *answer; /* name of the OpenAPI schema of its answer */
	unsigned status;    /* of success; 0: 200 */
	const char *also;   /* another answer that is no error, "202 RunId" or "204"; NULL: none */
	bool is_raw;        /* the body is bytes, not a JSON object */
	uint64_t body_max;  /* bytes of its body; 0: the daemon's limit */
	bool is_open;       /* no token needed: health */
	bool is_stream;     /* may answer with events */

	void (*call)(struct op_call *call);
};

/* Every op with a route, NULL-terminated (op_table.c). */
extern const struct op *const op_table[];

extern const struct op op_allow, op_approvals, op_audit, op_deny;
extern const struct op op_events, op_health, op_packages, op_policies, op_runtimes, op_status;
extern const struct op op_run_cancel, op_run_code, op_run_events, op_run_get, op_run_list,
	op_run_stdin;
extern const struct op op_session_create, op_session_delete, op_session_events, op_session_get,
	op_session_interrupt, op_session_list, op_session_run;
extern const struct op op_checkpoint_drop, op_checkpoint_list, op_checkpoint_make, op_diff, op_fork,
	op_rollback, op_session_wake, op_session_restart;
extern const struct op op_complete, op_vars_list, op_vars_summary, op_vars_table;
extern const struct op op_files_list, op_files_read, op_files_remove, op_files_write;
extern const struct op op_export, op_import, op_notebook;
extern const struct op op_session_change;
extern const struct op op_conversation_change, op_conversation_create, op_conversation_delete,
	op_conversation_get, op_conversation_list;
extern const struct op op_output_get, op_output_put, op_output_remove;

void op_answer(struct op_call *call, unsigned status, struct buf *take_json);
void op_fail(struct op_call *call, const struct err *err);
void op_stream(struct op_call *call, unsigned status, const char *type, int64_t size,
	       const struct op_source *source);
void op_wake(struct op_call *call);

/* Reports how many bytes a stream now holds in memory for a client that has not read them. False:
 * the caller, or all callers together, would hold more than they may; before the first byte the op
 * fails with OP_HELD_WHY. The door itself counts what op_answer gets. */
bool op_hold(struct op_call *call, uint64_t size);

#define OP_HELD_WHY "answers that were not read yet fill the memory"

/* ---- explore: a shell command over a read-only folder, in a sandbox without Python ---- */

extern const struct op op_explore;

enum op_explore_param {
	OP_EXPLORE_COMMAND,
	OP_EXPLORE_ROOT,
	OP_EXPLORE_CWD,
	OP_EXPLORE_TIMEOUT,
	OP_EXPLORE_POLICY,
	OP_EXPLORE_PARAM_COUNT,
};

extern const struct op_param op_explore_params[OP_EXPLORE_PARAM_COUNT];

/* Pointers are borrowed for the call; NULL and 0 mean "not given". */
struct op_explore_args {
	const char *command;
	const char *root; /* a name from the config */
	const char *cwd;  /* below the folder: "sub", "/data/sub" or "/semantic/sub" */
	uint64_t timeout_ms;
	const char *policy;

	/* Set only by doors, never from a client: a folder of the host instead of `root`. */
	const char *folder;
};

/* For programs without a daemon: starts the command in this process, as op_run_start does. */
int op_explore_start(const struct config *config, struct pool *pool,
		     const struct op_explore_args *args, const struct run_calls *calls, void *user,
		     struct run **ret_run, struct err *err);

/* Appends the answer of op_explore, made from the result of its run. */
int op_explore_answer(const struct result *result, struct buf *buf, struct err *err);

/* ---- run: one fresh sandbox, one run ---- */

extern const struct op op_run;

/* The policy named `asked` that this caller (NULL: anybody) may use. NULL asks for "default", or,
 * if the caller's token may not use that, for the first one it may use. */
const struct policy *op_policy(const struct config *config, const struct op_caller *caller,
			       const char *asked, struct err *err);

/* ERR_FORBIDDEN: the policy wants a person to allow each run, and without a daemon nobody can. */
int op_check_alone(const struct policy *policy, struct err *err);

/* Runs of the same trust share zygotes: by default those of one token only, unless the policy names
 * another. */
const char *op_trust(const struct policy *policy, const struct op_caller *caller);

/* Is there a backend of this name, and does the policy allow it? */
int op_check_backend(const struct policy *policy, const char *asked, struct err *err);

/* The backend that must be used; "auto": the best one. */
const char *op_backend_pin(const struct policy *policy, const char *asked);

/* For programs without a daemon: starts the run in this process. An error that is the caller's
 * mistake names the field. */
int op_run_start(const struct config *config, struct pool *pool, const struct run_request *asked,
		 const struct run_calls *calls, void *user, struct run **ret_run, struct err *err);
