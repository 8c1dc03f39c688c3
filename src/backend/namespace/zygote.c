// SPDX-License-Identifier: Apache-2.0
#include "backend/namespace/zygote.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/queue.h>
#include <sys/stat.h>

#include "base/c.h"
#include "base/log.h"

#define START_MAX_NS (180ULL * 1000000000ULL) /* importing everything on a slow disk */
#define STABLE_NS (10ULL * 1000000000ULL)     /* after this, an end is no failed start */
#define BACKOFF_FIRST_NS (200ULL * 1000000ULL)
#define BACKOFF_DOUBLINGS 8 /* 0.2 s ... 51 s */

enum root_state {
	ROOT_NONE,
	ROOT_ASKED,
	ROOT_MADE,
	ROOT_FAILED,
};

struct root {
	enum root_state state;
	struct launch_root made_of; /* `root` is its own number */
	dev_t folder_dev;           /* of the folder bound at /data, when the root was requested */
	ino_t folder_ino;
	uint64_t programs; /* ... and when the host's programs had last changed; 0: never checked */
	struct err why;    /* ROOT_FAILED */
	bool is_told;      /* launch itself answers requests made before it was built */
};

enum zygote_state {
	ZYGOTE_NONE,
	ZYGOTE_STARTING,
	ZYGOTE_UP,
	ZYGOTE_OLD,      /* replaced; sandboxes are still being forked from it */
	ZYGOTE_RETIRING, /* asked to end */
	ZYGOTE_DOWN,     /* ended; its number is free once no more sandboxes come from it */
};

struct zygote {
	enum zygote_state state;
	struct lineage *lineage; /* borrowed: lives as long as the table */
	uint32_t forks;
	uint32_t coming; /* sandboxes requested and not there yet */
	uint64_t since_ns;
};

struct lineage {
	const struct runtime *runtime; /* borrowed: from the config, for good */
	char *trust;                   /* owned */
	char python[RUNTIME_PATH_MAX];
	char *data; /* owned: host folder at /data, or NULL */
	uint32_t root;
	int32_t current; /* a zygote that is up, or -1 */
	int32_t next;    /* one that is starting, or -1 */
	uint32_t failures;
	uint64_t retry_ns;
	struct err why;   /* the last failure */
	struct err lacks; /* modules of the runtime that are not installed */
	LIST_ENTRY(lineage) entry;
};

struct zygotes {
	struct launcher *launcher; /* borrowed: outlives this */
	uint32_t forks_max;
	uint64_t age_ns;
	void (*changed)(void *user);
	void *user;
	struct root roots[LAUNCH_ROOTS_MAX];
	struct zygote zygotes[LAUNCH_ZYGOTES_MAX];
	LIST_HEAD(, lineage) lineages;
};

struct zygotes *zygotes_new(struct launcher *launcher, uint32_t forks_max, uint32_t age_ms,
			    void (*changed)(void *user), void *user)
{
	struct zygotes *zygotes = xnew(struct zygotes);

	zygotes->launcher = launcher;
	zygotes->forks_max = forks_max;
	zygotes->age_ns = age_ms * 1000000ULL;
	zygotes->changed = changed;
	zygotes->user = user;
	LIST_INIT(&zygotes->lineages);
	return zygotes;
}

void zygotes_free(struct zygotes *zygotes)
{
	if (zygotes == NULL)
		return;
	while (!LIST_EMPTY(&zygotes->lineages)) {
		struct lineage *lineage = LIST_FIRST(&zygotes->lineages);

		LIST_REMOVE(lineage, entry);
		free(lineage->trust);
		free(lineage->data);
		free(lineage);
	}
	free(zygotes);
}

static int add_bind(struct launch_root *root, const char *source, const char *target,
		    struct err *err)
{
	struct launch_bind *bind = NULL;

	if (root->bind_count >= LAUNCH_BINDS_MAX)
		return err_set(err, ERR_UNSUPPORTED, E2BIG, "more than %d folders in one root",
			       LAUNCH_BINDS_MAX);
	if (strlen(source) >= LAUNCH_PATH_MAX || strlen(target) >= LAUNCH_PATH_MAX)
		return err_set(err, ERR_BAD_REQUEST, ENAMETOOLONG, "path too long: %s", source);

