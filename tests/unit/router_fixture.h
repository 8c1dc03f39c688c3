// SPDX-License-Identifier: Apache-2.0
/*
 * Router fixture - a router with ops that show what they were given, on the fake transport
 *
 * Owns:    the ops, the router, and the one request at work.
 * May not: be included by a test that listens on a socket.
 */
#pragma once

#include <errno.h>

#include "api/router.h"
#include "fake_http.h"
#include "policy/config.h"
#include "session/engine.h"

#define BODY_MAX 1000

/* ---- ops that show what they were given ---- */

struct thing_args {
	const char *id, *rest;
	const char *text;
	struct run_bytes code;
	uint64_t offset;
};

#define THING(field, ...) OP_PARAM(struct thing_args, field, .help = "help", __VA_ARGS__)

static const struct op_param thing_params[] = {
	{THING(id, .name = "id", .type = OP_TEXT, .in = OP_IN_PATH)},
	{THING(offset, .name = "offset", .type = OP_COUNT, .in = OP_IN_QUERY)},
};

static const struct op_param put_params[] = {
	{THING(id, .name = "id", .type = OP_TEXT, .in = OP_IN_PATH)},
	{THING(rest, .name = "path", .type = OP_TEXT, .in = OP_IN_PATH)},
};

static const struct op_param asked_params[] = {
	{THING(code, .name = "code", .type = OP_BYTES)},
	{THING(text, .name = "text", .type = OP_TEXT)},
};

static void answer_text(struct op_call *call, unsigned status, const char *text)
{
	struct buf body;

	buf_init(&body, 1000);
	assert_int_equal(buf_text(&body, text), 0);
	op_answer(call, status, &body);
}

static void call_thing(struct op_call *call)
{
	const struct thing_args *args = call->args;
	char text[200];

	(void)snprintf(text, sizeof(text), "{\"id\":\"%s\",\"offset\":%u,\"who\":\"%s@%s\"}",
		       args->id, (unsigned)args->offset, call->caller.name, call->caller.peer);
	answer_text(call, 0, text);
}

static void call_put(struct op_call *call)
{
	const struct thing_args *args = call->args;
	char body[100] = "", text[300];

	assert_true(call->body >= 0);
	assert_true(pread(call->body, body, sizeof(body) - 1, 0) >= 0);
	(void)snprintf(text, sizeof(text), "%s|%s|%s", args->id, args->rest, body);
	answer_text(call, 0, text);
}

static void call_delete(struct op_call *call)
{
	answer_text(call, 0, "");
}

/* Fails with the kind of error that its text names. */
static void call_fail(struct op_call *call)
{
	const struct thing_args *args = call->args;
	struct err err = {0};

	for (enum err_kind kind = ERR_BAD_REQUEST; kind <= ERR_INTERNAL; kind++) {
		if (strcmp(err_kind_name(kind), args->text) == 0)
			(void)err_field(&err, kind, EIO, "text", "%s", args->text);
	}
	if (strcmp(args->text, "foreign") == 0) {
		(void)err_field(&err, ERR_CONFLICT, EIO, "text", "of another program");
		err.field = UINT32_MAX;
	}
	if (strcmp(args->text, "quota") == 0) {
		(void)err_set(&err, ERR_QUOTA, EBUSY, "as many runs as you may have");
		call->retry_after_s = 7;
	}
	op_fail(call, &err);
}

/* The call that waits for an answer, for the test to give. */
static struct op_call *waiting;
static unsigned left_count, close_count;

static void told_left(struct op_call *call)
{
	assert_ptr_equal(call, waiting);
	left_count++;
}

static void call_wait(struct op_call *call)
{
	const struct thing_args *args = call->args;

	(void)snprintf(call->run, sizeof(call->run), "run_1");
	assert_int_equal(args->code.size, 8);
	assert_memory_equal(args->code.data, "print(1)", 8);
	waiting = call;
	call->left = told_left;
}

static inline int64_t read_nothing(void *user, void *data, size_t room)
{
	(void)user;
	(void)data;
	(void)room;
	return 0;
}

static inline void count_close(void *user)
{
	(*(unsigned *)user)++;
}

#define PARAMS(rows)                                                                               \
	.params = (rows), .param_count = ARRAY_LEN(rows), .args_size = sizeof(struct thing_args)

