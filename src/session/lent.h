// SPDX-License-Identifier: Apache-2.0
/*
 * Lent - memory that is charged to viv, and that code in a sandbox can hold on to
 *
 * Owns:    how it is taken back, the count of what cannot be, and the limit of that.
 * May not: take what is the code's: bytes are taken back when their run is over.
 *
 * No limit of the sandbox sees such memory. A payload's memfd is cut to nothing (payload.h), a pipe
 * is emptied; frames in a socket are out of our reach once its other end was handed out.
 */
#pragma once

#include <stdint.h>

#include "session/sandbox.h"

/* A sandbox that keeps more than this is ended. */
#define LENT_MAX (16ULL * MIB)

/* The end of a live stdin whose bytes are for the code still: the writing end is closed.
 * `ret_read` gets an end to empty it by, or -1. */
void lent_stdin_end(int *take_write, int *ret_read);

/* The run is over: what was not read of its stdin is taken back, by whichever end there is. */
void lent_stdin_back(struct sandbox *sandbox, int *take_write, int *take_read);

/* Our end of a channel is about to be closed: counts what its other end leaves unread. */
void lent_channel(struct sandbox *sandbox, int channel);

/* Counts bytes that the sandbox may keep for as long as it lives. */
void lent_count(struct sandbox *sandbox, uint64_t bytes);
