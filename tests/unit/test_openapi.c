// SPDX-License-Identifier: Apache-2.0
#include <jansson.h>

#include "api/openapi.h"
#include "api_fixture.h"

static void call_nothing(struct op_call *call)
{
	(void)call;
}

static const struct op get_op = {
	.name = "every.get",
	.method = "GET",
	.path = "/v1/every/{id}/{path...}",
	.help = "Says \"everything\"",
	.params = every_params,
	.param_count = 2,
	.args_size = sizeof(struct every_args),
	.answer = "Session",
	.status = 201,
	.is_open = true,
	.is_stream = true,
	.call = call_nothing,
};

static const struct op *const own[] = {&every_op, &get_op, NULL};
static const struct op *const *const tables[] = {own, op_table, NULL};

static json_t *document(void)
{
	json_error_t error;
	struct buf text;
	json_t *tree;

	buf_init(&text, 4U << 20);
	assert_int_equal(openapi_put(tables, &text), 0);
	tree = json_loadb((const char *)text.data, text.size, JSON_REJECT_DUPLICATES, &error);
	if (tree == NULL)
		fail_msg("%s at %d", error.text, error.position);
	buf_done(&text);
	return tree;
}

/* "#/components/schemas/Error" */
static const json_t *resolve(const json_t *tree, const char *ref)
{
	char name[64];

	assert_int_equal(strncmp(ref, "#/", 2), 0);
	for (ref += 2; *ref != '\0';) {
		size_t n = strcspn(ref, "/");

		(void)snprintf(name, sizeof(name), "%.*s", (int)n, ref);
		tree = json_object_get(tree, name);
		ref += n + (ref[n] == '/');
	}
	return tree;
}

static size_t check_refs(const json_t *tree, json_t *at)
{
	const char *ref = json_string_value(json_object_get(at, "$ref"));
	size_t count = ref != NULL, i;
	const char *key;
	json_t *item;

	if (ref != NULL && resolve(tree, ref) == NULL)
		fail_msg("%s leads nowhere", ref);
	json_object_foreach(at, key, item)
		count += check_refs(tree, item);
	json_array_foreach(at, i, item)
		count += check_refs(tree, item);
	return count;
}

static void every_reference_leads_somewhere(void **state)
{
	json_t *tree = document();

	(void)state;
	assert_true(check_refs(tree, tree) > 30);
	json_decref(tree);
}

static void every_answer_has_a_schema(void **state)
{
	(void)state;
	for (size_t i = 0; op_table[i] != NULL; i++) {
		const struct op *op = op_table[i];

		assert_non_null(op->call);
		assert_non_null(op->help);
		if (op->answer != NULL && schema_find(op->answer) == NULL)
			fail_msg("%s answers %s, which schemas.c does not know", op->name,
				 op->answer);
		for (size_t j = 0; j < op->param_count; j++) {
			assert_true(strlen(op->params[j].name) < PARAM_NAME_MAX);
			assert_non_null(op->params[j].help);
		}
	}
}

static const json_t *dig(const json_t *tree, const char *const *names)
{
	for (; *names != NULL; names++)
		tree = json_object_get(tree, *names);
	return tree;
}

#define DIG(tree, ...) dig(tree, (const char *const[]){__VA_ARGS__, NULL})

static void a_row_becomes_a_schema(void **state)
{
	json_t *tree = document();
	const json_t *properties = DIG(tree, "components", "schemas", "EveryRequest", "properties");
	const json_t *limits = DIG(properties, "limits", "properties");

	(void)state;
	assert_string_equal(json_string_value(DIG(properties, "code", "type")), "string");
	assert_int_equal(json_integer_value(DIG(properties, "timeout_ms", "minimum")), 10);
	assert_int_equal(json_integer_value(DIG(properties, "timeout_ms", "maximum")), 3600000);
	assert_int_equal(json_array_size(DIG(properties, "word", "enum")), 2);
	assert_int_equal(json_object_size(limits), 3);
	assert_true(json_number_value(DIG(limits, "cpus", "minimum")) == 0.01);
	assert_null(json_object_get(properties, "id"));
	assert_null(json_object_get(properties, "limits.memory"));
	assert_true(json_is_false(
		DIG(tree, "components", "schemas", "EveryRequest", "additionalProperties")));
	json_decref(tree);
}

static void an_op_becomes_an_operation(void **state)
{
	json_t *tree = document();
	const json_t *item = DIG(tree, "paths", "/v1/every/{id}/{path}");
	const json_t *get = DIG(item, "get");
	const json_t *post = DIG(item, "post");

	(void)state;
	assert_int_equal(json_object_size(item), 2);
	assert_string_equal(json_string_value(DIG(get, "summary")), "Says \"everything\"");
	assert_non_null(DIG(get, "responses", "201", "content", "application/x-ndjson"));
	assert_non_null(DIG(get, "responses", "default"));
	assert_int_equal(json_array_size(DIG(get, "security")), 0);
	assert_true(json_is_array(DIG(get, "security")));
	assert_null(DIG(get, "requestBody"));
	/* Two of the path and ?on_disconnect. */
	assert_int_equal(json_array_size(DIG(get, "parameters")), 3);
	assert_int_equal(json_array_size(DIG(post, "parameters")), 6);
	assert_null(DIG(post, "security"));
	assert_non_null(DIG(post, "requestBody", "content", "application/json"));
	assert_non_null(DIG(tree, "paths", "/v1/run", "post"));
	json_decref(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_reference_leads_somewhere),
		cmocka_unit_test(every_answer_has_a_schema),
		cmocka_unit_test(a_row_becomes_a_schema),
		cmocka_unit_test(an_op_becomes_an_operation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
