// SPDX-License-Identifier: Apache-2.0
#include "cli/flags.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/c.h"
#include "policy/number.h"

#define HELP_COLUMN 24 /* where help starts; longer flags push it to the next line */
#define HELP_WIDTH 96

void flag_help(const struct flag *flag, char ret_text[FLAG_HELP_MAX])
{
	(void)snprintf(ret_text, FLAG_HELP_MAX, "%s%s%s", flag->verbs != NULL ? flag->verbs : "",
		       flag->verbs != NULL ? ": " : "",
		       flag->help != NULL ? flag->help : *flag->help_from);
}

size_t flags_expand(const struct flag *rows, size_t count, struct flag ret_flags[FLAG_ROWS_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		struct flag flag = rows[i];

		assert(n + rows[i].param_count < FLAG_ROWS_MAX);
		if (flag.kind != FLAG_PARAM)
			ret_flags[n++] = flag;
		for (size_t k = 0; k < rows[i].param_count; k++) {
			flag.params = &rows[i].params[k];
			flag.name = flag.params->flag;
			flag.letter = flag.params->letter;
			flag.value = flag.params->value;
			flag.help = flag.params->help;
			if (flag.name != NULL)
				ret_flags[n++] = flag;
		}
	}
	return n;
}

bool flag_is_switch(const struct flag *flag)
{
	return flag->kind == FLAG_SWITCH ||
	       (flag->kind == FLAG_PARAM && flag->params->type == OP_BOOL);
}

bool flag_is_list(const struct flag *flag)
{
	return flag->kind == FLAG_LIST ||
	       (flag->kind == FLAG_PARAM &&
		(flag->params->type == OP_TEXTS || flag->params->type == OP_PAIRS ||
		 flag->params->type == OP_FILES));
}

/* The next name in the list `*at`, not NUL-terminated; NULL at the end of the list. */
static const char *next_verb(const char **at, size_t *ret_size)
{
	const char *verb = *at + strspn(*at, ", ");

	*ret_size = strcspn(verb, ", ");
	*at = verb + *ret_size;
	return *ret_size > 0 ? verb : NULL;
}

static bool takes(const struct flag *flag, const char *verb)
{
	const char *at = flag->verbs;
	const char *one;
	size_t size;

	while ((one = next_verb(&at, &size)) != NULL) {
		if (strlen(verb) == size && memcmp(verb, one, size) == 0)
			return true;
	}
	return false;
}

static int refuse(const struct flag *flag, const char *cmd, const char *verb, struct err *err)
{
	const char *at = flag->verbs;
	const char *one;
	char text[256] = "";
	size_t size;
	size_t used = 0;

	while ((one = next_verb(&at, &size)) != NULL && used < sizeof(text))
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s`viv %s %.*s`",
					 used > 0 ? ", " : "", cmd, (int)size, one);
	return err_set(err, ERR_BAD_REQUEST, EINVAL, "%s takes no --%s; it is a flag of %s", verb,
		       flag->name, text);
}

int flags_check(const struct flag *flags, size_t count, uint64_t given, const char *cmd,
		const char *verb, struct err *err)
{
	for (size_t i = 0; i < count; i++) {
		if ((given >> i & 1) != 0 && flags[i].verbs != NULL && !takes(&flags[i], verb))
			return refuse(&flags[i], cmd, verb, err);
	}
	return 0;
}

static const struct flag *find_long(const struct flag *flags, size_t count, const char *name,
				    size_t size)
{
	for (size_t i = 0; i < count; i++) {
		if (strlen(flags[i].name) == size && memcmp(flags[i].name, name, size) == 0)
			return &flags[i];
	}
	return NULL;
}

static const struct flag *find_letter(const struct flag *flags, size_t count, char letter)
{
	for (size_t i = 0; i < count; i++) {
		if (flags[i].letter != 0 && flags[i].letter == letter)
			return &flags[i];
	}
	return NULL;
}

static int parse_number(const struct flag *flag, enum number_type type, const char *like,
			const char *text, uint64_t *ret_number, struct err *err)
{
	int r = number_parse(type, text, ret_number);

	if (r < 0)
		return err_set(err, ERR_BAD_REQUEST, EINVAL, "--%s: '%s' is not a value like %s",
			       flag->name, text, like);
	return 0;
}

