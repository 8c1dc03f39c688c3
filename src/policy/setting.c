// SPDX-License-Identifier: Apache-2.0
#include "policy/setting.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/c.h"

#define TEXT_MAX 512

static void *member(const struct setting *row, void *object)
{
	return (char *)object + row->offset;
}

static const void *member_const(const struct setting *row, const void *object)
{
	return (const char *)object + row->offset;
}

static char *copy_text(const char *text, size_t size)
{
	char *copy = xcalloc(1, size + 1);

	memcpy(copy, text, size);
	return copy;
}

void text_set(char **text, const char *value)
{
	char *copy = copy_text(value, strlen(value));

	free(*text);
	*text = copy;
}

static void list_add(struct text_list *list, const char *text, size_t size)
{
	char **items = reallocarray(list->items, list->count + 1, sizeof(*items));

	if (items == NULL)
		abort();
	list->items = items;
	list->items[list->count++] = copy_text(text, size);
}

void text_list_add(struct text_list *list, const char *text)
{
	list_add(list, text, strlen(text));
}

void text_list_done(struct text_list *list)
{
	if (list == NULL)
		return;
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i]);
	free(list->items);
	*list = (struct text_list){0};
}

bool text_list_has(const struct text_list *list, const char *text)
{
	for (size_t i = 0; i < list->count; i++) {
		if (strcmp(list->items[i], text) == 0)
			return true;
	}
	return false;
}

static void list_from_words(struct text_list *list, const char *words)
{
	while (words != NULL && *words != '\0') {
		size_t size = strcspn(words, " ");

		list_add(list, words, size);
		words += size;
		words += strspn(words, " ");
	}
}

void settings_init(const struct setting *rows, size_t count, void *object)
{
	for (size_t i = 0; i < count; i++) {
		const struct setting *row = &rows[i];

		switch (row->type) {
		case SETTING_BYTES ... SETTING_CHOICE:
			*(uint64_t *)member(row, object) = row->initial;
			break;
		case SETTING_BOOL:
			*(bool *)member(row, object) = row->initial != 0;
			break;
		case SETTING_TEXT:
		case SETTING_PATH:
			text_set(member(row, object), row->text != NULL ? row->text : "");
			break;
		case SETTING_LIST:
			text_list_done(member(row, object));
			list_from_words(member(row, object), row->text);
			break;
		}
	}
}

void settings_done(const struct setting *rows, size_t count, void *object)
{
	for (size_t i = 0; i < count; i++) {
		if (rows[i].type == SETTING_TEXT || rows[i].type == SETTING_PATH) {
			char **text = member(&rows[i], object);

			free(*text);
			*text = NULL;
		} else if (rows[i].type == SETTING_LIST) {
			text_list_done(member(&rows[i], object));
		}
	}
}

static void copy_list(struct text_list *to, const struct text_list *from)
{
	struct text_list copy = {0};

	for (size_t i = 0; i < from->count; i++)
		text_list_add(&copy, from->items[i]);
	text_list_done(to);
	*to = copy;
}

void settings_copy(const struct setting *rows, size_t count, void *to, const void *from)
{
	for (size_t i = 0; i < count; i++) {
		const struct setting *row = &rows[i];

		switch (row->type) {
		case SETTING_BYTES ... SETTING_CHOICE:
			*(uint64_t *)member(row, to) = *(const uint64_t *)member_const(row, from);
			break;
		case SETTING_BOOL:
			*(bool *)member(row, to) = *(const bool *)member_const(row, from);
			break;
		case SETTING_TEXT:
		case SETTING_PATH:
			text_set(member(row, to), *(char *const *)member_const(row, from));
			break;
		case SETTING_LIST:
			copy_list(member(row, to), member_const(row, from));
			break;
		}
	}
}

const struct setting *setting_find(const struct setting *rows, size_t count, const char *key)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(rows[i].key, key) == 0)
			return &rows[i];
	}
	return NULL;
}

/* Copies "a|b|c" as "a, b or c". */
static void words_as_range(const char *words, char *ret_text, size_t size)
{
	size_t used = 0;

	while (*words != '\0' && used + 1 < size) {
		size_t n = strcspn(words, "|");
		const char *next = words + n + (words[n] == '|');
		const char *joint = *next == '\0' ? "" : strchr(next, '|') != NULL ? ", " : " or ";

		used += (size_t)snprintf(ret_text + used, size - used, "%.*s%s", (int)n, words,
					 joint);
		words = next;
	}
}

