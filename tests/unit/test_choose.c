// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/choose.h"
#include "backend/remote.h"
#include "base/c.h"
#include "policy/config.h"
#include "unit.h"

static const struct backend_facts facts_good = {.landlock_abi = 1};
static const struct backend_facts facts_bad = {
	.unfit = {.kind = ERR_UNSUPPORTED,
		  .num = EOPNOTSUPP,
		  .text = "landlock is off on this kernel; boot with lsm=landlock,..."}};

/* The facts of the namespace backend here. */
static const struct backend_seen good = {.backend = &backend_namespace, .facts = &facts_good};
static const struct backend_seen bad = {.backend = &backend_namespace, .facts = &facts_bad};

/* The probe of the remote asks for no more of it than that it is not NULL while nothing is known.
 */
#define URL "remote: {url: \"http://127.0.0.1:1\"}"

static struct config *config_of(const char *text)
{
	struct config *config = NULL;
	struct err err = {0};

	if (config_parse(text, strlen(text), "vivarium.yaml", &config, &err) < 0)
		fail_msg("%s", err.text);
	return config;
}

/* The backend chosen for `use`, or NULL and why in `err`. The remote is there when the config names
 * one. */
static const char *choose(const char *text, const struct backend_seen *seen, enum backend_use use,
			  const char *pin, struct err *err)
{
	struct config *config = config_of(text);
	uv_loop_t loop;
	struct backend_host host = {.config = config, .seen = seen, .seen_count = seen != NULL};
	const struct backend *backend = NULL;
	int r;

	assert_int_equal(uv_loop_init(&loop), 0);
	assert_int_equal(remote_new(&loop, config, &host.remote, err), 0);
	*err = (struct err){0};
	r = backend_choose(&host, use, pin, false, &backend, err);
	remote_free(host.remote);
	(void)uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
	config_free(config);
	return r == 0 ? backend->name : NULL;
}

static const struct {
	const char *config;
	const struct backend_seen *seen;
	enum backend_use use;
	const char *pin, *chosen; /* NULL: refused */
} rows[] = {
	/* By strength, which is the default. */
	{"", &good, BACKEND_PYTHON, NULL, "namespace"},
	{"", &good, BACKEND_PYTHON, "auto", "namespace"},
	{"", NULL, BACKEND_PYTHON, NULL, "namespace"}, /* not known yet: it is waited for */
	{"", &bad, BACKEND_PYTHON, NULL, NULL},
	{"", &bad, BACKEND_EXPLORE, NULL, NULL},
	{"backends: {" URL "}", &good, BACKEND_PYTHON, NULL, "namespace"},
	{"backends: {" URL "}", &bad, BACKEND_PYTHON, NULL, "remote"},
	{"backends: {" URL "}", &bad, BACKEND_COMMAND, NULL, "remote"},
	{"backends: {" URL "}", &bad, BACKEND_SESSION, NULL, NULL},
	{"backends: {" URL "}", &bad, BACKEND_EXPLORE, NULL, NULL},
	{"backends: {" URL "}", &good, BACKEND_EXPLORE_AWAY, NULL, "remote"},
	/* Atlas's two orders. */
	{"backends: {order: atlas-documented, " URL "}", &good, BACKEND_PYTHON, NULL, "remote"},
	{"backends: {order: atlas-documented, " URL "}", &good, BACKEND_COMMAND, NULL, "remote"},
	{"backends: {order: atlas-documented, " URL "}", &good, BACKEND_SESSION, NULL, "namespace"},
	{"backends: {order: atlas-documented}", &good, BACKEND_PYTHON, NULL, "namespace"},
	{"backends: {order: atlas-planner, " URL "}", &good, BACKEND_PYTHON, NULL, "remote"},
	{"backends: {order: atlas-planner}", &good, BACKEND_PYTHON, NULL, "namespace"},
	/* A list is exactly that. */
	{"backends: {priority: [remote, namespace], " URL "}", &good, BACKEND_PYTHON, NULL,
	 "remote"},
	{"backends: {priority: [remote, namespace]}", &good, BACKEND_PYTHON, NULL, "namespace"},
	{"backends: {priority: [microvm, gvisor, namespace, remote]}", &good, BACKEND_PYTHON, NULL,
	 "namespace"},
	{"backends: {priority: [namespace], " URL "}", &bad, BACKEND_PYTHON, NULL, NULL},
	{"backends: {priority: [remote], " URL "}", &good, BACKEND_PYTHON, "namespace", NULL},
	{"backends: {priority: [microvm]}", &good, BACKEND_PYTHON, NULL, NULL},
	/* A pin is that one, or nothing. */
	{"backends: {pin: namespace, " URL "}", &good, BACKEND_PYTHON, NULL, "namespace"},
	{"backends: {pin: namespace, " URL "}", &bad, BACKEND_PYTHON, NULL, NULL},
	{"backends: {pin: remote}", &good, BACKEND_PYTHON, NULL, NULL},
	{"backends: {pin: remote, " URL "}", &good, BACKEND_SESSION, NULL, NULL},
	{"backends: {pin: remote, " URL "}", &good, BACKEND_PYTHON, "namespace", NULL},
	{"backends: {" URL "}", &bad, BACKEND_PYTHON, "namespace", NULL},
	{"backends: {" URL "}", &good, BACKEND_PYTHON, "remote", "remote"},
	{"", &good, BACKEND_PYTHON, "remote", NULL},
	{"", &good, BACKEND_PYTHON, "gvisor", NULL},
	{"", &good, BACKEND_PYTHON, "nosuch", NULL},
	/* No walls: explore of a folder here, and only in development. */
	{"backends: {process: {development: true}}", &bad, BACKEND_EXPLORE, NULL, "process"},
	{"backends: {process: {development: true}}", &good, BACKEND_EXPLORE, NULL, "namespace"},
	{"backends: {process: {development: true}}", &bad, BACKEND_PYTHON, NULL, NULL},
	{"backends: {process: {development: true}}", &bad, BACKEND_PYTHON, "process", NULL},
	{"backends: {process: {development: true}}", &bad, BACKEND_COMMAND, "process", NULL},
	{"backends: {process: {development: true}}", &bad, BACKEND_SESSION, "process", NULL},
	{"backends: {priority: [process]}", &good, BACKEND_EXPLORE, NULL, NULL},
	{"backends: {pin: process}", &good, BACKEND_EXPLORE, NULL, NULL},
	{"backends: {pin: process, process: {development: true}}", &good, BACKEND_EXPLORE, NULL,
	 "process"},
};

