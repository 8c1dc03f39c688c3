// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <jansson.h>

#include "log_unit.h"
#include "session/log_text.h"

/* ---- a small checker: what nbformat 4.5 demands of what we write ---- */

static void assert_members(const json_t *object, const char *const *names, size_t count)
{
	assert_true(json_is_object(object));
	assert_int_equal(json_object_size(object), count);
	for (size_t i = 0; i < count; i++)
		assert_non_null(json_object_get(object, names[i]));
}

#define assert_only(object, ...)                                                                   \
	do {                                                                                       \
		const char *const names_[] = {__VA_ARGS__};                                        \
		assert_members(object, names_, ARRAY_LEN(names_));                                 \
	} while (0)

static const char *text_of(const json_t *object, const char *name)
{
	assert_true(json_is_string(json_object_get(object, name)));
	return json_string_value(json_object_get(object, name));
}

/* Strings, or anything where the type is JSON. */
static void check_bundle(json_t *bundle)
{
	const char *mime = NULL;
	json_t *value = NULL;

	assert_true(json_is_object(bundle));
	json_object_foreach(bundle, mime, value) {
		const char *end = mime + strlen(mime) - 4;

		assert_true(json_is_string(value) || strcmp(end, "json") == 0);
	}
}

static void check_output(json_t *output)
{
	const char *type = text_of(output, "output_type");
	json_t *line = NULL;
	size_t i = 0;

	if (strcmp(type, "stream") == 0) {
		assert_only(output, "output_type", "name", "text");
		assert_memory_equal(text_of(output, "name"), "std", 3);
		(void)text_of(output, "text");
	} else if (strcmp(type, "error") == 0) {
		assert_only(output, "output_type", "ename", "evalue", "traceback");
		(void)text_of(output, "ename");
		(void)text_of(output, "evalue");
		assert_true(json_is_array(json_object_get(output, "traceback")));
		json_array_foreach(json_object_get(output, "traceback"), i, line)
			assert_true(json_is_string(line));
	} else if (strcmp(type, "execute_result") == 0) {
		assert_only(output, "output_type", "data", "metadata", "execution_count");
		check_bundle(json_object_get(output, "data"));
	} else {
		assert_string_equal(type, "display_data");
		assert_only(output, "output_type", "data", "metadata");
		check_bundle(json_object_get(output, "data"));
	}
}

static void check_cell(json_t *cell, size_t number)
{
	json_t *output = NULL;
	size_t i = 0;

	assert_only(cell, "id", "cell_type", "metadata", "source", "outputs", "execution_count");
	assert_string_equal(text_of(cell, "cell_type"), "code");
	assert_true(strspn(text_of(cell, "id"), "abcdefghijklmnopqrstuvwxyz0123456789_-") ==
		    strlen(text_of(cell, "id")));
	assert_int_equal(json_integer_value(json_object_get(cell, "execution_count")), number);
	(void)text_of(cell, "source");
	assert_true(json_is_object(json_object_get(cell, "metadata")));
	assert_true(json_is_array(json_object_get(cell, "outputs")));
	json_array_foreach(json_object_get(cell, "outputs"), i, output)
		check_output(output);
}

/* The notebook of the session, checked. */
static json_t *notebook(struct stage *stage, const char *session)
{
	json_error_t where;
	json_t *book = NULL;
	json_t *cell = NULL;
	struct buf text;
	size_t i = 0;

	buf_init(&text, MIB);
	assert_ok(take_whole(logs_notebook_open(stage->logs, session, "my \"book\""), &text,
			     &stage->err),
		  stage->err);
	book = json_loadb((const char *)text.data, text.size, JSON_REJECT_DUPLICATES, &where);
	assert_non_null(book);
	buf_done(&text);
	assert_only(book, "cells", "metadata", "nbformat", "nbformat_minor");
	assert_int_equal(json_integer_value(json_object_get(book, "nbformat")), 4);
	assert_int_equal(json_integer_value(json_object_get(book, "nbformat_minor")), 5);
	assert_string_equal(text_of(json_object_get(book, "metadata"), "title"), "my \"book\"");
	assert_string_equal(
		text_of(json_object_get(json_object_get(book, "metadata"), "kernelspec"), "name"),
		"python3");
	json_array_foreach(json_object_get(book, "cells"), i, cell)
		check_cell(cell, i + 1);
	return book;
}

