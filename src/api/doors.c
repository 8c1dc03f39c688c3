// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/router_state.h"
#include "base/c.h"
#include "base/log.h"
#include "session/engine.h"

/* ---- rows ---- */

static void row_free(struct route_row *row)
{
	free(row->path);
	free(row);
}

static struct route_row *row_new(enum route_rank rank, struct opened *opened, const char *method,
				 const char *prefix, const char *path)
{
	size_t size = strlen(prefix) + strlen(path) + 2;
	struct route_row *row = xnew(struct route_row);

	row->rank = rank;
	row->opened = opened;
	row->method = method;
	row->path = xcalloc(1, size);
	(void)snprintf(row->path, size, "%s%s", prefix, path);
	if (row->path[0] == '\0')
		row->path[0] = '/';
	return row;
}

static struct route_row *row_of(enum route_rank rank, struct opened *opened, const char *prefix,
				const struct door_route *route)
{
	struct route_row *row = row_new(rank, opened, route->method, prefix, route->path);

	row->route = route;
	row->is_open = route->is_open;
	if (route->members != NULL) {
		row->members = (struct op){.name = opened->door->name,
					   .params = route->members,
					   .param_count = route->member_count};
		row->op = &row->members;
	}
	return row;
}

static struct route_row *find_same(const struct router *router, const struct route_row *wanted)
{
	struct route_row *row = NULL;

	TAILQ_FOREACH(row, &router->table, entry) {
		if (row->rank == wanted->rank && route_is_same(row, wanted))
			return row;
	}
	return NULL;
}

static int add_front(struct router *router, struct route_row *take_row, struct err *err)
{
	const struct route_row *same = find_same(router, take_row);
	const char *name = take_row->opened->door->name;

	if (same == NULL) {
		TAILQ_INSERT_TAIL(&router->table, take_row, entry);
		return 0;
	}
	(void)err_set(err, ERR_BAD_REQUEST, EEXIST,
		      "dialects: %s and %s both want %s %s; give one of them another prefix, as in "
		      "dialects.%s.prefix: /%s",
		      same->opened->door->name, name, take_row->method, take_row->path, name, name);
	row_free(take_row);
	return -EEXIST;
}

/* Adds a row at the root by default, but only if neither our own API nor another door has the
 * same. */
static void add_back(struct router *router, struct route_row *take_row)
{
	struct route_row *same = find_same(router, take_row);

	if (same == NULL && !route_is_own(&router->table, take_row->path)) {
		TAILQ_INSERT_TAIL(&router->table, take_row, entry);
		return;
	}
	if (same != NULL) {
		same->is_shared = true;
		log_event(LOG_LEVEL_WARNING, "doors.shared", "path=%s doors=%s,%s", take_row->path,
			  same->opened->door->name, take_row->opened->door->name);
	}
	row_free(take_row);
}

static int add_mount(struct router *router, struct opened *opened, const char *prefix,
		     enum route_rank rank, struct err *err)
{
	const struct door *door = opened->door;
	size_t size = strlen(prefix);
	struct mount *mount = xcalloc(1, sizeof(*mount) + size + 1);
	int r = 0;

	while (size > 0 && prefix[size - 1] == '/')
		size--;
	memcpy(mount->prefix, prefix, size);
	mount->opened = opened;
	TAILQ_INSERT_TAIL(&router->mounts, mount, entry);
	for (size_t i = 0; r == 0 && i < door->route_count; i++) {
		struct route_row *row = row_of(rank, opened, mount->prefix, &door->routes[i]);

		if (rank == ROUTE_FRONT)
			r = add_front(router, row, err);
		else
			add_back(router, row);
	}
	return r;
}

static const char *prefix_of(const struct router *router, const struct opened *opened)
{
	if (opened == router->main)
		return "/";
	return config_door(router->settings.engine->config, opened->door->config)->prefix;
}

static int mount_door(struct router *router, struct opened *opened, struct err *err)
{
	const char *prefix = prefix_of(router, opened);
	bool is_auto = strcmp(prefix, "auto") == 0;
	char own[80];
	int r;

	(void)snprintf(own, sizeof(own), "/%s", opened->door->name);
	r = add_mount(router, opened, is_auto ? own : prefix, ROUTE_FRONT, err);
	if (r == 0 && is_auto)
		r = add_mount(router, opened, "", ROUTE_BACK, err);
	return r;
}

/* ---- opening ---- */

static int open_door(struct router *router, const struct door *door, struct opened **ret_opened,
		     struct err *err)
{
	struct opened *opened = xnew(struct opened);
	int r = 0;

	opened->door = door;
	TAILQ_INSERT_TAIL(&router->opened, opened, entry);
	if (door->open != NULL)
		r = door->open(router->settings.engine, &opened->state, err);
	if (r < 0) {
		(void)err_wrap(err, "dialects.%s", door->name);
		return r;
	}
	opened->is_open = true;
	*ret_opened = opened;
	return 0;
}

