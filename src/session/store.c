// SPDX-License-Identifier: Apache-2.0
#include "session/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/c.h"
#include "base/io.h"
#include "base/json.h"
#include "base/log.h"

#define MISSING_COUNT 40U
#define ROOM_MIN (64U << 10) /* a small state, its meta and their folder */
#define META_MAX (4U << 20)
#define SWEEP_MS 10U /* how long one tick may sweep, since the loop has other work */
#define LETTERS "0123456789abcdefghijklmnopqrstuvwxyz"
#define STORE_PREFIX "ses_"
#define STORE_GONE "gone_"
#define STORE_STATE "vars-"
#define STORE_FILES "files-"
#define STORE_META "meta"
#define STORE_NEXT "next"
#define STORE_NEW "new"
#define STORE_NEW_META "new-meta"
#define STORE_BLOCK 4096U /* disk space that a file takes besides its bytes, at least */
#define STORE_PATH_MAX 96 /* names below the store's folder or a session's, with the NUL */

struct store {
	uv_loop_t *loop; /* borrowed */
	int dir;         /* owned */
	uint32_t syncs;  /* how many are under way */
	uint64_t max, token_max;
	bool has_gone; /* a removed folder waits to be swept */
	LIST_HEAD(, stored) all;
	LIST_HEAD(, stored) stuck; /* removed, but the folder still has its name */
};

/* Syncs a file or folder to the disk. `call` gets 0 or a negative errno; the owner sets it to NULL
 * to cancel it. */
struct store_sync {
	uv_work_t work;
	struct store *store;
	int fd; /* owned */
	int r;
	void (*call)(void *user, int r);
	void *user;
};

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

static void store_files_free(struct store_files *files)
{
	if (files == NULL)
		return;
	free(files->missing);
	free(files);
}

/* No sync of the session calls back after this. */
static void stored_cancel(struct stored *stored)
{
	stored_forget(stored);
	if (stored->meta != NULL)
		STEAL(stored->meta)->call = NULL;
}

static void stored_free(struct stored *stored)
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
	stored_cancel(stored);
	LIST_REMOVE(stored, entry);
	free(stored->token);
	free(stored->record);
	free(stored);
}

struct store_state *stored_find(const struct stored *stored, const char *id)
{
	struct store_state *state = stored != NULL ? TAILQ_FIRST(&stored->states) : NULL;

	while (state != NULL && strcmp(state->id, id) != 0)
		state = TAILQ_NEXT(state, entry);
	return state;
}

