// SPDX-License-Identifier: Apache-2.0
#include "backend/choose.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/c.h"

#define TRIED_MAX 8

static const char *const use_names[] = {
	[BACKEND_PYTHON] = "python",        [BACKEND_COMMAND] = "command",
	[BACKEND_SESSION] = "session",      [BACKEND_EXPLORE] = "explore",
	[BACKEND_EXPLORE_AWAY] = "explore",
};
_Static_assert(ARRAY_LEN(use_names) == BACKEND_USE_COUNT, "a use has no name");

/* The backends that were passed over, and why. */
struct tried {
	const struct backend *backend;
	struct err why;
};

struct trail {
	struct tried tried[TRIED_MAX];
	size_t count;
};

const char *backend_use_name(enum backend_use use)
{
	return use_names[use];
}

static bool is_explore(enum backend_use use)
{
	return use == BACKEND_EXPLORE || use == BACKEND_EXPLORE_AWAY;
}

enum backend_use backend_explore(const struct config *config)
{
	bool is_here = config == NULL || config->remote_url[0] == '\0' ||
		       config->explore_root[0] != '\0' || config->explore_folders.count > 0;

	return is_here ? BACKEND_EXPLORE : BACKEND_EXPLORE_AWAY;
}

static enum config_order order_of(const struct config *config)
{
	if (config == NULL)
		return CONFIG_ORDER_STRENGTH;
	if (config->backend_order != CONFIG_ORDER_AUTO)
		return (enum config_order)config->backend_order;
	return config->sidecar.has_url ? CONFIG_ORDER_REMOTE_PYTHON : CONFIG_ORDER_STRENGTH;
}

const char *backend_order_name(const struct config *config)
{
	enum config_order order = order_of(config);

	if (config != NULL && config->backend_priority.count > 0)
		return "priority";
	return order == CONFIG_ORDER_STRENGTH
		       ? "strength"
		       : config_sidecar_words->orders[order - CONFIG_ORDER_REMOTE_PYTHON];
}

/* Where a backend stands in an order; the highest is tried first, and no two are equal. A sidecar
 * comes first, for Python, or just before `namespace`. */
static uint64_t rank(const struct backend *backend, const struct config *config,
		     enum backend_use use)
{
	enum config_order order = order_of(config);

	if (backend != &backend_remote || order == CONFIG_ORDER_STRENGTH)
		return 2 * (uint64_t)backend->priority;
	if (order == CONFIG_ORDER_REMOTE_PYTHON && use == BACKEND_PYTHON)
		return UINT64_MAX;
	return 2 * (uint64_t)backend_namespace.priority + 1;
}

/* The next one behind `last` (NULL: the first), or NULL. */
static const struct backend *next_of(const struct backend_host *host, enum backend_use use,
				     const struct backend *last)
{
	const struct backend *const *all = backend_all(host);
	const struct backend *best = NULL;

	for (size_t i = 0; all[i] != NULL; i++) {
		uint64_t at = rank(all[i], host->config, use);

		if ((last == NULL || at < rank(last, host->config, use)) &&
		    (best == NULL || at > rank(best, host->config, use)))
			best = all[i];
	}
	return best;
}

static const struct backend *find(const struct backend_host *host, const char *name)
{
	const struct backend *const *all = backend_all(host);

	while (*all != NULL && strcmp((*all)->name, name) != 0)
		all++;
	return *all;
}

static bool is_name(const char *pin)
{
	return pin != NULL && strcmp(pin, "auto") != 0;
}

static bool is_named(const struct backend *backend, const struct config *config)
{
	return config != NULL && (strcmp(config->backend_pin, backend->name) == 0 ||
				  text_list_has(&config->backend_priority, backend->name));
}

