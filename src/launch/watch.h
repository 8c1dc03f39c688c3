// SPDX-License-Identifier: Apache-2.0
/*
 * Watch - regular checks of file locks, and of changes in shown folders
 *
 * Owns:    how often to check, and which sandbox is to blame.
 * May not: wait: a check is a few reads. Nor end a sandbox with few locks, however many the host
 *          has.
 */
#pragma once

#include "launch/slots.h"

/* Milliseconds to the next check; -1: none is due. */
int watch_timeout(const struct outer *outer);
void watch_tick(struct outer *outer);

/* A run begins or ends: makes changes in the folders that it sees visible. */
void watch_refresh(struct outer *outer, const struct slot *slot);
