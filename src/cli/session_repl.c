// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <jansson.h>
#include <locale.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/c.h"
#include "base/io.h"
#include "cli/edit.h"
#include "cli/repl_cell.h"
#include "cli/repl_charts.h"
#include "cli/run_remote.h"
#include "cli/session.h"
#include "policy/paths.h"

#define SCRIPT_MAX (64U << 20)

struct repl {
	const struct session_desk *desk; /* borrowed */
	struct repl_charts charts;
	int signals;                    /* owned: a signalfd */
	bool is_terminal;               /* a person types */
	bool is_over;                   /* a signal other than SIGINT came */
	char skipped[SKIPPED_TEXT_MAX]; /* what the last cell said about its missing checkpoint */
};

/* ---- one cell ---- */

static int make_body(const struct repl *repl, const char *code, size_t size, int *ret_fd,
		     struct err *err)
{
	json_auto_t *body = json_object();
	json_t *text = json_stringn(code, size);
	AUTO_FREE char *json = NULL;
	int r;

	if (text == NULL)
		return err_set(err, ERR_BAD_REQUEST, EILSEQ, "the code is not UTF-8");
	(void)json_object_set_new(body, "code", text);
	if (repl->is_terminal)
		(void)json_object_set_new(body, "stdin", json_string("live"));
	json = json_dumps(body, JSON_COMPACT | JSON_ENSURE_ASCII);
	if (json == NULL)
		return err_set(err, ERR_INTERNAL, ENOMEM, "no memory for the request");
	r = io_sealed_memfd(json, strlen(json), ret_fd, err);
	if (r == 0)
		(void)lseek(*ret_fd, 0, SEEK_SET);
	return r;
}

/* Says what a cell did to the state; that it left no checkpoint only if the cell before it did not
 * say the same. */
static void tell_state(struct repl *repl, struct run_lines *lines)
{
	char skipped[SKIPPED_TEXT_MAX];

	memcpy(skipped, lines->skipped, sizeof(skipped));
	if (strcmp(skipped, repl->skipped) == 0)
		lines->skipped[0] = '\0';
	memcpy(repl->skipped, skipped, sizeof(skipped));
	run_lines_tell_state(lines);
}

/* Runs a cell and shows its output. *ret_status is that of `viv run`; a negative errno: not run. */
static int run_cell(struct repl *repl, const char *code, size_t size, int *ret_status,
		    struct err *err)
{
	AUTO_CLOSE int body = -1;
	struct run_lines lines;
	struct show show;
	struct buf path;
	struct run_remote remote = {
		.client = repl->desk->client,
		.lines = &lines,
		.session = repl->desk->id,
		.signals = repl->signals,
		.input = repl->is_terminal ? STDIN_FILENO : -1,
	};
	int signal = 0;
	int r = make_body(repl, code, size, &body, err);

	if (r < 0)
		return r;
	show_init(&show, repl->desk->options->run.is_json ? SHOW_EVENTS : SHOW_PLAIN,
		  repl->signals);
	show.says = repl->is_terminal ? "-- " : "viv session: ";
	show.session = repl->desk->id;
	show.chart = repl_charts_take;
	show.chart_user = &repl->charts;
	run_lines_init(&lines, &show);
	session_path(repl->desk, &path, "/run");
	remote.path = buf_string(&path);
	remote.body = body;
	r = run_remote(&remote, &signal, err);
	if (r == 0) {
		*ret_status = show_end_facts(&show, &lines.facts);
		tell_state(repl, &lines);
	}
	repl->is_over = signal != 0 && signal != SIGINT;
	if (r == -ECANCELED && signal != 0)
		r = 0;
	run_lines_done(&lines);
	show_done(&show);
	buf_done(&path);
	return r;
}

/* ---- a script ---- */

/* The number of the first line from `at` on that is not blank. */
static size_t line_of(const struct buf *script, size_t at)
{
	size_t line = 1;

	at += strspn((const char *)script->data + at, " \t\r\n");
	for (size_t i = 0; i < at; i++)
		line += script->data[i] == '\n';
	return line;
}

static int run_script(struct repl *repl, struct err *err)
{
	struct buf script;
	size_t at = 0;
	int status = CMD_OK;
	int r;

	buf_init(&script, SCRIPT_MAX);
	r = io_read_all(STDIN_FILENO, &script, err);
	(void)buf_string(&script);
	while (r == 0 && status == CMD_OK && !repl->is_over && at < script.size) {
		const char *cell = (const char *)script.data + at;
		size_t size = repl_cell_size(cell, script.size - at);

		if (!repl_cell_is_blank(cell, size))
			r = run_cell(repl, cell, size, &status, err);
		at += size;
	}
	if (r == 0 && at < script.size &&
	    !repl_cell_is_blank((char *)script.data + at, script.size - at))
		(void)fprintf(stderr,
			      "viv session: stopped; the code from line %zu on was not run\n",
			      line_of(&script, at));
	buf_done(&script);
	return r < 0 ? r : status;
}

