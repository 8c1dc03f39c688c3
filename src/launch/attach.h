// SPDX-License-Identifier: Apache-2.0
/*
 * Attach - which viv we serve, and what outlives it
 *
 * Owns:    the listening socket, the one client, and what is kept for the next one: sandboxes with
 * a name, their descriptors, and exits that may not have been heard. May not: look into what is
 * kept: names and descriptors are the client's.
 *
 * Without a listening socket there is one client for life, and nothing is kept.
 */
#pragma once

#include "launch/slots.h"

/* Is somebody else's turn over? Accepts, or refuses, a connection that waits. */
void attach_accept(struct outer *outer);

/* The client is gone: ends what nobody keeps. False: so do we. */
bool attach_lost(struct outer *outer);

/* Says HELLO to a client that waits, once all of the last one's is gone. */
void attach_tick(struct outer *outer);

/* How long the loop may sleep, in ms; -1 for ever. */
int attach_timeout(const struct outer *outer);

/* Has nobody come back in time? */
bool attach_is_over(const struct outer *outer);

/* The first words to a client, when nothing could be started: `err` says why. Waits for one. */
void attach_refuse_first(struct outer *outer, const struct err *err);

/* KEEP: the sandbox outlives its client; without descriptors, it no longer does. */
void attach_keep(struct outer *outer, struct slot *slot, const struct launch_keep *keep,
		 int *take_fds, size_t fd_count);

/* An exit was told; it is told again to the next client, which may not know it. */
void attach_note_exit(struct slot *slot, const struct launch_exit *facts);
void attach_forget_exit(struct slot *slot, uint32_t head);

/* The sandbox is gone; the next client is told so, unless its number is used again before. */
void attach_note_gone(struct outer *outer, struct slot *slot, const struct err *err);

/* Forgets all that is kept of a slot. */
void attach_forget(struct slot *slot);
