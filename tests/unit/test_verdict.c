// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <signal.h>

#include "base/c.h"
#include "session/verdict.h"
#include "unit.h"

/* One way to end, and what must be said of it. */
struct row {
	const char *name;
	struct verdict_facts facts;
	struct verdict_testimony testimony;
	enum verdict_kind kind;
	int exit_code;
	int signal;
	bool is_by_runner;
	int exit_status;
};

#define EXITED(code_) .has_exit = true, .exit = {.cause = BOX_CAUSE_SELF, .code = (code_)}
#define SIGNALLED(signal_)                                                                         \
	.has_exit = true, .exit = {.cause = BOX_CAUSE_SELF, .code = -1, .signal = (signal_)}
#define KILLED_AS_ASKED                                                                            \
	.has_exit = true, .exit = {.cause = BOX_CAUSE_ASKED, .code = -1, .signal = SIGKILL}
#define ENDED(cause_) .has_exit = true, .exit = {.cause = (cause_), .code = -1, .signal = SIGKILL}
#define SAID(kind_, code_) .is_given = true, .kind = (kind_), .exit_code = (code_)
#define WHY(text_) .why = {.kind = ERR_INTERNAL, .num = EIO, .text = (text_)}

static const struct row rows[] = {
	{"ok", {KILLED_AS_ASKED}, {SAID(VERDICT_OK, 0)}, VERDICT_OK, 0, 0, true, 0},
	{"exception",
	 {KILLED_AS_ASKED},
	 {SAID(VERDICT_EXCEPTION, 1)},
	 VERDICT_EXCEPTION,
	 1,
	 0,
	 true,
	 1},
	{"sys.exit(7)", {KILLED_AS_ASKED}, {SAID(VERDICT_EXIT, 7)}, VERDICT_EXIT, 7, 0, true, 7},
	{"disk", {KILLED_AS_ASKED}, {SAID(VERDICT_DISK, 1)}, VERDICT_DISK, 1, 0, true, 1},
	{"guard", {KILLED_AS_ASKED}, {SAID(VERDICT_GUARD, 0)}, VERDICT_GUARD, 126, 0, true, 126},
	{"os._exit(0)", {EXITED(0)}, {0}, VERDICT_OK, 0, 0, false, 0},
	{"os._exit(41)", {EXITED(41)}, {0}, VERDICT_EXIT, 41, 0, false, 41},
	{"a crash", {SIGNALLED(SIGSEGV)}, {0}, VERDICT_KILLED, 139, SIGSEGV, false, 139},
	{"said, then died by itself",
	 {EXITED(3)},
	 {SAID(VERDICT_OK, 0)},
	 VERDICT_OK,
	 0,
	 0,
	 true,
	 0},
	{"the deadline", {ENDED(BOX_CAUSE_DEADLINE)}, {0}, VERDICT_TIMEOUT, 124, 0, false, 124},
	{"too many locks",
	 {ENDED(BOX_CAUSE_LOCKS)},
	 {SAID(VERDICT_OK, 0)},
	 VERDICT_MEMORY,
	 137,
	 0,
	 false,
	 137},
	{"our own clock", {.is_timed_out = true}, {0}, VERDICT_TIMEOUT, 124, 0, false, 124},
	{"ok, but past the deadline",
	 {ENDED(BOX_CAUSE_DEADLINE)},
	 {SAID(VERDICT_OK, 0)},
	 VERDICT_TIMEOUT,
	 124,
	 0,
	 false,
	 124},
	{"measured memory", {ENDED(BOX_CAUSE_MEMORY)}, {0}, VERDICT_MEMORY, 137, 0, false, 137},
	{"ok, but the cgroup killed a child",
	 {.has_exit = true, .exit = {.cause = BOX_CAUSE_ASKED, .signal = SIGKILL, .oom_kills = 1}},
	 {SAID(VERDICT_OK, 0)},
	 VERDICT_MEMORY,
	 137,
	 0,
	 false,
	 137},
	{"too much output",
	 {KILLED_AS_ASKED, .is_output_exceeded = true},
	 {0},
	 VERDICT_OUTPUT,
	 1,
	 0,
	 false,
	 1},
	{"cancelled",
	 {KILLED_AS_ASKED, .is_cancelled = true},
	 {0},
	 VERDICT_CANCELLED,
	 143,
	 0,
	 false,
	 143},
	{"Ctrl-C",
	 {KILLED_AS_ASKED, .is_cancelled = true, .is_interrupted = true},
	 {0},
	 VERDICT_INTERRUPTED,
	 130,
	 0,
	 false,
	 130},
	{"nonsense on the channel",
	 {KILLED_AS_ASKED, .is_protocol_broken = true, WHY("no JSON")},
	 {0},
	 VERDICT_KILLED,
	 137,
	 SIGKILL,
	 false,
	 137},
	{"nonsense, and a claim",
	 {KILLED_AS_ASKED, .is_protocol_broken = true, WHY("no JSON")},
	 {SAID(VERDICT_OK, 0)},
	 VERDICT_KILLED,
	 137,
	 SIGKILL,
	 false,
	 137},
	{"denied", {.is_denied = true, WHY("no cgroup")}, {0}, VERDICT_DENIED, 126, 0, false, 126},
	{"no sandbox", {WHY("no landlock")}, {0}, VERDICT_BACKEND, 125, 0, false, 125},
	{"a claim without any fact",
	 {WHY("launch is gone")},
	 {SAID(VERDICT_OK, 0)},
	 VERDICT_BACKEND,
	 125,
	 0,
	 false,
	 125},
	{"nothing at all", {0}, {0}, VERDICT_BACKEND, 125, 0, false, 125},
};

