// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include "base/c.h"
#include "policy/paths.h"
#include "policy/policy.h"
#include "unit.h"

struct table {
	struct policy *policies;
	size_t count;
};

static int make(void **state)
{
	struct table *table = xnew(struct table);

	table->policies = policy_built_ins(&table->count);
	*state = table;
	return 0;
}

static int end(void **state)
{
	struct table *table = *state;

	for (size_t i = 0; i < table->count; i++)
		policy_done(&table->policies[i]);
	free(table->policies);
	free(table);
	return 0;
}

static struct policy *get(void **state, const char *name)
{
	struct table *table = *state;

	for (size_t i = 0; i < table->count; i++) {
		if (strcmp(table->policies[i].name, name) == 0)
			return &table->policies[i];
	}
	fail_msg("no policy %s", name);
	abort();
}

static void the_default_is_what_the_contract_says(void **state)
{
	const struct policy *policy = get(state, "default");

	assert_int_equal(policy->memory, 512 * MIB);
	assert_int_equal(policy->cpus_milli, 1000);
	assert_int_equal(policy->pids, 64);
	assert_int_equal(policy->disk, 256 * MIB);
	assert_int_equal(policy->io, 200 * MIB);
	assert_int_equal(policy->output, MIB);
	assert_int_equal(policy->timeout_ms, 30000);
	assert_int_equal(policy->timeout_max_ms, 120000);
	assert_string_equal(policy->network, "none");
	assert_false(policy->guard_enabled);
	assert_int_equal(policy->limits, LIMITS_MEASURED);
	assert_string_equal(policy->runtime, "auto");
	assert_string_equal(policy->backend, "auto");
	assert_string_equal(policy->data, "");
}

static void every_built_in_is_there_and_holds_together(void **state)
{
	static const char *const names[] = {"default",   "analysis",     "ephemeral",
					    "workspace", "conversation", "heavy"};
	const struct table *table = *state;

	assert_int_equal(table->count, ARRAY_LEN(names));
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct policy_grant grant = {0};
		const char *key = NULL;
		struct err err = {0};
		const struct policy *policy = policy_find(table->policies, table->count, names[i]);

		assert_non_null(policy);
		assert_true(policy->is_built_in);
		assert_ok(policy_check(policy, &key, &err), err);
		assert_ok(policy_narrow(policy, NULL, &grant, &err), err);
	}
	assert_null(policy_find(table->policies, table->count, "defaul"));
	assert_true(get(state, "analysis")->guard_enabled);
	assert_int_equal(get(state, "ephemeral")->timeout_max_ms, 60000);
	assert_int_equal(get(state, "workspace")->timeout_ms, 60000);
	assert_int_equal(get(state, "conversation")->timeout_ms, 60000);
}

static void every_row_has_help_and_a_default_in_its_range(void **state)
{
	const struct policy *policy = get(state, "default");

	for (size_t i = 0; i < policy_row_count; i++) {
		struct policy copy;
		struct err err = {0};
		char text[64];

		assert_non_null(policy_rows[i].help);
		if (policy_rows[i].type == SETTING_LIST)
			continue;
		policy_init(&copy, "copy");
		setting_format(&policy_rows[i], policy, text, sizeof(text));
		assert_ok(setting_parse(&policy_rows[i], &copy, text, &err), err);
		policy_done(&copy);
	}
}

static void a_request_that_says_nothing_gets_the_policy(void **state)
{
	struct policy_grant grant = {0};
	struct err err = {0};

	assert_ok(policy_narrow(get(state, "default"), NULL, &grant, &err), err);
	assert_int_equal(grant.plan.version, PLAN_VERSION);
	assert_int_equal(grant.plan.memory, 512 * MIB);
	assert_int_equal(grant.plan.disk, 256 * MIB);
	assert_int_equal(grant.plan.io, 200 * MIB);
	assert_int_equal(grant.plan.pids, 64);
	assert_int_equal(grant.plan.cpus_milli, 1000);
	assert_int_equal(grant.plan.limits, LIMITS_MEASURED);
	assert_int_equal(grant.output, MIB);
	assert_int_equal(grant.timeout_ms, 30000);
}

