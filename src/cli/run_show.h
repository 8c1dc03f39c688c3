// SPDX-License-Identifier: Apache-2.0
/*
 * Run show - what `viv run` prints and writes of a run
 *
 * Owns:    stdout and stderr while a run is on, and the folder of --out.
 * May not: print a name or message of the run's making unescaped: only the code's own output passes
 *          as it is. Nor wait for a reader when a person has pressed Ctrl-C.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/out_dir.h"
#include "cli/screen.h"
#include "session/run.h"

enum show_mode {
	SHOW_PLAIN,  /* the code's output, its value, its traceback */
	SHOW_JSON,   /* one object at the end */
	SHOW_EVENTS, /* one object per line as it happens */
};

struct show {
	enum show_mode mode;
	const char *says;   /* in front of our own lines: "viv run: " */
	struct out_dir out; /* where dir >= 0 */
	const char *out_path;
	int signals;       /* borrowed: a signalfd that ends every wait; -1: none */
	bool is_cut;       /* somebody closed stdout, or a signal came while it was full */
	bool is_closed;    /* it was closed */
	bool ends_in_line; /* the last byte on stdout was a line's end, or there was none */
	uint32_t chart_count, written_count;
	struct buf files;       /* owned: a line for each file, when they are only named */
	struct buf refused;     /* owned: a line for each file that was not written, or the first of
				   them */
	uint32_t refused_count; /* ... and for how many there would be one */
	bool has_taken;         /* the name of one was taken */
	bool is_session;        /* files stay there; a remedy is in the words of `viv session` */
	void (*chart)(void *user, const char *value, size_t size); /* takes charts; may be NULL */
	void *chart_user;
	struct screen screens[2]; /* of stdout and stderr, where they are terminals */
	bool is_terminal[2];
	struct events_sink sink;
};

void show_init(struct show *show, enum show_mode mode, int signals);

/* Opens the folder of --out; `may_replace` is --overwrite. */
int show_open_out(struct show *show, const char *path, bool may_replace, struct err *err);
void show_done(struct show *show);

/* The calls of a run; their user is the show. */
extern const struct run_calls show_calls;

/* For SHOW_EVENTS: told of every event from the first on. */
void show_follow(struct show *show, struct run *run);

/* What is to be said at the end. Returns the exit status. */
int show_end(struct show *show, struct run *run);

/* For a run that happens in a daemon: the same, from the facts it told; a line of its events; and
 * any other bytes for stdout. */
int show_end_facts(struct show *show, const struct run_facts *facts);
void show_line(struct show *show, const char *line, size_t size);
void show_bytes(struct show *show, const void *bytes, size_t size);

/* One line of our own on stderr; control characters in it are escaped. */
void show_note(struct show *show, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* For SHOW_JSON and SHOW_EVENTS: {"error":...} on stdout for a run that never began. */
void show_refusal(struct show *show, const struct err *err);
