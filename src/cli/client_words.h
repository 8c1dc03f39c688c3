// SPDX-License-Identifier: Apache-2.0
/*
 * Words - a daemon's refusal in the words of the command line
 *
 * Owns:    which flag fills which field, and which command helps where the daemon names an op.
 * May not: be used where answers are passed on unchanged: see mcp_bridge.h.
 */
#pragma once

#include <jansson.h>

#include "base/buf.h"

/* Appends the text of `error` ({"message","remedy"?}), the answer to a request to `path`. */
void client_put_words(struct buf *buf, const json_t *error, const char *path);
