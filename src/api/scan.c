// SPDX-License-Identifier: Apache-2.0
#include "api/scan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/c.h"
#include "policy/number.h"

void scan_init(struct scan *scan, const struct op *op, uint64_t body_max)
{
	*scan = (struct scan){.op = op, .body_max = body_max};
	buf_init(&scan->small, SCAN_SMALL_MAX);
	parts_init(&scan->parts);
}

void scan_done(struct scan *scan)
{
	if (scan == NULL)
		return;
	scan_files_done(&scan->files);
	scan_names_done(&scan->names);
	buf_done(&scan->small);
	parts_done(&scan->parts);
}

/* The index of a member; `count`: there is none of this name. */
static size_t index_of(const struct scan *scan, const char *name)
{
	size_t i = 0;

	while (i < scan->count && strcmp(scan->members[i].name, name) != 0)
		i++;
	return i;
}

const struct scan_member *scan_find(const struct scan *scan, const char *name)
{
	size_t i = index_of(scan, name);

	return i < scan->count && !scan->members[i].is_null ? &scan->members[i] : NULL;
}

static int not_json(const struct scan *scan, struct err *err)
{
	return walk_refuse(&scan->walk, "the body", err);
}

/* A key is kept a little further than any row's name goes, so that a longer one matches none. */
static void add_to_key(struct scan *scan, const uint8_t *bytes, size_t size)
{
	size_t room = sizeof(scan->key) - 1 - scan->key_size;
	size_t n = size < room ? size : room;

	memcpy(scan->key + scan->key_size, bytes, n);
	scan->key_size += n;
	scan->key[scan->key_size] = '\0';
}

static enum scan_kind kind_of(const struct op_param *param)
{
	if (param->type == OP_BYTES)
		return SCAN_TEXT;
	return param_is_large(param) ? SCAN_RAW : SCAN_SMALL;
}

static void read_over(struct scan *scan)
{
	scan->over = (struct scan_member){.kind = SCAN_OVER};
	scan->member = &scan->over;
	scan->is_in_value = false;
	scan->walk.allows_lone = true;
}

/* The key is complete: finds its member. */
static int begin_member(struct scan *scan, struct err *err)
{
	const struct op_param *param = param_find(scan->op, OP_IN_BODY, scan->key);
	size_t place = index_of(scan, scan->key);
	struct scan_member *member = &scan->members[place];

	/* A dot is a step into an object, never part of a name, and neither is a NUL. */
	if (param != NULL &&
	    (strchr(scan->key, '.') != NULL || strlen(scan->key) != scan->key_size))
		param = NULL;
	if (param == NULL && strlen(scan->key) == scan->key_size)
		param = param_group(scan->op, scan->key);
	if (param == NULL && scan->is_lenient) {
		read_over(scan);
		return 0;
	}
	if (param == NULL)
		return param_unknown(scan->op, OP_IN_BODY, scan->key, err);
	if (place < scan->count && !scan->is_lenient)
		return err_field(err, ERR_BAD_REQUEST, EINVAL, scan->key, "given twice");
	if (place == SCAN_MEMBERS_MAX)
		return err_set(err, ERR_BAD_REQUEST, EINVAL, "the body has too many members");

	*member = (struct scan_member){.param = param, .kind = kind_of(param)};
	(void)snprintf(member->name, sizeof(member->name), "%.*s", PARAM_NAME_MAX - 1, scan->key);
	member->at = member->kind == SCAN_SMALL ? scan->small.size : scan->parts.size;
	scan->count += place == scan->count;
	scan->member = member;
	scan->is_in_value = false;
	scan->start_size = 0;
	scan_files_done(&scan->files);
	scan->table = (struct scan_table){.values = scan->walk.values};
	scan->walk.allows_lone = member->kind == SCAN_RAW;
	return 0;
}

static int too_large(const struct scan_member *member, uint64_t max, struct err *err)
{
	char text[32];

	number_format(NUMBER_BYTES, max, text, sizeof(text));
	if (member->kind == SCAN_SMALL)
		return err_field(err, ERR_TOO_LARGE, EMSGSIZE, member->name,
				 "the fields other than code, data and files take more than %s",
				 text);
	return err_field(err, ERR_TOO_LARGE, EMSGSIZE, member->name,
			 "longer than %s; give it as a file", text);
}