static void each_row_of_the_order_gives_its_backend(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct err err = {0};
		const char *chosen =
			choose(rows[i].config, rows[i].seen, rows[i].use, rows[i].pin, &err);

		if (rows[i].chosen == NULL && chosen != NULL)
			fail_msg("row %zu: %s instead of a refusal", i, chosen);
		if (rows[i].chosen != NULL && chosen == NULL)
			fail_msg("row %zu: refused instead of %s: %s", i, rows[i].chosen, err.text);
		if (rows[i].chosen != NULL)
			assert_string_equal(chosen, rows[i].chosen);
		else
			assert_true(err.text[0] != '\0');
	}
}

static void a_refusal_says_what_was_tried_and_why(void **state)
{
	struct err err = {0};

	(void)state;
	assert_null(choose("backends: {" URL "}", &bad, BACKEND_SESSION, NULL, &err));
	assert_int_equal(err.kind, ERR_UNSUPPORTED);
	assert_contains(err.text, "namespace: landlock is off");
	assert_contains(err.text, "remote: it takes single runs");
	assert_null(choose("backends: {pin: namespace}", &bad, BACKEND_PYTHON, NULL, &err));
	assert_string_equal(err.text,
			    "backend: namespace is pinned, but it cannot be used: landlock is off "
			    "on this kernel; boot with lsm=landlock,...");
	assert_null(choose("", &good, BACKEND_PYTHON, "process", &err));
	assert_contains(err.text, "never for Python");
	assert_null(choose("", &good, BACKEND_PYTHON, "nosuch", &err));
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	assert_null(choose("backends: {pin: remote, " URL "}", &good, BACKEND_PYTHON, "namespace",
			   &err));
	assert_int_equal(err.kind, ERR_FORBIDDEN);
	assert_null(choose("backends: {priority: [microvm, namespace]}", &bad, BACKEND_PYTHON, NULL,
			   &err));
	assert_string_equal(err.text,
			    "All backends in backends.priority (microvm, namespace) failed to "
			    "initialize. microvm: this version of viv does not have it; namespace: "
			    "landlock is off on this kernel; boot with lsm=landlock,...");
}

/* The backends that the texts of Atlas's refusals name, so that a new backend changes none of them.
 */
static const struct backend *const atlas_table[] = {&backend_namespace, &backend_remote,
						    &backend_process, NULL};

/* As `choose`, with a config that Atlas's variables made. */
static void refuse_as_atlas(struct config *config, enum backend_use use, bool is_sidecar,
			    struct err *err)
{
	const struct backend_host host = {
		.config = config, .table = atlas_table, .seen = &bad, .seen_count = 1};
	const struct backend *backend = NULL;