static bool is_ours_left(const struct door *main, const char *path)
{
	return main == NULL || !main->is_exclusive || strncmp(path, "/v1/", 4) == 0;
}

/* Opens our own API and the page. `main` is the door of --dialect, or NULL. */
static int open_own(struct router *router, const struct door *main, struct err *err)
{
	const struct door *page = router->settings.page;
	struct opened *opened = NULL;
	int r = open_door(router, &native_door, &opened, err);

	for (size_t i = 0; r == 0 && router->ops[i] != NULL; i++) {
		for (const struct op *const *op = router->ops[i]; *op != NULL; op++) {
			struct route_row *row;

			if ((*op)->method == NULL || !is_ours_left(main, (*op)->path))
				continue;
			row = row_new(ROUTE_OWN, opened, (*op)->method, "", (*op)->path);
			row->route = &native_route;
			row->is_open = (*op)->is_open;
			row->op = *op;
			TAILQ_INSERT_TAIL(&router->table, row, entry);
		}
	}
	if (r < 0 || page == NULL || !is_ours_left(main, ""))
		return r;
	r = open_door(router, page, &opened, err);
	for (size_t i = 0; r == 0 && i < page->route_count; i++) {
		struct route_row *row = row_of(ROUTE_OWN, opened, "", &page->routes[i]);

		TAILQ_INSERT_TAIL(&router->table, row, entry);
	}
	return r;
}

static bool is_wanted(const struct router *router, const struct door *door, const struct door *main)
{
	if (main != NULL && (main == door || main->is_exclusive))
		return main == door;
	return config_door(router->settings.engine->config, door->config)->is_enabled;
}

static int find_door(const struct door *const *table, const char *name,
		     const struct door **ret_door, struct err *err)
{
	char names[256] = "";
	size_t used = 0;

	for (size_t i = 0; table[i] != NULL && used < sizeof(names); i++) {
		if (strcmp(table[i]->name, name) == 0) {
			*ret_door = table[i];
			return 0;
		}
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
					 used > 0 ? ", " : "", table[i]->name);
	}
	return err_set(err, ERR_BAD_REQUEST, ENOENT, "there is no dialect %.40s; there are: %s",
		       name, names);
}

int door_boot(const struct door *const *table, const char *name, struct config *config,
	      struct err *err)
{
	const struct door *door = NULL;
	int r = find_door(table, name, &door, err);

	if (r < 0)
		return r;
	return door->boot != NULL ? door->boot(config, err) : 0;
}

int doors_open(struct router *router, struct err *err)
{
	static const struct door *const none[] = {NULL};
	const struct router_settings *settings = &router->settings;
	const struct door *const *table = settings->doors != NULL ? settings->doors : none;
	const struct door *main = NULL;
	int r = 0;

	if (settings->main != NULL)
		r = find_door(table, settings->main, &main, err);
	if (r == 0)
		r = open_own(router, main, err);
	for (; r == 0 && *table != NULL; table++) {
		struct opened *opened = NULL;

		if (!is_wanted(router, *table, main))
			continue;
		r = open_door(router, *table, &opened, err);
		if (r == 0 && *table == main)
			router->main = opened;
		if (r == 0)
			r = mount_door(router, opened, err);
	}
	return r;
}

struct opened *doors_below(const struct router *router, const char *path)
{
	const struct mount *mount = NULL;

	TAILQ_FOREACH(mount, &router->mounts, entry) {
		size_t size = strlen(mount->prefix);

		if (size > 0 && strncmp(path, mount->prefix, size) == 0 &&
		    (path[size] == '/' || path[size] == '\0'))
			return mount->opened;
	}
	return router->main != NULL ? router->main : TAILQ_FIRST(&router->opened);
}

void doors_leave(const struct router *router, struct opened *opened)
{
	if (!router->is_closed || opened->exchange_count > 0 || !opened->is_open)
		return;
	opened->is_open = false;
	if (opened->door->close != NULL)
		opened->door->close(opened->state);
}

void doors_free(struct router *router)
{
	struct route_row *row = NULL;
	struct opened *opened = NULL;
	struct mount *mount = NULL;

	while ((row = TAILQ_FIRST(&router->table)) != NULL) {
		TAILQ_REMOVE(&router->table, row, entry);
		row_free(row);
	}
	while ((mount = TAILQ_FIRST(&router->mounts)) != NULL) {
		TAILQ_REMOVE(&router->mounts, mount, entry);
		free(mount);
	}
	while ((opened = TAILQ_FIRST(&router->opened)) != NULL) {
		TAILQ_REMOVE(&router->opened, opened, entry);
		free(opened);
	}
}
