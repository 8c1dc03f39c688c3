// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/c.h"
#include "base/log.h"
#include "session/head.h"
#include "session/run_state.h"

#define NOTE_VERSION 3U
#define NAME_SIZE 40

/* A run that is on, for the next viv of this very build. Its testimony may follow, or the facts of
 * its end. */
struct note {
	uint32_t version, size;
	uint64_t nonce;
	uint64_t asked_us, begun_us; /* since 1970: the next viv has another monotonic clock */
	uint64_t output_max, memory_max, files_bytes_max;
	uint32_t timeout_ms, timeout_max_ms, files_max;
	uint32_t limits;
	struct frame_hello hello;
	bool is_pipe_stdin, returns_files;
	bool is_dead; /* its interpreter has ended: struct verdict_facts follows */
	char runtime[NAME_SIZE];
};

/* The same moment on the other clock; a clock that jumped backwards makes it now. */
static uint64_t to_wall(uint64_t ns)
{
	return wall_us() - (now_ns() - ns) / 1000;
}

static uint64_t from_wall(uint64_t us)
{
	uint64_t now = now_ns();
	uint64_t wall = wall_us();
	uint64_t ago = wall > us ? (wall - us) * 1000 : 0;

	return ago < now ? now - ago : 0;
}

static void put_note(struct run *run, bool is_dead, const void *more, size_t size)
{
	struct note note = {
		.version = NOTE_VERSION,
		.size = sizeof(note),
		.nonce = run->nonce,
		.asked_us = to_wall(run->asked_ns),
		.begun_us = to_wall(run->begun_ns),
		.output_max = run->output_max,
		.memory_max = run->facts.memory_max,
		.files_bytes_max = run->files_bytes_max,
		.timeout_ms = run->timeout_ms,
		.timeout_max_ms = run->facts.timeout_max_ms,
		.files_max = run->files_max,
		.limits = run->limits,
		.hello = run->hello,
		.is_pipe_stdin = run->is_pipe_stdin,
		.returns_files = run->returns_files,
		.is_dead = is_dead,
	};
	struct err err = {0};
	struct buf bytes;

	if (run->log == NULL)
		return;
	(void)snprintf(note.runtime, sizeof(note.runtime), "%s", run->runtime);
	buf_init(&bytes, sizeof(note) + TESTIMONY_MAX);
	if (buf_append(&bytes, &note, sizeof(note)) < 0 || buf_append(&bytes, more, size) < 0 ||
	    log_note(run->log, (const char *)bytes.data, bytes.size, &err) < 0)
		log_event(LOG_LEVEL_ERROR, "run.note", "run=%s why=%s", run->id, err.text);
	buf_done(&bytes);
}

void run_note(struct run *run, const void *done, size_t size)
{
	put_note(run, false, done, size);
}

void run_note_death(struct run *run, const struct box_exit *exit)
{
	struct verdict_facts facts = run->facts;

	_Static_assert(sizeof(facts) <= TESTIMONY_MAX, "the facts do not fit");
	/* What the runner said of its end is in the note that is there already. */
	if (run->state == RUN_QUEUED || run->testimony.is_given)
		return;
	facts.has_exit = exit != NULL;
	if (exit != NULL)
		facts.exit = *exit;
	put_note(run, true, &facts, sizeof(facts));
}

static int read_note(const void *bytes, size_t size, struct note *note, struct err *err)
{
	if (size >= sizeof(*note))
		memcpy(note, bytes, sizeof(*note));
	if (size < sizeof(*note) || note->version != NOTE_VERSION || note->size != sizeof(*note))
		return err_set(err, ERR_INTERNAL, EPROTO,
			       "it was begun by another version of viv, which left no word of it");
	note->runtime[NAME_SIZE - 1] = '\0';
	return 0;
}

static void set_note(struct run *run, const struct note *note)
{
	run->nonce = note->nonce;
	run->asked_ns = from_wall(note->asked_us);
	run->begun_ns = from_wall(note->begun_us);
	run->timeout_ms = note->timeout_ms;
	run->output_max = note->output_max;
	run->files_max = note->files_max;
	run->files_bytes_max = note->files_bytes_max;
	run->limits = note->limits;
	run->is_pipe_stdin = note->is_pipe_stdin;
	run->returns_files = note->returns_files; /* those that have not begun are null */
	run->facts.memory_max = note->memory_max;
	run->facts.output_max = note->output_max;
	run->facts.timeout_ms = note->timeout_ms;
	run->facts.timeout_max_ms = note->timeout_max_ms;
	run->keep_events = true;
	free(run->runtime);
	run->runtime = xstrdup(note->runtime);
}