struct store_state *stored_last(const struct stored *stored)
{
	return stored != NULL ? TAILQ_LAST(&stored->states, store_states) : NULL;
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

uint64_t stored_workspace(const struct stored *stored, const char *at)
{
	const struct store_state *state = stored_find(stored, at);

	if (stored->has_workspace)
		return stored->workspace;
	if (state == NULL || !state->has_files)
		state = stored_last(stored);
	while (state != NULL && !state->has_files)
		state = TAILQ_PREV(state, store_states, entry);
	return state != NULL ? state->files : 0;
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

uint64_t stored_state_bytes(const struct stored *stored, const struct store_state *state)
{
	const struct store_files *files = stored_files(stored, state->files);

	return state->size + STORE_BLOCK + (files != NULL ? files->size + STORE_BLOCK : 0);
}

static void state_name(const char *id, char ret_name[STORE_PATH_MAX])
{
	(void)snprintf(ret_name, STORE_PATH_MAX, STORE_STATE "%s", id);
}

static void files_name(uint64_t number, char ret_name[STORE_PATH_MAX])
{
	(void)snprintf(ret_name, STORE_PATH_MAX, STORE_FILES "%llu", (unsigned long long)number);
}

static int open_dir(const struct stored *stored, int *ret_fd, struct err *err)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(stored->store->dir, stored->id, flags);

	if (fd < 0)
		return err_sys(err, "open the folder of %s", stored->id);
	*ret_fd = fd;
	return 0;
}

/* ---- syncing to disk ---- */

/* fsync may also wait for whatever else the disk is doing, so a libuv thread waits for it, never
 * the loop. */

static void wait_for_disk(uv_work_t *work)
{
	struct store_sync *sync = work->data;

	sync->r = fsync(sync->fd) < 0 ? -errno : 0;
}

static void disk_has_it(uv_work_t *work, int status)
{
	struct store_sync *sync = work->data;

	(void)status;
	sync->store->syncs--;
	drop_fd(&sync->fd);
	if (sync->call != NULL)
		sync->call(sync->user, sync->r);
	free(sync);
}

static struct store_sync *sync_new(struct store *store, int *take_fd,
				   void (*call)(void *user, int r), void *user)
{
	struct store_sync *sync = xnew(struct store_sync);

	sync->work.data = sync;
	sync->store = store;
	sync->fd = steal_fd(take_fd);
	sync->call = call;
	sync->user = user;
	store->syncs++;
	(void)uv_queue_work(store->loop, &sync->work, wait_for_disk, disk_has_it);
	return sync;
}

static void settle_meta(struct stored *stored);

static void settled(struct stored *stored, const struct err *why)
{
	store_call *call = STEAL(stored->settled);

	if (why != NULL)
		log_event(LOG_LEVEL_ERROR, "store.settle", "session=%s why=%s", stored->id,
			  why->text);
	if (call != NULL)
		call(stored->settled_user, why);
}

static void not_settled(struct stored *stored, int num, const char *what)
{
	struct err err = {0};

	(void)err_set(&err, ERR_INTERNAL, num, "%s: %s", what, strerror(num));
	settled(stored, &err);
}

static void above_synced(void *user, int r)
{
	struct stored *stored = user;

	stored->meta = NULL;
	if (r < 0) {
		not_settled(stored, -r, "sync a folder to disk");
		return;
	}
	stored->is_folder_told = true;
	if (stored->settling != stored->written)
		settle_meta(stored);
	else
		settled(stored, NULL);
}

/* The folder's own name is an entry of the folder above, which needs to be synced only once. */
static void folder_synced(void *user, int r)
{
	struct stored *stored = user;
	AUTO_CLOSE int above = -1;

	if (r < 0 || stored->is_folder_told) {
		above_synced(stored, r);
		return;
	}
	above = fcntl(stored->store->dir, F_DUPFD_CLOEXEC, 0);
	if (above < 0)
		above_synced(stored, -errno);
	else
		stored->meta = sync_new(stored->store, &above, above_synced, stored);
}

static void meta_synced(void *user, int r)
{
	struct stored *stored = user;
	AUTO_CLOSE int dir = -1;
	struct err err = {0};

	stored->meta = NULL;
	if (r < 0) {
		not_settled(stored, -r, "sync the list of states to disk");
		return;
	}
	/* A newer meta was written meanwhile. */
	if (stored->settling != stored->written) {
		settle_meta(stored);
		return;
	}
	if (open_dir(stored, &dir, &err) < 0) {
		settled(stored, &err);
		return;
	}
	if (renameat(dir, STORE_NEXT, dir, STORE_META) < 0) {
		not_settled(stored, errno, "rename a file");
		return;
	}
	stored->meta = sync_new(stored->store, &dir, folder_synced, stored);
}

static void settle_meta(struct stored *stored)
{
	AUTO_CLOSE int dir = -1;
	AUTO_CLOSE int fd = -1;
	struct err err = {0};

	if (stored->meta != NULL)
		return; /* the callback of the sync under way sees that the meta is newer */
	if (open_dir(stored, &dir, &err) < 0) {
		settled(stored, &err);
		return;
	}
	fd = openat(dir, STORE_NEXT, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		not_settled(stored, errno, "open the list of states");
		return;
	}
	stored->settling = stored->written;
	stored->meta = sync_new(stored->store, &fd, meta_synced, stored);
}

void stored_settle(struct stored *stored, store_call *call, void *user)
{
	stored->settled = call;
	stored->settled_user = user;
	if (stored->meta == NULL)
		settle_meta(stored);
}

static void file_synced(void *user, int r)
{
	struct stored *stored = user;
	store_call *call = STEAL(stored->synced);
	struct err err = {0};

	stored->file = NULL;
	if (r < 0)
		(void)err_set(&err, ERR_INTERNAL, -r, "sync a state to disk: %s", strerror(-r));
	call(stored->synced_user, r < 0 ? &err : NULL);
}

int stored_sync(struct stored *stored, int fd, store_call *call, void *user, struct err *err)
{
	AUTO_CLOSE int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (copy < 0)
		return err_sys(err, "sync a state to disk");
	stored->synced = call;
	stored->synced_user = user;
	stored->file = sync_new(stored->store, &copy, file_synced, stored);
	return 0;
}

void stored_forget(struct stored *stored)
{
	struct store_sync *file = STEAL(stored->file);

	if (file != NULL)
		file->call = NULL;
	stored->synced = stored->settled = NULL;
}

/* ---- the meta ---- */

static int put_texts(struct buf *buf, const struct store_state *state)
{
	json_put(buf, "{'id':%s,'parent':%s,'run':%s", state->id, state->parent, state->run);
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
			   ",\"created\":%llu,\"memory\":%llu,\"not_kept\":%u,\"files\":%llu,"
			   "\"has_files\":%s,\"missing\":%s}",
			   (unsigned long long)state->created_ms, (unsigned long long)state->memory,
			   state->not_kept, (unsigned long long)state->files,
			   state->has_files ? "true" : "false", state->missing);
		joint = ",\n";
	}
	joint = "";
	buf_text(buf, "]");
	if (stored->has_workspace)
		buf_format(buf, ",\"workspace\":%llu", (unsigned long long)stored->workspace);
	buf_text(buf, ",\"files\":[");
	TAILQ_FOREACH(files, &stored->files, entry) {
		buf_format(buf, "%s{\"number\":%llu,\"missing\":%s}", joint,
			   (unsigned long long)files->number, files->missing);
		joint = ",";
	}
	buf_text(buf, "]}\n");
	return buf->failed;
}