	*err = (struct err){0};
	assert_true(backend_choose(&host, use, NULL, is_sidecar, &backend, err) < 0);
	assert_int_equal(err->kind, ERR_UNSUPPORTED);
}

static void refusals_to_an_atlas_are_in_its_words(void **state)
{
	struct config *config = config_of("");
	struct err err = {0};

	(void)state;
	refuse_as_atlas(config, BACKEND_PYTHON, true, &err);
	assert_string_equal(
		err.text,
		"Python execution requires a sandbox (ATLAS_SANDBOX_URL or nsjail). See "
		"deployment docs. Attempted: nsjail: landlock is off on this kernel; boot "
		"with lsm=landlock,...; sidecar: no address is configured; just-bash: it "
		"has no walls, so it is for a look at a folder of this host alone, never "
		"for Python");
	text_set(&config->backend_pin, "namespace");
	config->sidecar.has_pin = true;
	refuse_as_atlas(config, BACKEND_PYTHON, false, &err);
	assert_string_equal(err.text,
			    "ATLAS_SANDBOX=nsjail but the nsjail Python backend could not be "
			    "initialized: landlock is off on this kernel; boot with "
			    "lsm=landlock,...");
	text_set(&config->backend_pin, "auto");
	text_list_add(&config->backend_priority, "namespace");
	text_list_add(&config->backend_priority, "remote");
	config->sidecar.has_priority = true;
	refuse_as_atlas(config, BACKEND_PYTHON, false, &err);
	assert_string_equal(
		err.text,
		"All backends in sandbox.priority (nsjail, sidecar) failed to initialize. "
		"nsjail: landlock is off on this kernel; boot with lsm=landlock,...; "
		"sidecar: no address is configured");
	config_free(config);
}

static void what_is_active_is_told_and_never_a_weaker_one(void **state)
{
	struct config *config =
		config_of("backends: {pin: namespace, process: {development: true}}");
	struct backend_host host = {.config = config, .seen = &good, .seen_count = 1};

	(void)state;
	assert_string_equal(backend_active(&host, BACKEND_PYTHON), "namespace");
	assert_string_equal(backend_order_name(config), "strength");
	host.seen = &bad;
	assert_string_equal(backend_active(&host, BACKEND_PYTHON), "fail-closed");
	assert_string_equal(backend_active(&host, BACKEND_EXPLORE), "fail-closed");
	config_free(config);
}

static int open_nothing(const struct backend *self, uv_loop_t *loop,
			const struct backend_settings *settings, const struct backend_calls *calls,
			void *user, struct backend_instance **ret_instance, struct err *err)
{
	(void)self;
	(void)loop;
	(void)settings;
	(void)calls;
	(void)user;
	(void)ret_instance;
	return err_set(err, ERR_UNSUPPORTED, ENOSYS, "it only stands in a table");
}

/* A backend without walls, which can do everything and always works. */
static const struct backend wall_less = {
	.name = "process", /* a name that a config may use */
	.priority = 80,
	.uses = (1U << BACKEND_USE_COUNT) - 1,
	.open = open_nothing,
};
static const struct backend *const wall_less_table[] = {&wall_less, &backend_namespace, NULL};

static const struct {
	const char *config;
	const struct backend_seen *seen;
	const char *pin, *chosen; /* NULL: refused */
} wall_less_rows[] = {
	{"", &good, NULL, "namespace"},
	{"", &bad, NULL, NULL},
	{"", &good, "process", NULL}, /* no client may ask for it */
	{"backends: {pin: namespace}", &bad, NULL, NULL},
	{"backends: {priority: [namespace]}", &bad, NULL, NULL},
	{"backends: {process: {development: true}}", &bad, NULL, NULL},
	{"backends: {pin: process}", &good, NULL, "process"},
	{"backends: {pin: process}", &good, "process", "process"},
	{"backends: {priority: [namespace, process]}", &good, NULL, "namespace"},
	{"backends: {priority: [namespace, process]}", &bad, NULL, "process"},
};

static void a_backend_without_walls_is_chosen_only_where_the_config_names_it(void **state)
{
	const struct backend *backend = NULL;
	struct err err = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wall_less_rows); i++) {
		struct config *config = config_of(wall_less_rows[i].config);
		const struct backend_host host = {.config = config,
						  .table = wall_less_table,
						  .seen = wall_less_rows[i].seen,
						  .seen_count = 1};

		for (enum backend_use use = 0; use < BACKEND_EXPLORE_AWAY; use++) {
			const char *chosen = wall_less_rows[i].chosen;
			int r = backend_choose(&host, use, wall_less_rows[i].pin, false, &backend,
					       &err);

			if (r < 0 && chosen != NULL)
				fail_msg("row %zu: refused instead of %s: %s", i, chosen, err.text);
			if (r == 0 && chosen == NULL)
				fail_msg("row %zu: %s instead of a refusal", i, backend->name);
			if (chosen != NULL)
				assert_string_equal(backend->name, chosen);
			else
				assert_int_equal(err.kind, ERR_UNSUPPORTED);
		}
		config_free(config);
	}
}

