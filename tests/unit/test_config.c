// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/c.h"
#include "door/agentrail/agentrail.h"
#include "door/atlas/atlas.h"
#include "door/config_table.h"
#include "door/elitea/elitea.h"
#include "door/synapse/synapse.h"
#include "policy/config.h"
#include "unit.h"

#define HEX64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* Every key of the contract, once. */
static const char every_key[] =
	"listen: [\"127.0.0.1:7878\", \"unix:/run/vivarium.sock\"]\n"
	"state_dir: /var/lib/x\n"
	"runtime_dir: /run/x\n"
	"reattach_ms: 5000\n"
	"tokens:\n"
	"  - name: alice\n"
	"    sha256: " HEX64 "\n"
	"    policies: [default, analysis, tight]\n"
	"    quotas: {concurrent_runs: 8, sessions: 100, runs_per_minute: 600}\n"
	"  - name: bob\n"
	"    sha256: ABCDEF6789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n"
	"hosts: [localhost, my.host]\n"
	"limits: {concurrent_runs: 32, queue: 128, sessions: 1000, body: 128MiB, connections: 99}\n"
	"sessions: {idle_ms: 2000, ttl_ms: 3000, freeze_ms: 0, checkpoints: 3}\n"
	"pressure: {memory: 35}\n"
	"runtimes:\n"
	"  base: {python: /usr/bin/python3, preload: [numpy, pandas, matplotlib.pyplot], pool: 5}\n"
	"  science: {python: /opt/science, preload: [numpy, torch], requirements: /opt/r.txt}\n"
	"policies:\n"
	"  tight:\n"
	"    base: default                # inherit\n"
	"    memory: 128MiB\n"
	"    cpus: 0.5\n"
	"    pids: 16\n"
	"    disk: 64MiB\n"
	"    files: 256\n"
	"    output: 2MiB\n"
	"    timeout: 10s                 # default of a run\n"
	"    timeout_max: 60s             # most a request may ask for\n"
	"    runtime: science\n"
	"    backend: namespace\n"
	"    data: /srv/vault\n"
	"    guard: {enabled: true, block: [ctypes], allow: [requests, httpx]}\n"
	"    network: none\n"
	"    approve: true\n"
	"    audit_code: yes\n"
	"    limits: cgroup\n"
	"    trust: people\n"
	"    swap: 0\n"
	"explore: {root: /srv/semantic}\n"
	"events: {keep_ms: 1000, memory: 2MiB}\n"
	"audit: {file: /var/log/vivarium.jsonl}\n"
	"backends:\n"
	"  priority: [microvm, gvisor, namespace, remote]\n"
	"  remote: {url: \"http://host:8080\", token: secret, timeout_ms: 5000}\n"
	"dialects:\n"
	"  atlas: {enabled: true, semantic_dir: /srv/semantic, data_max: 32MiB}\n"
	"  elitea: {enabled: true, max_concurrent: 4}\n"
	"  agentrail: {enabled: true, idle_ms: 60000}\n"
	"  synapse: {enabled: true, vault: /srv/vault}\n";

#define ENABLED(name_) "  " #name_ ": {enabled: true}\n"

static struct config *parse(const char *text)
{
	struct config *config = NULL;
	struct err err = {0};

	assert_ok(config_parse(text, strlen(text), "vivarium.yaml", &config, &err), err);
	return config;
}

static const struct policy *policy(const struct config *config, const char *name)
{
	struct err err = {0};
	const struct policy *found = config_policy(config, name, &err);

	if (found == NULL)
		fail_msg("%s", err.text);
	return found;
}

