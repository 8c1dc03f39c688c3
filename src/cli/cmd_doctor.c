// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "backend/choose.h"
#include "backend/remote.h"
#include "base/c.h"
#include "cli/cmd.h"
#include "cli/doctor.h"
#include "cli/safe.h"

#define DOCTOR_TIMEOUT_MS 30000

struct options {
	const char *config;
	bool is_json;
};

static const struct flag flags[] = {
	FLAG_ROWS_COMMON(struct options),
};

static void report_walls(struct report *report, const struct backend *backend,
			 const struct run_facts *facts)
{
	for (enum wall_id id = 0; id < WALL_COUNT; id++) {
		bool is_up = facts->walls & (1U << id);
		bool is_measured = !is_up && id == WALL_CGROUP && facts->walls != 0;

		if (!(backend->walls & (1U << id)))
			continue;
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

/* Lists the uses that this backend is active for; "" when there is none. */
static void put_uses(const struct backend *backend, const struct backend_host *host, char *text,
		     size_t size)
{
	const enum backend_use uses[] = {BACKEND_PYTHON, BACKEND_COMMAND, BACKEND_SESSION,
					 backend_explore(host->config)};

	text[0] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(uses); i++) {
		enum backend_use use = uses[i];
		size_t used = strlen(text);

		if (strcmp(backend_active(host, use), backend->name) == 0)
			(void)snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "",
				       backend_use_name(use));
	}
}

/* Lists what sessions on `backend` cannot do. */
static void put_lacks(const struct backend *backend, char *text, size_t size)
{
	text[0] = '\0';
	for (size_t i = 0; backend_lack(backend, i) != NULL; i++) {
		size_t used = strlen(text);

		(void)snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "",
			       backend_lack(backend, i));
	}
}

/* A row for each backend; `tried` is the one that a real sandbox came from, or NULL. */
static void report_backends(struct report *report, const struct backend_host *host,
			    const char *tried, bool is_ok, const char *said)
{
	bool is_closed = strcmp(backend_active(host, BACKEND_PYTHON), "fail-closed") == 0;

	for (size_t i = 0; backend_table[i] != NULL; i++) {
		const struct backend *backend = backend_table[i];
		struct err err = {0};
		bool is_there = backend_probe(backend, host, &err) == 0;
		const char *detail = is_there ? backend->isolation : err.text;
		char uses[80], lacks[160];
		struct fact *fact = NULL;

		if (tried != NULL && strcmp(tried, backend->name) == 0) {
			is_there = is_ok;
			detail = said;
		}
		put_uses(backend, host, uses, sizeof(uses));
		put_lacks(backend, lacks, sizeof(lacks));
		/* A missing backend other than namespace is a fault only if none can run Python. */
		fact = report_add(report, DOCTOR_BACKENDS, backend->name,
				  is_there                                     ? FACT_ON
				  : is_closed || backend == &backend_namespace ? FACT_OFF
									       : FACT_NOTE,
				  is_there ? NULL : backend->remedy, "%.300s%s%s%s%s", detail,
				  uses[0] != '\0' ? "; active for " : "", uses,
				  lacks[0] != '\0' ? "; its sessions lack " : "", lacks);
		fact->more = json_pack(
			"{s:I, s:s, s:b, s:s}", "priority", (json_int_t)backend->priority,
			"isolation", backend->isolation, "available", is_there, "active_for", uses);
	}
}

/* Makes a real sandbox under the default policy. True when code ran in it behind every wall. */
static bool try_sandbox(struct report *report, struct trial *trial, const struct backend_host *host,
			const struct runtime *runtime, const struct plan *plan)
{
	struct run_request request =
		trial_request(runtime, plan, "print(6 * 7)", DOCTOR_TIMEOUT_MS);
	AUTO_FREE char *output = NULL;
	struct run *run = NULL;
	struct run_facts facts;
	struct err err = {0};
	char said[300];
	bool is_ok;

	request.kind.backend = trial->backend;
	if (trial_run(trial, &request, &run, &err) < 0) {
		report_backends(report, host, trial->backend != NULL ? trial->backend->name : NULL,
				false, err.text);
		return false;
	}

	facts = run_facts(run);
	output = trial_output(run, 1);
	/* The pool only gives this verdict when every wall stood. */
	is_ok = facts.verdict.kind == VERDICT_OK && strcmp(output, "42\n") == 0;
	if (is_ok)
		(void)snprintf(said, sizeof(said), "ran code behind %d walls in %.0f ms",
			       __builtin_popcount(facts.walls),
			       facts.usage.queue_ms + facts.usage.wall_ms);
	else
		(void)snprintf(said, sizeof(said), "%s: %.250s", verdict_name(facts.verdict.kind),
			       facts.verdict.message);
	if (trial->backend != NULL)
		report_walls(report, trial->backend, &facts);
	report_backends(report, host, facts.backend, is_ok, said);
	run_free(run);
	return is_ok;
}

