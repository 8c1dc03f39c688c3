// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/c.h"
#include "base/io.h"
#include "base/log.h"
#include "session/store_state.h"

#define META_MAX (4U << 20)
#define SWEEP_MS 10U /* of one tick: the loop has other things to do */
#define LETTERS "0123456789abcdefghijklmnopqrstuvwxyz"

/* Is this the prefix and an id, and nothing else? */
static bool is_id(const char *prefix, const char *text)
{
	size_t size = strlen(prefix);
	size_t rest = strncmp(text, prefix, size) == 0 ? strspn(text + size, LETTERS) : 0;

	return rest > 0 && size + rest < ID_SIZE && text[size + rest] == '\0';
}

void store_state_name(const char *id, char ret_name[STORE_PATH_MAX])
{
	(void)snprintf(ret_name, STORE_PATH_MAX, STORE_STATE "%s", id);
}

void store_files_name(uint64_t number, char ret_name[STORE_PATH_MAX])
{
	(void)snprintf(ret_name, STORE_PATH_MAX, STORE_FILES "%llu", (unsigned long long)number);
}

int store_open(uv_loop_t *loop, const char *state_dir, uint64_t max, uint64_t token_max,
	       struct store **ret_store, struct err *err)
{
	AUTO_CLOSE int above = open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct store *store = NULL;
	int dir;

	if (above < 0)
		return err_sys(err, "open state_dir %s", state_dir);
	if (mkdirat(above, "states", 0700) < 0 && errno != EEXIST)
		return err_sys(err, "make %s/states", state_dir);
	dir = openat(above, "states", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return err_sys(err, "open %s/states", state_dir);
	store = xnew(struct store);
	store->loop = loop;
	store->dir = dir;
	store->max = max;
	store->token_max = token_max;
	/* Its own name, for the first time; and a host that lets us have no threads says so now. */
	(void)store_sync(store, &above, NULL, NULL);
	*ret_store = store;
	return 0;
}

void store_close(struct store *store)
{
	if (store == NULL)
		return;
	while (!LIST_EMPTY(&store->all))
		stored_free(LIST_FIRST(&store->all));
	/* A thread of the loop's has them. */
	while (store->syncs > 0)
		(void)uv_run(store->loop, UV_RUN_ONCE);
	drop_fd(&store->dir);
	free(store);
}

static DIR *list_of(int dir, const char *name)
{
	int copy = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *list = copy >= 0 ? fdopendir(copy) : NULL;

	if (list == NULL)
		drop_fd(&copy);
	return list;
}

/* ---- the start ---- */

static uint64_t number_of(const json_t *object, const char *name)
{
	json_int_t number = json_integer_value(json_object_get(object, name));

	return number > 0 ? (uint64_t)number : 0;
}

static const char *text_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text != NULL ? text : "";
}

static char *missing_of(const json_t *object)
{
	char *text = json_dumps(json_object_get(object, "missing"), JSON_COMPACT);
	char *checked = store_missing(text != NULL ? text : "[]", text != NULL ? strlen(text) : 2);

	free(text);
	return checked;
}

