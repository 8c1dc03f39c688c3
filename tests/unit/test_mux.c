// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include "base/c.h"
#include "proto/mux.h"
#include "unit.h"

static void comes_back_as_it_was_appended(void **state)
{
	const uint32_t numbers[] = {7, 9};
	struct mux_chunk chunk = {0};
	struct err err = {0};
	struct buf buf;

	(void)state;
	buf_init(&buf, 1000);
	assert_int_equal(mux_append(&buf, 5, MUX_DATA, "hello", 5), 0);
	assert_int_equal(mux_append(&buf, 0, MUX_ATTACH, numbers, sizeof(numbers)), 0);
	for (size_t size = 0; size < 17; size++)
		assert_int_equal(mux_decode(buf.data, size, &chunk, &err), 0);
	assert_int_equal(mux_decode(buf.data, buf.size, &chunk, &err), 17);
	assert_int_equal(chunk.header.port, 5);
	assert_memory_equal(chunk.bytes, "hello", 5);
	assert_int_equal(mux_decode(buf.data + 17, buf.size - 17, &chunk, &err), 20);
	assert_int_equal(mux_number(&chunk, 0), 7);
	assert_int_equal(mux_number(&chunk, 1), 9);
	assert_int_equal(mux_append(&buf, 5, MUX_DATA, NULL, MUX_CHUNK_MAX + 1), -EMSGSIZE);
	buf_done(&buf);
}

static void refuses_by_the_header_alone(void **state)
{
	static const struct {
		struct mux_header header;
		int r;
	} rows[] = {
		{{MUX_CHUNK_MAX + 1, 0, MUX_DATA, 0}, -EMSGSIZE},
		{{UINT32_MAX, 0, MUX_DATA, 0}, -EMSGSIZE},
		{{0, 0, MUX_DATA, 0}, -EPROTO},
		{{1, 0, MUX_DATA, 1}, -EPROTO},
		{{0, 0, 0, 0}, -EPROTO},
		{{0, 0, MUX_KIND_END, 0}, -EPROTO},
		{{8, 0, MUX_OPEN, 0}, -EPROTO},
		{{5, 0, MUX_CREDIT, 0}, -EPROTO},
		{{4, 0, MUX_CLOSE, 0}, -EPROTO},
		{{0, 0, MUX_ATTACH, 0}, -EPROTO},
		{{16, 0, MUX_ATTACH, 0}, -EPROTO},
		{{6, 0, MUX_ATTACH, 0}, -EPROTO},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct mux_chunk chunk = {0};
		struct err err = {0};

		assert_int_equal(mux_decode(&rows[i].header, sizeof(rows[i].header), &chunk, &err),
				 rows[i].r);
		assert_int_equal(err.kind, ERR_BAD_REQUEST);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_back_as_it_was_appended),
		cmocka_unit_test(refuses_by_the_header_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
