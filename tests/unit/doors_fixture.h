// SPDX-License-Identifier: Apache-2.0
/*
 * Doors fixture - two doors that show what they were given, before a router, on the fake transport
 *
 * Owns:    the doors, what they counted, and the house they are in.
 * May not: be included by a test that listens on a socket.
 */
#pragma once

#include "api/exchange.h"
#include "door/config_table.h"
#include "router_fixture.h"

/* ---- two doors that show what they were given ---- */

static unsigned begin_count, ended_count, door_left_count, drained_count;
static bool is_full_house;
static struct exchange *kept; /* one that waits for the test */

static void say(struct exchange *call, unsigned status, const char *text)
{
	struct buf body;

	buf_init(&body, 2000);
	assert_int_equal(buf_text(&body, text), 0);
	exchange_answer(call, status, &body);
}

static void refuse(struct exchange *call, unsigned status, const struct err *err)
{
	char text[700];

	(void)snprintf(text, sizeof(text), "%s refuses %u: %s", call->door->name, status,
		       err->text);
	say(call, status == 405 ? 404 : status, text);
}

static void count_left(struct exchange *call)
{
	(void)call;
	door_left_count++;
}

static void count_ended(struct exchange *call)
{
	(void)call;
	ended_count++;
}

static inline void count_drained(struct exchange *call)
{
	(void)call;
	drained_count++;
}

static void begin(struct exchange *call)
{
	begin_count++;
	call->ended = count_ended;
	if (is_full_house)
		say(call, 429, "full");
}

static void show(struct exchange *call)
{
	struct run_bytes code = {0};
	json_t *number = exchange_member(call, "number");
	bool has_code = exchange_large(call, "code", true, &code);
	char text[300];

	(void)snprintf(text, sizeof(text), "%s %s@%s code=%s%.*s number=%lld size=%u x=%s q=%s",
		       call->door->name, call->caller.name, call->caller.peer,
		       has_code ? "" : "none", (int)code.size,
		       code.size > 0 ? (const char *)code.data : "",
		       number != NULL ? json_integer_value(number) : -1,
		       (unsigned)exchange_body_size(call), exchange_header(call, "X-It"),
		       exchange_query(call, "q"));
	exchange_set_header(call, "X-Mine", "yes");
	say(call, 200, text);
}

static void show_tree(struct exchange *call)
{
	struct err err = {0};
	json_t *tree = exchange_json(call, &err);

	if (tree == NULL)
		refuse(call, exchange_status(&err), &err);
	else
		exchange_answer_tree(
			call, 200,
			json_pack("{s:O,s:s}", "got", tree, "id", exchange_var(call, "id")));
}

static void wait(struct exchange *call)
{
	kept = call;
	call->left = count_left;
	call->ended = count_ended;
	call->drained = count_drained;
}

static const struct op_param members[] = {
	{.name = "code", .type = OP_BYTES},
	{.name = "number", .type = OP_TEXT},
};

static const struct door_route piston_routes[] = {
	{.method = "POST", .path = "/show", DOOR_MEMBERS(members), .begin = begin, .run = show},
	{.method = "PUT", .path = "/trees/{id}", .run = show_tree},
	{.method = "GET", .path = "/wait", .is_open = true, .run = wait},
	{.method = "GET", .path = "/open", .is_open = true, .run = show},
};

static const struct door_route dify_routes[] = {
	{.method = "POST", .path = "/show", DOOR_MEMBERS(members), .run = show},
	{.method = "GET", .path = "", .run = show},
};

static const struct door piston = {.name = "piston",
				   .routes = piston_routes,
				   .route_count = ARRAY_LEN(piston_routes),
				   .config = &piston_config,
				   .is_exclusive = true,
				   .token_header = "X-Token",
				   .has_cors = true,
				   .exposes = "X-Mine",
				   .refuse = refuse};
static const struct door dify = {.name = "dify",
				 .routes = dify_routes,
				 .route_count = ARRAY_LEN(dify_routes),
				 .config = &dify_config,
				 .refuse = refuse};

static const struct door_route page_routes[] = {
	{.method = "GET", .path = "/sheet", .is_open = true, .run = show},
	{.method = "GET", .path = "/sheets/{name}", .is_open = true, .run = show},
	{.method = "GET", .path = "/trees/ours", .is_open = true, .run = show},
};
static const struct door page = {.name = "page",
				 .routes = page_routes,
				 .route_count = ARRAY_LEN(page_routes),
				 .is_public = true,
				 .refuse = refuse};
static const struct door *const table[] = {&piston, &dify, NULL};

/* ---- the house ---- */

struct house {
	struct world world;
};

static int house_init(struct house *house, const char *yaml, const char *name, struct err *err)
{
	begin_count = ended_count = door_left_count = drained_count = 0;
	is_full_house = false;
	kept = NULL;
	return world_open(&house->world, yaml, 0, &page, table, name, err);
}

static void house_done(struct house *house)
{
	world_done(&house->world);
}

static const char *send_it(struct house *house, const char *body)
{
	fake_ask(&house->world.request, &router_calls, house->world.router, body);
	return buf_string(&house->world.request.body);
}

static const char *call(struct house *house, const char *method, const char *path, const char *body)
{
	(void)prepare(&house->world, method, path);
	return send_it(house, body);
}

static void gone(struct house *house)
{
	fake_gone(&house->world.request, &router_calls, house->world.router);
}

static inline void says(struct house *house, const char *method, const char *path, const char *body,
			unsigned status, const char *part)
{
	assert_contains(call(house, method, path, body), part);
	assert_int_equal(house->world.request.status, status);
	gone(house);
}

/* The op of our own that answers with nothing. */
static inline void is_ours(struct house *house, const char *path)
{
	assert_string_equal(call(house, "GET", path, NULL), "");
	assert_int_equal(house->world.request.status, 200);
	gone(house);
}

static void open_house(struct house *house, const char *yaml, const char *name)
{
	struct err err = {0};

	assert_ok(house_init(house, yaml, name, &err), err);
}
