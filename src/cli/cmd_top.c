// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/c.h"
#include "cli/safe.h"
#include "cli/session.h"
#include "cli/term.h"
#include "cli/watch.h"

#define FRAME_MS 1000
#define CTRL_C 3

static const struct flag flags[] = {
	WATCH_ROW(is_once, "once", 0, FLAG_SWITCH, NULL, "print one frame and end"),
	WATCH_ROW(is_json, "json", 0, FLAG_SWITCH, NULL, "print one frame as a JSON object"),
	WATCH_ROWS,
};

static json_int_t number_of(const json_t *object, const char *name)
{
	return json_integer_value(json_object_get(object, name));
}

/* ---- a frame ---- */

/* Adds up the cpu time of each session over the runs that the daemon still keeps. */
static void add_cpu(json_t *sessions, const json_t *runs)
{
	size_t index;
	size_t run_index;
	json_t *session;
	const json_t *run;

	json_array_foreach(sessions, index, session) {
		const json_t *id = json_object_get(session, "id");
		double cpu_ms = 0;

		json_array_foreach(runs, run_index, run) {
			if (json_equal(json_object_get(run, "session"), id))
				cpu_ms += json_number_value(json_object_get(run, "cpu_ms"));
		}
		(void)json_object_set_new(session, "cpu_ms", json_real(cpu_ms));
	}
}

/* {"status","sessions","runs"}: sessions with their cpu time, runs that have not ended. */
static json_t *look(const struct watch *watch, struct err *err)
{
	json_auto_t *status = client_json(watch->client, "GET", "/v1/status", NULL, err);
	json_auto_t *seen = status != NULL ? watch_look(watch, true, err) : NULL;
	json_t *on = NULL;
	size_t index;
	json_t *run;

	if (seen == NULL)
		return NULL;
	add_cpu(json_object_get(seen, "sessions"), json_object_get(seen, "runs"));
	on = json_array();
	json_array_foreach(json_object_get(seen, "runs"), index, run) {
		if (json_is_null(json_object_get(run, "verdict")))
			(void)json_array_append(on, run);
	}
	return json_pack("{s:O, s:O, s:o}", "status", status, "sessions",
			 json_object_get(seen, "sessions"), "runs", on);
}

/* A runtime has a pool for each size of sandbox; here they are added up. */
static void print_pools(const json_t *pools, FILE *out)
{
	json_auto_t *sums = json_object();
	size_t index;
	const json_t *pool;
	const char *runtime;
	json_t *sum;

	json_array_foreach(pools, index, pool) {
		runtime = json_string_value(json_object_get(pool, "runtime"));
		sum = json_object_get(sums, runtime);
		(void)json_object_set_new(
			sums, runtime,
			json_pack("{s:I, s:I}", "ready",
				  number_of(sum, "ready") + number_of(pool, "ready"), "keep",
				  number_of(sum, "keep") + number_of(pool, "keep")));
	}
	json_object_foreach(sums, runtime, sum)
		(void)fprintf(out, " %s %lld/%lld", runtime, (long long)number_of(sum, "ready"),
			      (long long)number_of(sum, "keep"));
}

static void print_head(const struct watch *watch, const json_t *frame, FILE *out)
{
	const json_t *status = json_object_get(frame, "status");
	const json_t *sessions = json_object_get(frame, "sessions");
	json_int_t memory = 0;
	size_t running = 0;
	size_t index;
	const json_t *session;

	json_array_foreach(sessions, index, session) {
		const char *state = json_string_value(json_object_get(session, "state"));

		memory += number_of(session, "memory");
		running += state != NULL && strcmp(state, "running") == 0;
	}
	(void)fprintf(out, "viv %s at %s, up %lld s\n",
		      json_string_value(json_object_get(status, "version")),
		      client_address(watch->client),
		      (long long)number_of(status, "uptime_ms") / 1000);
	(void)fprintf(out, "%zu sessions, %zu running, %.1f MiB; %zu unfinished runs; ready:",
		      json_array_size(sessions), running, (double)memory / (double)MIB,
		      json_array_size(json_object_get(frame, "runs")));
	print_pools(json_object_get(status, "pools"), out);
	(void)fprintf(out, "\n\n");
}

