// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "backend/backend.h"
#include "base/c.h"
#include "cli/cmd.h"
#include "cli/doctor.h"

#define DOCTOR_TIMEOUT_MS 30000

struct options {
	const char *config;
	bool is_json;
};

static const struct flag flags[] = {
	FLAG_ROW(struct options, config, "config", 0, FLAG_TEXT, "FILE",
		 "read this vivarium.yaml instead of the one that would be found"),
	FLAG_ROW(struct options, is_json, "json", 0, FLAG_SWITCH, NULL,
		 "print one JSON object with the same facts"),
};

static void report_walls(struct report *report, const struct run_facts *facts)
{
	for (enum wall_id id = 0; id < WALL_COUNT; id++) {
		bool is_up = facts->walls & (1U << id);
		bool is_measured = !is_up && id == WALL_CGROUP && facts->walls != 0;

		(void)report_add(report, DOCTOR_WALLS, wall_name(id),
				 is_up         ? FACT_ON
				 : is_measured ? FACT_NOTE
					       : FACT_OFF,
				 NULL, "%s",
				 is_up         ? "up in a sandbox made just now"
				 : is_measured ? "limits are measured instead, see above"
					       : "not up");
	}
}

/* A row for each backend; `tried` is the one that a real sandbox came from, or NULL. */
static void report_backends(struct report *report, const struct launch_hello *hello,
			    const char *tried, bool is_ok, const char *said)
{
	for (size_t i = 0; backend_table[i] != NULL; i++) {
		const struct backend *backend = backend_table[i];
		struct err err = {0};
		bool is_there = backend->probe(hello, &err) == 0;
		const char *detail = is_there ? backend->isolation : err.text;
		struct fact *fact = NULL;

		if (tried != NULL && strcmp(tried, backend->name) == 0) {
			is_there = is_ok;
			detail = said;
		} else if (hello == NULL) {
			detail = said;
		}
		fact = report_add(report, DOCTOR_BACKENDS, backend->name,
				  is_there ? FACT_ON : FACT_OFF,
				  is_there ? NULL : "mend what is marked above", "%.300s", detail);
		fact->more = json_pack("{s:i, s:s, s:b}", "priority", backend->priority,
				       "isolation", backend->isolation, "available", is_there);
	}
}

/* Makes a real sandbox under the default policy. True when code ran in it behind every wall. */
static bool try_sandbox(struct report *report, struct trial *trial, const struct runtime *runtime,
			const struct plan *plan)
{
	struct run_request request =
		trial_request(runtime, plan, "print(6 * 7)", DOCTOR_TIMEOUT_MS);
	AUTO_FREE char *output = NULL;
	struct run *run = NULL;
	struct run_facts facts;
	struct err err = {0};
	char said[300];
	bool is_ok;

	if (trial_run(trial, &request, &run, &err) < 0) {
		report_backends(report, trial->hello, "", false, err.text);
		return false;
	}

	facts = run_facts(run);
	output = trial_output(run, 1);
	/* That every wall stood is the pool's rule: without, there is no such verdict. */
	is_ok = facts.verdict.kind == VERDICT_OK && strcmp(output, "42\n") == 0;
	if (is_ok)
		(void)snprintf(said, sizeof(said), "ran code behind %d walls in %.0f ms",
			       __builtin_popcount(facts.walls),
			       facts.usage.queue_ms + facts.usage.wall_ms);
	else
		(void)snprintf(said, sizeof(said), "%s: %.250s", verdict_name(facts.verdict.kind),
			       facts.verdict.message);
	report_walls(report, &facts);
	report_backends(report, trial->hello, facts.backend, is_ok, said);
	run_free(run);
	return is_ok;
}

/* Fills the report; true when the default policy can run. */
static bool examine(struct report *report, const struct config *config,
		    const struct policy_grant *grant)
{
	struct trial trial = {0};
	struct err err = {0};
	bool is_ok = false;

	doctor_host(report);
	if (trial_open(&trial, &err) < 0) {
		doctor_limits(report, NULL);
		report_backends(report, NULL, NULL, false, err.text);
		doctor_runtimes(report, config, NULL, &grant->plan);
	} else {
		doctor_limits(report, trial.hello);
		is_ok = try_sandbox(report, &trial, &config->runtimes[0], &grant->plan);
		doctor_runtimes(report, config, is_ok ? &trial : NULL, &grant->plan);
	}
	doctor_notes(report);
	trial_close(&trial);
	return is_ok;
}

static void print_json(const struct report *report, bool is_ok)
{
	json_auto_t *object = json_object();

	(void)json_object_set_new(object, "ok", json_boolean(is_ok));
	(void)json_object_set_new(object, "version", json_string(VIV_VERSION));
	report_to_json(report, object);
	(void)json_dumpf(object, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
	(void)printf("\n");
}

static void print_table(const struct report *report, bool is_ok)
{
	bool is_terminal = isatty(STDOUT_FILENO) == 1;

	report_print(report, stdout, is_terminal);
	(void)printf("\n%s\n", is_ok ? "The default policy can run on this host."
				     : "The default policy cannot run on this host.");
}

static int run(const struct cmd *cmd, const void *options, const struct operands *operands)
{
	const struct options *wish = options;
	struct config *config = NULL;
	const struct policy *policy = NULL;
	struct policy_grant grant;
	struct report report;
	struct err err = {0};
	bool is_ok;

	if (operands->count > 0) {
		(void)err_set(&err, ERR_BAD_REQUEST, EINVAL, "takes no operand: %s",
			      operands->items[0]);
		return cmd_fail(cmd, &err);
	}
	if (config_load(wish->config, &config, &err) < 0)
		return cmd_fail(cmd, &err);
	policy = config_policy(config, "default", &err);
	if (policy == NULL || policy_narrow(policy, NULL, &grant, &err) < 0) {
		config_free(config);
		return cmd_fail(cmd, &err);
	}

	report_init(&report);
	is_ok = examine(&report, config, &grant);
	if (wish->is_json)
		print_json(&report, is_ok);
	else
		print_table(&report, is_ok);
	report_done(&report);
	config_free(config);
	return is_ok ? CMD_OK : CMD_FAILED_CHECK;
}

const struct cmd cmd_doctor = {
	.name = "doctor",
	.operands = "",
	.summary = "say which walls and backends this host gives, and how to turn on what is off",
	.about = "Looks at the kernel and its settings, makes a real sandbox and runs code in it, "
		 "and\n"
		 "imports every package of every runtime from inside a sandbox. What is off comes "
		 "with\n"
		 "the command that turns it on. Nothing on the host is changed.\n"
		 "\n"
		 "Exit status: 0 when the default policy can run here, 1 when it cannot.",
	.examples = "viv doctor\nviv doctor --json",
	CMD_FLAGS(flags),
	.options_size = sizeof(struct options),
	.run = run,
};
