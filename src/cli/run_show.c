// SPDX-License-Identifier: Apache-2.0
#include "cli/run_show.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "base/c.h"
#include "base/json.h"
#include "cli/cmd.h"
#include "cli/run_charts.h"
#include "cli/safe.h"
#include "session/testimony.h"

#define PIECE 4096U /* a writable pipe takes this much without blocking (man 7 pipe) */
#define FILES_TEXT_MAX (16U << 20)
#define REFUSED_LINES_MAX 20U /* files that are named as not written; the others are counted */
#define RESULT_JSON_MAX (512U << 20)
#define STATUS_PIPE_CLOSED 141 /* what a shell shows for a program that SIGPIPE ended */

/* Writes all bytes; gives up if the reader is gone, or if a signal comes while it is slow. */
static void write_out(struct show *show, int fd, const void *data, size_t size)
{
	const char *bytes = data;

	while (size > 0 && !show->is_cut) {
		struct pollfd fds[2] = {{.fd = fd, .events = POLLOUT},
					{.fd = show->signals, .events = POLLIN}};
		size_t piece = size < PIECE ? size : PIECE;
		ssize_t n;

		if (poll(fds, 2, -1) < 0)
			continue; /* EINTR: SIGCHLD or SIGWINCH, say */
		if (fds[1].revents != 0 && !(fds[0].revents & POLLOUT)) {
			show->is_cut = true;
			return;
		}
		n = write(fd, bytes, piece);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0) {
			show->is_cut = fd == STDOUT_FILENO;
			show->is_closed = show->is_cut;
			return;
		}
		bytes += n;
		size -= (size_t)n;
	}
}

/* Prints output of the code; on a terminal it passes through the filter of screen.h. */
static void write_code(struct show *show, int fd, const void *data, size_t size)
{
	size_t i = fd == STDOUT_FILENO ? 0 : 1;
	const char *bytes = data;

	if (!show->is_terminal[i]) {
		write_out(show, fd, data, size);
		return;
	}
	while (size > 0 && !show->is_cut) {
		size_t piece = size < PIECE ? size : PIECE;
		struct buf text;

		buf_init(&text, 4UL * (PIECE + SCREEN_HELD_MAX) + 1);
		(void)screen_put(&show->screens[i], bytes, piece, &text);
		write_out(show, fd, text.data, text.size);
		buf_done(&text);
		bytes += piece;
		size -= piece;
	}
}

/* Ends both filters before lines of our own follow. */
static void end_screens(struct show *show)
{
	for (int i = 0; i < 2; i++) {
		struct buf text;

		buf_init(&text, 8UL * SCREEN_HELD_MAX);
		if (show->is_terminal[i] && screen_end(&show->screens[i], &text) == 0)
			write_out(show, i == 0 ? STDOUT_FILENO : STDERR_FILENO, text.data,
				  text.size);
		buf_done(&text);
	}
}

/* Prints a line of our own on stderr; the caller has escaped names from the run. */
static void note(struct show *show, struct buf *line)
{
	(void)buf_text(line, "\n");
	write_out(show, STDERR_FILENO, line->data, line->size);
	buf_done(line);
}

