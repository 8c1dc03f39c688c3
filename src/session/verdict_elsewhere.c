// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "session/testimony.h"
#include "session/verdict.h"

/* Limits that a verdict may name. */
static const char *const limits[] = {"memory", "timeout_ms", "output", "disk"};

static bool find(const char *object, size_t size, const char *name, char *text, size_t room)
{
	const char *value = NULL;
	size_t value_size = 0;

	text[0] = '\0';
	if (!json_find(object, size, name, &value, &value_size))
		return false;
	if (value[0] == '"') {
		testimony_text(value, value_size, text, room);
		return true;
	}
	if (value_size >= room)
		return false;
	memcpy(text, value, value_size);
	text[value_size] = '\0';
	return true;
}

/* A whole number between these; `other` for anything else. */
static long long number(const char *object, size_t size, const char *name, long long low,
			long long high, long long other)
{
	char text[32];
	char *end = NULL;
	long long found;

	if (!find(object, size, name, text, sizeof(text)) || text[0] == '\0')
		return other;
	found = strtoll(text, &end, 10);
	return *end == '\0' && found >= low && found <= high ? found : other;
}

static enum verdict_kind kind_named(const char *name)
{
	for (enum verdict_kind kind = VERDICT_OK; kind <= VERDICT_BACKEND; kind++) {
		if (strcmp(verdict_name(kind), name) == 0)
			return kind;
	}
	return VERDICT_NONE;
}

struct verdict verdict_elsewhere(const char *event, size_t size, bool is_remote)
{
	struct verdict verdict = {0};
	const char *object = NULL;
	size_t object_size = 0;
	char text[64];
	int usual;

	if (!json_find(event, size, "verdict", &object, &object_size) || object[0] != '{')
		return verdict;
	(void)find(object, object_size, "kind", text, sizeof(text));
	verdict.kind = kind_named(text);
	if (verdict.kind == VERDICT_NONE)
		return verdict;
	usual = verdict_exit_status(&verdict);
	verdict.exit_code = (int)number(object, object_size, "exit_code", 0, 255, usual);
	verdict.signal = (int)number(object, object_size, "signal", 0, 64, 0);
	(void)find(object, object_size, "message", verdict.message, sizeof(verdict.message));
	(void)find(object, object_size, "remedy", verdict.remedy, sizeof(verdict.remedy));
	(void)find(object, object_size, "remedy_key", text, sizeof(text));
	verdict.remedy_key = remedy_key(text, strlen(text));
	(void)find(object, object_size, "remedy_detail", verdict.remedy_detail,
		   sizeof(verdict.remedy_detail));
	(void)find(object, object_size, "limit", text, sizeof(text));
	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		if (strcmp(limits[i], text) == 0)
			verdict.limit = limits[i];
	}
	verdict.limit_value = (uint64_t)number(object, object_size, "limit_value", 0, 1LL << 50, 0);
	verdict.peak = (uint64_t)number(object, object_size, "peak", 0, 1LL << 50, 0);
	verdict.is_by_remote = is_remote;
	return verdict;
}