/* A full disk is a temporary condition, not an internal error. */
static int refuse(struct err *err)
{
	if (err->num != ENOSPC && err->num != EDQUOT)
		return -err->num;
	return err_set(err, ERR_BUSY, ENOSPC, "the disk of state_dir is full");
}

/* Writes `next`, which counts as the meta after a kill; to survive a power cut it still has to
 * settle. */
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

int stored_write(struct stored *stored, struct err *err)
{
	AUTO_CLOSE int dir = -1;
	struct buf text;
	int r = open_dir(stored, &dir, err);

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
		settle_meta(stored);
	}
	return r;
}

/* Returns the previous record, which the caller frees. */
static char *take_record(struct stored *stored, const struct buf *record)
{
	char *was = stored->record;
	char *copy = strndup((const char *)record->data, record->size);

	if (copy == NULL)
		abort();
	stored->record = copy;
	return was;
}

int stored_set_record(struct stored *stored, const struct buf *record, struct err *err)
{
	free(take_record(stored, record));
	return TAILQ_EMPTY(&stored->states) ? 0 : stored_write(stored, err);
}

/* ---- room ---- */

static bool is_used(const struct stored *stored, uint64_t number)
{
	const struct store_state *state = NULL;

	if (stored->has_workspace && stored->workspace == number)
		return true;
	TAILQ_FOREACH(state, &stored->states, entry) {
		if (state->files == number)
			return true;
	}
	return false;
}

/* Drops the workspaces that nothing refers to. `but` is kept: a state that is being written will
 * refer to it. */
static void drop_files(struct stored *stored, int dir, uint64_t but)
{
	struct store_files *files = TAILQ_FIRST(&stored->files);
	char name[STORE_PATH_MAX];

	while (files != NULL) {
		struct store_files *next = TAILQ_NEXT(files, entry);

		if (files->number != but && !is_used(stored, files->number)) {
			files_name(files->number, name);
			(void)unlinkat(dir, name, 0);
			TAILQ_REMOVE(&stored->files, files, entry);
			store_files_free(files);
		}
		files = next;
	}
}

/* The newest workspace, to which the next meta will refer. */
static uint64_t newest_of(const struct stored *stored)
{
	return stored->next_number - 1;
}

/* First writes a meta without the state: after a kill in between, the next start sweeps its bytes.
 * If the meta cannot be written, for example on a full disk, the bytes are removed all the same:
 * the session has been told, and a reader of the old meta notices that they are missing. */
static int drop_state(struct stored *stored, struct store_state *state, uint64_t but,
		      struct err *err)
{
	char name[STORE_PATH_MAX];
	AUTO_CLOSE int dir = -1;
	struct err unwritten = {0};
	int r = open_dir(stored, &dir, err);

