// SPDX-License-Identifier: Apache-2.0
#include "cli/repl_cell.h"

#include <ctype.h>
#include <string.h>

#include "base/c.h"

/* The state of the scanner at the end of the text. */
struct scan {
	int depth;      /* open brackets */
	char quote;     /* of a triple-quoted string; 0: none */
	bool is_block;  /* a line at depth 0 ended with a colon, or was a decorator */
	bool is_joined; /* the last line ends with a backslash */
	char last;      /* last byte of the line that is neither blank nor comment */
	bool is_line_seen;
	bool is_decorator; /* the last line with code is one */
	bool has_code;     /* more than blanks and comments */
};

static bool is_triple(const char *text, size_t size, size_t at)
{
	return at + 2 < size && text[at + 1] == text[at] && text[at + 2] == text[at];
}

/* Returns the offset after the string that starts at `at`; a one-line string ends with its line. */
static size_t skip_string(struct scan *scan, const char *text, size_t size, size_t at)
{
	bool is_long = is_triple(text, size, at);
	char quote = text[at];

	for (at += is_long ? 3 : 1; at < size; at++) {
		if (text[at] == '\\' && at + 1 < size)
			at++;
		else if (!is_long && text[at] == '\n')
			return at;
		else if (text[at] == quote && (!is_long || is_triple(text, size, at)))
			return at + (is_long ? 3 : 1);
	}
	if (is_long)
		scan->quote = quote;
	return size;
}

static void end_line(struct scan *scan)
{
	scan->is_joined = scan->last == '\\';
	if (scan->depth == 0 && scan->last == ':')
		scan->is_block = true;
	scan->last = 0;
	scan->is_line_seen = false;
}

static struct scan scan_text(const char *text, size_t size)
{
	struct scan scan = {0};
	size_t at = 0;

	while (at < size) {
		char byte = text[at];

		if (byte == '"' || byte == '\'') {
			at = skip_string(&scan, text, size, at);
			scan.last = byte;
			scan.is_decorator &= scan.is_line_seen;
			scan.is_line_seen = scan.has_code = true;
			continue;
		}
		if (byte == '#') {
			at += strcspn(text + at, "\n");
			continue;
		}
		if (byte == '\n')
			end_line(&scan);
		else if (byte == '(' || byte == '[' || byte == '{')
			scan.depth++;
		else if ((byte == ')' || byte == ']' || byte == '}') && scan.depth > 0)
			scan.depth--;
		if (!isspace((unsigned char)byte)) {
			if (!scan.is_line_seen)
				scan.is_decorator = byte == '@' && scan.depth == 0;
			scan.is_block |= scan.is_decorator;
			scan.last = byte;
			scan.is_line_seen = scan.has_code = true;
		}
		at++;
	}
	end_line(&scan);
	return scan;
}

bool repl_cell_is_blank(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (!isspace((unsigned char)text[i]))
			return false;
	}
	return true;
}

static bool is_last_line_blank(const char *text, size_t size)
{
	size_t start = size;

	while (start > 0 && text[start - 1] != '\n')
		start--;
	return repl_cell_is_blank(text + start, size - start);
}

bool repl_cell_is_whole(const char *text, size_t size)
{
	struct scan scan = scan_text(text, size);

	if (repl_cell_is_blank(text, size))
		return true;
	if (scan.depth > 0 || scan.quote != 0 || scan.is_joined)
		return false;
	return !scan.is_block || is_last_line_blank(text, size);
}

/* True if this line belongs to the statement before it. */
static bool goes_on(const char *line, size_t size)
{
	static const char *const words[] = {"else", "elif", "except", "finally"};

	if (size == 0 || line[0] == ' ' || line[0] == '\t' || line[0] == ')' || line[0] == ']' ||
	    line[0] == '}')
		return true;
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		size_t word = strlen(words[i]);

		if (size > word && strncmp(line, words[i], word) == 0 &&
		    !isalnum((unsigned char)line[word]) && line[word] != '_')
			return true;
	}
	return false;
}

size_t repl_cell_size(const char *text, size_t size)
{
	size_t at = 0;

	while (at < size) {
		const char *end = memchr(text + at, '\n', size - at);
		size_t next = end != NULL ? (size_t)(end - text) + 1 : size;
		struct scan scan = {0};

		if (!repl_cell_is_blank(text + at, next - at) && !goes_on(text + at, size - at)) {
			scan = scan_text(text, at > 0 ? at - 1 : 0); /* without the newline */
			if (scan.has_code && scan.depth == 0 && scan.quote == 0 &&
			    !scan.is_joined && !scan.is_decorator)
				return at;
		}
		at = next;
	}
	return size;
}