/* Would `backend` do for `use` right now? 0, or why not. */
static int is_for(const struct backend *backend, const struct backend_host *host,
		  enum backend_use use, struct err *err)
{
	if (!(backend->uses & (1U << use)))
		return err_set(err, ERR_UNSUPPORTED, EOPNOTSUPP, "%s", backend->not_for);
	if (!(backend->by_order & (1U << use)) && !is_named(backend, host->config))
		return err_set(
			err, ERR_UNSUPPORTED, EPERM,
			"it does this only where backends.pin or backends.priority names it");
	return backend_probe(backend, host, err);
}

/* ---- refusals ---- */

static const char *called(const struct backend *backend, bool is_sidecar)
{
	const char *theirs = is_sidecar ? config_sidecar_words->backend(backend->name) : NULL;

	return theirs != NULL ? theirs : backend->name;
}

static void add(char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void add(char *text, size_t size, const char *format, ...)
{
	size_t used = strlen(text);
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text + used, size - used, format, args);
	va_end(args);
}

static void put_tried(const struct trail *trail, bool is_sidecar, char *text, size_t size)
{
	for (size_t i = 0; i < trail->count; i++)
		add(text, size, "%s%s: %.150s", i > 0 ? "; " : "",
		    called(trail->tried[i].backend, is_sidecar), trail->tried[i].why.text);
}

static int refuse_pin(const struct backend *backend, enum backend_use use,
		      const struct config *config, bool is_theirs, struct err *err)
{
	char why[sizeof(err->text)];

	(void)snprintf(why, sizeof(why), "%s", err->text);
	if (is_theirs && config->sidecar.has_pin) {
		const char *name = called(backend, true);

		return err_set(err, ERR_UNSUPPORTED, err->num,
			       "%s=%s but the %s %s backend could not be initialized: %s",
			       config_sidecar_words->pin, name, name,
			       is_explore(use) ? "explore" : "Python", why);
	}
	return err_field(err, ERR_UNSUPPORTED, err->num, "backend",
			 "%s is pinned, but it cannot be used: %s", backend->name, why);
}

static int refuse_list(const struct backend_host *host, const struct trail *trail, bool is_sidecar,
		       struct err *err)
{
	const struct config *config = host->config;
	bool is_theirs = is_sidecar || config->sidecar.has_priority;
	char names[200] = "";
	char tried[400] = "";

	for (size_t i = 0; i < config->backend_priority.count; i++) {
		const struct backend *backend = find(host, config->backend_priority.items[i]);

		if (backend != NULL)
			add(names, sizeof(names), "%s%s", i > 0 ? ", " : "",
			    called(backend, is_theirs));
	}
	put_tried(trail, is_theirs, tried, sizeof(tried));
	return err_set(err, ERR_UNSUPPORTED, EOPNOTSUPP,
		       "All backends in %s (%s) failed to initialize. %s",
		       is_theirs ? config_sidecar_words->list : "backends.priority", names, tried);
}

static int refuse_all(enum backend_use use, const struct config *config, const struct trail *trail,
		      bool is_sidecar, struct err *err)
{
	bool is_theirs = is_sidecar || (config != NULL && config->sidecar.has_url);
	char tried[400] = "";

	put_tried(trail, is_theirs, tried, sizeof(tried));
	if (is_theirs && !is_explore(use))
		return err_set(err, ERR_UNSUPPORTED, EOPNOTSUPP, "%s Attempted: %s",
			       config_sidecar_words->none, tried);
	return err_field(err, ERR_UNSUPPORTED, EOPNOTSUPP, "backend",
			 "none can do this here; `viv doctor` says what would help. "
			 "Attempted: %s",
			 tried);
}

/* ---- the choice ---- */

/* Refuses a backend that the config does not let a request name. */
static int check_allowed(const struct config *config, const char *pin, struct err *err)
{
	if (config == NULL)
		return 0;
	if (is_name(config->backend_pin) && strcmp(config->backend_pin, pin) != 0)
		return err_field(err, ERR_FORBIDDEN, EPERM, "backend",
				 "everything here runs on %s (backends.pin)", config->backend_pin);
	if (config->backend_priority.count > 0 && !text_list_has(&config->backend_priority, pin))
		return err_field(err, ERR_FORBIDDEN, EPERM, "backend",
				 "%.80s is not in backends.priority", pin);
	return 0;
}

