// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "base/log.h"
#include "session/head.h"
#include "session/run_state.h"

#define ERROR_TEXT_MAX (64U << 10) /* longer type or message texts are not looked into */

/* The events a runner may send: which member carries the fact, and where it is kept. */
static const struct event_row {
	const char *type;
	const char *member;
	enum run_part part;
	bool is_list; /* else the last one counts */
} event_rows[] = {
	{"display", "data", PART_DISPLAYS, true}, {"chart", "chart", PART_CHARTS, true},
	{"table", "table", PART_TABLE, false},    {"result", "result", PART_RESULT, false},
	{"error", "error", PART_ERROR, false},    {"file", "file", PART_FILES, true},
	{"look", "look", PART_RESULT, false},     {"saved_state", "saved_state", PART_SAVED, false},
};

void run_break_off(struct run *run, const char *what)
{
	run->facts.is_protocol_broken = true;
	(void)err_set(&run->facts.why, ERR_BAD_REQUEST, EPROTO, "ended by the supervisor: %s",
		      what);
	run_stop(run);
}

/* ---- output ---- */

/* How long a character that starts with this byte is; 1 for bytes that start none. */
static size_t character_size(uint8_t byte)
{
	if (byte >= 0xf5 || byte < 0xc2)
		return 1;
	return byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
}

/* How many bytes at the end are the start of a character that is not whole. */
static size_t unfinished(const uint8_t *data, size_t size)
{
	for (size_t back = 1; back <= 3 && back <= size; back++) {
		uint8_t byte = data[size - back];

		if ((byte & 0xc0) != 0x80)
			return character_size(byte) > back ? back : 0;
	}
	return 0;
}

/* What is not UTF-8 is U+FFFD in a text: such bytes come as they are, too. */
static int put_exact(struct buf *members, const uint8_t *data, size_t size)
{
	int r;

	if (memmem(members->data, members->size, "\\ufffd", strlen("\\ufffd")) == NULL)
		return 0;
	r = buf_text(members, ",\"base64\":\"");
	if (r == 0)
		r = run_put_base64(members, data, size);
	return r == 0 ? buf_text(members, "\"") : r;
}

static void tell_text(struct run *run, int number, const uint8_t *data, size_t size)
{
	struct buf members;

	buf_init(&members, RUN_KEPT_MAX);
	if (buf_text(&members, ",\"text\":") == 0 && json_put_string(&members, data, size) == 0 &&
	    put_exact(&members, data, size) == 0)
		run_tell(run, number == 1 ? "stdout" : "stderr", members.data, members.size);
	buf_done(&members);
}

static void tell_bytes(struct run *run, int number, const uint8_t *data, size_t size)
{
	struct run_stream *stream = &run->streams[number - 1];
	struct buf whole;
	size_t rest;

	buf_init(&whole, size + sizeof(stream->held) + 1);
	(void)buf_append(&whole, stream->held, stream->held_size);
	(void)buf_append(&whole, data, size);
	rest = unfinished(whole.data, whole.size);
	memcpy(stream->held, whole.data + whole.size - rest, rest);
	stream->held_size = rest;
	if (whole.size > rest)
		tell_text(run, number, whole.data, whole.size - rest);
	buf_done(&whole);
}

void run_streams_end(struct run *run)
{
	for (int number = 1; number <= 2; number++) {
		struct run_stream *stream = &run->streams[number - 1];

		size_t held = stream->held_size;

		stream->held_size = 0;
		if (held > 0 && run->keep_events)
			tell_text(run, number, stream->held, held);
	}
}

void run_bytes_in(void *user, int number, const uint8_t *data, size_t size)
{
	struct run *run = user;
	struct run_stream *stream = &run->streams[number - 1];
	uint64_t room = run->output_max - stream->kept_size;
	size_t taken = size < room ? size : (size_t)room;

	stream->seen += size;
	if (taken < size)
		stream->is_cut = true;
	if (taken > 0 && (run->log != NULL || buf_append(&stream->kept, data, taken) == 0)) {
		stream->kept_size += taken;
		if (run->keep_events)
			tell_bytes(run, number, data, taken);
		if (run->calls.output != NULL)
			run->calls.output(run->user, number, data, taken);
	}
	if (stream->seen > run->output_max * RUN_OUTPUT_FACTOR && run->state == RUN_RUNNING) {
		run->facts.is_output_exceeded = true;
		run_stop(run);
	}
}

