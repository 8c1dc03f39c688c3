// SPDX-License-Identifier: Apache-2.0
#include "launch/slots.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/openat2.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>

#include "base/c.h"
#include "base/io.h"
#include "launch/attach.h"
#include "launch/facts.h"
#include "launch/freeze.h"
#include "launch/heads.h"

#define BODY(member, type) (offsetof(struct launch_request, member) + sizeof(type))

/* The closed table of requests: the size of each, and how many descriptors come with it. */
static const struct {
	size_t size;
	size_t fds_min, fds_max;
} request_rows[] = {
	[LAUNCH_ROOT] = {BODY(root, struct launch_root), 0, 0},
	[LAUNCH_ZYGOTE] = {BODY(zygote, struct launch_zygote), 0, 0},
	[LAUNCH_RETIRE] = {BODY(id, uint32_t), 0, 0},
	[LAUNCH_SPAWN] = {BODY(spawn, struct launch_spawn), 4, 4},
	[LAUNCH_BEGIN] = {BODY(begin, struct launch_begin), 0, 0},
	[LAUNCH_KILL] = {BODY(id, uint32_t), 0, 0},
	[LAUNCH_COUNT] = {offsetof(struct launch_request, id), 0, 0},
	[LAUNCH_END] = {BODY(ref, struct launch_head_ref), 0, 0},
	/* 0 descriptors: they did not fit into this process, and the answer says so. */
	[LAUNCH_HEAD] = {BODY(head, struct launch_head), 0, LAUNCH_HEAD_FDS_MAX},
	[LAUNCH_DROP] = {BODY(ref, struct launch_head_ref), 0, 0},
	[LAUNCH_SIGNAL] = {BODY(ref, struct launch_head_ref), 0, 0},
	[LAUNCH_FREEZE] = {BODY(ref, struct launch_head_ref), 0, 0},
	[LAUNCH_SAVE] = {BODY(ref, struct launch_head_ref), 0, 0},
	[LAUNCH_RESTORE] = {BODY(ref, struct launch_head_ref), 0, 0},
	[LAUNCH_KEEP] = {BODY(keep, struct launch_keep), 0, LAUNCH_KEPT_MAX},
	[LAUNCH_QUIT] = {offsetof(struct launch_request, id), 0, 0},
	[LAUNCH_METER] = {BODY(id, uint32_t), 0, 0},
	[LAUNCH_DISARM] = {BODY(ref, struct launch_head_ref), 0, 0},
	[LAUNCH_SWEEP] = {BODY(ref, struct launch_head_ref), 0, 0},
};

_Static_assert(LAUNCH_ROOTS_MAX <= 32, "outer->showing has a bit for each root");

void slots_init(struct outer *outer)
{
	TAILQ_INIT(&outer->armed);
	TAILQ_INIT(&outer->ending);
	TAILQ_INIT(&outer->waiting);
}

void slots_done(struct outer *outer)
{
	for (size_t i = 0; i < outer->slot_count; i++) {
		struct slot *slot = &outer->slots[i];

		attach_forget(slot);
		if (!slot->is_live)
			continue;
		while (!LIST_EMPTY(&slot->heads))
			heads_free(outer, LIST_FIRST(&slot->heads));
		heads_free(outer, &slot->first);
		free(STEAL(slot->err));
	}
}

static void forward(struct outer *outer, const struct launch_request *request, int *take_fds,
		    size_t fd_count)
{
	link_send(&outer->inner, request, request_rows[request->type].size, take_fds, fd_count);
}