static int choose_pin(const struct backend_host *host, enum backend_use use, const char *pin,
		      bool is_theirs, const struct backend **ret_backend, struct err *err)
{
	const struct backend *backend = find(host, pin);
	int r;

	if (backend == NULL)
		return err_field(err, ERR_NOT_FOUND, ENOENT, "backend",
				 "there is no '%.80s'; use auto, " BACKEND_NAMES_TEXT, pin);
	r = check_allowed(host->config, pin, err);
	if (r < 0)
		return r;
	if (is_for(backend, host, use, err) < 0)
		return refuse_pin(backend, use, host->config, is_theirs, err);
	*ret_backend = backend;
	return 0;
}

static bool take_if_good(const struct backend *backend, const struct backend_host *host,
			 enum backend_use use, struct trail *trail)
{
	struct tried *tried = &trail->tried[trail->count];

	*tried = (struct tried){.backend = backend};
	if (is_for(backend, host, use, &tried->why) == 0)
		return true;
	if (trail->count < TRIED_MAX - 1)
		trail->count++;
	return false;
}

static int choose_listed(const struct backend_host *host, enum backend_use use, bool is_sidecar,
			 const struct backend **ret_backend, struct err *err)
{
	const struct text_list *list = &host->config->backend_priority;
	struct trail trail = {0};

	for (size_t i = 0; i < list->count; i++) {
		const struct backend *backend = find(host, list->items[i]);

		if (backend != NULL && take_if_good(backend, host, use, &trail)) {
			*ret_backend = backend;
			return 0;
		}
	}
	return refuse_list(host, &trail, is_sidecar, err);
}

int backend_choose(const struct backend_host *host, enum backend_use use, const char *pin,
		   bool is_sidecar, const struct backend **ret_backend, struct err *err)
{
	const struct config *config = host->config;
	const struct backend *backend = NULL;
	struct trail trail = {0};

	if (is_name(pin))
		return choose_pin(host, use, pin, false, ret_backend, err);
	if (config != NULL && is_name(config->backend_pin))
		return choose_pin(host, use, config->backend_pin, true, ret_backend, err);
	if (config != NULL && config->backend_priority.count > 0)
		return choose_listed(host, use, is_sidecar, ret_backend, err);
	while ((backend = next_of(host, use, backend)) != NULL) {
		/* An absent backend is mentioned only if it was asked for by name. */
		if (backend->open == NULL && backend->jobs == NULL)
			continue;
		if (take_if_good(backend, host, use, &trail)) {
			*ret_backend = backend;
			return 0;
		}
	}
	return refuse_all(use, config, &trail, is_sidecar, err);
}

int backend_choose_local(const struct backend_host *host, const struct backend **ret_backend,
			 struct err *err)
{
	const struct backend *const *all = backend_all(host);
	struct trail trail = {0};

	for (size_t i = 0; all[i] != NULL; i++) {
		const struct backend *backend = all[i];
		bool has_walls = backend->by_order & (1U << BACKEND_SESSION);

		/* Even a config that names one without walls names it for runs, not for this. */
		if (backend->open != NULL && has_walls &&
		    take_if_good(backend, host, BACKEND_SESSION, &trail)) {
			*ret_backend = backend;
			return 0;
		}
	}
	return refuse_all(BACKEND_SESSION, NULL, &trail, false, err);
}

const char *backend_active(const struct backend_host *host, enum backend_use use)
{
	const struct backend *backend = NULL;
	struct err err = {0};

	(void)backend_choose(host, use, NULL, false, &backend, &err);
	return backend != NULL ? backend->name : "fail-closed";
}