/* Its size; false: it is not there. */
static bool size_of(int dir, const char *name, uint64_t *ret_size)
{
	struct stat status;

	if (fstatat(dir, name, &status, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(status.st_mode))
		return false;
	*ret_size = (uint64_t)status.st_size;
	return true;
}

static void read_files(struct stored *stored, int dir, const json_t *list)
{
	const json_t *item = NULL;
	size_t i = 0;

	json_array_foreach(list, i, item) {
		struct store_files *files = xnew(struct store_files);
		char name[STORE_PATH_MAX];

		files->number = number_of(item, "number");
		store_files_name(files->number, name);
		if (files->number == 0 || files->number >= stored->next_number ||
		    !size_of(dir, name, &files->size)) {
			free(files);
			continue;
		}
		files->missing = missing_of(item);
		TAILQ_INSERT_TAIL(&stored->files, files, entry);
	}
}

static void read_states(struct stored *stored, int dir, const json_t *list)
{
	const json_t *item = NULL;
	size_t i = 0;

	json_array_foreach(list, i, item) {
		struct store_state *state = xnew(struct store_state);
		const char *id = text_of(item, "id");
		char name[STORE_PATH_MAX];

		store_state_name(is_id("cp_", id) ? id : "", name);
		if (!is_id("cp_", id) || !size_of(dir, name, &state->size)) {
			free(state); /* a full disk can drop one without saying so here */
			stored->dropped++;
			continue;
		}
		(void)snprintf(state->id, sizeof(state->id), "%s", id);
		(void)snprintf(state->parent, sizeof(state->parent), "%s", text_of(item, "parent"));
		(void)snprintf(state->run, sizeof(state->run), "%s", text_of(item, "run"));
		if (json_object_get(item, "name") != NULL)
			state->name = strdup(text_of(item, "name"));
		state->created_ms = number_of(item, "created");
		state->memory = number_of(item, "memory");
		state->files = number_of(item, "files");
		state->has_files =
			json_is_true(json_object_get(item, "has_files")) &&
			(state->files == 0 || stored_files(stored, state->files) != NULL);
		state->files = state->has_files ? state->files : 0;
		state->missing = missing_of(item);
		TAILQ_INSERT_TAIL(&stored->states, state, entry);
		stored->count++;
	}
}

/* Files that the meta does not name were on their way when the daemon was killed. */
static void sweep_strays(const struct stored *stored, int dir, bool is_next)
{
	const struct dirent *entry = NULL;
	DIR *list = list_of(dir, ".");

	while (list != NULL && (entry = readdir(list)) != NULL) {
		const char *name = entry->d_name;
		const size_t files = strlen(STORE_FILES);
		bool is_known =
			strcmp(name, STORE_META) == 0 || (is_next && strcmp(name, STORE_NEXT) == 0);

		if (strncmp(name, STORE_STATE, strlen(STORE_STATE)) == 0)
			is_known = stored_find(stored, name + strlen(STORE_STATE)) != NULL;
		else if (strncmp(name, STORE_FILES, files) == 0)
			is_known = stored_files(stored, strtoull(name + files, NULL, 10)) != NULL;
		if (!is_known && entry->d_type == DT_REG)
			(void)unlinkat(dir, name, 0);
	}
	if (list != NULL)
		(void)closedir(list);
}

/* NULL: it is not there (`err` says so), or is not whole. */
static json_t *read_meta(int dir, const char *name, struct err *err)
{
	struct buf text;
	json_t *meta = NULL;

	buf_init(&text, META_MAX);
	*err = (struct err){0};
	if (io_read_file(dir, name, &text, err) == 0)
		meta = json_loadb((const char *)text.data, text.size, JSON_REJECT_DUPLICATES, NULL);
	buf_done(&text);
	if (json_is_object(json_object_get(meta, "record")))
		return meta;
	json_decref(meta);
	return NULL;
}

static void scan_one(struct store *store, const char *id,
		     bool (*found)(void *user, struct stored *stored, const json_t *record),
		     void *user)
{
	AUTO_CLOSE int dir =
		openat(store->dir, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	json_auto_t *meta = NULL;
	const json_t *record = NULL;
	struct stored *stored = NULL;
	struct err err = {0};
	bool is_next;

	/* A power cut can damage the one that had not settled, never both. */
	meta = dir >= 0 ? read_meta(dir, STORE_NEXT, &err) : NULL;
	is_next = meta != NULL;
	if (!is_next && dir >= 0)
		meta = read_meta(dir, STORE_META, &err);
	record = json_object_get(meta, "record");
	stored = stored_new(store, id, text_of(record, "token"));
	if (record == NULL) {
		/* Without a meta it was never told to anybody. One that is damaged is for a
		 * person. */
		if (err.num == ENOENT)
			stored_remove(stored);
		else
			stored_free(stored);
		return;
	}
	free(stored->record);
	stored->record = json_dumps(record, JSON_COMPACT);
	stored->next_number = number_of(meta, "next");
	stored->dropped = number_of(meta, "dropped");
	read_files(stored, dir, json_object_get(meta, "files"));
	read_states(stored, dir, json_object_get(meta, "states"));
	sweep_strays(stored, dir, is_next);
	if (is_next) {
		stored->written++;
		store_settle_meta(stored);
	}
	if (stored->record == NULL || !found(user, stored, record))
		log_event(LOG_LEVEL_WARNING, "store.unseen", "session=%s", id);
}

void store_scan(struct store *store,
		bool (*found)(void *user, struct stored *stored, const json_t *record), void *user)
{
	const struct dirent *entry = NULL;
	DIR *list = list_of(store->dir, ".");

	while (list != NULL && (entry = readdir(list)) != NULL) {
		if (is_id(STORE_PREFIX, entry->d_name))
			scan_one(store, entry->d_name, found, user);
		else if (is_id(STORE_GONE, entry->d_name))
			store->has_gone = true;
	}
	if (list != NULL)
		(void)closedir(list);
}

/* ---- the ticks ---- */

/* Files of one folder that is gone. True: there is time left. */
static bool sweep_folder(const struct store *store, const char *name, uint64_t end_ns)
{
	const struct dirent *entry = NULL;
	DIR *list = list_of(store->dir, name);

	if (list == NULL)
		return true;
	while (now_ns() < end_ns && (entry = readdir(list)) != NULL)
		(void)unlinkat(dirfd(list), entry->d_name, 0);
	(void)closedir(list);
	if (entry == NULL)
		(void)unlinkat(store->dir, name, AT_REMOVEDIR);
	return now_ns() < end_ns;
}

void store_tick(struct store *store)
{
	uint64_t end_ns = now_ns() + SWEEP_MS * 1000000ULL;
	const struct dirent *entry = NULL;
	DIR *list = store->has_gone ? list_of(store->dir, ".") : NULL;
	bool has_time = true;

	if (list == NULL)
		return;
	while (has_time && (entry = readdir(list)) != NULL) {
		if (is_id(STORE_GONE, entry->d_name))
			has_time = sweep_folder(store, entry->d_name, end_ns);
	}
	(void)closedir(list);
	store->has_gone = !has_time;
}