static int set_value(const struct flag *flag, const char *text, void *options, struct err *err)
{
	void *field = (char *)options + flag->offset;
	struct flag_given *given = field;
	struct flag_list *list = field;

	switch (flag->kind) {
	case FLAG_SWITCH:
		*(bool *)field = true;
		return 0;
	case FLAG_TEXT:
		*(const char **)field = text;
		return 0;
	case FLAG_LIST:
		if (list->count >= FLAG_LIST_MAX)
			return err_set(err, ERR_BAD_REQUEST, E2BIG,
				       "--%s: may be given at most %d times", flag->name,
				       FLAG_LIST_MAX);
		list->items[list->count++] = text;
		return 0;
	case FLAG_COUNT:
		return parse_number(flag, NUMBER_COUNT, "64", text, field, err);
	case FLAG_SIZE:
		return parse_number(flag, NUMBER_BYTES, "512M or 1GiB", text, field, err);
	case FLAG_MS:
		return parse_number(flag, NUMBER_MS, "30s or 1500ms", text, field, err);
	case FLAG_CPUS:
		return parse_number(flag, NUMBER_CPUS, "0.5", text, field, err);
	case FLAG_PARAM:
		if (given->count >= FLAG_GIVEN_MAX)
			return err_set(err, ERR_BAD_REQUEST, E2BIG,
				       "--%s: at most %d flags may be given", flag->name,
				       FLAG_GIVEN_MAX);
		given->items[given->count].param = flag->params;
		given->items[given->count++].text = text;
		return 0;
	}
	return 0;
}

/* Takes one word that starts with a dash, and the next word if the flag needs a value. */
static int take_flag(const struct flag *flags, size_t count, int argc, char **argv, int *at,
		     void *options, uint64_t *given, struct err *err)
{
	const char *word = argv[*at];
	const char *value = NULL;
	const struct flag *flag = NULL;

	if (word[1] == '-') {
		const char *equals = strchr(word, '=');

		flag = find_long(flags, count, word + 2,
				 equals != NULL ? (size_t)(equals - word - 2) : strlen(word + 2));
		value = equals != NULL ? equals + 1 : NULL;
	} else {
		flag = find_letter(flags, count, word[1]);
		value = word[2] != '\0' ? word + 2 : NULL;
	}
	if (flag == NULL)
		return err_set(err, ERR_BAD_REQUEST, EINVAL, "there is no flag %s; see --help",
			       word);
	if (flag_is_switch(flag) && value != NULL)
		return err_set(err, ERR_BAD_REQUEST, EINVAL, "--%s takes no value", flag->name);
	if (!flag_is_switch(flag) && value == NULL) {
		if (*at + 1 >= argc)
			return err_set(err, ERR_BAD_REQUEST, EINVAL, "--%s needs a value: %s",
				       flag->name, flag->value);
		*at += 1;
		value = argv[*at];
	}
	*given |= UINT64_C(1) << (flag - flags);
	return set_value(flag, value, options, err);
}

int flags_parse(const struct flag *flags, size_t count, int argc, char **argv, void *options,
		struct operands *ret_operands, bool *ret_help, struct err *err)
{
	uint64_t given = 0;
	size_t kept = 0;
	bool is_over = false; /* after "--" */

	for (int i = 1; i < argc; i++) {
		int r;

		if (!is_over && strcmp(argv[i], "--") == 0) {
			is_over = true;
			continue;
		}
		if (is_over || argv[i][0] != '-' || argv[i][1] == '\0') {
			argv[1 + kept++] = argv[i]; /* never ahead of i */
			continue;
		}
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			*ret_help = true;
			return 0;
		}
		r = take_flag(flags, count, argc, argv, &i, options, &given, err);
		if (r < 0)
			return r;
	}
	*ret_operands = (struct operands){.count = kept, .items = argv + 1, .given = given};
	return 0;
}

/* Prints words from column HELP_COLUMN on, and breaks lines before HELP_WIDTH. */
static void print_wrapped(const char *text, size_t column, FILE *out)
{
	while (*text != '\0') {
		size_t size = strcspn(text, " ");

		if (column > HELP_COLUMN && column + 1 + size > HELP_WIDTH) {
			(void)fprintf(out, "\n%*s", HELP_COLUMN, "");
			column = HELP_COLUMN;
		} else if (column > HELP_COLUMN) {
			(void)fputc(' ', out);
			column++;
		}
		(void)fprintf(out, "%.*s", (int)size, text);
		column += size;
		text += size;
		text += strspn(text, " ");
	}
	(void)fputc('\n', out);
}

static void print_flag(const struct flag *flag, FILE *out)
{
	char help[FLAG_HELP_MAX];
	char left[80];
	int size;

	if (flag->letter != 0)
		size = snprintf(left, sizeof(left), "  -%c, --%s", flag->letter, flag->name);
	else
		size = snprintf(left, sizeof(left), "      --%s", flag->name);
	if (flag->value != NULL)
		size += snprintf(left + size, sizeof(left) - (size_t)size, " %s", flag->value);

	if (size + 2 > HELP_COLUMN)
		(void)fprintf(out, "%s\n%*s", left, HELP_COLUMN, "");
	else
		(void)fprintf(out, "%-*s", HELP_COLUMN, left);
	flag_help(flag, help);
	print_wrapped(help, HELP_COLUMN, out);
}

void flags_help(const struct flag *flags, size_t count, FILE *out)
{
	static const struct flag help = {
		.name = "help", .letter = 'h', .kind = FLAG_SWITCH, .help = "show this text"};

	for (size_t i = 0; i < count; i++)
		print_flag(&flags[i], out);
	print_flag(&help, out);
}
