// SPDX-License-Identifier: Apache-2.0
/*
 * Run show - what `viv run` prints and writes about a run
 *
 * Owns:    stdout and stderr during a run, and the folder of --out.
 * May not: print a name or message that comes from the run unescaped: only the code's own output is
 *          passed through. Nor wait for a slow reader after Ctrl-C.
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
	struct out_dir out; /* if dir >= 0 */
	const char *out_path;
	const char *data;  /* borrowed: the file of --data, named if it is unreadable; NULL: none */
	int signals;       /* borrowed: a signalfd that ends every wait; -1: none */
	bool is_cut;       /* stdout was closed, or a signal came while it was full */
	bool is_closed;    /* stdout was closed */
	bool ends_in_line; /* the last byte on stdout was a newline, or nothing was printed */
	uint32_t chart_count, file_count, written_count;
	struct buf files;       /* owned: a line for each file, when files are only listed */
	struct buf refused;     /* owned: a line for each of the first files not written */
	uint32_t refused_count; /* the number of all files not written */
	bool has_taken;         /* a file was not written because its name is taken */
	bool has_failed;        /* a file was not written for another reason, like a full disk */
	bool has_unsent;        /* a file was not written because no daemon returns so much */
	char sent[OUT_PATH_MAX + 1]; /* the last file whose bytes came; "": none */
	const char *session; /* borrowed: files stay in it, remedies name it; NULL: one run */
	bool is_daemon;      /* a daemon did the run */
	void (*chart)(void *user, struct span chart); /* receives charts; NULL: `out` does */
	void *chart_user;
	struct screen screens[2]; /* of stdout and stderr, where they are terminals */
	bool is_terminal[2];
	struct events_sink sink;
};

void show_init(struct show *show, enum show_mode mode, int signals);

/* Opens the folder of --out; `may_replace` is --overwrite. */
int show_open_out(struct show *show, const char *path, bool may_replace, struct err *err);
void show_done(struct show *show);

/* The callbacks for a run; `user` is the show. */
extern const struct run_calls show_calls;

/* For SHOW_EVENTS: prints every event, from the first on. */
void show_follow(struct show *show, struct run *run);

/* Prints what the mode shows at the end of a run. Returns the exit status. */
int show_end(struct show *show, struct run *run);

/* For a run in a daemon: the same, from the facts that the daemon told; one line of its events; any
 * other bytes for stdout. */
int show_end_facts(struct show *show, const struct run_facts *facts);
void show_line(struct show *show, const char *line, size_t size);
void show_bytes(struct show *show, const void *bytes, size_t size);

/* Prints one line of our own on stderr; control characters in it are escaped. */
void show_note(struct show *show, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* For SHOW_JSON and SHOW_EVENTS: prints {"error":...} on stdout for a run that never began. */
void show_refusal(struct show *show, const struct err *err);
