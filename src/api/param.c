// SPDX-License-Identifier: Apache-2.0
#include "api/param.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/c.h"
#include "base/near.h"

const struct op_param *param_find(const struct op *op, enum op_in in, const char *name)
{
	for (size_t i = 0; i < op->param_count; i++) {
		if (op->params[i].in == in && strcmp(op->params[i].name, name) == 0)
			return &op->params[i];
	}
	return NULL;
}

const struct op_param *param_group(const struct op *op, const char *name)
{
	size_t size = strlen(name);

	for (size_t i = 0; i < op->param_count; i++) {
		const struct op_param *param = &op->params[i];

		if (param->in == OP_IN_BODY && strncmp(param->name, name, size) == 0 &&
		    param->name[size] == '.')
			return param;
	}
	return NULL;
}

bool param_is_large(const struct op_param *param)
{
	return param->type == OP_BYTES || param->type == OP_JSON || param->type == OP_TABLE ||
	       param->type == OP_FILES;
}

/* How far a name is from a row. "memory" is also near limits.memory: people write it at the top. */
static size_t far(const struct op_param *param, const char *name)
{
	const char *last = strrchr(param->name, '.');
	size_t whole = near_distance(name, param->name);
	size_t tail = last != NULL ? near_distance(name, last + 1) : whole;

	return tail < whole ? tail : whole;
}

int param_unknown(const struct op *op, enum op_in in, const char *name, struct err *err)
{
	const char *kind = in == OP_IN_QUERY ? "query parameter" : "field";
	const char *nearest = NULL;
	const char *last = strrchr(name, '.');
	/* The part before the last dot is usually right, so it does not count as a likeness. */
	size_t size = strlen(last != NULL ? last + 1 : name);
	size_t best = size / 3 + 1;

	for (size_t i = 0; strlen(name) < PARAM_NAME_MAX && i < op->param_count; i++) {
		const struct op_param *param = &op->params[i];
		size_t d = param->in == in ? far(param, name) : best;

		if (d < best || (d == best && nearest == NULL && d < size && param->in == in)) {
			best = d;
			nearest = param->name;
		}
	}
	if (nearest != NULL)
		return err_field(err, ERR_BAD_REQUEST, EINVAL, name,
				 "there is no such %s; did you mean %s?", kind, nearest);
	return err_field(err, ERR_BAD_REQUEST, EINVAL, name, "there is no such %s", kind);
}
