// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include "base/c.h"
#include "cli/safe.h"
#include "cli/session.h"
#include "cli/watch.h"

static const struct flag flags[] = {
	WATCH_ROW(is_all, "all", 'a', FLAG_SWITCH, NULL, "recent finished runs, too"),
	WATCH_ROW(is_json, "json", 0, FLAG_SWITCH, NULL, "print one JSON object"),
	WATCH_ROWS,
};

static int show(const struct watch *watch, struct err *err)
{
	json_auto_t *seen = watch_look(watch, watch->options->is_all, err);

	if (seen == NULL)
		return -err->num;
	if (watch->options->is_json) {
		safe_print_json(seen);
		return 0;
	}
	session_print_list(json_object_get(seen, "sessions"), 0, stdout);
	if (json_array_size(json_object_get(seen, "runs")) > 0) {
		(void)printf("\n");
		watch_print_runs(json_object_get(seen, "runs"), 0, stdout);
	}
	return 0;
}

static int run(const struct cmd *cmd, const void *options, const struct operands *operands)
{
	struct watch watch = {0};
	struct err err = {0};
	int r = 0;

	if (operands->count > 0)
		r = err_set(&err, ERR_BAD_REQUEST, EINVAL, "it takes no operands");
	if (r == 0)
		r = watch_open(&watch, options, &err);
	if (r == 0)
		r = show(&watch, &err);
	watch_close(&watch);
	return r < 0 ? cmd_fail(cmd, &err) : CMD_OK;
}

const struct cmd cmd_ps = {
	.name = "ps",
	.operands = "",
	.summary = "what runs in the daemon",
	.about = "Lists your sessions, and runs that are running, waiting, or held for a person's\n"
		 "approval (see viv allow). With -a, also finished runs whose events are still\n"
		 "kept.",
	.examples = "  viv ps\n"
		    "  viv ps -a --json",
	CMD_FLAGS(flags),
	.options_size = sizeof(struct watch_options),
	.run = run,
};
