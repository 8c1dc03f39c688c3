// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "cli/screen.h"
#include "fuzz.h"

/* The shown text has no controls but the allowed ones, and is the same however the bytes arrive. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct screen whole = {0};
	struct screen pieces = {0};
	struct buf out, other;

	buf_init(&out, 4 * size + 64);
	buf_init(&other, 4 * size + 64);
	CLAIM(screen_put(&whole, data, size, &out) == 0 && screen_end(&whole, &out) == 0);
	for (size_t i = 0; i < size; i++)
		CLAIM(screen_put(&pieces, data + i, 1, &other) == 0);
	CLAIM(screen_end(&pieces, &other) == 0);
	CLAIM(out.size == other.size &&
	      memcmp(buf_string(&out), buf_string(&other), out.size) == 0);
	for (size_t i = 0; i < out.size; i++) {
		unsigned char byte = out.data[i];

		CLAIM(byte >= 0x20 || memchr("\n\r\t\b\x1b", byte, 5) != NULL);
		CLAIM(byte != 0x7f && (byte != 0xc2 || out.data[i + 1] >= 0xa0));
		if (byte == 0x1b) {
			CLAIM(out.data[++i] == '[');
			i += 1 + strspn((const char *)out.data + i + 1, "0123456789;:");
			CLAIM(out.data[i] == 'm');
		}
	}
	buf_done(&out);
	buf_done(&other);
	return 0;
}