void setting_range(const struct setting *row, char *ret_text, size_t size)
{
	char low[32], high[32];

	switch (row->type) {
	case SETTING_BYTES ... SETTING_CPUS:
		number_format((enum number_type)row->type, row->low, low, sizeof(low));
		number_format((enum number_type)row->type, row->high, high, sizeof(high));
		if (row->low == row->high)
			(void)snprintf(ret_text, size, "%s", low);
		else
			(void)snprintf(ret_text, size, "%s to %s", low, high);
		break;
	case SETTING_CHOICE:
		words_as_range(row->words, ret_text, size);
		break;
	case SETTING_BOOL:
		(void)snprintf(ret_text, size, "true or false");
		break;
	case SETTING_TEXT:
		if (row->words != NULL)
			(void)snprintf(ret_text, size, "%s", row->words);
		else if (row->low == row->high)
			(void)snprintf(ret_text, size, "a text of %u bytes", (unsigned)row->high);
		else if (row->low == 0)
			(void)snprintf(ret_text, size, "a text of up to %u bytes",
				       (unsigned)row->high);
		else
			(void)snprintf(ret_text, size, "a text of %u to %u bytes",
				       (unsigned)row->low, (unsigned)row->high);
		break;
	case SETTING_PATH:
		(void)snprintf(ret_text, size, "an absolute path");
		break;
	case SETTING_LIST:
		(void)snprintf(ret_text, size, "a list of up to %u texts", (unsigned)row->high);
		break;
	}
}

static int refuse(const struct setting *row, const char *text, struct err *err)
{
	static const char *const what[] = {
		[SETTING_BYTES] = "size",  [SETTING_COUNT] = "number", [SETTING_MS] = "time",
		[SETTING_CPUS] = "number", [SETTING_CHOICE] = "word",  [SETTING_BOOL] = "word",
		[SETTING_TEXT] = "text",   [SETTING_PATH] = "path",    [SETTING_LIST] = "list",
	};
	static const char *const example[] = {
		[SETTING_BYTES] = ", as in 512MiB, 1G or 4096",
		[SETTING_MS] = ", as in 30s or 1500ms",
		[SETTING_CPUS] = ", as in 0.5",
		[SETTING_LIST] = NULL,
	};
	char range[160] = "";

	setting_range(row, range, sizeof(range));
	/* A text with a required form may be a secret in the wrong place, so it is not repeated. */
	if (row->type == SETTING_TEXT && row->words != NULL)
		return err_set(err, ERR_BAD_REQUEST, EINVAL, "%s: must be %s", row->key, range);
	return err_set(err, ERR_BAD_REQUEST, EINVAL,
		       "%s: %.80s is not an allowed %s; allowed: %s%s", row->key,
		       *text != '\0' ? text : "(empty)", what[row->type], range,
		       example[row->type] != NULL ? example[row->type] : "");
}

static int parse_number(const struct setting *row, uint64_t *to, const char *text, struct err *err)
{
	uint64_t number;

	if (number_parse((enum number_type)row->type, text, &number) < 0 || number < row->low ||
	    number > row->high)
		return refuse(row, text, err);
	*to = number;
	return 0;
}

static int parse_choice(const struct setting *row, uint64_t *to, const char *text, struct err *err)
{
	const char *word = row->words;
	size_t size = strlen(text);

	for (uint64_t i = 0;; i++) {
		size_t n = strcspn(word, "|");

		if (n == size && memcmp(word, text, n) == 0) {
			*to = i;
			return 0;
		}
		if (word[n] == '\0')
			return refuse(row, text, err);
		word += n + 1;
	}
}

/* Accepts the words of YAML 1.1, so that `on` works as expected. */
static int parse_bool(const struct setting *row, bool *to, const char *text, struct err *err)
{
	static const char *const words[] = {"false", "true", "no", "yes", "off", "on"};

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (strcasecmp(text, words[i]) == 0) {
			*to = i % 2 == 1;
			return 0;
		}
	}
	return refuse(row, text, err);
}

