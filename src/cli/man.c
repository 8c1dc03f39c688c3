// SPDX-License-Identifier: Apache-2.0
/* Manual pages, printed from the same rows as --help and the config's checks. */
#include <errno.h>
#include <string.h>

#include "base/c.h"
#include "cli/cmd.h"
#include "policy/config.h"

#define CONFIG_PAGE "vivarium.yaml"

/* Escapes text for roff: no escapes or requests by accident, hyphens that can be copied. */
static void put_text(FILE *out, const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		bool is_line_start = i == 0 || text[i - 1] == '\n';

		if (is_line_start && (text[i] == '.' || text[i] == '\''))
			(void)fputs("\\&", out);
		if (text[i] == '\\')
			(void)fputs("\\e", out);
		else if (text[i] == '-')
			(void)fputs("\\-", out);
		else
			(void)fputc(text[i], out);
	}
}

static void put_string(FILE *out, const char *text)
{
	put_text(out, text, strlen(text));
}

/* Lines are joined; an empty line starts a paragraph; an indented line stays a line of its own. */
static void put_paragraphs(FILE *out, const char *text)
{
	while (*text != '\0') {
		size_t length = strcspn(text, "\n");

		if (length == 0) {
			(void)fputs(".PP\n", out);
		} else if (text[0] == ' ') {
			(void)fputs(".br\n", out);
			put_text(out, text, length);
			(void)fputs("\n.br\n", out);
		} else {
			put_text(out, text, length);
			(void)fputc('\n', out);
		}
		text += length;
		if (*text == '\n')
			text++;
	}
}

static void put_heading(FILE *out, const char *name, int section, const char *title)
{
	(void)fprintf(out, ".TH \"%s\" \"%d\" \"\" \"Vivarium %s\" \"Vivarium manual\"\n", name,
		      section, VIV_VERSION);
	(void)fputs(".nh\n.ad l\n.SH NAME\n", out);
	put_string(out, name);
	(void)fputs(" \\- ", out);
	put_string(out, title);
	(void)fputc('\n', out);
}

static void put_flag(FILE *out, const struct flag *flag)
{
	char help[FLAG_HELP_MAX];

	flag_help(flag, help);
	(void)fputs(".TP\n", out);
	if (flag->letter != 0)
		(void)fprintf(out, "\\fB\\-%c\\fR, ", flag->letter);
	(void)fputs("\\fB\\-\\-", out);
	put_string(out, flag->name);
	(void)fputs("\\fR", out);
	if (flag->value != NULL) {
		(void)fputs(" \\fI", out);
		put_string(out, flag->value);
		(void)fputs("\\fR", out);
	}
	(void)fputc('\n', out);
	put_string(out, help);
	(void)fprintf(out, ".%s\n", flag_is_list(flag) ? " May be given more than once." : "");
}

static void put_verbs(FILE *out, const struct cmd *cmd)
{
	if (cmd->verb_count > 0)
		(void)fputs(".SH SUBCOMMANDS\n", out);
	for (size_t i = 0; i < cmd->verb_count; i++) {
		const struct cmd_verb *verb = cmd_verb(cmd, i);

		(void)fputs(".TP\n\\fB", out);
		put_string(out, verb->name);
		(void)fputs("\\fR \\fI", out);
		put_string(out, verb->operands);
		(void)fputs("\\fR\n", out);
		put_string(out, verb->help);
		(void)fputs(".\n", out);
	}
}

static void put_examples(FILE *out, const char *examples)
{
	(void)fputs(".SH EXAMPLES\n.nf\n", out);
	put_string(out, examples);
	(void)fputs("\n.fi\n", out);
}

