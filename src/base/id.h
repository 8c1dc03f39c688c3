// SPDX-License-Identifier: Apache-2.0
/*
 * Id - names for runs, sessions and checkpoints that cannot be guessed
 *
 * Owns:    their alphabet, length and randomness.
 * May not: carry meaning: no code ever parses an id.
 */
#pragma once

#define ID_SIZE 40

/* "<prefix>" + 26 characters of Crockford base32 (130 random bits), e.g. "run_3k...". */
void id_new(const char *prefix, char ret_id[ID_SIZE]);
