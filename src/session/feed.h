// SPDX-License-Identifier: Apache-2.0
/*
 * Feed - live stdin: copies what arrives on a descriptor into the sandbox's stdin
 *
 * Owns:    the writing end, and the bytes not yet written. Reads no more than the sandbox takes.
 * May not: change the source: a terminal's flags are shared with everybody who has it open.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/err.h"

struct feed {
	int from;         /* borrowed until feed_close; -1: closed */
	int to;           /* owned */
	bool is_pollable; /* a regular file is not: it is always ready */
	uv_poll_t from_poll, to_poll;
	uint8_t *data; /* owned, from feed_open to `closed`: hardly any run has a feed */
	size_t at, size;
	void (*closed)(void *user);
	void *user; /* borrowed until `closed` */
	int handles;
};

/* On success `closed` is called once, after the end of the source or feed_close. The struct must
 * stay valid until then. */
int feed_open(struct feed *feed, uv_loop_t *loop, int from, int *take_to,
	      void (*closed)(void *user), void *user, struct err *err);

/* Closes the feed: the sandbox reads end of file. Accepts a feed that is closed or was never
 * opened. */
void feed_close(struct feed *feed);
