// SPDX-License-Identifier: Apache-2.0
/*
 * Op - one thing a client can ask for, as a row
 *
 * Owns:    names, types and help of what an op takes. Every door calls the same ops; routes,
 * checks, OpenAPI, tools and every help text come from these rows. May not: know which door a call
 * came through.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "policy/config.h"
#include "session/pool.h"
#include "session/run.h"

/* In brackets: the field of the op's args struct that the door fills. Absent: NULL, 0, unset. */
enum op_type {
	OP_TEXT,  /* [const char *] no NUL inside */
	OP_BYTES, /* [struct run_bytes] a text of any length: code, stdin */
	OP_JSON,  /* [struct run_bytes] any JSON value, never built as a tree */
	OP_MS,    /* [uint64_t] an integer; for the command line also "30s" */
	OP_SIZE,  /* [uint64_t] an integer, or "512MiB" */
	OP_COUNT, /* [uint64_t] */
	OP_CPUS,  /* [uint64_t] thousandths: 1.5 is 1500 */
	OP_BOOL,  /* [enum op_bool] */
	OP_TEXTS, /* [const char *const *] a list of texts, NULL behind the last */
	OP_PAIRS, /* [const char *const *] an object of texts as "K=V", NULL behind the last */
	OP_FILES, /* [struct run_bytes] a list of {path, text | base64}, never built as a tree */
};

enum op_bool {
	OP_UNSET,
	OP_NO,
	OP_YES,
};

enum op_in {
	OP_IN_BODY, /* a member of the JSON object; a dot in the name is a step into an object */
	OP_IN_PATH, /* {name} in the op's path; {name...} takes the rest, slashes and all */
	OP_IN_QUERY,
};

struct op_param {
	const char *name; /* as in a request */
	enum op_type type;
	const char *help; /* one sentence, no full stop */
	enum op_in in;
	size_t offset; /* of the field in the args struct */
	bool is_required;
	bool takes_null;     /* of a text: null is "", and not the same as not given */
	uint64_t min, max;   /* of a number; max also of a text's bytes; max 0: any */
	uint64_t initial;    /* a number that is not given is this */
	const char *choices; /* "a|b|c": a text must be one of these; NULL: any */
};

#define OP_PARAM(args, field, ...) .offset = offsetof(args, field), __VA_ARGS__

#define OP_CLIENT_MAX 64

struct config_token;
struct engine;
struct op_call;

/* Who asks. */
struct op_caller {
	const struct config_token
		*token;                 /* borrowed: from the config; NULL: nobody in particular */
	const char *name;               /* of the token; "" without one */
	const char *peer;               /* "unix", or an address, for the audit log */
	bool is_forwarded;              /* another Vivarium asks for somebody */
	const char *via;                /* static: the door it came through; NULL: "http" */
	char client[OP_CLIENT_MAX + 1]; /* what it calls itself, a claim; "": nothing */
	bool is_overseer;               /* sees what is everybody's, and changes none of it */
	bool may_decide;                /* allows and denies runs that are held */
};

/* A client's word for itself: taken when it is 1 to OP_CLIENT_MAX printable ASCII, else "". */
void op_client_set(struct op_caller *caller, const char *text);

/* Does something of this token concern the caller? Its own; an overseer's is everything. */
bool op_may_see(const struct op_caller *caller, const char *token);

/* An answer in pieces; as http/http.h has it: > 0 a count, 0 nothing now (op_wake follows), -1 the
 * end, -2 broken off. */
struct op_source {
	int64_t (*read)(void *user, void *data, size_t room);
	void (*close)(void *user); /* once, when no read comes any more */
	void *user;
};

/* What a door does with answers. Exactly one of answer, fail, stream for each call. */
struct op_door {
	void (*answer)(struct op_call *call, unsigned status, struct buf *take_json);
	void (*fail)(struct op_call *call, const struct err *err);
	void (*stream)(struct op_call *call, unsigned status, const char *type, int64_t size,
		       const struct op_source *source);
	void (*wake)(struct op_call *call);
	bool (*hold)(struct op_call *call, uint64_t size); /* may be NULL: it counts elsewhere */
};

/* One call of an op. The door's memory; valid until it was answered and, for a stream, closed. */
struct op_call {
	const struct op *op;
	struct engine *engine; /* borrowed */
	struct op_caller caller;
	const void *args;  /* the op's own struct, every field checked for itself */
	int body;          /* borrowed: a memfd with the raw body (is_raw ops); -1: none */
	bool wants_events; /* the client would rather have events than one result */
	bool is_cancelled_with_client; /* ?on_disconnect=cancel */
	char run[ID_SIZE];      /* the op says which run it started; "": none. Told in a header */
	uint32_t retry_after_s; /* told with a failure; 0: not */

	/* Of a stream, told in headers: the checkpoint it is from, the name to save it under (""
	 * for none), and that a sandbox made it: no browser is to run what is in it. */
	char as_of[ID_SIZE];
	char filename[ID_SIZE + 16];
	bool is_foreign;
	const struct op_door *door;
	void *door_user; /* the door's */

	/* The op's, while it waits. `left`: the client went away (may be NULL); an answer is still
	 * due, and goes nowhere. */
	void *state;
	void (*left)(struct op_call *call);
};

