// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>

#include "base/c.h"
#include "cli/audit.h"

#define PROBE_TIMEOUT_MS 20000
#define SHORT_TIMEOUT_MS 1000 /* for attacks whose held end is the timeout */
#define SETTLE_MS 5000
#define CODE_MAX (64 * KIB)

const char *audit_outcome_name(enum audit_outcome outcome)
{
	static const char *const names[] = {"held", "breached", "unclear", "skipped"};

	return names[outcome];
}

static void tell(void *user, enum wall_id wall, const char *name, const char *tries,
		 enum audit_outcome outcome, const char *detail)
{
	struct audit *audit = user;
	json_t *row = NULL;

	if (!(audit->only & (1U << wall)))
		return;
	row = json_pack("{s:s, s:s, s:s, s:s, s:s}", "name", name, "tries", tries, "sandbox",
			audit->is_cold ? "cold" : "pooled", "verdict", audit_outcome_name(outcome),
			"detail", detail);

	/* A detail may quote bytes from inside that are not UTF-8. */
	if (row == NULL)
		row = json_pack("{s:s, s:s, s:s, s:s, s:s}", "name", name, "tries", tries,
				"sandbox", audit->is_cold ? "cold" : "pooled", "verdict",
				audit_outcome_name(outcome), "detail", "(not UTF-8)");
	(void)json_array_append_new(json_object_get(audit->findings, wall_name(wall)), row);
	audit->counts[wall][outcome]++;
}

static bool has_word(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = list; (at = strstr(at, word)) != NULL; at += length) {
		if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
			return true;
	}
	return false;
}

/* True if the probe ended as an attack ends at a wall. Only exact ends count: a probe that fails
 * for another reason has shown nothing. */
static bool is_held_end(const struct audit_probe *probe, const struct run_facts *facts,
			const char *output)
{
	const struct buf *error = &facts->parts[RESULT_ERROR];
	const struct verdict *verdict = &facts->verdict;

	if (verdict->kind == VERDICT_OK)
		return strstr(output, "held:") != NULL;
	if (probe->ends == NULL || !has_word(probe->ends, verdict_name(verdict->kind)))
		return false;
	if (verdict->kind == VERDICT_EXCEPTION)
		return error->size > 0 &&
		       memmem(error->data, error->size, "\"MemoryError\"", 13) != NULL;
	if (verdict->kind == VERDICT_KILLED)
		return verdict->signal == SIGSYS || verdict->signal == SIGKILL ||
		       verdict->signal == SIGSEGV; /* a kernel without 32-bit entry */
	return true;
}

static enum audit_outcome judge(struct audit *audit, const struct audit_probe *probe,
				const struct run *run, char *ret_detail, size_t size)
{
	struct run_facts facts = run_facts(run);
	AUTO_FREE char *output = trial_output(run, 1);
	AUTO_FREE char *errors = trial_output(run, 2);
	const char *said = strstr(output, "BREACH:");

	audit->is_measured |= facts.has_limits && facts.limits == BOX_LIMITS_MEASURED;
	if (audit_was_reached(&audit->plant, ret_detail, size))
		return AUDIT_BREACHED;
	if (said != NULL) {
		(void)snprintf(ret_detail, size, "%.*s", (int)strcspn(said + 8, "\n"), said + 8);
		return AUDIT_BREACHED;
	}
	if (strstr(output, audit->plant.token) != NULL ||
	    strstr(errors, audit->plant.token) != NULL) {
		(void)snprintf(ret_detail, size, "the planted token came out");
		return AUDIT_BREACHED;
	}
	(void)snprintf(ret_detail, size, "%s%s%.300s", verdict_name(facts.verdict.kind),
		       facts.verdict.message[0] != '\0' ? ": " : "", facts.verdict.message);
	return is_held_end(probe, &facts, output) ? AUDIT_HELD : AUDIT_UNCLEAR;
}

/* Waits until launch has no sandbox of ours; a process that runs after that was left behind. */
static int settle(struct audit *audit, struct err *err)
{
	uint64_t end = now_ns() + SETTLE_MS * 1000000ULL;
	struct backend_counted counted;
	int r;

	do {
		r = pool_count(audit->trial.pool, audit->trial.backend, &counted, err);
		if (r < 0)
			return r;
		if (counted.sandboxes == 0)
			return 0;
		uv_sleep(2);
	} while (now_ns() < end);
	return err_set(err, ERR_INTERNAL, ETIMEDOUT, "%u sandboxes did not end", counted.sandboxes);
}

static struct run_request request_of(const struct audit *audit, const char *code,
				     uint32_t timeout_ms)
{
	struct run_request request = trial_request(audit->runtime, &audit->plan, code, timeout_ms);

	request.kind.backend = audit->trial.backend;
	request.kind.is_cold = audit->is_cold;
	request.args =
		(struct run_bytes){.data = audit->args, .size = strlen(audit->args), .fd = -1};
	/* With a given stdin the runner does not put another descriptor there. */
	request.stdin_kind = RUN_STDIN_LIVE;
	request.stdin_fd = audit->null;
	return request;
}

