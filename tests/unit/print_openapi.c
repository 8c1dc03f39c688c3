// SPDX-License-Identifier: Apache-2.0
/* Prints what GET /openapi.json answers, for check_openapi.py. */
#include <stdio.h>

#include "api/openapi.h"
#include "api/router_state.h"

int main(void)
{
	const struct op *const *const tables[] = {op_table, native_ops, NULL};
	struct buf text;

	buf_init(&text, 4U << 20);
	if (openapi_put(tables, &text) < 0)
		return 1;
	(void)fwrite(text.data, 1, text.size, stdout);
	buf_done(&text);
	return 0;
}
