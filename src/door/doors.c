// SPDX-License-Identifier: Apache-2.0
#include "door/doors.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "base/log.h"
#include "door/door_state.h"
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
static const struct mounted *find_path(const struct half *half, const char *path)
{
	const struct mounted *mounted = NULL;

	TAILQ_FOREACH(mounted, &half->list, entry) {
		const struct op *ops[] = {&mounted->op, NULL};
		struct route route = {0};
		struct err err = {0};
		int r = find(ops, mounted->op.method, path, &route, &err);

		route_done(&route);
		if (r != -ENOENT && !mounted->is_shared)
			return mounted;
	}
	return NULL;
}

/* Whose prefix is it below? */
static const struct opened *find_prefix(const struct doors *doors, const char *path)
{
	const struct mount *mount = NULL;

	TAILQ_FOREACH(mount, &doors->mounts, entry) {
		size_t size = strlen(mount->prefix);

		if (size > 0 && strncmp(path, mount->prefix, size) == 0 &&
		    (path[size] == '/' || path[size] == '\0'))
			return mount->opened;
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
	return router_knows(doors->settings.router, method, path) ||
	       page_knows(doors->settings.page, method, path);
}

/* Ours, and no dialect's: to the page or to the router. */
static void hand_over(struct doors *doors, struct http_request *request)
{
	struct page *page = is_exclusive(doors) ? NULL : doors->settings.page;

	if (page_knows(page, NULL, http_path(request))) {
		http_hand_over(request, &page_calls, page);
		page_calls.head(page, request);
		return;
	}
	http_hand_over(request, &router_calls, doors->settings.router);
	router_calls.head(doors->settings.router, request);
}

/* Looks through one half of the routes; false: it is none of them. */
static bool take(struct doors *doors, struct http_request *request, const struct half *half)
{
	const char *method = http_method(request);
	const char *path = http_path(request);
	struct route route = {0};
	struct err err = {0};
	int r = find(half->ops, method, path, &route, &err);
	const struct mounted *mounted = (const struct mounted *)route.op;

	if (r == -EPERM)
		mounted = find_path(half, path);
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

	if (take(doors, request, &doors->first))
		return;
	if (!is_ours(doors, NULL, path)) {
		if (take(doors, request, &doors->last))
			return;
		opened = find_prefix(doors, path);
		if (opened != NULL) {
			(void)err_set(&err, ERR_NOT_FOUND, ENOENT, "there is no such path");
			begin(doors, request, opened, &none, -ENOENT, &err);
			return;
		}
	}
	hand_over(doors, request);
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
		return "/";
	memcpy(&prefix, config + opened->door->prefix_at, sizeof(prefix));
	return prefix;
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

static struct mounted *find_same(const struct half *half, const struct mounted *wanted)
{
	struct mounted *mounted = NULL;

	TAILQ_FOREACH(mounted, &half->list, entry) {
		if (is_same(mounted, wanted))
			return mounted;
	}
	return NULL;
}

static struct mounted *mounted_new(const struct mount *mount, const struct door_route *route)
{
	size_t size = strlen(mount->prefix) + strlen(route->path) + 2;
	struct mounted *mounted = xnew(struct mounted);

	mounted->route = route;
	mounted->opened = mount->opened;
	mounted->path = xcalloc(1, size);
	(void)snprintf(mounted->path, size, "%s%s", mount->prefix, route->path);
	if (mounted->path[0] == '\0')
		mounted->path[0] = '/';
	mounted->op = (struct op){
		.name = mount->opened->door->name,
		.method = route->method,
		.path = mounted->path,
		.params = route->members,
		.param_count = route->member_count,
	};
	return mounted;
}

static void mounted_free(struct mounted *mounted)
{
	free(mounted->path);
	free(mounted);
}

static int add_first(struct doors *doors, struct mounted *take_mounted, struct err *err)
{
	const struct mounted *same = find_same(&doors->first, take_mounted);
	const char *name = take_mounted->op.name;

	if (same == NULL) {
		TAILQ_INSERT_TAIL(&doors->first.list, take_mounted, entry);
		return 0;
	}
	(void)err_set(err, ERR_BAD_REQUEST, EEXIST,
		      "dialects: %s and %s both want %s %s; give one of them another prefix, as in "
		      "dialects.%s.prefix: /%s",
		      same->op.name, name, take_mounted->op.method, take_mounted->path, name, name);
	mounted_free(take_mounted);
	return -EEXIST;
}

/* At the root by default: only what nobody else wants. */
static void add_last(struct doors *doors, struct mounted *take_mounted)
{
	struct mounted *same = find_same(&doors->last, take_mounted);

	if (router_knows(doors->settings.router, NULL, take_mounted->path) ||
	    page_knows(doors->settings.page, NULL, take_mounted->path)) {
		mounted_free(take_mounted);
		return;
	}
	if (same == NULL) {
		TAILQ_INSERT_TAIL(&doors->last.list, take_mounted, entry);
		return;
	}
	same->is_shared = true;
	log_event(LOG_LEVEL_WARNING, "doors.shared", "path=%s doors=%s,%s", take_mounted->path,
		  same->op.name, take_mounted->op.name);
	mounted_free(take_mounted);
}

/* `is_named`: by the config, not by `auto`. */
static int add_mount(struct doors *doors, const struct opened *opened, const char *prefix,
		     bool is_named, struct err *err)
{
	const struct door *door = opened->door;
	size_t size = strlen(prefix);
	struct mount *mount = xcalloc(1, sizeof(*mount) + size + 1);
	int r = 0;

	while (size > 0 && prefix[size - 1] == '/')
		size--;
	memcpy(mount->prefix, prefix, size);
	mount->opened = opened;
	TAILQ_INSERT_TAIL(&doors->mounts, mount, entry);
	for (size_t i = 0; r == 0 && i < door->route_count; i++) {
		struct mounted *mounted = mounted_new(mount, &door->routes[i]);

		if (is_named)
			r = add_first(doors, mounted, err);
		else
			add_last(doors, mounted);
	}
	return r;
}

static void make_ops(struct half *half)
{
	const struct mounted *mounted = NULL;
	size_t count = 0;

	TAILQ_FOREACH(mounted, &half->list, entry)
		count++;
	half->ops = (const struct op **)xcalloc(count + 1, sizeof(void *));
	count = 0;
	TAILQ_FOREACH(mounted, &half->list, entry) {
		if (!mounted->is_shared)
			half->ops[count++] = &mounted->op;
	}
}

static int mount_all(struct doors *doors, struct err *err)
{
	const struct opened *opened = NULL;
	int r = 0;

	TAILQ_FOREACH(opened, &doors->opened, entry) {
		const char *prefix = prefix_of(doors, opened);
		bool is_auto = strcmp(prefix, "auto") == 0;
		char own[80];

		(void)snprintf(own, sizeof(own), "/%s", opened->door->name);
		r = add_mount(doors, opened, is_auto ? own : prefix, true, err);
		if (r == 0 && is_auto)
			r = add_mount(doors, opened, "", false, err);
		if (r < 0)
			break;
	}
	make_ops(&doors->first);
	make_ops(&doors->last);
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

static int open_door(struct doors *doors, const struct door *door, bool is_main, struct err *err)
{
	struct opened *opened = xnew(struct opened);
	int r = 0;

	opened->door = door;
	TAILQ_INSERT_TAIL(&doors->opened, opened, entry);
	if (is_main)
		doors->main = opened;
	if (door->open != NULL)
		r = door->open(doors->settings.engine, &opened->state, err);
	if (r < 0)
		return err_wrap(err, "dialects.%s", door->name);
	opened->is_open = true;
	return 0;
}

static int no_dialect(const struct door *const *table, const char *name, struct err *err)
{
	char names[256] = "";
	size_t used = 0;

	for (; *table != NULL && used < sizeof(names); table++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
					 used > 0 ? ", " : "", (*table)->name);
	return err_set(err, ERR_BAD_REQUEST, ENOENT, "there is no dialect %.40s; there are: %s",
		       name, names);
}

static int open_all(struct doors *doors, struct err *err)
{
	const struct door *const *table =
		doors->settings.table != NULL ? doors->settings.table : door_table;
	const struct door *main = NULL;
	int r = 0;

	if (doors->settings.main != NULL) {
		main = find_door(table, doors->settings.main);
		if (main == NULL)
			return no_dialect(table, doors->settings.main, err);
	}
	for (; r == 0 && *table != NULL; table++) {
		if (is_wanted(doors, *table, main))
			r = open_door(doors, *table, *table == main, err);
	}
	return r;
}

int doors_boot(const char *name, struct config *config, struct err *err)
{
	const struct door *door = find_door(door_table, name);

	if (door == NULL)
		return no_dialect(door_table, name, err);
	return door->boot != NULL ? door->boot(config, err) : 0;
}

int doors_new(const struct doors_settings *settings, struct doors **ret_doors, struct err *err)
{
	struct doors *doors = xnew(struct doors);
	int r;

	doors->settings = *settings;
	TAILQ_INIT(&doors->opened);
	TAILQ_INIT(&doors->mounts);
	TAILQ_INIT(&doors->first.list);
	TAILQ_INIT(&doors->last.list);
	r = open_all(doors, err);
	if (r == 0)
		r = mount_all(doors, err);
	if (r < 0) {
		doors_close(doors);
		return r;
	}
	*ret_doors = doors;
	return 0;
}

static void half_done(struct half *half)
{
	struct mounted *mounted = NULL;

	while ((mounted = TAILQ_FIRST(&half->list)) != NULL) {
		TAILQ_REMOVE(&half->list, mounted, entry);
		mounted_free(mounted);
	}
	free((void *)half->ops);
}

void doors_release(struct doors *doors)
{
	struct opened *opened = NULL;
	struct mount *mount = NULL;

	if (!doors->is_closed || doors->visit_count > 0)
		return;
	half_done(&doors->first);
	half_done(&doors->last);
	while ((mount = TAILQ_FIRST(&doors->mounts)) != NULL) {
		TAILQ_REMOVE(&doors->mounts, mount, entry);
		free(mount);
	}
	while ((opened = TAILQ_FIRST(&doors->opened)) != NULL) {
		TAILQ_REMOVE(&doors->opened, opened, entry);
		if (opened->is_open && opened->door->close != NULL)
			opened->door->close(opened->state);
		free(opened);
	}
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
	const struct mount *mount = NULL;
	int r = 0;

	TAILQ_FOREACH(mount, &doors->mounts, entry) {
		if (r == 0)
			r = buf_format(buf, "%s %s\n", mount->opened->door->name,
				       mount->prefix[0] != '\0' ? mount->prefix : "/");
	}
	return r;
}
