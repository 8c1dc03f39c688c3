// SPDX-License-Identifier: Apache-2.0
/*
 * Route - which op a method and a path mean
 *
 * Owns:    the matching of paths against the patterns of the ops, and their variables.
 * May not: know a request or an answer.
 */
#pragma once

#include <stddef.h>

#include "api/decode.h"
#include "base/err.h"
#include "op/op.h"

#define ROUTE_VARS_MAX 4
#define ROUTE_ALLOW_SIZE 80

struct route {
	const struct op *op;
	struct decode_pair vars[ROUTE_VARS_MAX];
	size_t var_count;
	char *text;                   /* owned: names and values of the variables */
	char allow[ROUTE_ALLOW_SIZE]; /* the methods of this path, for -EPERM and OPTIONS; or "" */
};

/* Looks through `tables`, each an array of ops with NULL behind the last, and NULL behind them.
 * HEAD goes where GET goes. -ENOENT: no such path; -EPERM: not by this method (allow is set);
 * -EINVAL: a variable cannot be decoded. `ret_route` is always the caller's to end. */
int route_find(const struct op *const *const *tables, const char *method, const char *path,
	       struct route *ret_route, struct err *err);
void route_done(struct route *route);