static void put_exit_statuses(FILE *out)
{
	static const struct {
		const char *status, *meaning;
	} rows[] = {
		{"the code's own", "the run ended by itself: 0, or what it passed to sys.exit"},
		{"1", "an uncaught exception; doctor or audit found something"},
		{"2", "bad usage"},
		{"124", "the run was ended at its timeout"},
		{"125", "Vivarium itself failed; stderr says why"},
		{"126", "refused by the guard or the policy"},
		{"130", "interrupted"},
		{"137", "out of memory"},
		{"128+N", "killed by signal N: SIGKILL 137, SIGSEGV 139, SIGABRT 134"},
	};

	(void)fputs(".SH EXIT STATUS\n", out);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		(void)fputs(".TP\n\\fB", out);
		put_string(out, rows[i].status);
		(void)fputs("\\fR\n", out);
		put_string(out, rows[i].meaning);
		(void)fputc('\n', out);
	}
}

static void print_command(FILE *out, const struct cmd *cmd)
{
	struct flag flags[FLAG_ROWS_MAX];
	size_t count = cmd_flags(cmd, flags);
	char name[64];

	(void)snprintf(name, sizeof(name), "viv-%s", cmd->name);
	put_heading(out, name, 1, cmd->summary);
	(void)fputs(".SH SYNOPSIS\n\\fBviv ", out);
	put_string(out, cmd->name);
	(void)fputs("\\fR [\\fIOPTION\\fR]... ", out);
	put_string(out, cmd->operands);
	(void)fputs("\n.SH DESCRIPTION\n", out);
	put_paragraphs(out, cmd->about);
	put_verbs(out, cmd);
	(void)fputs(".SH OPTIONS\n", out);
	for (size_t i = 0; i < count; i++)
		put_flag(out, &flags[i]);
	(void)fputs(".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nshow this text.\n", out);
	if (cmd->examples != NULL)
		put_examples(out, cmd->examples);
	(void)fputs(".SH SEE ALSO\n\\fBviv\\fR(1), \\fBvivarium.yaml\\fR(5)\n", out);
}

static void print_viv(FILE *out)
{
	put_heading(out, "viv", 1, "run untrusted Python behind glass walls");
	(void)fputs(
		".SH SYNOPSIS\n\\fBviv\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR]... "
		"[\\fIOPERAND\\fR]...\n"
		".SH DESCRIPTION\n"
		"Vivarium runs Python that nobody has reviewed on one Linux machine: each run in "
		"a\n"
		"sandbox of its own, behind kernel walls, without Docker and without root\n"
		"where the kernel allows it. Everything inside can be seen, nothing gets out.\n"
		".SH COMMANDS\n",
		out);
	for (size_t i = 0; cmd_table[i] != NULL; i++) {
		if (cmd_table[i]->is_hidden)
			continue;
		(void)fprintf(out, ".TP\n\\fBviv\\-%s\\fR(1)\n", cmd_table[i]->name);
		put_string(out, cmd_table[i]->summary);
		(void)fputs(".\n", out);
	}
	put_exit_statuses(out);
	(void)fputs(".SH ENVIRONMENT\n.TP\n\\fBVIVARIUM_CONFIG\\fR\nThe config file to use, unless "
		    "\\-\\-config names one.\n"
		    ".TP\n\\fBVIVARIUM_URL\\fR\nThe daemon to talk to: http://HOST:PORT or "
		    "unix:/PATH.\n"
		    ".TP\n\\fBVIVARIUM_TOKEN\\fR\nThe token to send to the daemon.\n"
		    ".TP\n\\fBVIVARIUM_APPROVE\\fR\nThe key for viv\\-allow(1) and "
		    "viv\\-deny(1) over TCP: what <state_dir>/approve.key has in it.\n"
		    ".SH SEE ALSO\n\\fBvivarium.yaml\\fR(5)\n",
		    out);
}