static void nothing_is_the_defaults(void **state)
{
	static const char *const nothing[] = {"", "\n", "# a comment\n", "---\n", "{}\n"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(nothing); i++) {
		struct config *config = parse(nothing[i]);

		assert_int_equal(config->policy_count, 6);
		assert_int_equal(config->runtime_count, 3);
		assert_int_equal(config->token_count, 0);
		assert_int_equal(config->listen.count, 1);
		assert_string_equal(config->listen.items[0], "127.0.0.1:7878");
		assert_int_equal(config->concurrent_runs, 64);
		assert_int_equal(config->body, 256 * MIB);
		assert_int_equal(config->events_keep_ms, 3600000);
		assert_false(config_door(config, &atlas_config)->is_enabled);
		assert_int_equal(config->reattach_ms, 60000);
		assert_int_equal(config->session_idle_ms, 1800000);
		assert_int_equal(config->session_ttl_ms, 86400000);
		assert_int_equal(config->session_checkpoints, 8);
		assert_int_equal(config->pressure_memory, 20);
		assert_true(config->state_dir[0] == '/');
		assert_true(config->runtime_dir[0] == '/');
		assert_contains(config->audit_file, "/audit.jsonl");
		config_free(config);
	}
}

static void assert_policy_of_every_key(const struct policy *tight)
{
	assert_int_equal(tight->memory, 128 * MIB);
	assert_int_equal(tight->cpus_milli, 500);
	assert_int_equal(tight->pids, 16);
	assert_int_equal(tight->disk, 64 * MIB);
	assert_int_equal(tight->files, 256);
	assert_int_equal(tight->output, 2 * MIB);
	assert_int_equal(tight->timeout_ms, 10000);
	assert_int_equal(tight->timeout_max_ms, 60000);
	assert_string_equal(tight->runtime, "science");
	assert_string_equal(tight->backend, "namespace");
	assert_string_equal(tight->data, "/srv/vault");
	assert_true(tight->guard_enabled);
	assert_int_equal(tight->guard_block.count, 1);
	assert_int_equal(tight->guard_allow.count, 2);
	assert_string_equal(tight->guard_allow.items[1], "httpx");
	assert_true(tight->approve);
	assert_true(tight->audit_code);
	assert_int_equal(tight->limits, LIMITS_CGROUP);
	assert_string_equal(tight->trust, "people");
	assert_string_equal(tight->base, "default");
	assert_false(tight->is_built_in);
}

static void every_key_of_the_contract_arrives(void **state)
{
	const struct atlas_config *atlas = NULL;
	const struct elitea_config *elitea = NULL;
	const struct agentrail_config *agentrail = NULL;
	const struct synapse_config *synapse = NULL;
	struct config *config = parse(every_key);
	struct err err = {0};

	(void)state;
	assert_int_equal(config->listen.count, 2);
	assert_string_equal(config->state_dir, "/var/lib/x");
	assert_string_equal(config->runtime_dir, "/run/x");
	assert_int_equal(config->reattach_ms, 5000);
	assert_int_equal(config->connections, 99);
	assert_int_equal(config->session_idle_ms, 2000);
	assert_int_equal(config->session_ttl_ms, 3000);
	assert_int_equal(config->session_freeze_ms, 0);
	assert_int_equal(config->session_checkpoints, 3);
	assert_int_equal(config->pressure_memory, 35);
	assert_int_equal(config->token_count, 2);
	assert_string_equal(config->tokens[0].name, "alice");
	assert_int_equal(config->tokens[0].policies.count, 3);
	assert_int_equal(config->tokens[0].runs_per_minute, 600);
	assert_int_equal(config->tokens[1].policies.count, 0);
	assert_memory_equal(config->tokens[1].sha256, "abcdef67", 8);
	assert_int_equal(config->hosts.count, 2);
	assert_int_equal(config->queue, 128);
	assert_int_equal(config->body, 128 * MIB);
	assert_int_equal(config_runtime(config, "base", &err)->pool, 5);
	assert_string_equal(config_runtime(config, "science", &err)->python, "/opt/science");
	assert_string_equal(config_runtime(config, "science", &err)->source, "vivarium.yaml");
	assert_policy_of_every_key(policy(config, "tight"));
	assert_string_equal(config->explore_root, "/srv/semantic");
	assert_int_equal(config->events_memory, 2 * MIB);
	assert_string_equal(config->audit_file, "/var/log/vivarium.jsonl");
	assert_int_equal(config->backend_priority.count, 4);
	assert_string_equal(config->remote_url, "http://host:8080");
	assert_string_equal(config->remote_token, "secret");
	assert_int_equal(config->remote_timeout_ms, 5000);
	atlas = config_part(config, &atlas_config);
	assert_int_equal(atlas->data_max, 32 * MIB);
	elitea = config_part(config, &elitea_config);
	assert_int_equal(elitea->limits.concurrent, 4);
	agentrail = config_part(config, &agentrail_config);
	assert_int_equal(agentrail->idle_ms, 60000);
	synapse = config_part(config, &synapse_config);
	assert_string_equal(synapse->vault, "/srv/vault");
	config_free(config);
}

