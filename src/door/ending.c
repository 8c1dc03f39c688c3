// SPDX-License-Identifier: Apache-2.0
#include "door/ending.h"

#include <stdlib.h>
#include <string.h>

#define NUMBER_SIZE 32

static struct escaped text_of(struct span object, const char *name)
{
	return escaped_member(object.at, object.size, name);
}

static struct span list_of(struct span object, const char *name)
{
	struct span found = span_member(object, name);

	return found.size > 0 && found.at[0] == '[' ? found : (struct span){"", 0};
}

static bool is_true(struct span object, const char *name)
{
	struct span found = span_member(object, name);

	return found.size > 0 && found.at[0] == 't';
}

static double number_of(struct span object, const char *name)
{
	struct span found = span_member(object, name);
	char digits[NUMBER_SIZE] = "";

	if (found.size == 0 || found.size >= sizeof(digits))
		return 0;
	memcpy(digits, found.at, found.size);
	return strtod(digits, NULL);
}

bool ending_read(const char *json, size_t size, struct ending *ret_ending)
{
	struct span whole = {.at = json, .size = size};
	struct span verdict = span_member(whole, "verdict");
	struct span cut = span_member(whole, "truncated");
	struct span saved = span_member(whole, "saved_state");
	struct span usage = span_member(whole, "usage");
	struct span code = span_member(verdict, "exit_code");
	struct escaped kind = text_of(verdict, "kind");

	*ret_ending = (struct ending){
		.exit_code = (int)number_of(verdict, "exit_code"),
		.signal = (int)number_of(verdict, "signal"),
		.code = code.size > 0 ? code : (struct span){"null", 4},
		.message = text_of(verdict, "message"),
		.remedy = text_of(verdict, "remedy"),
		.out = text_of(whole, "stdout"),
		.err = text_of(whole, "stderr"),
		.traceback = text_of(span_member(whole, "error"), "traceback"),
		.is_out_cut = is_true(cut, "stdout"),
		.is_err_cut = is_true(cut, "stderr"),
		.is_value_cut = is_true(cut, "result"),
		.value = span_member(span_member(whole, "result"), "application/json"),
		.saved = text_of(saved, "base64"),
		.lost = list_of(saved, "lost"),
		.packages = list_of(saved, "packages"),
		.files = list_of(whole, "files"),
		.charts = list_of(whole, "charts"),
		.wall_ms = number_of(usage, "wall_ms"),
		.cpu_ms = number_of(usage, "cpu_ms"),
		.memory = number_of(usage, "peak_memory"),
	};
	if (kind.size == 0 || kind.size >= sizeof(ret_ending->kind))
		return false;
	memcpy(ret_ending->kind, kind.text, kind.size);
	return true;
}

bool ending_is(const struct ending *ending, const char *kind)
{
	return strcmp(ending->kind, kind) == 0;
}
