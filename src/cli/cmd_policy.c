// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/c.h"
#include "cli/cmd.h"
#include "cli/safe.h"
#include "policy/config.h"
#include "policy/number.h"

#define VALUE_MAX 2048

struct options {
	const char *config;
	bool is_json;
};

static const struct flag flags[] = {
	FLAG_ROWS_COMMON(struct options),
};

/* True for a setting that a request may lower, but never raise. */
static bool is_most(const struct setting *row)
{
	static const char *const keys[] = {"memory", "cpus",   "pids",
					   "disk",   "output", "timeout_max"};

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		if (strcmp(row->key, keys[i]) == 0)
			return true;
	}
	return false;
}

static json_t *settings_to_json(const struct config *config, const struct policy *policy)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < policy_row_count; i++) {
		char value[VALUE_MAX];
		char from[2 * POLICY_NAME_MAX];

		setting_format(&policy_rows[i], policy, value, sizeof(value));
		config_policy_from(config, policy, i, from, sizeof(from));
		(void)json_array_append_new(
			rows, json_pack("{s:s, s:s, s:s, s:b, s:s}", "key", policy_rows[i].key,
					"value", value, "from", from, "is_max",
					is_most(&policy_rows[i]), "help", policy_rows[i].help));
	}
	return rows;
}

static json_t *policy_to_json(const struct config *config, const struct policy *policy)
{
	json_t *object =
		json_pack("{s:s, s:b, s:o}", "name", policy->name, "built_in", policy->is_built_in,
			  "settings", settings_to_json(config, policy));
	char warning[256];

	if (policy_warning(policy, warning, sizeof(warning)))
		(void)json_object_set_new(object, "warning", json_string(warning));
	return object;
}

/* ---- list ---- */

static void print_line(const struct policy *policy)
{
	char memory[32], disk[32], cpus[32], timeout[32], most[32], warning[256];

	number_format(NUMBER_BYTES, policy->memory, memory, sizeof(memory));
	number_format(NUMBER_BYTES, policy->disk, disk, sizeof(disk));
	number_format(NUMBER_CPUS, policy->cpus_milli, cpus, sizeof(cpus));
	number_format(NUMBER_MS, policy->timeout_ms, timeout, sizeof(timeout));
	number_format(NUMBER_MS, policy->timeout_max_ms, most, sizeof(most));
	(void)printf("%-16s %9s %9s %6s %8s %8s  %-8s%s%s%s", policy->name, memory, disk, cpus,
		     timeout, most, policy->runtime, policy->guard_enabled ? " guard" : "",
		     policy->approve ? " approve" : "", policy->data[0] != '\0' ? " data" : "");
	if (policy_warning(policy, warning, sizeof(warning)))
		(void)printf(" (%s)", warning);
	(void)printf("\n");
}

static void list(const struct config *config, bool is_json)
{
	json_auto_t *object = json_object();
	json_t *rows = json_array();

	(void)json_object_set_new(object, "policies", rows);
	if (!is_json)
		(void)printf("%-16s %9s %9s %6s %8s %8s  %s\n", "NAME", "MEMORY", "DISK", "CPUS",
			     "TIMEOUT", "MAX", "RUNTIME");
	for (size_t i = 0; i < config->policy_count; i++) {
		if (is_json)
			(void)json_array_append_new(rows,
						    policy_to_json(config, &config->policies[i]));
		else
			print_line(&config->policies[i]);
	}
	if (is_json)
		safe_print_json(object);
}

/* ---- show ---- */

static int show(const struct config *config, const char *name, bool is_json, struct err *err)
{
	const struct policy *policy = config_policy(config, name, err);
	json_auto_t *object = NULL;
	const json_t *row = NULL;
	size_t i = 0;

	if (policy == NULL)
		return -err->num;
	object = policy_to_json(config, policy);
	if (is_json) {
		safe_print_json(object);
		return 0;
	}
	json_array_foreach(json_object_get(object, "settings"), i, row) {
		const char *value = json_string_value(json_object_get(row, "value"));

		(void)printf("%-14s %-14s %s%s\n", json_string_value(json_object_get(row, "key")),
			     value[0] != '\0' ? value : "-",
			     json_string_value(json_object_get(row, "from")),
			     json_is_true(json_object_get(row, "is_max")) ? ", a maximum" : "");
	}
	if (json_object_get(object, "warning") != NULL)
		(void)printf("note: %s\n", json_string_value(json_object_get(object, "warning")));
	return 0;
}

enum verb_id {
	VERB_LIST,
	VERB_SHOW
};

static const struct cmd_verb verbs[] = {
	[VERB_LIST] = {"list", "", "every policy, in one line each", 0, 0},
	[VERB_SHOW] = {"show", "NAME", "every key of a policy, and where its value comes from", 1,
		       1},
};

static int run(const struct cmd *cmd, const void *raw_options, const struct operands *operands)
{
	const struct options *options = raw_options;
	struct config *config = NULL;
	struct err err = {0};
	ptrdiff_t verb = cmd_choose_verb(cmd, operands, &err);
	int r = verb < 0 ? (int)verb : config_load(options->config, &config, &err);

	if (r == 0 && verb == VERB_LIST)
		list(config, options->is_json);
	else if (r == 0)
		r = show(config, operands->items[1], options->is_json, &err);
	config_free(config);
	if (r == 0 && fflush(stdout) != 0)
		return CMD_INTERNAL;
	return r < 0 ? cmd_fail(cmd, &err) : CMD_OK;
}

const struct cmd cmd_policy = {
	.name = "policy",
	.operands = "list|show NAME",
	.summary = "say which limits runs have, and where each comes from",
	.about = "A policy is a named set of limits, guard and mounts. Some are built in; others,\n"
		 "and changes to built-in ones, come from vivarium.yaml. A run may narrow its "
		 "policy\n"
		 "but never widen it: what show calls a maximum is the most that a run can ask "
		 "for.\n"
		 "\n"
		 "The value of a key comes from vivarium.yaml, the policy it is based on, the\n"
		 "built-in, or the default.",
	.examples = "  viv policy list\n"
		    "  viv policy show heavy\n"
		    "  viv run --policy heavy --memory 4G --timeout 10m train.py",
	CMD_VERBS(verbs),
	CMD_FLAGS(flags),
	.options_size = sizeof(struct options),
	.run = run,
};