static int attack(struct audit *audit, const struct audit_probe *probe, struct err *err)
{
	bool is_short = probe->ends != NULL && has_word(probe->ends, "timeout");
	enum audit_outcome outcome;
	struct run_request request;
	struct run *run = NULL;
	struct buf code;
	char detail[400];
	int r;

	if (probe->needs_cgroup && audit->trial.hello->limits == BOX_LIMITS_MEASURED) {
		tell(audit, probe->wall, probe->name, probe->tries, AUDIT_SKIPPED,
		     "measured limits do not promise this (see viv doctor)");
		return 0;
	}

	buf_init(&code, CODE_MAX);
	r = buf_format(&code, "%s%s%s", audit_prelude, probe->code, audit_coda);
	if (r == 0) {
		request = request_of(audit, buf_string(&code),
				     is_short ? SHORT_TIMEOUT_MS : PROBE_TIMEOUT_MS);
		r = trial_run(&audit->trial, &request, &run, err);
	}
	buf_done(&code);
	if (r < 0)
		return err_wrap(err, "attack %s", probe->name);

	outcome = judge(audit, probe, run, detail, sizeof(detail));
	run_free(run);
	r = settle(audit, err);
	if (r < 0)
		return r;
	if (audit_find_marker(&audit->plant) != 0) {
		outcome = AUDIT_BREACHED;
		(void)snprintf(detail, sizeof(detail), "a process was left behind");
	}
	tell(audit, probe->wall, probe->name, probe->tries, outcome, detail);
	return 0;
}

/* Code that gives its process the marker's name and waits to be looked at from outside. */
static const char wait_code[] = "import ctypes, time\n"
				"ctypes.CDLL(None).prctl(15, _args['marker'].encode(), 0, 0, 0)\n"
				"print('ready', flush=True)\n"
				"time.sleep(60)\n";

struct look_run {
	struct audit *audit;
	struct run *run;
	bool has_looked;
};

static void on_output(void *user, int stream, const void *bytes, size_t size)
{
	struct look_run *look = user;

	(void)bytes;
	if (stream != 1 || size == 0 || look->has_looked)
		return;
	look->has_looked = true;
	audit_look(&look->audit->plant, tell, look->audit);
	run_cancel(look->run, false);
}

static int look_from_outside(struct audit *audit, struct err *err)
{
	const struct run_calls calls = {.output = on_output};
	struct look_run look = {.audit = audit};
	struct run_request request = request_of(audit, wait_code, PROBE_TIMEOUT_MS);
	int r;

	r = run_start(audit->trial.pool, &request, &calls, &look, &look.run, err);
	if (r < 0)
		return r;

	run_wait(look.run);
	if (!look.has_looked) {
		struct run_facts facts = run_facts(look.run);

		tell(audit, WALL_PID, "outside", "be looked at from outside", AUDIT_UNCLEAR,
		     facts.verdict.message);
	}
	run_free(look.run);
	return settle(audit, err);
}

int audit_plan(const struct config *config, struct plan *ret_plan, struct err *err)
{
	/* Small limits, so that an attack uses them up quickly. */
	const struct policy_ask ask = {
		.memory = 128 * MIB, .cpus_milli = 500, .pids = 32, .disk = 16 * MIB};
	const struct policy *policy = config_policy(config, "default", err);
	struct policy_grant grant;
	int r;

	if (policy == NULL)
		return -err->num;
	r = policy_narrow(policy, &ask, &grant, err);
	if (r < 0)
		return r;
	*ret_plan = grant.plan;
	return 0;
}

int attack_open(struct audit *audit, const struct config *config, struct err *err)
{
	json_t *args = NULL;
	int r;

	audit->null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	audit->findings = json_object();
	for (enum wall_id wall = 0; wall < WALL_COUNT; wall++)
		(void)json_object_set_new(audit->findings, wall_name(wall), json_array());
	if (audit->null < 0)
		return err_sys(err, "open /dev/null");
	r = audit_plan(config, &audit->plan, err);
	if (r < 0)
		return r;
	audit->runtime = &config->runtimes[0];

	r = audit_plant(&audit->plant, err);
	if (r < 0)
		return r;
	args = audit_args(&audit->plant, &audit->plan);
	audit->args = json_dumps(args, JSON_COMPACT | JSON_ENSURE_ASCII);
	json_decref(args);
	if (audit->args == NULL)
		return err_set(err, ERR_INTERNAL, EILSEQ, "this host's name is not UTF-8");
	return trial_open(&audit->trial, err);
}

void attack_close(struct audit *audit)
{
	trial_close(&audit->trial);
	audit_unplant(&audit->plant);
	drop_fd(&audit->null);
	free(audit->args);
	json_decref(audit->findings);
	*audit = (struct audit){0};
}

int audit_attack(struct audit *audit, bool is_cold, struct err *err)
{
	int r;

	audit->is_cold = is_cold;
	r = look_from_outside(audit, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < audit_probe_count; i++) {
		if (!(audit->only & (1U << audit_probes[i].wall)))
			continue;
		r = attack(audit, &audit_probes[i], err);
		if (r < 0)
			return r;
	}
	return 0;
}
