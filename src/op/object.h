// SPDX-License-Identifier: Apache-2.0
/*
 * Object - a JSON answer while it is being written
 *
 * Owns:    its text, the commas, and the first failure, after which later steps do nothing.
 * May not: know what an answer means.
 *
 * An item of a list has no name: pass NULL.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "op/op.h"
#include "policy/setting.h"

struct object {
	struct buf buf;
	bool is_first; /* the object or list that was opened last is still empty */
};

/* Also opens the outermost {. */
void object_init(struct object *object, size_t max);
void object_done(struct object *object);

void object_text(struct object *object, const char *name, const char *text); /* NULL: null */
void object_number(struct object *object, const char *name, uint64_t number);
void object_real(struct object *object, const char *name, double number); /* with three decimals */
void object_bool(struct object *object, const char *name, bool is_true);
void object_json(struct object *object, const char *name, const char *json, size_t size);
void object_null(struct object *object, const char *name);
void object_texts(struct object *object, const char *name, const struct text_list *texts);

/* `kind` is '{' or '[' to open, '}' or ']' to close. */
void object_open(struct object *object, const char *name, char kind);
void object_close(struct object *object, char kind);

/* Adds every setting of a struct: sizes in bytes, times as `<key>_ms`, a key with a dot as a member
 * of an object. */
void object_settings(struct object *object, const struct setting *rows, size_t count,
		     const void *from);

/* Appends the same rows in the notation of api/schemas.c, each after a space. */
void object_describe(const struct setting *rows, size_t count, struct buf *buf);

/* Closes the outermost } and answers the call with it, or fails it. Consumes the object. */
void object_answer(struct object *object, struct op_call *call, unsigned status);
