// SPDX-License-Identifier: Apache-2.0
/*
 * Conversation - a person's cells, notes and their outputs, kept on disk
 *
 * Owns:    the folder `conversations` of state_dir, an index of it in memory, versions, and how
 *          much one token may keep. A change is complete or absent: after a kill or on a full disk,
 *          the version before it is there.
 * May not: read a document (it counts the cells, no more), follow a link, use a name that came from
 *          outside as a path (a cell's is checked to the letter), or wait for a disk.
 *
 * A conversation outlives its session, of which it only has the id. It belongs to the token that
 * made it. If the config no longer has that token, the conversation stays on disk and is not shown.
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

/* Removes a few files of removed conversations. */
void conversations_tick(struct conversations *conversations);

/* The token's conversation with this id, or NULL. */
struct conversation *conversations_find(struct conversations *conversations, const char *token,
					const char *id);

/* Calls `each` for the token's conversations, the last changed one first. */
void conversations_each(struct conversations *conversations, const char *token,
			void (*each)(void *user, const struct conversation *conversation),
			void *user);

/* The new values; NULL: unchanged. The document is a JSON object that was checked. */
struct conversation_change {
	const char *name, *session; /* session "": none */
	const bool *has_sandbox;
	const void *document;
	size_t size;
};

/* Makes a conversation, with version 1. ERR_BUSY and ENOSPC: this token, or the disk, has no room.
 */
int conversation_new(struct conversations *conversations, const char *token,
		     const struct conversation_change *change,
		     struct conversation **ret_conversation, struct err *err);

/* Makes the version after `version`; ERR_CONFLICT if that is not the last one. */
int conversation_change(struct conversation *conversation, uint64_t version,
			const struct conversation_change *change, struct err *err);
int conversation_remove(struct conversation *conversation, struct err *err);

const char *conversation_id(const struct conversation *conversation);
const char *conversation_session(const struct conversation *conversation); /* "": none */
uint64_t conversation_version(const struct conversation *conversation);

/* Appends the conversation as native JSON, without its document and without the last brace. */
int conversation_put(const struct conversation *conversation, struct buf *buf);

/* Opens the document; later changes do not show in it. The descriptor is the caller's. */
int conversation_open(const struct conversation *conversation, int *ret_fd, uint64_t *ret_size,
		      struct err *err);

/* ---- outputs of cells: JSON that was checked ---- */

int conversation_open_output(const struct conversation *conversation, const char *cell, int *ret_fd,
			     uint64_t *ret_size, struct err *err);
int conversation_write_output(struct conversation *conversation, const char *cell, const void *data,
			      size_t size, struct err *err);
int conversation_remove_output(struct conversation *conversation, const char *cell,
			       struct err *err);
