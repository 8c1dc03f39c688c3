// SPDX-License-Identifier: Apache-2.0
/*
 * Repl charts - the charts of a repl, as files and on the terminal
 *
 * Owns:    the folder they go to, made when the first one comes, and their numbers.
 * May not: let a sandbox speak to the terminal: of an image only its base64 is passed on.
 */
#pragma once

#include <stdint.h>

#include "cli/out_dir.h"

struct repl_charts {
	struct out_dir out; /* where dir >= 0 */
	const char *asked;  /* borrowed: --out; NULL: a new folder in $TMPDIR */
	char path[4096];    /* of the folder, once it is there */
	bool may_replace;
	bool is_broken; /* it could not be made; said once */
	uint32_t count;
};

void repl_charts_init(struct repl_charts *charts, const char *folder, bool may_replace);
void repl_charts_done(struct repl_charts *charts);

/* One chart, given as its JSON text: saved, its path printed, and shown where the terminal can. */
void repl_charts_take(void *charts, const char *value, size_t size);
