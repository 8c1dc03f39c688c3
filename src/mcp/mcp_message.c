// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "api/walk.h"
#include "base/c.h"
#include "mcp/mcp_inside.h"

#define KEY_MAX 16

/* A value in the text: offset of its first byte, and offset after its last. */
struct range {
	size_t from, to;
};

/* Finds the parts that are cut out of the text before it becomes a tree: the id, which is sent back
 * unchanged whatever its number of digits, and the arguments, which never become a tree. */
struct finder {
	const char *bytes;
	struct walk walk;
	char key[KEY_MAX];
	size_t key_size;
	bool is_in_key;
	bool is_in_params;
	struct range *target; /* of the value that comes next, or is being read */
	bool is_in_value;
	size_t value_depth; /* depth of the object that holds it */
	struct range id, arguments;
};

static void add_to_key(struct finder *find, const void *bytes, size_t size)
{
	size_t room = sizeof(find->key) - find->key_size;
	size_t n = size < room ? size : room;

	memcpy(find->key + find->key_size, bytes, n);
	find->key_size += n;
}

static bool key_is(const struct finder *find, const char *name)
{
	return find->key_size == strlen(name) && memcmp(find->key, name, find->key_size) == 0;
}

static void end_key(struct finder *find)
{
	find->is_in_key = false;
	find->target = NULL;
	if (find->walk.depth == 1) {
		find->is_in_params = key_is(find, "params");
		if (key_is(find, "id"))
			find->target = &find->id;
	} else if (find->walk.depth == 2 && find->is_in_params && key_is(find, "arguments")) {
		find->target = &find->arguments;
	}
	find->value_depth = find->walk.depth;
	find->is_in_value = false;
}

/* Handles a step inside a key at a depth where it may be one of ours. */
static bool take_key_step(struct finder *find, enum walk_step step, const uint8_t *from,
			  const uint8_t *to)
{
	if (step == WALK_BEGIN && find->walk.is_key && find->walk.depth <= 2 &&
	    find->target == NULL) {
		find->is_in_key = true;
		find->key_size = 0;
		return true;
	}
	if (!find->is_in_key)
		return false;
	if (step == WALK_RUN)
		add_to_key(find, from, (size_t)(to - from));
	else if (step == WALK_ESCAPE)
		add_to_key(find, find->walk.chars, find->walk.char_count);
	else if (step == WALK_END)
		end_key(find);
	return true;
}

static void take_value_step(struct finder *find, enum walk_step step, const uint8_t *from,
			    const uint8_t *to)
{
	const uint8_t *start = (const uint8_t *)find->bytes;

	if (find->target == NULL || (!find->is_in_value && step == WALK_BLANK))
		return;
	if (!find->is_in_value)
		find->target->from = (size_t)(from - start);
	find->is_in_value = true;
	if (find->walk.depth != find->value_depth || find->walk.state != WALK_BEHIND)
		return;
	find->target->to = (size_t)(to - start);
	find->target = NULL;
}

static int find_parts(struct finder *find, size_t size, enum mcp_code *ret_code, struct err *err)
{
	const uint8_t *at = (const uint8_t *)find->bytes;
	const uint8_t *end = at + size;

	*ret_code = MCP_PARSE_ERROR;
	while (at < end) {
		const uint8_t *from = at;
		enum walk_step step = walk_next(&find->walk, &at, end);

		if (step == WALK_BAD)
			break;
		if (step == WALK_OPEN && find->walk.depth == 1 && (find->walk.lists & 1) != 0) {
			*ret_code = MCP_INVALID_REQUEST;
			return err_set(err, ERR_BAD_REQUEST, EINVAL,
				       "batches are not supported: send one message at a time");
		}
		if (!take_key_step(find, step, from, at))
			take_value_step(find, step, from, at);
	}
	if (at < end || !walk_is_whole(&find->walk))
		return walk_refuse(&find->walk, "the message", err);
	return 0;
}

/* Appends the text with null in place of the two values. */
static int put_rest(const struct finder *find, size_t size, struct buf *rest)
{
	const struct range *first = &find->id, *second = &find->arguments;
	size_t at = 0;

	if (second->to > 0 && second->from < first->from) {
		first = &find->arguments;
		second = &find->id;
	}
	for (const struct range *cut = first; cut != NULL; cut = cut == first ? second : NULL) {
		if (cut->to == 0)
			continue;
		buf_append(rest, find->bytes + at, cut->from - at);
		buf_text(rest, "null");
		at = cut->to;
	}
	buf_append(rest, find->bytes + at, size - at);
	return rest->failed;
}

static int refuse(enum mcp_code code, enum mcp_code *ret_code, struct err *err, const char *why)
{
	*ret_code = code;
	return err_set(err, ERR_BAD_REQUEST, EINVAL, "%s", why);
}

