// SPDX-License-Identifier: Apache-2.0
#include "api/values.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/c.h"
#include "policy/number.h"

#define EXACT_MAX 9007199254740992.0 /* 2^53: every integer up to here is a double */
#define SHOWN_MAX 80
#define QUERY_TEXTS_MAX 64U

struct decode_chunk {
	struct decode_chunk *next; /* owned */
	max_align_t bytes[];
};

/* Memory that lives as long as the arguments. */
static void *value_memory(struct decoded *decoded, size_t size)
{
	struct decode_chunk *chunk = xcalloc(1, sizeof(*chunk) + size);

	chunk->next = decoded->chunks;
	decoded->chunks = chunk;
	return chunk->bytes;
}

static const char *value_copy(struct decoded *decoded, const char *text, size_t size)
{
	char *copy = value_memory(decoded, size + 1);

	memcpy(copy, text, size);
	return copy;
}

void decoded_done(struct decoded *decoded)
{
	if (decoded == NULL)
		return;
	while (decoded->chunks != NULL) {
		struct decode_chunk *chunk = decoded->chunks;

		decoded->chunks = chunk->next;
		free(chunk);
	}
	free(decoded->args);
	decoded->args = NULL;
}

static void *field(const struct decoded *decoded, const struct op_param *param)
{
	return (char *)decoded->args + param->offset;
}

static enum number_type number_type(enum op_type type)
{
	if (type == OP_SIZE)
		return NUMBER_BYTES;
	return type == OP_CPUS ? NUMBER_CPUS : NUMBER_COUNT;
}

static const char *expected(const struct op_param *param)
{
	switch (param->type) {
	case OP_TEXT:
	case OP_BYTES:
		return "a string";
	case OP_MS:
		return "a whole number of milliseconds";
	case OP_SIZE:
		return "a number of bytes, or a string of a whole number and KiB, MiB or GiB, "
		       "as in \"512MiB\"";
	case OP_COUNT:
		return "a whole number";
	case OP_CPUS:
		return "a number, as in 0.5";
	case OP_BOOL:
		return "true or false";
	case OP_TEXTS:
		return "a list of strings";
	case OP_PAIRS:
		return "an object whose values are strings";
	case OP_FILES:
		return "a list of files";
	case OP_TABLE:
		return "a table";
	case OP_JSON:
		break;
	}
	return "a JSON value";
}

static int refuse(const struct op_param *param, struct err *err)
{
	if (param->type == OP_COUNT && param->max == 0)
		return err_field(err, ERR_BAD_REQUEST, EINVAL, param->name,
				 "must be a whole number, %llu or more",
				 (unsigned long long)param->min);
	if (param->type == OP_COUNT)
		return err_field(err, ERR_BAD_REQUEST, EINVAL, param->name,
				 "must be a whole number from %llu to %llu",
				 (unsigned long long)param->min, (unsigned long long)param->max);
	return err_field(err, ERR_BAD_REQUEST, EINVAL, param->name, "must be %s", expected(param));
}

/* A range as the client writes it: milliseconds as a plain number. */
static int refuse_range(const struct op_param *param, struct err *err)
{
	enum number_type type = number_type(param->type);
	const char *unit = param->type == OP_MS ? " milliseconds" : "";
	char low[32], high[32];

	number_format(type, param->min, low, sizeof(low));
	number_format(type, param->max, high, sizeof(high));
	if (param->max == 0)
		return err_field(err, ERR_BAD_REQUEST, EINVAL, param->name, "must be at least %s%s",
				 low, unit);
	return err_field(err, ERR_BAD_REQUEST, EINVAL, param->name, "must be from %s to %s%s", low,
			 high, unit);
}

static int store_number(struct decoded *decoded, const struct op_param *param, uint64_t number,
			struct err *err)
{
	if (number < param->min || (param->max > 0 && number > param->max))
		return refuse_range(param, err);
	*(uint64_t *)field(decoded, param) = number;
	return 0;
}

