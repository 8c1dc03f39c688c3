// SPDX-License-Identifier: Apache-2.0
#include "dialect/doors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "base/log.h"
#include "dialect/door_state.h"
#include "session/engine.h"

/* ---- finding ---- */

static bool is_exclusive(const struct doors *doors)
{
	return doors->main != NULL && doors->main->door->is_exclusive;
}

static int find(const struct op **ops, const char *method, const char *path,
		struct route *ret_route, struct err *err)
{
	const struct op *const *const tables[] = {ops, NULL};

	return route_find(tables, method, path, ret_route, err);
}

/* The route of this path, whatever its method. */
static const struct mounted *find_path(const struct mounted *all, size_t count, const char *path)
{
	for (size_t i = 0; i < count; i++) {
		const struct op *ops[] = {&all[i].op, NULL};
		struct route route = {0};
		struct err err = {0};
		int r = find(ops, all[i].op.method, path, &route, &err);

		route_done(&route);
		if (r != -ENOENT && !all[i].is_shared)
			return &all[i];
	}
	return NULL;
}

/* Whose prefix is it below? */
static const struct opened *find_prefix(const struct doors *doors, const char *path)
{
	for (size_t i = 0; i < doors->mount_count; i++) {
		const char *prefix = doors->mounts[i].prefix;
		size_t size = strlen(prefix);

		if (size > 0 && strncmp(path, prefix, size) == 0 &&
		    (path[size] == '/' || path[size] == '\0'))
			return doors->mounts[i].opened;
	}
	return doors->main;
}

static void begin(struct doors *doors, struct http_request *request, const struct opened *opened,
		  struct route *take_route, int found, const struct err *err)
{
	struct visit *visit = visit_new(doors, request, opened);

	visit->route = *take_route;
	visit->mounted = (const struct mounted *)take_route->op;
	*take_route = (struct route){0};
	http_hand_over(request, &visit_calls, doors);
	visit_begin(visit, found, err);
}

static bool is_ours(const struct doors *doors, const char *method, const char *path)
{
	if (is_exclusive(doors) && strncmp(path, "/v1/", 4) != 0)
		return false;
	return router_knows(doors->settings.router, method, path);
}

/* Looks through one half of the routes; false: it is none of them. */
static bool take(struct doors *doors, struct http_request *request, bool is_first)
{
	const struct mounted *all = is_first ? doors->first : doors->last;
	size_t count = is_first ? doors->first_count : doors->last_count;
	const char *method = http_method(request);
	const char *path = http_path(request);
	struct route route = {0};
	struct err err = {0};
	int r = find(is_first ? doors->first_ops : doors->last_ops, method, path, &route, &err);
	const struct mounted *mounted = (const struct mounted *)route.op;

	if (r == -EPERM)
		mounted = find_path(all, count, path);
	if (mounted == NULL || (r == -EPERM && is_ours(doors, method, path))) {
		route_done(&route);
		return false;
	}
	begin(doors, request, mounted->opened, &route, r, &err);
	return true;
}

static void on_head(void *user, struct http_request *request)
{
	struct doors *doors = user;
	const char *path = http_path(request);
	const struct opened *opened;
	struct route none = {0};
	struct err err = {0};

	if (take(doors, request, true))
		return;
	if (!is_ours(doors, NULL, path)) {
		if (take(doors, request, false))
			return;
		opened = find_prefix(doors, path);
		if (opened != NULL) {
			(void)err_set(&err, ERR_NOT_FOUND, ENOENT, "there is no such path");
			begin(doors, request, opened, &none, -ENOENT, &err);
			return;
		}
	}
	http_hand_over(request, &router_calls, doors->settings.router);
	router_calls.head(doors->settings.router, request);
}

/* Every request is handed over in its head. */
static size_t on_body(void *user, struct http_request *request, const void *data, size_t size)
{
	(void)user;
	(void)request;
	(void)data;
	return size;
}

static void on_complete(void *user, struct http_request *request)
{
	(void)user;
	(void)request;
}

static void on_gone(void *user, struct http_request *request, bool is_sent)
{
	(void)user;
	(void)request;
	(void)is_sent;
}

const struct http_calls doors_calls = {
	.head = on_head, .body = on_body, .complete = on_complete, .gone = on_gone};

/* ---- mounting ---- */

static const char *prefix_of(const struct doors *doors, const struct opened *opened)
{
	const char *config = (const char *)doors->settings.engine->config;
	const char *prefix = NULL;

	if (opened == doors->main)
		return "";
	memcpy(&prefix, config + opened->door->prefix_at, sizeof(prefix));
	return prefix;
}

