// SPDX-License-Identifier: Apache-2.0
/*
 * Fields - a small struct that is also a JSON object, as a table of its members
 *
 * Owns:    writing the object, reading it, and describing it (OpenAPI), all from the same rows.
 * May not: know what the members mean. What is read may be hostile: a value of another type, or a
 *          number out of its range, leaves the struct's member as it was.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"

/* In brackets: the struct's member. */
enum field_type {
	FIELD_TEXT,  /* [char[room]] */
	FIELD_WORD,  /* [const char *] one that `find` knows; NULL: none */
	FIELD_NAMED, /* [enum] the number of one of `names` */
	FIELD_INT,   /* [int] */
	FIELD_SIZE,  /* [uint64_t] */
	FIELD_MS,    /* [double] with three decimals */
	FIELD_BOOL,  /* [bool] */
};

/* What stands for 0, "" and NULL. */
enum field_empty {
	FIELD_ALWAYS, /* the value */
	FIELD_OR_NULL,
	FIELD_OR_NOT, /* the member is left out */
};

struct field {
	const char *name;
	enum field_type type;
	enum field_empty empty;
	size_t offset;
	size_t room;              /* of a text */
	long long max;            /* of a number that is read */
	const char *const *names; /* NULL behind the last; the first stands for nothing: "" */
	const char *(*find)(const char *text, size_t size);
};

/* Appends the object. A name of NULL is behind the last row. -EMSGSIZE, -ENOMEM. */
int fields_put(const struct field *fields, const void *from, struct buf *buf);

/* Reads the members of a valid JSON object. Others, and any other value, are ignored. */
void fields_read(const struct field *fields, const char *json, size_t size, void *to);

/* Appends the members in the notation of api/schemas.c. */
int fields_describe(const struct field *fields, struct buf *buf);
