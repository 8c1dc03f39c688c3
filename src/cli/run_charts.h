// SPDX-License-Identifier: Apache-2.0
/*
 * Run charts - a chart as a file
 *
 * Owns:    which bytes of a chart make its file, and what that is called.
 * May not: use a name from inside: files are chart-1.png, chart-2.json, ... by number and kind.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "cli/out_dir.h"

/* Was it saved below /workspace? Then it comes as a file, too. */
bool run_chart_is_file(const char *value, size_t size);

/* Writes chart number `number`, given as its JSON text; *ret_name is its name in the folder. */
int run_chart_write(struct out_dir *out, uint32_t number, const char *value, size_t size,
		    char *ret_name, size_t name_size, struct err *err);