	if (r < 0)
		return r;
	TAILQ_REMOVE(&stored->states, state, entry);
	stored->count--;
	if (stored->dropping != NULL)
		stored->dropping(stored->user, state);
	if (stored_write(stored, &unwritten) < 0)
		log_event(LOG_LEVEL_WARNING, "store.drop", "session=%s checkpoint=%s why=%s",
			  stored->id, state->id, unwritten.text);
	state_name(state->id, name);
	(void)unlinkat(dir, name, 0);
	drop_files(stored, dir, but);
	store_state_free(state);
	return 0;
}

int stored_drop(struct stored *stored, struct store_state *state, struct err *err)
{
	return drop_state(stored, state, newest_of(stored), err);
}

/* May this state be dropped to make room? */
static bool is_spare(const struct stored *stored, const struct store_state *state)
{
	return state->name == NULL && stored->is_needed != NULL &&
	       !stored->is_needed(stored->user, state);
}

static struct store_state *oldest_spare(const struct stored *stored)
{
	struct store_state *state = TAILQ_FIRST(&stored->states);

	while (state != NULL && !is_spare(stored, state))
		state = TAILQ_NEXT(state, entry);
	return state;
}

static bool has_same_token(const struct stored *one, const struct stored *other)
{
	return strcmp(one->token, other->token) == 0;
}

/* The oldest spare state of this session; if it has none, the oldest one of the token. */
static struct store_state *find_victim(struct stored *stored, struct stored **ret_of)
{
	struct store_state *oldest = oldest_spare(stored);
	struct stored *one = NULL;

	*ret_of = stored;
	if (oldest != NULL)
		return oldest;
	LIST_FOREACH(one, &stored->store->all, entry) {
		struct store_state *state = has_same_token(one, stored) ? oldest_spare(one) : NULL;

		if (state == NULL || (oldest != NULL && oldest->created_ms <= state->created_ms))
			continue;
		oldest = state;
		*ret_of = one;
	}
	return oldest;
}

/* Would this workspace stay if all spare states were dropped? */
static bool stays(const struct stored *stored, uint64_t number)
{
	const struct store_state *state = NULL;

	if (number == newest_of(stored) || (stored->has_workspace && stored->workspace == number))
		return true;
	TAILQ_FOREACH(state, &stored->states, entry) {
		if (state->files == number && !is_spare(stored, state))
			return true;
	}
	return false;
}

/* The bytes that dropping all spare states of the session would free. */
static uint64_t spare_bytes(const struct stored *stored)
{
	const struct store_state *state = NULL;
	const struct store_files *files = NULL;
	uint64_t bytes = 0;

	TAILQ_FOREACH(state, &stored->states, entry)
		bytes += is_spare(stored, state) ? state->size + STORE_BLOCK : 0;
	TAILQ_FOREACH(files, &stored->files, entry)
		bytes += stays(stored, files->number) ? 0 : files->size + STORE_BLOCK;
	return bytes;
}

/* The bytes of all states, and of those of one token. */
struct sums {
	uint64_t all, token;
};

static struct sums sum_up(const struct stored *stored)
{
	const struct stored *one = NULL;
	struct sums sums = {0};

	LIST_FOREACH(one, &stored->store->all, entry) {
		uint64_t bytes = stored_bytes(one);

		sums.all += bytes;
		sums.token += has_same_token(one, stored) ? bytes : 0;
	}
	return sums;
}

static bool fits(const struct store *store, const struct sums *sums, uint64_t more)
{
	return sums->all + more <= store->max && sums->token + more <= store->token_max;
}

/* Is there room for `more` bytes, at the latest once spare states of the token are dropped? Nothing
 * is dropped yet: whoever writes these bytes may never come to an end. */