struct op {
	const char *name;   /* "run", "session.create": also the CLI's and MCP's word */
	const char *method; /* NULL: no HTTP route */
	const char *path;
	const char *help;
	const struct op_param *params;
	size_t param_count;
	size_t args_size;
	const char
		*answer;   /* what it answers, in a word or two: a schema of OpenAPI by this name */
	unsigned status;   /* of success; 0: 200 */
	const char *also;  /* another answer that is no error, "202 RunId" or "204"; NULL: none */
	bool is_raw;       /* the body is bytes, not a JSON object */
	uint64_t body_max; /* bytes of its body; 0: as many as the daemon takes */
	bool is_open;      /* no token needed: health */
	bool is_stream;    /* may answer with events */

	void (*call)(struct op_call *call);
};

/* Every op with a route, NULL behind the last (op_table.c). */
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

/* What a stream holds in memory for a client that has not read it, so much now. False: the caller
 * or all together hold as much as they may; before the first byte this is OP_HELD_WHY. An answer by
 * op_answer is counted by the door. */
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
	const char *root; /* a name of the config's */
	const char *cwd;  /* below the folder: "sub", "/data/sub" or "/semantic/sub" */
	uint64_t timeout_ms;
	const char *policy;

	/* The doors' own: a folder of the host instead of `root`. Never from a client. */
	const char *folder;
};

/* For programs that do one thing: starts it right here, as op_run_start does. */
int op_explore_start(const struct config *config, struct pool *pool,
		     const struct op_explore_args *args, const struct run_calls *calls, void *user,
		     struct run **ret_run, struct err *err);

/* What is answered, made from the result of its run (both JSON). */
int op_explore_answer(const char *json, size_t size, struct buf *buf, struct err *err);

/* ---- run: one fresh sandbox, one run ---- */

extern const struct op op_run;

/* In the order of the command line's flags. */
enum op_run_param {
	OP_RUN_CODE,
	OP_RUN_COMMAND,
	OP_RUN_POLICY,
	OP_RUN_RUNTIME,
	OP_RUN_BACKEND,
	OP_RUN_TIMEOUT,
	OP_RUN_MEMORY,
	OP_RUN_CPUS,
	OP_RUN_PIDS,
	OP_RUN_DISK,
	OP_RUN_OUTPUT,
	OP_RUN_ARGS,
	OP_RUN_DATA,
	OP_RUN_FILES,
	OP_RUN_EXPECT,
	OP_RUN_STDIN,
	OP_RUN_ENV,
	OP_RUN_CWD,
	OP_RUN_DETACH,
	OP_RUN_RETURN_FILES,
	OP_RUN_SAVED,
	OP_RUN_SAVE,
	OP_RUN_PARAM_COUNT,
};

extern const struct op_param op_run_params[OP_RUN_PARAM_COUNT];

/* What a run takes. Pointers are borrowed for the call; NULL, 0 and "no bytes" mean "not given". */
struct op_run_args {
	struct run_bytes code, command; /* exactly one; in memory: code is looked at for imports */
	const char *policy, *runtime, *backend;
	struct policy_ask limits;
	struct run_bytes args; /* checked JSON */
	struct run_bytes data; /* by HTTP: {"columns","rows"} */
	struct run_bytes files_json;
	struct run_bytes stdin_bytes; /* by HTTP "live" is no text: it comes by runs.stdin */
	const char *const *env;
	const char *const *expect;
	const char *cwd;
	struct run_bytes saved; /* base64 of what another run saved */
	enum op_bool detach, return_files, save_state;
	const char *session; /* {id} of the path: run in this session */

	/* The doors' own. */
	uint64_t saved_max;    /* of what is saved; 0: RUN_SAVED_MAX */
	const char *stand_ins; /* static: the set of names that the code expects to find beside
				  Python's; the runner has it. NULL: none */
	bool is_sidecar;       /* it means what it means to a sidecar, which may do it instead */

	/* The doors' own: sys.argv; code is then no cell but the script argv[0]. */
	const char *const *argv;

	/* The doors' own Python beside the code, which is told and shown as it was sent. Constants:
	 * the import guard does not read them. */
	struct run_bytes lead, tail; /* run before it, and behind it: the value is the tail's */
	struct run_bytes tool;       /* run in its place; finds it as the bytes `_code` */

	/* The command line's own. */
	enum run_data_format data_format;
	const char *data_query;
	enum run_stdin stdin_kind;
	int stdin_fd;
	const struct run_file *files;
	size_t file_count;
	bool is_cold; /* no zygote: python's start is paid once, by this run */
	bool want_files;
	bool keep_events;

	bool is_probe; /* a constant of ours looks at the host: no person is asked. No row sets it
			*/
};

/* The policy of that name ("default" for NULL) that this caller (NULL: anybody) may use. */
const struct policy *op_policy(const struct config *config, const struct op_caller *caller,
			       const char *asked, struct err *err);

/* ERR_FORBIDDEN: the policy wants a person to allow each run, and without a daemon nobody can. */
int op_check_alone(const struct config *config, const char *asked, struct err *err);

/* Whose zygotes it may use: never those of another token, unless the policy says so. */
const char *op_trust(const struct policy *policy, const struct op_caller *caller);

/* Is there a backend of this name, and does the policy allow it? */
int op_check_backend(const struct policy *policy, const char *asked, struct err *err);

/* The one that has to do it; "auto": whichever is best. */
const char *op_backend_pin(const struct policy *policy, const char *asked);

/* Everything of a run but where it happens, checked. Borrows from `args` and the config. */
int op_run_request(const struct config *config, const struct op_caller *caller,
		   const struct op_run_args *args, struct run_request *request, struct err *err);

/* For programs that do one thing: starts the run of `args` right here. Errors are the caller's
 * mistakes and say which field. */
int op_run_start(const struct config *config, struct pool *pool, const struct op_run_args *args,
		 const struct run_calls *calls, void *user, struct run **ret_run, struct err *err);