static json_t *cell_of(json_t *book, size_t i)
{
	return json_array_get(json_object_get(book, "cells"), i);
}

static json_t *output_of(json_t *book, size_t cell, size_t i)
{
	json_t *output = json_array_get(json_object_get(cell_of(book, cell), "outputs"), i);

	assert_non_null(output);
	return output;
}

static struct log *add_cell(struct stage *stage, const char *id, const char *code)
{
	struct log *log = add_log_of(stage, id, "{\"session\":\"ses_1\"}", code);

	add_line(stage, log, "started", "");
	return log;
}

/* ---- tests ---- */

static void a_session_is_its_runs_in_order(void **state)
{
	struct stage *stage = *state;
	json_t *book = NULL;

	add_line(stage, add_cell(stage, "run_1", "x = \"\xc3\xa4\"\n"), "verdict", "");
	add_line(stage, add_log_of(stage, "run_2", "{\"session\":\"ses_2\"}", "other"), "verdict",
		 "");
	add_line(stage, add_log_of(stage, "run_3", "{\"session\":null}", "alone"), "verdict", "");
	(void)add_log_of(stage, "run_4", "{\"session\":\"ses_1\",\"command\":true}", "ls \"a\"");
	(void)add_cell(stage, "run_5", "");

	book = notebook(stage, "ses_1");
	assert_int_equal(json_array_size(json_object_get(book, "cells")), 3);
	assert_string_equal(text_of(cell_of(book, 0), "id"), "run_1");
	assert_string_equal(text_of(cell_of(book, 0), "source"), "x = \"\xc3\xa4\"\n");
	assert_string_equal(text_of(cell_of(book, 1), "source"), "%%bash\nls \"a\"");
	assert_string_equal(text_of(cell_of(book, 2), "source"), "");
	json_decref(book);

	book = notebook(stage, "ses_none");
	assert_int_equal(json_array_size(json_object_get(book, "cells")), 0);
	json_decref(book);
}

static void outputs_are_shown_as_a_notebook_does(void **state)
{
	struct stage *stage = *state;
	struct log *log = add_cell(stage, "run_1", "code");
	json_t *book = NULL;
	json_t *data = NULL;

	add_line(stage, log, "stdout", ",\"text\":\"one\\n\"");
	add_line(stage, log, "stdout", ",\"text\":\"two \\u00e4\\n\"");
	add_line(stage, log, "stderr", ",\"text\":\"warning\"");
	add_line(stage, log, "stdout", ",\"text\":\"three\"");
	add_line(stage, log, "display", ",\"data\":{\"text/html\":\"<b>\",\"text/plain\":\"b\"}");
	add_line(stage, log, "chart",
		 ",\"chart\":{\"kind\":\"image\",\"mime\":\"image/png\",\"base64\":\"aGk=\"}");
	add_line(stage, log, "chart", ",\"chart\":{\"kind\":\"plotly\",\"figure\":{\"data\":[]}}");
	add_line(stage, log, "chart",
		 ",\"chart\":{\"kind\":\"spec\",\"spec\":{\"type\":\"line\"}}");
	add_line(stage, log, "table", ",\"table\":{\"columns\":[\"a\"],\"rows\":[]}");
	add_line(stage, log, "file", ",\"file\":{\"path\":\"/workspace/a\"}");
	add_line(stage, log, "result", ",\"result\":{\"text/plain\":\"5\",\"application/json\":5}");
	add_line(stage, log, "verdict", ",\"verdict\":{\"kind\":\"ok\",\"message\":\"\"}");

	restart(stage);
	book = notebook(stage, "ses_1");
	assert_int_equal(json_array_size(json_object_get(cell_of(book, 0), "outputs")), 9);
	assert_string_equal(text_of(output_of(book, 0, 0), "text"), "one\ntwo \xc3\xa4\n");
	assert_string_equal(text_of(output_of(book, 0, 1), "name"), "stderr");
	assert_string_equal(text_of(output_of(book, 0, 2), "text"), "three");
	data = json_object_get(output_of(book, 0, 3), "data");
	assert_string_equal(text_of(data, "text/html"), "<b>");
	data = json_object_get(output_of(book, 0, 4), "data");
	assert_string_equal(text_of(data, "image/png"), "aGk=");
	data = json_object_get(output_of(book, 0, 5), "data");
	assert_true(json_is_object(json_object_get(data, "application/vnd.plotly.v1+json")));
	data = json_object_get(output_of(book, 0, 6), "data");
	assert_true(json_is_object(json_object_get(data, "application/json")));
	assert_string_equal(text_of(output_of(book, 0, 8), "output_type"), "execute_result");
	data = json_object_get(output_of(book, 0, 8), "data");
	assert_string_equal(text_of(data, "text/plain"), "5");
	json_decref(book);
}

