// SPDX-License-Identifier: Apache-2.0
#include "backend/namespace/namespace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"

static struct namespace *ours(struct backend_instance *instance)
{
	return (struct namespace *)instance;
}

/* ---- what launch tells ---- */

static enum box_limits limits_of(uint32_t limits)
{
	return limits == LAUNCH_LIMITS_V2   ? BOX_LIMITS_V2
	       : limits == LAUNCH_LIMITS_V1 ? BOX_LIMITS_V1
					    : BOX_LIMITS_MEASURED;
}

static void told_hello(void *user, const struct launch_hello *hello)
{
	struct namespace *namespace = user;
	struct backend_facts *facts = &namespace->facts;

	*facts = (struct backend_facts){
		.limits = limits_of(hello->limits),
		.walls = WALLS_ALL,
		.landlock_abi = hello->landlock_abi,
		.uid_count = hello->uid_count,
		.is_root = hello->is_root != 0,
		.cgroup_kill = hello->cgroup_kill != 0,
		.can_freeze = hello->can_freeze != 0,
		.reattach_ms = hello->reattach_ms,
		.disks = hello->disks,
		.why = hello->why,
	};
	/* The only graded wall: where limits are measured (and the plan accepts that) it is
	 * reported as absent. */
	if (facts->limits == BOX_LIMITS_MEASURED)
		facts->walls &= ~(1U << WALL_CGROUP);
	if (hello->version != LAUNCH_VERSION)
		(void)err_set(&facts->unfit, ERR_UNSUPPORTED, EPROTO,
			      "viv-launch speaks version %u, viv %u: install both from one build",
			      hello->version, LAUNCH_VERSION);
	else if (hello->landlock_abi == 0)
		(void)err_set(&facts->unfit, ERR_UNSUPPORTED, EOPNOTSUPP,
			      "landlock is off on this kernel; boot with lsm=landlock,...");
	namespace->calls->hello(namespace->user, facts);
}

static struct namespace_box *find(const struct namespace *namespace, uint32_t number)
{
	return number < LAUNCH_SANDBOXES_MAX ? namespace->boxes[number] : NULL;
}

static struct namespace_box *add_box(struct namespace *namespace, uint32_t number)
{
	struct namespace_box *box = xnew(struct namespace_box);

	box->box = (struct box){
		.impl = &namespace_box_impl,
		.backend = &backend_namespace,
		.number = number,
		.walls = namespace->facts.walls,
	};
	box->namespace = namespace;
	box->zygote = -1;
	namespace->boxes[number] = box;
	return box;
}

static void told_kept(struct namespace *namespace, const struct launch_event *event, int *take_fds,
		      size_t fd_count)
{
	struct namespace_box *box = NULL;
	char name[LAUNCH_NAME_MAX];
	struct err err = {0};

	if (event->id >= LAUNCH_SANDBOXES_MAX || namespace->boxes[event->id] != NULL)
		return;
	memcpy(name, event->kept.name, sizeof(name));
	name[sizeof(name) - 1] = '\0';
	box = add_box(namespace, event->id);
	box->is_kept = true;
	namespace->calls->kept(namespace->user, &box->box, name, take_fds, fd_count);
	if (box->box.calls == NULL)
		(void)namespace_box_impl.kill(&box->box, &err);
}

static void told_counted(struct namespace *namespace, const struct launch_counted *from)
{
	const struct backend_counted counted = {
		.sandboxes = from->sandboxes,
		.zygotes = from->zygotes,
		.roots = from->roots,
		.netns = from->netns,
		.cgroups = from->cgroups,
		.fds_outer = from->fds_outer,
		.fds_inner = from->fds_inner,
		.heads = from->heads,
		.rss_outer = from->rss_outer,
		.rss_inner = from->rss_inner,
	};

	namespace->calls->counted(namespace->user, &counted);
}

static void told(void *user, const struct launch_event *event, int *take_fds, size_t fd_count)
{
	struct namespace *namespace = user;
	struct namespace_box *box = find(namespace, event->id);

	if (zygotes_event(namespace->zygotes, event))
		return;
	switch (event->type) {
	case LAUNCH_KEPT:
		told_kept(namespace, event, take_fds, fd_count);
		break;
	case LAUNCH_KEPT_HEAD:
		if (box != NULL && (fd_count >= 1 || event->head.head == 0))
		namespace
		->calls->kept_head(namespace->user, &box->box, event->head.head, event->head.pid,
				   take_fds, fd_count);
		break;
	case LAUNCH_ATTACHED:
		namespace
		->calls->attached(namespace->user);
		break;
	case LAUNCH_COUNTED:
		told_counted(namespace, &event->counted);
		break;
	default:
		if (box != NULL)
			namespace_box_event(box, event, take_fds, fd_count);
		break;
	}
}

static void free_boxes(struct namespace *namespace)
{
	for (uint32_t i = 0; i < LAUNCH_SANDBOXES_MAX; i++)
		namespace_box_free(namespace->boxes[i]);
}

static void told_lost(void *user, const struct err *why)
{
	struct namespace *namespace = user;

	namespace->calls->lost(namespace->user, why);
	free_boxes(namespace);
}

static void zygotes_changed(void *user)
{
	struct namespace *namespace = user;

	namespace->calls->changed(namespace->user);
}

/* ---- open and close ---- */

