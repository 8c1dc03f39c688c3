// SPDX-License-Identifier: Apache-2.0
#include "api/route.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/c.h"

/* A variable of the pattern and its value in the path; neither is NUL-terminated. */
struct part {
	const char *name, *value;
	size_t name_size, value_size;
};

struct spans {
	struct part items[ROUTE_VARS_MAX];
	size_t count;
};

static void add_span(struct spans *spans, const char *name, size_t name_size, const char *value,
		     size_t value_size)
{
	if (spans->count < ROUTE_VARS_MAX)
		spans->items[spans->count++] = (struct part){name, value, name_size, value_size};
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

/* If two patterns match, the one that is literal for longer wins. */
static bool is_closer(const char *pattern, const char *than)
{
	while (*pattern == *than && *pattern != '\0') {
		pattern++;
		than++;
	}
	return *than == '{' && *pattern != '{';
}

static void allow(char *text, const char *method)
{
	const char *shown = strcmp(method, "GET") == 0 ? "GET, HEAD" : method;
	size_t used = strlen(text);

	if (strstr(text, shown) == NULL)
		(void)snprintf(text + used, ROUTE_ALLOW_SIZE - used, "%s%s", used > 0 ? ", " : "",
			       shown);
}

static int set_vars(struct route *route, const struct spans *spans, struct err *err)
{
	size_t size = 0;
	char *to;

	for (size_t i = 0; i < spans->count; i++)
		size += spans->items[i].name_size + spans->items[i].value_size + 2;
	to = route->text = xcalloc(1, size + 1);
	for (size_t i = 0; i < spans->count; i++) {
		const struct part *span = &spans->items[i];

		memcpy(to, span->name, span->name_size);
		route->vars[i].name = to;
		to += span->name_size + 1;
		if (decode_percent(span->value, span->value_size, to) < 0)
			return err_field(err, ERR_BAD_REQUEST, EINVAL, route->vars[i].name,
					 "is not percent-encoded UTF-8");
		route->vars[i].value = to;
		to += strlen(to) + 1;
		route->var_count = i + 1;
	}
	return 0;
}

/* The rows of one rank that match a path. */
struct hit {
	const struct route_row *first; /* the first row of this path, with any method */
	const struct route_row *row;   /* the closest one with the method */
	struct spans spans;
	char allow[ROUTE_ALLOW_SIZE];
};

static void look(struct hit *hit, const struct route_row *row, const char *method,
		 const struct spans *spans)
{
	if (hit->first == NULL)
		hit->first = row;
	allow(hit->allow, row->method);
	if (strcmp(row->method, method) != 0 ||
	    (hit->row != NULL && !is_closer(row->path, hit->row->path)))
		return;
	hit->row = row;
	hit->spans = *spans;
}

static const struct hit *choose(const struct hit hits[ROUTE_RANK_COUNT])
{
	const struct hit *front = &hits[ROUTE_FRONT];
	const struct hit *own = &hits[ROUTE_OWN];

	if (front->row != NULL || (front->first != NULL && own->row == NULL))
		return front;
	return own->first != NULL ? own : &hits[ROUTE_BACK];
}

int route_find(const struct route_table *table, const char *method, const char *path,
	       struct route *ret_route, struct err *err)
{
	const char *wanted = strcmp(method, "HEAD") == 0 ? "GET" : method;
	struct hit hits[ROUTE_RANK_COUNT] = {0};
	const struct route_row *row = NULL;
	const struct hit *hit;
	struct spans spans = {0};

	*ret_route = (struct route){0};
	TAILQ_FOREACH(row, table, entry) {
		if (!row->is_shared && matches(row->path, path, &spans))
			look(&hits[row->rank], row, wanted, &spans);
	}
	hit = choose(hits);
	if (hit->first == NULL)
		return err_set(err, ERR_NOT_FOUND, ENOENT,
			       "there is no such path; GET /openapi.json lists them all");
	memcpy(ret_route->allow, hit->allow, sizeof(hit->allow));
	ret_route->row = hit->row;
	ret_route->opened = hit->first->opened;
	if (hit->row == NULL)
		return err_set(err, ERR_UNSUPPORTED, EPERM, "this path takes %s, not %.20s",
			       hit->allow, method);
	ret_route->opened = hit->row->opened;
	return set_vars(ret_route, &hit->spans, err);
}

void route_done(struct route *route)
{
	if (route == NULL)
		return;
	free(route->text);
	*route = (struct route){0};
}

bool route_is_own(const struct route_table *table, const char *path)
{
	const struct route_row *row = NULL;
	struct spans spans = {0};

	TAILQ_FOREACH(row, table, entry) {
		if (row->rank == ROUTE_OWN && matches(row->path, path, &spans))
			return true;
	}
	return false;
}

bool route_is_same(const struct route_row *a, const struct route_row *b)
{
	const char *left = a->path;
	const char *right = b->path;

	if (strcmp(a->method, b->method) != 0)
		return false;
	/* The names of variables do not matter. */
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