/* Collects the facts that choose a backend, and asks the remote for its own. */
static struct backend_host look_around(struct trial *trial, const struct config *config,
				       const struct err *launch_why, struct remote **ret_remote)
{
	struct backend_host host = {0};
	struct err err = {0};

	if (trial->pool != NULL)
		host = pool_host(trial->pool);
	host.config = config;
	host.why = launch_why->kind != ERR_NONE ? launch_why : NULL;

	if (trial->has_loop && remote_new(&trial->loop, config, ret_remote, &err) == 0)
		host.remote = *ret_remote;
	if (host.remote != NULL)
		remote_ask(host.remote);
	return host;
}

/* True if the default policy can run. If it would run on this host, the trial decides. */
static bool can_run(const struct backend_host *host, bool is_ok)
{
	const struct backend *backend = NULL;
	struct err err = {0};

	if (backend_choose(host, BACKEND_PYTHON, NULL, false, &backend, &err) < 0)
		return false;
	return backend->jobs != NULL || is_ok;
}

/* Notes policies that allow more memory than the host has. */
static void report_policies(struct report *report, const struct config *config)
{
	for (size_t i = 0; i < config->policy_count; i++) {
		const struct policy *policy = &config->policies[i];
		char warning[256];

		if (policy_warning(policy, warning, sizeof(warning)))
			(void)report_add(report, DOCTOR_LIMITS, policy->name, FACT_NOTE,
					 "lower memory of this policy in vivarium.yaml",
					 "the policy %s", warning);
	}
}

/* Fills the report; true when the default policy can run. */
static bool examine(struct report *report, const struct config *config,
		    const struct policy_grant *grant)
{
	struct trial trial = {0};
	struct remote *remote = NULL;
	struct backend_host host;
	struct err err = {0};
	bool is_ok = false;

	doctor_host(report);
	(void)trial_open(&trial, &err);
	host = look_around(&trial, config, &err, &remote);
	if (trial.hello == NULL) {
		doctor_limits(report, NULL);
		report_backends(report, &host, NULL, false, err.text);
		doctor_runtimes(report, config, NULL, &grant->plan);
	} else {
		doctor_limits(report, trial.hello);
		is_ok = try_sandbox(report, &trial, &host, &config->runtimes[0], &grant->plan);
		doctor_runtimes(report, config, is_ok ? &trial : NULL, &grant->plan);
	}
	report_policies(report, config);
	is_ok = can_run(&host, is_ok);
	doctor_notes(report);
	remote_free(remote);
	trial_close(&trial);
	return is_ok;
}

static void print_json(const struct report *report, bool is_ok)
{
	json_auto_t *object = json_object();

	(void)json_object_set_new(object, "ok", json_boolean(is_ok));
	(void)json_object_set_new(object, "version", json_string(VIV_VERSION));
	report_to_json(report, object);
	safe_print_json(object);
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
	struct report report = {0};
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
	.about = "Checks the kernel and its settings, runs code in a real sandbox, and imports "
		 "every\n"
		 "package of every runtime from inside a sandbox. For everything that is off, "
		 "names\n"
		 "the command that turns it on. Changes nothing on the host.\n"
		 "\n"
		 "Exit status: 0 when the default policy can run here, 1 when it cannot.",
	.examples = "  viv doctor\n  viv doctor --json",
	CMD_FLAGS(flags),
	.options_size = sizeof(struct options),
	.run = run,
};