static void a_request_narrows(void **state)
{
	const struct policy_ask ask = {.memory = 64 * MIB,
				       .cpus_milli = 500,
				       .pids = 8,
				       .disk = MIB,
				       .output = 4 * KIB,
				       .timeout_ms = 120000};
	struct policy_grant grant = {0};
	struct err err = {0};

	assert_ok(policy_narrow(get(state, "default"), &ask, &grant, &err), err);
	assert_int_equal(grant.plan.memory, 64 * MIB);
	assert_int_equal(grant.plan.cpus_milli, 500);
	assert_int_equal(grant.plan.pids, 8);
	assert_int_equal(grant.plan.disk, MIB);
	assert_int_equal(grant.output, 4 * KIB);
	assert_int_equal(grant.timeout_ms, 120000); /* above the default, not above the maximum */
}

static void a_request_never_widens(void **state)
{
	const struct {
		struct policy_ask ask;
		const char *says;
	} cases[] = {
		{{.memory = GIB}, "limits.memory: 1GiB is above the policy's 512MiB"},
		{{.memory = UINT64_MAX}, "limits.memory: 18446744073709551615 is above"},
		{{.cpus_milli = 1001}, "limits.cpus: 1.001 is above the policy's 1"},
		{{.pids = 65}, "limits.pids: 65 is above the policy's 64"},
		{{.pids = UINT64_MAX},
		 "limits.pids: 18446744073709551615 is above the policy's 64"},
		{{.disk = GIB}, "limits.disk: 1GiB is above the policy's 256MiB"},
		{{.output = GIB}, "limits.output: 1GiB is above the policy's 1MiB"},
		{{.timeout_ms = 120001}, "timeout_ms: 120001ms is above the policy's 120s"},
		{{.timeout_ms = 1ULL << 32}, "timeout_ms: 4294967296ms is above the policy's 120s"},
		{{.memory = 1}, "limits.memory: 1 is below the least, 16MiB"},
		{{.timeout_ms = 1}, "timeout_ms: 1ms is below the least, 10ms"},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct policy_grant grant = {.output = 4711};
		struct err err = {0};

		assert_int_equal(policy_narrow(get(state, "default"), &cases[i].ask, &grant, &err),
				 -EINVAL);
		assert_int_equal(err.kind, ERR_BAD_REQUEST);
		assert_contains(err.text, cases[i].says);
		assert_int_equal(grant.output, 4711);
	}
}

static void a_request_can_be_text(void **state)
{
	struct policy_ask ask = {0};
	struct err err = {0};

	(void)state;
	assert_ok(policy_ask_set(&ask, "memory", "128M", "--memory", &err), err);
	assert_ok(policy_ask_set(&ask, "cpus", "0.5", "--cpus", &err), err);
	assert_ok(policy_ask_set(&ask, "pids", "16", "--pids", &err), err);
	assert_ok(policy_ask_set(&ask, "disk", "1MiB", "limits.disk", &err), err);
	assert_ok(policy_ask_set(&ask, "output", "64K", "limits.output", &err), err);
	assert_ok(policy_ask_set(&ask, "timeout", "1500ms", "--timeout", &err), err);
	assert_int_equal(ask.memory, 128 * MIB);
	assert_int_equal(ask.cpus_milli, 500);
	assert_int_equal(ask.pids, 16);
	assert_int_equal(ask.disk, MIB);
	assert_int_equal(ask.output, 65536);
	assert_int_equal(ask.timeout_ms, 1500);

	assert_int_equal(policy_ask_set(&ask, "memory", "lots", "--memory", &err), -EINVAL);
	assert_contains(err.text, "--memory: lots is not an allowed size");
	assert_int_equal(policy_ask_set(&ask, "memory", "0", "--memory", &err), -EINVAL);
	assert_int_equal(policy_ask_set(&ask, "swap", "1", "limits.swap", &err), -EINVAL);
	assert_int_equal(ask.memory, 128 * MIB);
}

