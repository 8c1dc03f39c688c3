// SPDX-License-Identifier: Apache-2.0
/*
 * Words - a daemon's refusal in the words of the command line
 *
 * Owns:    which flag fills which field, and what to type where the daemon names an operation.
 * May not: be asked where the answer is passed on as it is: see mcp_bridge.h.
 */
#pragma once

#include <jansson.h>

#include "base/buf.h"

/* Appends what `error` ({"message","remedy"?,"field"?}) says of a request to `path`. */
void client_put_words(struct buf *buf, const json_t *error, const char *path);