static void facts_outweigh_testimony(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *row = &rows[i];
		struct verdict verdict = verdict_of(&row->facts, &row->testimony);

		if (verdict.kind != row->kind || verdict.exit_code != row->exit_code ||
		    verdict.signal != row->signal ||
		    (verdict.by == VERDICT_BY_RUNNER) != row->is_by_runner ||
		    verdict_exit_status(&verdict) != row->exit_status)
			fail_msg("%s: %s exit_code=%d signal=%d by_runner=%d status=%d", row->name,
				 verdict_name(verdict.kind), verdict.exit_code, verdict.signal,
				 verdict.by == VERDICT_BY_RUNNER, verdict_exit_status(&verdict));
	}
}

static void a_timeout_says_how_far_it_may_be_raised(void **state)
{
	struct verdict_facts facts = {ENDED(BOX_CAUSE_DEADLINE), .timeout_ms = 30000,
				      .timeout_max_ms = 120000};
	struct verdict verdict = verdict_of(&facts, &(struct verdict_testimony){0});
	char text[VERDICT_TEXT_MAX];

	(void)state;
	assert_contains(verdict.message, "30s");
	assert_contains(verdict.remedy, "raise timeout_ms");
	assert_contains(verdict.remedy, "120s");
	assert_string_equal(verdict.remedy_key, "timeout");
	verdict_remedy(&verdict, REMEDY_CLI, text, sizeof(text));
	assert_contains(text, "raise --timeout (the policy allows up to 120s)");
	verdict_remedy(&verdict, REMEDY_SESSION, text, sizeof(text));
	assert_contains(text,
			"raise --timeout of `viv session run` (the policy allows up to 120s)");
	assert_string_equal(verdict.limit, "timeout_ms");
	assert_int_equal(verdict.limit_value, 30000);

	facts.timeout_ms = 120000;
	verdict = verdict_of(&facts, &(struct verdict_testimony){0});
	assert_null(strstr(verdict.remedy, "raise"));
	assert_string_equal(verdict.remedy_key, "timeout_max");
}