static int too_many(const struct scan_member *member, struct err *err)
{
	return err_field(err, ERR_TOO_LARGE, E2BIG, member->name,
			 "the fields other than code, data and files have more than %u values",
			 WALK_TREE_MAX);
}

static int put(struct scan *scan, const void *data, size_t size, struct err *err)
{
	struct scan_member *member = scan->member;
	uint64_t max = SCAN_TEXT_MAX;
	int r;

	if (size == 0 || member->kind == SCAN_OVER || member->is_wrong)
		return 0;
	if (member->param->max > 0)
		max = member->param->max;
	if (member->kind == SCAN_TEXT && (size > max || member->size > max - size))
		return too_large(member, max, err);
	if (member->kind == SCAN_SMALL) {
		r = buf_append(&scan->small, data, size);
		if (r == -EMSGSIZE)
			return too_large(member, SCAN_SMALL_MAX, err);
		if (r < 0)
			return err_set(err, ERR_INTERNAL, ENOMEM, "no memory for the body");
	} else {
		r = parts_append(&scan->parts, data, size, err);
		if (r < 0)
			return r;
	}
	member->size += size;
	return 0;
}

/* Checks what a large member is by its first byte; whether `n` begins null is seen at its end. */
static int check_start(struct scan *scan, uint8_t byte, struct err *err)
{
	struct scan_member *member = scan->member;

	if (byte == 'n' || member->kind == SCAN_OVER)
		return 0;
	member->is_wrong = scan->is_lenient && ((member->kind == SCAN_TEXT && byte != '"') ||
						(member->param->type == OP_FILES && byte != '['));
	if (member->is_wrong)
		return 0;
	if (member->kind == SCAN_TEXT && byte != '"')
		return err_field(err, ERR_BAD_REQUEST, EINVAL, member->name, "must be a string");
	if (member->param->type == OP_FILES && byte != '[')
		return err_field(err, ERR_BAD_REQUEST, EINVAL, member->name, "must be a list");
	if (member->param->type == OP_TABLE && byte != '[' && byte != '{')
		return err_field(err, ERR_BAD_REQUEST, EINVAL, member->name,
				 "must be an object with columns and rows, or a list of objects");
	return 0;
}

/* Keeps the first bytes of a value; a string never looks like null, as it begins with a quote. */
static int note_start(struct scan *scan, const uint8_t *bytes, size_t size, struct err *err)
{
	if (scan->start_size == 0 && size > 0) {
		int r = check_start(scan, bytes[0], err);

		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < size && scan->start_size < sizeof(scan->start); i++)
		scan->start[scan->start_size++] = (char)bytes[i];
	return 0;
}

static void end_member(struct scan *scan)
{
	scan_files_done(&scan->files);
	scan_names_done(&scan->names);
	scan->member->is_null = scan->start_size == 4 && memcmp(scan->start, "null", 4) == 0;
	scan->member = NULL;
	scan->is_in_value = false;
	scan->walk.allows_lone = false;
}

/* A step outside of any member's value: the body's own braces, keys, commas. */
static int take_outer_step(struct scan *scan, enum walk_step step, const uint8_t *from,
			   const uint8_t *to, struct err *err)
{
	bool is_list = step == WALK_OPEN && (scan->walk.lists & 1) != 0;

	if (is_list || (scan->walk.depth == 0 && step != WALK_BLANK && step != WALK_CLOSE))
		scan->is_other = scan->is_lenient;
	if (scan->is_other)
		return 0;
	if (is_list || (scan->walk.depth == 0 && step != WALK_BLANK && step != WALK_CLOSE))
		return err_set(err, ERR_BAD_REQUEST, EINVAL, "the body must be a JSON object");
	if (step == WALK_BEGIN)
		scan->key_size = 0;
	else if (step == WALK_RUN)
		add_to_key(scan, from, (size_t)(to - from));
	else if (step == WALK_ESCAPE)
		add_to_key(scan, scan->walk.chars, scan->walk.char_count);
	else if (step == WALK_END)
		return begin_member(scan, err);
	return 0;
}

