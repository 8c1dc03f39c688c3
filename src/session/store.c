// SPDX-License-Identifier: Apache-2.0
#include "session/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/c.h"
#include "base/io.h"
#include "base/json.h"
#include "base/log.h"
#include "session/store_state.h"

#define MISSING_COUNT 40U

/* ---- the index ---- */

struct stored *stored_new(struct store *store, const char *id, const char *token)
{
	struct stored *stored = xnew(struct stored);

	(void)snprintf(stored->id, sizeof(stored->id), "%s", id);
	stored->store = store;
	stored->token = xstrdup(token);
	stored->record = xstrdup("{}");
	stored->next_number = 1;
	TAILQ_INIT(&stored->files);
	TAILQ_INIT(&stored->states);
	LIST_INSERT_HEAD(&store->all, stored, entry);
	return stored;
}

void store_state_free(struct store_state *state)
{
	if (state == NULL)
		return;
	free(state->name);
	free(state->missing);
	free(state);
}

void store_files_free(struct store_files *files)
{
	if (files == NULL)
		return;
	free(files->missing);
	free(files);
}

void stored_free(struct stored *stored)
{
	struct store_state *state = NULL;
	struct store_files *files = NULL;

	while ((state = TAILQ_FIRST(&stored->states)) != NULL) {
		TAILQ_REMOVE(&stored->states, state, entry);
		store_state_free(state);
	}
	while ((files = TAILQ_FIRST(&stored->files)) != NULL) {
		TAILQ_REMOVE(&stored->files, files, entry);
		store_files_free(files);
	}
	stored_forget(stored);
	if (stored->meta != NULL)
		stored->meta->call = NULL;
	LIST_REMOVE(stored, entry);
	free(stored->token);
	free(stored->record);
	free(stored);
}

struct store_state *stored_find(const struct stored *stored, const char *id)
{
	struct store_state *state = NULL;

	TAILQ_FOREACH(state, &stored->states, entry) {
		if (strcmp(state->id, id) == 0)
			return state;
	}
	return NULL;
}

struct store_state *stored_last(const struct stored *stored)
{
	return TAILQ_LAST(&stored->states, store_states);
}

struct store_files *stored_files(const struct stored *stored, uint64_t number)
{
	struct store_files *files = NULL;

	TAILQ_FOREACH(files, &stored->files, entry) {
		if (files->number == number)
			return files;
	}
	return NULL;
}

uint64_t stored_bytes(const struct stored *stored)
{
	const struct store_state *state = NULL;
	const struct store_files *files = NULL;
	uint64_t bytes = 0;

	TAILQ_FOREACH(state, &stored->states, entry)
		bytes += state->size + STORE_BLOCK;
	TAILQ_FOREACH(files, &stored->files, entry)
		bytes += files->size + STORE_BLOCK;
	return bytes;
}

/* ---- the meta ---- */

static int put_texts(struct buf *buf, const struct store_state *state)
{
	buf_text(buf, "{\"id\":");
	json_put_text(buf, state->id);
	buf_text(buf, ",\"parent\":");
	json_put_text(buf, state->parent);
	buf_text(buf, ",\"run\":");
	json_put_text(buf, state->run);
	if (state->name != NULL) {
		buf_text(buf, ",\"name\":");
		json_put_text(buf, state->name);
	}
	return buf->failed;
}

static int put_meta(const struct stored *stored, struct buf *buf)
{
	const struct store_state *state = NULL;
	const struct store_files *files = NULL;
	const char *joint = "";

	buf_format(buf, "{\"record\":%s,\"next\":%llu,\"dropped\":%llu,\"states\":[",
		   stored->record, (unsigned long long)stored->next_number,
		   (unsigned long long)stored->dropped);
	TAILQ_FOREACH(state, &stored->states, entry) {
		buf_text(buf, joint);
		put_texts(buf, state);
		buf_format(buf,
			   ",\"created\":%llu,\"memory\":%llu,\"files\":%llu,\"has_files\":%s,"
			   "\"missing\":%s}",
			   (unsigned long long)state->created_ms, (unsigned long long)state->memory,
			   (unsigned long long)state->files, state->has_files ? "true" : "false",
			   state->missing);
		joint = ",\n";
	}
	joint = "";
	buf_text(buf, "],\"files\":[");
	TAILQ_FOREACH(files, &stored->files, entry) {
		buf_format(buf, "%s{\"number\":%llu,\"missing\":%s}", joint,
			   (unsigned long long)files->number, files->missing);
		joint = ",";
	}
	buf_text(buf, "]}\n");
	return buf->failed;
}

