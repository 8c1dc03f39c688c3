// SPDX-License-Identifier: Apache-2.0
#include "api/decode.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "api/param.h"
#include "api/values.h"
#include "base/c.h"
#include "base/utf8.h"

/* The state of one decoding: which rows have got a value. */
struct decoding {
	const struct op *op;
	struct decoded *decoded;
	bool has[SCAN_MEMBERS_MAX];
};

static bool mark(struct decoding *work, const struct op_param *param)
{
	bool *has = &work->has[param - work->op->params];
	bool was = *has;

	*has = true;
	return was;
}

int decode_percent(const char *text, size_t size, char *ret_text)
{
	size_t n = 0;

	for (size_t i = 0; i < size; i++) {
		char c = text[i];

		if (c == '%') {
			int high = i + 1 < size ? hex_digit(text[i + 1]) : -1;
			int low = i + 2 < size ? hex_digit(text[i + 2]) : -1;

			if (high < 0 || low < 0)
				return -EINVAL;
			c = (char)(high << 4 | low);
			i += 2;
		}
		if (c == '\0')
			return -EINVAL;
		ret_text[n++] = c;
	}
	ret_text[n] = '\0';
	return utf8_is_valid(ret_text, n) ? 0 : -EINVAL;
}

static int take_path(struct decoding *work, const struct decode_source *source, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < source->path_count; i++) {
		const struct op_param *param =
			param_find(work->op, OP_IN_PATH, source->path[i].name);

		if (param == NULL)
			return err_set(err, ERR_INTERNAL, EINVAL, "no row for {%s} of the path",
				       source->path[i].name);
		(void)mark(work, param);
		r = value_from_text(work->decoded, param, source->path[i].value, err);
	}
	return r;
}

static int take_query(struct decoding *work, const struct decode_source *source, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < source->query_count; i++) {
		const struct decode_pair *pair = &source->query[i];
		const struct op_param *param = param_find(work->op, OP_IN_QUERY, pair->name);

		if (param == NULL)
			return param_unknown(work->op, OP_IN_QUERY, pair->name, err);
		if (mark(work, param) && param->type != OP_TEXTS)
			return err_field(err, ERR_BAD_REQUEST, EINVAL, param->name, "given twice");
		if (!utf8_is_valid(pair->value, strlen(pair->value)))
			return err_field(err, ERR_BAD_REQUEST, EINVAL, param->name, "is not UTF-8");
		r = value_from_text(work->decoded, param, pair->value, err);
	}
	return r;
}

static int take_large(struct decoding *work, const struct decode_source *source,
		      const struct scan_member *member, struct err *err)
{
	struct run_bytes bytes = {0};
	int r = parts_bytes(&source->scan->parts, member->at, member->size,
			    member->kind == SCAN_TEXT, &bytes, err);

	if (r < 0)
		return err_blame(err, member->name);
	memcpy((char *)work->decoded->args + member->param->offset, &bytes, sizeof(bytes));
	(void)mark(work, member->param);
	return 0;
}

/* The rows below one object: {"limits": {"memory": ...}} is limits.memory. */
static int take_group(struct decoding *work, const char *name, json_t *json, struct err *err)
{
	char full[2 * PARAM_NAME_MAX];
	const char *key;
	json_t *item;

	if (!json_is_object(json))
		return err_field(err, ERR_BAD_REQUEST, EINVAL, name, "must be an object");
	json_object_foreach(json, key, item) {
		const struct op_param *param;
		int r;

		(void)snprintf(full, sizeof(full), "%s.%.*s", name, PARAM_NAME_MAX, key);
		param = param_find(work->op, OP_IN_BODY, full);
		if (param == NULL)
			return param_unknown(work->op, OP_IN_BODY, full, err);
		if (json_is_null(item))
			continue;
		(void)mark(work, param);
		r = value_from_json(work->decoded, param, item, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int take_small(struct decoding *work, const struct decode_source *source,
		      const struct scan_member *member, struct err *err)
{
	const char *text = (const char *)source->scan->small.data + member->at;
	const size_t flags = JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES;
	json_error_t error = {0};
	json_auto_t *json = json_loadb(text, member->size, flags, &error);

	/* An integer of more than 64 bits is read again as a real, so that its row refuses it. */
	if (json == NULL)
		json = json_loadb(text, member->size, flags | JSON_DECODE_INT_AS_REAL, &error);
	/* The grammar was checked before, so this is a real out of range or, from another system's
	 * client, a repeated name. */
	if (json == NULL)
		return err_field(err, ERR_BAD_REQUEST, EINVAL, member->name, "cannot be read; %s",
				 error.text);
	if (strcmp(member->param->name, member->name) != 0)
		return take_group(work, member->name, json, err);
	(void)mark(work, member->param);
	return value_from_json(work->decoded, member->param, json, err);
}

static int take_body(struct decoding *work, const struct decode_source *source, struct err *err)
{
	int r = 0;

	if (source->scan == NULL)
		return 0;
	for (size_t i = 0; r == 0 && i < source->scan->count; i++) {
		const struct scan_member *member = &source->scan->members[i];

		if (member->is_null && !member->param->takes_null)
			continue;
		if (member->kind == SCAN_SMALL)
			r = take_small(work, source, member, err);
		else
			r = take_large(work, source, member, err);
	}
	return r;
}

static void fill_initials(const struct decoding *work)
{
	for (size_t i = 0; i < work->op->param_count; i++) {
		const struct op_param *param = &work->op->params[i];

		if (!work->has[i] && param->initial > 0)
			memcpy((char *)work->decoded->args + param->offset, &param->initial,
			       sizeof(param->initial));
	}
}

static int check_required(const struct decoding *work, struct err *err)
{
	for (size_t i = 0; i < work->op->param_count; i++) {
		if (work->op->params[i].is_required && !work->has[i])
			return err_field(err, ERR_BAD_REQUEST, EINVAL, work->op->params[i].name,
					 "is required");
	}
	return 0;
}

int decode_args(const struct op *op, const struct decode_source *source,
		struct decoded *ret_decoded, struct err *err)
{
	struct decoded decoded = {.args = xcalloc(1, op->args_size > 0 ? op->args_size : 1)};
	struct decoding work = {.op = op, .decoded = &decoded};
	int r;

	if (op->param_count > SCAN_MEMBERS_MAX)
		r = err_set(err, ERR_INTERNAL, E2BIG, "op %s has too many rows", op->name);
	else
		r = take_path(&work, source, err);
	if (r == 0)
		r = take_query(&work, source, err);
	if (r == 0)
		r = take_body(&work, source, err);
	if (r == 0)
		r = check_required(&work, err);
	if (r < 0) {
		decoded_done(&decoded);
		return r;
	}
	fill_initials(&work);
	*ret_decoded = decoded;
	return 0;
}
