// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "session/request.h"
#include "unit.h"

static void the_counts_of_the_rows_are_right(void **state)
{
	(void)state;
	for (size_t i = 0; i < RUN_PARAMS; i++) {
		if (run_params[i].name == NULL)
			fail_msg("RUN_PARAMS is %d, but there are %zu rows", RUN_PARAMS, i);
	}
	if (strcmp(run_params[RUN_PARAMS_SESSION].name, "policy") != 0)
		fail_msg("RUN_PARAMS_SESSION is %d, but that row is %s, not policy",
			 RUN_PARAMS_SESSION, run_params[RUN_PARAMS_SESSION].name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_counts_of_the_rows_are_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
