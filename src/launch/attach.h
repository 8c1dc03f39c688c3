// SPDX-License-Identifier: Apache-2.0
/*
 * Attach - which viv we serve, and what outlives it
 *
 * Owns:    the listening socket, the one client, and what is kept for the next one: sandboxes with
 *          a name, their descriptors, and exits that the client may not have received.
 * May not: interpret what is kept: names and descriptors are the client's. While no client is
 *          attached, only the sizes and kinds of a head's frames are read, to see the end of its
 *          run.
 *
 * Without a listening socket there is one client for life, and nothing is kept.
 */
#pragma once

#include "launch/slots.h"

/* Accepts or refuses a waiting connection, once the previous client's turn is over. */
void attach_accept(struct outer *outer);

/* The client has left: ends everything that is not kept. False: launch must end, too. */
bool attach_lost(struct outer *outer);

/* Sends HELLO to a waiting client once everything of the previous one has ended. */
void attach_tick(struct outer *outer);

/* How long the loop may sleep, in ms; -1 for ever. */
int attach_timeout(const struct outer *outer);

/* Has no client come back in time? */
bool attach_is_over(const struct outer *outer);

/* Waits for a client and tells it in `err` why launch could not start. */
void attach_refuse_first(struct outer *outer, const struct err *err);

/* KEEP: the sandbox outlives its client; called without descriptors, it no longer does. */
void attach_keep(struct outer *outer, struct slot *slot, const struct launch_keep *keep,
		 int *take_fds, size_t fd_count);

/* Remembers an exit that was sent, to repeat it to the next client, which may not know it. */
void attach_note_exit(struct slot *slot, const struct launch_exit *facts);
void attach_forget_exit(struct slot *slot, uint32_t head);

/* Is no client attached, while the next one may still come? */
bool attach_is_away(const struct outer *outer);

/* Has the head announced the end of its run in frames that no client has read yet? The head may
 * lie; the next client decides. */
bool attach_has_done(const struct head *head);

/* A head whose exit was noted has just ended: its descriptors, and the bytes left in them, are kept
 * for the next client until its number is used again. */
void attach_keep_dead(struct head *head);

/* The sandbox has ended; the next client is told so, unless this one forgets it first. */
void attach_note_gone(struct slot *slot, const struct err *err);

/* Drops everything that is kept of a slot. */
void attach_forget(struct slot *slot);
