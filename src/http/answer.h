// SPDX-License-Identifier: Apache-2.0
/*
 * Answer - answers of the transport's own, and answers as plain text on the wire
 *
 * Owns:    the refusal of a message that never became a request (JSON, like every other error), and
 *          the text of a whole answer that libmicrohttpd can no longer send.
 * May not: send anything.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

#define ANSWER_TYPE "application/json"

/* Writes {"error":{"kind":...,"message":...}} for this status. */
void answer_error(struct buf *buf, unsigned status, const char *message);

/* Writes status line, headers and body; always with `Connection: close`. */
void answer_text(struct buf *buf, unsigned status, const char *const *headers, const char *type,
		 const struct buf *body, bool has_body);
