// SPDX-License-Identifier: Apache-2.0
/*
 * Attempt - what a wall must forbid, tried in a process of its own, with that wall and without
 *
 * Owns:    the room in which attempts happen: a user and a mount namespace with a root of its own
 *          that looks like a sandbox's, where the process holds every capability until a wall takes
 *          it. So a test is the same for root and for anyone else.
 * May not: put up a wall by itself: a test that passes without its wall proves nothing.
 */
#pragma once

#include "unit.h"
#include "walls/wall.h"

/* Runs in the room; calls put_up() where the wall belongs. Returns 0 or what errno said. */
typedef int attempt_act(struct walls_input *input, const struct wall *wall);

/* The result of act, -N when signal N ended it. Fails the test when the room or the wall fails. */
int attempt(attempt_act *act, const struct wall *wall);

/* In an act: puts the wall up, unless it is NULL; ends the attempt when it will not stand. */
void put_up(const struct wall *wall, const struct walls_input *input);

/* In an act: 0 when the call worked (returned 0 or more), else its errno. */
int tried(long result);

/* In an act: ends the attempt as a failure of the test itself, which `what` names. */
_Noreturn void give_up(const char *what);

/* Enters the room. What is in the way is on stderr when it returns a negative errno. */
int room_enter(void);

/* The input of the walls in a test: a plan of ordinary size, streams of our own, this kernel's
 * landlock, the real filter. */
void room_input(struct walls_input *ret_input);

/* Runs the tests, or says why no room can be made here and returns 77 (1 under VIV_MUST_RUN). */
int run_attempts(const char *name, const struct CMUnitTest *tests, size_t count);
