// SPDX-License-Identifier: Apache-2.0
#include "api/route.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/c.h"

/* A variable in the pattern and what stands there in the path; neither is terminated. */
struct span {
	const char *name, *value;
	size_t name_size, value_size;
};

struct spans {
	struct span items[ROUTE_VARS_MAX];
	size_t count;
};

static void add_span(struct spans *spans, const char *name, size_t name_size, const char *value,
		     size_t value_size)
{
	if (spans->count < ROUTE_VARS_MAX)
		spans->items[spans->count++] = (struct span){name, value, name_size, value_size};
}

/* {name} takes one segment that is not empty, {name...} all that is left. */
static bool matches(const char *pattern, const char *path, struct spans *spans)
{
	spans->count = 0;
	while (*pattern != '\0') {
		bool takes_rest;
		size_t want, have;

		if (*pattern != '{') {
			if (*pattern++ != *path++)
				return false;
			continue;
		}
		want = strcspn(pattern, "/");
		takes_rest = want > 5 && memcmp(pattern + want - 4, "...}", 4) == 0;
		have = takes_rest ? strlen(path) : strcspn(path, "/");
		if (have == 0)
			return false;
		add_span(spans, pattern + 1, want - (takes_rest ? 5 : 2), path, have);
		pattern += want;
		path += have;
	}
	return *path == '\0';
}

/* Where two patterns fit, the one that is literal for longer is meant. */
static bool is_closer(const char *pattern, const char *than)
{
	while (*pattern == *than && *pattern != '\0') {
		pattern++;
		than++;
	}
	return *than == '{' && *pattern != '{';
}

static void allow(struct route *route, const char *method)
{
	const char *shown = strcmp(method, "GET") == 0 ? "GET, HEAD" : method;
	char *text = route->allow;
	size_t used = strlen(text);

	if (strstr(text, shown) == NULL)
		(void)snprintf(text + used, sizeof(route->allow) - used, "%s%s",
			       used > 0 ? ", " : "", shown);
}

static int set_vars(struct route *route, const struct spans *spans, struct err *err)
{
	size_t size = 0;
	char *to;

	for (size_t i = 0; i < spans->count; i++)
		size += spans->items[i].name_size + spans->items[i].value_size + 2;
	to = route->text = xcalloc(1, size + 1);
	for (size_t i = 0; i < spans->count; i++) {
		const struct span *span = &spans->items[i];

		memcpy(to, span->name, span->name_size);
		route->vars[i].name = to;
		to += span->name_size + 1;
		if (decode_percent(span->value, span->value_size, to) < 0)
			return err_set(err, ERR_BAD_REQUEST, EINVAL,
				       "%s: is not percent-encoded UTF-8", route->vars[i].name);
		route->vars[i].value = to;
		to += strlen(to) + 1;
		route->var_count = i + 1;
	}
	return 0;
}

int route_find(const struct op *const *const *tables, const char *method, const char *path,
	       struct route *ret_route, struct err *err)
{
	const char *wanted = strcmp(method, "HEAD") == 0 ? "GET" : method;
	struct spans best = {0};
	struct spans spans = {0};

	*ret_route = (struct route){0};
	for (; *tables != NULL; tables++) {
		for (const struct op *const *op = *tables; *op != NULL; op++) {
			if ((*op)->method == NULL || !matches((*op)->path, path, &spans))
				continue;
			allow(ret_route, (*op)->method);
			if (strcmp((*op)->method, wanted) != 0)
				continue;
			if (ret_route->op != NULL && !is_closer((*op)->path, ret_route->op->path))
				continue;
			ret_route->op = *op;
			best = spans;
		}
	}
	if (ret_route->op != NULL)
		return set_vars(ret_route, &best, err);
	if (ret_route->allow[0] != '\0')
		return err_set(err, ERR_UNSUPPORTED, EPERM, "this path takes %s, not %.20s",
			       ret_route->allow, method);
	return err_set(err, ERR_NOT_FOUND, ENOENT,
		       "there is no such path; GET /openapi.json lists them all");
}

void route_done(struct route *route)
{
	if (route == NULL)
		return;
	free(route->text);
	*route = (struct route){0};
}
