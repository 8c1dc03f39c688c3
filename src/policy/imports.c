// SPDX-License-Identifier: Apache-2.0
#include "policy/imports.h"

#include <stdint.h>
#include <string.h>

#include "base/c.h"
#include "policy/stdlib_names.h"

/* Classes of bytes for the scan. All other bytes are skipped one per step. */
enum {
	NAME = 1,   /* part of an identifier, including all UTF-8 beyond ASCII */
	BLANK = 2,  /* between words of one line */
	STOP = 4,   /* the scan over code must look at it */
	QUOTED = 8, /* the scan over a string must look at it */
	LINE = 16,  /* ends a line */
};

static const uint8_t classes[256] = {
	['a' ... 'z'] = NAME,
	['A' ... 'Z'] = NAME,
	['0' ... '9'] = NAME,
	['_'] = NAME,
	[0x80 ... 0xff] = NAME,
	[' '] = BLANK,
	['\t'] = BLANK,
	['\f'] = BLANK,
	['\n'] = STOP | QUOTED | LINE,
	['\r'] = STOP | QUOTED | LINE,
	[';'] = STOP,
	[':'] = STOP,
	['#'] = STOP,
	['\\'] = STOP | QUOTED,
	['\''] = STOP | QUOTED,
	['"'] = STOP | QUOTED,
};

struct scan {
	const uint8_t *start;
	const uint8_t *at;
	const uint8_t *end;
	import_found *found;
	void *context;
};

static bool is_class(const struct scan *scan, unsigned class)
{
	return scan->at < scan->end && (classes[*scan->at] & class);
}

/* Skips bytes that are not of this class. The pointer is a local variable because this is the inner
 * loop. */
static void skip_until(struct scan *scan, unsigned class)
{
	const uint8_t *at = scan->at, *end = scan->end;

	while (at < end && !(classes[*at] & class))
		at++;
	scan->at = at;
}

/* Skips blanks, and a backslash at the end of a line: the statement continues. */
static void skip_blanks(struct scan *scan)
{
	while (scan->at < scan->end) {
		size_t left = (size_t)(scan->end - scan->at);

		if (classes[*scan->at] & BLANK)
			scan->at++;
		else if (left >= 3 && memcmp(scan->at, "\\\r\n", 3) == 0)
			scan->at += 3;
		else if (left >= 2 && scan->at[0] == '\\' &&
			 (scan->at[1] == '\n' || scan->at[1] == '\r'))
			scan->at += 2;
		else
			return;
	}
}

static size_t take_name(struct scan *scan)
{
	const uint8_t *start = scan->at;

	while (is_class(scan, NAME))
		scan->at++;
	return (size_t)(scan->at - start);
}

/* Takes this word if it is here and not the beginning of a longer one. */
static bool take_word(struct scan *scan, const char *word, size_t size)
{
	if ((size_t)(scan->end - scan->at) <= size || memcmp(scan->at, word, size) != 0 ||
	    (classes[scan->at[size]] & NAME))
		return false;
	scan->at += size;
	return true;
}

/* After `import`: "a.b as c, d". False when there is no name. */
static bool take_module(struct scan *scan)
{
	const char *name;
	size_t size;

	skip_blanks(scan);
	name = (const char *)scan->at;
	size = take_name(scan);
	if (size == 0)
		return false;
	scan->found(scan->context, name, size);
	return true;
}

static void take_list(struct scan *scan)
{
	while (take_module(scan)) {
		/* Skips the rest of a dotted name, and "as" with its name: only a comma continues
		 * the list. */
		for (;;) {
			skip_blanks(scan);
			if (scan->at < scan->end && *scan->at == '.')
				scan->at++;
			else if (take_name(scan) == 0)
				break;
		}
		if (scan->at == scan->end || *scan->at != ',')
			return;
		scan->at++;
	}
}

static void take_statement(struct scan *scan)
{
	skip_blanks(scan);
	if (take_word(scan, "import", strlen("import")))
		take_list(scan);
	else if (take_word(scan, "from", strlen("from")))
		(void)take_module(scan); /* a relative import starts with a dot, not with a name */
}

static bool ends_with(const struct scan *scan, const uint8_t *end, const char *word)
{
	size_t size = strlen(word);

	return (size_t)(end - scan->start) >= size && memcmp(end - size, word, size) == 0;
}

/* At a quote: the name in __import__("x.y") or import_module("x"). */
static void look_at_argument(struct scan *scan)
{
	const uint8_t *before = scan->at;
	struct scan inside = *scan;
	const char *name = (const char *)scan->at + 1;
	size_t size;

	if (before == scan->start || before[-1] != '(')
		return;
	before--;
	if (!ends_with(scan, before, "__import__") && !ends_with(scan, before, "import_module"))
		return;

	inside.at++;
	size = take_name(&inside);
	if (size > 0 && inside.at < inside.end && (*inside.at == '.' || *inside.at == *scan->at))
		scan->found(scan->context, name, size);
}

static void skip_string(struct scan *scan)
{
	uint8_t quote = *scan->at;
	size_t left = (size_t)(scan->end - scan->at);
	bool is_triple = left >= 3 && scan->at[1] == quote && scan->at[2] == quote;

	scan->at += is_triple ? 3 : 1;
	for (;;) {
		uint8_t byte;

		skip_until(scan, QUOTED);
		if (scan->at == scan->end)
			return;
		byte = *scan->at;
		left = (size_t)(scan->end - scan->at);
		if (byte == '\\') {
			scan->at += left >= 2 ? 2 : 1;
		} else if (byte == quote && !is_triple) {
			scan->at++;
			return;
		} else if (byte == quote && left >= 3 && scan->at[1] == quote &&
			   scan->at[2] == quote) {
			scan->at += 3;
			return;
		} else if ((byte == '\n' || byte == '\r') && !is_triple) {
			return; /* not closed: an error, or an f-string with quotes inside */
		} else {
			scan->at++;
		}
	}
}

static void skip_comment(struct scan *scan)
{
	skip_until(scan, LINE);
}

void imports_scan(const void *code, size_t size, import_found *found, void *context)
{
	struct scan scan = {.start = code, .at = code, .found = found, .context = context};

	if (size == 0)
		return;
	scan.end = scan.start + size;
	if (size >= 3 && memcmp(code, "\xef\xbb\xbf", 3) == 0)
		scan.at += 3;

	take_statement(&scan);
	while (scan.at < scan.end) {
		switch (*scan.at) {
		case '\n':
		case '\r':
		case ';':
		case ':':
			scan.at++;
			take_statement(&scan);
			break;
		case '#':
			skip_comment(&scan);
			break;
		case '\'':
		case '"':
			look_at_argument(&scan);
			skip_string(&scan);
			break;
		case '\\':
			scan.at++;
			if (scan.at < scan.end) /* a continued line starts no statement */
				scan.at++;
			break;
		default:
			skip_until(&scan, STOP);
		}
	}
}

bool import_is_stdlib(const char *name, size_t size)
{
	size_t low = 0, high = stdlib_name_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strncmp(name, stdlib_names[middle], size);

		if (order == 0 && stdlib_names[middle][size] == '\0')
			return true;
		if (order > 0)
			low = middle + 1;
		else /* smaller, or the beginning of this one */
			high = middle;
	}
	return false;
}
