// SPDX-License-Identifier: Apache-2.0
#include "document/conversation.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/c.h"
#include "base/json.h"
#include "base/log.h"
#include "document/conversation_state.h"

#define ID_LETTERS "0123456789abcdefghjkmnpqrstvwxyz" /* base/id.c's */
#define ID_LENGTH 26
#define BLOCK 4096U
#define FIRST_DOCUMENT "{\"cells\":[]}"

/* ---- index ---- */

bool conversation_is_id(const char *prefix, const char *text)
{
	size_t size = strlen(prefix);

	return strncmp(text, prefix, size) == 0 && strlen(text + size) == ID_LENGTH &&
	       strspn(text + size, ID_LETTERS) == ID_LENGTH;
}

static size_t bucket_of(const char *id)
{
	size_t sum = 5381;

	for (; *id != '\0'; id++)
		sum = sum * 33 + (unsigned char)*id;
	return sum % CONVERSATION_BUCKETS;
}

static struct conversation_owner *find_owner(struct conversations *conversations, const char *token)
{
	struct conversation_owner *owner = NULL;

	LIST_FOREACH(owner, &conversations->owners, entry) {
		if (strcmp(owner->token, token) == 0)
			return owner;
	}
	return NULL;
}

/* The owner with this token; makes one if there is none. */
static struct conversation_owner *conversation_owner(struct conversations *conversations,
						     const char *token)
{
	struct conversation_owner *owner = find_owner(conversations, token);

	if (owner != NULL)
		return owner;
	owner = xnew(struct conversation_owner);
	owner->token = xstrdup(token);
	TAILQ_INIT(&owner->list);
	LIST_INSERT_HEAD(&conversations->owners, owner, entry);
	return owner;
}

uint64_t conversation_blocks(uint64_t size)
{
	return (size + BLOCK - 1) / BLOCK * BLOCK;
}

/* The disk space that a conversation takes, with one block for its meta. */
static uint64_t bytes_of(const struct conversation *conversation)
{
	return BLOCK + conversation_blocks(conversation->size) + conversation->outputs;
}

void conversation_add(struct conversation *conversation, const char *token)
{
	struct conversations *table = conversation->table;
	struct conversation_owner *owner = conversation_owner(table, token);

	conversation->owner = owner;
	owner->count++;
	owner->bytes += bytes_of(conversation);
	TAILQ_INSERT_TAIL(&owner->list, conversation, entry);
	LIST_INSERT_HEAD(&table->buckets[bucket_of(conversation->id)], conversation, bucket);
}

static void drop(struct conversation *conversation)
{
	struct conversation_owner *owner = conversation->owner;

	owner->count--;
	owner->bytes -= bytes_of(conversation);
	TAILQ_REMOVE(&owner->list, conversation, entry);
	LIST_REMOVE(conversation, bucket);
	free(conversation);
}

int conversation_room(const struct conversation_owner *owner, uint64_t more, uint64_t less,
		      struct err *err)
{
	if (more <= less || owner->bytes - less + more <= CONVERSATION_BYTES_MAX)
		return 0;
	return err_set(
		err, ERR_BUSY, ENOSPC,
		"the conversations of one token may take %llu MiB, and these do; delete some",
		CONVERSATION_BYTES_MAX >> 20);
}

struct conversation *conversations_find(struct conversations *conversations, const char *token,
					const char *id)
{
	struct conversation *conversation = NULL;

	LIST_FOREACH(conversation, &conversations->buckets[bucket_of(id)], bucket) {
		if (strcmp(conversation->id, id) == 0 &&
		    strcmp(conversation->owner->token, token) == 0)
			return conversation;
	}
	return NULL;
}

void conversations_each(struct conversations *conversations, const char *token,
			void (*each)(void *user, const struct conversation *conversation),
			void *user)
{
	const struct conversation_owner *owner = find_owner(conversations, token);
	const struct conversation *conversation = NULL;

	if (owner == NULL)
		return;
	TAILQ_FOREACH(conversation, &owner->list, entry)
		each(user, conversation);
}

/* ---- changes ---- */

/* The number of elements of a list that is valid JSON: its commas, plus one. */
static uint64_t count_elements(const char *list, size_t size)
{
	uint64_t count = 0;
	size_t depth = 0;
	bool is_text = false, is_empty = true;

	for (size_t i = 0; i < size; i++) {
		char c = list[i];

		is_empty = is_empty && (i == 0 || i + 1 == size || strchr(" \t\r\n", c) != NULL);
		if (is_text && c == '\\')
			i++;
		else if (c == '"')
			is_text = !is_text;
		else if (!is_text && (c == '[' || c == '{'))
			depth++;
		else if (!is_text && (c == ']' || c == '}'))
			depth--;
		else if (!is_text && c == ',' && depth == 1)
			count++;
	}
	return is_empty ? 0 : count + 1;
}