static int take_id(const struct finder *find, struct mcp_message *message, enum mcp_code *ret_code,
		   struct err *err)
{
	const char *text = find->bytes + find->id.from;
	size_t size = find->id.to - find->id.from;

	if (find->id.to == 0)
		return 0;
	if (text[0] != '"' && text[0] != '-' && (text[0] < '0' || text[0] > '9'))
		return refuse(MCP_INVALID_REQUEST, ret_code, err,
			      "id: must be a string or a number");
	if (size >= sizeof(message->id))
		return refuse(MCP_INVALID_REQUEST, ret_code, err, "id: is too long");
	memcpy(message->id, text, size);
	message->id[size] = '\0';
	return 0;
}

/* Checks what JSON-RPC requires of every message. */
static int check(struct mcp_message *message, enum mcp_code *ret_code, struct err *err)
{
	const json_t *method = json_object_get(message->tree, "method");
	const json_t *params = json_object_get(message->tree, "params");
	const char *version = mcp_text(message->tree, "jsonrpc");
	bool is_answer = json_object_get(message->tree, "result") != NULL ||
			 json_object_get(message->tree, "error") != NULL;

	if (version == NULL || strcmp(version, "2.0") != 0)
		return refuse(MCP_INVALID_REQUEST, ret_code, err, "jsonrpc: must be \"2.0\"");
	message->method = mcp_text(message->tree, "method");
	if (method != NULL && message->method == NULL)
		return refuse(MCP_INVALID_REQUEST, ret_code, err, "method: must be a string");
	if (method == NULL && (!is_answer || message->id[0] == '\0'))
		return refuse(
			MCP_INVALID_REQUEST, ret_code, err,
			"method: is required; an answer needs an id and a result or an error");
	if (params != NULL && !json_is_object(params))
		return refuse(MCP_INVALID_REQUEST, ret_code, err, "params: must be an object");
	message->params = params;
	message->meta = json_object_get(params, "_meta");
	if (message->meta != NULL && !json_is_object(message->meta))
		return refuse(MCP_INVALID_PARAMS, ret_code, err, "_meta: must be an object");
	/* The token is repeated with every line that a run prints. */
	if (json_string_length(json_object_get(message->meta, "progressToken")) >= MCP_ID_MAX)
		return refuse(MCP_INVALID_PARAMS, ret_code, err,
			      "_meta.progressToken: is too long");
	return 0;
}

static int make_tree(const struct finder *find, size_t size, struct mcp_message *message,
		     enum mcp_code *ret_code, struct err *err)
{
	json_error_t error = {0};
	struct buf rest;
	int r;

	buf_init(&rest, MCP_SMALL_MAX);
	r = put_rest(find, size, &rest);
	if (r == 0 && !walk_is_tree(rest.data, rest.size, WALK_TREE_MAX)) {
		buf_done(&rest);
		*ret_code = MCP_INVALID_REQUEST;
		return err_set(err, ERR_TOO_LARGE, E2BIG,
			       "the message without a tool's arguments has more than %u values",
			       WALK_TREE_MAX);
	}
	if (r == 0)
		message->tree = json_loadb((const char *)rest.data, rest.size,
					   JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
	message->tree_held = MCP_TREE_COST * rest.size;
	buf_done(&rest);
	if (r < 0) {
		*ret_code = MCP_INVALID_REQUEST;
		return err_set(err, ERR_TOO_LARGE, EMSGSIZE,
			       "the message without a tool's arguments is larger than 1 MiB");
	}
	if (message->tree == NULL) {
		*ret_code = MCP_INVALID_REQUEST;
		return err_set(err, ERR_BAD_REQUEST, EINVAL, "the message cannot be read: %s",
			       error.text);
	}
	return 0;
}

int mcp_message_read(const char *bytes, size_t size, struct mcp_message *message,
		     enum mcp_code *ret_code, struct err *err)
{
	struct finder find = {.bytes = bytes};
	int r = find_parts(&find, size, ret_code, err);

	if (r == 0)
		r = take_id(&find, message, ret_code, err);
	if (r == 0)
		r = make_tree(&find, size, message, ret_code, err);
	if (r == 0 && !json_is_object(message->tree))
		r = refuse(MCP_INVALID_REQUEST, ret_code, err, "a message must be an object");
	if (r < 0)
		return r;
	if (find.arguments.to > 0) {
		message->arguments = bytes + find.arguments.from;
		message->arguments_size = find.arguments.to - find.arguments.from;
	}
	return check(message, ret_code, err);
}

void mcp_message_done(struct mcp_message *message)
{
	json_decref(message->tree);
	*message = (struct mcp_message){0};
}

const char *mcp_text(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);
	const char *text = json_string_value(value);

	/* With a NUL inside, two readers could see two different strings. */
	return text != NULL && strlen(text) == json_string_length(value) ? text : NULL;
}
