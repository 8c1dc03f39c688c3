// SPDX-License-Identifier: Apache-2.0
/*
 * Lent - memory that is charged to viv, and that code in a sandbox can hold on to
 *
 * Owns:    how such memory is taken back, the count of what cannot be, and the limit of that count.
 * May not: take bytes that the code may still read: they are taken back when their run is over.
 *
 * The sandbox's limits do not count such memory. A payload's memfd is truncated (payload.h), a pipe
 * is emptied; frames in a socket are out of our reach once its other end was handed out.
 */
#pragma once

#include <stdint.h>

#include "session/sandbox.h"

/* A sandbox that keeps more than this is ended. */
#define LENT_MAX (16ULL * MIB)

/* Closes the writing end of a live stdin whose bytes the code may still read. `ret_read` gets an
 * end to empty the pipe with, or -1. */
void lent_stdin_end(int *take_write, int *ret_read);

/* The run is over: takes back what was not read of its stdin, with whichever end is open. */
void lent_stdin_back(struct sandbox *sandbox, int *take_write, int *take_read);

/* Our end of a channel is about to be closed: counts the bytes that the other end has not read. */
void lent_channel(struct sandbox *sandbox, int channel);