	bind = &root->binds[root->bind_count++];
	(void)snprintf(bind->source, sizeof(bind->source), "%s", source);
	(void)snprintf(bind->target, sizeof(bind->target), "%s", target);
	return 0;
}

static int ask_root(struct zygotes *zygotes, struct root *root, struct err *err)
{
	const struct launch_request request = {.type = LAUNCH_ROOT, .root = root->made_of};
	int r = launcher_send(zygotes->launcher, &request, NULL, 0, err);

	if (r < 0)
		return r;
	root->state = ROOT_ASKED;
	return 0;
}

/* The existing root with the same folders, or a new one. */
static int find_root(struct zygotes *zygotes, struct launch_root *made_of, uint32_t *ret_root,
		     struct err *err)
{
	for (uint32_t i = 0; i < LAUNCH_ROOTS_MAX; i++) {
		struct root *root = &zygotes->roots[i];
		int r;

		made_of->root = i;
		if (root->state == ROOT_NONE) {
			root->made_of = *made_of;
			r = ask_root(zygotes, root, err);
			if (r < 0)
				return r;
		} else if (memcmp(&root->made_of, made_of, sizeof(*made_of)) != 0) {
			continue;
		}
		*ret_root = i;
		return 0;
	}
	return err_set(err, ERR_BUSY, EBUSY,
		       "all %d template roots are taken; use fewer runtimes and data folders",
		       LAUNCH_ROOTS_MAX);
}

struct lineage *zygotes_find(const struct zygotes *zygotes, const struct runtime *runtime,
			     const char *trust, const char *data)
{
	struct lineage *lineage = NULL;

	LIST_FOREACH(lineage, &zygotes->lineages, entry) {
		if (lineage->runtime == runtime && strcmp(lineage->trust, trust) == 0 &&
		    strcmp(lineage->data != NULL ? lineage->data : "", data != NULL ? data : "") ==
			    0)
			return lineage;
	}
	return NULL;
}

int zygotes_lineage(struct zygotes *zygotes, const struct runtime *runtime, const char *trust,
		    const char *data, struct lineage **ret_lineage, struct err *err)
{
	struct launch_root made_of = {0};
	struct runtime_layout layout = {0};
	struct lineage *lineage = NULL;
	uint32_t root = 0;
	int r = runtime_binds(runtime, &layout, err);

	for (size_t i = 0; r == 0 && i < layout.bind_count; i++)
		r = add_bind(&made_of, layout.binds[i].source, layout.binds[i].target, err);
	made_of.is_bare = runtime->is_shell;
	if (r == 0 && data != NULL)
		r = add_bind(&made_of, data, "/data", err);
	if (r == 0)
		r = find_root(zygotes, &made_of, &root, err);
	if (r < 0)
		return err_wrap(err, "runtime %s", runtime->name);

	LIST_FOREACH(lineage, &zygotes->lineages, entry) {
		if (lineage->runtime == runtime && lineage->root == root &&
		    strcmp(lineage->trust, trust) == 0) {
			/* The runtime's folders may have changed and changed back: moved to the
			 * front, so that zygotes_find finds this lineage. */
			LIST_REMOVE(lineage, entry);
			LIST_INSERT_HEAD(&zygotes->lineages, lineage, entry);
			*ret_lineage = lineage;
			return 0;
		}
	}

	lineage = xnew(struct lineage);
	lineage->trust = xstrdup(trust);
	lineage->data = xstrdup(data);
	lineage->runtime = runtime;
	(void)snprintf(lineage->python, sizeof(lineage->python), "%s", layout.python);
	lineage->root = root;
	lineage->current = lineage->next = -1;
	LIST_INSERT_HEAD(&zygotes->lineages, lineage, entry);
	*ret_lineage = lineage;
	return 0;
}

