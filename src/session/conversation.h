// SPDX-License-Identifier: Apache-2.0
/*
 * Conversation - what a person keeps of the talk with a sandbox: cells, notes, what they showed
 *
 * Owns:    the folder `conversations` of state_dir, an index of it in memory, versions, and how
 *          much one token may keep. A change is whole or not there: whoever is killed in between,
 *          or finds the disk full, leaves the version before it.
 * May not: read a document (it counts the cells, no more), follow a link, use a name that came from
 *          outside as a path (a cell's is checked to the letter), or wait for a disk.
 *
 * It outlives its session: that is only a name it remembers. It belongs to the token that made it;
 * those of a token that the config no longer has stay where they are, and nobody sees them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/id.h"

#define CONVERSATION_NAME_MAX 200
#define CONVERSATION_DOCUMENT_MAX (4U << 20)
#define CONVERSATION_OUTPUT_MAX (4U << 20)
#define CONVERSATION_OUTPUTS_MAX (64ULL << 20) /* of one conversation */
#define CONVERSATION_CELL_MAX 64               /* bytes of a cell's name */
#define CONVERSATION_COUNT_MAX 10000U          /* of one token */
#define CONVERSATION_BYTES_MAX (1ULL << 30)    /* of one token, in blocks of a disk */

struct conversation;
struct conversations;

/* Reads the index, and notes what a killed process left half done, for the ticks to sweep. */
int conversations_open(const char *state_dir, struct conversations **ret_conversations,
		       struct err *err);
void conversations_close(struct conversations *conversations);

/* Sweeps a little: what is removed goes bit by bit. */
void conversations_tick(struct conversations *conversations);

/* The one of this token, or NULL. */
struct conversation *conversations_find(struct conversations *conversations, const char *token,
					const char *id);

/* Those of this token, the last that was changed first. */
void conversations_each(struct conversations *conversations, const char *token,
			void (*each)(void *user, const struct conversation *conversation),
			void *user);

/* What is to be different; NULL: stays. The document is a JSON object that was checked. */
struct conversation_change {
	const char *name, *session; /* session "": none */
	const bool *has_sandbox;
	const void *document;
	size_t size;
};

/* A new one, with version 1. ERR_BUSY and ENOSPC: this token, or the disk, has no room. */
int conversation_new(struct conversations *conversations, const char *token,
		     const struct conversation_change *change,
		     struct conversation **ret_conversation, struct err *err);

/* The version after `version`; ERR_CONFLICT when that is not the last one. */
int conversation_change(struct conversation *conversation, uint64_t version,
			const struct conversation_change *change, struct err *err);
int conversation_remove(struct conversation *conversation, struct err *err);

const char *conversation_id(const struct conversation *conversation);
const char *conversation_session(const struct conversation *conversation); /* "": none */
uint64_t conversation_version(const struct conversation *conversation);

/* Appends it as native JSON, without its document and without the last brace. */
int conversation_put(const struct conversation *conversation, struct buf *buf);

/* The document as it is now, whatever comes later. The descriptor is the caller's. */
int conversation_open(const struct conversation *conversation, int *ret_fd, uint64_t *ret_size,
		      struct err *err);

/* ---- what a cell showed: JSON that was checked ---- */

/* Can this be the name of a cell? */
bool conversation_is_cell(const char *cell);

int conversation_open_output(const struct conversation *conversation, const char *cell, int *ret_fd,
			     uint64_t *ret_size, struct err *err);
int conversation_write_output(struct conversation *conversation, const char *cell, const void *data,
			      size_t size, struct err *err);
int conversation_remove_output(struct conversation *conversation, const char *cell,
			       struct err *err);
