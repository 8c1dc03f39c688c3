// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/c.h"
#include "base/io.h"
#include "base/json.h"
#include "document/conversation_state.h"

#define META "meta"
#define NEW "new"
#define META_MAX 8192U

int conversation_dir(const struct conversations *conversations, const char *name, int *ret_fd,
		     struct err *err)
{
	int fd = openat(conversations->dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return err_sys(err, "open the folder of %s", name);
	*ret_fd = fd;
	return 0;
}

/* A full disk is not the client's mistake, and may pass. */
static int refuse(struct err *err)
{
	if (err->num != ENOSPC && err->num != EDQUOT)
		return -err->num;
	return err_set(err, ERR_BUSY, ENOSPC,
		       "the disk of state_dir is full; what was saved before is still there");
}

/*
 * No fsync, unlike for a session's state (session/store.c), which is promised to outlive a power
 * cut: a page saves every few keystrokes, and in the event loop an fsync would delay every run's
 * output for as long as the disk is busy. After a kill, the rename alone makes a file whole or
 * absent. For a power cut, the bytes are sent to the disk before the rename: a file system that
 * journals in order (ext4's default) then has both or neither.
 */
int conversation_write(int dir, const char *name, const void *data, size_t size, struct err *err)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	AUTO_CLOSE int fd = openat(dir, NEW, flags, 0600);
	int r;

	if (fd < 0 && errno == EEXIST && unlinkat(dir, NEW, 0) == 0)
		fd = openat(dir, NEW, flags, 0600);
	if (fd < 0) {
		(void)err_sys(err, "make a file");
		return refuse(err);
	}
	r = io_write_all(fd, data, size, err);
	if (r == 0) {
		(void)sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
		if (renameat(dir, NEW, dir, name) < 0)
			r = err_sys(err, "rename a file");
	}
	if (r < 0) {
		(void)unlinkat(dir, NEW, 0);
		return refuse(err);
	}
	return 0;
}

int conversation_read(int dir, const char *name, int *ret_fd, uint64_t *ret_size, struct err *err)
{
	AUTO_CLOSE int fd =
		openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat status;

	if (fd < 0 && errno == ENOENT)
		return err_set(err, ERR_NOT_FOUND, ENOENT, "there is no such file");
	if (fd < 0 || fstat(fd, &status) < 0)
		return err_sys(err, "open a file");
	if (!S_ISREG(status.st_mode))
		return err_set(err, ERR_INTERNAL, EIO, "it is no file");
	*ret_size = (uint64_t)status.st_size;
	*ret_fd = steal_fd(&fd);
	return 0;
}

void conversation_document_name(uint64_t document, char ret_name[CONVERSATION_PATH_MAX])
{
	(void)snprintf(ret_name, CONVERSATION_PATH_MAX, CONVERSATION_DOCUMENT "%llu",
		       (unsigned long long)document);
}

int conversation_discard(struct conversations *conversations, const char *id, struct err *err)
{
	char gone[CONVERSATION_PATH_MAX];

	(void)snprintf(gone, sizeof(gone), CONVERSATION_GONE "%s",
		       id + strlen(CONVERSATION_PREFIX));
	if (renameat(conversations->dir, id, conversations->dir, gone) < 0)
		return err_sys(err, "remove the folder of %s", id);
	conversations->has_gone = true;
	return 0;
}

/* ---- the meta ---- */

int conversation_write_meta(const struct conversation *conversation, int dir, struct err *err)
{
	AUTO_BUF struct buf text = {.max = META_MAX};
	int r;

	r = conversation_put(conversation, &text);
	if (r == 0)
		r = json_put(&text, ",'token':%s,'document':%llu,'size':%llu}\n",
			     conversation->owner->token, (unsigned long long)conversation->document,
			     (unsigned long long)conversation->size);
	if (r < 0)
		r = err_set(err, ERR_INTERNAL, -r, "no memory for the conversation");
	else
		r = conversation_write(dir, META, text.data, text.size, err);
	return r;
}

static uint64_t number_of(const json_t *meta, const char *name)
{
	json_int_t number = json_integer_value(json_object_get(meta, name));

	return number > 0 ? (uint64_t)number : 0;
}

static int damaged(struct err *err)
{
	return err_set(err, ERR_INTERNAL, EIO, "its meta is damaged");
}

static int take_meta(struct conversation *conversation, const json_t *meta, char **ret_token,
		     struct err *err)
{
	const char *name = json_string_value(json_object_get(meta, "name"));
	const char *session = json_string_value(json_object_get(meta, "session"));
	const char *token = json_string_value(json_object_get(meta, "token"));
	const json_t *sandbox = json_object_get(meta, "sandbox");

	conversation->cells = number_of(meta, "cells");
	conversation->version = number_of(meta, "version");
	conversation->created_ms = number_of(meta, "created_ms");
	conversation->changed_ms = number_of(meta, "changed_ms");
	conversation->document = number_of(meta, "document");
	conversation->size = number_of(meta, "size");
	conversation->has_sandbox = json_is_true(sandbox);
	if (name == NULL || strlen(name) > CONVERSATION_NAME_MAX || token == NULL ||
	    !json_is_boolean(sandbox) || conversation->version == 0 ||
	    conversation->document == 0 || conversation->document > conversation->version ||
	    conversation->size > CONVERSATION_DOCUMENT_MAX ||
	    (session != NULL && !conversation_is_id("ses_", session)))
		return damaged(err);
	(void)snprintf(conversation->name, sizeof(conversation->name), "%s", name);
	(void)snprintf(conversation->session, sizeof(conversation->session), "%s",
		       session != NULL ? session : "");
	*ret_token = strdup(token);
	return *ret_token != NULL ? 0 : err_set(err, ERR_INTERNAL, ENOMEM, "no memory");
}

int conversation_read_meta(struct conversation *conversation, int dir, char **ret_token,
			   struct err *err)
{
	AUTO_CLOSE int fd = -1;
	json_auto_t *meta = NULL;
	uint64_t size = 0;
	AUTO_BUF struct buf text = {.max = META_MAX};
	int r = conversation_read(dir, META, &fd, &size, err);

	if (r < 0)
		return r;
	if (io_read_all(fd, &text, err) == 0)
		meta = json_loadb((const char *)text.data, text.size, JSON_REJECT_DUPLICATES, NULL);
	return json_is_object(meta) ? take_meta(conversation, meta, ret_token, err) : damaged(err);
}
