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

/* Appends the document. `tables` is a NULL-terminated list of tables, each NULL-terminated.
 * -EMSGSIZE, -ENOMEM. */
int openapi_put(const struct op *const *const *tables, struct buf *buf);

/* A schema of components/schemas. */
struct schema {
	const char *name;    /* what an op's `answer` says */
	const char *members; /* in the notation that schemas.c explains */
	const char *type;    /* media type of the answer; NULL: application/json */
	/* Further members, from the tables that also write them; NULL: none. */
	const struct field *fields;
	const struct setting *settings;
	const size_t *setting_count;
	int (*describe)(struct buf *buf); /* appends them in the same notation */
};

/* Every schema; the last row has the name NULL. */
extern const struct schema schemas[];

/* The schema of this name; NULL: none. */
const struct schema *schema_find(const char *name);

/* Any value, in keywords that every reader of schemas knows. */
#define SCHEMA_ANY                                                                                 \
	"{\"anyOf\":[{\"type\":\"object\"},{\"type\":\"array\"},{\"type\":\"string\"},"            \
	"{\"type\":\"number\"},{\"type\":\"boolean\"},{\"type\":\"null\"}]}"

/* Appends the schema as JSON Schema; `is_whole`: with the schemas it names inlined, not referenced.
 * -EMSGSIZE, -ENOMEM. */
int schema_put(const struct schema *schema, bool is_whole, struct buf *buf);

/* Appends the rows of the body as one JSON Schema without references. The member `routed` (NULL:
 * none) is marked to be sent as a header, too, under the name `header` (MCP's x-mcp-header). */
int openapi_put_arguments(const struct op *op, const char *routed, const char *header,
			  struct buf *buf);