/* What the log has of its output was taken; the rest is still in pipe and spool. */
static void set_streams(struct run *run)
{
	struct buf pieces;
	uint16_t type;

	for (size_t i = 0; i < ARRAY_LEN(run->streams); i++) {
		struct run_stream *stream = &run->streams[i];
		uint64_t mark = log_marks(run->log, i);

		stream->seen = mark;
		stream->kept_size = mark < run->output_max ? mark : run->output_max;
		stream->is_cut = mark > run->output_max;
	}
	/* The upper half says what the pieces, if there are any, are of. */
	run->frame_mark = (uint32_t)log_marks(run->log, 2);
	type = (uint16_t)(log_marks(run->log, 2) >> 32);
	buf_init(&pieces, FRAME_PAYLOAD_MAX);
	if (log_pieces(run->log, &pieces) == 0)
		(void)channel_take_over(run->channel, (uint32_t)run->frame_mark, type, run->nonce,
					&pieces);
	buf_done(&pieces);
}

int run_resume(struct pool *pool, struct log *log, const struct run_host *host, void *host_user,
	       struct head *head, struct sandbox *sandbox, const struct run_calls *calls,
	       void *user, struct run **ret_run, struct err *err)
{
	const char *bytes = NULL;
	struct run *run = NULL;
	struct note note = {0};
	size_t size = 0;
	int r;

	if (!log_last_note(log, &bytes, &size))
		return err_set(err, ERR_INTERNAL, ENODATA, "it had not begun");
	r = read_note(bytes, size, &note, err);
	if (r < 0)
		return r;

	run = run_blank(pool, log_id(log), calls, user);
	run->log = log;
	run->host = host;
	run->host_user = host_user;
	run->facts.is_session = host != NULL;
	run->head = head;
	run->sandbox = sandbox;
	if (sandbox != NULL)
		sandbox_take(sandbox, run_sandbox_exited, run);
	set_note(run, &note);
	run_sit(run);
	run->hello = note.hello;
	run->state = RUN_RUNNING;
	if (sandbox != NULL && run->is_pipe_stdin)
		run->stdin_write = steal_fd(&sandbox->in);
	else if (run->is_pipe_stdin && head->sandbox->in >= 0)
		run->stdin_write = fcntl(head->sandbox->in, F_DUPFD_CLOEXEC, 0);
	set_streams(run);
	run_listen(run);
	*ret_run = run;
	if (!note.is_dead && size > sizeof(note) &&
	    testimony_read(bytes + sizeof(note), size - sizeof(note), &run->testimony, &run->extras,
			   err) == 0) {
		run_stop(run);
		return 0;
	}
	stream_resume(run->out, log_marks(log, 0));
	stream_resume(run->err, log_marks(log, 1));
	return 0;
}

/* How it ended, where that was known and what it left was not. */
static bool take_death(struct run *run)
{
	const char *bytes = NULL;
	struct note note = {0};
	struct err err = {0};
	size_t size = 0;

	if (!log_last_note(run->log, &bytes, &size) || read_note(bytes, size, &note, &err) < 0 ||
	    !note.is_dead || size != sizeof(note) + sizeof(run->facts))
		return false;
	set_note(run, &note);
	run->hello = note.hello;
	memcpy(&run->facts, bytes + sizeof(note), sizeof(run->facts));
	return run->facts.has_exit;
}

void run_bury(struct pool *pool, struct log *log, enum run_left left, const struct err *why)
{
	static const struct run_calls nobody = {0};
	static const struct err none = {0};
	struct run *run = run_blank(pool, log_id(log), &nobody, NULL);

	run->log = log;
	run->keep_events = true;
	run->left = left;
	run->runtime = xstrdup("");
	run->frame_mark = (uint32_t)log_marks(log, 2);
	run_abandon(run, false, take_death(run) ? &none : why);
	run_free(run);
}