/* One setting per paragraph: its key, what it takes, its default, what it is for. */
static void put_settings(FILE *out, const char *section, const char *intro,
			 const struct setting *rows, size_t count, const void *defaults)
{
	(void)fprintf(out, ".SH %s\n", section);
	put_paragraphs(out, intro);
	for (size_t i = 0; i < count; i++) {
		char range[256];
		char initial[256];

		setting_range(&rows[i], range, sizeof(range));
		setting_format(&rows[i], defaults, initial, sizeof(initial));
		(void)fputs(".TP\n\\fB", out);
		put_string(out, rows[i].key);
		(void)fputs("\\fR", out);
		if (initial[0] != '\0' && strcmp(initial, "[]") != 0) {
			(void)fputs(" (default: ", out);
			put_string(out, initial);
			(void)fputc(')', out);
		}
		(void)fputc('\n', out);
		put_string(out, rows[i].help);
		(void)fputs(". Allowed: ", out);
		put_string(out, range);
		(void)fputs(".\n", out);
	}
}

static void print_config(FILE *out)
{
	struct config *config = config_new();
	struct config_token token = {0};
	struct runtime runtime = {0};
	struct policy policy = {0};

	settings_init(token_rows, token_row_count, &token);
	runtime_init(&runtime, "name");
	policy_init(&policy, "name");

	put_heading(out, CONFIG_PAGE, 5, "the configuration of Vivarium");
	(void)fputs(
		".SH DESCRIPTION\n"
		"YAML. Found by \\fB\\-\\-config\\fR, $VIVARIUM_CONFIG, ./vivarium.yaml, the "
		"user's and\n"
		"then the system's config folder; without a file the defaults below apply. An "
		"unknown key or\n"
		"a bad value stops the start with file:line and what is allowed.\n"
		"So does a ./vivarium.yaml that was found, not named, and that belongs to anyone "
		"but\n"
		"the caller or root, or that others can write.\n.PP\n"
		"A dot in a key is a step into a nested mapping. Sizes are 512MiB, 512M or bytes;\n"
		"times 30s, 1500ms, 2m.\n",
		out);
	put_settings(out, "TOP LEVEL", "Keys of the file itself.", config->rows, config->row_count,
		     config);
	put_settings(out, "POLICIES",
		     "Below policies.NAME. A policy with a built-in's name (default, analysis, "
		     "ephemeral,\n"
		     "workspace, conversation, heavy) changes only the keys it names.",
		     policy_rows, policy_row_count, &policy);
	put_settings(out, "RUNTIMES",
		     "Below runtimes.NAME. Built in are bare, base and full; `viv runtime add` "
		     "writes more.",
		     runtime_rows, runtime_row_count, &runtime);
	put_settings(out, "TOKENS", "A list below tokens.", token_rows, token_row_count, &token);
	(void)fputs(".SH SEE ALSO\n\\fBviv\\fR(1), \\fBviv\\-runtime\\fR(1)\n", out);

	config_free(config);
	settings_done(token_rows, token_row_count, &token);
	runtime_done(&runtime);
	policy_done(&policy);
}

static int run(const struct cmd *cmd, const void *options, const struct operands *operands)
{
	const char *page = operands->count > 0 ? operands->items[0] : "viv";
	const struct cmd *found = NULL;
	struct err err = {0};

	(void)options;
	if (strcmp(page, "viv") == 0) {
		print_viv(stdout);
		return CMD_OK;
	}
	if (strcmp(page, CONFIG_PAGE) == 0) {
		print_config(stdout);
		return CMD_OK;
	}
	found = cmd_find(strncmp(page, "viv-", 4) == 0 ? page + 4 : page);
	if (found == NULL) {
		(void)err_set(&err, ERR_NOT_FOUND, ENOENT,
			      "no page %s; there are viv, viv-COMMAND and " CONFIG_PAGE, page);
		return cmd_fail(cmd, &err);
	}
	print_command(stdout, found);
	return CMD_OK;
}

const struct cmd cmd_man = {
	.name = "man",
	.operands = "[PAGE]",
	.summary = "print a manual page",
	.about = "Prints viv(1), viv-COMMAND(1) or vivarium.yaml(5) for man -l -.",
	.examples = "  viv man run | man -l -",
	.is_hidden = true,
	.run = run,
};
