// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/c.h"
#include "cli/cmd.h"

/* A caller may have closed 0, 1 or 2: the next descriptor we open would take its place, and our
 * output would go into it. */
static void keep_standard_fds(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
			_exit(CMD_INTERNAL);
	}
}

static int run_command(const struct cmd *cmd, int argc, char **argv)
{
	_Alignas(max_align_t) char options[CMD_OPTIONS_MAX] = {0};
	struct flag flags[FLAG_ROWS_MAX];
	struct operands operands = {0};
	struct err err = {0};
	bool wants_help = false;

	if (flags_parse(flags, cmd_flags(cmd, flags), argc, argv, options, &operands, &wants_help,
			&err) < 0)
		return cmd_fail(cmd, &err);
	if (wants_help) {
		cmd_help(cmd, stdout);
		return fflush(stdout) == 0 ? CMD_OK : CMD_INTERNAL;
	}
	return cmd->run(cmd, options, &operands);
}

static int refuse_name(const char *name)
{
	bool is_repl = strcmp(name, "repl") == 0;

	(void)fprintf(stderr, "viv: there is no command '%s'; %s\n", name,
		      is_repl ? "a repl talks to a session: `viv session repl`"
			      : "see `viv --help`");
	return CMD_USAGE;
}

/* `viv help` and `viv help COMMAND`, for people who try that first. */
static int help(const char *name)
{
	const struct cmd *cmd = name != NULL ? cmd_find(name) : NULL;

	if (name != NULL && cmd == NULL)
		return refuse_name(name);
	if (cmd != NULL)
		cmd_help(cmd, stdout);
	else
		cmd_help_all(stdout);
	return fflush(stdout) == 0 ? CMD_OK : CMD_INTERNAL;
}

int main(int argc, char **argv)
{
	const struct cmd *cmd = NULL;

	keep_standard_fds();
	(void)signal(SIGPIPE, SIG_IGN);
	if (argc < 2) {
		cmd_help_all(stderr);
		return CMD_USAGE;
	}
	if (strcmp(argv[1], "--version") == 0) {
		(void)printf("viv %s\n", VIV_VERSION);
		return CMD_OK;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return help(NULL);
	if (strcmp(argv[1], "help") == 0)
		return help(argv[2]);
	cmd = cmd_find(argv[1]);
	if (cmd == NULL)
		return refuse_name(argv[1]);
	return run_command(cmd, argc - 1, argv + 1);
}
