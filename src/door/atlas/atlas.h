// SPDX-License-Identifier: Apache-2.0
/*
 * Atlas - the sidecar of Atlas: bash over a folder, Python over a table
 *
 * Owns:    its routes, its limits, its messages. atlas.c has the routes, atlas_python.c how a run
 * is told, atlas_answer.c the words, atlas_boot.c what its environment decides. May not: run
 * anything: ops do.
 */
#pragma once

#include <sys/queue.h>

#include "api/exchange.h"
#include "door/escaped.h"

#define ATLAS_OUTPUT_MAX (1U << 20) /* bytes of each stream; of all that a stream route sends */
#define ATLAS_CHARTS_MAX 256
#define ATLAS_CUT "\\n[output truncated: exceeded 1 MB limit]" /* its own words, escaped */

/* One of the ten executions that a token may have at a time, on all its routes. */
struct atlas_place {
	bool is_taken;
	const struct config_token *token; /* borrowed; NULL: of callers without one */
	LIST_ENTRY(atlas_place) entry;
};

struct atlas {
	LIST_HEAD(, atlas_place) places; /* that are taken */
	const char *semantic_dir;        /* borrowed: from the config */
	const char *folder;              /* the same; NULL: only a sidecar has one */
	bool is_dir_meant;               /* somebody named it */
	const char *bash;                /* a constant; NULL: there is none */
};

struct atlas_chart {
	char *path, *base64; /* owned */
};

/* One /exec-python or /exec-python-stream. */
struct atlas_python {
	struct exchange *call;
	struct atlas_place *place;
	struct ask *ask; /* borrowed: until done; NULL: over */
	struct op_run_args args;
	uint64_t timeout_ms;
	bool is_stream;
	bool is_away; /* a sidecar does it */

	/* Everything as JSON text; out, err and error as the inside of a string. */
	struct buf out; /* of a stream: the line that is not whole yet */
	struct buf err;
	struct buf error, table, specs, figures;
	bool has_specs;
	struct atlas_chart charts[ATLAS_CHARTS_MAX];
	size_t chart_count;
	uint64_t told; /* bytes of the stream's events */
	bool is_over_limit;

	/* The verdict. */
	struct buf message;
	char kind[16];
	char number[16]; /* the exit code, as text */
	bool is_cut;     /* more was written than is kept */
	bool is_reduced; /* pictures, charts or a table are not all there: they are too large */
};

/* {"error": "..."} of a field, an exhausted limit and the like. */
void atlas_say(struct exchange *call, unsigned status, const char *text);

void atlas_run_python(struct exchange *call, bool is_stream);
void atlas_run_command(struct exchange *call);

/* POST /api/v1/explore, of Atlas's own API: one text for all that came of a command; and what it
 * says where `run` is not reached. */
void atlas_explore(struct exchange *call);
void atlas_explore_refuse(struct exchange *call, unsigned status, const struct err *err);

/* The member `timeout`: clamped, never refused. */
uint64_t atlas_timeout(struct exchange *call, uint64_t initial_ms, uint64_t min_ms,
		       uint64_t max_ms);

/* The words of an end that is no success, as the inside of a string, behind what is in `buf`. */
int atlas_put_error(const struct atlas_python *python, struct buf *buf);

/* The PythonResult of a run that is over. */
int atlas_put_result(struct atlas_python *python, struct buf *buf);

/* What the environment of `viv serve --dialect atlas` says, into the config. */
int atlas_boot(struct config *config, struct err *err);

/* An execution is over: its place is free. May come twice. */
void atlas_leave(struct atlas_place *place);
