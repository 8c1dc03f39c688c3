// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include "base/c.h"
#include "policy/number.h"
#include "unit.h"

static void reads_what_people_write(void **state)
{
	static const struct {
		enum number_type type;
		const char *text;
		uint64_t number;
	} cases[] = {
		{NUMBER_BYTES, "0", 0},
		{NUMBER_BYTES, "4096", 4096},
		{NUMBER_BYTES, "4096B", 4096},
		{NUMBER_BYTES, "512MiB", 512 * MIB},
		{NUMBER_BYTES, "512M", 512 * MIB},
		{NUMBER_BYTES, "512m", 512 * MIB},
		{NUMBER_BYTES, "1G", GIB},
		{NUMBER_BYTES, "1g", GIB},
		{NUMBER_BYTES, "64KiB", 65536},
		{NUMBER_BYTES, "9223372036854775807", INT64_MAX},
		{NUMBER_MS, "30s", 30000},
		{NUMBER_MS, "1500ms", 1500},
		{NUMBER_MS, "2m", 120000},
		{NUMBER_MS, "1h", 3600000},
		{NUMBER_CPUS, "1", 1000},
		{NUMBER_CPUS, "0.5", 500},
		{NUMBER_CPUS, "1.25", 1250},
		{NUMBER_CPUS, "2.0", 2000},
		{NUMBER_CPUS, "0.001", 1},
		{NUMBER_COUNT, "64", 64},
		{NUMBER_COUNT, "0064", 64},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		uint64_t number = 0;

		if (number_parse(cases[i].type, cases[i].text, &number) != 0)
			fail_msg("%s is a number", cases[i].text);
		assert_int_equal(number, cases[i].number);
	}
}

static void refuses_anything_else(void **state)
{
	static const struct {
		enum number_type type;
		const char *text;
	} cases[] = {
		{NUMBER_BYTES, ""},       {NUMBER_BYTES, "-1"},   {NUMBER_BYTES, "+1"},
		{NUMBER_BYTES, " 1"},     {NUMBER_BYTES, "1 "},   {NUMBER_BYTES, "1 MiB"},
		{NUMBER_BYTES, "1.5GiB"}, {NUMBER_BYTES, "MiB"},  {NUMBER_BYTES, "1MB"},
		{NUMBER_BYTES, "1MiBx"},  {NUMBER_BYTES, "0x10"}, {NUMBER_BYTES, "1e3"},
		{NUMBER_BYTES, "1_000"},  {NUMBER_BYTES, "inf"},  {NUMBER_BYTES, "\xd9\xa1"},
		{NUMBER_MS, ""},          {NUMBER_MS, "30"},      {NUMBER_MS, "30 s"},
		{NUMBER_MS, "-30s"},      {NUMBER_MS, "30S"},     {NUMBER_MS, "1.5s"},
		{NUMBER_MS, "30sec"},     {NUMBER_MS, "1m30s"},   {NUMBER_CPUS, ""},
		{NUMBER_CPUS, "."},       {NUMBER_CPUS, ".5"},    {NUMBER_CPUS, "1."},
		{NUMBER_CPUS, "0.0001"},  {NUMBER_CPUS, "1.5.1"}, {NUMBER_CPUS, "1,5"},
		{NUMBER_CPUS, "-1"},      {NUMBER_CPUS, "1e1"},   {NUMBER_CPUS, "nan"},
		{NUMBER_COUNT, ""},       {NUMBER_COUNT, "1k"},   {NUMBER_COUNT, "1.0"},
		{NUMBER_COUNT, "12\n"},   {NUMBER_COUNT, "--1"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		uint64_t number = 4711;

		if (number_parse(cases[i].type, cases[i].text, &number) != -EINVAL)
			fail_msg("\"%s\" is no number", cases[i].text);
		assert_int_equal(number, 4711);
	}
}

static void does_not_wrap_around(void **state)
{
	static const struct {
		enum number_type type;
		const char *text;
	} cases[] = {
		{NUMBER_COUNT, "9223372036854775808"},
		{NUMBER_COUNT, "18446744073709551616"},
		{NUMBER_COUNT, "99999999999999999999999999999999999999"},
		{NUMBER_BYTES, "8589934592GiB"},
		{NUMBER_BYTES, "17179869184G"},
		{NUMBER_BYTES, "9007199254740992K"},
		{NUMBER_MS, "9223372036854775807s"},
		{NUMBER_MS, "2562047788016h"},
		{NUMBER_CPUS, "9223372036854775"},
	};
	uint64_t number;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		if (number_parse(cases[i].type, cases[i].text, &number) != -ERANGE)
			fail_msg("%s is too large", cases[i].text);
	}
}

static void writes_what_it_reads(void **state)
{
	static const struct {
		enum number_type type;
		uint64_t number;
		const char *text;
	} cases[] = {
		{NUMBER_BYTES, 0, "0"},
		{NUMBER_BYTES, 1000, "1000"},
		{NUMBER_BYTES, 512 * MIB, "512MiB"},
		{NUMBER_BYTES, 1536 * KIB, "1536KiB"},
		{NUMBER_BYTES, 2 * GIB, "2GiB"},
		{NUMBER_BYTES, INT64_MAX, "9223372036854775807"},
		{NUMBER_MS, 0, "0ms"},
		{NUMBER_MS, 1500, "1500ms"},
		{NUMBER_MS, 30000, "30s"},
		{NUMBER_MS, 120000, "120s"},
		{NUMBER_MS, 150000, "150s"},
		{NUMBER_MS, 1800000, "30m"},
		{NUMBER_MS, 7200000, "2h"},
		{NUMBER_CPUS, 1000, "1"},
		{NUMBER_CPUS, 500, "0.5"},
		{NUMBER_CPUS, 10, "0.01"},
		{NUMBER_CPUS, 1001, "1.001"},
		{NUMBER_COUNT, 64, "64"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char text[32];
		uint64_t number = 1;

		number_format(cases[i].type, cases[i].number, text, sizeof(text));
		assert_string_equal(text, cases[i].text);
		assert_int_equal(number_parse(cases[i].type, text, &number), 0);
		assert_int_equal(number, cases[i].number);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_what_people_write),
		cmocka_unit_test(refuses_anything_else),
		cmocka_unit_test(does_not_wrap_around),
		cmocka_unit_test(writes_what_it_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
