// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "door/librechat/multipart.h"
#include "unit.h"

#define TYPE "multipart/form-data; boundary=XX"
#define PART(head_, body_) "--XX\r\n" head_ "\r\n\r\n" body_ "\r\n"
#define NAMED "Content-Disposition: form-data; name=\"file\"; filename=\"a b.csv\""

static bool open_text(struct multipart *parts, const char *type, const char *body)
{
	return multipart_open(parts, type, body, strlen(body));
}

static void assert_text(struct multipart_text text, const char *expected)
{
	assert_int_equal(text.size, strlen(expected));
	assert_memory_equal(text.text, expected, text.size);
}

static void finds_names_and_bytes(void **state)
{
	struct multipart_part part;
	struct multipart parts;

	(void)state;
	assert_true(open_text(
		&parts, TYPE,
		PART("content-disposition: form-data; name=entity_id", "")
			PART(NAMED "\r\nContent-Type: text/csv", "1\r\n--X\r\n2") "--XX--\r\n"));
	assert_int_equal(multipart_next(&parts, &part), 1);
	assert_text(part.name, "entity_id");
	assert_null(part.filename.text);
	assert_int_equal(part.bytes.size, 0);
	assert_int_equal(multipart_next(&parts, &part), 1);
	assert_text(part.name, "file");
	assert_text(part.filename, "a b.csv");
	assert_text(part.bytes, "1\r\n--X\r\n2");
	assert_int_equal(multipart_next(&parts, &part), 0);
}

static void a_boundary_may_stand_in_quotes(void **state)
{
	struct multipart parts;

	(void)state;
	assert_true(
		open_text(&parts, "Multipart/Form-Data; charset=utf-8; boundary=\"XX\"", "--XX--"));
}

static void refuses_what_is_something_else(void **state)
{
	struct multipart parts;

	(void)state;
	assert_false(open_text(&parts, NULL, "--XX--"));
	assert_false(open_text(&parts, "application/json", "--XX--"));
	assert_false(open_text(&parts, "multipart/form-data", "--XX--"));
	assert_false(open_text(&parts, "multipart/form-data; boundary=", "--XX--"));
	assert_false(open_text(&parts, "multipart/form-data; boundary=\"XX", "--XX--"));
	assert_false(open_text(&parts, TYPE, "--YY--"));
	assert_false(open_text(&parts, TYPE, ""));
	assert_false(
		open_text(&parts,
			  "multipart/form-data; boundary="
			  "0123456789012345678901234567890123456789012345678901234567890123456789X",
			  "--0"));
}

static void tells_a_body_that_is_cut_off(void **state)
{
	static const char whole[] = PART(NAMED, "bytes") "--XX--";
	struct multipart_part part;
	struct multipart parts;

	(void)state;
	for (size_t size = 4; size < sizeof(whole) - 1; size++) {
		int r;

		assert_true(multipart_open(&parts, TYPE, whole, size));
		do {
			r = multipart_next(&parts, &part);
		} while (r == 1);
		assert_int_equal(r, -1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_names_and_bytes),
		cmocka_unit_test(a_boundary_may_stand_in_quotes),
		cmocka_unit_test(refuses_what_is_something_else),
		cmocka_unit_test(tells_a_body_that_is_cut_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
