// SPDX-License-Identifier: Apache-2.0
/*
 * Store state - the inside of the store, for store*.c alone
 *
 * Owns:    nothing of its own. store.c writes, store_room.c drops, store_scan.c opens,
 *          reads and sweeps.
 */
#pragma once

#include "session/store.h"

#define STORE_PREFIX "ses_"
#define STORE_GONE "gone_"
#define STORE_STATE "vars-"
#define STORE_FILES "files-"
#define STORE_META "meta"
#define STORE_NEW "new"
#define STORE_NEW_META "new-meta"
#define STORE_BLOCK 4096U /* what a file takes of a disk, at least, beside its bytes */
#define STORE_PATH_MAX 96 /* below the store's folder or a session's, with the NUL */

struct store {
	int dir; /* owned */
	uint64_t max, token_max;
	bool has_gone; /* something waits to be swept */
	LIST_HEAD(, stored) all;
};

/* Out of the index; what is on disk stays. */
void stored_free(struct stored *stored);

void store_state_name(const char *id, char ret_name[STORE_PATH_MAX]);
void store_files_name(uint64_t number, char ret_name[STORE_PATH_MAX]);

int store_open_dir(const struct stored *stored, int *ret_fd, struct err *err);

/* Drops states of the token, the oldest without a name first, until `more` bytes fit. */
int store_make_room(struct stored *stored, uint64_t more, struct err *err);

/* Drops one; and workspaces that no state names, but the one of number `but`. */
int store_drop_state(struct stored *stored, struct store_state *state, uint64_t but,
		     struct err *err);
void store_drop_files(struct stored *stored, int dir, uint64_t but);
