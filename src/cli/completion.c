// SPDX-License-Identifier: Apache-2.0
/* Shell completions, printed from the same rows as --help. */
#include <errno.h>
#include <string.h>

#include "base/c.h"
#include "cli/cmd.h"

static bool takes_file(const struct flag *flag)
{
	return flag->value != NULL &&
	       (strstr(flag->value, "FILE") != NULL || strstr(flag->value, "HOST") != NULL ||
		strstr(flag->value, "VENV") != NULL);
}

static bool takes_folder(const struct flag *flag)
{
	return flag->value != NULL && strstr(flag->value, "DIR") != NULL;
}

static bool takes_files(const struct cmd *cmd)
{
	return strstr(cmd->operands, "FILE") != NULL;
}

/* Prints the subcommands, or the lower-case words of operands like "bash|zsh|fish": those are typed
 * as they stand. */
static void put_words(const struct cmd *cmd, const char *separator)
{
	const char *at = cmd->verb_count == 0 ? cmd->operands : "";
	bool is_first = true;

	for (size_t i = 0; i < cmd->verb_count; i++)
		(void)printf("%s%s", i == 0 ? "" : separator, cmd_verb(cmd, i)->name);

	while (*at != '\0') {
		size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz");

		if (length > 0) {
			(void)printf("%s%.*s", is_first ? "" : separator, (int)length, at);
			is_first = false;
		}
		at += length > 0 ? length : 1;
	}
}

/* Prints text for single quotes: `quote` replaces a single quote, and the characters in `special`
 * get a backslash. */
static void put_quoted(const char *text, const char *special, const char *quote)
{
	for (; *text != '\0'; text++) {
		if (*text == '\'')
			(void)fputs(quote, stdout);
		else if (strchr(special, *text) != NULL)
			(void)printf("\\%c", *text);
		else
			(void)putchar(*text);
	}
}

static void print_bash_values(const struct cmd *cmd)
{
	struct flag flags[FLAG_ROWS_MAX];
	size_t count = cmd_flags(cmd, flags);

	for (size_t i = 0; i < count; i++) {
		const struct flag *flag = &flags[i];
		const char *how = takes_folder(flag) ? "-d" : takes_file(flag) ? "-f" : "-W ''";

		if (flag_is_switch(flag))
			continue;
		(void)printf("        %s:--%s", cmd->name, flag->name);
		if (flag->letter != 0)
			(void)printf(" | %s:-%c", cmd->name, flag->letter);
		(void)printf(") mapfile -t COMPREPLY < <(compgen %s -- \"$word\"); return ;;\n",
			     how);
	}
}

static void print_bash(void)
{
	(void)fputs("# bash completion for viv, made by `viv completion bash`\n"
		    "_viv() {\n"
		    "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
		    "    local cmd=${COMP_WORDS[1]} flags='' words='' files=''\n"
		    "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
		    "        mapfile -t COMPREPLY < <(compgen -W '--help --version",
		    stdout);
	for (size_t i = 0; cmd_table[i] != NULL; i++) {
		if (!cmd_table[i]->is_hidden)
			(void)printf(" %s", cmd_table[i]->name);
	}
	(void)fputs("' -- \"$word\")\n        return\n    fi\n    case $cmd:$before in\n", stdout);
	for (size_t i = 0; cmd_table[i] != NULL; i++) {
		if (!cmd_table[i]->is_hidden)
			print_bash_values(cmd_table[i]);
	}
	(void)fputs("    esac\n    case $cmd in\n", stdout);
	for (size_t i = 0; cmd_table[i] != NULL; i++) {
		const struct cmd *cmd = cmd_table[i];
		struct flag flags[FLAG_ROWS_MAX];
		size_t count = cmd_flags(cmd, flags);

		if (cmd->is_hidden)
			continue;
		(void)printf("        %s) flags='--help", cmd->name);
		for (size_t j = 0; j < count; j++)
			(void)printf(" --%s", flags[j].name);
		(void)fputs("' words='", stdout);
		put_words(cmd, " ");
		(void)printf("' files='%s' ;;\n", takes_files(cmd) ? "yes" : "");
	}
	(void)fputs("    esac\n"
		    "    case $word in\n"
		    "        -*) mapfile -t COMPREPLY < <(compgen -W \"$flags\" -- \"$word\") ;;\n"
		    "        *) if [ -n \"$files\" ]; then\n"
		    "               mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
		    "           else\n"
		    "               mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
		    "           fi ;;\n"
		    "    esac\n"
		    "}\n"
		    "complete -o filenames -o bashdefault -F _viv viv\n",
		    stdout);
}