/* ---- a person ---- */

static bool take_matches(const json_t *answer, struct edit_matches *ret)
{
	const json_t *list = json_object_get(answer, "matches");
	size_t index;
	const json_t *match;

	if (json_array_size(list) == 0)
		return false;
	*ret = (struct edit_matches){
		.items = xcalloc(json_array_size(list), sizeof(char *)),
		.start = (size_t)json_integer_value(json_object_get(answer, "start")),
		.end = (size_t)json_integer_value(json_object_get(answer, "end")),
	};
	json_array_foreach(list, index, match) {
		const char *text = json_string_value(match);

		if (text != NULL && (ret->items[ret->count] = strdup(text)) != NULL)
			ret->count++;
	}
	return ret->start <= ret->end;
}

/* An older or busy daemon gives no completions: that is not an error. */
static bool complete(void *user, const char *text, size_t cursor, struct edit_matches *ret)
{
	const struct repl *repl = user;
	json_auto_t *answer = NULL;
	struct err err = {0};
	struct buf path;

	session_path(repl->desk, &path, "/complete");
	answer = client_json(repl->desk->client, "POST", buf_string(&path),
			     json_pack("{s:s, s:I}", "code", text, "cursor", (json_int_t)cursor),
			     &err);
	buf_done(&path);
	return answer != NULL && take_matches(answer, ret);
}

static void greet(const struct repl *repl)
{
	(void)printf(
		"%s. Ctrl-D or exit leaves, and the session stays; Ctrl-C interrupts a run; Tab "
		"completes.\n",
		repl->desk->id);
	(void)fflush(stdout);
}

/* True for the words that leave Python's own prompt. */
static bool is_leave(const char *text)
{
	static const char *const words[] = {"exit", "quit", "exit()", "quit()"};

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (strcmp(text, words[i]) == 0)
			return true;
	}
	return false;
}

static int converse(struct repl *repl, struct edit *edit, struct err *err)
{
	struct buf text;
	int status = CMD_OK;
	int r = 0;

	buf_init(&text, EDIT_TEXT_MAX);
	greet(repl);
	while (r == 0 && !repl->is_over) {
		enum edit_end end = edit_read(edit, &text);

		if (end == EDIT_OVER)
			break;
		if (end == EDIT_CANCELLED || repl_cell_is_blank((char *)text.data, text.size))
			continue;
		while (text.size > 0 && strchr(" \n", text.data[text.size - 1]) != NULL)
			text.size--;
		history_add(edit->history, buf_string(&text));
		if (is_leave(buf_string(&text)))
			break;
		r = run_cell(repl, (const char *)text.data, text.size, &status, err);
		/* Only a daemon or a session that is gone ends the repl. */
		if (r < 0 && err->num != ECONNREFUSED && err->kind != ERR_NOT_FOUND) {
			(void)fprintf(stderr, "-- %s\n", err->text);
			r = 0;
		}
	}
	buf_done(&text);
	return r < 0 ? r : CMD_OK;
}

static int converse_with_history(struct repl *repl, struct err *err)
{
	struct history past;
	struct edit edit = {
		.signals = repl->signals,
		.history = &past,
		.is_whole = repl_cell_is_whole,
		.complete = complete,
		.user = repl,
	};
	char folder[4096];
	int r;

	path_state(folder, sizeof(folder));
	history_open(&past, folder);
	r = edit_open(&edit) ? converse(repl, &edit, err)
			     : err_set(err, ERR_INTERNAL, EIO, "libedit cannot use this terminal");
	edit_close(&edit);
	history_close(&past);
	return r;
}

int verb_repl(const struct session_desk *desk, struct err *err)
{
	const struct run_options *options = &desk->options->run;
	struct repl repl = {.desk = desk, .signals = -1};
	int r;

	if (options->out == NULL && options->may_overwrite)
		return err_set(err, ERR_BAD_REQUEST, EINVAL, "--overwrite: there is no --out DIR");
	/* edit.c decodes keys as UTF-8, and libedit needs the width of characters. */
	if (setlocale(LC_CTYPE, "C.UTF-8") == NULL)
		(void)setlocale(LC_CTYPE, "");
	repl.is_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	repl_charts_init(&repl.charts, options->out, options->may_overwrite);
	r = run_remote_signals(&repl.signals, err);
	if (r == 0)
		r = repl.is_terminal ? converse_with_history(&repl, err) : run_script(&repl, err);
	repl_charts_done(&repl.charts);
	drop_fd(&repl.signals);
	return r;
}
