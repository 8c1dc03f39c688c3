// SPDX-License-Identifier: Apache-2.0
/*
 * Fields - a small struct that is also a JSON object, as a table of its members
 *
 * Owns:    writing the object, reading it, and describing it (OpenAPI), all from the same rows.
 * May not: know what the members mean. The text read may be hostile: a value of the wrong type, or
 *          a number out of range, leaves the struct's member as it was.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"

/* In brackets: the type of the struct's member. */
enum field_type {
	FIELD_TEXT,  /* [char[room]] */
	FIELD_WORD,  /* [const char *] a word that `find` knows; NULL: none */
	FIELD_NAMED, /* [enum] an index of `names` */
	FIELD_INT,   /* [int] */
	FIELD_SIZE,  /* [uint64_t] */
	FIELD_MS,    /* [double] with three decimals */
	FIELD_BOOL,  /* [bool] */
};

/* How 0, "" and NULL are written. */
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
	long long max;            /* the largest number that is read */
	const char *const *names; /* NULL-terminated; "" as the first means none */
	const char *(*find)(const char *text, size_t size);
};

/* Appends the object. A row whose name is NULL ends the table. -EMSGSIZE, -ENOMEM. */
int fields_put(const struct field *fields, const void *from, struct buf *buf);

/* Reads the members of a valid JSON object. Unknown members, and a value that is not an object, are
 * ignored. */
void fields_read(const struct field *fields, const char *json, size_t size, void *to);

/* Appends the members in the notation of api/schemas.c. */
int fields_describe(const struct field *fields, struct buf *buf);
