// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <sys/stat.h>

#include "base/c.h"
#include "cli/cmd.h"
#include "cli/here.h"
#include "op/op.h"
#include "policy/config.h"

#define COMMAND_MAX (1U << 20) /* bounds memory; the op has the real, smaller limit */
#define ANSWER_MAX (64UL << 20)

struct explore_options {
	const char *folder, *cwd, *policy, *config;
	uint64_t timeout_ms;
	bool is_json;
};

static const struct flag flags[] = {
	FLAG_ROW(struct explore_options, folder, "folder", 0, FLAG_TEXT, "DIR",
		 "folder to look at; then every other word is the command's"),
	FLAG_ROW(struct explore_options, cwd, "cwd", 0, FLAG_TEXT, "SUB",
		 "folder to start in, below DIR"),
	FLAG_ROW_OP(struct explore_options, timeout_ms, "timeout", 0, FLAG_MS, "10s|1500ms",
		    op_explore_params[OP_EXPLORE_TIMEOUT]),
	FLAG_ROW_OP(struct explore_options, policy, "policy", 0, FLAG_TEXT, "NAME",
		    op_explore_params[OP_EXPLORE_POLICY]),
	FLAG_ROW(struct explore_options, is_json, "json", 0, FLAG_SWITCH, NULL,
		 "print one JSON object with everything, and nothing else"),
	FLAG_ROW(struct explore_options, config, "config", 0, FLAG_TEXT, "FILE",
		 "vivarium.yaml to use"),
};
_Static_assert(sizeof(struct explore_options) <= CMD_OPTIONS_MAX, "the options do not fit");

struct work {
	struct here here;
	struct buf command;
	char folder[PATH_MAX];
};

/* Quotes a word for bash. */
static int put_quoted(struct buf *buf, const char *word)
{
	int r = buf_text(buf, "'");

	for (; r == 0 && *word != '\0'; word++)
		r = *word == '\'' ? buf_text(buf, "'\\''") : buf_append(buf, word, 1);
	return r == 0 ? buf_text(buf, "'") : r;
}

/* One word is a line for the shell; several are a program and its arguments, which are quoted. */
static int take_command(struct work *work, char **words, size_t count, struct err *err)
{
	int r = 0;

	if (count == 0)
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "no command; usage: viv explore DIR -- COMMAND...");
	if (count == 1)
		r = buf_text(&work->command, words[0]);
	for (size_t i = 0; r == 0 && count > 1 && i < count; i++) {
		r = buf_text(&work->command, i > 0 ? " " : "");
		if (r == 0)
			r = put_quoted(&work->command, words[i]);
	}
	return r < 0 ? err_set(err, ERR_TOO_LARGE, -r, "the command is too long") : 0;
}

/* The folder is --folder or the first of several words; a single word is the command, and the
 * folder is the config's. */
static int start(struct work *work, const struct explore_options *options,
		 const struct operands *operands, struct err *err)
{
	bool has_word = options->folder == NULL && operands->count > 1;
	const char *folder = has_word ? operands->items[0] : options->folder;
	struct op_explore_args args = {
		.cwd = options->cwd, .policy = options->policy, .timeout_ms = options->timeout_ms};
	struct stat stat_of;
	int r;

	/* A single word that is a folder means that the command was forgotten. */
	if (options->folder == NULL && operands->count == 1 &&
	    stat(operands->items[0], &stat_of) == 0 && S_ISDIR(stat_of.st_mode))
		return take_command(work, NULL, 0, err);
	r = take_command(work, operands->items + (has_word ? 1 : 0),
			 operands->count - (has_word ? 1 : 0), err);
	if (r < 0)
		return r;
	if (folder != NULL && realpath(folder, work->folder) == NULL)
		return err_set(err, ERR_NOT_FOUND, errno, "%s: %s", folder, strerror(errno));
	args.folder = folder != NULL ? work->folder : NULL;
	args.command = buf_string(&work->command);
	r = config_load(options->config, &work->here.config, err);
	if (r == 0)
		r = here_open(&work->here, false, err);
	return r < 0 ? r
		     : op_explore_start(work->here.config, work->here.pool, &args, &show_calls,
					&work->here.show, &work->here.run, err);
}

static int finish(struct work *work)
{
	struct run_facts facts = run_facts(work->here.run);
	struct err err = {0};
	struct result result;
	struct buf text;
	struct buf answer;

	buf_init(&text, ANSWER_MAX);
	buf_init(&answer, ANSWER_MAX);
	if (work->here.show.mode == SHOW_JSON) {
		if (run_result(work->here.run, &text, &result, &err) < 0 ||
		    op_explore_answer(&result, &answer, &err) < 0)
			show_refusal(&work->here.show, &err);
		else
			show_bytes(&work->here.show, answer.data, answer.size);
	}
	buf_done(&text);
	buf_done(&answer);
	return show_end_facts(&work->here.show, &facts);
}

static int run(const struct cmd *cmd, const void *raw_options, const struct operands *operands)
{
	const struct explore_options *options = raw_options;
	struct work *work = xnew(struct work);
	struct here *here = &work->here;
	struct err err = {0};
	int status;
	int r = here_init(here, options->is_json ? SHOW_JSON : SHOW_PLAIN, &err);

	here->show.says = "viv explore: ";
	buf_init(&work->command, COMMAND_MAX);
	if (r == 0)
		r = start(work, options, operands, &err);
	if (r < 0) {
		show_refusal(&here->show, &err);
		status = cmd_fail(cmd, &err);
	} else {
		here_wait(here);
		status = finish(work);
	}
	here_close(here);
	buf_done(&work->command);
	free(work);
	return status;
}

const struct cmd cmd_explore = {
	.name = "explore",
	.operands = "DIR -- COMMAND...",
	.summary = "look at a folder with shell commands",
	.about = "Runs COMMAND with bash in the folder DIR, which the command sees read-only at\n"
		 "/data. Of the rest of this host it sees only the programs below /usr, without\n"
		 "Python. It has no network and leaves nothing behind.\n"
		 "\n"
		 "COMMAND is either one line for the shell ('grep -r x . | wc -l') or several\n"
		 "words: a program and its arguments. Without DIR, the folder is the config's\n"
		 "explore.root.\n"
		 "\n"
		 "The exit status is the command's own; 124 for a timeout, 137 for out of memory,\n"
		 "128 plus the signal's number if a signal ended it, 126 when the policy refuses,\n"
		 "125 when viv itself fails, 2 for bad usage.",
	.examples = "  viv explore ~/project -- grep -rn 'main(' src\n"
		    "  viv explore /srv/data --cwd entities -- 'ls | head -5'\n"
		    "  viv explore --folder . --json 'find . -name \"*.yml\" | wc -l'",
	CMD_FLAGS(flags),
	.options_size = sizeof(struct explore_options),
	.run = run,
};
