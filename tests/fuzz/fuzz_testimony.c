// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "fuzz.h"
#include "session/testimony.h"

static void claim_utf8(const void *text, size_t size)
{
	struct buf json;

	/* Quoted without escapes it is valid JSON exactly when it is valid UTF-8. */
	buf_init(&json, 1U << 24);
	CLAIM(buf_text(&json, "\"") == 0);
	for (size_t i = 0; i < size; i++) {
		uint8_t byte = ((const uint8_t *)text)[i];

		if (byte >= 0x20 && byte != '"' && byte != '\\')
			CLAIM(buf_append(&json, &byte, 1) == 0);
	}
	CLAIM(buf_text(&json, "\"") == 0);
	CLAIM(json_is_valid(json.data, json.size));
	buf_done(&json);
}

/* Passing testimony on keeps it JSON, makes it ASCII, and a second time changes nothing. */
static void claim_passed_on(const uint8_t *bytes, size_t size)
{
	struct buf once;
	struct buf twice;

	buf_init(&once, 1U << 24);
	buf_init(&twice, 1U << 24);
	CLAIM(testimony_ascii(&once, (const char *)bytes, size) == 0);
	CLAIM(json_is_valid(once.data, once.size));
	for (size_t i = 0; i < once.size; i++)
		CLAIM(once.data[i] >= 0x20 && once.data[i] < 0x7f);
	CLAIM(testimony_ascii(&twice, (const char *)once.data, once.size) == 0);
	CLAIM(once.size == twice.size && memcmp(once.data, twice.data, once.size) == 0);
	buf_done(&once);
	buf_done(&twice);
}

static void claim_decoded(const uint8_t *bytes, size_t size)
{
	struct buf text;

	buf_init(&text, 1U << 24);
	if (testimony_decode(&text, (const char *)bytes, size) == 0)
		claim_utf8(text.data, text.size);
	buf_done(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct verdict_testimony testimony = {0};
	struct testimony_extras extras = {0};
	struct err err = {0};

	buf_init(&extras.missing, 1U << 24);
	if (testimony_read(bytes, size, &testimony, &extras, &err) == 0) {
		CLAIM(testimony.is_given && testimony.kind != VERDICT_NONE);
		CLAIM(testimony.exit_code >= 0 && testimony.exit_code <= 255);
		claim_utf8(testimony.message, strlen(testimony.message));
	} else {
		CLAIM(!testimony.is_given && err.num == EPROTO);
	}
	if (json_is_valid(bytes, size)) {
		claim_passed_on(bytes, size);
		claim_decoded(bytes, size);
	}
	buf_done(&extras.missing);
	return 0;
}
