// SPDX-License-Identifier: Apache-2.0
/*
 * Openapi - every route as OpenAPI 3.1, from the rows of the ops
 *
 * Owns:    how a row becomes a path, a parameter, a schema; and the schemas of answers, which no
 *          row describes (schemas.c).
 * May not: say anything about a parameter that its row does not say.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "op/op.h"

/* Appends the document. `tables` as for route_find. -EMSGSIZE, -ENOMEM. */
int openapi_put(const struct op *const *const *tables, struct buf *buf);

/* A schema of components/schemas. */
struct schema {
	const char *name;                 /* what an op's `answer` says */
	const char *members;              /* in the notation that schemas.c explains */
	const char *type;                 /* of the answer's bytes; NULL: application/json */
	int (*describe)(struct buf *buf); /* appends what `members` would be; NULL: it is there */
};

/* Every schema; a name of NULL is behind the last. */
extern const struct schema schemas[];

/* NULL: none. */
const struct schema *schema_find(const char *name);

/* Any value at all: in words that every reader of schemas knows. */
#define SCHEMA_ANY                                                                                 \
	"{\"anyOf\":[{\"type\":\"object\"},{\"type\":\"array\"},{\"type\":\"string\"},"            \
	"{\"type\":\"number\"},{\"type\":\"boolean\"},{\"type\":\"null\"}]}"

/* Appends it as JSON Schema; `is_whole`: with the schemas it names in place of references.
 * -EMSGSIZE, -ENOMEM. */
int schema_put(const struct schema *schema, bool is_whole, struct buf *buf);

/* The rows of the body as one JSON Schema without references. The member `routed` (NULL: none) is
 * told to be a header as well, under the name `header` (MCP's x-mcp-header). */
int openapi_put_arguments(const struct op *op, const char *routed, const char *header,
			  struct buf *buf);