/* "/srv//vault/" becomes "/srv/vault": one spelling for all later checks. */
static void squeeze_slashes(char *path)
{
	char *to = path;

	for (const char *from = path; *from != '\0'; from++) {
		if (*from != '/' || (from[1] != '/' && (from[1] != '\0' || to == path)))
			*to++ = *from;
	}
	*to = '\0';
}

static int parse_path(const struct setting *row, char **to, const char *text, struct err *err)
{
	const char *home = getenv("HOME");
	char path[TEXT_MAX];
	int n;

	if (strncmp(text, "~/", 2) == 0 && home != NULL && home[0] == '/')
		n = snprintf(path, sizeof(path), "%s/%s", home, text + 2);
	else
		n = snprintf(path, sizeof(path), "%s", text);
	if (n < 0 || (size_t)n >= sizeof(path))
		return err_set(err, ERR_BAD_REQUEST, EINVAL, "%s: the path is longer than %u bytes",
			       row->key, TEXT_MAX - 1);
	if (path[0] != '/' && !(path[0] == '\0' && row->low == 0))
		return refuse(row, text, err);

	squeeze_slashes(path);
	text_set(to, path);
	return 0;
}

int setting_parse(const struct setting *row, void *object, const char *text, struct err *err)
{
	switch (row->type) {
	case SETTING_BYTES ... SETTING_CPUS:
		return parse_number(row, member(row, object), text, err);
	case SETTING_CHOICE:
		return parse_choice(row, member(row, object), text, err);
	case SETTING_BOOL:
		return parse_bool(row, member(row, object), text, err);
	case SETTING_PATH:
		return parse_path(row, member(row, object), text, err);
	case SETTING_TEXT:
		if (strlen(text) < row->low || strlen(text) > row->high)
			return refuse(row, text, err);
		text_set(member(row, object), text);
		return 0;
	case SETTING_LIST:
		break;
	}
	return refuse(row, text, err);
}

int setting_parse_list(const struct setting *row, void *object, char *const *items, size_t count,
		       struct err *err)
{
	struct text_list list = {0};

	if (row->type != SETTING_LIST || count > row->high)
		return refuse(row, "this list", err);
	for (size_t i = 0; i < count; i++) {
		if (items[i] == NULL || items[i][0] == '\0' || strlen(items[i]) >= TEXT_MAX) {
			text_list_done(&list);
			return err_set(err, ERR_BAD_REQUEST, EINVAL,
				       "%s: entry %zu is empty or longer than %u bytes", row->key,
				       i + 1, TEXT_MAX - 1);
		}
		text_list_add(&list, items[i]);
	}

	text_list_done(member(row, object));
	*(struct text_list *)member(row, object) = list;
	return 0;
}

static void format_list(const struct text_list *list, char *ret_text, size_t size)
{
	size_t used = (size_t)snprintf(ret_text, size, "[");

	for (size_t i = 0; i < list->count && used < size; i++)
		used += (size_t)snprintf(ret_text + used, size - used, "%s%s", i > 0 ? ", " : "",
					 list->items[i]);
	if (used < size)
		(void)snprintf(ret_text + used, size - used, "]");
}

static void format_choice(const struct setting *row, uint64_t index, char *ret_text, size_t size)
{
	const char *word = row->words;

	for (; index > 0 && strchr(word, '|') != NULL; index--)
		word = strchr(word, '|') + 1;
	(void)snprintf(ret_text, size, "%.*s", (int)strcspn(word, "|"), word);
}

void setting_format(const struct setting *row, const void *object, char *ret_text, size_t size)
{
	const void *value = member_const(row, object);

	switch (row->type) {
	case SETTING_BYTES ... SETTING_CPUS:
		number_format((enum number_type)row->type, *(const uint64_t *)value, ret_text,
			      size);
		break;
	case SETTING_CHOICE:
		format_choice(row, *(const uint64_t *)value, ret_text, size);
		break;
	case SETTING_BOOL:
		(void)snprintf(ret_text, size, "%s", *(const bool *)value ? "true" : "false");
		break;
	case SETTING_TEXT:
	case SETTING_PATH:
		(void)snprintf(ret_text, size, "%s", *(char *const *)value);
		break;
	case SETTING_LIST:
		format_list(value, ret_text, size);
		break;
	}
}