/* A step inside a member's value. Bytes that are kept as they are stay in the piece, from *raw on,
 * and are stored in one go when the value or the piece ends. */
static int take_value_step(struct scan *scan, enum walk_step step, const uint8_t *from,
			   const uint8_t *to, const uint8_t **raw, struct err *err)
{
	bool is_text = scan->member->kind == SCAN_TEXT;
	int r = 0;

	if (!scan->is_in_value)
		*raw = from;
	scan->is_in_value = true;
	if (scan->start_size < sizeof(scan->start))
		r = note_start(scan, from, (size_t)(to - from), err);
	if (r == 0 && !scan->is_lenient && scan->member->param->type == OP_FILES)
		r = scan_files_step(scan, step, from, to, err);
	if (r == 0 && !scan->is_lenient && scan->member->param->type == OP_TABLE)
		r = scan_table_step(scan, step, from, to, err);
	if (r == 0 && !scan->is_lenient && !is_text && scan->member->param->type != OP_FILES)
		r = scan_names_step(scan, step, from, to, err);
	if (r == 0 && is_text && step == WALK_RUN)
		r = put(scan, from, (size_t)(to - from), err);
	if (r == 0 && is_text && step == WALK_ESCAPE)
		r = put(scan, scan->walk.chars, scan->walk.char_count, err);
	if (r < 0 || scan->walk.depth != 1 || scan->walk.state != WALK_BEHIND)
		return r;

	if (!is_text)
		r = put(scan, *raw, (size_t)(to - *raw), err);
	end_member(scan);
	return r;
}

/* Nothing more is kept of a body that is refused; only its grammar is still checked. */
static int refuse_later(struct scan *scan, struct err *err)
{
	scan->refusal = *err;
	*err = (struct err){0};
	scan->member = NULL;
	scan->walk.allows_lone = true;
	return 0;
}

static int take_piece(struct scan *scan, const uint8_t *at, const uint8_t *end, struct err *err)
{
	const uint8_t *raw = at;
	int r = 0;

	while (r == 0 && at < end) {
		const uint8_t *from = at;
		uint64_t before = scan->walk.values;
		enum walk_step step = walk_next(&scan->walk, &at, end);

		if (step == WALK_BAD)
			return not_json(scan, err);
		if (scan->refusal.kind != ERR_NONE)
			continue;
		if (scan->member != NULL && scan->member->kind == SCAN_SMALL)
			scan->values += scan->walk.values - before;
		if (scan->values > WALK_TREE_MAX)
			return too_many(scan->member, err);
		if (scan->member == NULL)
			r = take_outer_step(scan, step, from, at, err);
		else if (scan->is_in_value || step != WALK_BLANK)
			r = take_value_step(scan, step, from, at, &raw, err);
		if (r < 0 && err->kind == ERR_BAD_REQUEST)
			r = refuse_later(scan, err);
	}
	if (r == 0 && scan->member != NULL && scan->is_in_value && scan->member->kind != SCAN_TEXT)
		r = put(scan, raw, (size_t)(end - raw), err);
	return r;
}

int scan_feed(struct scan *scan, const void *data, size_t size, struct err *err)
{
	uint64_t room = scan->body_max - scan->walk.at;
	size_t n = size < room ? size : (size_t)room;
	char text[32];
	int r;

	if (size == 0)
		return 0;
	r = take_piece(scan, data, (const uint8_t *)data + n, err);
	if (r < 0 || n == size)
		return r;
	number_format(NUMBER_BYTES, scan->body_max, text, sizeof(text));
	return err_set(err, ERR_TOO_LARGE, EMSGSIZE, "the body is larger than %s", text);
}

int scan_finish(struct scan *scan, struct err *err)
{
	if (scan->walk.at > 0 && !walk_is_whole(&scan->walk))
		return not_json(scan, err);
	if (scan->refusal.kind != ERR_NONE) {
		*err = scan->refusal;
		return -err->num;
	}
	return parts_finish(&scan->parts, err);
}