static void set_back(struct lineage *lineage, const struct err *why)
{
	uint32_t doublings =
		lineage->failures < BACKOFF_DOUBLINGS ? lineage->failures : BACKOFF_DOUBLINGS;

	/* A broken package stays broken until it is repaired. */
	if (why->kind == ERR_UNSUPPORTED)
		doublings = BACKOFF_DOUBLINGS;
	lineage->failures++;
	lineage->retry_ns = now_ns() + (BACKOFF_FIRST_NS << doublings);
	lineage->why = *why;
}

static int start_next(struct zygotes *zygotes, struct lineage *lineage, struct err *err)
{
	struct launch_request request = {.type = LAUNCH_ZYGOTE};
	char preload[RUNTIME_PRELOAD_MAX + 1];
	uint32_t i = 0;
	int r;

	while (i < LAUNCH_ZYGOTES_MAX && zygotes->zygotes[i].state != ZYGOTE_NONE)
		i++;
	if (i == LAUNCH_ZYGOTES_MAX)
		return err_set(err, ERR_BUSY, EBUSY, "all %d zygotes are in use",
			       LAUNCH_ZYGOTES_MAX);

	runtime_preload_text(lineage->runtime, preload);
	request.zygote.zygote = i;
	request.zygote.root = lineage->root;
	(void)snprintf(request.zygote.python, sizeof(request.zygote.python), "%s", lineage->python);
	(void)snprintf(request.zygote.preload, sizeof(request.zygote.preload), "%s", preload);
	r = launcher_send(zygotes->launcher, &request, NULL, 0, err);
	if (r < 0)
		return r;

	zygotes->zygotes[i] =
		(struct zygote){.state = ZYGOTE_STARTING, .lineage = lineage, .since_ns = now_ns()};
	lineage->next = (int32_t)i;
	return 0;
}

/* When programs or libraries of this host were last installed or removed. */
static uint64_t programs_changed(void)
{
	static const char *const folders[] = {"/usr/bin", "/usr/lib", "/usr/lib64",
					      "/usr/local/bin", "/usr/local/lib"};
	uint64_t latest = 1;

	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		struct stat status;
		uint64_t changed;

		if (stat(folders[i], &status) < 0)
			continue;
		changed = (uint64_t)status.st_ctim.tv_sec * 1000000000ULL +
			  (uint64_t)status.st_ctim.tv_nsec;
		latest = changed > latest ? changed : latest;
	}
	return latest;
}

/* A root holds the folder that existed when it was made, but explore must see the current one. It
 * also covers the Pythons that existed then: when one is replaced, the kernel drops the mount on
 * the old file (man 2 rename). -EAGAIN while the root is rebuilt. */
static int refresh_root(struct zygotes *zygotes, const struct lineage *lineage, struct root *root,
			struct err *err)
{
	const bool is_new = root->programs == 0;
	const uint64_t programs = programs_changed();
	struct stat status;
	int r = 0;

	if (stat(lineage->data, &status) < 0)
		return err_sys(err, "the folder");
	if (status.st_ino != root->folder_ino || status.st_dev != root->folder_dev ||
	    programs != root->programs) {
		root->folder_ino = status.st_ino;
		root->folder_dev = status.st_dev;
		root->programs = programs;
		r = is_new ? 0 : ask_root(zygotes, root, err);
	}
	if (r == 0 && !is_new && root->state == ROOT_ASKED)
		r = -EAGAIN;
	return r;
}

/* Launch checks the folder, too, but its answer may come too late. A folder that only launch can
 * see is left to it. */
static int check_folder(const struct lineage *lineage, struct err *err)
{
	struct stat status;

	if (lineage->data == NULL || stat(lineage->data, &status) == 0 ||
	    (errno != ENOENT && errno != ENOTDIR))
		return 0;
	return err_sys(err, "the policy's data folder %s", lineage->data);
}

/* Makes sure that the root is there, or asked for. */
static int check_root(struct zygotes *zygotes, struct lineage *lineage, struct root *root,
		      struct err *err)
{
	bool is_told = root->is_told;
	int r;

	if (lineage->runtime->is_shell && lineage->data != NULL)
		r = refresh_root(zygotes, lineage, root, err);
	else
		r = check_folder(lineage, err);
	if (r < 0 || root->state != ROOT_FAILED)
		return r < 0 ? r : 0;

