// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include "base/c.h"
#include "policy/plan.h"
#include "unit.h"

static const struct plan ordinary = {
	.version = PLAN_VERSION,
	.limits = LIMITS_MEASURED,
	.memory = 512 * MIB,
	.disk = 256 * MIB,
	.pids = 64,
	.cpus_milli = 1000,
	.files = 1024,
};

static void an_ordinary_plan_is_fine(void **state)
{
	struct err err = {0};

	(void)state;
	assert_ok(plan_check(&ordinary, &err), err);
}

static void names_the_number_that_is_out_of_range(void **state)
{
#define CHANGED(member_, value_)                                                                   \
	(struct plan){.member_ = (value_)}, offsetof(struct plan, member_),                        \
		sizeof(ordinary.member_), #member_
	const struct {
		struct plan change;
		size_t offset, size;
		const char *name;
	} cases[] = {
		{CHANGED(version, 0)},
		{CHANGED(version, PLAN_VERSION + 1)},
		{CHANGED(limits, LIMITS_MEASURED + 1)},
		{CHANGED(memory, 1 * MIB)},
		{CHANGED(memory, UINT64_MAX)},
		{CHANGED(disk, 0)},
		{CHANGED(disk, UINT64_MAX)},
		{CHANGED(pids, 0)},
		{CHANGED(pids, UINT32_MAX)},
		{CHANGED(cpus_milli, 0)},
		{CHANGED(cpus_milli, UINT32_MAX)},
		{CHANGED(files, 3)},
		{CHANGED(files, UINT32_MAX)},
		{CHANGED(shown, SHOWN_COUNT)},
		{CHANGED(io, PLAN_IO_MIN - 1)},
		{CHANGED(io, UINT64_MAX)},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct plan plan = ordinary;
		struct err err = {0};

		memcpy((char *)&plan + cases[i].offset,
		       (const char *)&cases[i].change + cases[i].offset, cases[i].size);
		assert_int_equal(plan_check(&plan, &err), -EINVAL);
		assert_contains(err.text, cases[i].name);
	}
}

static void every_wall_has_its_own_name(void **state)
{
	(void)state;
	for (int i = 0; i < WALL_COUNT; i++) {
		assert_non_null(wall_name((enum wall_id)i));
		for (int k = 0; k < i; k++)
			assert_string_not_equal(wall_name((enum wall_id)i),
						wall_name((enum wall_id)k));
	}
	assert_string_equal(wall_name(WALL_COUNT), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_ordinary_plan_is_fine),
		cmocka_unit_test(names_the_number_that_is_out_of_range),
		cmocka_unit_test(every_wall_has_its_own_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
