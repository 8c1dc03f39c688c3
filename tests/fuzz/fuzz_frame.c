// SPDX-License-Identifier: Apache-2.0
#include "fuzz.h"
#include "proto/frame.h"

/* Bytes from a sandbox, as the engine reads them: frame after frame until one is bad or cut. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	for (;;) {
		const uint8_t *meta = NULL, *rest = NULL;
		size_t meta_size = 0, rest_size = 0;
		struct frame frame = {0};
		struct err err = {0};
		int64_t taken = frame_decode(bytes, size, &frame, &err);

		if (taken <= 0) {
			CLAIM(taken == 0 || err.text[0] != '\0');
			return 0;
		}
		CLAIM((uint64_t)taken <= size);
		CLAIM(frame.payload + frame.header.size == bytes + taken);
		if (frame_split(&frame, &meta, &meta_size, &rest, &rest_size, &err) == 0) {
			CLAIM(meta_size + rest_size + 4 == frame.header.size);
			CLAIM(rest + rest_size == bytes + taken);
		}
		bytes += taken;
		size -= (size_t)taken;
	}
}