static void every_door_can_be_enabled(void **state)
{
	struct config *config = parse("dialects:\n" DIALECTS(ENABLED));

	(void)state;
	for (size_t i = 0; config_parts[i] != NULL; i++)
		assert_true(config_door(config, config_parts[i])->is_enabled);
	config_free(config);
}

static void a_built_in_changes_only_the_keys_it_names(void **state)
{
	struct config *config = parse("policies:\n"
				      "  analysis: {memory: 1GiB}\n"
				      "  default: {pids: 32}\n");

	(void)state;
	assert_int_equal(policy(config, "analysis")->memory, GIB);
	assert_int_equal(policy(config, "analysis")->pids, 64);
	assert_true(policy(config, "analysis")->guard_enabled);
	assert_true(policy(config, "analysis")->is_built_in);
	assert_int_equal(policy(config, "default")->pids, 32);
	assert_int_equal(policy(config, "default")->memory, 512 * MIB);
	assert_int_equal(config->policy_count, 6);
	config_free(config);
}

static void a_policy_inherits_also_from_one_further_down(void **state)
{
	struct config *config = parse("policies:\n"
				      "  c: {base: b, pids: 7}\n"
				      "  a: {memory: 64MiB, guard: {block: [x]}}\n"
				      "  b: {base: a, disk: 1MiB, guard: {enabled: on}}\n"
				      "  default: {files: 99}\n");
	const struct policy *c = policy(config, "c");

	(void)state;
	assert_int_equal(c->memory, 64 * MIB);
	assert_int_equal(c->disk, MIB);
	assert_int_equal(c->pids, 7);
	assert_int_equal(c->files, 99);
	assert_true(c->guard_enabled);
	assert_int_equal(c->guard_block.count, 1);
	assert_string_equal(c->base, "b");
	assert_int_equal(policy(config, "b")->pids, 64);
	assert_false(policy(config, "a")->guard_enabled);
	config_free(config);
}

static void a_lower_maximum_lowers_an_inherited_timeout(void **state)
{
	struct config *config = parse("policies: {quick: {timeout_max: 5s}}\n");

	(void)state;
	assert_int_equal(policy(config, "quick")->timeout_ms, 5000);
	config_free(config);
}

static void assert_chosen(const struct config *config, const char *policy_name, const char *asked,
			  const char *code, const char *runtime)
{
	const struct runtime *found = NULL;
	struct err err = {0};

	assert_ok(config_choose_runtime(config, policy(config, policy_name), asked, code,
					strlen(code), false, &found, &err),
		  err);
	assert_string_equal(found->name, runtime);
}