static void a_run_that_a_stop_of_the_daemon_ended_can_be_run_again(void **state)
{
	struct verdict_facts facts = {KILLED_AS_ASKED, .is_cancelled = true};

	(void)state;
	assert_null(verdict_of(&facts, &(struct verdict_testimony){0}).remedy_key);
	(void)err_set(&facts.why, ERR_CONFLICT, ECANCELED, "the daemon was stopped");
	assert_string_equal(verdict_of(&facts, &(struct verdict_testimony){0}).remedy_key, "again");
}

static void out_of_memory_names_limit_and_peak(void **state)
{
	struct verdict_facts facts = {ENDED(BOX_CAUSE_MEMORY), .memory_max = 512 * MIB};
	struct verdict verdict;
	char text[VERDICT_TEXT_MAX];

	(void)state;
	facts.exit.peak = 511 * MIB;
	verdict = verdict_of(&facts, &(struct verdict_testimony){0});
	assert_string_equal(verdict.limit, "memory");
	assert_int_equal(verdict.peak, 511 * MIB);
	assert_contains(verdict.message, "512MiB");
	assert_contains(verdict.message, "511.0 MiB");
	assert_contains(verdict.remedy, "limits.memory, if the request lowered it,");
	verdict_remedy(&verdict, REMEDY_SESSION, text, sizeof(text));
	assert_contains(text, "`viv session new --policy NAME`");
	assert_null(strstr(text, "--memory")); /* no flag of `viv session run` */
	verdict_set_remedy(&verdict, "disk", "");
	assert_contains(verdict.remedy, "use a policy with more disk (GET /v1/policies lists");
	assert_contains(verdict.remedy, "limits.disk, if the request lowered it,");
	verdict_remedy(&verdict, REMEDY_MCP, text, sizeof(text));
	assert_null(strstr(text, "policies")); /* no tool */
	verdict_set_remedy(&verdict, "backend", "");
	verdict_remedy(&verdict, REMEDY_SESSION, text, sizeof(text));
	assert_string_equal(text, "`viv doctor` shows what this host lacks"); /* as `viv run` */
	verdict_set_remedy(&verdict, "unread", "");
	verdict_remedy(&verdict, REMEDY_MCP, text, sizeof(text));
	assert_contains(text, "rollback goes back to another state, list_checkpoints lists them");
	assert_null(strstr(text, "restart")); /* no tool */
	verdict_remedy(&verdict, REMEDY_DOOR, text, sizeof(text));
	assert_null(strstr(text, "/v1/"));
}

static void what_a_runner_claims_is_a_key_and_never_words(void **state)
{
	const struct verdict_facts facts = {KILLED_AS_ASKED};
	struct verdict_testimony testimony = {
		SAID(VERDICT_EXCEPTION, 1),
		.error_type = "ModuleNotFoundError",
		.error_message = "No module named 'torch'",
	};
	struct verdict verdict;
	char text[VERDICT_TEXT_MAX];

	(void)state;
	(void)snprintf(testimony.remedy, sizeof(testimony.remedy), "module:torch");
	verdict = verdict_of(&facts, &testimony);
	assert_contains(verdict.remedy, "torch is not in this runtime; GET /v1/packages");
	assert_string_equal(verdict.message, "ModuleNotFoundError: No module named 'torch'");
	verdict_remedy(&verdict, REMEDY_CLI, text, sizeof(text));
	assert_contains(text, "--runtime");
	verdict_remedy(&verdict, REMEDY_SESSION, text, sizeof(text));
	assert_contains(text, "`viv session new --runtime NAME`");
	verdict_remedy(&verdict, REMEDY_MCP, text, sizeof(text));
	assert_null(strstr(text, "--"));

	(void)snprintf(testimony.remedy, sizeof(testimony.remedy), "run rm -rf /");
	verdict = verdict_of(&facts, &testimony);
	assert_string_equal(verdict.remedy, "");
	assert_null(verdict.remedy_key);

	memset(testimony.remedy, 'x', sizeof(testimony.remedy) - 1);
	memcpy(testimony.remedy, "module:", 7);
	verdict = verdict_of(&facts, &testimony);
	assert_true(strlen(verdict.remedy_detail) < REMEDY_DETAIL_SIZE);
}