static int check_room(const struct stored *stored, uint64_t more, struct err *err)
{
	const struct store *store = stored->store;
	const struct stored *one = NULL;
	struct sums sums = sum_up(stored);
	bool is_all;

	if (fits(store, &sums, more))
		return 0;
	LIST_FOREACH(one, &store->all, entry) {
		uint64_t spare = has_same_token(one, stored) ? spare_bytes(one) : 0;

		sums.all -= spare;
		sums.token -= spare;
	}
	if (fits(store, &sums, more))
		return 0;
	is_all = sums.all + more > store->max;
	return err_set(err, ERR_BUSY, ENOSPC,
		       "the states of %s have reached their limit of %llu MiB of disk; delete "
		       "sessions or named checkpoints",
		       is_all ? "all sessions" : "one token",
		       (unsigned long long)((is_all ? store->max : store->token_max) >> 20));
}

/* The state to drop next, since the session has too many, or its token too many bytes. NULL:
 * none. */
static struct store_state *next_victim(struct stored *stored, struct stored **ret_of)
{
	const struct sums sums = sum_up(stored);

	*ret_of = stored;
	if (!fits(stored->store, &sums, 0))
		return find_victim(stored, ret_of);
	return stored->count > STORE_STATES_MAX ? oldest_spare(stored) : NULL;
}

void stored_tidy(struct stored *stored)
{
	struct stored *of = stored;
	struct store_state *victim = NULL;
	AUTO_CLOSE int dir = -1;
	struct err err = {0};

	while ((victim = next_victim(stored, &of)) != NULL) {
		log_event(LOG_LEVEL_INFO, "store.drop", "session=%s checkpoint=%s why=room", of->id,
			  victim->id);
		of->dropped++;
		if (drop_state(of, victim, newest_of(of), &err) < 0) {
			log_event(LOG_LEVEL_ERROR, "store.drop", "session=%s why=%s", of->id,
				  err.text);
			break;
		}
	}
	if (open_dir(stored, &dir, &err) == 0)
		drop_files(stored, dir, newest_of(stored));
}

int store_check_room(const struct store *store, struct err *err)
{
	struct statvfs disk;

	if (fstatvfs(store->dir, &disk) < 0)
		return err_sys(err, "statvfs of state_dir");
	/* Some file systems do not count files: they report 0 files in total. */
	if ((uint64_t)disk.f_bavail * disk.f_frsize < ROOM_MIN ||
	    (disk.f_files > 0 && disk.f_favail == 0))
		return err_set(err, ERR_BUSY, ENOSPC, "the disk of state_dir is full");
	return 0;
}

/* Renames the folder, so that no start finds the session in it. Each removal has a name of its own:
 * the folder of an earlier removal of the same session may still wait to be swept. */
static bool hide(const struct stored *stored)
{
	char gone[ID_SIZE];

	id_new(STORE_GONE, gone);
	if (renameat(stored->store->dir, stored->id, stored->store->dir, gone) < 0)
		return errno == ENOENT;
	stored->store->has_gone = true;
	return true;
}

/* Without a meta the folder cannot be read: the next start removes it. */
static void unlink_meta(const struct stored *stored)
{
	AUTO_CLOSE int dir = -1;
	struct err err = {0};

	if (open_dir(stored, &dir, &err) < 0)
		return;
	(void)unlinkat(dir, STORE_NEXT, 0);
	(void)unlinkat(dir, STORE_META, 0);
}

void stored_remove(struct stored *stored)
{
	struct store *store = stored->store;

	if (hide(stored)) {
		stored_free(stored);
		return;
	}
	log_event(LOG_LEVEL_ERROR, "store.remove", "session=%s errno=%d", stored->id, errno);
	stored_cancel(stored);
	unlink_meta(stored);
	LIST_REMOVE(stored, entry);
	LIST_INSERT_HEAD(&store->stuck, stored, entry);
}

/* Has the session been given a new entry? Its folder then belongs to that one. */
static bool is_back(const struct stored *stored)
{
	const struct stored *one = LIST_FIRST(&stored->store->all);

	while (one != NULL && strcmp(one->id, stored->id) != 0)
		one = LIST_NEXT(one, entry);
	return one != NULL;
}

static void remove_stuck(struct store *store)
{
	struct stored *next = NULL;

	for (struct stored *one = LIST_FIRST(&store->stuck); one != NULL; one = next) {
		next = LIST_NEXT(one, entry);
		if (is_back(one) || hide(one))
			stored_free(one);
		else
			unlink_meta(one);
	}
}

/* ---- a new file ---- */

