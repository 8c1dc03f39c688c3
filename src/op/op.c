// SPDX-License-Identifier: Apache-2.0
#include "op/op.h"

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
