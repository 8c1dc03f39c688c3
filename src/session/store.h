// SPDX-License-Identifier: Apache-2.0
/*
 * Store - states of sessions on disk, for the day their sandbox is gone
 *
 * Owns:    the folder `states` of state_dir, an index of it in memory, and how much of the disk all
 *          of it and the states of one token may take. A change is whole or not there: whoever is
 *          killed in between, or finds the disk full, leaves what was there before.
 * May not: read a state. The bytes were made by code in a sandbox; they are only ever read in one.
 *          Follow a link, or use a name from outside as a path.
 *
 * On disk, below state_dir/states (all 0700 and 0600):
 *   ses_ID/meta       one JSON object: what the session is, its states, its files
 *   ses_ID/vars-CP    the variables of a state, as docs/protocol.md says
 *   ses_ID/files-N    a workspace; states between which no file changed share one
 *   ses_ID/new        a file on its way: written, on the disk, then renamed
 *   ses_ID/next       the meta of a moment ago, which a power cut may damage: on its way to `meta`
 *   gone_ID/          removed; the ticks take it apart
 * A kill loses nothing that was written, a power cut nothing that has settled: the file's bytes are
 * on the disk before its rename, those of the meta before `next` becomes `meta`, and the folder
 * after that. What no meta names is left over from somebody who was
 * killed, and goes at the start.
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

/* `why` NULL: it is on the disk. */
typedef void store_call(void *user, const struct err *why);

/* A workspace. */
struct store_files {
	uint64_t number, size;
	uint64_t version; /* the session's own, in this process; 0: not known */
	char *missing;    /* owned: JSON list of {"name","why"} */
	TAILQ_ENTRY(store_files) entry;
};

struct store_state {
	char id[ID_SIZE], parent[ID_SIZE], run[ID_SIZE];
	char *name;                  /* owned; NULL: unnamed, and dropped when room is short */
	char *missing;               /* owned: JSON list of {"name","why"} */
	uint64_t created_ms, memory; /* memory: bytes the session had then */
	uint64_t size;               /* of the variables */
	uint64_t files;              /* number of its workspace; 0: that was empty */
	bool has_files;              /* false: the workspace of that moment could not be written */
	TAILQ_ENTRY(store_state) entry;
};

/* The states of one session. */
struct stored {
	char id[ID_SIZE];
	struct store *store;
	char *token;  /* owned */
	char *record; /* owned: JSON text of what the session is */
	uint64_t next_number, dropped;
	TAILQ_HEAD(, store_files) files;
	TAILQ_HEAD(store_states, store_state) states; /* the oldest first */
	uint32_t count;
	uint64_t written, settling; /* how often the meta was; and which of them is synced now */
	struct store_sync *meta, *file; /* borrowed: each frees itself; NULL: none is on */
	bool is_folder_told;            /* the folder's own name is on the disk */
	store_call *settled, *synced;   /* NULL: nobody waits */
	void *settled_user, *synced_user;
	LIST_ENTRY(stored) entry;
};

/* `max`: bytes of all; `token_max`: of one token. */
int store_open(uv_loop_t *loop, const char *state_dir, uint64_t max, uint64_t token_max,
	       struct store **ret_store, struct err *err);
void store_close(struct store *store);

/* Reads what is there, once, at the start: `found` with each session's record. False: nobody can
 * make it again; it stays on disk, unseen. */
void store_scan(struct store *store,
		bool (*found)(void *user, struct stored *stored, const json_t *record), void *user);

/* Sweeps a little: what is removed goes bit by bit. */
void store_tick(struct store *store);

/* The place of a session, made with the first file. */
struct stored *stored_new(struct store *store, const char *id, const char *token);

/* Everything of the session goes. */
void stored_remove(struct stored *stored);

struct store_state *stored_find(const struct stored *stored, const char *id);
struct store_state *stored_last(const struct stored *stored);
struct store_files *stored_files(const struct stored *stored, uint64_t number);
uint64_t stored_bytes(const struct stored *stored);

/* A new file; there is one at a time. */
int stored_begin(struct stored *stored, int *ret_fd, struct err *err);

/* Appends to it. `size` is what it had before. ERR_BUSY, ENOSPC: there is no room, on the disk or
 * in what the token may have; the oldest states without a name have gone by then. */
int stored_append(struct stored *stored, int fd, uint64_t size, const void *data, size_t more,
		  struct err *err);
void stored_abort(struct stored *stored, int *take_fd);

/* Has what was appended put on the disk; `call` comes later. To be done before the file ends. */
int stored_sync(struct stored *stored, int fd, store_call *call, void *user, struct err *err);

/* It is whole: a workspace (it is named by the next state), ... */
int stored_end_files(struct stored *stored, int *take_fd, struct store_files *take_files,
		     struct err *err);

/* ... or a state, in place of what there was under its id. `record` is what the session is now.
 * The state is taken in any case. */
int stored_end_state(struct stored *stored, int *take_fd, struct store_state *take_state,
		     const struct buf *record, struct err *err);
void store_state_free(struct store_state *state);
void store_files_free(struct store_files *files);

/* `call` comes, at once or later, when everything that was written of the session is on the disk,
 * or cannot be put there. Only for what was written just now. */
void stored_settle(struct stored *stored, store_call *call, void *user);

/* Nobody waits for any of these calls any more. */
void stored_forget(struct stored *stored);

/* Writes the meta again: a name, the record, a state that is to go. */
int stored_write(struct stored *stored, struct err *err);
int stored_set_record(struct stored *stored, const struct buf *record, struct err *err);
int stored_drop(struct stored *stored, struct store_state *state, struct err *err);

/* The bytes of a state, or of a workspace (id NULL). */
int stored_read(const struct stored *stored, const char *id, uint64_t number, int *ret_fd,
		uint64_t *ret_size, struct err *err);

/* The list of a look, cut to what is kept of it: JSON text, the caller's to free. */
char *store_missing(const char *json, size_t size);