	/* Failed for this call; asked again for the next one: the folder may be back. */
	*err = root->why;
	root->is_told = false;
	r = ask_root(zygotes, root, &(struct err){0});
	if (!is_told || r < 0)
		return err_code(err);
	*err = (struct err){0};
	return 0;
}

int lineage_place(struct zygotes *zygotes, struct lineage *lineage, bool is_cold,
		  struct place *ret_place, struct err *err)
{
	struct root *root = &zygotes->roots[lineage->root];
	int r = check_root(zygotes, lineage, root, err);

	if (r < 0)
		return r;
	*ret_place = (struct place){.root = lineage->root, .zygote = -1, .python = lineage->python};
	if (root->made_of.bind_count > 0 || root->made_of.is_bare != 0)
		ret_place->shown = SHOWN_APART;
	if (is_cold) {
		/* Launch handles requests in order, so the caller need not wait: an error of the
		 * root reaches the sandbox. */
		root->is_told = root->state == ROOT_ASKED;
		return 0;
	}
	if (root->state != ROOT_MADE)
		return -EAGAIN;

	if (lineage->current >= 0) {
		ret_place->zygote = lineage->current;
		return 0;
	}
	if (lineage->next >= 0)
		return -EAGAIN;
	if (lineage->failures > 0 && now_ns() < lineage->retry_ns) {
		*err = lineage->why;
		return err_code(err);
	}
	r = start_next(zygotes, lineage, err);
	return r < 0 ? r : -EAGAIN;
}

static void retire(struct zygotes *zygotes, uint32_t id)
{
	const struct launch_request request = {.type = LAUNCH_RETIRE, .id = id};
	struct err err = {0};

	zygotes->zygotes[id].state = ZYGOTE_RETIRING;
	(void)launcher_send(zygotes->launcher, &request, NULL, 0, &err);
}

static bool is_due(const struct zygotes *zygotes, const struct zygote *zygote)
{
	return zygote->forks >= zygotes->forks_max ||
	       now_ns() - zygote->since_ns >= zygotes->age_ns;
}

static void replace_when_due(struct zygotes *zygotes, struct lineage *lineage)
{
	struct err err = {0};

	if (lineage->current < 0 || lineage->next >= 0 ||
	    !is_due(zygotes, &zygotes->zygotes[lineage->current]))
		return;
	if (lineage->failures > 0 && now_ns() < lineage->retry_ns)
		return;
	if (start_next(zygotes, lineage, &err) < 0) {
		set_back(lineage, &err);
		log_event(LOG_LEVEL_WARNING, "zygote.replace", "runtime=%s kept=old why=%s",
			  lineage->runtime->name, err.text);
	}
}

void zygotes_forked(struct zygotes *zygotes, int32_t zygote)
{
	if (zygote < 0)
		return;
	zygotes->zygotes[zygote].forks++;
	zygotes->zygotes[zygote].coming++;
	replace_when_due(zygotes, zygotes->zygotes[zygote].lineage);
}

void zygotes_landed(struct zygotes *zygotes, int32_t zygote)
{
	struct zygote *from = zygote >= 0 ? &zygotes->zygotes[zygote] : NULL;

	if (from == NULL || from->coming == 0)
		return;
	from->coming--;
	if (from->coming > 0)
		return;
	if (from->state == ZYGOTE_OLD)
		retire(zygotes, (uint32_t)zygote);
	else if (from->state == ZYGOTE_DOWN)
		*from = (struct zygote){.state = ZYGOTE_NONE};
}

/* A runtime that lacks some of its packages serves code that needs none of them. Logged once per
 * runtime, however many zygotes it has, until the list changes. */
static void note_lacks(const struct zygotes *zygotes, struct lineage *lineage,
		       const struct err *lacks)
{
	const struct lineage *other = NULL;
	bool is_told = lacks->kind == ERR_NONE;

	LIST_FOREACH(other, &zygotes->lineages, entry)
		is_told = is_told || (other->runtime == lineage->runtime &&
				      strcmp(other->lacks.text, lacks->text) == 0);
	lineage->lacks = *lacks;
	if (!is_told)
		log_event(LOG_LEVEL_WARNING, "runtime.lacks", "runtime=%s modules=%s remedy=%s",
			  lineage->runtime->name, lacks->text,
			  "viv doctor names the packages to install");
}