static void errors_and_other_ends_are_told(void **state)
{
	struct stage *stage = *state;
	struct log *log = add_cell(stage, "run_1", "1/0");
	json_t *book = NULL;
	json_t *lines = NULL;

	add_line(stage, log, "error",
		 ",\"error\":{\"type\":\"ZeroDivisionError\",\"message\":\"by \\\"zero\\\"\","
		 "\"traceback\":\"Trace\\n  \\\\n is no line end "
		 "\\u00e4\\n\\nlast\\n\",\"line\":1}");
	add_line(stage, log, "verdict",
		 ",\"verdict\":{\"kind\":\"exception\",\"message\":\"ZeroDivisionError\"}");
	log = add_cell(stage, "run_2", "while True: pass");
	add_line(stage, log, "stdout", ",\"text\":\"on\"");
	add_line(stage, log, "verdict",
		 ",\"verdict\":{\"kind\":\"timeout\",\"message\":\"longer than 30 s\"}");

	book = notebook(stage, "ses_1");
	assert_int_equal(json_array_size(json_object_get(cell_of(book, 0), "outputs")), 1);
	assert_string_equal(text_of(output_of(book, 0, 0), "evalue"), "by \"zero\"");
	lines = json_object_get(output_of(book, 0, 0), "traceback");
	assert_int_equal(json_array_size(lines), 4);
	assert_string_equal(json_string_value(json_array_get(lines, 1)),
			    "  \\n is no line end \xc3\xa4");
	assert_string_equal(json_string_value(json_array_get(lines, 2)), "");
	assert_string_equal(json_string_value(json_array_get(lines, 3)), "last");
	assert_string_equal(text_of(output_of(book, 1, 1), "ename"), "timeout");
	assert_string_equal(text_of(output_of(book, 1, 1), "evalue"), "longer than 30 s");
	json_decref(book);
}

