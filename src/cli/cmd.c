// SPDX-License-Identifier: Apache-2.0
#include "cli/cmd.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/c.h"
#include "base/program.h"
#include "cli/safe.h"

const struct cmd *const cmd_table[] = {
	&cmd_run,    &cmd_session, &cmd_explore, &cmd_serve,      &cmd_mcp,
	&cmd_ps,     &cmd_logs,    &cmd_allow,   &cmd_deny,       &cmd_top,
	&cmd_doctor, &cmd_audit,   &cmd_bench,   &cmd_runtime,    &cmd_policy,
	&cmd_token,  &cmd_compat,  &cmd_man,     &cmd_completion, NULL,
};

const struct cmd *cmd_find(const char *name)
{
	for (size_t i = 0; cmd_table[i] != NULL; i++) {
		if (strcmp(cmd_table[i]->name, name) == 0)
			return cmd_table[i];
	}
	return NULL;
}

const struct cmd_verb *cmd_verb(const struct cmd *cmd, size_t index)
{
	return (const struct cmd_verb *)((const char *)cmd->verbs + index * cmd->verb_size);
}

size_t cmd_flags(const struct cmd *cmd, struct flag ret_flags[FLAG_ROWS_MAX])
{
	return flags_expand(cmd->flags, cmd->flag_count, ret_flags);
}

ptrdiff_t cmd_choose_verb(const struct cmd *cmd, const struct operands *words, struct err *err)
{
	const char *name = words->count > 0 ? words->items[0] : "list";
	size_t count = words->count > 0 ? words->count - 1 : 0;
	const struct cmd_verb *verb = NULL;
	struct flag flags[FLAG_ROWS_MAX];
	size_t i = 0;
	int r;

	while (i < cmd->verb_count && strcmp(cmd_verb(cmd, i)->name, name) != 0)
		i++;
	if (i == cmd->verb_count)
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "there is no subcommand '%.100s'; usage: viv %s %s",
			       words->count > 0 ? name : "", cmd->name, cmd->operands);
	verb = cmd_verb(cmd, i);
	if (count < verb->min || count > verb->max)
		return err_set(err, ERR_BAD_REQUEST, EINVAL, "usage: viv %s %s%s%s", cmd->name,
			       name, verb->operands[0] != '\0' ? " " : "", verb->operands);
	r = flags_check(flags, cmd_flags(cmd, flags), words->given, cmd->name, name, err);
	return r < 0 ? r : (ptrdiff_t)i;
}

static void print_verbs(const struct cmd *cmd, FILE *out)
{
	if (cmd->verb_count > 0)
		(void)fprintf(out, "subcommands:\n");
	for (size_t i = 0; i < cmd->verb_count; i++) {
		const struct cmd_verb *verb = cmd_verb(cmd, i);
		char left[64];

		(void)snprintf(left, sizeof(left), "%s %s", verb->name, verb->operands);
		(void)fprintf(out, "  %-21s %s\n", left, verb->help);
	}
	if (cmd->verb_count > 0)
		(void)fprintf(out, "\n");
}

void cmd_help(const struct cmd *cmd, FILE *out)
{
	struct flag flags[FLAG_ROWS_MAX];

	(void)fprintf(out, "usage: viv %s%s%s [flags]\n\n%s\n\n", cmd->name,
		      cmd->operands[0] != '\0' ? " " : "", cmd->operands, cmd->about);
	print_verbs(cmd, out);
	(void)fprintf(out, "flags:\n");
	flags_help(flags, cmd_flags(cmd, flags), out);
	if (cmd->examples != NULL)
		(void)fprintf(out, "\nexamples:\n%s\n", cmd->examples);
}

void cmd_help_all(FILE *out)
{
	(void)fprintf(out, "usage: viv COMMAND [flags]\n\n"
			   "Runs Python that nobody has reviewed, behind walls that hold.\n\n"
			   "commands:\n");
	for (size_t i = 0; cmd_table[i] != NULL; i++) {
		if (!cmd_table[i]->is_hidden)
			(void)fprintf(out, "  %-10s %s\n", cmd_table[i]->name,
				      cmd_table[i]->summary);
	}
	(void)fprintf(out, "\n`viv help COMMAND` describes one command; `viv --version` prints the "
			   "version.\n");
}

int cmd_fail(const struct cmd *cmd, const struct err *err)
{
	(void)fprintf(stderr, "viv %s: ", cmd->name);
	safe_print(stderr, err->text);
	(void)fputc('\n', stderr);
	switch (err->kind) {
	case ERR_BAD_REQUEST:
	case ERR_NOT_FOUND:
	case ERR_TOO_LARGE:
		return CMD_USAGE;
	case ERR_FORBIDDEN:
		return CMD_REFUSED;
	case ERR_NONE:
	case ERR_UNAUTHORIZED:
	case ERR_CONFLICT:
	case ERR_BUSY:
	case ERR_QUOTA:
	case ERR_UNSUPPORTED:
	case ERR_INTERNAL:
		break;
	}
	return CMD_INTERNAL;
}

int cmd_become(const struct cmd *cmd, const char *program, const char *const *args)
{
	char path[1024];
	struct err err = {0};

	if (program_find(program, path, sizeof(path), &err) == 0) {
		/* execv wants char *const *; it does not write through them. */
		(void)execv(path, (char *const *)(uintptr_t)args);
		(void)err_sys(&err, "exec %s", path);
	}
	return cmd_fail(cmd, &err);
}
