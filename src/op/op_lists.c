// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "base/c.h"
#include "op/object.h"
#include "op/op.h"
#include "op/packages.h"
#include "session/engine.h"

#define ANSWER_MAX (4U << 20)

static bool may_use(const struct op_caller *caller, const struct policy *policy)
{
	const struct config_token *token = caller->token;

	return token == NULL || token->policies.count == 0 ||
	       text_list_has(&token->policies, policy->name);
}

/* The limits and choices of a request, so that a client can offer them. */
static void put_choices(struct object *object, const struct config *config,
			const struct policy *policy)
{
	bool is_auto = strcmp(policy->runtime, "auto") == 0;
	char warning[256];

	object_open(object, "max", '{');
	object_number(object, "memory", policy->memory);
	object_real(object, "cpus", (double)policy->cpus_milli / 1000);
	object_number(object, "pids", policy->pids);
	object_number(object, "disk", policy->disk);
	object_number(object, "output", policy->output);
	object_number(object, "timeout_ms", policy->timeout_max_ms);
	object_close(object, '}');
	object_open(object, "runtimes", '[');
	for (size_t i = 0; i < config->runtime_count; i++) {
		if (is_auto || strcmp(config->runtimes[i].name, policy->runtime) == 0)
			object_text(object, NULL, config->runtimes[i].name);
	}
	object_close(object, ']');
	object_text(object, "warning",
		    policy_warning(policy, warning, sizeof(warning)) ? warning : NULL);
}

static void call_policies(struct op_call *call)
{
	const struct config *config = call->engine->config;
	struct object object;

	object_init(&object, ANSWER_MAX);
	object_open(&object, "policies", '[');
	for (size_t i = 0; i < config->policy_count; i++) {
		const struct policy *policy = &config->policies[i];

		if (!may_use(&call->caller, policy))
			continue;
		object_open(&object, NULL, '{');
		object_text(&object, "name", policy->name);
		object_bool(&object, "built_in", policy->is_built_in);
		object_settings(&object, policy_rows, policy_row_count, policy);
		put_choices(&object, config, policy);
		object_close(&object, '}');
	}
	object_close(&object, ']');
	object_answer(&object, call, 0);
}

const struct op op_policies = {
	.name = "policies",
	.method = "GET",
	.path = "/v1/policies",
	.help = "The policies the caller may use, with every limit and what a run may choose",
	.answer = "Policies",
	.call = call_policies,
};

static void call_runtimes(struct op_call *call)
{
	const struct config *config = call->engine->config;
	struct object object;

	object_init(&object, ANSWER_MAX);
	object_open(&object, "runtimes", '[');
	for (size_t i = 0; i < config->runtime_count; i++) {
		const struct runtime *runtime = &config->runtimes[i];

		object_open(&object, NULL, '{');
		object_text(&object, "name", runtime->name);
		object_bool(&object, "built_in", runtime->source[0] == '\0');
		object_settings(&object, runtime_rows, runtime_row_count, runtime);
		object_close(&object, '}');
	}
	object_close(&object, ']');
	object_answer(&object, call, 0);
}

const struct op op_runtimes = {
	.name = "runtimes",
	.method = "GET",
	.path = "/v1/runtimes",
	.help = "The Python environments that code can run in",
	.answer = "Runtimes",
	.call = call_runtimes,
};

struct packages_args {
	const char *runtime;
};

static void call_packages(struct op_call *call)
{
	const struct packages_args *args = call->args;
	const struct package_list *list = NULL;
	struct err err = {0};
	struct object object;
	struct buf packages;

	if (packages_find(call->engine, args->runtime, &list, &err) < 0) {
		op_fail(call, &err);
		return;
	}
	buf_init(&packages, ANSWER_MAX);
	(void)packages_put(list, &packages);
	object_init(&object, ANSWER_MAX);
	object_text(&object, "runtime", args->runtime != NULL ? args->runtime : PACKAGES_OF);
	object_json(&object, "packages", buf_string(&packages), packages.size);
	object_answer(&object, call, 0);
	buf_done(&packages);
}

static const struct op_param packages_params[] = {
	{OP_PARAM(struct packages_args, runtime, .name = "runtime", .type = OP_TEXT,
		  .in = OP_IN_QUERY, .help = "name of a runtime (default: " PACKAGES_OF ")")},
};

const struct op op_packages = {
	.name = "packages",
	.method = "GET",
	.path = "/v1/packages",
	.help = "What is installed in a runtime",
	.params = packages_params,
	.param_count = ARRAY_LEN(packages_params),
	.args_size = sizeof(struct packages_args),
	.answer = "Packages",
	.call = call_packages,
};
