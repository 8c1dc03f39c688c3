// SPDX-License-Identifier: Apache-2.0
#include "cli/repl_charts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/c.h"
#include "cli/run_charts.h"

#define KITTY_PIECE 4096U /* most base64 in one sequence, by kitty's graphics protocol */

void repl_charts_init(struct repl_charts *charts, const char *folder, bool may_replace)
{
	*charts = (struct repl_charts){
		.out = {.dir = -1, .file = -1, .parent = -1},
		.asked = folder,
		.may_replace = may_replace,
	};
}

void repl_charts_done(struct repl_charts *charts)
{
	out_dir_close(&charts->out);
}

/* ---- terminals that show images ---- */

static bool variable_has(const char *name, const char *part)
{
	const char *value = getenv(name);

	return value != NULL && strstr(value, part) != NULL;
}

/* Sends an image in escape sequences of the terminal. Base64 contains no control byte. */
static void show_kitty(const char *base64, size_t size)
{
	for (size_t at = 0; at < size; at += KITTY_PIECE) {
		size_t piece = size - at < KITTY_PIECE ? size - at : KITTY_PIECE;

		(void)printf("\033_G%sm=%d;%.*s\033\\", at == 0 ? "a=T,f=100," : "",
			     at + piece < size, (int)piece, base64 + at);
	}
	(void)printf("\n");
}

static void show_iterm(const char *base64, size_t size)
{
	(void)printf("\033]1337;File=inline=1;size=%zu:%.*s\a\n", size / 4 * 3, (int)size, base64);
}

static bool is_base64(const char *text, size_t size)
{
	static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				       "0123456789+/=";

	for (size_t i = 0; i < size; i++) {
		if (text[i] == '\0' || strchr(alphabet, text[i]) == NULL)
			return false;
	}
	return size > 0;
}

static void show_inline(struct span chart)
{
	struct span mime = span_member(chart, "mime");
	struct span text = span_member(chart, "base64");

	if (!isatty(STDOUT_FILENO) || mime.size == 0 || text.size < 2 ||
	    !is_base64(text.at + 1, text.size - 2))
		return;
	if (variable_has("TERM", "kitty") || variable_has("TERM_PROGRAM", "ghostty")) {
		if (span_is(mime, "image/png"))
			show_kitty(text.at + 1, text.size - 2);
	} else if (variable_has("TERM_PROGRAM", "iTerm") ||
		   variable_has("TERM_PROGRAM", "WezTerm")) {
		show_iterm(text.at + 1, text.size - 2);
	}
	(void)fflush(stdout);
}

/* ---- the folder ---- */

static int open_folder(struct repl_charts *charts, struct err *err)
{
	const char *temporary = getenv("TMPDIR");
	int n;

	if (charts->out.dir >= 0)
		return 0;
	if (charts->asked != NULL) {
		n = snprintf(charts->path, sizeof(charts->path), "%s", charts->asked);
	} else {
		n = snprintf(charts->path, sizeof(charts->path), "%s/viv-charts-XXXXXX",
			     temporary != NULL && temporary[0] == '/' ? temporary : "/tmp");
		if (n > 0 && (size_t)n < sizeof(charts->path) && mkdtemp(charts->path) == NULL)
			return err_sys(err, "make a folder for charts");
	}
	if (n < 0 || (size_t)n >= sizeof(charts->path))
		return err_set(err, ERR_BAD_REQUEST, ENAMETOOLONG, "--out: the path is too long");
	return out_dir_open(&charts->out, charts->path, charts->may_replace, err);
}

void repl_charts_take(void *user, struct span chart)
{
	struct repl_charts *charts = user;
	struct err err = {0};
	char name[64] = "";
	int r;

	show_inline(chart);
	if (charts->is_broken)
		return;
	r = open_folder(charts, &err);
	if (r < 0) {
		charts->is_broken = true;
	} else {
		charts->count++;
		r = run_chart_write(&charts->out, charts->count, chart, name, sizeof(name), &err);
	}
	if (r < 0)
		(void)fprintf(stderr, "chart not saved: %s\n", err.text);
	else
		(void)fprintf(stderr, "chart: %s/%s\n", charts->path, name);
}