static void print_frame(const struct watch *watch, const json_t *frame, size_t width, FILE *out)
{
	print_head(watch, frame, out);
	session_print_list(json_object_get(frame, "sessions"), width, out);
	if (json_array_size(json_object_get(frame, "runs")) > 0) {
		(void)fprintf(out, "\n");
		watch_print_runs(json_object_get(frame, "runs"), width, out);
	}
}

/* Prints the lines that fit, and clears the rest of each: a full clear would flicker. */
static void draw(const char *text, size_t rows)
{
	(void)printf("\033[H");
	for (size_t row = 0; *text != '\0' && row + 1 < rows; row++) {
		size_t size = strcspn(text, "\n");

		(void)printf("%.*s\033[K\r\n", (int)size, text);
		text += size;
		text += *text == '\n';
	}
	(void)printf("\033[J");
	(void)fflush(stdout);
}

static int draw_frame(const struct watch *watch, struct err *err)
{
	json_auto_t *frame = look(watch, err);
	AUTO_FREE char *text = NULL;
	size_t size = 0;
	FILE *out = NULL;
	size_t columns;
	size_t rows;

	if (frame == NULL)
		return -err->num;
	term_size(STDOUT_FILENO, &columns, &rows);
	out = open_memstream(&text, &size);
	if (out == NULL)
		return err_sys(err, "draw a frame");
	print_frame(watch, frame, columns, out);
	if (fclose(out) != 0)
		return err_sys(err, "draw a frame");
	draw(text, rows);
	return 0;
}

/* False: q, Ctrl-C, or end of file. */
static bool wait_for_key(void)
{
	struct pollfd fd = {.fd = STDIN_FILENO, .events = POLLIN};
	char key = 0;

	if (poll(&fd, 1, FRAME_MS) <= 0)
		return true;
	return read(STDIN_FILENO, &key, 1) == 1 && key != 'q' && key != 'Q' && key != CTRL_C;
}

static int watch_live(const struct watch *watch, struct err *err)
{
	struct term term = {0};
	int r;

	if (!term_raw(&term, STDIN_FILENO))
		return err_set(err, ERR_BAD_REQUEST, ENOTTY,
			       "stdin is not a terminal; --once prints one frame");
	(void)printf("\033[?1049h\033[?25l"); /* the alternate screen, without a cursor */
	do {
		r = draw_frame(watch, err);
	} while (r == 0 && wait_for_key());
	(void)printf("\033[?25h\033[?1049l");
	(void)fflush(stdout);
	term_restore(&term);
	return r;
}

static int show_once(const struct watch *watch, struct err *err)
{
	json_auto_t *frame = look(watch, err);

	if (frame == NULL)
		return -err->num;
	if (watch->options->is_json)
		safe_print_json(frame);
	else
		print_frame(watch, frame, 0, stdout);
	return 0;
}

static int run(const struct cmd *cmd, const void *raw_options, const struct operands *operands)
{
	const struct watch_options *options = raw_options;
	bool is_live = !options->is_once && !options->is_json;
	struct watch watch = {0};
	struct err err = {0};
	int r = 0;

	if (operands->count > 0)
		r = err_set(&err, ERR_BAD_REQUEST, EINVAL, "it takes no operands");
	if (r == 0)
		r = watch_open(&watch, options, &err);
	if (r == 0)
		r = is_live ? watch_live(&watch, &err) : show_once(&watch, &err);
	watch_close(&watch);
	return r < 0 ? cmd_fail(cmd, &err) : CMD_OK;
}

const struct cmd cmd_top = {
	.name = "top",
	.operands = "",
	.summary = "live resource use of sessions and runs",
	.about = "Shows your sessions and unfinished runs, every second: state, memory, runs, and\n"
		 "how many sandboxes stand ready. q leaves.",
	.examples = "  viv top\n"
		    "  viv top --once",
	CMD_FLAGS(flags),
	.options_size = sizeof(struct watch_options),
	.run = run,
};