static int open_launch(const struct backend *self, uv_loop_t *loop,
		       const struct backend_settings *settings, const struct backend_calls *calls,
		       void *user, struct backend_instance **ret_instance, struct err *err)
{
	static const struct launcher_calls launcher_calls = {
		.event = told, .hello = told_hello, .lost = told_lost};
	struct namespace *namespace = xnew(struct namespace);
	int socket = settings->socket;
	int r;

	namespace->instance.backend = self;
	namespace->calls = calls;
	namespace->user = user;
	meters_init(&namespace->meters);
	if (settings->stay != NULL)
		r = launcher_connect(loop, settings->stay, &launcher_calls, namespace,
				     &namespace->launcher, err);
	else if (socket > 0)
		r = launcher_attach(loop, &socket, &launcher_calls, namespace, &namespace->launcher,
				    err);
	else
		r = launcher_open(loop, &launcher_calls, namespace, &namespace->launcher, err);
	if (r < 0) {
		free(namespace);
		return r;
	}
	namespace->zygotes = zygotes_new(namespace->launcher, settings->forks_max, settings->age_ms,
					 zygotes_changed, namespace);
	*ret_instance = &namespace->instance;
	return 0;
}

static void close_launch(struct backend_instance *instance)
{
	struct namespace *namespace = ours(instance);

	launcher_close(namespace->launcher);
	free_boxes(namespace);
	zygotes_free(namespace->zygotes);
	free(namespace);
}

static void tick(struct backend_instance *instance)
{
	zygotes_tick(ours(instance)->zygotes);
}

static int quit(struct backend_instance *instance, struct err *err)
{
	const struct launch_request request = {.type = LAUNCH_QUIT};

	return launcher_send(ours(instance)->launcher, &request, NULL, 0, err);
}

static int count(struct backend_instance *instance, struct err *err)
{
	const struct launch_request request = {.type = LAUNCH_COUNT};

	return launcher_send(ours(instance)->launcher, &request, NULL, 0, err);
}

static pid_t helper(const struct backend_instance *instance)
{
	return launcher_pid(((const struct namespace *)instance)->launcher);
}

/* ---- boxes ---- */

static int prepare(struct backend_instance *instance, const struct box_kind *kind, struct err *err)
{
	struct lineage *lineage = NULL;

	return zygotes_lineage(ours(instance)->zygotes, kind->runtime, kind->trust, kind->data,
			       &lineage, err);
}

static int free_number(struct namespace *namespace, uint32_t *ret_number, struct err *err)
{
	for (uint32_t i = 0; i < LAUNCH_SANDBOXES_MAX; i++) {
		uint32_t number = (namespace->next + i) % LAUNCH_SANDBOXES_MAX;

		if (namespace->boxes[number] == NULL) {
			namespace->next = number + 1;
			*ret_number = number;
			return 0;
		}
	}
	return err_set(err, ERR_BUSY, EBUSY, "all %d sandboxes are in use", LAUNCH_SANDBOXES_MAX);
}

static int find_place(struct namespace *namespace, const struct box_kind *kind,
		      struct place *ret_place, struct err *err)
{
	struct lineage *lineage =
		zygotes_find(namespace->zygotes, kind->runtime, kind->trust, kind->data);
	int r = 0;

	if (lineage == NULL)
		r = zygotes_lineage(namespace->zygotes, kind->runtime, kind->trust, kind->data,
				    &lineage, err);
	return r < 0 ? r
		     : lineage_place(namespace->zygotes, lineage, kind->is_cold, ret_place, err);
}

static int make(struct backend_instance *instance, const struct box_kind *kind,
		const int fds[BOX_FD_COUNT], const struct box_calls *calls, void *user,
		struct box **ret_box, struct err *err)
{
	struct namespace *namespace = ours(instance);
	struct launch_request request = {.type = LAUNCH_SPAWN, .spawn = {.plan = kind->plan}};
	struct launch_spawn *spawn = &request.spawn;
	struct namespace_box *box = NULL;
	struct place place = {0};
	int r = find_place(namespace, kind, &place, err);

	if (r == 0)
		r = free_number(namespace, &spawn->sandbox, err);
	if (r == 0 && place.zygote < 0 && strlen(place.python) >= sizeof(spawn->python))
		r = err_set(err, ERR_BAD_REQUEST, ENAMETOOLONG,
			    "the interpreter's path is too long");
	if (r < 0)
		return r;
	spawn->root = place.root;
	spawn->zygote = place.zygote;
	spawn->plan.shown = place.shown;
	if (place.zygote < 0)
		(void)snprintf(spawn->python, sizeof(spawn->python), "%s", place.python);
	r = launcher_send(namespace->launcher, &request, fds, BOX_FD_COUNT, err);
	if (r < 0)
		return r;

	box = add_box(namespace, spawn->sandbox);
	box->box.calls = calls;
	box->box.user = user;
	box->box.shown = place.shown;
	box->zygote = place.zygote;
	zygotes_forked(namespace->zygotes, place.zygote);
	*ret_box = &box->box;
	return 0;
}

#define USES                                                                                       \
	(1U << BACKEND_PYTHON | 1U << BACKEND_COMMAND | 1U << BACKEND_SESSION |                    \
	 1U << BACKEND_EXPLORE)

const struct backend backend_namespace = {
	.name = "namespace",
	.priority = 75,
	.isolation = "kernel namespaces, landlock, seccomp",
	.uses = USES,
	.by_order = USES,
	.not_for = "it can only show folders of this host",
	.remedy = "`viv doctor` names what this host lacks and the command that turns it on",
	.open = open_launch,
	.close = close_launch,
	.prepare = prepare,
	.make = make,
	.tick = tick,
	.quit = quit,
	.count = count,
	.helper = helper,
	.box = &namespace_box_impl,
	.walls = WALLS_ALL,
};
