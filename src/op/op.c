// SPDX-License-Identifier: Apache-2.0
#include "op/op.h"

#include <string.h>

void op_answer(struct op_call *call, unsigned status, struct buf *take_json)
{
	call->door->answer(call, status, take_json);
}

void op_fail(struct op_call *call, const struct err *err)
{
	call->door->fail(call, err);
}

void op_stream(struct op_call *call, unsigned status, const char *type, int64_t size,
	       const struct op_source *source)
{
	call->door->stream(call, status, type, size, source);
}

void op_wake(struct op_call *call)
{
	call->door->wake(call);
}

bool op_hold(struct op_call *call, uint64_t size)
{
	return call->door->hold == NULL || call->door->hold(call, size);
}

void op_client_set(struct op_caller *caller, const char *text)
{
	size_t size = text != NULL ? strnlen(text, OP_CLIENT_MAX + 1) : 0;

	caller->client[0] = '\0';
	if (size == 0 || size > OP_CLIENT_MAX)
		return;
	for (size_t i = 0; i < size; i++) {
		if (text[i] < 0x20 || text[i] > 0x7e)
			return;
	}
	memcpy(caller->client, text, size + 1);
}

bool op_may_see(const struct op_caller *caller, const char *token)
{
	return caller->is_overseer || strcmp(token, caller->name) == 0;
}