static void a_policy_pins_the_runtime_of_its_runs(void **state)
{
	struct config *config = parse("policies: {pinned: {runtime: full}}\n");
	const struct runtime *found = NULL;
	struct err err = {0};

	(void)state;
	assert_chosen(config, "default", NULL, "print(1)", "bare");
	assert_chosen(config, "default", "auto", "import pandas", "base");
	assert_chosen(config, "default", "full", "print(1)", "full");
	assert_chosen(config, "pinned", "auto", "print(1)", "full");
	assert_chosen(config, "pinned", "full", "print(1)", "full");
	assert_int_equal(config_choose_runtime(config, policy(config, "pinned"), "bare", "", 0,
					       false, &found, &err),
			 -EPERM);
	assert_int_equal(err.kind, ERR_FORBIDDEN);
	assert_int_equal(config_choose_runtime(config, policy(config, "default"), "none", "", 0,
					       false, &found, &err),
			 -ENOENT);
	assert_contains(err.text, "there are: bare, base, full");
	config_free(config);
}

static void assert_policy(const struct config *config, const struct config_token *token,
			  const char *asked, const char *name)
{
	const struct policy *found = NULL;
	struct err err = {0};

	assert_ok(config_choose_policy(config, token, asked, &found, &err), err);
	assert_string_equal(found->name, name);
}

static void a_token_uses_its_policies_and_no_other(void **state)
{
	struct config *config =
		parse("tokens:\n"
		      "  - {name: a, sha256: " HEX64 ", policies: [analysis, tight]}\n"
		      "policies: {tight: {pids: 4}}\n");
	const struct policy *found = NULL;
	struct err err = {0};

	(void)state;
	assert_policy(config, NULL, NULL, "default");
	assert_policy(config, NULL, "tight", "tight");
	assert_int_equal(config_choose_policy(config, NULL, "none", &found, &err), -ENOENT);
	assert_policy(config, &config->tokens[0], NULL, "analysis");
	assert_policy(config, &config->tokens[0], "tight", "tight");
	assert_int_equal(config_choose_policy(config, &config->tokens[0], "default", &found, &err),
			 -EPERM);
	assert_int_equal(err.kind, ERR_FORBIDDEN);
	assert_contains(err.text, "it may use: analysis, tight");
	assert_int_equal(config_choose_policy(config, &config->tokens[0], "none", &found, &err),
			 -EPERM);
	text_list_add(&config->tokens[0].policies, "default");
	assert_policy(config, &config->tokens[0], NULL, "default");
	text_list_done(&config->tokens[0].policies);
	assert_policy(config, &config->tokens[0], "workspace", "workspace");
	assert_policy(config, &config->tokens[0], NULL, "default");
	config_free(config);
}