int stored_begin(struct stored *stored, int *ret_fd, struct err *err)
{
	const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
	AUTO_CLOSE int dir = -1;
	int fd, r;

	if (mkdirat(stored->store->dir, stored->id, 0700) < 0 && errno != EEXIST) {
		(void)err_sys(err, "make the folder of %s", stored->id);
		return refuse(err);
	}
	r = open_dir(stored, &dir, err);
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
	int r = check_room(stored, size + more + STORE_BLOCK, err);

	if (r < 0)
		return r;
	r = io_write_all(fd, data, more, err);
	/* Start writing to the disk now, so that the sync after the last piece does not have to
	 * wait for all of them. */
	(void)sync_file_range(fd, (off_t)size, (off_t)more, SYNC_FILE_RANGE_WRITE);
	return r < 0 ? refuse(err) : 0;
}

void stored_abort(struct stored *stored, int *take_fd)
{
	AUTO_CLOSE int dir = -1;
	struct err err = {0};

	drop_fd(take_fd);
	if (open_dir(stored, &dir, &err) == 0)
		(void)unlinkat(dir, STORE_NEW, 0);
}

static int finish(struct stored *stored, int *take_fd, const char *name, uint64_t *ret_size,
		  struct err *err)
{
	AUTO_CLOSE int dir = -1;
	struct stat status;
	int r = open_dir(stored, &dir, err);

	if (r == 0 && fstat(*take_fd, &status) < 0)
		r = err_sys(err, "stat a file");
	/* Another session may have taken the room meanwhile. */
	if (r == 0)
		r = check_room(stored, (uint64_t)status.st_size + STORE_BLOCK, err);
	if (r == 0 && renameat(dir, STORE_NEW, dir, name) < 0)
		r = err_sys(err, "rename a file");
	if (r == 0)
		*ret_size = (uint64_t)status.st_size;
	else if (dir >= 0)
		(void)unlinkat(dir, STORE_NEW, 0);
	drop_fd(take_fd);
	return r;
}

int stored_end_files(struct stored *stored, int *take_fd, struct store_files *take_files,
		     struct err *err)
{
	char name[STORE_PATH_MAX];
	int r;

	take_files->number = stored->next_number;
	files_name(take_files->number, name);
	r = finish(stored, take_fd, name, &take_files->size, err);
	if (r < 0) {
		store_files_free(take_files);
		return r;
	}
	stored->next_number++;
	TAILQ_INSERT_TAIL(&stored->files, take_files, entry);
	return 0;
}

/* States are ordered by the time they were made. */
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

/* Removes the state from the list, and its bytes unless an older entry has the same id. */
static void take_back(struct stored *stored, struct store_state *state, struct store_state *old)
{
	char name[STORE_PATH_MAX];
	AUTO_CLOSE int dir = -1;
	struct err err = {0};

	TAILQ_REMOVE(&stored->states, state, entry);
	stored->count--;
	if (old != NULL) {
		insert(stored, old);
	} else if (open_dir(stored, &dir, &err) == 0) {
		state_name(state->id, name);
		(void)unlinkat(dir, name, 0);
	}
	store_state_free(state);
}

int stored_end_state(struct stored *stored, int *take_fd, struct store_state *take_state,
		     const struct buf *record, struct err *err)
{
	struct store_state *old = stored_find(stored, take_state->id);
	char *record_was = NULL;
	char name[STORE_PATH_MAX];
	int r;

	state_name(take_state->id, name);
	r = finish(stored, take_fd, name, &take_state->size, err);
	if (r < 0) {
		store_state_free(take_state);
		return r;
	}
	if (old != NULL) {
		TAILQ_REMOVE(&stored->states, old, entry);
		stored->count--;
	}
	insert(stored, take_state);
	record_was = take_record(stored, record);
	r = stored_write(stored, err);
	if (r < 0) {
		/* No meta names the state, so it is not on disk. */
		take_back(stored, take_state, old);
		free(stored->record);
		stored->record = record_was;
		return r;
	}
	store_state_free(old);
	free(record_was);
	return 0;
}

