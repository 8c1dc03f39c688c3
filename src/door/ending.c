// SPDX-License-Identifier: Apache-2.0
#include "door/ending.h"

#include <string.h>

static struct escaped text_of(struct span object, const char *name)
{
	return escaped_member(object.at, object.size, name);
}

static struct escaped inside(struct span value)
{
	return escaped_of(value.at, value.size);
}

static struct span list(struct span value)
{
	return value.size > 0 && value.at[0] == '[' ? value : (struct span){"", 0};
}

bool ending_read(const char *json, size_t size, struct ending *ret_ending)
{
	struct result result;
	struct span verdict, saved, code;

	result_read(json, size, &result);
	verdict = result.members[RESULT_VERDICT];
	saved = result.members[RESULT_SAVED];
	code = span_member(verdict, "exit_code");
	*ret_ending = (struct ending){
		.kind = result.verdict.kind,
		.exit_code = result.verdict.exit_code,
		.signal = result.verdict.signal,
		.code = code.size > 0 ? code : (struct span){"null", 4},
		.message = text_of(verdict, "message"),
		.remedy = text_of(verdict, "remedy"),
		.out = inside(result.members[RESULT_STDOUT]),
		.err = inside(result.members[RESULT_STDERR]),
		.traceback = text_of(result.members[RESULT_ERROR], "traceback"),
		.is_out_cut = result.truncated.out,
		.is_err_cut = result.truncated.err,
		.is_value_cut = result.truncated.result,
		.value = span_member(result.members[RESULT_RESULT], "application/json"),
		.saved = text_of(saved, "base64"),
		.lost = list(span_member(saved, "lost")),
		.packages = list(span_member(saved, "packages")),
		.files = list(result.members[RESULT_FILES]),
		.charts = list(result.members[RESULT_CHARTS]),
		.usage = result.usage,
	};
	return result.verdict.kind != VERDICT_NONE;
}

const char *ending_kind(const struct ending *ending)
{
	return ending->kind != VERDICT_NONE ? verdict_name(ending->kind) : "";
}

bool ending_is(const struct ending *ending, const char *kind)
{
	return strcmp(ending_kind(ending), kind) == 0;
}