static void print_zsh_flag(const struct flag *flag)
{
	const char *star = flag_is_list(flag) ? "*" : "";
	char help[FLAG_HELP_MAX];

	flag_help(flag, help);
	(void)printf(" \\\n                '%s--%s%s[", star, flag->name,
		     flag->value != NULL ? "=" : "");
	put_quoted(help, "[]:\\", "'\\''");
	(void)putchar(']');
	if (flag->value != NULL)
		(void)printf(":value:%s", takes_folder(flag) ? "_files -/"
					  : takes_file(flag) ? "_files"
							     : "");
	(void)putchar('\'');
}

static void print_zsh(void)
{
	(void)fputs("#compdef viv\n"
		    "# zsh completion for viv, made by `viv completion zsh`\n"
		    "_viv() {\n"
		    "    local -a commands\n"
		    "    commands=(\n",
		    stdout);
	for (size_t i = 0; cmd_table[i] != NULL; i++) {
		if (cmd_table[i]->is_hidden)
			continue;
		(void)printf("        '%s:", cmd_table[i]->name);
		put_quoted(cmd_table[i]->summary, ":\\", "'\\''");
		(void)fputs("'\n", stdout);
	}
	(void)fputs("    )\n"
		    "    if (( CURRENT == 2 )); then\n"
		    "        _describe command commands\n"
		    "        return\n"
		    "    fi\n"
		    "    local cmd=$words[2]\n"
		    "    shift words\n"
		    "    (( CURRENT-- ))\n"
		    "    case $cmd in\n",
		    stdout);
	for (size_t i = 0; cmd_table[i] != NULL; i++) {
		const struct cmd *cmd = cmd_table[i];
		struct flag flags[FLAG_ROWS_MAX];
		size_t count = cmd_flags(cmd, flags);

		if (cmd->is_hidden)
			continue;
		(void)printf("        %s)\n            _arguments -s '--help[Show the help]'",
			     cmd->name);
		for (size_t j = 0; j < count; j++)
			print_zsh_flag(&flags[j]);
		if (takes_files(cmd)) {
			(void)fputs(" '*:file:_files'", stdout);
		} else if (cmd->operands[0] != '\0') {
			(void)fputs(" '*:operand:(", stdout);
			put_words(cmd, " ");
			(void)fputs(")'", stdout);
		}
		(void)fputs("\n            ;;\n", stdout);
	}
	(void)fputs("    esac\n}\n_viv \"$@\"\n", stdout);
}

static void print_fish(void)
{
	(void)fputs("# fish completion for viv, made by `viv completion fish`\n"
		    "complete -c viv -n __fish_use_subcommand -f\n",
		    stdout);
	for (size_t i = 0; cmd_table[i] != NULL; i++) {
		const struct cmd *cmd = cmd_table[i];
		struct flag flags[FLAG_ROWS_MAX];
		size_t count = cmd_flags(cmd, flags);

		if (cmd->is_hidden)
			continue;
		(void)printf("complete -c viv -n __fish_use_subcommand -a %s -d '", cmd->name);
		put_quoted(cmd->summary, "\\", "\\'");
		(void)fputs("'\n", stdout);
		for (size_t j = 0; j < count; j++) {
			const struct flag *flag = &flags[j];
			bool is_path = takes_file(flag) || takes_folder(flag);
			char help[FLAG_HELP_MAX];

			flag_help(flag, help);
			(void)printf("complete -c viv -n '__fish_seen_subcommand_from %s' -l %s",
				     cmd->name, flag->name);
			if (flag->letter != 0)
				(void)printf(" -s %c", flag->letter);
			(void)printf("%s -d '", flag_is_switch(flag) ? ""
						: is_path            ? " -r"
								     : " -x");
			put_quoted(help, "\\", "\\'");
			(void)fputs("'\n", stdout);
		}
		if (!takes_files(cmd) && cmd->operands[0] != '\0') {
			(void)printf("complete -c viv -n '__fish_seen_subcommand_from %s' -f -a '",
				     cmd->name);
			put_words(cmd, " ");
			(void)fputs("'\n", stdout);
		}
	}
}

static int run(const struct cmd *cmd, const void *options, const struct operands *operands)
{
	static const struct {
		const char *shell;
		void (*print)(void);
	} shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
	const char *shell = operands->count == 1 ? operands->items[0] : "";
	struct err err = {0};

	(void)options;
	for (size_t i = 0; i < ARRAY_LEN(shells); i++) {
		if (strcmp(shells[i].shell, shell) == 0) {
			shells[i].print();
			return CMD_OK;
		}
	}
	(void)err_set(&err, ERR_BAD_REQUEST, EINVAL, "name one shell: bash, zsh or fish");
	return cmd_fail(cmd, &err);
}

const struct cmd cmd_completion = {
	.name = "completion",
	.operands = "bash|zsh|fish",
	.summary = "print completions for a shell",
	.about = "Prints a script that teaches a shell the commands and flags of viv.",
	.examples = "source <(viv completion bash)",
	.is_hidden = true,
	.run = run,
};
