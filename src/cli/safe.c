// SPDX-License-Identifier: Apache-2.0
#include "cli/safe.h"

#include <stdbool.h>
#include <string.h>

#include "base/c.h"

void safe_put(struct buf *buf, const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		unsigned char byte = (unsigned char)text[i];
		bool is_c1 = byte == 0xc2 && i + 1 < size && (unsigned char)text[i + 1] < 0xa0;

		if (byte < 0x20 || byte == 0x7f || is_c1)
			(void)buf_format(buf, "\\x%02x", byte);
		else
			(void)buf_append(buf, &text[i], 1);
	}
}

void safe_print(FILE *out, const char *text)
{
	struct buf line;

	buf_init(&line, 4 * strlen(text) + 1);
	safe_put(&line, text, strlen(text));
	(void)fputs(buf_string(&line), out);
	buf_done(&line);
}

void safe_print_json(const json_t *object)
{
	(void)json_dumpf(object, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII | JSON_ENCODE_ANY);
	(void)printf("\n");
}
