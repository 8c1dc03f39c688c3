// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "base/c.h"
#include "cli/screen.h"
#include "unit.h"

static const struct {
	const char *said, *shown;
} rows[] = {
	{"plain, tab\t, two\r\nlines\b\n", "plain, tab\t, two\r\nlines\b\n"},
	{"\x1b[1;31mred\x1b[0m", "\x1b[1;31mred\x1b[0m"},
	{"\x1b[mplain", "\x1b[mplain"},
	{"\x1b[38:2::255:0:0mx\x1b[m", "\x1b[38:2::255:0:0mx\x1b[m"},
	{"\x1b[31mleft on", "\x1b[31mleft on\x1b[0m"},
	/* The clipboard, the title, in both of their endings. */
	{"\x1b]52;c;aGk=\x07", "\\x1b]52;c;aGk=\\x07"},
	{"\x1b]0;title\x1b\\", "\\x1b]0;title\\x1b\\"},
	/* Cursor, screen, modes, questions, device control, keys. */
	{"\x1b[2J\x1b[H\x1b[6n\x1b[?1049h", "\\x1b[2J\\x1b[H\\x1b[6n\\x1b[?1049h"},
	{"\x1bPq#0\x1b\\\x1b_x\x1b\\", "\\x1bPq#0\\x1b\\\\x1b_x\\x1b\\"},
	{"\x1b[>4;1m", "\\x1b[>4;1m"},
	{"\x1b"
	 "c\x1b"
	 "7",
	 "\\x1bc\\x1b7"},
	{"\x1b[31\nm", "\\x1b[31\nm"},
	{"\x1b\x1b[31mx\x1b[m", "\\x1b\x1b[31mx\x1b[m"},
	{"\x1b[1\x1b[0m", "\\x1b[1\x1b[0m"},
	{"bell\x07 nothing\x7f null", "bell\\x07 nothing\\x7f null"},
	/* C1 as UTF-8, and as it is in eight bits. */
	{"\xc2\x9b"
	 "31m \xc2\x9d"
	 "52;c;x\xc2\x9c",
	 "\\xc2\\x9b31m \\xc2\\x9d52;c;x\\xc2\\x9c"},
	{"\x9b"
	 "31m \x9d\x85",
	 "\\x9b31m \\x9d\\x85"},
	/* Text of all sizes; what only looks like some. */
	{"\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80 \xc2\xa0",
	 "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80 \xc2\xa0"},
	{"\xe2\x82", "\\xe2\\x82"},
	{"\xe2\x1b[31mx\x1b[0m", "\\xe2\x1b[31mx\x1b[0m"},
	{"\xc0\x9b \xe0\x82\x9b \xed\xa0\x80 \xf5",
	 "\\xc0\\x9b \\xe0\\x82\\x9b \\xed\\xa0\\x80 \\xf5"},
	{"\x1b", "\\x1b"},
	{"\x1b[", "\\x1b["},
	{"\x1b[1111111111111111111111111111111111111111m",
	 "\\x1b[1111111111111111111111111111111111111111m"},
};

static void every_row_in_pieces(size_t piece)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct screen screen = {0};
		struct buf out;

		buf_init(&out, 4096);
		for (size_t at = 0; at < strlen(rows[i].said); at += piece) {
			size_t left = strlen(rows[i].said) - at;

			assert_int_equal(screen_put(&screen, rows[i].said + at,
						    left < piece ? left : piece, &out),
					 0);
			assert_true(screen.held_size <= SCREEN_HELD_MAX);
		}
		assert_int_equal(screen_end(&screen, &out), 0);
		assert_string_equal(buf_string(&out), rows[i].shown);
		buf_done(&out);
	}
}

static void only_harmless_sequences_pass(void **state)
{
	(void)state;
	every_row_in_pieces(SIZE_MAX / 2);
}

static void a_sequence_may_be_split_anywhere(void **state)
{
	(void)state;
	for (size_t piece = 1; piece < 8; piece++)
		every_row_in_pieces(piece);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_harmless_sequences_pass),
		cmocka_unit_test(a_sequence_may_be_split_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
