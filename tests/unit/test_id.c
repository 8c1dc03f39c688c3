// SPDX-License-Identifier: Apache-2.0
#include "base/c.h"
#include "base/id.h"
#include "unit.h"

#define COUNT 1000

static void starts_with_its_prefix_and_has_26_characters(void **state)
{
	char id[ID_SIZE];

	(void)state;
	id_new("run_", id);
	assert_memory_equal(id, "run_", 4);
	assert_int_equal(strlen(id), 30);
	assert_int_equal(strspn(id + 4, "0123456789abcdefghjkmnpqrstvwxyz"), 26);
}

static int compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void does_not_repeat(void **state)
{
	static char ids[COUNT][ID_SIZE];

	(void)state;
	for (size_t i = 0; i < COUNT; i++)
		id_new("ses_", ids[i]);
	qsort(ids, COUNT, ID_SIZE, compare);
	for (size_t i = 1; i < COUNT; i++)
		assert_string_not_equal(ids[i - 1], ids[i]);
}

/* 26000 draws of 32 letters: each is expected 812 times; 600 is seven deviations away. */
static void uses_every_letter(void **state)
{
	size_t seen[256] = {0};
	char id[ID_SIZE];

	(void)state;
	for (size_t i = 0; i < COUNT; i++) {
		id_new("", id);
		for (size_t k = 0; id[k] != '\0'; k++)
			seen[(unsigned char)id[k]]++;
	}
	for (const char *p = "0123456789abcdefghjkmnpqrstvwxyz"; *p != '\0'; p++)
		assert_true(seen[(unsigned char)*p] > 600);
}

static void a_long_prefix_is_cut_not_overrun(void **state)
{
	char id[ID_SIZE];

	(void)state;
	id_new("a-prefix-that-is-much-too-long-", id);
	assert_true(strlen(id) < ID_SIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(starts_with_its_prefix_and_has_26_characters),
		cmocka_unit_test(does_not_repeat),
		cmocka_unit_test(uses_every_letter),
		cmocka_unit_test(a_long_prefix_is_cut_not_overrun),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
