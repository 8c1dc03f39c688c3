// SPDX-License-Identifier: Apache-2.0
#include "door/door.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "door/door_state.h"

/* ---- the request ---- */

void *door_memory(struct door_call *call, size_t size)
{
	struct visit *visit = (struct visit *)call;
	struct memory *memory = xcalloc(1, sizeof(*memory) + size);

	memory->next = visit->memory;
	visit->memory = memory;
	return memory->bytes;
}

const char *door_method(const struct door_call *call)
{
	const struct visit *visit = (const struct visit *)call;

	return visit->request != NULL ? http_method(visit->request) : NULL;
}

const char *door_header(const struct door_call *call, const char *name)
{
	const struct visit *visit = (const struct visit *)call;

	return visit->request != NULL ? http_header(visit->request, name) : NULL;
}

const char *door_query(const struct door_call *call, const char *name)
{
	const struct visit *visit = (const struct visit *)call;

	return visit->request != NULL ? http_query(visit->request, name) : NULL;
}

const char *door_var(const struct door_call *call, const char *name)
{
	const struct visit *visit = (const struct visit *)call;

	for (size_t i = 0; i < visit->route.var_count; i++) {
		if (strcmp(visit->route.vars[i].name, name) == 0)
			return visit->route.vars[i].value;
	}
	return NULL;
}

/* ---- its body ---- */

uint64_t door_body_size(const struct door_call *call)
{
	return ((const struct visit *)call)->body_size;
}

int door_body(struct door_call *call, bool in_memory, struct run_bytes *ret_bytes, struct err *err)
{
	struct visit *visit = (struct visit *)call;

	return parts_bytes(&visit->parts, 0, visit->parts.size, in_memory, ret_bytes, err);
}

json_t *door_json(struct door_call *call, struct err *err)
{
	struct visit *visit = (struct visit *)call;
	struct run_bytes bytes = {0};
	json_error_t error = {0};

	if (visit->tree != NULL)
		return visit->tree;
	if (visit->parts.size > DOOR_JSON_MAX) {
		(void)err_set(err, ERR_TOO_LARGE, EMSGSIZE, "the body is larger than 1 MiB");
		return NULL;
	}
	if (door_body(call, true, &bytes, err) < 0 || visit_keep_tree(visit, bytes.size, err) < 0)
		return NULL;
	if (!walk_is_tree(bytes.data, (size_t)bytes.size, WALK_TREE_MAX)) {
		(void)err_set(err, ERR_TOO_LARGE, E2BIG, "the body has more than %u values",
			      WALK_TREE_MAX);
		return NULL;
	}
	visit->tree = json_loadb(bytes.size > 0 ? bytes.data : "", (size_t)bytes.size,
				 JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
	if (visit->tree == NULL)
		(void)err_set(err, ERR_BAD_REQUEST, EINVAL, "the body is not JSON, at byte %d; %s",
			      error.position, error.text);
	return visit->tree;
}

/* An integer that fits nothing is as good as a real one. */
static json_t *load_small(const struct scan *scan, const struct scan_member *member)
{
	const char *text = (const char *)scan->small.data + member->at;
	const size_t flags = JSON_DECODE_ANY | JSON_ALLOW_NUL;
	json_t *tree = json_loadb(text, (size_t)member->size, flags, NULL);

	if (tree == NULL)
		tree = json_loadb(text, (size_t)member->size, flags | JSON_DECODE_INT_AS_REAL,
				  NULL);
	return tree;
}

json_t *door_member(struct door_call *call, const char *name)
{
	struct visit *visit = (struct visit *)call;
	struct scan *scan = visit->scan;

	for (size_t i = 0; scan != NULL && i < scan->count; i++) {
		const struct scan_member *member = &scan->members[i];

		if (strcmp(member->name, name) != 0 || member->kind != SCAN_SMALL)
			continue;
		if (visit->trees[i] == NULL)
			visit->trees[i] = load_small(scan, member);
		return visit->trees[i];
	}
	return NULL;
}

bool door_large(struct door_call *call, const char *name, bool in_memory,
		struct run_bytes *ret_bytes)
{
	struct visit *visit = (struct visit *)call;
	const struct scan_member *member =
		visit->scan != NULL ? scan_find(visit->scan, name) : NULL;
	struct err err = {0};

	if (member == NULL || member->kind == SCAN_SMALL || member->is_wrong)
		return false;
	return parts_bytes(&visit->scan->parts, member->at, member->size,
			   in_memory || member->kind == SCAN_TEXT, ret_bytes, &err) == 0;
}

bool door_is_wrong(const struct door_call *call, const char *name)
{
	const struct visit *visit = (const struct visit *)call;
	const struct scan_member *member =
		visit->scan != NULL ? scan_find(visit->scan, name) : NULL;

	return member != NULL && member->is_wrong;
}

/* ---- ops ---- */

/* An ask of a call: the call stays until it is done. */
struct held_ask {
	struct door_call *call;
	const struct ask_calls *calls;
};

static bool pass_event(void *user, const char *line, size_t size)
{
	struct held_ask *held = user;

	return held->calls->event(held->call, line, size);
}

static void pass_done(void *user, const struct ask_result *result)
{
	struct held_ask *held = user;

	held->call->retry_after_s = result->retry_after_s;
	held->calls->done(held->call, result);
	door_release(held->call);
}

struct ask *door_ask(struct door_call *call, const struct op *op, const void *args,
		     const struct ask_calls *calls)
{
	static const struct ask_calls with_events = {pass_event, pass_done};
	static const struct ask_calls without = {NULL, pass_done};
	struct held_ask *held = door_memory(call, sizeof(*held));
	const struct ask_settings settings = {
		.engine = call->engine,
		.caller = call->caller,
		.op = op,
		.args = args,
		.body = -1,
		.calls = calls->event != NULL ? &with_events : &without,
		.user = held,
	};

	*held = (struct held_ask){call, calls};
	door_hold(call);
	return ask_start(&settings);
}

unsigned door_status(const struct err *err)
{
	return router_status(err);
}