/* A full disk is nobody's mistake, and it passes. */
static int refuse(struct err *err)
{
	if (err->num != ENOSPC && err->num != EDQUOT)
		return -err->num;
	return err_set(err, ERR_BUSY, ENOSPC, "the disk of state_dir is full");
}

/* After a kill it is the meta; for a power cut it has to settle. */
static int write_meta(int dir, const struct buf *text, struct err *err)
{
	AUTO_CLOSE int fd = openat(dir, STORE_NEW_META,
				   O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r;

	if (fd < 0) {
		(void)err_sys(err, "make a file");
		return refuse(err);
	}
	r = io_write_all(fd, text->data, text->size, err);
	if (r == 0)
		(void)sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
	if (r == 0 && renameat(dir, STORE_NEW_META, dir, STORE_NEXT) < 0)
		r = err_sys(err, "rename a file");
	if (r < 0) {
		(void)unlinkat(dir, STORE_NEW_META, 0);
		return refuse(err);
	}
	return 0;
}

int store_open_dir(const struct stored *stored, int *ret_fd, struct err *err)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(stored->store->dir, stored->id, flags);

	if (fd < 0)
		return err_sys(err, "open the folder of %s", stored->id);
	*ret_fd = fd;
	return 0;
}

int stored_write(struct stored *stored, struct err *err)
{
	AUTO_CLOSE int dir = -1;
	struct buf text;
	int r = store_open_dir(stored, &dir, err);

	if (r < 0)
		return r;
	buf_init(&text, STORE_RECORD_MAX + STORE_STATES_MAX * 4 * STORE_MISSING_MAX);
	r = put_meta(stored, &text);
	if (r < 0)
		r = err_set(err, ERR_INTERNAL, -r, "no memory for the list of states");
	else
		r = write_meta(dir, &text, err);
	buf_done(&text);
	if (r == 0) {
		stored->written++;
		store_settle_meta(stored);
	}
	return r;
}

static void take_record(struct stored *stored, const struct buf *record)
{
	char *copy = strndup((const char *)record->data, record->size);

	if (copy == NULL)
		abort();
	free(stored->record);
	stored->record = copy;
}

int stored_set_record(struct stored *stored, const struct buf *record, struct err *err)
{
	take_record(stored, record);
	return TAILQ_EMPTY(&stored->states) ? 0 : stored_write(stored, err);
}

/* ---- a file on its way ---- */

int stored_begin(struct stored *stored, int *ret_fd, struct err *err)
{
	const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
	AUTO_CLOSE int dir = -1;
	int fd, r;

	if (mkdirat(stored->store->dir, stored->id, 0700) < 0 && errno != EEXIST) {
		(void)err_sys(err, "make the folder of %s", stored->id);
		return refuse(err);
	}
	r = store_open_dir(stored, &dir, err);
	if (r < 0)
		return r;
	fd = openat(dir, STORE_NEW, flags, 0600);
	if (fd < 0) {
		(void)err_sys(err, "make a file");
		return refuse(err);
	}
	*ret_fd = fd;
	return 0;
}

int stored_append(struct stored *stored, int fd, uint64_t size, const void *data, size_t more,
		  struct err *err)
{
	int r = store_make_room(stored, size + more + STORE_BLOCK, err);

	if (r < 0)
		return r;
	r = io_write_all(fd, data, more, err);
	/* On its way to the disk at once: many pieces later nobody has to wait for all of them. */
	(void)sync_file_range(fd, (off_t)size, (off_t)more, SYNC_FILE_RANGE_WRITE);
	return r < 0 ? refuse(err) : 0;
}

void stored_abort(struct stored *stored, int *take_fd)
{
	AUTO_CLOSE int dir = -1;
	struct err err = {0};

	drop_fd(take_fd);
	if (store_open_dir(stored, &dir, &err) == 0)
		(void)unlinkat(dir, STORE_NEW, 0);
}

static int finish(struct stored *stored, int *take_fd, const char *name, uint64_t *ret_size,
		  struct err *err)
{
	AUTO_CLOSE int dir = -1;
	struct stat status;
	int r = store_open_dir(stored, &dir, err);

	if (r == 0 && fstat(*take_fd, &status) < 0)
		r = err_sys(err, "look at a file");
	if (r == 0 && renameat(dir, STORE_NEW, dir, name) < 0)
		r = err_sys(err, "rename a file");
	if (r == 0)
		*ret_size = (uint64_t)status.st_size;
	drop_fd(take_fd);
	return r;
}

