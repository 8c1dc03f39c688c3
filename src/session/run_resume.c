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

#define NOTE_VERSION 6U
#define NAME_SIZE 40

/* A run under way, for the next viv of exactly this build. The testimony may follow, or the facts
 * of its end. */
struct note {
	uint32_t version, size;
	uint64_t nonce;
	uint64_t asked_us, begun_us; /* since 1970: a note can outlive a reboot */
	uint64_t payload;            /* the inode of the payload that was lent to it; 0: none */
	uint32_t limits;
	struct run_terms terms;
	struct run_allowed allowed;
	struct frame_hello hello;
	bool is_dead; /* the interpreter has ended: struct verdict_facts follows */
	char runtime[NAME_SIZE];
};

/* Convert a time to the wall clock and back; if the wall clock jumped backwards, the result is
 * now. */
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
		.payload = payload_inode(run->payload.memfd),
		.limits = run->place.limits,
		.terms = run->terms,
		.allowed = run->end.allowed,
		.hello = run->place.hello,
		.is_dead = is_dead,
	};
	struct err err = {0};
	struct buf bytes;

	if (run->told.log == NULL)
		return;
	(void)snprintf(note.runtime, sizeof(note.runtime), "%s", run->runtime);
	buf_init(&bytes, sizeof(note) + TESTIMONY_MAX);
	if (buf_append(&bytes, &note, sizeof(note)) < 0 || buf_append(&bytes, more, size) < 0 ||
	    log_note(run->told.log, (const char *)bytes.data, bytes.size, &err) < 0)
		log_event(LOG_LEVEL_ERROR, "run.note", "run=%s why=%s", run->id, err.text);
	buf_done(&bytes);
}

void run_note(struct run *run, const void *done, size_t size)
{
	put_note(run, false, done, size);
}

void run_note_death(struct run *run, const struct box_exit *exit)
{
	struct verdict_facts facts = run->end.facts;

	_Static_assert(sizeof(facts) <= TESTIMONY_MAX, "the facts do not fit");
	/* The runner's testimony is already in the last note. */
	if (run->state < RUN_RUNNING || run->end.testimony.is_given)
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
			       "the run was started by another version of viv, whose notes this "
			       "version cannot read");
	note->runtime[NAME_SIZE - 1] = '\0';
	return 0;
}

static void set_note(struct run *run, const struct note *note)
{
	run->nonce = note->nonce;
	run->asked_ns = from_wall(note->asked_us);
	run->begun_ns = from_wall(note->begun_us);
	run->terms = note->terms;
	run->terms.wants_files = false; /* files that have not begun are reported as null */
	run->place.limits = note->limits;
	run->place.hello = note->hello;
	run->end.allowed = note->allowed;
	free(run->runtime);
	run->runtime = xstrdup(note->runtime);
}

/* Output that is in the log was taken; the rest is still in the pipe and the spool. */
static void set_streams(struct run *run)
{
	struct buf pieces;
	uint16_t type;

	for (size_t i = 0; i < ARRAY_LEN(run->told.streams); i++) {
		struct run_stream *stream = &run->told.streams[i];
		uint64_t mark = log_marks(run->told.log, i);

		stream->seen = mark;
		stream->kept_size = mark < run->terms.output_max ? mark : run->terms.output_max;
	}
	run->told.cut.out = run->told.streams[0].seen > run->terms.output_max;
	run->told.cut.err = run->told.streams[1].seen > run->terms.output_max;
	/* The upper half is the type of the frame that the pieces, if any, belong to. */
	run->told.frame_mark = (uint32_t)log_marks(run->told.log, 2);
	type = (uint16_t)(log_marks(run->told.log, 2) >> 32);
	buf_init(&pieces, FRAME_PAYLOAD_MAX);
	if (log_pieces(run->told.log, &pieces) == 0)
		(void)channel_take_over(run->place.channel, (uint32_t)run->told.frame_mark, type,
					run->nonce, &pieces);
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
		return err_set(err, ERR_INTERNAL, ENODATA, "the run had not begun");
	r = read_note(bytes, size, &note, err);
	if (r < 0)
		return r;

	run = run_blank(pool, log_id(log), calls, user);
	run->told.log = log;
	run->place.host = host;
	run->place.host_user = host_user;
	run->end.facts.is_session = host != NULL;
	run_take_place(run, head, sandbox);
	set_note(run, &note);
	run->state = RUN_RUNNING;
	run_stdin_resume(run);
	if (head != NULL && note.payload != 0 &&
	    payload_inode(head->sandbox->payload) == note.payload)
		run->payload.memfd = fcntl(head->sandbox->payload, F_DUPFD_CLOEXEC, 0);
	set_streams(run);
	run_listen(run);
	*ret_run = run;
	if (!note.is_dead && size > sizeof(note) &&
	    testimony_read(bytes + sizeof(note), size - sizeof(note), &run->end.testimony,
			   &run->end.extras, err) == 0) {
		run_stop(run);
		return 0;
	}
	stream_resume(run->place.out, log_marks(log, 0));
	stream_resume(run->place.err, log_marks(log, 1));
	return 0;
}

/* Takes the facts of the run's end, if the previous viv had noted them before it died. */
static bool take_death(struct run *run)
{
	const char *bytes = NULL;
	struct note note = {0};
	struct err err = {0};
	size_t size = 0;

	if (!log_last_note(run->told.log, &bytes, &size) ||
	    read_note(bytes, size, &note, &err) < 0 || !note.is_dead ||
	    size != sizeof(note) + sizeof(run->end.facts))
		return false;
	set_note(run, &note);
	memcpy(&run->end.facts, bytes + sizeof(note), sizeof(run->end.facts));
	return run->end.facts.has_exit;
}

/* Makes a run without callbacks, only to end its log. */
static struct run *dead_run(struct pool *pool, struct log *log, enum run_left left)
{
	static const struct run_calls nobody = {0};
	struct run *run = run_blank(pool, log_id(log), &nobody, NULL);

	run->told.log = log;
	run->told.frame_mark = (uint32_t)log_marks(log, 2);
	run->terms.keeps_events = true;
	run->end.left = left;
	run->runtime = xstrdup("");
	return run;
}

void run_bury(struct pool *pool, struct log *log, enum run_left left, const struct err *why)
{
	static const struct err none = {0};
	struct run *run = dead_run(pool, log, left);

	run_abandon(run, false, take_death(run) ? &none : why);
	run_free(run);
}

void run_bury_held(struct pool *pool, struct log *log, enum run_left left, const char *message)
{
	struct run *run = dead_run(pool, log, left);

	run_deny(run, message, true);
	run_free(run);
}
