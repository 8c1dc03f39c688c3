// SPDX-License-Identifier: Apache-2.0
/*
 * Watch - looks that nobody else takes: at file locks, and at what changes in folders that are
 * shown
 *
 * Owns:    how often, and which sandbox is meant.
 * May not: wait: a look is a few reads. It ends no sandbox that has few locks, however many the
 *          host has.
 */
#pragma once

#include "launch/slots.h"

/* Milliseconds to the next look; -1: none is due. */
int watch_timeout(const struct outer *outer);
void watch_tick(struct outer *outer);

/* A run begins or is over: what has changed in the folders that it sees is to be seen. */
void watch_refresh(struct outer *outer, const struct slot *slot);