int stored_end_files(struct stored *stored, int *take_fd, struct store_files *take_files,
		     struct err *err)
{
	char name[STORE_PATH_MAX];
	int r;

	take_files->number = stored->next_number;
	store_files_name(take_files->number, name);
	r = finish(stored, take_fd, name, &take_files->size, err);
	if (r < 0) {
		store_files_free(take_files);
		return r;
	}
	stored->next_number++;
	TAILQ_INSERT_TAIL(&stored->files, take_files, entry);
	return 0;
}

static void drop_above(struct stored *stored, struct err *err)
{
	struct store_state *state = TAILQ_FIRST(&stored->states);

	while (stored->count > STORE_STATES_MAX && state != NULL) {
		struct store_state *next = TAILQ_NEXT(state, entry);

		if (state->name == NULL && state != stored_last(stored)) {
			stored->dropped++;
			(void)store_drop_state(stored, state, 0, err);
		}
		state = next;
	}
}

/* By the time they were made. */
static void insert(struct stored *stored, struct store_state *state)
{
	struct store_state *before = stored_last(stored);

	while (before != NULL && before->created_ms > state->created_ms)
		before = TAILQ_PREV(before, store_states, entry);
	if (before == NULL)
		TAILQ_INSERT_HEAD(&stored->states, state, entry);
	else
		TAILQ_INSERT_AFTER(&stored->states, before, state, entry);
	stored->count++;
}

int stored_end_state(struct stored *stored, int *take_fd, struct store_state *take_state,
		     const struct buf *record, struct err *err)
{
	struct store_state *old = stored_find(stored, take_state->id);
	char name[STORE_PATH_MAX];
	AUTO_CLOSE int dir = -1;
	int r;

	store_state_name(take_state->id, name);
	r = finish(stored, take_fd, name, &take_state->size, err);
	if (r < 0) {
		store_state_free(take_state);
		return r;
	}
	if (old != NULL) {
		TAILQ_REMOVE(&stored->states, old, entry);
		stored->count--;
		store_state_free(old);
	}
	insert(stored, take_state);
	take_record(stored, record);
	r = stored_write(stored, err);
	if (r == 0 && store_open_dir(stored, &dir, err) == 0)
		store_drop_files(stored, dir, 0);
	if (r == 0)
		drop_above(stored, err);
	return r;
}

int stored_read(const struct stored *stored, const char *id, uint64_t number, int *ret_fd,
		uint64_t *ret_size, struct err *err)
{
	char name[STORE_PATH_MAX];
	AUTO_CLOSE int dir = -1;
	AUTO_CLOSE int fd = -1;
	struct stat status;
	int r = store_open_dir(stored, &dir, err);

	if (r < 0)
		return r;
	if (id != NULL)
		store_state_name(id, name);
	else
		store_files_name(number, name);
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status) < 0)
		return err_sys(err, "open the state %s of %s", name, stored->id);
	if (!S_ISREG(status.st_mode))
		return err_set(err, ERR_INTERNAL, EIO, "the state %s is no file", name);
	*ret_size = (uint64_t)status.st_size;
	*ret_fd = steal_fd(&fd);
	return 0;
}

/* ---- what could not be written ---- */

static void add_missing(json_t *list, const json_t *fact)
{
	const char *name = json_string_value(json_object_get(fact, "name"));
	const char *why = json_string_value(json_object_get(fact, "why"));
	char short_name[120];
	char short_why[200];
	json_t *one = NULL;

	if (name == NULL)
		return;
	(void)snprintf(short_name, sizeof(short_name), "%s", name);
	(void)snprintf(short_why, sizeof(short_why), "%s", why != NULL ? why : "");
	/* One that was cut within a character is no text, and is left out. */
	one = json_pack("{s:s*, s:s*}", "name", short_name, "why", short_why);
	if (one != NULL && json_object_get(one, "name") != NULL)
		(void)json_array_append(list, one);
	json_decref(one);
}

char *store_missing(const char *json, size_t size)
{
	json_auto_t *facts = json_loadb(json, size, 0, NULL);
	json_auto_t *list = json_array();
	const json_t *fact = NULL;
	char *text = NULL;
	size_t i = 0;

	json_array_foreach(facts, i, fact) {
		if (json_array_size(list) < MISSING_COUNT)
			add_missing(list, fact);
	}
	text = json_dumps(list, JSON_COMPACT);
	while (text != NULL && strlen(text) > STORE_MISSING_MAX) {
		(void)json_array_remove(list, json_array_size(list) - 1);
		free(text);
		text = json_dumps(list, JSON_COMPACT);
	}
	return text != NULL ? text : xstrdup("[]");
}
