// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "base/json.h"
#include "fuzz.h"
#include "mcp/mcp_inside.h"

/* Text that is passed on is JSON and lies inside the input, and so does each of its items. */
static void claim_items(const char *json, size_t size)
{
	struct json_member item = {0};

	while (json[0] == '[' ? json_item(json, size, &item) : json_next(json, size, &item)) {
		CLAIM(item.value >= json && item.value + item.size <= json + size);
		CLAIM(json_is_valid(item.value, item.size));
		CLAIM(json[0] == '[' || json_is_valid(item.name, item.name_size));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct mcp_message message = {0};
	enum mcp_code code = MCP_INTERNAL;
	struct err err = {0};
	int r = mcp_message_read((const char *)bytes, size, &message, &code, &err);

	if (r < 0) {
		CLAIM(err.kind != ERR_NONE && code != MCP_INTERNAL);
	} else {
		CLAIM(json_is_valid(bytes, size));
		CLAIM(message.method != NULL || message.id[0] != '\0');
		claim_items((const char *)bytes, size);
	}
	CLAIM(message.id[0] == '\0' || json_is_valid(message.id, strlen(message.id)));
	if (message.arguments != NULL) {
		CLAIM(json_is_valid(message.arguments, message.arguments_size));
		claim_items(message.arguments, message.arguments_size);
	}
	mcp_message_done(&message);
	return 0;
}