/* ---- events ---- */

static const struct event_row *find_row(const char *type, size_t size)
{
	for (size_t i = 0; i < ARRAY_LEN(event_rows); i++) {
		size_t length = strlen(event_rows[i].type);

		/* `type` is JSON text: with its quotes. */
		if (size == length + 2 && memcmp(type + 1, event_rows[i].type, length) == 0)
			return &event_rows[i];
	}
	return NULL;
}

static void note_error(struct run *run, const char *error, size_t size)
{
	struct verdict_testimony *testimony = &run->testimony;
	const char *value = NULL;
	size_t value_size = 0;

	if (json_find(error, size, "type", &value, &value_size) && value_size <= ERROR_TEXT_MAX)
		testimony_text(value, value_size, testimony->error_type,
			       sizeof(testimony->error_type));
	if (json_find(error, size, "message", &value, &value_size) && value_size <= ERROR_TEXT_MAX)
		testimony_text(value, value_size, testimony->error_message,
			       sizeof(testimony->error_message));
}

static bool has_room(struct run *run, const struct event_row *row, size_t size)
{
	if (row->part == PART_FILES && run->part_counts[PART_FILES] >= run->files_max) {
		run->is_files_cut = true;
		return false;
	}
	if (run->event_count >= RUN_EVENTS_MAX) {
		run->is_events_cut = true;
		return false;
	}
	if (run->kept + size > RUN_KEPT_MAX) {
		run->is_result_cut = true;
		return false;
	}
	return true;
}

/* The verdict lists the files, without their bytes. */
static void list_file(struct run *run, const char *value, size_t size)
{
	struct buf *list = &run->parts[PART_FILES];

	if (list->size > 0)
		(void)buf_append(list, ",", 1);
	(void)buf_append(list, value, size);
}

/* Straight into the log: nothing of it stays here. */
static void log_fact(struct run *run, const struct event_row *row, const char *value, size_t size)
{
	struct buf members;
	size_t start;
	int r;

	if (!has_room(run, row, size))
		return;
	buf_init(&members, RUN_KEPT_MAX + MIB);
	r = buf_format(&members, ",\"%s\":", row->member);
	start = members.size;
	if (r == 0)
		r = testimony_ascii(&members, value, size);
	if (r == 0 && row->part == PART_FILES)
		list_file(run, (const char *)members.data + start, members.size - start);
	if (r == 0 && row->part == PART_FILES && run->returns_files)
		r = run_return_file(run, value, size, &members);
	if (r == 0) {
		run->event_count++;
		run->kept += members.size;
		run->part_counts[row->part]++;
		run_tell(run, row->type, members.data, members.size);
	} else {
		run->is_result_cut = true;
	}
	buf_done(&members);
}

/* Keeps the fact and tells it. The text is valid JSON, somebody else's. */
static void keep_fact(struct run *run, const struct event_row *row, const char *value, size_t size)
{
	struct buf *part = &run->parts[row->part];
	size_t before;

	if (!has_room(run, row, size))
		return;
	run->event_count++;
	if (!row->is_list) {
		run->kept -= part->size;
		buf_consume(part, part->size);
	}
	if (part->size > 0)
		(void)buf_append(part, ",", 1);
	before = part->size;
	if (testimony_ascii(part, value, size) < 0) {
		buf_cut(part, before > 0 ? before - 1 : 0);
		run->is_result_cut = true;
		return;
	}
	run->kept += part->size - before;
	run->part_counts[row->part]++;

	if (run->keep_events) {
		struct buf members;

		buf_init(&members, part->max);
		if (buf_format(&members, ",\"%s\":", row->member) == 0 &&
		    buf_append(&members, part->data + before, part->size - before) == 0)
			run_tell(run, row->type, members.data, members.size);
		buf_done(&members);
	}
	if (run->calls.fact != NULL)
		run->calls.fact(run->user, row->type, (const char *)part->data + before,
				part->size - before);
}

bool run_take_fact(struct run *run, const char *type, const char *value, size_t size)
{
	const struct event_row *row = NULL;

	for (size_t i = 0; i < ARRAY_LEN(event_rows) && row == NULL; i++) {
		if (strcmp(event_rows[i].type, type) == 0)
			row = &event_rows[i];
	}
	if (row == NULL)
		return false;
	if (row->part == PART_ERROR)
		note_error(run, value, size);
	if (run->log != NULL)
		log_fact(run, row, value, size);
	else
		keep_fact(run, row, value, size);
	return true;
}

