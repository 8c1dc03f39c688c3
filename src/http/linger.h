// SPDX-License-Identifier: Apache-2.0
/*
 * Linger - a connection whose last answer must still arrive
 *
 * Owns:    the descriptor of a connection that libmicrohttpd is done with: writes what is left to
 *          write, closes our end, and discards what the client still sends, for a while.
 * May not: look at what it reads.
 *
 * close() on a socket with unread bytes sends a reset, and a reset makes the client lose data it
 * has not read yet (RFC 9112, section 9.6): the very answer that told it to stop.
 */
#pragma once

#include "http/http.h"

/* Consumes both. `take_text` may be empty. Closes at once when too many already linger. */
void linger_start(struct http *http, int *take_fd, struct buf *take_text);

/* Closes all of them. */
void lingers_end(struct http *http);
