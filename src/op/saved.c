// SPDX-License-Identifier: Apache-2.0
#include "op/saved.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/c.h"

#define HEAD_MAX 6144UL /* bytes that are read; `needs` comes before anything that can be long */
#define NEEDS_MAX 64
#define NAME_MAX_SIZE 64U

static const char start[] = "vivarium state ";
static const char member[] = "\"needs\":[";

static size_t name_size(const char *text, const char *end)
{
	size_t size = 0;

	while (text + size < end && (isalnum((unsigned char)text[size]) || text[size] == '_'))
		size++;
	return size;
}

void saved_imports(const char *text, size_t size, struct buf *buf)
{
	AUTO_BUF struct buf head = {.max = HEAD_MAX};
	const char *at = NULL;
	const char *end = NULL;

	/* Fails at the first character that is not base64; what came before is good enough. */
	size = size < HEAD_MAX / 3 * 4 ? size : HEAD_MAX / 3 * 4;
	(void)buf_unbase64(&head, text, size, "");
	if (head.size < strlen(start) || memcmp(head.data, start, strlen(start)) != 0)
		return;
	at = memmem(head.data, head.size, member, strlen(member));
	end = (const char *)head.data + head.size;
	at = at != NULL ? at + strlen(member) : end;
	for (size_t i = 0; i < NEEDS_MAX && at < end && *at == '"'; i++) {
		size_t n = name_size(at + 1, end);

		if (at + 1 + n >= end || at[1 + n] != '"')
			return;
		if (n > 0 && n <= NAME_MAX_SIZE)
			(void)buf_format(buf, "import %.*s\n", (int)n, at + 1);
		at += n + 2;
		at += at < end && *at == ',';
	}
}
