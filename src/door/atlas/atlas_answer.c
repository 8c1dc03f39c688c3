// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "door/atlas/atlas.h"

#define STDERR_SHOWN 500 /* characters */

static struct escaped inside(const struct buf *buf)
{
	return (struct escaped){buf->data != NULL ? (const char *)buf->data : "", buf->size};
}

static bool is_kind(const struct atlas_python *python, const char *kind)
{
	return strcmp(python->kind, kind) == 0;
}

static int put_escaped(struct buf *buf, struct escaped text)
{
	return buf_append(buf, text.text, text.size);
}

/* Appends the interpreter's own message on stderr, or else its exit code. */
static int put_end(const struct atlas_python *python, struct buf *buf)
{
	struct escaped text = escaped_trim(inside(&python->err));

	if (python->is_stream)
		text = escaped_cut(text, STDERR_SHOWN);
	if (text.size > 0)
		return put_escaped(buf, text);
	return buf_format(buf, "Python execution failed (exit code %s)", python->number);
}

/* The signal's name comes from the verdict's message, "SIGSEGV: ...". */
static int put_signal(const struct atlas_python *python, struct buf *buf)
{
	struct escaped message = inside(&python->message);
	struct escaped said = escaped_cut(escaped_trim(inside(&python->err)), STDERR_SHOWN);
	size_t name = message.size > 0 ? strcspn(message.text, ":\"") : 0;

	if (name >= message.size || strncmp(message.text, "SIGKILL", name) == 0)
		return buf_text(buf,
				"Python execution killed (likely exceeded time or memory limit)");
	buf_format(buf, "Python process terminated by %.*s", (int)name, message.text);
	if (said.size > 0)
		buf_text(buf, ": ");
	put_escaped(buf, said);
	return buf->failed;
}

int atlas_put_error(const struct atlas_python *python, struct buf *buf)
{
	if (python->is_stream &&
	    (python->is_over_limit || python->is_cut || is_kind(python, "output")))
		return buf_format(buf, "Output exceeded %u byte limit", ATLAS_OUTPUT_MAX);
	if (is_kind(python, "timeout"))
		return buf_format(buf, "Python execution timed out after %llums",
				  (unsigned long long)python->timeout_ms);
	if (is_kind(python, "memory"))
		return buf_text(buf,
				"Python execution killed (likely exceeded time or memory limit)");
	if (is_kind(python, "killed"))
		return put_signal(python, buf);
	if (is_kind(python, "output"))
		return buf_text(buf, "Python output exceeded 1 MB limit");
	if (python->error.size > 0 && !is_kind(python, "guard"))
		return put_escaped(buf, inside(&python->error));
	if (is_kind(python, "exit"))
		return put_end(python, buf);
	if (is_kind(python, "guard") || is_kind(python, "exception") || is_kind(python, "disk"))
		return put_escaped(buf, inside(&python->message));
	buf_text(buf, "Execution failed: ");
	return put_escaped(buf, inside(&python->message));
}

/* ---- charts, sorted by number ---- */

/* chart_10 sorts after chart_2; names without a number come last. */
static long number_of(const char *path)
{
	const char *name = strrchr(path, '/');
	size_t digits;

	name = name != NULL ? name + 1 : path;
	if (strncmp(name, "chart_", 6) != 0)
		return -1;
	digits = strspn(name + 6, "0123456789");
	if (digits == 0 || digits > 9 || strcmp(name + 6 + digits, ".png") != 0)
		return -1;
	return strtol(name + 6, NULL, 10);
}

static int compare_charts(const void *left, const void *right)
{
	const struct atlas_chart *a = left;
	const struct atlas_chart *b = right;
	long first = number_of(a->path);
	long second = number_of(b->path);

	if (first >= 0 && second >= 0 && first != second)
		return first < second ? -1 : 1;
	if ((first < 0) != (second < 0))
		return first < 0 ? 1 : -1;
	return strcmp(a->path, b->path);
}

static int put_charts(struct atlas_python *python, struct buf *buf)
{
	buf_text(buf, ",\"charts\":[");
	qsort(python->charts, python->chart_count, sizeof(python->charts[0]), compare_charts);
	for (size_t i = 0; i < python->chart_count; i++) {
		buf_text(buf, i > 0 ? ",{\"base64\":\"" : "{\"base64\":\"");
		buf_text(buf, python->charts[i].base64);
		buf_text(buf, "\",\"mimeType\":\"image/png\"}");
	}
	buf_text(buf, "]");
	return buf->failed;
}

/* ,"name":<before>value<behind> */
static int put_member(struct buf *buf, const char *name, char before, struct escaped value,
		      char behind)
{
	buf_format(buf, ",\"%s\":", name);
	if (before != '\0')
		buf_append(buf, &before, 1);
	put_escaped(buf, value);
	if (behind != '\0')
		buf_append(buf, &behind, 1);
	return buf->failed;
}

/* Appends the output and then notices of what was cut or left out. */
static int put_output(const struct atlas_python *python, struct buf *buf)
{
	struct escaped out = escaped_trim(inside(&python->out));
	const char *notice = python->is_cut ? ATLAS_CUT : "";

	if (out.size == 0 && !python->is_cut && !python->is_reduced)
		return 0;
	put_member(buf, "output", '"', out, '\0');
	buf_text(buf, notice);
	if (python->is_reduced)
		buf_text(buf, "\\n[charts left out: they are too large]");
	buf_text(buf, "\"");
	return buf->failed;
}

int atlas_put_result(struct atlas_python *python, struct buf *buf)
{
	bool is_good = is_kind(python, "ok");

	buf_format(buf, "{\"success\":%s", is_good ? "true" : "false");
	put_output(python, buf);
	if (!is_good) {
		buf_text(buf, ",\"error\":\"");
		atlas_put_error(python, buf);
		buf_text(buf, "\"");
	}
	if (python->table.size > 0)
		put_member(buf, "table", '\0', inside(&python->table), '\0');
	if (python->has_specs)
		put_member(buf, "rechartsCharts", '[', inside(&python->specs), ']');
	if (python->figures.size > 0)
		put_member(buf, "plotlyCharts", '[', inside(&python->figures), ']');
	if (python->chart_count > 0)
		put_charts(python, buf);
	buf_text(buf, "}");
	return buf->failed;
}