bool value_is_choice(const char *choices, const char *text)
{
	size_t size = strlen(text);

	while (true) {
		size_t n = strcspn(choices, "|");

		if (n == size && memcmp(choices, text, n) == 0)
			return true;
		if (choices[n] == '\0')
			return false;
		choices += n + 1;
	}
}

static int store_text(struct decoded *decoded, const struct op_param *param, const char *text,
		      size_t size, struct err *err)
{
	if (memchr(text, 0, size) != NULL)
		return err_field(err, ERR_BAD_REQUEST, EINVAL, param->name, "must not contain NUL");
	if (param->choices != NULL && !value_is_choice(param->choices, text))
		return err_field(err, ERR_BAD_REQUEST, EINVAL, param->name,
				 "'%.*s' is not one of %s", SHOWN_MAX, text, param->choices);
	if (param->type == OP_TEXT && param->max > 0 && size > param->max)
		return err_field(err, ERR_BAD_REQUEST, EINVAL, param->name,
				 "longer than %llu bytes", (unsigned long long)param->max);
	*(const char **)field(decoded, param) = value_copy(decoded, text, size);
	return 0;
}

static void store_bool(struct decoded *decoded, const struct op_param *param, bool is_yes)
{
	*(enum op_bool *)field(decoded, param) = is_yes ? OP_YES : OP_NO;
}

/* JSON has one kind of number: 30000.0 is as whole as 30000. */
static int number_from_json(struct decoded *decoded, const struct op_param *param,
			    const json_t *json, struct err *err)
{
	double scale = param->type == OP_CPUS ? 1000 : 1;
	double number = json_number_value(json) * scale;
	uint64_t parsed;

	if (param->type == OP_SIZE && json_is_string(json)) {
		if (strlen(json_string_value(json)) != json_string_length(json) ||
		    number_parse(NUMBER_BYTES, json_string_value(json), &parsed) < 0)
			return refuse(param, err);
		return store_number(decoded, param, parsed, err);
	}
	if (!json_is_number(json))
		return refuse(param, err);
	if (number < 0)
		return refuse_range(param, err);
	if (json_is_integer(json) && param->type != OP_CPUS)
		return store_number(decoded, param, (uint64_t)json_integer_value(json), err);
	if (param->type == OP_CPUS)
		number = round(number);
	if (number > EXACT_MAX && param->max == 0)
		return err_field(err, ERR_BAD_REQUEST, EINVAL, param->name, "is too large");
	if (number > EXACT_MAX)
		return refuse_range(param, err);
	if (floor(number) != number)
		return refuse(param, err);
	return store_number(decoded, param, (uint64_t)number, err);
}

static int texts_from_json(struct decoded *decoded, const struct op_param *param,
			   const json_t *json, struct err *err)
{
	size_t count = json_array_size(json);
	const char **texts;

	if (!json_is_array(json))
		return refuse(param, err);
	texts = value_memory(decoded, (count + 1) * sizeof(*texts));
	for (size_t i = 0; i < count; i++) {
		const json_t *item = json_array_get(json, i);
		const char *text = json_string_value(item);

		if (text == NULL || strlen(text) != json_string_length(item))
			return refuse(param, err);
		texts[i] = value_copy(decoded, text, strlen(text));
	}
	*(const char *const **)field(decoded, param) = texts;
	return 0;
}

static int pairs_from_json(struct decoded *decoded, const struct op_param *param, json_t *json,
			   struct err *err)
{
	size_t count = json_object_size(json), i = 0;
	const char **pairs;
	const char *key;
	json_t *item;

