// SPDX-License-Identifier: Apache-2.0
/*
 * Atlas - the sidecar of Atlas: bash over a folder, Python over a table
 *
 * Owns:    its routes, limits and messages. atlas.c has the routes, atlas_python.c Python runs,
 *          atlas_answer.c the wording, atlas_boot.c what the environment decides.
 * May not: run anything: ops do.
 */
#pragma once

#include <sys/queue.h>

#include "api/exchange.h"
#include "door/escaped.h"
#include "policy/config.h"

/* atlas_config.c: dialects.atlas */
struct atlas_config {
	struct config_door door;
	char *semantic_dir, *policy;
	uint64_t data_max;
};

extern const struct config_part atlas_config;
extern const struct config_sidecar_words atlas_words;

#define ATLAS_OUTPUT_MAX (1U << 20) /* bytes of each stream, or of all events of a stream route */
#define ATLAS_CHARTS_MAX 256
#define ATLAS_CUT "\\n[output truncated: exceeded 1 MB limit]" /* Atlas's own wording, escaped */

/* One of the ten executions that a token may have at a time, over all routes. */
struct atlas_place {
	bool is_taken;
	const struct config_token *token; /* borrowed; NULL: callers without a token */
	LIST_ENTRY(atlas_place) entry;
};

struct atlas {
	LIST_HEAD(, atlas_place) places; /* only the taken ones */
	const char *semantic_dir;        /* borrowed: from the config */
	const char *folder;              /* the same; NULL: only the sidecar has the folder */
	bool is_dir_meant;               /* the config or the environment names it */
	const char *bash;                /* a constant; NULL: bash is not installed */
};

struct atlas_chart {
	char *path, *base64; /* owned */
};

/* One /exec-python or /exec-python-stream. */
struct atlas_python {
	struct exchange *call;
	struct atlas_place *place;
	struct run_request args;
	uint64_t timeout_ms;
	bool is_stream;
	bool is_away; /* it runs in a sidecar */

	/* Everything as JSON text; out, err and error as the inside of a string. */
	struct buf out; /* for a stream route: the current, unfinished line */
	struct buf err;
	struct buf error, table, specs, figures;
	bool has_specs;
	struct atlas_chart charts[ATLAS_CHARTS_MAX];
	size_t chart_count;
	uint64_t told; /* bytes counted so far for a stream route */
	bool is_over_limit;

	/* The verdict. */
	struct buf message;
	char kind[16];
	char number[16]; /* the exit code, as text */
	bool is_cut;     /* stdout was cut */
	bool is_reduced; /* pictures, charts or a table were too large and left out */
};

/* Answers {"error": "..."}, for a wrong field, an exhausted limit and the like. */
void atlas_say(struct exchange *call, unsigned status, const char *text);

void atlas_run_python(struct exchange *call, bool is_stream);
void atlas_run_command(struct exchange *call);

/* POST /api/v1/explore, of Atlas's own API: the whole outcome of a command as one text; and its
 * refusals when `run` is not reached. */
void atlas_explore(struct exchange *call);
void atlas_explore_refuse(struct exchange *call, unsigned status, const struct err *err);

/* The member `timeout`, clamped to the range, never refused. */
uint64_t atlas_timeout(struct exchange *call, uint64_t initial_ms, uint64_t min_ms,
		       uint64_t max_ms);

/* Appends the error text of a run that failed, escaped for the inside of a JSON string. */
int atlas_put_error(const struct atlas_python *python, struct buf *buf);

/* Appends the PythonResult of a finished run. */
int atlas_put_result(struct atlas_python *python, struct buf *buf);

/* Copies the environment of `viv serve --dialect atlas` into the config. */
int atlas_boot(struct config *config, struct err *err);

/* Frees the place of an execution that is over. May be called twice. */
void atlas_leave(struct atlas_place *place);
