// SPDX-License-Identifier: Apache-2.0
/*
 * Flags - rows that say what a command accepts
 *
 * Owns:    parsing a command line into the command's options struct, and the help text. Manual
 *          pages and shell completions are printed from the same rows.
 * May not: act. A command sees checked values and does not know how they were spelled.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "session/param.h"

#define FLAG_LIST_MAX 256
#define FLAG_ROWS_MAX 64 /* of one command */
#define FLAG_HELP_MAX 512

enum flag_kind {
	FLAG_SWITCH, /* bool: given or not */
	FLAG_TEXT,   /* const char *, borrowed from argv; NULL when absent */
	FLAG_LIST,   /* struct flag_list: may be given more than once */
	FLAG_COUNT,  /* uint64_t: "64" */
	FLAG_SIZE,   /* uint64_t bytes: "512M", "512MiB" */
	FLAG_MS,     /* uint64_t milliseconds: "30s", "1500ms" */
	FLAG_CPUS,   /* uint64_t thousandths of a cpu: "0.5" */
	FLAG_PARAM,  /* struct flag_given: type and help come from an op's parameter row */
};

/* The parameters that were given, in order, as they were typed. */
#define FLAG_GIVEN_MAX 512
struct flag_given {
	size_t count;
	struct {
		const struct op_param *param;
		const char *text; /* borrowed: from argv; NULL for a switch */
	} items[FLAG_GIVEN_MAX];
};

struct flag_list {
	size_t count;
	const char *items[FLAG_LIST_MAX]; /* borrowed: from argv */
};

/* One flag. `--name VALUE`, `--name=VALUE`, `-l VALUE`. Numbers that are absent stay 0. */
struct flag {
	const char *name; /* long, without its dashes */
	char letter;      /* 0: none */
	enum flag_kind kind;
	const char *value;            /* what the help calls the value: "NAME"; NULL for a switch */
	const char *help;             /* one sentence, no full stop; see flag_help() */
	const char *const *help_from; /* used when help is NULL: the help of an op's row */
	size_t offset;                /* of the field in the options struct */
	const struct op_param *params; /* FLAG_PARAM: its row; before flags_expand() the first of */
	size_t param_count;            /* ... this many rows; those without a flag are skipped */
	const char *verbs;             /* subcommands that take it: "new, import"; NULL: all */
};

#define FLAG_ROW_FOR(verb_names, type, field, long_name, short_letter, flag_kind, value_name,      \
		     help_text)                                                                    \
	{                                                                                          \
		.name = (long_name), .letter = (short_letter), .kind = (flag_kind),                \
		.value = (value_name), .help = (help_text), .offset = offsetof(type, field),       \
		.verbs = (verb_names)                                                              \
	}

#define FLAG_ROW_OP_FOR(verb_names, type, field, long_name, short_letter, flag_kind, value_name,   \
			op_row)                                                                    \
	{                                                                                          \
		.name = (long_name), .letter = (short_letter), .kind = (flag_kind),                \
		.value = (value_name), .help_from = &(op_row).help,                                \
		.offset = offsetof(type, field), .verbs = (verb_names)                             \
	}

#define FLAG_ROW(...) FLAG_ROW_FOR(NULL, __VA_ARGS__)
#define FLAG_ROW_OP(...) FLAG_ROW_OP_FOR(NULL, __VA_ARGS__)

/* A placeholder for the flags of `count` parameter rows; flags_expand() replaces it. */
#define FLAG_ROWS_PARAMS(verb_names, type, field, rows, count)                                     \
	{                                                                                          \
		.kind = FLAG_PARAM, .offset = offsetof(type, field), .verbs = (verb_names),        \
		.params = (rows), .param_count = (count)                                           \
	}

/* The two flags of commands that look at this host and its config. */
#define FLAG_ROWS_COMMON(type)                                                                     \
	FLAG_ROW(type, config, "config", 0, FLAG_TEXT, "FILE",                                     \
		 "read this vivarium.yaml instead of the one that would be found"),                \
		FLAG_ROW(type, is_json, "json", 0, FLAG_SWITCH, NULL, "print one JSON object")

/* The words of the command line that are not flags. */
struct operands {
	size_t count;
	char **items;   /* borrowed: argv + 1, to which flags_parse() moved the operands */
	uint64_t given; /* bit i: the flag of row i was given */
};

/* Replaces placeholders for parameter rows by their flags; returns the number of flags. */
size_t flags_expand(const struct flag *rows, size_t count, struct flag ret_flags[FLAG_ROWS_MAX]);

/* True for a flag without a value; true for a flag that may be given more than once. */
bool flag_is_switch(const struct flag *flag);
bool flag_is_list(const struct flag *flag);

/* Parses argv[1..] into `options` (zeroed by the caller). `--` ends the flags; "-" is an operand.
 * `--help` or `-h` sets *ret_help and stops. -EINVAL names the flag and says what it takes. */
int flags_parse(const struct flag *flags, size_t count, int argc, char **argv, void *options,
		struct operands *ret_operands, bool *ret_help, struct err *err);

/* -EINVAL when a flag was given that subcommand `verb` of `cmd` does not take; the message names
 * the subcommands that do. */
int flags_check(const struct flag *flags, size_t count, uint64_t given, const char *cmd,
		const char *verb, struct err *err);

/* The help text after the subcommands that take the flag: "new, import: a name for people". */
void flag_help(const struct flag *flag, char ret_text[FLAG_HELP_MAX]);

/* Prints the aligned block of flags of --help. */
void flags_help(const struct flag *flags, size_t count, FILE *out);
