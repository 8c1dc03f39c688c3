// SPDX-License-Identifier: Apache-2.0
#include <jansson.h>

#include "base/c.h"
#include "fake_box.h"
#include "op/op.h"
#include "op/packages.h"
#include "session/engine.h"
#include "unit.h"

/* A door that keeps what it was told. */
struct door {
	unsigned status;
	json_t *tree;
	struct err err;
};

static void keep_answer(struct op_call *call, unsigned status, struct buf *take_json)
{
	struct door *door = call->door_user;

	door->status = status;
	door->tree = json_loadb((const char *)take_json->data, take_json->size,
				JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(door->tree);
	buf_done(take_json);
}

static void keep_error(struct op_call *call, const struct err *err)
{
	struct door *door = call->door_user;

	door->err = *err;
}

static const struct op_door calls = {.answer = keep_answer, .fail = keep_error};

static const char yaml[] = "policies:\n  tight: {base: default, memory: 128MiB, cpus: 0.5}\n"
			   "limits: {queue: 17}\n"
			   "tokens:\n  - name: a\n    sha256: "
			   "0000000000000000000000000000000000000000000000000000000000000000\n"
			   "    policies: [tight]\n";

struct world {
	struct config *config;
	struct engine engine;
	struct door door;
};

static void world_init(struct world *world)
{
	struct err err = {0};

	*world = (struct world){0};
	assert_ok(config_parse(yaml, strlen(yaml), "test", &world->config, &err), err);
	world->engine.config = world->config;
	world->engine.packages = packages_new();
}

static void world_done(struct world *world)
{
	json_decref(world->door.tree);
	packages_free(world->engine.packages);
	config_free(world->config);
}

static json_t *ask(struct world *world, const struct op *op, const char *text,
		   const struct config_token *token)
{
	struct op_call call = {
		.op = op,
		.engine = &world->engine,
		.caller = {.token = token, .name = "", .peer = "unix"},
		.args = &text, /* the ops of this file take one text at most */
		.door = &calls,
		.door_user = &world->door,
	};

	json_decref(world->door.tree);
	world->door = (struct door){0};
	op->call(&call);
	return world->door.tree;
}

static const char *text_of(const json_t *tree, const char *name)
{
	const char *text = json_string_value(json_object_get(tree, name));

	return text != NULL ? text : "";
}

static json_t *named(const json_t *list, const char *name)
{
	json_t *item;
	size_t i;

	json_array_foreach(list, i, item) {
		if (strcmp(text_of(item, "name"), name) == 0)
			return item;
	}
	return NULL;
}

static void health_is_code_that_ran_lately(void **state)
{
	uint64_t now = now_ns() / 1000000;
	struct world world;
	json_t *tree;

	(void)state;
	world_init(&world);
	tree = ask(&world, &op_health, NULL, NULL);
	assert_int_equal(world.door.status, 503);
	assert_string_equal(text_of(tree, "status"), "starting");

	world.engine.last_good_ms = now;
	tree = ask(&world, &op_health, NULL, NULL);
	assert_int_equal(world.door.status, 200);
	assert_string_equal(text_of(tree, "status"), "ok");
	assert_true(json_is_null(json_object_get(tree, "why")));

	/* A failure after a good run is told; while that run is fresh all is well. */
	(void)err_set(&world.engine.health_why, ERR_INTERNAL, 5, "no memory");
	tree = ask(&world, &op_health, NULL, NULL);
	assert_int_equal(world.door.status, 200);
	assert_string_equal(text_of(tree, "why"), "no memory");

	world.engine.last_good_ms = now > 600000 ? now - 600000 : 1;
	tree = ask(&world, &op_health, NULL, NULL);
	assert_int_equal(world.door.status, 503);
	assert_string_equal(text_of(tree, "status"), "failing");
	world_done(&world);
}

static void status_says_why_a_backend_is_not_there(void **state)
{
	const json_t *backend, *limits;
	struct world world;
	json_t *tree;

	(void)state;
	world_init(&world);
	tree = ask(&world, &op_status, NULL, NULL);
	assert_string_equal(text_of(tree, "version"), VIV_VERSION);
	backend = named(json_object_get(tree, "backends"), "namespace");
	assert_non_null(backend);
	assert_true(json_is_false(json_object_get(backend, "available")));
	assert_contains(text_of(backend, "why"), "is being restarted");
	assert_int_equal(json_integer_value(json_object_get(backend, "priority")), 75);
	assert_non_null(named(json_object_get(tree, "runtimes"), "base"));
	limits = json_object_get(tree, "limits");
	assert_int_equal(json_integer_value(json_object_get(limits, "queue")), 17);
	assert_true(json_is_array(json_object_get(tree, "pools")));
	world_done(&world);
}

static void policies_are_listed_with_their_limits(void **state)
{
	const json_t *list, *tight;
	struct world world;

	(void)state;
	world_init(&world);
	list = json_object_get(ask(&world, &op_policies, NULL, NULL), "policies");
	tight = named(list, "tight");
	assert_non_null(named(list, "default"));
	assert_non_null(tight);
	assert_int_equal(json_integer_value(json_object_get(tight, "memory")), 128 * MIB);
	assert_true(json_number_value(json_object_get(tight, "cpus")) == 0.5);
	assert_int_equal(json_integer_value(json_object_get(tight, "timeout_ms")), 30000);
	assert_true(json_is_false(json_object_get(json_object_get(tight, "guard"), "enabled")));
	assert_true(json_is_false(json_object_get(tight, "built_in")));
	world_done(&world);
}

static void a_token_sees_the_policies_it_may_use(void **state)
{
	const json_t *list;
	struct world world;

	(void)state;
	world_init(&world);
	list = json_object_get(ask(&world, &op_policies, NULL, &world.config->tokens[0]),
			       "policies");
	assert_int_equal(json_array_size(list), 1);
	assert_non_null(named(list, "tight"));
	world_done(&world);
}

static void runtimes_and_their_packages_are_listed(void **state)
{
	const json_t *list;
	struct world world;

	(void)state;
	world_init(&world);
	list = json_object_get(ask(&world, &op_runtimes, NULL, NULL), "runtimes");
	assert_string_equal(text_of(named(list, "base"), "python"), RUNTIME_PYTHON);

	list = json_object_get(ask(&world, &op_packages, NULL, NULL), "packages");
	assert_non_null(named(list, "numpy"));
	assert_true(text_of(named(list, "numpy"), "version")[0] != '\0');

	assert_null(ask(&world, &op_packages, "nope", NULL));
	assert_int_equal(world.door.err.kind, ERR_NOT_FOUND);
	assert_contains(world.door.err.text, "runtime: there is no runtime nope");
	world_done(&world);
}

static void has_names(const json_t *list, const char *key, const char *names)
{
	char text[200] = "";
	size_t i;
	const json_t *item;

	json_array_foreach(list, i, item) {
		size_t used = strlen(text);
		const json_t *name = key != NULL ? json_object_get(item, key) : item;

		(void)snprintf(text + used, sizeof(text) - used, "%s%s", used > 0 ? " " : "",
			       json_string_value(name));
	}
	assert_string_equal(text, names);
}

/* Walls are those of the backend: what it can put up, and what of that stands here. */
static void walls_are_those_of_the_backend(void **state)
{
	struct world world;
	struct fake fake;
	struct pool_settings settings = {0};
	const json_t *tree = NULL;
	const json_t *facts = NULL;

	(void)state;
	world_init(&world);
	fake_open(&fake, &settings);
	fake.row.walls = 1U << WALL_NET | 1U << WALL_CGROUP;
	fake.facts = (struct backend_facts){.walls = 1U << WALL_NET, .limits = BOX_LIMITS_MEASURED};
	(void)err_set(&fake.facts.why, ERR_UNSUPPORTED, EACCES, "no cgroup here");
	world.engine.pool = fake.pool;

	tree = ask(&world, &op_status, NULL, NULL);
	has_names(json_object_get(tree, "walls"), NULL, ""); /* it has not said anything yet */

	fake_until(&fake, fake.is_told);
	tree = ask(&world, &op_status, NULL, NULL);
	has_names(json_object_get(tree, "walls"), NULL, "net");
	facts = json_object_get(tree, "wall_facts");
	has_names(facts, "name", "net cgroup");
	assert_true(json_is_true(json_object_get(json_array_get(facts, 0), "on")));
	assert_string_equal(json_string_value(json_object_get(json_array_get(facts, 1), "why")),
			    "no cgroup here");
	fake_done(&fake);
	world_done(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(walls_are_those_of_the_backend),
		cmocka_unit_test(health_is_code_that_ran_lately),
		cmocka_unit_test(status_says_why_a_backend_is_not_there),
		cmocka_unit_test(policies_are_listed_with_their_limits),
		cmocka_unit_test(a_token_sees_the_policies_it_may_use),
		cmocka_unit_test(runtimes_and_their_packages_are_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
