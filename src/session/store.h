// SPDX-License-Identifier: Apache-2.0
/*
 * Store - states of sessions on disk, for when their sandbox is gone
 *
 * Owns:    the folder `states` of state_dir, an index of it in memory, and how much disk space all
 *          states, and those of one token, may take. Changes are atomic: after a kill, or on a full
 *          disk, the previous contents are still there.
 * May not: read a state. The bytes were made by code in a sandbox; they are only ever read in one.
 *          Follow a link, or use a name from outside as a path.
 *
 * On disk, below state_dir/states (all 0700 and 0600):
 *   ses_ID/meta       one JSON object: what the session is, its states, its files
 *   ses_ID/vars-CP    the variables of a state, as docs/protocol.md says
 *   ses_ID/files-N    a workspace; states between which no file changed share one
 *   ses_ID/new        a file being written: synced, then renamed
 *   ses_ID/next       the newest meta, which a power cut may damage; once synced, renamed to `meta`
 *   gone_ID/          a removed session, with an id of its own; store_tick deletes its files
 * A kill loses nothing that was written, a power cut nothing that has settled: a file is synced
 * before its rename, the meta before `next` becomes `meta`, and the folder after that. Files that
 * no meta names were left by a process that was killed; they are removed at the start.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include <sys/queue.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/id.h"

#define STORE_STATES_MAX 64U    /* of one session */
#define STORE_MISSING_MAX 4096U /* bytes of a list of what could not be written */
#define STORE_RECORD_MAX (1U << 20)

struct store;
struct store_sync;

/* `why` NULL: the bytes are on the disk. */
typedef void store_call(void *user, const struct err *why);

/* A workspace. */
struct store_files {
	uint64_t number, size;
	/* The session's files.version, in this process; 0: not known, or shared with a branch. */
	uint64_t version;
	char *missing; /* owned: JSON list of {"name","why"} */
	TAILQ_ENTRY(store_files) entry;
};

struct store_state {
	char id[ID_SIZE], parent[ID_SIZE], run[ID_SIZE];
	uint32_t not_kept;           /* states between the parent and this one that are gone */
	char *name;                  /* owned; NULL: unnamed, and dropped when room is short */
	char *missing;               /* owned: JSON list of {"name","why"} */
	uint64_t created_ms, memory; /* memory: bytes the session used then */
	uint64_t size;               /* of the variables */
	uint64_t files;              /* number of its workspace; 0: /workspace was empty */
	bool has_files;              /* false: its workspace was not written */
	TAILQ_ENTRY(store_state) entry;
};

/* The states of one session. */
struct stored {
	char id[ID_SIZE];
	struct store *store;
	char *token;  /* owned */
	char *record; /* owned: JSON text that describes the session */
	uint64_t next_number, dropped;
	/* The session's workspace as it was when it was written last, whatever state the session is
	 * at: the number of a store_files; 0: it was empty. */
	uint64_t workspace;
	bool has_workspace; /* false: it was never written, or only by an older version */
	TAILQ_HEAD(, store_files) files;
	TAILQ_HEAD(store_states, store_state) states; /* the oldest first */
	uint32_t count;
	uint64_t written,
		settling; /* how often the meta was written; the version being synced now */
	struct store_sync *meta, *file; /* borrowed: each frees itself; NULL: none is under way */
	bool is_folder_told;            /* the folder's own name was synced to the disk */
	store_call *settled, *synced;   /* NULL: nobody waits */
	void *settled_user, *synced_user;
	/* Called when a state is dropped, before the meta is written. NULL: nobody wants to
	 * know. */
	void (*dropping)(void *user, const struct store_state *state);
	/* Whether the session is at this state, or about to be: it is then never dropped to make
	 * room. NULL: the session could not be restored, and all of its states are needed. */
	bool (*is_needed)(void *user, const struct store_state *state);
	void *user; /* borrowed: of these two, until they are NULL */
	LIST_ENTRY(stored) entry;
};