int stored_read(const struct stored *stored, const char *id, uint64_t number, int *ret_fd,
		uint64_t *ret_size, struct err *err)
{
	char name[STORE_PATH_MAX];
	AUTO_CLOSE int dir = -1;
	AUTO_CLOSE int fd = -1;
	struct stat status;
	int r = open_dir(stored, &dir, err);

	if (r < 0)
		return r;
	if (id != NULL)
		state_name(id, name);
	else
		files_name(number, name);
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status) < 0)
		return err_sys(err, "open the state %s of %s", name, stored->id);
	if (!S_ISREG(status.st_mode))
		return err_set(err, ERR_INTERNAL, EIO, "the state %s is not a regular file", name);
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
	/* A text that was cut within a character is not UTF-8, and is left out. */
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

/* ---- the start ---- */

/* Is this the prefix and an id, and nothing else? */
static bool is_id(const char *prefix, const char *text)
{
	size_t size = strlen(prefix);
	size_t rest = strncmp(text, prefix, size) == 0 ? strspn(text + size, LETTERS) : 0;

	return rest > 0 && size + rest < ID_SIZE && text[size + rest] == '\0';
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
	/* Syncs the name `states` itself. Also, if this host does not allow threads, libuv fails
	 * now. */
	(void)sync_new(store, &above, NULL, NULL);
	*ret_store = store;
	return 0;
}

void store_close(struct store *store)
{
	struct stored *next = NULL;

	if (store == NULL)
		return;
	remove_stuck(store);
	for (struct stored *one = LIST_FIRST(&store->all); one != NULL; one = next) {
		next = LIST_NEXT(one, entry);
		stored_free(one);
	}
	for (struct stored *one = LIST_FIRST(&store->stuck); one != NULL; one = next) {
		next = LIST_NEXT(one, entry);
		stored_free(one);
	}
	/* A libuv thread is still using them. */
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

/* The size of a regular file; false: there is none. */
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
		files_name(files->number, name);
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

		state_name(is_id("cp_", id) ? id : "", name);
		if (!is_id("cp_", id) || !size_of(dir, name, &state->size)) {
			free(state); /* on a full disk a state can be dropped without a new meta */
			stored->dropped++;
			continue;
		}
		(void)snprintf(state->id, sizeof(state->id), "%s", id);
		(void)snprintf(state->parent, sizeof(state->parent), "%s", text_of(item, "parent"));
		(void)snprintf(state->run, sizeof(state->run), "%s", text_of(item, "run"));
		if (json_object_get(item, "name") != NULL)
			state->name = xstrdup(text_of(item, "name"));
		state->created_ms = number_of(item, "created");
		state->memory = number_of(item, "memory");
		state->not_kept = (uint32_t)number_of(item, "not_kept");
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

/* Metas of older versions do not have it. */
static void read_workspace(struct stored *stored, const json_t *meta)
{
	const json_t *number = json_object_get(meta, "workspace");

	stored->workspace = number_of(meta, "workspace");
	stored->has_workspace =
		json_is_integer(number) &&
		(stored->workspace == 0 || stored_files(stored, stored->workspace) != NULL);
}

/* Removes files that the meta does not name: they were being written when the daemon was killed. */
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

/* NULL: the meta does not exist (`err` says so), or is damaged. */
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

	/* A power cut can damage `next`, which had not settled, but never both. */
	meta = dir >= 0 ? read_meta(dir, STORE_NEXT, &err) : NULL;
	is_next = meta != NULL;
	if (!is_next && dir >= 0)
		meta = read_meta(dir, STORE_META, &err);
	record = json_object_get(meta, "record");
	stored = stored_new(store, id, text_of(record, "token"));
	if (record == NULL) {
		/* A folder without a meta was never announced to a client. One with a damaged meta
		 * is left for a person to repair. */
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
	read_workspace(stored, meta);
	read_states(stored, dir, json_object_get(meta, "states"));
	sweep_strays(stored, dir, is_next);
	if (is_next) {
		stored->written++;
		settle_meta(stored);
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

/* Deletes files of one removed folder. True: there is time left. */
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
	DIR *list = NULL;
	bool has_time = true;

	remove_stuck(store);
	if (store->has_gone)
		list = list_of(store->dir, ".");
	if (list == NULL)
		return;
	while (has_time && (entry = readdir(list)) != NULL) {
		if (is_id(STORE_GONE, entry->d_name))
			has_time = sweep_folder(store, entry->d_name, end_ns);
	}
	(void)closedir(list);
	store->has_gone = !has_time;
}
