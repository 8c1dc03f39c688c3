// SPDX-License-Identifier: Apache-2.0
#include "base/buf.h"
#include "fuzz.h"
#include "op/saved.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct buf buf;

	buf_init(&buf, 64UL * 80);
	saved_imports((const char *)bytes, size, &buf);
	for (size_t i = 0; i < buf.size; i++)
		CLAIM(buf.data[i] == '\n' || buf.data[i] == ' ' || buf.data[i] == '_' ||
		      (buf.data[i] >= '0' && buf.data[i] <= '9') ||
		      (buf.data[i] >= 'A' && buf.data[i] <= 'Z') ||
		      (buf.data[i] >= 'a' && buf.data[i] <= 'z'));
	buf_done(&buf);
	return 0;
}