/* `max`: bytes of all states; `token_max`: of those of one token. */
int store_open(uv_loop_t *loop, const char *state_dir, uint64_t max, uint64_t token_max,
	       struct store **ret_store, struct err *err);
void store_close(struct store *store);

/* Reads the folder, once, at the start, and calls `found` with each session's record. If `found`
 * returns false, the session could not be restored; it stays on disk, hidden. */
void store_scan(struct store *store,
		bool (*found)(void *user, struct stored *stored, const json_t *record), void *user);

/* Deletes a few of the removed files, and hides folders that could not be hidden before. To be
 * called regularly. */
void store_tick(struct store *store);

/* Makes the entry of a session. Its folder is made with its first file. */
struct stored *stored_new(struct store *store, const char *id, const char *token);

/* ERR_BUSY with ENOSPC: the disk has no room even for a small state. */
int store_check_room(const struct store *store, struct err *err);

/* Removes everything that is stored of the session. If its folder cannot be renamed, its meta is
 * unlinked, and store_tick tries again. */
void stored_remove(struct stored *stored);

/* `stored` NULL: nothing of the session is on disk. */
struct store_state *stored_find(const struct stored *stored, const char *id);
struct store_state *stored_last(const struct stored *stored);
struct store_files *stored_files(const struct stored *stored, uint64_t number);

/* The number of the session's workspace; 0: empty. If it was never written as such, that of the
 * state `at`, or of the newest state that has files. */
uint64_t stored_workspace(const struct stored *stored, const char *at);
uint64_t stored_bytes(const struct stored *stored); /* on disk, of the whole session */
/* Bytes on disk of one state with its files, which other states may share. */
uint64_t stored_state_bytes(const struct stored *stored, const struct store_state *state);

/* Begins a new file. Only one can be open at a time. */
int stored_begin(struct stored *stored, int *ret_fd, struct err *err);

/* Appends to it. `size` is its size so far. ERR_BUSY with ENOSPC: there is no room, on the disk or
 * in the token's share, not even if spare states were dropped. None is dropped before the whole
 * file has settled: stored_tidy does that. */
int stored_append(struct stored *stored, int fd, uint64_t size, const void *data, size_t more,
		  struct err *err);
void stored_abort(struct stored *stored, int *take_fd);

/* Syncs what was appended to the disk; `call` comes later. To be done before stored_end_*. */
int stored_sync(struct stored *stored, int fd, store_call *call, void *user, struct err *err);

/* The file is complete: it is a workspace, to which the next meta will refer, ... */
int stored_end_files(struct stored *stored, int *take_fd, struct store_files *take_files,
		     struct err *err);

/* ... or it is a state, which replaces the one with the same id. `record` describes the session as
 * it is now. `take_state` is consumed in any case. If the meta cannot be written, everything is as
 * it was before. */
int stored_end_state(struct stored *stored, int *take_fd, struct store_state *take_state,
		     const struct buf *record, struct err *err);
void store_state_free(struct store_state *state);

/* `call` comes, at once or later, when everything written of the session is on the disk, or could
 * not be synced. Only for what was written just now. */
void stored_settle(struct stored *stored, store_call *call, void *user);

/* Drops states without a name that no session needs while there are more than fit, the oldest of
 * this session first, then those of its token. Removes the workspaces that nothing refers to any
 * more. To be called when everything has settled: until then, the meta from before a power cut may
 * name them. */
void stored_tidy(struct stored *stored);

/* Cancels these calls: none comes after this. */
void stored_forget(struct stored *stored);

/* Write the meta again: after a new name, with a new record, without a state. */
int stored_write(struct stored *stored, struct err *err);
int stored_set_record(struct stored *stored, const struct buf *record, struct err *err);
int stored_drop(struct stored *stored, struct store_state *state, struct err *err);

/* Opens the bytes of a state, or of a workspace (`id` NULL). */
int stored_read(const struct stored *stored, const char *id, uint64_t number, int *ret_fd,
		uint64_t *ret_size, struct err *err);

/* The list `missing` from a look, cut to STORE_MISSING_MAX: JSON text that the caller frees. */
char *store_missing(const char *json, size_t size);
