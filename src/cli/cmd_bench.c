// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <inttypes.h>

#include "base/c.h"
#include "cli/cmd.h"

#define RUNS_MAX 10000000

struct options {
	const char *config;
	const char *runtime;
	uint64_t runs;
	bool is_quick;
	bool is_json;
};

static const struct flag flags[] = {
	FLAG_ROW(struct options, is_quick, "quick", 0, FLAG_SWITCH, NULL,
		 "fewer rounds, up to 100 live sandboxes: half a minute instead of several"),
	FLAG_ROW(struct options, runs, "runs", 0, FLAG_COUNT, "N",
		 "runs of the leak check (default 2000, with --quick 500)"),
	FLAG_ROW(struct options, runtime, "runtime", 0, FLAG_TEXT, "NAME",
		 "measure this runtime (default base)"),
	FLAG_ROW(struct options, config, "config", 0, FLAG_TEXT, "FILE",
		 "read this vivarium.yaml instead of the one that would be found"),
	FLAG_ROW(struct options, is_json, "json", 0, FLAG_SWITCH, NULL,
		 "print one JSON object with every figure"),
};

/* Executes viv-bench, which measures. */
static int run(const struct cmd *cmd, const void *options, const struct operands *operands)
{
	const struct options *wish = options;
	const char *args[16] = {"viv-bench"};
	char runs[24];
	struct err err = {0};
	size_t count = 1;

	if (operands->count > 0 || wish->runs > RUNS_MAX) {
		(void)err_set(&err, ERR_BAD_REQUEST, EINVAL,
			      operands->count > 0 ? "takes no operand" : "--runs is too high");
		return cmd_fail(cmd, &err);
	}
	if (wish->is_quick)
		args[count++] = "--quick";
	if (wish->is_json)
		args[count++] = "--json";
	if (wish->runs > 0) {
		(void)snprintf(runs, sizeof(runs), "%" PRIu64, wish->runs);
		args[count++] = "--runs";
		args[count++] = runs;
	}
	if (wish->runtime != NULL) {
		args[count++] = "--runtime";
		args[count++] = wish->runtime;
	}
	if (wish->config != NULL) {
		args[count++] = "--config";
		args[count++] = wish->config;
	}
	return cmd_become(cmd, "viv-bench", args);
}

const struct cmd cmd_bench = {
	.name = "bench",
	.operands = "",
	.summary =
		"measure latency, rate and memory on this host, beside plain Python and bubblewrap",
	.about =
		"Compares a run in a pooled sandbox with a bare fork of the same interpreter with\n"
		"the same imports, the same work in a warm interpreter, and a fresh python3 in\n"
		"bubblewrap. They take turns within one run. Then measures processor time per\n"
		"spawn, sustained rate, memory, the same with many live sandboxes, and whether\n"
		"anything grows over many runs.\n"
		"\n"
		"A missed target is shown, but is not a failure: the exit status is 0.",
	.examples = "  viv bench --quick\n  viv bench --json --runs 20000",
	CMD_FLAGS(flags),
	.options_size = sizeof(struct options),
	.run = run,
};