static void add_mount(struct doors *doors, const struct opened *opened, const char *prefix,
		      bool is_named)
{
	struct mount *mount = &doors->mounts[doors->mount_count++];
	size_t size = strlen(prefix);

	while (size > 0 && prefix[size - 1] == '/')
		size--;
	*mount = (struct mount){.opened = opened, .is_named = is_named};
	mount->prefix = xcalloc(1, size + 1);
	memcpy(mount->prefix, prefix, size);
}

static void add_mounts(struct doors *doors)
{
	char own[80];

	doors->mounts = xcalloc(2 * doors->opened_count + 1, sizeof(*doors->mounts));
	for (size_t i = 0; i < doors->opened_count; i++) {
		const struct opened *opened = &doors->opened[i];
		const char *prefix = prefix_of(doors, opened);

		if (strcmp(prefix, "auto") != 0) {
			add_mount(doors, opened, prefix, true);
			continue;
		}
		(void)snprintf(own, sizeof(own), "/%s", opened->door->name);
		add_mount(doors, opened, own, true);
		add_mount(doors, opened, "", false);
	}
}

/* The same place by the same method; variables are the same whatever they are called. */
static bool is_same(const struct mounted *a, const struct mounted *b)
{
	const char *left = a->path;
	const char *right = b->path;

	if (strcmp(a->op.method, b->op.method) != 0)
		return false;
	while (*left == *right && *left != '\0') {
		if (*left == '{') {
			left += strcspn(left, "}");
			right += strcspn(right, "}");
		}
		left++;
		right++;
	}
	return *left == *right;
}

static struct mounted *find_same(struct mounted *all, size_t count, const struct mounted *wanted)
{
	for (size_t i = 0; i < count; i++) {
		if (is_same(&all[i], wanted))
			return &all[i];
	}
	return NULL;
}

static struct mounted make_mounted(const struct mount *mount, const struct door_route *route)
{
	size_t size = strlen(mount->prefix) + strlen(route->path) + 2;
	struct mounted mounted = {.route = route, .opened = mount->opened};

	mounted.path = xcalloc(1, size);
	(void)snprintf(mounted.path, size, "%s%s", mount->prefix, route->path);
	if (mounted.path[0] == '\0')
		mounted.path[0] = '/';
	mounted.op = (struct op){
		.name = mount->opened->door->name,
		.method = route->method,
		.path = mounted.path,
		.params = route->members,
		.param_count = route->member_count,
	};
	return mounted;
}

static int add_first(struct doors *doors, struct mounted mounted, struct err *err)
{
	struct mounted *same = find_same(doors->first, doors->first_count, &mounted);

	if (same == NULL) {
		doors->first[doors->first_count++] = mounted;
		return 0;
	}
	(void)err_set(err, ERR_BAD_REQUEST, EEXIST,
		      "dialects: %s and %s both want %s %s; give one of them another prefix, as in "
		      "dialects.%s.prefix: /%s",
		      same->opened->door->name, mounted.opened->door->name, mounted.op.method,
		      mounted.path, mounted.opened->door->name, mounted.opened->door->name);
	free(mounted.path);
	return -EEXIST;
}

/* At the root by default: only what nobody else wants. */
static void add_last(struct doors *doors, struct mounted mounted)
{
	struct mounted *same = find_same(doors->last, doors->last_count, &mounted);

	if (same != NULL) {
		log_event(LOG_LEVEL_WARNING, "doors.shared", "path=%s doors=%s,%s", mounted.path,
			  same->opened->door->name, mounted.opened->door->name);
		free(mounted.path);
		same->is_shared = true;
		return;
	}
	doors->last[doors->last_count++] = mounted;
}

static int mount_all(struct doors *doors, struct err *err)
{
	size_t most = 0;
	int r = 0;

	for (size_t i = 0; i < doors->mount_count; i++)
		most += doors->mounts[i].opened->door->route_count;
	doors->first = xcalloc(most + 1, sizeof(*doors->first));
	doors->last = xcalloc(most + 1, sizeof(*doors->last));
	for (size_t i = 0; r == 0 && i < doors->mount_count; i++) {
		const struct mount *mount = &doors->mounts[i];
		const struct door *door = mount->opened->door;

		for (size_t k = 0; r == 0 && k < door->route_count; k++) {
			struct mounted mounted = make_mounted(mount, &door->routes[k]);

			if (mount->is_named)
				r = add_first(doors, mounted, err);
			else
				add_last(doors, mounted);
		}
	}
	doors->first_ops = xcalloc(most + 1, sizeof(*doors->first_ops));
	doors->last_ops = xcalloc(most + 1, sizeof(*doors->last_ops));
	for (size_t i = 0; i < doors->first_count; i++)
		doors->first_ops[i] = &doors->first[i].op;
	for (size_t i = 0, n = 0; i < doors->last_count; i++) {
		if (!doors->last[i].is_shared)
			doors->last_ops[n++] = &doors->last[i].op;
	}
	return r;
}

