// SPDX-License-Identifier: Apache-2.0
/*
 * Shape - which types the members of a JSON value must have
 *
 * Owns:    the descriptions of what a sandbox or another machine reports (charts, tables, files),
 *          in the notation of api/schemas.c, and the check of a value against one. The API's
 *          schemas are made of the same descriptions.
 * May not: build a tree, or change a value: a value fits, or it does not.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define SHAPE_CHART                                                                                \
	"kind!:image|spec|plotly mime:text base64:text index:int scale:int data:any spec:any "     \
	"figure:any"
#define SHAPE_EXCEPTION "type:text message:text traceback:text line:int?"
#define SHAPE_FILE "path!:text size!:int mtime_ms:int mime:text? sha256:text? base64:text?"
#define SHAPE_LOST "name!:text why:text"
#define SHAPE_SAVED "base64!:text? names!:text[] lost!:@Lost[]"
#define SHAPE_TABLE                                                                                \
	"columns:any[] column_levels:text[][] column_names:any[] rows:any[][] total:int? "         \
	"dtypes:text[] decimals:any[] missing:object texts:object index:@TableIndex "              \
	"matched:int numbers:int[] handle:text live:bool changed:bool cut:bool as_of:text "        \
	"checkpoint_blocked_by:text"
#define SHAPE_TABLE_INDEX "names!:any[] dtypes!:text[] rows!:any[][] missing:object texts:object"

/* Does a valid JSON value fit `type`? If a name occurs twice, both members are checked: readers
 * differ in which one they take. Members without a description may be anything. */
bool shape_fits(const char *type, size_t type_size, const char *value, size_t size);
