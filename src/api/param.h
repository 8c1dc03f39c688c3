// SPDX-License-Identifier: Apache-2.0
/*
 * Param - an op's parameters by name
 *
 * Owns:    which row a name in a request means, and the hint at the nearest name if there is none.
 * May not: look at values.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "op/op.h"

#define PARAM_NAME_MAX 64 /* no row has a longer name */

/* The row with exactly this name; NULL: none. */
const struct op_param *param_find(const struct op *op, enum op_in in, const char *name);

/* The first row of the body below this object: "limits" finds "limits.memory". NULL: none. */
const struct op_param *param_group(const struct op *op, const char *name);

/* Does a value of this type stay text and never become a tree? */
bool param_is_large(const struct op_param *param);

/* "tiemout_ms: there is no such field; did you mean timeout_ms?" Returns -EINVAL. */
int param_unknown(const struct op *op, enum op_in in, const char *name, struct err *err);