static uint64_t count_cells(const void *document, size_t size)
{
	const char *cells = NULL;
	size_t cells_size = 0;

	if (!json_find(document, size, "cells", &cells, &cells_size) || cells[0] != '[')
		return 0;
	return count_elements(cells, cells_size);
}

static int check(const struct conversation_change *change, struct err *err)
{
	if (change->name != NULL && strlen(change->name) > CONVERSATION_NAME_MAX)
		return err_field(err, ERR_BAD_REQUEST, EINVAL, "name", "longer than %d bytes",
				 CONVERSATION_NAME_MAX);
	if (change->session != NULL && change->session[0] != '\0' &&
	    !conversation_is_id("ses_", change->session))
		return err_field(err, ERR_BAD_REQUEST, EINVAL, "session", "is no id of a session");
	if (change->size > CONVERSATION_DOCUMENT_MAX)
		return err_field(err, ERR_TOO_LARGE, EMSGSIZE, "document", "larger than %u MiB",
				 CONVERSATION_DOCUMENT_MAX >> 20);
	if (change->document != NULL && ((const char *)change->document)[0] != '{')
		return err_field(err, ERR_BAD_REQUEST, EINVAL, "document", "must be an object");
	return 0;
}

/* Applies the change to `next`, a copy of the conversation, and writes it. If that fails, the disk
 * is as it was. */
static int save(struct conversation *next, const struct conversation_change *change, int dir,
		struct err *err)
{
	char name[CONVERSATION_PATH_MAX] = "";
	int r = 0;

	if (change->name != NULL)
		(void)snprintf(next->name, sizeof(next->name), "%s", change->name);
	if (change->session != NULL)
		(void)snprintf(next->session, sizeof(next->session), "%s", change->session);
	if (change->has_sandbox != NULL)
		next->has_sandbox = *change->has_sandbox;
	next->version++;
	/* Each change is later than the one before it, so that sorting by time after a restart
	 * gives the same order. */
	next->changed_ms = wall_ms();
	if (next->changed_ms <= next->table->changed_ms)
		next->changed_ms = next->table->changed_ms + 1;
	next->table->changed_ms = next->changed_ms;
	if (change->document != NULL) {
		next->document = next->version;
		next->size = change->size;
		next->cells = count_cells(change->document, change->size);
		conversation_document_name(next->document, name);
		r = conversation_write(dir, name, change->document, change->size, err);
	}
	if (r == 0)
		r = conversation_write_meta(next, dir, err);
	if (r < 0 && change->document != NULL)
		(void)unlinkat(dir, name, 0);
	return r;
}

int conversation_change(struct conversation *conversation, uint64_t version,
			const struct conversation_change *change, struct err *err)
{
	struct conversation_owner *owner = conversation->owner;
	struct conversation next = *conversation;
	char name[CONVERSATION_PATH_MAX];
	AUTO_CLOSE int dir = -1;
	int r = check(change, err);

	if (r == 0 && version != conversation->version)
		r = err_field(err, ERR_CONFLICT, ESTALE, "version",
			      "%llu is not the last one, which is %llu; read it again",
			      (unsigned long long)version,
			      (unsigned long long)conversation->version);
	if (r == 0 && change->document != NULL)
		r = conversation_room(owner, conversation_blocks(change->size),
				      conversation_blocks(conversation->size), err);
	if (r == 0)
		r = conversation_dir(conversation->table, conversation->id, &dir, err);
	if (r == 0)
		r = save(&next, change, dir, err);
	if (r < 0)
		return r;

	if (next.document != conversation->document) {
		conversation_document_name(conversation->document, name);
		(void)unlinkat(dir, name, 0);
	}
	owner->bytes -= bytes_of(conversation);
	*conversation = next;
	owner->bytes += bytes_of(conversation);
	TAILQ_REMOVE(&owner->list, conversation, entry);
	TAILQ_INSERT_HEAD(&owner->list, conversation, entry);
	return 0;
}

static int make(struct conversation *conversation, const struct conversation_change *change,
		struct err *err)
{
	struct conversations *table = conversation->table;
	struct err lost = {0};
	AUTO_CLOSE int dir = -1;
	int r;

	if (mkdirat(table->dir, conversation->id, 0700) < 0)
		return errno == ENOSPC || errno == EDQUOT
			       ? err_set(err, ERR_BUSY, ENOSPC, "the disk of state_dir is full")
			       : err_sys(err, "make a folder for the conversation");
	r = conversation_dir(table, conversation->id, &dir, err);
	if (r == 0)
		r = save(conversation, change, dir, err);
	if (r < 0)
		(void)conversation_discard(table, conversation->id, &lost);
	return r;
}

int conversation_new(struct conversations *conversations, const char *token,
		     const struct conversation_change *change,
		     struct conversation **ret_conversation, struct err *err)
{
	struct conversation_owner *owner = conversation_owner(conversations, token);
	struct conversation_change full = *change;
	struct conversation *conversation = NULL;
	int r = check(change, err);

