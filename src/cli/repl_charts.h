// SPDX-License-Identifier: Apache-2.0
/*
 * Repl charts - the charts of a repl, as files and on the terminal
 *
 * Owns:    the folder of the charts, made for the first one, and their numbers.
 * May not: let a sandbox send anything to the terminal but the base64 of an image.
 */
#pragma once

#include <stdint.h>

#include "cli/out_dir.h"
#include "session/result.h"

struct repl_charts {
	struct out_dir out; /* if dir >= 0 */
	const char *asked;  /* borrowed: --out; NULL: a new folder in $TMPDIR */
	char path[4096];    /* of the folder, once it exists */
	bool may_replace;
	bool is_broken; /* the folder could not be made; reported once */
	uint32_t count;
};

void repl_charts_init(struct repl_charts *charts, const char *folder, bool may_replace);
void repl_charts_done(struct repl_charts *charts);

/* Saves one chart, given as its JSON text, prints its path, and shows it if the terminal can. */
void repl_charts_take(void *charts, struct span chart);
