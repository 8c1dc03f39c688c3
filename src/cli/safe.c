// SPDX-License-Identifier: Apache-2.0
#include "cli/safe.h"

#include <string.h>

#include "cli/screen.h"

void safe_put(struct buf *buf, const char *text, size_t size)
{
	struct screen screen = {0};

	for (size_t i = 0; i < size; i++) {
		unsigned char byte = (unsigned char)text[i];

		if (byte >= 0x20) {
			(void)screen_put(&screen, &byte, 1, buf);
			continue;
		}
		(void)screen_end(&screen, buf);
		(void)buf_format(buf, "\\x%02x", byte);
	}
	(void)screen_end(&screen, buf);
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
