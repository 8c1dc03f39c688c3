// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/exchange.h"
#include "base/c.h"
#include "http/http.h"

/* ---- the request ---- */

const char *exchange_header(const struct exchange *exchange, const char *name)
{
	return exchange->request != NULL ? http_header(exchange->request, name) : NULL;
}

const char *exchange_query(const struct exchange *exchange, const char *name)
{
	return exchange->request != NULL ? http_query(exchange->request, name) : NULL;
}

const char *exchange_var(const struct exchange *exchange, const char *name)
{
	for (size_t i = 0; i < exchange->match.var_count; i++) {
		if (strcmp(exchange->match.vars[i].name, name) == 0)
			return exchange->match.vars[i].value;
	}
	return NULL;
}

/* ---- its body ---- */

uint64_t exchange_body_size(const struct exchange *exchange)
{
	return exchange->body_size;
}

int exchange_body(struct exchange *exchange, bool in_memory, struct run_bytes *ret_bytes,
		  struct err *err)
{
	return parts_bytes(&exchange->parts, 0, exchange->parts.size, in_memory, ret_bytes, err);
}

json_t *exchange_json(struct exchange *exchange, struct err *err)
{
	struct run_bytes bytes = {0};
	json_error_t error = {0};

	if (exchange->tree != NULL)
		return exchange->tree;
	if (exchange->parts.size > EXCHANGE_JSON_MAX) {
		(void)err_set(err, ERR_TOO_LARGE, EMSGSIZE, "the body is larger than 1 MiB");
		return NULL;
	}
	if (exchange_body(exchange, true, &bytes, err) < 0 ||
	    exchange_keep_tree(exchange, bytes.size, err) < 0)
		return NULL;
	if (!walk_is_tree(bytes.data, (size_t)bytes.size, WALK_TREE_MAX)) {
		(void)err_set(err, ERR_TOO_LARGE, E2BIG, "the body has more than %u values",
			      WALK_TREE_MAX);
		return NULL;
	}
	exchange->tree = json_loadb(bytes.size > 0 ? bytes.data : "", (size_t)bytes.size,
				    JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
	if (exchange->tree == NULL)
		(void)err_set(err, ERR_BAD_REQUEST, EINVAL, "the body is not JSON, at byte %d; %s",
			      error.position, error.text);
	return exchange->tree;
}

/* An integer that is out of range is read as a real number. */
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

json_t *exchange_member(struct exchange *exchange, const char *name)
{
	struct scan *scan = exchange->scan;

	for (size_t i = 0; scan != NULL && i < scan->count; i++) {
		const struct scan_member *member = &scan->members[i];

		if (strcmp(member->name, name) != 0 || member->kind != SCAN_SMALL)
			continue;
		if (exchange->trees[i] == NULL)
			exchange->trees[i] = load_small(scan, member);
		return exchange->trees[i];
	}
	return NULL;
}

bool exchange_large(struct exchange *exchange, const char *name, bool in_memory,
		    struct run_bytes *ret_bytes)
{
	const struct scan_member *member =
		exchange->scan != NULL ? scan_find(exchange->scan, name) : NULL;
	struct err err = {0};

	if (member == NULL || member->kind == SCAN_SMALL || member->is_wrong)
		return false;
	return parts_bytes(&exchange->scan->parts, member->at, member->size,
			   in_memory || member->kind == SCAN_TEXT, ret_bytes, &err) == 0;
}

bool exchange_is_wrong(const struct exchange *exchange, const char *name)
{
	const struct scan_member *member =
		exchange->scan != NULL ? scan_find(exchange->scan, name) : NULL;

	return member != NULL && member->is_wrong;
}

/* ---- ops ---- */

/* An ask of an exchange, which is held until the ask is done. */
struct held_ask {
	struct exchange *exchange;
	const struct ask_calls *calls;
	struct ask *ask;
};

static bool pass_event(void *user, const char *line, size_t size)
{
	struct held_ask *held = user;

	return held->calls->event(held->exchange, line, size);
}

static void pass_done(void *user, const struct ask_result *result)
{
	struct held_ask *held = user;

	if (held->exchange->ask == held->ask)
		held->exchange->ask = NULL;
	held->exchange->retry_after_s = result->retry_after_s;
	held->calls->done(held->exchange, result);
	exchange_release(held->exchange);
}

void exchange_ask(struct exchange *exchange, const struct op *op, const void *args,
		  const struct ask_calls *calls)
{
	static const struct ask_calls with_events = {pass_event, pass_done};
	static const struct ask_calls without = {NULL, pass_done};
	struct held_ask *held = exchange_memory(exchange, sizeof(*held));
	const struct ask_settings settings = {
		.engine = exchange->engine,
		.caller = exchange->caller,
		.op = op,
		.args = args,
		.body = -1,
		.calls = calls->event != NULL ? &with_events : &without,
		.user = held,
	};

	*held = (struct held_ask){.exchange = exchange, .calls = calls};
	exchange_hold(exchange);
	exchange->ask = held->ask = ask_start(&settings);
}

void exchange_cancel(struct exchange *exchange)
{
	if (exchange->ask != NULL)
		ask_cancel(exchange->ask);
}
