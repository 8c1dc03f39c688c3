// SPDX-License-Identifier: Apache-2.0
/* What was written goes to the disk itself. That takes as long as whatever else the disk is busy
 * with, so a thread of libuv's waits for it, never the loop. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/c.h"
#include "base/log.h"
#include "session/store_state.h"

/* ---- one file or folder ---- */

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

struct store_sync *store_sync(struct store *store, int *take_fd, void (*call)(void *user, int r),
			      void *user)
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

/* ---- the meta ---- */

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
		not_settled(stored, -r, "put a folder on the disk");
		return;
	}
	stored->is_folder_told = true;
	if (stored->settling != stored->written)
		store_settle_meta(stored);
	else
		settled(stored, NULL);
}

/* Its own name is in the folder above; that is new only once. */
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
		stored->meta = store_sync(stored->store, &above, above_synced, stored);
}

static void meta_synced(void *user, int r)
{
	struct stored *stored = user;
	AUTO_CLOSE int dir = -1;
	struct err err = {0};

	stored->meta = NULL;
	if (r < 0) {
		not_settled(stored, -r, "put the list of states on the disk");
		return;
	}
	/* Another took its place meanwhile. */
	if (stored->settling != stored->written) {
		store_settle_meta(stored);
		return;
	}
	if (store_open_dir(stored, &dir, &err) < 0) {
		settled(stored, &err);
		return;
	}
	if (renameat(dir, STORE_NEXT, dir, STORE_META) < 0) {
		not_settled(stored, errno, "rename a file");
		return;
	}
	stored->meta = store_sync(stored->store, &dir, folder_synced, stored);
}

void store_settle_meta(struct stored *stored)
{
	AUTO_CLOSE int dir = -1;
	AUTO_CLOSE int fd = -1;
	struct err err = {0};

	if (stored->meta != NULL)
		return; /* whoever it comes back to sees that there is more */
	if (store_open_dir(stored, &dir, &err) < 0) {
		settled(stored, &err);
		return;
	}
	fd = openat(dir, STORE_NEXT, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		not_settled(stored, errno, "open the list of states");
		return;
	}
	stored->settling = stored->written;
	stored->meta = store_sync(stored->store, &fd, meta_synced, stored);
}

void stored_settle(struct stored *stored, store_call *call, void *user)
{
	stored->settled = call;
	stored->settled_user = user;
	if (stored->meta == NULL)
		store_settle_meta(stored);
}

/* ---- a file on its way ---- */

static void file_synced(void *user, int r)
{
	struct stored *stored = user;
	store_call *call = STEAL(stored->synced);
	struct err err = {0};

	stored->file = NULL;
	if (r < 0)
		(void)err_set(&err, ERR_INTERNAL, -r, "put a state on the disk: %s", strerror(-r));
	call(stored->synced_user, r < 0 ? &err : NULL);
}

int stored_sync(struct stored *stored, int fd, store_call *call, void *user, struct err *err)
{
	AUTO_CLOSE int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (copy < 0)
		return err_sys(err, "put a state on the disk");
	stored->synced = call;
	stored->synced_user = user;
	stored->file = store_sync(stored->store, &copy, file_synced, stored);
	return 0;
}

void stored_forget(struct stored *stored)
{
	struct store_sync *file = STEAL(stored->file);

	if (file != NULL)
		file->call = NULL;
	stored->synced = stored->settled = NULL;
}
