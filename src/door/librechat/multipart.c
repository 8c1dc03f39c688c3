// SPDX-License-Identifier: Apache-2.0
#include "door/librechat/multipart.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define TYPE "multipart/form-data"

/* The value of the parameter `name=` in a header, quoted or not. Backslashes are not unescaped: no
 * current client sends any. */
static struct multipart_text parameter(const char *header, size_t size, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = header; at + n < header + size; at++) {
		const char *value = at + n;
		const char *end = header + size;

		if ((at > header && at[-1] != ';' && at[-1] != ' ') ||
		    strncasecmp(at, name, n) != 0)
			continue;
		if (*value == '"') {
			value++;
			end = memchr(value, '"', (size_t)(end - value));
		} else {
			const char *semicolon = memchr(value, ';', (size_t)(end - value));

			end = semicolon != NULL ? semicolon : end;
		}
		if (end != NULL)
			return (struct multipart_text){value, (size_t)(end - value)};
	}
	return (struct multipart_text){NULL, 0};
}

bool multipart_open(struct multipart *parts, const char *type, const void *body, size_t size)
{
	struct multipart_text boundary;

	if (type == NULL || body == NULL || strncasecmp(type, TYPE, strlen(TYPE)) != 0)
		return false;
	*parts = (struct multipart){.at = body, .end = (const char *)body + size};
	boundary = parameter(type, strlen(type), "boundary=");
	if (boundary.size == 0 || boundary.size > MULTIPART_BOUNDARY_MAX)
		return false;
	parts->mark_size = (size_t)snprintf(parts->mark, sizeof(parts->mark), "\r\n--%.*s",
					    (int)boundary.size, boundary.text);

	/* The first mark has no line end in front of it. */
	if (size < parts->mark_size - 2 ||
	    memcmp(parts->at, parts->mark + 2, parts->mark_size - 2) != 0)
		return false;
	parts->at += parts->mark_size - 2;
	return true;
}

/* The end of a line in a part's headers; NULL: there is none. */
static const char *line_end(const char *at, const char *end)
{
	return memmem(at, (size_t)(end - at), "\r\n", 2);
}

static void read_header(const char *line, size_t size, struct multipart_part *part)
{
	static const char disposition[] = "content-disposition:";

	if (size < sizeof(disposition) ||
	    strncasecmp(line, disposition, sizeof(disposition) - 1) != 0)
		return;
	part->name = parameter(line, size, "name=");
	part->filename = parameter(line, size, "filename=");
}

int multipart_next(struct multipart *parts, struct multipart_part *ret_part)
{
	size_t left = (size_t)(parts->end - parts->at);
	const char *end;

	*ret_part = (struct multipart_part){0};
	if (left >= 2 && memcmp(parts->at, "--", 2) == 0)
		return 0;
	if (left < 2 || memcmp(parts->at, "\r\n", 2) != 0)
		return -1;
	parts->at += 2;
	for (;;) {
		end = line_end(parts->at, parts->end);
		if (end == NULL)
			return -1;
		if (end == parts->at)
			break;
		read_header(parts->at, (size_t)(end - parts->at), ret_part);
		parts->at = end + 2;
	}

	/* The mark of an empty part begins with the empty line that ends its headers. */
	end = memmem(parts->at, (size_t)(parts->end - parts->at), parts->mark, parts->mark_size);
	if (end == NULL)
		return -1;
	parts->at += 2;
	ret_part->bytes.text = parts->at;
	ret_part->bytes.size = end > parts->at ? (size_t)(end - parts->at) : 0;
	parts->at = end + parts->mark_size;
	return 1;
}
