// SPDX-License-Identifier: Apache-2.0
/*
 * Store state - the inside of the store, for store*.c alone
 *
 * Owns:    nothing of its own. store.c writes, store_sync.c has it put on the disk, store_room.c
 *          drops, store_scan.c opens, reads and sweeps.
 */
#pragma once

#include "session/store.h"

#define STORE_PREFIX "ses_"
#define STORE_GONE "gone_"
#define STORE_STATE "vars-"
#define STORE_FILES "files-"
#define STORE_META "meta"
#define STORE_NEXT "next"
#define STORE_NEW "new"
#define STORE_NEW_META "new-meta"
#define STORE_BLOCK 4096U /* what a file takes of a disk, at least, beside its bytes */
#define STORE_PATH_MAX 96 /* below the store's folder or a session's, with the NUL */

struct store {
	uv_loop_t *loop; /* borrowed */
	int dir;         /* owned */
	uint32_t syncs;  /* that are on */
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

/* The meta was written: it goes to the disk from here on. */
void store_settle_meta(struct stored *stored);

/* Has a file or folder put on the disk. `call` comes with 0 or a negative errno, unless it is
 * taken away before (set to NULL). */
struct store_sync {
	uv_work_t work;
	struct store *store;
	int fd; /* owned */
	int r;
	void (*call)(void *user, int r);
	void *user;
};
struct store_sync *store_sync(struct store *store, int *take_fd, void (*call)(void *user, int r),
			      void *user);
