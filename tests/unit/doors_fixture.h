// SPDX-License-Identifier: Apache-2.0
/*
 * Doors fixture - two doors that show what they were given, before a router, on the fake transport
 *
 * Owns:    the doors, what they counted, and the house they are in.
 * May not: be included by a test that listens on a socket.
 */
#pragma once

#include "door/doors.h"
#include "router_fixture.h"

/* ---- two doors that show what they were given ---- */

static unsigned begin_count, ended_count, door_left_count, drained_count;
static bool is_full_house;
static struct door_call *kept; /* one that waits for the test */

static void say(struct door_call *call, unsigned status, const char *text)
{
	struct buf body;

	buf_init(&body, 2000);
	assert_int_equal(buf_text(&body, text), 0);
	door_answer(call, status, &body);
}

static void refuse(struct door_call *call, unsigned status, const struct err *err)
{
	char text[700];

	(void)snprintf(text, sizeof(text), "%s refuses %u: %s", call->door->name, status,
		       err->text);
	say(call, status == 405 ? 404 : status, text);
}

static void count_left(struct door_call *call)
{
	(void)call;
	door_left_count++;
}

static void count_ended(struct door_call *call)
{
	(void)call;
	ended_count++;
}

static inline void count_drained(struct door_call *call)
{
	(void)call;
	drained_count++;
}

static void begin(struct door_call *call)
{
	begin_count++;
	call->ended = count_ended;
	if (is_full_house)
		say(call, 429, "full");
}

static void show(struct door_call *call)
{
	struct run_bytes code = {0};
	json_t *number = door_member(call, "number");
	bool has_code = door_large(call, "code", true, &code);
	char text[300];

	(void)snprintf(
		text, sizeof(text), "%s %s@%s code=%s%.*s number=%lld size=%u x=%s q=%s",
		call->door->name, call->caller.name, call->caller.peer, has_code ? "" : "none",
		(int)code.size, code.size > 0 ? (const char *)code.data : "",
		number != NULL ? json_integer_value(number) : -1, (unsigned)door_body_size(call),
		door_header(call, "X-It"), door_query(call, "q"));
	door_set_header(call, "X-Mine", "yes");
	say(call, 200, text);
}

static void show_tree(struct door_call *call)
{
	struct err err = {0};
	json_t *tree = door_json(call, &err);

	if (tree == NULL)
		refuse(call, door_status(&err), &err);
	else
		door_answer_tree(call, 200,
				 json_pack("{s:O,s:s}", "got", tree, "id", door_var(call, "id")));
}

static void wait(struct door_call *call)
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
				   DOOR_CONFIG(piston),
				   .is_exclusive = true,
				   .token_header = "X-Token",
				   .has_cors = true,
				   .exposes = "X-Mine",
				   .refuse = refuse};
static const struct door dify = {.name = "dify",
				 .routes = dify_routes,
				 .route_count = ARRAY_LEN(dify_routes),
				 DOOR_CONFIG(dify),
				 .refuse = refuse};
static const struct door *const table[] = {&piston, &dify, NULL};

/* ---- the house ---- */

struct house {
	struct world world;
	struct doors *doors;
};

static int house_init(struct house *house, const char *yaml, const char *name, struct err *err)
{
	struct doors_settings settings = {.table = table, .main = name, .body_max = BODY_MAX};
	int r;

	begin_count = ended_count = door_left_count = drained_count = 0;
	is_full_house = false;
	kept = NULL;
	house->doors = NULL;
	world_init(&house->world, yaml, 0);
	house->world.engine.config = house->world.config;
	settings.engine = &house->world.engine;
	settings.access = house->world.access;
	settings.router = house->world.router;
	r = doors_new(&settings, &house->doors, err);
	return r;
}

static void house_done(struct house *house)
{
	doors_close(house->doors);
	world_done(&house->world);
}

static const char *send_it(struct house *house, const char *body)
{
	fake_ask(&house->world.request, &doors_calls, house->doors, body);
	return buf_string(&house->world.request.body);
}

static const char *call(struct house *house, const char *method, const char *path, const char *body)
{
	(void)prepare(&house->world, method, path);
	return send_it(house, body);
}

static void gone(struct house *house)
{
	fake_gone(&house->world.request, &doors_calls, house->doors);
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
