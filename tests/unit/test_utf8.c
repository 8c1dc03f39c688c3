// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "base/c.h"
#include "base/utf8.h"
#include "unit.h"

static void a_character_survives_its_bytes(void **state)
{
	static const uint32_t points[] = {0,      0x7f,   0x80,   0x7ff,   0x800,
					  0xd7ff, 0xe000, 0xffff, 0x10000, 0x10ffff};
	uint8_t bytes[4];
	uint32_t point = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(points); i++) {
		size_t n = utf8_encode(points[i], bytes);

		assert_int_equal(n, utf8_size(bytes[0]));
		assert_int_equal(utf8_decode(bytes, n, &point), n);
		assert_int_equal(point, points[i]);
		assert_int_equal(utf8_decode(bytes, n - 1, &point), 0);
	}
}

static void what_rfc_3629_forbids_is_no_character(void **state)
{
	static const char *const texts[] = {
		"\x80",     /* begins nothing */
		"\xc0\x80", /* overlong */
		"\xc1\xbf",
		"\xe0\x9f\xbf",
		"\xf0\x8f\xbf\xbf",
		"\xed\xa0\x80",     /* a surrogate */
		"\xf4\x90\x80\x80", /* above U+10FFFF */
		"\xf5\x80\x80\x80",
		"\xc3(",
		"\xe2\x82",
	};
	uint32_t point;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		assert_int_equal(utf8_decode(texts[i], strlen(texts[i]), &point), 0);
		assert_false(utf8_is_valid(texts[i], strlen(texts[i])));
	}
	assert_true(utf8_is_valid("", 0));
	assert_true(utf8_is_valid("a\xc3\xa4\xe2\x82\xac", 6));
}

static void a_text_is_cut_between_characters(void **state)
{
	static const char text[] = "a\xe2\x82\xac\xc3\xa4"; /* 1 + 3 + 2 bytes */
	static const size_t cuts[] = {0, 1, 1, 1, 4, 4, 6};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cuts); i++)
		assert_int_equal(utf8_cut(text, i), cuts[i]);
	assert_int_equal(utf8_count(text, strlen(text)), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_character_survives_its_bytes),
		cmocka_unit_test(what_rfc_3629_forbids_is_no_character),
		cmocka_unit_test(a_text_is_cut_between_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
