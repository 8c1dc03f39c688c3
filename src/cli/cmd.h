// SPDX-License-Identifier: Apache-2.0
/*
 * Cmd - the commands of `viv`, as rows
 *
 * Owns:    the table from which dispatch, --help, the manual and the completions come.
 * May not: hold logic: a command is a row and a file, cmd_NAME.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "cli/flags.h"

/* Exit status of viv itself; a run's own exit status passes through. */
enum cmd_exit {
	CMD_OK = 0,
	CMD_FAILED_CHECK = 1, /* audit found a breach, doctor found no way to run */
	CMD_USAGE = 2,        /* bad usage */
	CMD_INTERNAL = 125,   /* Vivarium itself failed */
	CMD_REFUSED = 126,    /* guard or policy */
};

/* A subcommand as the help, the manual and the completions show it. */
struct cmd_verb {
	const char *name;
	const char *operands; /* "ID [NAME]" */
	const char *help;     /* one sentence, no full stop */
	size_t min, max;      /* number of words after it */
};

struct cmd {
	const char *name;     /* "run" */
	const char *operands; /* as in the usage line: "[FILE|-]"; "" when there are none */
	const char *summary;  /* one line for the list of commands, no full stop */
	const char *about;    /* paragraphs for --help and the manual, '\n' between lines */
	const char *examples; /* lines of "viv ..." for the end of --help; NULL: none */
	const struct flag *flags;
	size_t flag_count;
	size_t options_size; /* of the struct that the flags fill; at most CMD_OPTIONS_MAX */
	bool is_hidden;      /* not in the list of commands */
	const void *verbs;   /* rows that begin with a struct cmd_verb; NULL: no subcommands */
	size_t verb_size, verb_count;

	/* `options` is the filled struct. Returns the exit status. Reports its own errors on stderr
	 * ("viv NAME: why"), usually with cmd_fail(). */
	int (*run)(const struct cmd *cmd, const void *options, const struct operands *operands);
};

#define CMD_OPTIONS_MAX 16384
#define CMD_FLAGS(rows) .flags = (rows), .flag_count = sizeof(rows) / sizeof((rows)[0])

/* Every command, NULL-terminated. */
extern const struct cmd *const cmd_table[];

extern const struct cmd cmd_run;
extern const struct cmd cmd_session;
extern const struct cmd cmd_explore;
extern const struct cmd cmd_serve;
extern const struct cmd cmd_mcp;
extern const struct cmd cmd_ps;
extern const struct cmd cmd_logs;
extern const struct cmd cmd_allow;
extern const struct cmd cmd_deny;
extern const struct cmd cmd_top;
extern const struct cmd cmd_doctor;
extern const struct cmd cmd_audit;
extern const struct cmd cmd_bench;
extern const struct cmd cmd_runtime;
extern const struct cmd cmd_policy;
extern const struct cmd cmd_token;
extern const struct cmd cmd_compat;
extern const struct cmd cmd_man;        /* hidden: prints a manual page */
extern const struct cmd cmd_completion; /* hidden: prints completions for a shell */

#define CMD_VERBS(rows)                                                                            \
	.verbs = (rows), .verb_size = sizeof((rows)[0]),                                           \
	.verb_count = sizeof(rows) / sizeof((rows)[0])

/* Subcommand number `index`. */
const struct cmd_verb *cmd_verb(const struct cmd *cmd, size_t index);

/* The index of the subcommand that the first word names ("list" if there is no word). -EINVAL for
 * an unknown name, a wrong number of words after it, or a flag of another subcommand. */
ptrdiff_t cmd_choose_verb(const struct cmd *cmd, const struct operands *words, struct err *err);

/* The command called `name`, or NULL. */
const struct cmd *cmd_find(const char *name);

/* All flags of a command, including those of parameter rows; returns how many. */
size_t cmd_flags(const struct cmd *cmd, struct flag ret_flags[FLAG_ROWS_MAX]);

/* Print the complete --help of one command, and of viv. */
void cmd_help(const struct cmd *cmd, FILE *out);
void cmd_help_all(FILE *out);

/* Prints "viv NAME: <text of err>" on stderr. Returns the exit status for its kind: CMD_USAGE for
 * ERR_BAD_REQUEST, ERR_NOT_FOUND and ERR_TOO_LARGE, CMD_REFUSED for ERR_FORBIDDEN, CMD_INTERNAL for
 * the rest. */
int cmd_fail(const struct cmd *cmd, const struct err *err);

/* Executes `program`, found beside viv or where it is installed. Returns the exit status when that
 * fails. */
int cmd_become(const struct cmd *cmd, const char *program, const char *const *args);
