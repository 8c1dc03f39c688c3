// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "door/librechat/multipart.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct multipart_part part;
	struct multipart parts;

	if (!multipart_open(&parts, "multipart/form-data; boundary=XX", data, size))
		return 0;
	while (multipart_next(&parts, &part) == 1)
		CLAIM(part.bytes.size <= size && part.name.size <= size &&
		      part.filename.size <= size);
	return 0;
}
