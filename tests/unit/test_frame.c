// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include "base/c.h"
#include "proto/frame.h"
#include "unit.h"

static void comes_back_as_it_was_appended(void **state)
{
	struct frame frame = {0};
	struct err err = {0};
	struct buf buf;

	(void)state;
	buf_init(&buf, 1000);
	assert_int_equal(frame_append(&buf, FRAME_EVENT, FRAME_FLAG_WAIT, 77, "{}", 2), 0);
	assert_int_equal(frame_append(&buf, FRAME_ACK, 0, 78, NULL, 0), 0);
	assert_int_equal(frame_decode(buf.data, buf.size, &frame, &err), 26);
	assert_int_equal(frame.header.type, FRAME_EVENT);
	assert_int_equal(frame.header.flags, FRAME_FLAG_WAIT);
	assert_int_equal(frame.header.nonce, 77);
	assert_memory_equal(frame.payload, "{}", 2);
	buf_consume(&buf, 26);
	assert_int_equal(frame_decode(buf.data, buf.size, &frame, &err), 24);
	assert_int_equal(frame.header.type, FRAME_ACK);
	assert_int_equal(frame.header.size, 0);
	buf_done(&buf);
}

static void waits_for_every_byte(void **state)
{
	struct frame frame = {0};
	struct err err = {0};
	struct buf buf;

	(void)state;
	buf_init(&buf, 1000);
	assert_int_equal(frame_append(&buf, FRAME_DONE, 0, 1, "payload", 7), 0);
	for (size_t size = 0; size < buf.size; size++)
		assert_int_equal(frame_decode(buf.data, size, &frame, &err), 0);
	assert_int_equal(frame_decode(buf.data, buf.size, &frame, &err), 31);
	buf_done(&buf);
}

static int64_t decode(uint32_t size, uint16_t type, uint16_t flags, struct err *err)
{
	struct frame_header header = {.size = size, .type = type, .flags = flags};
	struct frame frame = {0};

	return frame_decode(&header, sizeof(header), &frame, err);
}

static void refuses_a_length_above_the_limit_before_its_bytes_come(void **state)
{
	struct err err = {0};

	(void)state;
	assert_int_equal(decode(FRAME_PAYLOAD_MAX, FRAME_EVENT, 0, &err), 0);
	assert_int_equal(decode(FRAME_PAYLOAD_MAX + 1, FRAME_EVENT, 0, &err), -EMSGSIZE);
	assert_int_equal(decode(UINT32_MAX, FRAME_EVENT, 0, &err), -EMSGSIZE);
	assert_int_equal(err.kind, ERR_BAD_REQUEST);
}

static void refuses_types_and_flags_it_does_not_know(void **state)
{
	static const struct {
		uint16_t type, flags;
		int64_t result;
	} cases[] = {
		{0, 0, -EPROTO},
		{FRAME_FORKED + 1, 0, -EPROTO},
		{UINT16_MAX, 0, -EPROTO},
		{FRAME_HELLO, FRAME_FLAG_WAIT, -EPROTO},
		{FRAME_EVENT, FRAME_FLAG_MEMFD, -EPROTO},
		{FRAME_RUN, FRAME_FLAG_LAST, -EPROTO},
		{FRAME_DONE, 0x8000, -EPROTO},
		{FRAME_HELLO, FRAME_FLAG_MORE, -EPROTO},
		{FRAME_RUN, FRAME_FLAG_MORE, -EPROTO},
		{FRAME_CHECK, FRAME_FLAG_STDIN, -EPROTO},
		{FRAME_FORK, FRAME_FLAG_STDIN, -EPROTO},
		{FRAME_FORKED, FRAME_FLAG_MORE, -EPROTO},
		{FRAME_EVENT, FRAME_FLAG_WAIT | FRAME_FLAG_MORE, 24},
		{FRAME_FILE, FRAME_FLAG_LAST | FRAME_FLAG_MORE, 24},
		{FRAME_DONE, FRAME_FLAG_MORE, 24},
		{FRAME_RUN, FRAME_FLAG_MEMFD | FRAME_FLAG_STDIN, 24},
		{FRAME_RUN, FRAME_FLAG_DOUBT, 24},
		{FRAME_FORK, FRAME_FLAG_DOUBT, -EPROTO},
		{FRAME_CHECK, FRAME_FLAG_MEMFD, 24},
		{FRAME_FORK, FRAME_FLAG_LOOK, 24},
		{FRAME_FORKED, 0, 24},
	};
	struct err err = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(decode(0, cases[i].type, cases[i].flags, &err), cases[i].result);
}

static void refuses_to_append_more_than_a_frame_holds(void **state)
{
	struct buf buf;

	(void)state;
	buf_init(&buf, 100);
	assert_int_equal(frame_append(&buf, FRAME_EVENT, 0, 1, "", FRAME_PAYLOAD_MAX + 1),
			 -EMSGSIZE);
	assert_int_equal(frame_append(&buf, FRAME_EVENT, 0, 1, "x", 77), -EMSGSIZE);
	assert_int_equal(buf.size, 0);
	buf_done(&buf);
}

static void splits_meta_from_the_rest(void **state)
{
	const uint8_t payload[] = {2, 0, 0, 0, '{', '}', 'x', 'y', 'z'};
	struct frame frame = {.header = {.size = sizeof(payload)}, .payload = payload};
	const uint8_t *meta, *rest;
	size_t meta_size, rest_size;
	struct err err = {0};

	(void)state;
	assert_ok(frame_split(&frame, &meta, &meta_size, &rest, &rest_size, &err), err);
	assert_int_equal(meta_size, 2);
	assert_memory_equal(meta, "{}", 2);
	assert_int_equal(rest_size, 3);
	assert_memory_equal(rest, "xyz", 3);
}

static void refuses_meta_that_does_not_fit(void **state)
{
	const uint8_t payload[] = {6, 0, 0, 0, '{', '}', 'x', 'y', 'z'};
	const uint8_t *meta, *rest;
	size_t meta_size, rest_size;
	struct err err = {0};

	(void)state;
	for (uint32_t size = 0; size <= sizeof(payload); size++) {
		struct frame frame = {.header = {.size = size}, .payload = payload};

		assert_int_equal(frame_split(&frame, &meta, &meta_size, &rest, &rest_size, &err),
				 -EPROTO);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_back_as_it_was_appended),
		cmocka_unit_test(waits_for_every_byte),
		cmocka_unit_test(refuses_a_length_above_the_limit_before_its_bytes_come),
		cmocka_unit_test(refuses_types_and_flags_it_does_not_know),
		cmocka_unit_test(refuses_to_append_more_than_a_frame_holds),
		cmocka_unit_test(splits_meta_from_the_rest),
		cmocka_unit_test(refuses_meta_that_does_not_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