static void what_keeps_sandboxes_ready_passes_over_a_backend_without_walls(void **state)
{
	struct config *config = config_of("backends: {priority: [namespace, process]}");
	struct backend_host host = {
		.config = config, .table = wall_less_table, .seen = &good, .seen_count = 1};
	const struct backend *backend = NULL;
	struct err err = {0};

	(void)state;
	assert_ok(backend_choose_local(&host, &backend, &err), err);
	assert_ptr_equal(backend, &backend_namespace);
	host.seen = &bad;
	assert_true(backend_choose_local(&host, &backend, &err) < 0);
	config_free(config);
}

static void without_a_config_nobody_can_ask_for_a_backend_without_walls(void **state)
{
	const struct backend_host host = {.table = wall_less_table, .seen = &good, .seen_count = 1};
	const struct backend *backend = NULL;
	struct err err = {0};

	(void)state;
	assert_true(backend_choose(&host, BACKEND_PYTHON, "process", false, &backend, &err) < 0);
	assert_contains(err.text, "it does this only where backends.pin or backends.priority "
				  "names it");
}

/* Under Atlas's orders a remote stands just above namespace, whatever else is near. */
static void a_backend_with_the_priority_next_to_namespace_is_not_lost(void **state)
{
	static const struct backend near = {
		.name = "gvisor",
		.priority = 76,
		.uses = 1U << BACKEND_PYTHON,
		.by_order = 1U << BACKEND_PYTHON,
		.open = open_nothing,
	};
	static const struct backend *const table[] = {&backend_remote, &near, &backend_namespace,
						      NULL};
	struct config *config = config_of("backends: {order: atlas-planner}");
	const struct backend_host host = {
		.config = config, .table = table, .seen = &bad, .seen_count = 1};
	const struct backend *backend = NULL;
	struct err err = {0};

	(void)state;
	assert_ok(backend_choose(&host, BACKEND_PYTHON, NULL, false, &backend, &err), err);
	assert_ptr_equal(backend, &near);
	config_free(config);
}

/* A row that makes boxes and names no walls, or does jobs here, cannot be chosen for code by the
 * order. */
static void what_may_be_chosen_by_the_order_has_walls(void **state)
{
	const unsigned code = 1U << BACKEND_PYTHON | 1U << BACKEND_COMMAND | 1U << BACKEND_SESSION;

	(void)state;
	for (size_t i = 0; backend_table[i] != NULL; i++) {
		const struct backend *backend = backend_table[i];
		bool is_here = backend->jobs != NULL && !backend->jobs->is_claimed;

		assert_int_equal(backend->by_order & ~backend->uses, 0);
		if ((backend->open != NULL && backend->walls == 0) || is_here)
			assert_int_equal(backend->by_order & code, 0);
	}
}

static void the_table_has_the_names_that_a_config_may_use(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; backend_table[i] != NULL; i++) {
		assert_string_equal(backend_table[i]->name, config_backends[i]);
		assert_ptr_equal(backend_find(config_backends[i]), backend_table[i]);
		assert_non_null(backend_table[i]->remedy);
		if (i > 0)
			assert_true(backend_table[i]->priority < backend_table[i - 1]->priority);
	}
	assert_null(config_backends[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row_of_the_order_gives_its_backend),
		cmocka_unit_test(a_refusal_says_what_was_tried_and_why),
		cmocka_unit_test(refusals_to_an_atlas_are_in_its_words),
		cmocka_unit_test(what_is_active_is_told_and_never_a_weaker_one),
		cmocka_unit_test(a_backend_without_walls_is_chosen_only_where_the_config_names_it),
		cmocka_unit_test(what_keeps_sandboxes_ready_passes_over_a_backend_without_walls),
		cmocka_unit_test(without_a_config_nobody_can_ask_for_a_backend_without_walls),
		cmocka_unit_test(a_backend_with_the_priority_next_to_namespace_is_not_lost),
		cmocka_unit_test(what_may_be_chosen_by_the_order_has_walls),
		cmocka_unit_test(the_table_has_the_names_that_a_config_may_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
