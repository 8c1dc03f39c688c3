// SPDX-License-Identifier: Apache-2.0
#include "door/ending.h"

#include <string.h>

static struct span list(struct span value)
{
	return value.size > 0 && value.at[0] == '[' ? value : (struct span){"", 0};
}

bool ending_read(const struct result *result, struct ending *ret_ending)
{
	struct span verdict = result->members[RESULT_VERDICT];
	struct span saved = result->members[RESULT_SAVED];
	struct span code = span_member(verdict, "exit_code");

	*ret_ending = (struct ending){
		.kind = result->verdict.kind,
		.exit_code = result->verdict.exit_code,
		.signal = result->verdict.signal,
		.code = code.size > 0 ? code : (struct span){"null", 4},
		.message = escaped_member(verdict, "message"),
		.out = escaped_of(result->members[RESULT_STDOUT]),
		.err = escaped_of(result->members[RESULT_STDERR]),
		.traceback = escaped_member(result->members[RESULT_ERROR], "traceback"),
		.is_out_cut = result->truncated.out,
		.is_err_cut = result->truncated.err,
		.is_value_cut = result->truncated.result,
		.value = span_member(result->members[RESULT_RESULT], "application/json"),
		.saved = escaped_member(saved, "base64"),
		.lost = list(span_member(saved, "lost")),
		.packages = list(span_member(saved, "packages")),
		.files = list(result->members[RESULT_FILES]),
		.charts = list(result->members[RESULT_CHARTS]),
		.usage = result->usage,
	};
	return result->verdict.kind != VERDICT_NONE;
}

const char *ending_kind(const struct ending *ending)
{
	return ending->kind != VERDICT_NONE ? verdict_name(ending->kind) : "";
}

bool ending_is(const struct ending *ending, const char *kind)
{
	return strcmp(ending_kind(ending), kind) == 0;
}
