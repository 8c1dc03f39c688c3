// SPDX-License-Identifier: Apache-2.0
/*
 * Values - one value of a request, checked against its row and stored in the op's arguments
 *
 * Owns:    what each type of parameter may look like, as JSON and as text of a query or path.
 * May not: know where a value came from, or any other value.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "api/decode.h"
#include "base/err.h"
#include "op/op.h"

/* Is it one of "a|b|c"? */
bool value_is_choice(const char *choices, const char *text);

/* Stores `json`, which may be freed afterwards, or the text of a query or path. */
int value_from_json(struct decoded *decoded, const struct op_param *param, const json_t *json,
		    struct err *err);
int value_from_text(struct decoded *decoded, const struct op_param *param, const char *text,
		    struct err *err);
