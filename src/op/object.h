// SPDX-License-Identifier: Apache-2.0
/*
 * Object - a JSON answer in the making
 *
 * Owns:    its text, the commas, and the first failure: later steps do nothing then.
 * May not: know what an answer means.
 *
 * In a list a member has no name: NULL.
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
	int r;
	bool is_first; /* nothing stands yet in what was opened last */
};

/* Opens the outermost { already. */
void object_init(struct object *object, size_t max);
void object_done(struct object *object);

void object_text(struct object *object, const char *name, const char *text); /* NULL: null */
void object_number(struct object *object, const char *name, uint64_t number);
void object_real(struct object *object, const char *name, double number); /* thousandths at most */
void object_bool(struct object *object, const char *name, bool is_true);
void object_json(struct object *object, const char *name, const char *json, size_t size);
void object_null(struct object *object, const char *name);
void object_texts(struct object *object, const char *name, const struct text_list *texts);

/* '{' or '[' */
void object_open(struct object *object, const char *name, char kind);
void object_close(struct object *object, char kind);

/* Every row of a struct: sizes in bytes, times as `<key>_ms`, a dot is a step into an object. */
void object_settings(struct object *object, const struct setting *rows, size_t count,
		     const void *from);

/* Closes the outermost } and answers the call with it, or fails it. Consumes the object. */
void object_answer(struct object *object, struct op_call *call, unsigned status);
