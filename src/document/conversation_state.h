// SPDX-License-Identifier: Apache-2.0
/*
 * Conversation state - the inside of conversations, for conversation*.c alone
 *
 * Owns:    nothing of its own. conversation.c has the index and the rules, conversation_disk.c the
 *          files, conversation_scan.c reads them at the start and sweeps, conversation_output.c
 *          keeps outputs of cells.
 *
 * On disk, below state_dir/conversations (all 0700 and 0600):
 *   cnv_ID/meta         one JSON object: everything but the document, and the document's N
 *   cnv_ID/document-N   the document as it came, N the version that brought it
 *   cnv_ID/output-CELL  the output of a cell
 *   cnv_ID/new          a file that is being written; then it is renamed
 *   gone_ID/            a removed conversation, until the ticks have removed its files
 * A change writes the document first and then renames the meta that names it: that rename makes
 * the change. A file that no meta names was left by a daemon that was killed.
 */
#pragma once

#include <sys/queue.h>

#include "document/conversation.h"

#define CONVERSATION_BUCKETS 1024U
#define CONVERSATION_PREFIX "cnv_"
#define CONVERSATION_GONE "gone_"
#define CONVERSATION_OUTPUT "output-"
#define CONVERSATION_DOCUMENT "document-"
#define CONVERSATION_PATH_MAX 96 /* below its folder or ours, with the NUL */

/* The owner of conversations, and how much they take. */
struct conversation_owner {
	char *token; /* owned */
	uint32_t count;
	uint64_t bytes;
	TAILQ_HEAD(, conversation) list; /* the last that was changed first */
	LIST_ENTRY(conversation_owner) entry;
};

struct conversation {
	char id[ID_SIZE];
	char name[CONVERSATION_NAME_MAX + 1];
	char session[ID_SIZE]; /* "": none */
	bool has_sandbox;
	uint64_t cells, version, created_ms, changed_ms;
	uint64_t document; /* the version that brought it */
	uint64_t size;     /* bytes of it */
	uint64_t outputs;  /* bytes of all, in blocks */
	struct conversations *table;
	struct conversation_owner *owner;
	TAILQ_ENTRY(conversation) entry;
	LIST_ENTRY(conversation) bucket;
};

struct conversations {
	int dir; /* owned */
	LIST_HEAD(, conversation_owner) owners;
	LIST_HEAD(, conversation) buckets[CONVERSATION_BUCKETS];
	bool has_gone;       /* something waits to be swept */
	uint64_t changed_ms; /* of the latest change */
};

/* ---- conversation.c ---- */

/* Adds the conversation to the index, behind the others of its owner. */
void conversation_add(struct conversation *conversation, const char *token);

/* The least space that a file of this size takes on disk. */
uint64_t conversation_blocks(uint64_t size);

/* Is there room for `more` instead of `less`? ERR_BUSY, ENOSPC. */
int conversation_room(const struct conversation_owner *owner, uint64_t more, uint64_t less,
		      struct err *err);

/* Is this the prefix and an id, and nothing else? */
bool conversation_is_id(const char *prefix, const char *text);

/* ---- conversation_disk.c ---- */

/* Opens a conversation's folder; `name` is ours or was checked. No link is followed. */
int conversation_dir(const struct conversations *conversations, const char *name, int *ret_fd,
		     struct err *err);

/* Writes the file `name`; on failure it is as it was before. */
int conversation_write(int dir, const char *name, const void *data, size_t size, struct err *err);

/* Opens a regular file for reading, and tells its size. */
int conversation_read(int dir, const char *name, int *ret_fd, uint64_t *ret_size, struct err *err);

int conversation_write_meta(const struct conversation *conversation, int dir, struct err *err);
int conversation_read_meta(struct conversation *conversation, int dir, char **ret_token,
			   struct err *err);

void conversation_document_name(uint64_t document, char ret_name[CONVERSATION_PATH_MAX]);

/* Renames a folder to gone_ID: it is out of sight at once, and the ticks remove its files. */
int conversation_discard(struct conversations *conversations, const char *id, struct err *err);

/* ---- conversation_scan.c ---- */

int conversations_scan(struct conversations *conversations, struct err *err);
