// SPDX-License-Identifier: Apache-2.0
#include <jansson.h>
#include <string.h>

#include "base/json.h"
#include "cli/mcp_transfer.h"

#define META "io.modelcontextprotocol/protocolVersion"

/* A text of an object, decoded, if it is there and fits. */
static void take_text(const char *object, size_t size, const char *name, char *text, size_t room)
{
	const char *value = NULL;
	size_t value_size = 0;
	json_auto_t *json = NULL;

	if (!json_find(object, size, name, &value, &value_size) || value[0] != '"')
		return;
	json = json_loadb(value, value_size, JSON_DECODE_ANY, NULL);
	if (json != NULL && json_string_length(json) < room)
		memcpy(text, json_string_value(json), json_string_length(json) + 1);
}

/* A value as it stands, if it is there and fits. */
static void take_raw(const char *object, size_t size, const char *name, char *text, size_t room)
{
	const char *value = NULL;
	size_t value_size = 0;

	if (!json_find(object, size, name, &value, &value_size) || value_size >= room ||
	    strchr("\"-0123456789", value[0]) == NULL)
		return;
	memcpy(text, value, value_size);
	text[value_size] = '\0';
}

static void take_params(const char *params, size_t size, struct mcp_envelope *envelope)
{
	static const char *const names[] = {"name", "uri", "taskId"};
	const char *part = NULL;
	size_t part_size = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && envelope->name[0] == '\0'; i++)
		take_text(params, size, names[i], envelope->name, sizeof(envelope->name));
	take_raw(params, size, "requestId", envelope->cancels, sizeof(envelope->cancels));
	if (json_find(params, size, "_meta", &part, &part_size) && part[0] == '{')
		take_text(part, part_size, META, envelope->version, sizeof(envelope->version));
	if (json_find(params, size, "arguments", &part, &part_size) && part[0] == '{')
		take_text(part, part_size, "session_id", envelope->session,
			  sizeof(envelope->session));
}

void mcp_envelope_read(const char *line, size_t size, struct mcp_envelope *ret_envelope)
{
	const char *params = NULL;
	size_t params_size = 0;

	*ret_envelope = (struct mcp_envelope){0};
	/* What is no object is the daemon's to refuse. */
	if (!json_is_valid(line, size) || line[strspn(line, " \t")] != '{')
		return;
	take_raw(line, size, "id", ret_envelope->id, sizeof(ret_envelope->id));
	take_text(line, size, "method", ret_envelope->method, sizeof(ret_envelope->method));
	if (json_find(line, size, "params", &params, &params_size) && params[0] == '{')
		take_params(params, params_size, ret_envelope);
}
