// SPDX-License-Identifier: Apache-2.0
#include <jansson.h>
#include <string.h>

#include "base/json.h"
#include "fuzz.h"

/* Any bytes become a valid JSON string of ASCII only. */
static void claim_written(const uint8_t *bytes, size_t size)
{
	struct buf buf;

	buf_init(&buf, 1U << 24);
	CLAIM(json_put_string(&buf, bytes, size) == 0);
	CLAIM(json_is_valid(buf.data, buf.size));
	for (size_t i = 0; i < buf.size; i++)
		CLAIM(buf.data[i] >= 0x20 && buf.data[i] < 0x7f);
	buf_done(&buf);
}

/* Our parser takes every text that another strict parser takes. (Not the other way around: jansson
 * refuses lone surrogates and numbers that do not fit a double; and a NUL byte it now and then
 * skips.) */
static void claim_as_jansson(const uint8_t *bytes, size_t size, bool is_valid)
{
	json_t *tree;
	size_t opened = 0;

	if (size == 0 || memchr(bytes, 0, size) != NULL)
		return;
	tree = json_loadb((const char *)bytes, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	for (size_t i = 0; i < size; i++)
		opened += bytes[i] == '[' || bytes[i] == '{';
	CLAIM(tree == NULL || is_valid || opened > JSON_DEPTH_MAX);
	json_decref(tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	bool is_valid = json_is_valid(bytes, size);
	const char *value = NULL;
	size_t value_size = 0;

	/* Also on what is not valid: a caller's mistake must not become a read out of bounds. */
	if (json_find(bytes, size, "type", &value, &value_size)) {
		CLAIM((const uint8_t *)value >= bytes);
		CLAIM((const uint8_t *)value + value_size <= bytes + size);
		CLAIM(json_is_valid(value, value_size));
	}
	claim_as_jansson(bytes, size, is_valid);
	claim_written(bytes, size);
	return 0;
}