static void critical_modules_stay_blocked(void **state)
{
	struct policy *policy = get(state, "analysis");
	const char *key = NULL;
	struct err err = {0};

	text_list_add(&policy->guard_allow, "requests");
	assert_ok(policy_check(policy, &key, &err), err);
	text_list_add(&policy->guard_allow, "sys");
	text_list_add(&policy->guard_allow, "os");
	assert_int_equal(policy_check(policy, &key, &err), -EINVAL);
	assert_contains(err.text, "Cannot unblock critical Python modules: os, sys. ");
	assert_string_equal(key, "guard.allow");
}

static void guard_lists_hold_top_level_names(void **state)
{
	struct policy *policy = get(state, "analysis");
	const char *key = NULL;
	struct err err = {0};

	text_list_add(&policy->guard_block, "google.cloud");
	assert_int_equal(policy_check(policy, &key, &err), -EINVAL);
	assert_contains(err.text, "google.cloud");
	assert_string_equal(key, "guard.block");
}

static void refuses_a_network_and_a_data_directory_that_shows_the_host(void **state)
{
	static const char *const wide[] = {"/",       "/home", "/home/alice", "/etc/ssl",
					   "/proc/1", "/var",  "/srv/../etc"};
	struct policy *policy = get(state, "default");
	const char *key = NULL;
	struct err err = {0};

	for (size_t i = 0; i < ARRAY_LEN(wide); i++) {
		text_set(&policy->data, wide[i]);
		assert_int_equal(policy_check(policy, &key, &err), -EINVAL);
		assert_string_equal(key, "data");
	}
	text_set(&policy->data, "/srv/vault");
	assert_ok(policy_check(policy, &key, &err), err);
	text_set(&policy->network, "example.org");
	assert_int_equal(policy_check(policy, &key, &err), -EINVAL);
	assert_int_equal(err.kind, ERR_UNSUPPORTED);
	assert_string_equal(key, "network");
}

static void names_are_plain(void **state)
{
	(void)state;
	assert_true(name_is_valid("py3.12"));
	assert_true(name_is_valid("0_a-b"));
	assert_true(name_is_valid("abcdefghijklmnopqrstuvwxyz012345"));
	assert_false(name_is_valid("abcdefghijklmnopqrstuvwxyz0123456"));
	assert_false(name_is_valid(""));
	assert_false(name_is_valid(".."));
	assert_false(name_is_valid("-x"));
	assert_false(name_is_valid("a/b"));
	assert_false(name_is_valid("a b"));
	assert_false(name_is_valid("a\n"));
	assert_false(name_is_valid("\xc3\xa9"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_default_is_what_the_contract_says, make, end),
		cmocka_unit_test_setup_teardown(every_built_in_is_there_and_holds_together, make,
						end),
		cmocka_unit_test_setup_teardown(every_row_has_help_and_a_default_in_its_range, make,
						end),
		cmocka_unit_test_setup_teardown(a_request_that_says_nothing_gets_the_policy, make,
						end),
		cmocka_unit_test_setup_teardown(a_request_narrows, make, end),
		cmocka_unit_test_setup_teardown(a_request_never_widens, make, end),
		cmocka_unit_test(a_request_can_be_text),
		cmocka_unit_test_setup_teardown(critical_modules_stay_blocked, make, end),
		cmocka_unit_test_setup_teardown(guard_lists_hold_top_level_names, make, end),
		cmocka_unit_test_setup_teardown(
			refuses_a_network_and_a_data_directory_that_shows_the_host, make, end),
		cmocka_unit_test(names_are_plain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