static struct buf new_line(const struct show *show, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static struct buf new_line(const struct show *show, const char *format, ...)
{
	char text[512];
	struct buf line;
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	buf_init(&line, 1U << 20);
	(void)buf_text(&line, show->says);
	(void)buf_text(&line, text);
	return line;
}

/* The text of a JSON string member, as UTF-8; false when there is none. */
static bool find_text(struct span object, const char *name, struct buf *ret_text)
{
	struct span text = span_member(object, name);

	buf_init(ret_text, text.size + 1);
	return text.size > 0 && testimony_decode(ret_text, text.at, text.size) == 0;
}

void show_init(struct show *show, enum show_mode mode, int signals)
{
	*show = (struct show){
		.mode = mode,
		.says = "viv run: ",
		.out = {.dir = -1, .file = -1, .parent = -1},
		.signals = signals,
		.ends_in_line = true,
		.is_terminal = {isatty(STDOUT_FILENO) == 1, isatty(STDERR_FILENO) == 1},
	};
	buf_init(&show->files, FILES_TEXT_MAX);
	buf_init(&show->refused, FILES_TEXT_MAX);
}

int show_open_out(struct show *show, const char *path, bool may_replace, struct err *err)
{
	show->out_path = path;
	return out_dir_open(&show->out, path, may_replace, err);
}

void show_done(struct show *show)
{
	out_dir_close(&show->out);
	buf_done(&show->files);
	buf_done(&show->refused);
}

static void keep_refusal(struct show *show, const char *path, const struct err *err)
{
	show->has_taken |= err->num == EEXIST;
	show->has_failed |= err->kind == ERR_INTERNAL && err->num != ENOTDIR && err->num != ELOOP &&
			    err->num != EEXIST;
	if (++show->refused_count > REFUSED_LINES_MAX)
		return;
	(void)buf_format(&show->refused, "%snot written: ", show->says);
	safe_put(&show->refused, path, strlen(path));
	(void)buf_format(&show->refused, ": %s\n", err->text);
}

static void print_text(struct show *show, struct span bundle)
{
	struct buf text;

	if (find_text(bundle, "text/plain", &text)) {
		if (!show->ends_in_line)
			write_out(show, STDOUT_FILENO, "\n", 1);
		write_code(show, STDOUT_FILENO, text.data, text.size);
		write_out(show, STDOUT_FILENO, "\n", 1);
		show->ends_in_line = true;
	}
	buf_done(&text);
}

static void take_chart(struct show *show, struct span chart)
{
	struct err err = {0};
	char name[64] = "chart";
	int r;

	if (show->chart != NULL) {
		show->chart(show->chart_user, chart);
		return;
	}
	show->chart_count++;
	if (show->out.dir < 0 || run_chart_is_file(chart))
		return;
	r = run_chart_write(&show->out, show->chart_count, chart, name, sizeof(name), &err);
	if (r < 0)
		keep_refusal(show, name, &err);
	else
		show->written_count++;
}

/* Adds a line for the end; the number of lines is limited by what a run may report. */
static void name_file(struct show *show, struct span file)
{
	struct span bytes = span_member(file, "size");
	struct buf path;

	if (find_text(file, "path", &path) && bytes.size > 0) {
		(void)buf_format(&show->files, "%sfile ", show->says);
		safe_put(&show->files, (const char *)path.data, path.size);
		(void)buf_format(&show->files, " (%.*s bytes)\n",
				 (int)(bytes.size < 20 ? bytes.size : 20), bytes.at);
	}
	buf_done(&path);
}

/* Refuses a file whose bytes did not come before its fact. */
static void check_sent(struct show *show, struct span file)
{
	uint64_t size = strtoull(span_member(file, "size").at, NULL, 10);
	bool is_read = span_member(file, "sha256").at[0] == '"';
	struct err err = {0};
	struct buf path;

	if (find_text(file, "path", &path) && strcmp(buf_string(&path), show->sent) != 0) {
		show->has_unsent |= is_read;
		if (!is_read)
			(void)err_set(&err, ERR_INTERNAL, EFBIG,
				      "it is too large, or cannot be read");
		else if (size > RUN_RETURNED_MAX)
			(void)err_set(&err, ERR_INTERNAL, EFBIG,
				      "it is larger than the %u MiB that a daemon returns",
				      RUN_RETURNED_MAX >> 20);
		else
			(void)err_set(&err, ERR_INTERNAL, EFBIG,
				      "a daemon returns at most %u MiB of files in all",
				      RUN_RETURNED_TOTAL_MAX >> 20);
		keep_refusal(show, buf_string(&path), &err);
	}
	show->sent[0] = '\0';
	buf_done(&path);
}

static void on_output(void *user, int stream, const void *bytes, size_t size)
{
	struct show *show = user;

	if (show->mode != SHOW_PLAIN)
		return;
	write_code(show, stream, bytes, size);
	if (stream == STDOUT_FILENO)
		show->ends_in_line = ((const char *)bytes)[size - 1] == '\n';
}

static void on_fact(void *user, const char *type, const char *value, size_t size)
{
	const struct span fact = {value, size};
	struct show *show = user;

	show->file_count += strcmp(type, "file") == 0;
	if (show->out.dir >= 0 && strcmp(type, "file") == 0)
		check_sent(show, fact);
	if (strcmp(type, "chart") == 0)
		take_chart(show, fact);
	else if (show->mode == SHOW_PLAIN && strcmp(type, "file") == 0)
		name_file(show, fact);
	else if (show->mode == SHOW_PLAIN && strcmp(type, "display") == 0)
		print_text(show, fact);
}

static void on_file(void *user, const char *path, const void *bytes, size_t size, bool is_last)
{
	struct show *show = user;
	struct err err = {0};
	int r;

	if (show->out.dir < 0)
		return;
	(void)snprintf(show->sent, sizeof(show->sent), "%s", path);
	r = out_dir_piece(&show->out, path, bytes, size, is_last, &err);
	if (r < 0)
		keep_refusal(show, path, &err);
	if (r > 0)
		show->written_count++;
}

const struct run_calls show_calls = {.output = on_output, .fact = on_fact, .file = on_file};

static void on_event(void *user, uint64_t seq, const char *text, size_t size)
{
	struct show *show = user;

	(void)seq;
	write_out(show, STDOUT_FILENO, text, size);
	write_out(show, STDOUT_FILENO, "\n", 1);
}

void show_follow(struct show *show, struct run *run)
{
	struct events *events = run_events(run);
	const char *text = NULL;
	uint64_t seq = 0;
	size_t size = 0;

	if (show->mode != SHOW_EVENTS)
		return;
	while (events_next(events, seq, &seq, &text, &size))
		on_event(show, seq, text, size);
	show->sink = (struct events_sink){.event = on_event, .user = show};
	events_subscribe(events, &show->sink);
}

/* ---- the end ---- */

static void list_artifacts(struct show *show)
{
	struct buf line;

	if (show->out.dir >= 0) {
		if (show->written_count > 0) {
			line = new_line(show, "%u file%s in ", show->written_count,
					show->written_count == 1 ? "" : "s");
			safe_put(&line, show->out_path, strlen(show->out_path));
			note(show, &line);
		}
		return;
	}
	write_out(show, STDERR_FILENO, show->files.data, show->files.size);
	if (show->chart_count > 0) {
		line = new_line(show, "%u chart%s", show->chart_count,
				show->chart_count == 1 ? "" : "s");
		note(show, &line);
	}
	if (show->chart_count > 0 || (show->files.size > 0 && show->session == NULL)) {
		line = new_line(show, "nothing was saved; --out DIR saves charts and files");
		note(show, &line);
	}
}

/* Printed in every mode: stderr names the files that are missing from the folder. */
static void list_refused(struct show *show)
{
	struct buf line;

	write_out(show, STDERR_FILENO, show->refused.data, show->refused.size);
	if (show->refused_count > REFUSED_LINES_MAX) {
		line = new_line(show, "not written: %u more",
				show->refused_count - REFUSED_LINES_MAX);
		note(show, &line);
	}
	if (show->has_taken) {
		line = new_line(show, "remedy: choose an empty or new folder%s",
				show->out.is_lived_in || show->out.may_replace
					? ""
					: ", or add --overwrite");
		note(show, &line);
	}
	if (show->has_unsent && show->session != NULL) {
		line = new_line(show, "remedy: `viv session get %s PATH` copies a file of any size",
				show->session);
		note(show, &line);
	} else if (show->has_unsent && show->is_daemon) {
		line = new_line(show, "remedy: add --no-daemon: viv then does the run itself, and "
				      "takes larger files");
		note(show, &line);
	}
}

/* A folder that lacks files is a failure in every mode. */
static void check_complete(struct show *show, const struct run_facts *facts)
{
	if (show->out.dir < 0 || !facts->truncated.files)
		return;
	show->has_failed = true;
	if (show->file_count >= RUN_FILES_MAX)
		show_note(show,
			  "not written: some files: %u were taken, the most that a run gives back; "
			  "pack many into one",
			  show->file_count);
}

static void list_cuts(struct show *show, const struct run_facts *facts)
{
	char text[CUT_TEXT_MAX];

	for (size_t i = 0; truncated_say(&facts->truncated, &facts->allowed, &facts->usage, i, text,
					 sizeof(text));
	     i++) {
		struct buf line = new_line(show, "%s", text);

		note(show, &line);
	}
	if (facts->missing->size > 0) {
		struct buf line = new_line(show, "expected but missing: ");

		(void)buf_append(&line, facts->missing->data, facts->missing->size);
		note(show, &line);
	}
	if (facts->left_out->size > 0) {
		struct buf line = new_line(show, "not given back: ");

		(void)buf_append(&line, facts->left_out->data, facts->left_out->size);
		note(show, &line);
	}
}

static void tell_verdict(struct show *show, const struct verdict *verdict, bool has_traceback)
{
	char remedy[VERDICT_TEXT_MAX];
	struct buf line;

	/* A traceback, or the code's own exit, needs no further line. */
	if (verdict->kind != VERDICT_OK && verdict->kind != VERDICT_EXIT && !has_traceback) {
		line = new_line(show, "%s: ", verdict_name(verdict->kind));
		safe_put(&line, verdict->message, strlen(verdict->message));
		note(show, &line);
	}
	verdict_remedy(verdict, show->session != NULL ? REMEDY_SESSION : REMEDY_CLI, remedy,
		       sizeof(remedy));
	if (remedy[0] != '\0') {
		line = new_line(show, "remedy: ");
		safe_put(&line, remedy, strlen(remedy));
		note(show, &line);
	}
}

/* The runner gets bytes without a file name, so its message cannot name the file. An error of the
 * runner itself has no line number; an error of the code has one. */
static void tell_data(struct show *show, struct span error)
{
	struct span line = span_member(error, "line");
	struct buf message;

	if (find_text(error, "message", &message) && line.size > 0 && line.at[0] == 'n' &&
	    show->data != NULL && strncmp(buf_string(&message), "data: ", 6) == 0)
		show_note(show, "--data: cannot read %s", show->data);
	buf_done(&message);
}

static void end_plain(struct show *show, const struct run_facts *facts)
{
	const struct buf *result = &facts->parts[RESULT_RESULT];
	const struct buf *error = &facts->parts[RESULT_ERROR];
	struct buf trace;

	print_text(show, (struct span){(const char *)result->data, result->size});
	if (find_text((struct span){(const char *)error->data, error->size}, "traceback", &trace))
		write_code(show, STDERR_FILENO, trace.data, trace.size);
	buf_done(&trace);
	end_screens(show);
	tell_data(show, (struct span){(const char *)error->data, error->size});
	tell_verdict(show, &facts->verdict,
		     facts->verdict.kind == VERDICT_EXCEPTION && error->size > 0);
	list_cuts(show, facts);
	list_artifacts(show);
}

static void end_json(struct show *show, const struct run *run)
{
	struct err err = {0};
	struct buf json;

	buf_init(&json, RESULT_JSON_MAX);
	if (run_result(run, &json, NULL, &err) < 0)
		show_refusal(show, &err);
	else if (buf_text(&json, "\n") == 0)
		write_out(show, STDOUT_FILENO, json.data, json.size);
	buf_done(&json);
}

int show_end_facts(struct show *show, const struct run_facts *facts)
{
	if (show->mode == SHOW_PLAIN)
		end_plain(show, facts);
	list_refused(show);
	check_complete(show, facts);
	if (show->is_closed && !facts->verdict.signal)
		return STATUS_PIPE_CLOSED;
	if (show->has_failed && facts->verdict.kind == VERDICT_OK)
		return CMD_INTERNAL;
	return verdict_exit_status(&facts->verdict);
}

int show_end(struct show *show, struct run *run)
{
	struct run_facts facts = run_facts(run);

	if (show->mode == SHOW_JSON)
		end_json(show, run);
	else if (show->sink.user != NULL)
		events_unsubscribe(&show->sink);
	return show_end_facts(show, &facts);
}

void show_line(struct show *show, const char *line, size_t size)
{
	on_event(show, 0, line, size);
}

void show_bytes(struct show *show, const void *bytes, size_t size)
{
	write_out(show, STDOUT_FILENO, bytes, size);
}

void show_note(struct show *show, const char *format, ...)
{
	struct buf line = new_line(show, "%s", "");
	char text[1024];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	safe_put(&line, text, strlen(text));
	note(show, &line);
}

void show_refusal(struct show *show, const struct err *err)
{
	struct buf json;

	if (show->mode == SHOW_PLAIN)
		return;
	buf_init(&json, 8192);
	if (json_put(&json, "{'error':{'kind':%s,'message':%s}}\n", err_kind_name(err->kind),
		     err->text) == 0)
		write_out(show, STDOUT_FILENO, json.data, json.size);
	buf_done(&json);
}
