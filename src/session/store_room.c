// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/c.h"
#include "base/log.h"
#include "session/store_state.h"

static bool is_used(const struct stored *stored, uint64_t number)
{
	const struct store_state *state = NULL;

	TAILQ_FOREACH(state, &stored->states, entry) {
		if (state->files == number)
			return true;
	}
	return false;
}

/* Workspaces that no state names any more; `but` is on its way to one. */
void store_drop_files(struct stored *stored, int dir, uint64_t but)
{
	struct store_files *files = TAILQ_FIRST(&stored->files);
	char name[STORE_PATH_MAX];

	while (files != NULL) {
		struct store_files *next = TAILQ_NEXT(files, entry);

		if (files->number != but && !is_used(stored, files->number)) {
			store_files_name(files->number, name);
			(void)unlinkat(dir, name, 0);
			TAILQ_REMOVE(&stored->files, files, entry);
			store_files_free(files);
		}
		files = next;
	}
}

/* The meta says first that it is gone: a kill in between leaves bytes that the start sweeps. */
int store_drop_state(struct stored *stored, struct store_state *state, uint64_t but,
		     struct err *err)
{
	char name[STORE_PATH_MAX];
	AUTO_CLOSE int dir = -1;
	int r = store_open_dir(stored, &dir, err);

	if (r < 0)
		return r;
	TAILQ_REMOVE(&stored->states, state, entry);
	stored->count--;
	r = stored_write(stored, err);
	if (r < 0 && err->num != ENOSPC) {
		TAILQ_INSERT_HEAD(&stored->states, state, entry);
		stored->count++;
		return r;
	}
	/* A full disk may have no room for the meta: the bytes go all the same, and who reads the
	 * old meta finds that they did. */
	store_state_name(state->id, name);
	(void)unlinkat(dir, name, 0);
	store_drop_files(stored, dir, but);
	store_state_free(state);
	return 0;
}

int stored_drop(struct stored *stored, struct store_state *state, struct err *err)
{
	return store_drop_state(stored, state, 0, err);
}

/* Of the token's states the oldest without a name; of each session the last one stays. */
static struct store_state *find_victim(const struct stored *stored, struct stored **ret_of)
{
	struct store_state *oldest = NULL;
	struct stored *one = NULL;

	LIST_FOREACH(one, &stored->store->all, entry) {
		struct store_state *state = NULL;

		if (strcmp(one->token, stored->token) != 0)
			continue;
		TAILQ_FOREACH(state, &one->states, entry) {
			if (state->name != NULL || state == stored_last(one) ||
			    (oldest != NULL && oldest->created_ms <= state->created_ms))
				continue;
			oldest = state;
			*ret_of = one;
		}
	}
	return oldest;
}

static void sum_up(const struct stored *stored, uint64_t *ret_all, uint64_t *ret_token)
{
	const struct stored *one = NULL;

	*ret_all = *ret_token = 0;
	LIST_FOREACH(one, &stored->store->all, entry) {
		uint64_t bytes = stored_bytes(one);

		*ret_all += bytes;
		*ret_token += strcmp(one->token, stored->token) == 0 ? bytes : 0;
	}
}

int store_make_room(struct stored *stored, uint64_t more, struct err *err)
{
	const struct store *store = stored->store;
	uint64_t all = 0;
	uint64_t own = 0;

	sum_up(stored, &all, &own);
	while (all + more > store->max || own + more > store->token_max) {
		uint64_t newest = stored->next_number - 1; /* on its way to the next state */
		struct stored *of = NULL;
		struct store_state *victim = find_victim(stored, &of);

		if (victim == NULL)
			return err_set(
				err, ERR_BUSY, ENOSPC,
				"the states of %s may take %llu MiB of disk, and they do; "
				"delete sessions or named checkpoints",
				all + more > store->max ? "all sessions" : "one token",
				(unsigned long long)((all + more > store->max ? store->max
									      : store->token_max) >>
						     20));
		of->dropped++;
		log_event(LOG_LEVEL_INFO, "store.drop", "session=%s checkpoint=%s why=room", of->id,
			  victim->id);
		if (store_drop_state(of, victim, of == stored ? newest : 0, err) < 0)
			return -err->num;
		sum_up(stored, &all, &own);
	}
	return 0;
}

void stored_remove(struct stored *stored)
{
	char gone[STORE_PATH_MAX];

	(void)snprintf(gone, sizeof(gone), STORE_GONE "%s", stored->id + strlen(STORE_PREFIX));
	if (renameat(stored->store->dir, stored->id, stored->store->dir, gone) == 0)
		stored->store->has_gone = true;
	else if (errno != ENOENT)
		log_event(LOG_LEVEL_ERROR, "store.remove", "session=%s errno=%d", stored->id,
			  errno);
	stored_free(stored);
}