static void take_event(struct run *run, const struct frame *frame)
{
	const struct event_row *row = NULL;
	const char *value = NULL;
	size_t size = 0;

	if (!json_is_valid(frame->payload, frame->header.size)) {
		run_break_off(run, "it sent an event that is no JSON");
		return;
	}
	if (json_find(frame->payload, frame->header.size, "type", &value, &size))
		row = find_row(value, size);
	if (row == NULL ||
	    !json_find(frame->payload, frame->header.size, row->member, &value, &size) ||
	    value[0] != '{') {
		run_break_off(run, "it sent an event of no known type");
		return;
	}
	/* Output that was written before this event comes before it. */
	run_drain(run);
	if (row->part == PART_ERROR)
		note_error(run, value, size);
	run->frame_mark = frame->header.counter;
	if (run->log != NULL)
		log_fact(run, row, value, size);
	else
		keep_fact(run, row, value, size);

	if (frame->header.flags & FRAME_FLAG_WAIT && run->channel != NULL) {
		struct err err = {0};
		struct buf ack;

		buf_init(&ack, sizeof(struct frame_header) + 1);
		if (frame_append(&ack, FRAME_ACK, 0, run->nonce, "", 0) == 0)
			(void)channel_send(run->channel, &ack, NULL, &err);
		buf_done(&ack);
	}
}

/* ---- done ---- */

static void take_done(struct run *run, const struct frame *frame)
{
	struct err err = {0};

	run_drain(run);
	if (testimony_read(frame->payload, frame->header.size, &run->testimony, &run->extras,
			   &err) < 0) {
		run_break_off(run, err.text);
		return;
	}
	run->is_files_cut |= run->extras.is_files_cut;
	run->is_result_cut |= run->extras.is_result_cut;
	run->frame_mark = frame->header.counter;
	run_note(run, frame->payload, frame->header.size);
	run_stop(run);
}

/* More than any run has to say: counted before anything is looked at. */
static bool is_flood(struct run *run, const struct frame *frame)
{
	uint64_t most = (uint64_t)RUN_KEPT_MAX * RUN_OUTPUT_FACTOR + run->files_bytes_max * 2;

	run->frames++;
	run->frame_bytes += frame->header.size;
	/* Pieces of files are 1 MiB each, or the last of a file. */
	return run->frames > RUN_FRAMES_MAX + run->files_bytes_max / MIB || run->frame_bytes > most;
}

void run_piece(void *user, const struct frame *piece)
{
	struct run *run = user;
	uint64_t marks[3];
	struct err err = {0};

	/* The bytes of files are not worth it: after a restart they are not returned. */
	if (!(piece->header.flags & FRAME_FLAG_MORE) || piece->header.nonce != run->nonce ||
	    piece->header.type == FRAME_FILE || run->state != RUN_RUNNING)
		return;
	/* What is more than is kept would only push the logs of others off the disk. */
	run->piece_bytes += piece->header.size;
	if (run->piece_bytes > RUN_KEPT_MAX)
		return;
	run_marks(run, marks);
	marks[2] = (uint64_t)piece->header.type << 32 | piece->header.counter;
	if (log_piece(run->log, piece->payload, piece->header.size, marks, &err) < 0)
		log_event(LOG_LEVEL_ERROR, "run.piece", "run=%s why=%s", run->id, err.text);
}

void run_frame(void *user, const struct frame *frame)
{
	struct run *run = user;

	if (run->state != RUN_RUNNING)
		return;
	if (is_flood(run, frame)) {
		run->facts.is_output_exceeded = true;
		run_stop(run);
		return;
	}
	/* Of a look that was asked for just before the run began. */
	if (frame->header.type == FRAME_FORKED && run->head != NULL)
		head_forked(run->head, frame);
	if (frame->header.nonce != run->nonce)
		return;

	switch ((enum frame_type)frame->header.type) {
	case FRAME_EVENT:
		take_event(run, frame);
		break;
	case FRAME_FILE:
		run_take_file(run, frame);
		break;
	case FRAME_DONE:
		take_done(run, frame);
		break;
	case FRAME_HELLO:
	case FRAME_RUN:
	case FRAME_ACK:
	case FRAME_CHECK:
	case FRAME_FORK:
	case FRAME_FORKED:
		run_break_off(run, "it sent a frame that does not belong to a run");
		break;
	}
}