static bool is_terminated(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

/*
 * Opens a path in the inner half's mounts, so that a clone of it can be attached there. No link can
 * lead out of that tree. `is_asked`: the client named the path, so it is opened with the client's
 * own rights; it must not reach a folder through us that it may not enter itself.
 */
static int open_inside(const struct outer *outer, const char *path, bool is_asked, struct err *err)
{
	const struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	AUTO_CLOSE int root = -1;
	char text[32];
	int fd;

	(void)snprintf(text, sizeof(text), "/proc/%d/root", outer->inner_pid);
	root = open(text, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return err_sys(err, "open the root of viv-launch");
	if (is_asked) {
		(void)setfsgid(outer->client_gid);
		(void)setfsuid(outer->client_uid);
	}
	fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	if (fd < 0)
		fd = err_sys(err, "open %s", path);
	(void)setfsuid(geteuid());
	(void)setfsgid(getegid());
	return fd;
}

/* The runner is next to us in a build directory; installed, in the lib/ of the same prefix. */
static int open_runner(const struct outer *outer, struct err *err)
{
	static const char *const places[] = {"runner", "../../lib/vivarium/runner"};
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash = NULL;

	if (n < 0)
		return err_sys(err, "read /proc/self/exe");
	self[n] = '\0';
	slash = strrchr(self, '/');
	if (slash != NULL)
		*slash = '\0';

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		char main_file[PATH_MAX + 64];
		AUTO_FREE char *real = NULL;

		(void)snprintf(main_file, sizeof(main_file), "%s/%s/main.py", self, places[i]);
		real = realpath(main_file, NULL);
		if (real == NULL)
			continue;
		*strrchr(real, '/') = '\0';
		return open_inside(outer, real, false, err);
	}
	return err_set(err, ERR_INTERNAL, ENOENT, "the runner's files are not near %.300s", self);
}

static int check_root(const struct launch_root *root, struct err *err)
{
	if (root->root >= LAUNCH_ROOTS_MAX || root->bind_count > LAUNCH_BINDS_MAX ||
	    root->is_bare > 1 || root->reserved != 0)
		return err_set(err, ERR_BAD_REQUEST, EINVAL, "root out of range");
	for (uint32_t i = 0; i < root->bind_count; i++) {
		const struct launch_bind *bind = &root->binds[i];

		if (!is_terminated(bind->source, sizeof(bind->source)) ||
		    !is_terminated(bind->target, sizeof(bind->target)) || bind->source[0] != '/' ||
		    bind->target[0] != '/' || strstr(bind->target, "..") != NULL)
			return err_set(err, ERR_BAD_REQUEST, EINVAL, "bind %u is not a path", i);
	}
	return 0;
}

static void on_root(struct outer *outer, const struct launch_request *request)
{
	const struct launch_root *root = &request->root;
	int fds[IO_FDS_MAX];
	struct err err = {0};
	size_t count = 0;
	int r = check_root(root, &err);

	if (r == 0) {
		fds[0] = open_runner(outer, &err);
		r = fds[0] < 0 ? fds[0] : 0;
		count = r == 0 ? 1 : 0;
	}
	for (uint32_t i = 0; r == 0 && i < root->bind_count; i++) {
		fds[count] = open_inside(outer, root->binds[i].source, true, &err);
		if (fds[count] < 0)
			r = fds[count];
		else
			count++;
	}
	if (r == 0) {
		/* An existing root serves until the new one is built, so the binds of either
		 * count. */
		if (root->bind_count > 0)
			outer->showing |= 1U << root->root;
		forward(outer, request, fds, count);
		return;
	}
	for (size_t i = 0; i < count; i++)
		drop_fd(&fds[i]);
	facts_tell_err(outer, LAUNCH_ROOT_MADE, root->root, &err);
}

static void on_zygote(struct outer *outer, const struct launch_request *request)
{
	const struct launch_zygote *zygote = &request->zygote;
	struct err err = {0};

	if (zygote->zygote >= LAUNCH_ZYGOTES_MAX || zygote->root >= LAUNCH_ROOTS_MAX ||
	    !is_terminated(zygote->python, sizeof(zygote->python)) ||
	    !is_terminated(zygote->preload, sizeof(zygote->preload)))
		(void)err_set(&err, ERR_BAD_REQUEST, EINVAL, "zygote out of range");
	if (err.kind != ERR_NONE) {
		facts_tell_err(outer, LAUNCH_ZYGOTE_DOWN, zygote->zygote, &err);
		return;
	}
	forward(outer, request, NULL, 0);
}

static int check_spawn(const struct outer *outer, const struct launch_spawn *spawn, struct err *err)
{
	if (spawn->sandbox >= LAUNCH_SANDBOXES_MAX || spawn->root >= LAUNCH_ROOTS_MAX ||
	    spawn->zygote < -1 || spawn->zygote >= LAUNCH_ZYGOTES_MAX ||
	    !is_terminated(spawn->python, sizeof(spawn->python)))
		return err_set(err, ERR_BAD_REQUEST, EINVAL, "spawn out of range");
	if (outer->slots[spawn->sandbox].is_live)
		return err_set(err, ERR_CONFLICT, EEXIST, "this sandbox is there already");
	if (spawn->plan.limits == LIMITS_CGROUP && outer->hello.limits == LAUNCH_LIMITS_MEASURED)
		return err_set(
			err, ERR_UNSUPPORTED, ENOTSUP,
			"the policy asks for limits: cgroup, and this user has none (%.300s)",
			outer->hello.why.text);
	return plan_check(&spawn->plan, err);
}

static void on_spawn(struct outer *outer, const struct launch_request *request, int *take_fds)
{
	const struct launch_spawn *spawn = &request->spawn;
	struct slot slot = {.is_live = true, .first = {.pidfd = -1, .fds = {-1, -1, -1, -1, -1}}};
	struct err err = {0};
	int fds[5];
	int v2 = -1;
	int r = check_spawn(outer, spawn, &err);

	if (r == 0)
		r = cgroup_take(&outer->groups, &spawn->plan, &outer->map, &slot.group, &v2, &err);
	if (r < 0) {
		facts_tell_err(outer, LAUNCH_GONE, spawn->sandbox, &err);
		return;
	}
	attach_forget(&outer->slots[spawn->sandbox]);
	slot.first.slot = &outer->slots[spawn->sandbox];
	slot.is_showing = (outer->showing & 1U << spawn->root) != 0;
	outer->slots[spawn->sandbox] = slot;
	if (outer->slot_count <= spawn->sandbox)
		outer->slot_count = spawn->sandbox + 1;
	for (size_t i = 0; i < 4; i++)
		fds[i] = steal_fd(&take_fds[i]);
	fds[4] = v2;
	forward(outer, request, fds, v2 >= 0 ? 5 : 4);
}

static void on_kill(struct outer *outer, uint32_t id)
{
	struct slot *slot = facts_slot(outer, id);

	if (slot != NULL)
		facts_end(outer, slot, LAUNCH_CAUSE_ASKED);
}

static void on_keep(struct outer *outer, const struct launch_keep *keep, int *take_fds,
		    size_t fd_count)
{
	struct slot *slot = facts_slot(outer, keep->sandbox);

	if (slot != NULL)
		attach_keep(outer, slot, keep, take_fds, fd_count);
	else if (fd_count == 0 && keep->sandbox < LAUNCH_SANDBOXES_MAX)
		attach_forget(&outer->slots[keep->sandbox]); /* the client knows that it ended */
}

static void on_meter(struct outer *outer, uint32_t id)
{
	struct slot *slot = facts_slot(outer, id);
	struct launch_event event = {.type = LAUNCH_METERED, .id = id};
	int fds[LAUNCH_METER_COUNT] = {-1, -1, -1, -1};
	size_t count = 0;

	if (slot == NULL)
		return;
	if (cgroup_open_meter(&outer->groups, &slot->group, fds, &event.err) == 0)
		count = LAUNCH_METER_COUNT;
	facts_tell(outer, &event, fds, count);
}

/* SAVE and RESTORE. The helper works inside the sandbox's cgroups, so their descriptors are sent
 * along. */
static void on_files(struct outer *outer, struct launch_request *request)
{
	const struct launch_head_ref *ref = &request->ref;
	struct head *head = heads_find(outer, ref->sandbox, ref->head);
	struct slot *slot = head != NULL ? head->slot : NULL;
	struct err err = {0};
	int fds[1 + WALL_TASKS_MAX];
	bool has_v2 = false;
	size_t count = 0;

	if (head == NULL || head->pid == 0)
		(void)err_set(&err, ERR_NOT_FOUND, ENOENT, "the interpreter is gone");
	else if (slot->is_frozen || slot->is_filing)
		(void)err_set(&err, ERR_CONFLICT, EBUSY, "the sandbox is %s",
			      slot->is_frozen ? "frozen" : "at it already");
	else
		(void)cgroup_open_all(&outer->groups, &slot->group, fds, &count, &has_v2, &err);
	if (slot == NULL || err.kind != ERR_NONE) {
		struct launch_event event = {.id = ref->sandbox, .err = err};

		event.type = request->type == LAUNCH_SAVE ? LAUNCH_SAVED : LAUNCH_RESTORED;
		event.head.sandbox = ref->sandbox;
		event.head.head = ref->head;
		facts_tell(outer, &event, NULL, 0);
		return;
	}
	slot->is_filing = true;
	slot->has_saved = true;
	request->reserved = has_v2;
	forward(outer, request, fds, count);
}

static void on_head_request(struct outer *outer, struct launch_request *request, int *take_fds,
			    size_t fd_count)
{
	switch (request->type) {
	case LAUNCH_BEGIN:
		heads_begin(outer, &request->begin);
		break;
	case LAUNCH_END:
		heads_end_run(outer, &request->ref);
		break;
	case LAUNCH_DISARM:
		heads_disarm(outer, &request->ref);
		break;
	case LAUNCH_HEAD:
		heads_add(outer, &request->head, take_fds);
		break;
	case LAUNCH_DROP:
		heads_drop(outer, &request->ref);
		break;
	case LAUNCH_SIGNAL:
		heads_signal(outer, &request->ref);
		break;
	case LAUNCH_FREEZE:
		freeze_request(outer, &request->ref);
		break;
	case LAUNCH_SWEEP:
		freeze_sweep(outer, &request->ref);
		break;
	case LAUNCH_SAVE:
	case LAUNCH_RESTORE:
		on_files(outer, request);
		break;
	case LAUNCH_KEEP:
		on_keep(outer, &request->keep, take_fds, fd_count);
		break;
	default:
		break;
	}
}

void slots_request(struct outer *outer, struct launch_request *request, size_t size, int *take_fds,
		   size_t fd_count)
{
	struct err err = {0};

	/* A request that is not in the table is a bug of our own caller: ignore it. */
	if (size < sizeof(uint32_t) || request->type == 0 ||
	    request->type >= ARRAY_LEN(request_rows) || size < request_rows[request->type].size)
		return;
	if (fd_count < request_rows[request->type].fds_min ||
	    fd_count > request_rows[request->type].fds_max) {
		(void)err_set(&err, ERR_BUSY, EMFILE,
			      "too many files are open for another sandbox");
		if (request->type == LAUNCH_SPAWN && fd_count == 0 &&
		    facts_slot(outer, request->spawn.sandbox) == NULL)
			facts_tell_err(outer, LAUNCH_GONE, request->spawn.sandbox, &err);
		return;
	}

	switch (request->type) {
	case LAUNCH_ROOT:
		on_root(outer, request);
		break;
	case LAUNCH_ZYGOTE:
		on_zygote(outer, request);
		break;
	case LAUNCH_RETIRE:
		if (request->id < LAUNCH_ZYGOTES_MAX)
			forward(outer, request, NULL, 0);
		break;
	case LAUNCH_SPAWN:
		on_spawn(outer, request, take_fds);
		break;
	case LAUNCH_KILL:
		on_kill(outer, request->id);
		break;
	case LAUNCH_COUNT:
		forward(outer, request, NULL, 0);
		break;
	case LAUNCH_METER:
		on_meter(outer, request->id);
		break;
	case LAUNCH_QUIT:
		outer->is_quitting = true;
		break;
	default:
		on_head_request(outer, request, take_fds, fd_count);
		break;
	}
}
