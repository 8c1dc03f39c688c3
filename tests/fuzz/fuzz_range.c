// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "door/piston/range.h"
#include "fuzz.h"

/* A version that is read whole is in the range of its own text. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct version now = {{3, 11, 2}};
	struct version version = {0};
	char *text = calloc(1, size + 1);

	CLAIM(text != NULL);
	memcpy(text, data, size);
	(void)range_has(text, &now);
	if (version_parse(text, &version))
		CLAIM(range_has(text, &version));
	free(text);
	return 0;
}