/* ---- life ---- */

static bool is_wanted(const struct doors *doors, const struct door *door, const struct door *main)
{
	const char *config = (const char *)doors->settings.engine->config;
	bool is_enabled = false;

	if (main != NULL && (main == door || main->is_exclusive))
		return main == door;
	memcpy(&is_enabled, config + door->enabled_at, sizeof(is_enabled));
	return is_enabled;
}

static const struct door *find_door(const struct door *const *table, const char *name)
{
	while (*table != NULL && strcmp((*table)->name, name) != 0)
		table++;
	return *table;
}

static int open_door(struct doors *doors, const struct door *door, struct err *err)
{
	struct opened *opened = &doors->opened[doors->opened_count++];
	int r = 0;

	opened->door = door;
	if (door->open != NULL)
		r = door->open(doors->settings.engine, &opened->state, err);
	if (r < 0)
		return err_wrap(err, "dialects.%s", door->name);
	opened->is_open = true;
	return 0;
}

static int open_all(struct doors *doors, struct err *err)
{
	const struct door *const *table =
		doors->settings.table != NULL ? doors->settings.table : door_table;
	const struct door *main = NULL;
	size_t count = 0;
	int r = 0;

	if (doors->settings.main != NULL) {
		main = find_door(table, doors->settings.main);
		if (main == NULL)
			return err_set(err, ERR_BAD_REQUEST, ENOENT, "there is no dialect %.40s",
				       doors->settings.main);
	}
	while (table[count] != NULL)
		count++;
	doors->opened = xcalloc(count + 1, sizeof(*doors->opened));
	for (size_t i = 0; r == 0 && i < count; i++) {
		if (!is_wanted(doors, table[i], main))
			continue;
		if (table[i] == main)
			doors->main = &doors->opened[doors->opened_count];
		r = open_door(doors, table[i], err);
	}
	return r;
}

int doors_boot(const char *name, struct config *config, struct err *err)
{
	const struct door *door = find_door(door_table, name);

	if (door == NULL)
		return err_set(err, ERR_BAD_REQUEST, ENOENT, "there is no dialect %.40s", name);
	return door->boot != NULL ? door->boot(config, err) : 0;
}

int doors_new(const struct doors_settings *settings, struct doors **ret_doors, struct err *err)
{
	struct doors *doors = xnew(struct doors);
	int r;

	doors->settings = *settings;
	r = open_all(doors, err);
	if (r == 0) {
		add_mounts(doors);
		r = mount_all(doors, err);
	}
	if (r < 0) {
		doors_close(doors);
		return r;
	}
	*ret_doors = doors;
	return 0;
}

void doors_release(struct doors *doors)
{
	if (!doors->is_closed || doors->visit_count > 0)
		return;
	for (size_t i = 0; i < doors->opened_count; i++) {
		const struct opened *opened = &doors->opened[i];

		if (opened->is_open && opened->door->close != NULL)
			opened->door->close(opened->state);
	}
	for (size_t i = 0; i < doors->first_count; i++)
		free(doors->first[i].path);
	for (size_t i = 0; i < doors->last_count; i++)
		free(doors->last[i].path);
	for (size_t i = 0; i < doors->mount_count; i++)
		free(doors->mounts[i].prefix);
	free(doors->first);
	free(doors->last);
	free(doors->first_ops);
	free(doors->last_ops);
	free(doors->mounts);
	free(doors->opened);
	free(doors);
}

void doors_close(struct doors *doors)
{
	if (doors == NULL)
		return;
	doors->is_closed = true;
	doors_release(doors);
}

int doors_list(const struct doors *doors, struct buf *buf)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < doors->mount_count; i++) {
		const struct mount *mount = &doors->mounts[i];

		r = buf_format(buf, "%s %s\n", mount->opened->door->name,
			       mount->prefix[0] != '\0' ? mount->prefix : "/");
	}
	return r;
}
