// SPDX-License-Identifier: Apache-2.0
/*
 * Run charts - a chart as a file
 *
 * Owns:    which bytes of a chart make its file, and the file's name.
 * May not: use a name from the sandbox: files are called chart-1.png, chart-2.json, ...
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "cli/out_dir.h"
#include "session/result.h"

/* True for a chart that was saved below /workspace: it also comes as a file. */
bool run_chart_is_file(struct span chart);

/* Writes chart number `number`; *ret_name is its name in the folder. */
int run_chart_write(struct out_dir *out, uint32_t number, struct span chart, char *ret_name,
		    size_t name_size, struct err *err);
