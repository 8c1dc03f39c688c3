// SPDX-License-Identifier: Apache-2.0
#include "http/strict.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define VERSION_SIZE 8
#define LINE_END 2

struct walk {
	const struct strict_head *head;
	const char *next; /* where the next header must begin */
	bool is_whole;    /* lines end where they must, so far */
	bool is_clean;    /* names are tokens, values are text */
	unsigned hosts;
	unsigned lengths;
	unsigned codings;
	unsigned expects;
	bool is_chunked;
	bool is_continue;
	bool is_length_bad;
	int64_t length;
};

static bool is_token(const char *text, size_t size)
{
	static const char others[] = "!#$%&'*+-.^_`|~";

	for (size_t i = 0; i < size; i++) {
		char c = text[i];
		bool is_alnum =
			(c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');

		if (!is_alnum && (c == '\0' || strchr(others, c) == NULL))
			return false;
	}
	return size > 0;
}

/* Bytes above 0x7f are old text in some charset; control bytes are an attack. */
static bool is_text(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if ((text[i] >= 0 && text[i] < ' ' && text[i] != '\t') || text[i] == 0x7f)
			return false;
	}
	return true;
}

static bool is_target(const char *target, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (target[i] <= ' ' || target[i] >= 0x7f || target[i] == '#')
			return false;
		/* A NUL would end a name early in any C program. */
		if (size - i >= 3 && memcmp(target + i, "%00", 3) == 0)
			return false;
	}
	return size > 0 && (target[0] == '/' || (size == 1 && target[0] == '*'));
}

/* Compares exactly, without trailing spaces: as libmicrohttpd does. */
static bool is_word(const char *value, size_t size, const char *word)
{
	return size == strlen(word) && strncasecmp(value, word, size) == 0;
}

static bool parse_length(const char *value, size_t size, int64_t *ret_length)
{
	int64_t length = 0;

	for (size_t i = 0; i < size; i++) {
		if (value[i] < '0' || value[i] > '9')
			return false;
		if (length > (INT64_MAX - 9) / 10)
			return false;
		length = length * 10 + (value[i] - '0');
	}
	*ret_length = length;
	return size > 0;
}

/* "name" NUL spaces "value" NUL NUL, and nothing in between. */
static bool is_in_place(const struct walk *walk, const char *name, size_t name_size,
			const char *value, size_t value_size)
{
	const char *at = name + name_size;

	if (name != walk->next || value <= at || *at != '\0')
		return false;
	for (at++; at < value; at++) {
		if (*at != ' ' && *at != '\t')
			return false;
	}
	return value[value_size] == '\0' && value[value_size + 1] == '\0';
}

static enum MHD_Result see_header(void *user, enum MHD_ValueKind kind, const char *name,
				  size_t name_size, const char *value, size_t value_size)
{
	struct walk *walk = user;

	(void)kind;
	if (value == NULL || !is_in_place(walk, name, name_size, value, value_size)) {
		walk->is_whole = false;
		return MHD_NO;
	}
	walk->next = value + value_size + LINE_END;
	walk->is_clean = walk->is_clean && is_token(name, name_size) && is_text(value, value_size);

	if (is_word(name, name_size, MHD_HTTP_HEADER_HOST)) {
		walk->hosts++;
	} else if (is_word(name, name_size, MHD_HTTP_HEADER_CONTENT_LENGTH)) {
		walk->lengths++;
		walk->is_length_bad |= !parse_length(value, value_size, &walk->length);
	} else if (is_word(name, name_size, MHD_HTTP_HEADER_TRANSFER_ENCODING)) {
		walk->codings++;
		walk->is_chunked = is_word(value, value_size, "chunked");
	} else if (is_word(name, name_size, MHD_HTTP_HEADER_EXPECT)) {
		walk->expects++;
		walk->is_continue = is_word(value, value_size, "100-continue");
	}
	return MHD_YES;
}

static size_t header_size(struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

	return info != NULL ? info->header_size : 0;
}

/* Checks method, target and version, one space apart, up to the end of the head. */
static void walk_head(struct walk *walk)
{
	const struct strict_head *head = walk->head;
	const char *end = head->method + header_size(head->mhd);

	walk->is_whole = head->target == head->method + strlen(head->method) + 1 &&
			 head->version == head->target + head->target_size + 1 &&
			 strlen(head->version) == VERSION_SIZE &&
			 head->version[VERSION_SIZE + 1] == '\0';
	if (!walk->is_whole)
		return;
	walk->next = head->version + VERSION_SIZE + LINE_END;
	(void)MHD_get_connection_values_n(head->mhd, MHD_HEADER_KIND, see_header, walk);
	walk->is_whole = walk->is_whole && walk->next + LINE_END == end && walk->next[0] == '\0' &&
			 walk->next[1] == '\0';
}

static const char *bad_framing(const struct walk *walk, bool is_old)
{
	if (walk->hosts > 1 || (walk->hosts == 0 && !is_old))
		return STRICT_HOST;
	if (walk->lengths > 1)
		return "a request has at most one Content-Length header";
	if (walk->lengths > 0 && walk->codings > 0)
		return "Content-Length and Transfer-Encoding exclude each other";
	if (walk->codings > 1)
		return "a request has at most one Transfer-Encoding header";
	if (walk->codings > 0 && is_old)
		return "HTTP/1.0 has no Transfer-Encoding";
	if (walk->is_length_bad)
		return STRICT_LENGTH;
	return NULL;
}

unsigned strict_check(const struct strict_head *head, int64_t *ret_body_size, const char **ret_why)
{
	struct walk walk = {.head = head, .is_clean = true};

	walk_head(&walk);
	if (!walk.is_whole) {
		*ret_why = "lines end in CR LF, are not folded, and hold no NUL";
		return MHD_HTTP_BAD_REQUEST;
	}
	if (header_size(head->mhd) > head->header_max) {
		*ret_why = "the headers are larger than this server takes";
		return MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE;
	}
	if (!walk.is_clean || !is_token(head->method, strlen(head->method))) {
		*ret_why = "a character in the headers is not allowed there";
		return MHD_HTTP_BAD_REQUEST;
	}
	if (!is_target(head->text, head->target_size)) {
		*ret_why = "the target is a path of visible ASCII characters, without %00";
		return MHD_HTTP_BAD_REQUEST;
	}
	*ret_why = bad_framing(&walk, strcmp(head->version, MHD_HTTP_VERSION_1_0) == 0);
	if (*ret_why != NULL)
		return MHD_HTTP_BAD_REQUEST;
	if (walk.codings > 0 && !walk.is_chunked) {
		*ret_why = "the only Transfer-Encoding here is chunked";
		return MHD_HTTP_NOT_IMPLEMENTED;
	}
	if (walk.expects > 1 || (walk.expects == 1 && !walk.is_continue)) {
		*ret_why = "the only expectation met here is 100-continue";
		return MHD_HTTP_EXPECTATION_FAILED;
	}
	*ret_body_size = walk.codings > 0 ? -1 : walk.length;
	return 0;
}