static const struct op op_thing = {.name = "thing",
				   .help = "help",
				   .method = "GET",
				   .path = "/v1/things/{id}",
				   PARAMS(thing_params),
				   .call = call_thing};
static const struct op op_special = {.name = "special",
				     .help = "help",
				     .method = "GET",
				     .path = "/v1/things/special",
				     .call = call_delete};
static const struct op op_delete = {.name = "delete",
				    .help = "help",
				    .method = "DELETE",
				    .path = "/v1/things/{id}",
				    .status = 204,
				    PARAMS(thing_params),
				    .call = call_delete};
static const struct op op_put = {.name = "put",
				 .help = "help",
				 .method = "PUT",
				 .path = "/v1/things/{id}/files/{path...}",
				 .is_raw = true,
				 .status = 201,
				 PARAMS(put_params),
				 .call = call_put};
static const struct op op_failing = {.name = "fail",
				     .help = "help",
				     .method = "POST",
				     .path = "/v1/fail",
				     PARAMS(asked_params),
				     .call = call_fail};
static const struct op op_waiting = {.name = "wait",
				     .help = "help",
				     .method = "POST",
				     .path = "/v1/wait",
				     .is_stream = true,
				     PARAMS(asked_params),
				     .call = call_wait};
static const struct op op_open = {.name = "open",
				  .help = "help",
				  .method = "GET",
				  .path = "/open",
				  .is_open = true,
				  .call = call_delete};

static const struct op *const ops[] = {&op_thing,   &op_special, &op_delete, &op_put,
				       &op_failing, &op_waiting, &op_open,   NULL};

/* ---- a router ---- */

struct world {
	struct config *config;
	struct access *access;
	struct router *router;
	struct engine engine;
	struct http_request request; /* the one at work */
	struct router_finished finished;
	unsigned finished_count;
};

static int put_metrics(void *user, struct buf *buf)
{
	(void)user;
	return buf_text(buf, "up 1\n");
}

static void keep_finished(void *user, const struct router_finished *finished)
{
	struct world *world = user;

	world->finished = *finished;
	world->finished_count++;
}

/* With this page and these doors, of which `main` is the one we stand in for; all may be NULL. */
static int world_open(struct world *world, const char *yaml, uint64_t held_max,
		      const struct door *page, const struct door *const *doors, const char *main,
		      struct err *err)
{
	struct router_settings settings = {
		.engine = &world->engine,
		.ops = ops,
		.page = page,
		.doors = doors,
		.main = main,
		.body_max = BODY_MAX,
		.held_max = held_max,
		.metrics = put_metrics,
		.finished = keep_finished,
		.user = world,
	};

	*world = (struct world){0};
	left_count = close_count = 0;
	assert_ok(config_parse(yaml, strlen(yaml), "test", &world->config, err), *err);
	world->engine.config = world->config;
	world->access = access_new(world->config);
	settings.access = world->access;
	return router_new(&settings, &world->router, err);
}

static inline void world_init(struct world *world, const char *yaml, uint64_t held_max)
{
	struct err err = {0};

	assert_ok(world_open(world, yaml, held_max, NULL, NULL, NULL, &err), err);
}

static void world_done(struct world *world)
{
	router_close(world->router);
	access_free(world->access);
	config_free(world->config);
}

/* The request as it will be sent; Host is there already. */
static struct http_request *prepare(struct world *world, const char *method, const char *path)
{
	world->request = (struct http_request){
		.method = method, .path = path, .headers = {"Host", "localhost:7878"}};
	return &world->request;
}

static inline void add_header(struct world *world, const char *name, const char *value)
{
	size_t i = 0;

	while (world->request.headers[i] != NULL)
		i += 2;
	world->request.headers[i] = name;
	world->request.headers[i + 1] = value;
}

static inline const char *send_prepared(struct world *world, const char *body)
{
	fake_ask(&world->request, &router_calls, world->router, body);
	return buf_string(&world->request.body);
}

static inline const char *ask(struct world *world, const char *method, const char *path,
			      const char *body)
{
	(void)prepare(world, method, path);
	return send_prepared(world, body);
}

static inline void end(struct world *world)
{
	fake_gone(&world->request, &router_calls, world->router);
}
