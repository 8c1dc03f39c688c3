// SPDX-License-Identifier: Apache-2.0
#include "fuzz.h"
#include "proto/mux.h"

/* Bytes that come out of a box, as a relay reads them: chunk after chunk until one is bad or cut.
 */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	for (;;) {
		struct mux_chunk chunk = {0};
		struct err err = {0};
		int64_t taken = mux_decode(bytes, size, &chunk, &err);

		if (taken <= 0) {
			CLAIM(taken == 0 || err.text[0] != '\0');
			return 0;
		}
		CLAIM((uint64_t)taken <= size);
		CLAIM(chunk.header.size <= MUX_CHUNK_MAX);
		CLAIM(chunk.bytes + chunk.header.size == bytes + taken);
		for (size_t i = 0; chunk.header.kind != MUX_DATA && i < chunk.header.size / 4; i++)
			(void)mux_number(&chunk, i);
		bytes += taken;
		size -= (size_t)taken;
	}
}
