// SPDX-License-Identifier: Apache-2.0
/*
 * Param - one thing that a client can give, as a row
 *
 * Owns:    the types of values, and what a row says about a parameter. Parsing, checks, OpenAPI,
 *          tools, flags and every help text come from rows.
 * May not: know who asks, or through which door.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In brackets: the field of the op's args struct that the door fills. Absent: NULL, 0, unset. */
enum op_type {
	OP_TEXT,  /* [const char *] no NUL inside */
	OP_BYTES, /* [struct run_bytes] a text of any length: code, stdin */
	OP_JSON,  /* [struct run_bytes] any JSON value, never built as a tree */
	OP_MS,    /* [uint64_t] an integer; on the command line also "30s" */
	OP_SIZE,  /* [uint64_t] an integer, or "512MiB" */
	OP_COUNT, /* [uint64_t] */
	OP_CPUS,  /* [uint64_t] thousandths: 1.5 is 1500 */
	OP_BOOL,  /* [enum op_bool] */
	OP_TEXTS, /* [const char *const *] a list of texts, NULL-terminated */
	OP_PAIRS, /* [const char *const *] an object of texts as "K=V", NULL-terminated */
	OP_TABLE, /* [struct run_bytes] {columns, rows} or a list of objects, never built as a tree
		   */
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
	const char *help; /* one sentence without a full stop */
	enum op_in in;
	size_t offset; /* of the field in the args struct */
	bool is_required;
	bool takes_null;     /* for a text: null means "", which is not the same as absent */
	uint64_t min, max;   /* of a number; `max` also of a text, in bytes; max 0: any */
	uint64_t initial;    /* the default of a number */
	const char *choices; /* "a|b|c": a text must be one of these; NULL: any */

	/* Only for a parameter of a run (session/request.c). */
	const char *flag;  /* of `viv run`; NULL: none, or one with a syntax of its own */
	char letter;       /* ... its short form; 0: none */
	const char *value; /* what the help calls the flag's value */
	const char *
		meta; /* its member in the RUN frame; NULL: payload.c sends it, or it is not sent */
	bool is_own;  /* body.c writes it in its own way */
	bool is_here; /* only for a run that is done on this host */
	bool is_unshown; /* a person who allows the run need not see it */
};

#define OP_PARAM(args, field, ...) .offset = offsetof(args, field), __VA_ARGS__
