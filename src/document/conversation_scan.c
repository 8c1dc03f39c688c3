// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/c.h"
#include "base/log.h"
#include "document/conversation_state.h"

#define SWEEP_MS 10U /* of one tick: the loop has other things to do */

/* Opens a listing with a position of its own, which no other listing shares. */
static DIR *list_of(int dir, struct err *err)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = copy >= 0 ? fdopendir(copy) : NULL;

	if (list == NULL) {
		(void)err_sys(err, "list a folder of the conversations");
		drop_fd(&copy);
	}
	return list;
}

/* ---- the start ---- */

/* Conversations found at the start, to be sorted by change before they enter the index. */
struct found {
	struct conversation *conversation; /* owned */
	char *token;                       /* owned */
};

struct scan {
	struct found *items; /* owned */
	size_t count, capacity;
};

static void add_found(struct scan *scan, struct conversation *take_conversation, char *take_token)
{
	if (scan->count == scan->capacity) {
		scan->capacity = scan->capacity > 0 ? 2 * scan->capacity : 64;
		scan->items = reallocarray(scan->items, scan->capacity, sizeof(*scan->items));
		if (scan->items == NULL)
			abort();
	}
	scan->items[scan->count++] = (struct found){take_conversation, take_token};
}

/* Reads one folder: counts outputs, removes files that nothing names. True: its document exists. */
static bool look_through(struct conversation *conversation, int dir)
{
	char document[CONVERSATION_PATH_MAX];
	bool has_document = false;
	const struct dirent *entry = NULL;
	struct err err = {0};
	DIR *list = list_of(dir, &err);

	if (list == NULL)
		return false;
	conversation_document_name(conversation->document, document);
	while ((entry = readdir(list)) != NULL) {
		const char *name = entry->d_name;
		size_t prefix = strlen(CONVERSATION_OUTPUT);
		struct stat status;

		if (strncmp(name, CONVERSATION_OUTPUT, prefix) == 0) {
			if (fstatat(dir, name, &status, AT_SYMLINK_NOFOLLOW) == 0)
				conversation->outputs +=
					conversation_blocks((uint64_t)status.st_size);
		} else if (strcmp(name, document) == 0) {
			has_document = true;
		} else if (strcmp(name, "new") == 0 ||
			   strncmp(name, CONVERSATION_DOCUMENT, strlen(CONVERSATION_DOCUMENT)) ==
				   0) {
			(void)unlinkat(dir, name, 0);
		}
	}
	(void)closedir(list);
	return has_document;
}

static void scan_one(struct conversations *conversations, struct scan *scan, const char *id)
{
	struct conversation *conversation = xnew(struct conversation);
	struct err err = {0}, lost = {0};
	char *token = NULL;
	AUTO_CLOSE int dir = -1;
	int r = conversation_dir(conversations, id, &dir, &err);

	(void)snprintf(conversation->id, sizeof(conversation->id), "%s", id);
	conversation->table = conversations;
	if (r == 0)
		r = conversation_read_meta(conversation, dir, &token, &err);
	if (r == 0) {
		/* It stays: opening it reports the loss, and its name and outputs can be had. */
		if (!look_through(conversation, dir))
			log_event(LOG_LEVEL_WARNING, "conversation.lost",
				  "conversation=%s why=its document is not there", id);
		add_found(scan, conversation, token);
		return;
	}
	free(conversation);
	/* Without a meta, no client has heard of it. A damaged one is left for a person. */
	if (err.kind == ERR_NOT_FOUND && dir >= 0)
		(void)conversation_discard(conversations, id, &lost);
	else
		log_event(LOG_LEVEL_WARNING, "conversation.damaged", "conversation=%s why=%s", id,
			  err.text);
}

static int is_newer(const void *a, const void *b)
{
	const struct conversation *left = ((const struct found *)a)->conversation;
	const struct conversation *right = ((const struct found *)b)->conversation;

	if (left->changed_ms != right->changed_ms)
		return left->changed_ms > right->changed_ms ? -1 : 1;
	return strcmp(left->id, right->id);
}

int conversations_scan(struct conversations *conversations, struct err *err)
{
	struct scan scan = {0};
	const struct dirent *entry = NULL;
	DIR *list = list_of(conversations->dir, err);

	if (list == NULL)
		return -err->num;
	while ((entry = readdir(list)) != NULL) {
		if (conversation_is_id(CONVERSATION_PREFIX, entry->d_name))
			scan_one(conversations, &scan, entry->d_name);
		else if (conversation_is_id(CONVERSATION_GONE, entry->d_name))
			conversations->has_gone = true;
	}
	(void)closedir(list);
	if (scan.count > 0)
		qsort(scan.items, scan.count, sizeof(*scan.items), is_newer);
	if (scan.count > 0)
		conversations->changed_ms = scan.items[0].conversation->changed_ms;
	for (size_t i = 0; i < scan.count; i++) {
		conversation_add(scan.items[i].conversation, scan.items[i].token);
		free(scan.items[i].token);
	}
	free(scan.items);
	return 0;
}

/* ---- the ticks ---- */

/* Removes files of one removed folder. True: there is time left. */
static bool sweep_folder(const struct conversations *conversations, const char *name,
			 uint64_t end_ns)
{
	struct err err = {0};
	const struct dirent *entry = NULL;
	AUTO_CLOSE int dir = -1;
	DIR *list = NULL;

	if (conversation_dir(conversations, name, &dir, &err) < 0)
		return true;
	list = list_of(dir, &err);
	if (list == NULL)
		return true;
	while (now_ns() < end_ns && (entry = readdir(list)) != NULL)
		(void)unlinkat(dir, entry->d_name, 0);
	(void)closedir(list);
	if (entry == NULL)
		(void)unlinkat(conversations->dir, name, AT_REMOVEDIR);
	return now_ns() < end_ns;
}

void conversations_tick(struct conversations *conversations)
{
	uint64_t end_ns = now_ns() + SWEEP_MS * 1000000ULL;
	struct err err = {0};
	const struct dirent *entry = NULL;
	DIR *list = conversations->has_gone ? list_of(conversations->dir, &err) : NULL;
	bool has_time = true;

	if (list == NULL)
		return;
	while (has_time && (entry = readdir(list)) != NULL) {
		if (conversation_is_id(CONVERSATION_GONE, entry->d_name))
			has_time = sweep_folder(conversations, entry->d_name, end_ns);
	}
	(void)closedir(list);
	conversations->has_gone = !has_time;
}