	if (!json_is_object(json))
		return refuse(param, err);
	pairs = value_memory(decoded, (count + 1) * sizeof(*pairs));
	json_object_foreach(json, key, item) {
		const char *text = json_string_value(item);
		size_t key_size = strlen(key);
		char *pair;

		if (text == NULL || strlen(text) != json_string_length(item))
			return refuse(param, err);
		if (key_size == 0 || strchr(key, '=') != NULL)
			return err_field(err, ERR_BAD_REQUEST, EINVAL, param->name,
					 "'%.*s' is not a valid name", SHOWN_MAX, key);
		pair = value_memory(decoded, key_size + strlen(text) + 2);
		(void)snprintf(pair, key_size + strlen(text) + 2, "%s=%s", key, text);
		pairs[i++] = pair;
	}
	*(const char *const **)field(decoded, param) = pairs;
	return 0;
}

int value_from_json(struct decoded *decoded, const struct op_param *param, const json_t *json,
		    struct err *err)
{
	switch (param->type) {
	case OP_TEXT:
		if (json_is_null(json) && param->takes_null)
			return store_text(decoded, param, "", 0, err);
		if (!json_is_string(json))
			return refuse(param, err);
		return store_text(decoded, param, json_string_value(json), json_string_length(json),
				  err);
	case OP_MS:
	case OP_SIZE:
	case OP_COUNT:
	case OP_CPUS:
		return number_from_json(decoded, param, json, err);
	case OP_BOOL:
		if (!json_is_boolean(json))
			return refuse(param, err);
		store_bool(decoded, param, json_is_true(json));
		return 0;
	case OP_TEXTS:
		return texts_from_json(decoded, param, json, err);
	case OP_PAIRS:
		/* jansson's iterator takes no const object; nothing is changed. */
		return pairs_from_json(decoded, param, (json_t *)(uintptr_t)json, err);
	case OP_BYTES:
	case OP_JSON:
	case OP_TABLE:
	case OP_FILES:
		break;
	}
	return refuse(param, err);
}

static int bool_from_text(struct decoded *decoded, const struct op_param *param, const char *text,
			  struct err *err)
{
	static const char *const words[] = {"false", "true", "0", "1", "no", "yes"};

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (strcmp(text, words[i]) == 0) {
			store_bool(decoded, param, i % 2 == 1);
			return 0;
		}
	}
	if (text[0] != '\0')
		return refuse(param, err);
	store_bool(decoded, param, true); /* "?recursive" */
	return 0;
}

/* OP_TEXTS of a query: `text` becomes one more entry. */
static int value_add_text(struct decoded *decoded, const struct op_param *param, const char *text,
			  struct err *err)
{
	const char *const **list = field(decoded, param);
	size_t count = 0;
	const char **texts;

	while (*list != NULL && (*list)[count] != NULL)
		count++;
	if (count == QUERY_TEXTS_MAX)
		return err_field(err, ERR_BAD_REQUEST, EINVAL, param->name,
				 "given more than %u times", QUERY_TEXTS_MAX);
	texts = value_memory(decoded, (count + 2) * sizeof(*texts));
	if (count > 0)
		memcpy(texts, *list, count * sizeof(*texts));
	texts[count] = value_copy(decoded, text, strlen(text));
	*list = texts;
	return 0;
}

int value_from_text(struct decoded *decoded, const struct op_param *param, const char *text,
		    struct err *err)
{
	uint64_t number;

	switch (param->type) {
	case OP_TEXT:
		return store_text(decoded, param, text, strlen(text), err);
	case OP_MS:
	case OP_SIZE:
	case OP_COUNT:
	case OP_CPUS:
		if (number_parse(number_type(param->type), text, &number) < 0)
			return refuse(param, err);
		return store_number(decoded, param, number, err);
	case OP_BOOL:
		return bool_from_text(decoded, param, text, err);
	case OP_TEXTS:
		return value_add_text(decoded, param, text, err);
	case OP_PAIRS:
	case OP_BYTES:
	case OP_JSON:
	case OP_TABLE:
	case OP_FILES:
		break;
	}
	return refuse(param, err);
}