static void what_was_cut_is_marked(void **state)
{
	static const char end[] =
		",\"verdict\":{\"kind\":\"timeout\",\"message\":\"30 s\"},"
		"\"truncated\":{\"stdout\":%s,\"stderr\":%s,\"files\":true,\"result\":%s},"
		"\"usage\":{\"output_bytes\":3000000},\"allowed\":{\"output\":1048576}";
	static const char mark[] =
		"std%s was cut at 1MiB, the output limit; the run wrote 3000000 bytes in all: "
		"print less, or write to a file below /workspace\n";
	struct stage *stage = *state;
	struct log *log = add_cell(stage, "run_1", "code");
	char members[512];
	char text[256];
	json_t *book = NULL;

	add_line(stage, log, "stdout", ",\"text\":\"1\\n2\"");
	(void)snprintf(members, sizeof(members), end, "true", "false", "true");
	add_line(stage, log, "verdict", members);
	log = add_cell(stage, "run_2", "code");
	add_line(stage, log, "stderr", ",\"text\":\"half a li\"");
	(void)snprintf(members, sizeof(members), end, "false", "true", "false");
	add_line(stage, log, "verdict", members);
	log = add_cell(stage, "run_3", "code");
	(void)snprintf(members, sizeof(members), end, "false", "false", "false");
	add_line(stage, log, "verdict", members);

	book = notebook(stage, "ses_1");
	assert_int_equal(json_array_size(json_object_get(cell_of(book, 0), "outputs")), 3);
	assert_string_equal(text_of(output_of(book, 0, 0), "text"), "1\n2");
	assert_string_equal(text_of(output_of(book, 0, 1), "name"), "stderr");
	(void)snprintf(text, sizeof(text), mark, "out");
	assert_memory_equal(text_of(output_of(book, 0, 1), "text"), text, strlen(text));
	assert_non_null(strstr(text_of(output_of(book, 0, 1), "text"),
			       "\na value was too large, and a form of it "));
	assert_string_equal(text_of(output_of(book, 0, 2), "ename"), "timeout");

	assert_string_equal(text_of(output_of(book, 1, 0), "text"), "half a li");
	(void)snprintf(text, sizeof(text), mark, "err");
	assert_string_equal(text_of(output_of(book, 1, 1), "name"), "stderr");
	assert_int_equal(text_of(output_of(book, 1, 1), "text")[0], '\n');
	assert_string_equal(text_of(output_of(book, 1, 1), "text") + 1, text);
	assert_int_equal(json_array_size(json_object_get(cell_of(book, 2), "outputs")), 1);
	json_decref(book);
}

/* A runner runs hostile code: its objects have any members. */
static void what_a_notebook_cannot_hold_is_left_out(void **state)
{
	struct stage *stage = *state;
	struct log *log = add_cell(stage, "run_1", "code");
	json_t *book = NULL;

	add_line(stage, log, "display",
		 ",\"data\":{\"text/plain\":5,\"x/y\":[],\"image/png\":null}");
	add_line(stage, log, "chart", ",\"chart\":{\"base64\":7}");
	add_line(stage, log, "error", ",\"error\":{\"type\":\"E\",\"message\":{},\"traceback\":1}");
	add_line(stage, log, "stdout", ",\"text\":7");
	add_line(stage, log, "verdict", ",\"verdict\":{\"kind\":7}");
	book = notebook(stage, "ses_1");
	assert_int_equal(json_array_size(json_object_get(cell_of(book, 0), "outputs")), 1);
	assert_int_equal(json_object_size(json_object_get(output_of(book, 0, 0), "data")), 0);
	json_decref(book);
}

static void a_notebook_has_a_largest_size(void **state)
{
	struct stage *stage = *state;
	struct log *log = add_cell(stage, "run_1", "code");
	struct buf text;

	add_line(stage, log, "stdout", ",\"text\":\"one\\n\"");
	for (size_t max = 1; max < 300; max++) {
		buf_init(&text, max);
		assert_int_equal(take_whole(logs_notebook_open(stage->logs, "ses_1", NULL), &text,
					    &stage->err),
				 -EMSGSIZE);
		buf_done(&text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGE(a_session_is_its_runs_in_order),
		STAGE(outputs_are_shown_as_a_notebook_does),
		STAGE(errors_and_other_ends_are_told),
		STAGE(what_was_cut_is_marked),
		STAGE(what_a_notebook_cannot_hold_is_left_out),
		STAGE(a_notebook_has_a_largest_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
