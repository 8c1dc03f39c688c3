// SPDX-License-Identifier: Apache-2.0
/*
 * Request - what a run is asked to do, from the edge to the sandbox
 *
 * Owns:    the one struct that the caller fills and everybody else reads, and the table of what a
 *          client can give. Pointers in it are borrowed until run_start returns, unless stated
 *          otherwise; NULL, 0 and "no bytes" mean "not given".
 * May not: be copied member by member: it is handed on.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/box.h"
#include "base/buf.h"
#include "policy/policy.h"
#include "policy/runtime.h"
#include "session/param.h"

#define RUN_FILES_MAX 1000U                /* files that a run gives back, if not asked otherwise */
#define RUN_RETURNED_MAX (8U << 20)        /* bytes of one file that are put into its event */
#define RUN_RETURNED_TOTAL_MAX (32U << 20) /* of all files of a run */
#define RUN_SAVED_MAX (8U << 20)           /* bytes of a saved state: its base64 fits an event */

struct log;

/* Bytes of a request: from memory or from a file, copied once into what the sandbox gets, or lent.
 */
struct run_bytes {
	const void *data;
	uint64_t size;
	int fd;      /* used when data is NULL and size > 0 */
	uint64_t at; /* where in `fd` the bytes begin */
	/* `fd` is a memfd that has these bytes and no others. If the request has nothing else, it
	 * is sealed and lent to the sandbox instead of a copy. */
	bool is_lent;
};

struct run_file {
	const char *path; /* relative to /workspace, or below it */
	struct run_bytes bytes;
};

enum run_data_format {
	RUN_DATA_NONE,
	RUN_DATA_JSON,
	RUN_DATA_CSV,
	RUN_DATA_TSV,
	RUN_DATA_SQLITE,
	RUN_DATA_PARQUET,
};

enum run_stdin {
	RUN_STDIN_NONE,  /* end of file at once */
	RUN_STDIN_BYTES, /* stdin_bytes */
	RUN_STDIN_LIVE,  /* what arrives on stdin_fd */
	RUN_STDIN_PIPE,  /* what is written with run_stdin_write */
};

struct run_request {
	/* ---- what a client gives: each has its row in run_params ---- */

	const char *session; /* {id} of the path: run in this session */
	/* Exactly one is given, in memory, since the imports of code are checked. Once the request
	 * was granted, `code` is either of them, and is_command says which. */
	struct run_bytes code, command;
	struct policy_ask limits;
	struct run_bytes args;       /* checked JSON */
	struct run_bytes data;       /* over HTTP: {"columns","rows"} */
	struct run_bytes files_json; /* JSON text [{"path","text"|"base64"}]; read in the sandbox */
	const char *const *expect;   /* NULL-terminated, or NULL */
	/* Over HTTP "live" is not text: the bytes come through runs.stdin. */
	struct run_bytes stdin_bytes;
	const char *const *env; /* "K=V", NULL-terminated, or NULL */
	const char *cwd;        /* NULL: /workspace */
	enum op_bool detach;
	enum op_bool return_files; /* put the bytes of files that are not too large into events */
	const char *policy;
	const char *runtime;    /* the name that was asked for */
	const char *backend;    /* a name pins it; "auto" or NULL: the best available */
	struct run_bytes saved; /* base64 of what another run saved; read in the sandbox */
	enum op_bool save_state;

	/* ---- set only by doors ---- */

	/* Save the variables, at most so many bytes. 0: RUN_SAVED_MAX with save_state, else do not
	 * save. */
	uint64_t saved_max;
	/* Static: the set of names, besides Python's own, that the code expects to find; the runner
	 * knows these sets. NULL: none. */
	const char *stand_ins;
	bool is_sidecar; /* has a sidecar's meaning; a sidecar may do the run instead */
	/* sys.argv, NULL-terminated: the code is then the script argv[0], not a cell. */
	const char *const *argv;

	/* Python that a door adds to the code; clients see the code as it was sent. These are
	 * constants, so the import guard does not check them. */
	struct run_bytes lead, tail; /* run before and after the code; the result is the tail's */
	struct run_bytes tool; /* run instead of the code, which it gets as the bytes `_code` */

	/* ---- set only by the command line, or by viv itself ---- */

	enum run_data_format data_format;
	const char *data_query;
	enum run_stdin stdin_kind;
	int stdin_fd; /* borrowed until the run is over */
	const struct run_file *files;
	size_t file_count;
	bool is_cold;     /* no zygote: this run pays for the start of Python */
	bool want_files;  /* give the bytes of new and changed files to the `file` call */
	bool keep_events; /* write every event and keep it in run->events */
	bool is_probe;    /* the code is viv's own probe of the host: no approval needed */
	const char *look; /* a question instead of code: JSON; `code` is its attachment */
	const char *root; /* for an explore: the name of a folder on another machine */

	/* ---- set by policy, session and admission ---- */

	bool is_command; /* the code is for the shell */
	struct box_kind kind;
	const struct runtime *guard_runtime; /* not NULL: check the code first, in a bare sandbox */
	const struct text_list *guard_block; /* names added to the guard's own list; may be NULL */
	const struct text_list *guard_allow; /* ... and taken from it */
	bool is_guard_strict;
	uint32_t timeout_ms;
	uint32_t timeout_max_ms; /* the policy's limit, for the remedy */
	uint64_t output_max;     /* bytes kept of each stream; 16 times as many end the run */
	uint64_t file_max;       /* bytes of one reported file; 0: default */
	uint32_t files_max;      /* count of reported files; 0: default 1000 */
	uint64_t result_max;     /* bytes of result, displays, tables each; 0: default */
	bool is_session;         /* the interpreter lives on, and so do threads and exit handlers */
	bool is_transactional;   /* ask the runner what blocks a checkpoint */
	struct log *log;         /* takes the events, which outlive us; NULL: run->events does */
	const char *id;          /* the run's id, if it already has one */
	bool is_forwarded;       /* another machine passed it to us: do not pass it on again */
	bool is_held;            /* the run waits for run_allow */
	uint32_t held_ms;        /* > 0: ... for so long; then it is denied */
};

/* The parameters of a run. The first row is {id} in the path of a session, which a run without a
 * session does not have; the first RUN_PARAMS_SESSION rows also hold for a run in a session. */
#define RUN_PARAMS_SESSION 14
#define RUN_PARAMS 23
extern const struct op_param run_params[RUN_PARAMS];

/* The bytes of a parameter that is never built as a tree; NULL: this parameter is not one of
 * them. */
const struct run_bytes *request_bytes(const struct run_request *request,
				      const struct op_param *param);

/* A parameter that is a list of texts, or of NAME=VALUE; NULL: not given. */
const char *const *request_texts(const struct run_request *request, const struct op_param *param);

/* Was this parameter given? */
bool request_has(const struct run_request *request, const struct op_param *param);

/* Appends the parameter's value as JSON text. Not for parameters that are bytes. */
int request_put(const struct run_request *request, const struct op_param *param, struct buf *buf);