	if (full.document == NULL) {
		full.document = FIRST_DOCUMENT;
		full.size = strlen(FIRST_DOCUMENT);
	}
	if (r == 0 && owner->count >= CONVERSATION_COUNT_MAX)
		r = err_set(err, ERR_BUSY, ENOSPC,
			    "one token may have %u conversations, and has them; delete some",
			    CONVERSATION_COUNT_MAX);
	if (r == 0)
		r = conversation_room(owner, BLOCK + conversation_blocks(full.size), 0, err);
	if (r < 0)
		return r;

	conversation = xnew(struct conversation);
	conversation->table = conversations;
	conversation->owner = owner;
	conversation->has_sandbox = true;
	conversation->created_ms = wall_ms();
	id_new(CONVERSATION_PREFIX, conversation->id);
	r = make(conversation, &full, err);
	if (r < 0) {
		free(conversation);
		return r;
	}
	conversation_add(conversation, token);
	TAILQ_REMOVE(&owner->list, conversation, entry);
	TAILQ_INSERT_HEAD(&owner->list, conversation, entry);
	*ret_conversation = conversation;
	return 0;
}

int conversation_remove(struct conversation *conversation, struct err *err)
{
	int r = conversation_discard(conversation->table, conversation->id, err);

	if (r == 0)
		drop(conversation);
	return r;
}

/* ---- reading a conversation ---- */

const char *conversation_id(const struct conversation *conversation)
{
	return conversation->id;
}

const char *conversation_session(const struct conversation *conversation)
{
	return conversation->session;
}

uint64_t conversation_version(const struct conversation *conversation)
{
	return conversation->version;
}

int conversation_put(const struct conversation *conversation, struct buf *buf)
{
	buf_format(buf, "{\"id\":\"%s\",\"name\":", conversation->id);
	json_put_text(buf, conversation->name);
	buf_text(buf, ",\"session\":");
	if (conversation->session[0] != '\0')
		json_put_text(buf, conversation->session);
	else
		buf_text(buf, "null");
	buf_format(buf,
		   ",\"sandbox\":%s,\"cells\":%llu,\"version\":%llu,"
		   "\"created_ms\":%llu,\"changed_ms\":%llu",
		   conversation->has_sandbox ? "true" : "false",
		   (unsigned long long)conversation->cells,
		   (unsigned long long)conversation->version,
		   (unsigned long long)conversation->created_ms,
		   (unsigned long long)conversation->changed_ms);
	return buf->failed;
}

int conversation_open(const struct conversation *conversation, int *ret_fd, uint64_t *ret_size,
		      struct err *err)
{
	char name[CONVERSATION_PATH_MAX];
	AUTO_CLOSE int dir = -1;
	uint64_t size = 0;
	int fd = -1;
	int r = conversation_dir(conversation->table, conversation->id, &dir, err);

	conversation_document_name(conversation->document, name);
	if (r == 0)
		r = conversation_read(dir, name, &fd, &size, err);
	if (r == 0 && size != conversation->size) {
		drop_fd(&fd);
		r = err_set(err, ERR_INTERNAL, EIO, "it is not as it was written");
	}
	if (r < 0) {
		err->kind = ERR_INTERNAL; /* the conversation is there, even if its file is not */
		return err_wrap(err, "the document of %s cannot be read", conversation->id);
	}
	*ret_fd = fd;
	*ret_size = size;
	return 0;
}

/* ---- life ---- */

int conversations_open(const char *state_dir, struct conversations **ret_conversations,
		       struct err *err)
{
	struct conversations *conversations = xnew(struct conversations);
	char path[PATH_MAX];
	int r = 0;

	(void)snprintf(path, sizeof(path), "%s/conversations", state_dir);
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		r = err_sys(err, "make %s", path);
	conversations->dir = -1;
	if (r == 0) {
		conversations->dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (conversations->dir < 0)
			r = err_sys(err, "open %s", path);
	}
	if (r == 0)
		r = conversations_scan(conversations, err);
	if (r < 0) {
		conversations_close(conversations);
		return r;
	}
	*ret_conversations = conversations;
	return 0;
}

void conversations_close(struct conversations *conversations)
{
	struct conversation_owner *owner = NULL;
	struct conversation *conversation = NULL;

	if (conversations == NULL)
		return;
	while ((owner = LIST_FIRST(&conversations->owners)) != NULL) {
		while ((conversation = TAILQ_FIRST(&owner->list)) != NULL) {
			TAILQ_REMOVE(&owner->list, conversation, entry);
			free(conversation);
		}
		LIST_REMOVE(owner, entry);
		free(owner->token);
		free(owner);
	}
	drop_fd(&conversations->dir);
	free(conversations);
}