static void zygote_up(struct zygotes *zygotes, uint32_t id, const struct err *lacks)
{
	struct zygote *zygote = &zygotes->zygotes[id];
	struct lineage *lineage = zygote->lineage;

	if (zygote->state != ZYGOTE_STARTING)
		return;
	note_lacks(zygotes, lineage, lacks);
	zygote->state = ZYGOTE_UP;
	zygote->since_ns = now_ns();
	if (lineage->current >= 0) {
		uint32_t old = (uint32_t)lineage->current;

		if (zygotes->zygotes[old].coming > 0)
			zygotes->zygotes[old].state = ZYGOTE_OLD;
		else
			retire(zygotes, old);
	}
	lineage->current = (int32_t)id;
	lineage->next = -1;
}

static void zygote_down(struct zygotes *zygotes, uint32_t id, const struct err *why)
{
	struct zygote *zygote = &zygotes->zygotes[id];
	struct lineage *lineage = zygote->lineage;
	enum zygote_state was = zygote->state;
	bool was_stable = was == ZYGOTE_UP && now_ns() - zygote->since_ns >= STABLE_NS;

	if (was == ZYGOTE_NONE || was == ZYGOTE_DOWN)
		return;
	zygote->state = zygote->coming > 0 ? ZYGOTE_DOWN : ZYGOTE_NONE;
	if (lineage->current == (int32_t)id)
		lineage->current = -1;
	if (lineage->next == (int32_t)id)
		lineage->next = -1;
	if (was == ZYGOTE_RETIRING || was == ZYGOTE_OLD)
		return;

	if (was_stable)
		lineage->failures = 0;
	set_back(lineage, why);
	if (was_stable)
		lineage->retry_ns = 0; /* requests that wait are served by a new zygote at once */
	(void)err_wrap(&lineage->why, "runtime %s", lineage->runtime->name);
	log_event(LOG_LEVEL_INFO, "zygote.down", "zygote=%u runtime=%s failures=%u why=%s", id,
		  lineage->runtime->name, lineage->failures, why->text);
}

bool zygotes_event(struct zygotes *zygotes, const struct launch_event *event)
{
	struct err why = event->err;

	if (event->type == LAUNCH_ROOT_MADE && event->id < LAUNCH_ROOTS_MAX) {
		struct root *root = &zygotes->roots[event->id];

		root->state = why.kind == ERR_NONE ? ROOT_MADE : ROOT_FAILED;
		root->why = why;
	} else if (event->type == LAUNCH_ZYGOTE_UP && event->id < LAUNCH_ZYGOTES_MAX) {
		zygote_up(zygotes, event->id, &why);
	} else if (event->type == LAUNCH_ZYGOTE_DOWN && event->id < LAUNCH_ZYGOTES_MAX) {
		if (why.kind == ERR_NONE)
			(void)err_set(&why, ERR_INTERNAL, ECHILD, "its zygote ended");
		zygote_down(zygotes, event->id, &why);
	} else {
		return false;
	}
	zygotes->changed(zygotes->user);
	return true;
}

void zygotes_tick(struct zygotes *zygotes)
{
	struct lineage *lineage = NULL;

	LIST_FOREACH(lineage, &zygotes->lineages, entry)
		replace_when_due(zygotes, lineage);

	for (uint32_t i = 0; i < LAUNCH_ZYGOTES_MAX; i++) {
		struct zygote *zygote = &zygotes->zygotes[i];
		struct err why = {0};

		if (zygote->state != ZYGOTE_STARTING || now_ns() - zygote->since_ns < START_MAX_NS)
			continue;
		lineage = zygote->lineage;
		(void)err_set(&why, ERR_INTERNAL, ETIMEDOUT,
			      "its zygote did not finish its imports in %llu s",
			      START_MAX_NS / 1000000000ULL);
		lineage->next = -1;
		set_back(lineage, &why);
		retire(zygotes, i);
		zygotes->changed(zygotes->user);
	}
}