static void write_file(const char *directory, const char *name, const char *text)
{
	char path[256];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void assert_loaded(const char *path, uint64_t pids)
{
	struct config *config = NULL;
	struct err err = {0};

	assert_ok(config_load(path, &config, &err), err);
	assert_int_equal(policy(config, "default")->pids, pids);
	config_free(config);
}

static void the_file_is_searched_in_order(void **state)
{
	const char *directory = *state;
	char path[256];
	struct config *config = NULL;
	struct err err = {0};

	(void)snprintf(path, sizeof(path), "%s/vivarium", directory);
	assert_int_equal(mkdir(path, 0755), 0);
	write_file(path, "vivarium.yaml", "policies: {default: {pids: 11}}\n");
	assert_loaded(NULL, 11);
	write_file(directory, "vivarium.yaml", "policies: {default: {pids: 12}}\n");
	assert_loaded(NULL, 12);
	(void)snprintf(path, sizeof(path), "%s/env.yaml", directory);
	write_file(directory, "env.yaml", "policies: {default: {pids: 13}}\n");
	assert_int_equal(setenv("VIVARIUM_CONFIG", path, 1), 0);
	assert_loaded(NULL, 13);
	(void)snprintf(path, sizeof(path), "%s/flag.yaml", directory);
	write_file(directory, "flag.yaml", "policies: {default: {pids: 14}}\n");
	assert_loaded(path, 14);
	assert_int_equal(config_load("/nowhere.yaml", &config, &err), -ENOENT);
	assert_contains(err.text, "/nowhere.yaml");
	assert_int_equal(err.kind, ERR_BAD_REQUEST);
	assert_int_equal(setenv("VIVARIUM_CONFIG", "/nowhere.yaml", 1), 0);
	assert_int_equal(config_load(NULL, &config, &err), -ENOENT);
}

static void a_stored_runtime_is_loaded_and_the_file_comes_after(void **state)
{
	const char *directory = *state;
	struct runtime runtime;
	struct config *config = NULL;
	struct err err = {0};
	char path[RUNTIME_PATH_MAX];

	runtime_init(&runtime, "stored");
	text_list_add(&runtime.preload, "torch");
	text_set(&runtime.python, "/opt/\"odd\" \xc3\xa9/venv");
	assert_ok(runtime_save(&runtime, path, &err), err);
	assert_contains(path, "/vivarium/runtimes.d/stored.yaml");
	runtime_done(&runtime);

	assert_ok(config_load(NULL, &config, &err), err);
	assert_int_equal(config->runtime_count, 4);
	assert_string_equal(config_runtime(config, "stored", &err)->python,
			    "/opt/\"odd\" \xc3\xa9/venv");
	assert_string_equal(config_runtime(config, "stored", &err)->source, path);
	assert_chosen(config, "default", NULL, "import torch", "stored");
	config_free(config);

	write_file(directory, "vivarium.yaml", "runtimes: {stored: {pool: 9}}\n");
	assert_ok(config_load(NULL, &config, &err), err);
	assert_int_equal(config_runtime(config, "stored", &err)->pool, 9);
	assert_int_equal(config_runtime(config, "stored", &err)->preload.count, 1);
	config_free(config);

	assert_ok(runtime_remove("stored", NULL, &err), err);
	assert_int_equal(runtime_remove("stored", NULL, &err), -ENOENT);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	assert_int_equal(runtime_remove("../x", NULL, &err), -EINVAL);
}

static void a_broken_stored_runtime_is_told_with_its_place(void **state)
{
	char directory[256];
	struct config *config = NULL;
	struct err err = {0};

	(void)snprintf(directory, sizeof(directory), "%s/vivarium", (const char *)*state);
	assert_int_equal(mkdir(directory, 0755), 0);
	(void)snprintf(directory, sizeof(directory), "%s/vivarium/runtimes.d",
		       (const char *)*state);
	assert_int_equal(mkdir(directory, 0755), 0);
	write_file(directory, "x.yaml", "python: /usr/bin/python3\npools: 3\n");
	write_file(directory, "ignored.txt", "[");
	assert_int_equal(config_load(NULL, &config, &err), -EINVAL);
	assert_contains(err.text, "x.yaml:2: unknown key pools; allowed here: python,");
}

static int enter(void **state)
{
	static char directory[64];

	scratch_make(directory);
	(void)umask(022); /* a file that others may write is not loaded unasked */
	*state = directory;
	if (setenv("XDG_CONFIG_HOME", directory, 1) < 0 || unsetenv("VIVARIUM_CONFIG") < 0)
		return -1;
	return chdir(directory);
}

static int leave(void **state)
{
	if (chdir("/") < 0)
		return -1;
	scratch_remove(*state);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_the_defaults),
		cmocka_unit_test(every_key_of_the_contract_arrives),
		cmocka_unit_test(every_door_can_be_enabled),
		cmocka_unit_test(a_built_in_changes_only_the_keys_it_names),
		cmocka_unit_test(a_policy_inherits_also_from_one_further_down),
		cmocka_unit_test(a_lower_maximum_lowers_an_inherited_timeout),
		cmocka_unit_test(a_policy_pins_the_runtime_of_its_runs),
		cmocka_unit_test(a_token_uses_its_policies_and_no_other),
		cmocka_unit_test_setup_teardown(the_file_is_searched_in_order, enter, leave),
		cmocka_unit_test_setup_teardown(a_stored_runtime_is_loaded_and_the_file_comes_after,
						enter, leave),
		cmocka_unit_test_setup_teardown(a_broken_stored_runtime_is_told_with_its_place,
						enter, leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
