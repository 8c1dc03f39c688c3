// SPDX-License-Identifier: Apache-2.0
/*
 * Openapi - every route as OpenAPI 3.1, from the rows of the ops
 *
 * Owns:    how a row becomes a path, a parameter, a schema; and the schemas of answers, which no
 *          row describes (schemas.c).
 * May not: say anything about a parameter that its row does not say.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "op/op.h"

/* Appends the document. `tables` as for route_find. -EMSGSIZE, -ENOMEM. */
int openapi_put(const struct op *const *const *tables, struct buf *buf);

/* A schema of components/schemas. */
struct schema {
	const char *name;    /* what an op's `answer` says */
	const char *members; /* in the notation that schemas.c explains */
	const char *type;    /* of the answer's bytes; NULL: application/json */
};

/* Every schema; a name of NULL is behind the last. */
extern const struct schema schemas[];

/* NULL: none. */
const struct schema *schema_find(const char *name);

/* Appends it as JSON Schema. -EMSGSIZE, -ENOMEM. */
int schema_put(const struct schema *schema, struct buf *buf);
