// SPDX-License-Identifier: Apache-2.0
/*
 * Answer - answers of the transport's own, and answers as plain text on the wire
 *
 * Owns:    the words in which a message is refused that never reached a caller (JSON, as every
 *          other error), and the text of a whole answer that libmicrohttpd cannot send any more.
 * May not: send anything.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

#define ANSWER_TYPE "application/json"

/* {"error":{"kind":...,"message":...}} for this status. */
void answer_error(struct buf *buf, unsigned status, const char *message);

/* Status line, headers and body; it always says `Connection: close`. */
void answer_text(struct buf *buf, unsigned status, const char *const *headers, const char *type,
		 const struct buf *body, bool has_body);
