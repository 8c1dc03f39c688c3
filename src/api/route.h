// SPDX-License-Identifier: Apache-2.0
/*
 * Route - which row of the route table a method and a path mean
 *
 * Owns:    the rows of all doors, the order among them, the matching of paths against their
 *          patterns, and the variables.
 * May not: know a request or an answer.
 */
#pragma once

#include <stddef.h>

#include <sys/queue.h>

#include "api/decode.h"
#include "api/door.h"
#include "base/err.h"
#include "op/op.h"

#define ROUTE_VARS_MAX 4
#define ROUTE_ALLOW_SIZE 80

/* A door that is open. */
struct opened {
	const struct door *door;
	void *state;             /* owned: the door's own */
	uint32_t exchange_count; /* exchanges that go through it now */
	bool is_open;
	TAILQ_ENTRY(opened) entry;
};

/* The first rank that knows a path decides, but our own rows take a method that a door in front of
 * them does not have. */
enum route_rank {
	ROUTE_FRONT, /* doors at the prefix that the config gives them, or at their name */
	ROUTE_OWN,   /* our own API and the page */
	ROUTE_BACK,  /* doors at the root by default */
	ROUTE_RANK_COUNT,
};

struct route_row {
	enum route_rank rank;
	const char *method;
	char *path; /* owned: the whole pattern */
	bool is_open;
	const struct op *op; /* has the members of the body as rows; NULL: the body as it is */
	struct op members;   /* what `op` points to if the row calls no op */
	const struct door_route *route;
	struct opened *opened; /* borrowed */
	bool is_shared;        /* two doors want it by default, so neither gets it */
	TAILQ_ENTRY(route_row) entry;
};

TAILQ_HEAD(route_table, route_row);

struct route {
	const struct route_row *row; /* NULL: none */
	struct opened *opened;       /* door that has the path, with any method; NULL: none */
	struct decode_pair vars[ROUTE_VARS_MAX];
	size_t var_count;
	char *text;                   /* owned: names and values of the variables */
	char allow[ROUTE_ALLOW_SIZE]; /* the methods of this path, or "" */
};

/* Finds the row of a request; HEAD is matched as GET. -ENOENT: no such path; -EPERM: not with this
 * method; -EINVAL: a variable cannot be decoded. The caller ends `ret_route` in any case. */
int route_find(const struct route_table *table, const char *method, const char *path,
	       struct route *ret_route, struct err *err);
void route_done(struct route *route);

/* Does our own API or the page have a row for this path, with any method? */
bool route_is_own(const struct route_table *table, const char *path);

/* Do both rows match the same requests? */
bool route_is_same(const struct route_row *a, const struct route_row *b);
