// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/c.h"
#include "base/json.h"
#include "mcp/mcp_inside.h"

#define VALUE_MAX 4096

bool mcp_accepts(const char *accept, const char *type)
{
	const char *slash = strchr(type, '/');
	size_t group = (size_t)(slash - type) + 1;

	while (accept != NULL && *accept != '\0') {
		size_t size = strcspn(accept, ",");
		const char *at = accept + strspn(accept, " \t");
		size_t n = strcspn(at, " \t;,");

		accept += size + (accept[size] == ',');
		if ((n == strlen(type) && strncasecmp(at, type, n) == 0) ||
		    (n == 3 && strncmp(at, "*/*", 3) == 0) ||
		    (n == group + 1 && strncasecmp(at, type, group) == 0 && at[group] == '*'))
			return true;
	}
	return false;
}

/* A header's value: trimmed, and decoded if it is =?base64?...?=. False: it cannot be decoded, or
 * is too long. */
static bool read_value(const char *header, char ret_value[VALUE_MAX])
{
	static const char before[] = "=?base64?", behind[] = "?=";
	AUTO_BUF struct buf bytes = {.max = VALUE_MAX - 1};
	size_t size;

	header += strspn(header, " \t");
	size = strlen(header);
	while (size > 0 && (header[size - 1] == ' ' || header[size - 1] == '\t'))
		size--;
	if (size >= VALUE_MAX)
		return false;
	if (size < sizeof(before) + sizeof(behind) - 2 ||
	    strncmp(header, before, sizeof(before) - 1) != 0 ||
	    strncmp(header + size - 2, behind, 2) != 0) {
		memcpy(ret_value, header, size);
		ret_value[size] = '\0';
		return true;
	}
	if (buf_unbase64(&bytes, header + sizeof(before) - 1, size - sizeof(before) - 1, "") < 0)
		return false;
	(void)snprintf(ret_value, VALUE_MAX, "%s", buf_string(&bytes));
	return strlen(ret_value) == bytes.size;
}

bool mcp_header_is(const char *header, const char *text)
{
	char value[VALUE_MAX];

	return header != NULL && read_value(header, value) && strcmp(value, text) == 0;
}

bool mcp_header_is_json(const char *header, const char *json, size_t size)
{
	json_auto_t *said = json_loadb(json, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	AUTO_FREE char *text = NULL;

	if (json_is_string(said))
		return strlen(json_string_value(said)) == json_string_length(said) &&
		       mcp_header_is(header, json_string_value(said));
	text = said != NULL ? json_dumps(said, JSON_ENCODE_ANY) : NULL;
	return text != NULL && mcp_header_is(header, text);
}