static void no_network_is_the_reason_only_where_the_wall_stands(void **state)
{
	static const char *const names[] = {"gaierror", "URLError", "ConnectionError",
					    "ConnectError"};
	struct verdict_facts facts = {KILLED_AS_ASKED, .is_offline = true};
	struct verdict_testimony testimony = {SAID(VERDICT_EXCEPTION, 1)};
	struct verdict verdict;
	char text[VERDICT_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		(void)snprintf(testimony.error_type, sizeof(testimony.error_type), "%s", names[i]);
		verdict = verdict_of(&facts, &testimony);
		assert_string_equal(verdict.remedy_key, "network");
		assert_contains(verdict.remedy, "no network; send what the code needs as "
						"\"files\" or \"data\"");
	}
	verdict_remedy(&verdict, REMEDY_CLI, text, sizeof(text));
	assert_contains(text, "no network; give it what the code needs with --file or --data");
	verdict_remedy(&verdict, REMEDY_SESSION, text, sizeof(text));
	assert_contains(text, "`viv session put`");
	verdict_remedy(&verdict, REMEDY_MCP, text, sizeof(text));
	assert_contains(text, "the arguments files or data");

	/* Unix sockets raise this one, too. */
	(void)snprintf(testimony.error_type, sizeof(testimony.error_type), "ConnectionResetError");
	assert_null(verdict_of(&facts, &testimony).remedy_key);

	facts.is_offline = false;
	(void)snprintf(testimony.error_type, sizeof(testimony.error_type), "gaierror");
	assert_null(verdict_of(&facts, &testimony).remedy_key);
	(void)snprintf(testimony.remedy, sizeof(testimony.remedy), "network");
	verdict = verdict_of(&facts, &testimony);
	assert_null(verdict.remedy_key);
	assert_string_equal(verdict.remedy, "");
}

static void only_some_kinds_can_be_claimed(void **state)
{
	static const char *const facts[] = {"timeout", "memory",    "killed",  "output",
					    "denied",  "cancelled", "backend", "none",
					    "",        "OK",        "okay"};

	(void)state;
	assert_int_equal(verdict_claimed("ok", 2), VERDICT_OK);
	assert_int_equal(verdict_claimed("interrupted", 11), VERDICT_INTERRUPTED);
	for (size_t i = 0; i < ARRAY_LEN(facts); i++)
		assert_int_equal(verdict_claimed(facts[i], strlen(facts[i])), VERDICT_NONE);
}

static void the_json_has_every_key(void **state)
{
	const struct verdict_facts facts = {SIGNALLED(SIGKILL)};
	struct verdict verdict = verdict_of(&facts, &(struct verdict_testimony){0});
	struct buf json;

	(void)state;
	buf_init(&json, 4096);
	assert_int_equal(fields_put(verdict_fields, &verdict, &json), 0);
	assert_string_equal(
		buf_string(&json),
		"{\"kind\":\"killed\",\"exit_code\":137,\"signal\":9,\"message\":\"SIGKILL: the "
		"interpreter was ended by a "
		"signal\",\"remedy\":\"\",\"remedy_key\":null,\"limit\":null,\"peak\":null,"
		"\"by\":\"supervisor\"}");
	buf_done(&json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(facts_outweigh_testimony),
		cmocka_unit_test(a_timeout_says_how_far_it_may_be_raised),
		cmocka_unit_test(a_run_that_a_stop_of_the_daemon_ended_can_be_run_again),
		cmocka_unit_test(out_of_memory_names_limit_and_peak),
		cmocka_unit_test(what_a_runner_claims_is_a_key_and_never_words),
		cmocka_unit_test(no_network_is_the_reason_only_where_the_wall_stands),
		cmocka_unit_test(only_some_kinds_can_be_claimed),
		cmocka_unit_test(the_json_has_every_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
