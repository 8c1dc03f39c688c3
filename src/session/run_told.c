// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "base/log.h"
#include "base/utf8.h"
#include "session/head.h"
#include "session/journal.h"
#include "session/result.h"
#include "session/run_state.h"
#include "session/shape.h"

#define ERROR_TEXT_MAX (64U << 10) /* longer texts of a type or message are not read */
#define WORKSPACE "/workspace/"
#define FILE_DEPTH_MAX 64U /* names in a file's path: as deep as a runner goes */
#define FOLDER_BYTES 4096U /* how much a folder counts towards the run's total of file bytes */
#define FILE_FACT_MAX (32U << 10) /* a path of RUN_FILE_PATH_MAX bytes, each as \uXXXX, fits */
#define LOGGED_MAX (JOURNAL_RECORD_MAX - KIB) /* the members of an event in a log */
#define SMALL_EVENT (64U << 10)   /* examined however many bytes there were: it may be an error */
#define FILES_LIST_MAX (8U << 20) /* well below JOURNAL_RECORD_MAX: the verdict has this list */

void run_told_init(struct run_told *told)
{
	for (size_t i = 0; i < RESULT_COUNT; i++)
		buf_init(&told->parts[i], RUN_KEPT_MAX + MIB);
	buf_init(&told->file.bytes, RUN_RETURNED_MAX);
	events_init(&told->events, EVENTS_KEEP_DEFAULT);
}

void run_told_done(struct run_told *told)
{
	for (size_t i = 0; i < ARRAY_LEN(told->streams); i++)
		buf_done(&told->streams[i].kept);
	for (size_t i = 0; i < RESULT_COUNT; i++)
		buf_done(&told->parts[i]);
	buf_done(&told->file.bytes);
	events_done(&told->events);
}

/* ---- telling ---- */

/* How much of the run's output and frames was taken up to this event: the next viv continues after
 * it. */
static void put_marks(const struct run *run, uint64_t marks[3])
{
	const struct stream *pipes[] = {run->place.out, run->place.err};

	for (size_t i = 0; i < ARRAY_LEN(pipes); i++)
		marks[i] = pipes[i] != NULL ? pipes[i]->taken - run->told.streams[i].held_size : 0;
	marks[2] = run->told.frame_mark;
}

void run_tell(struct run *run, const char *type, const void *members, size_t size)
{
	struct run_told *told = &run->told;
	struct err err = {0};
	uint64_t marks[3];

	if (told->log == NULL) {
		(void)events_add(&told->events, type, members, size);
		return;
	}
	put_marks(run, marks);
	if (log_add(told->log, type, members, size, marks, strcmp(type, "verdict") == 0, &err) <
	    0) {
		told->cut.events = true;
		log_event(LOG_LEVEL_ERROR, "run.log", "run=%s why=%s", run->id, err.text);
	}
}

void run_tell_started(struct run *run)
{
	struct buf members;

	if (run->told.is_started)
		return;
	run->told.is_started = true;
	if (!run->terms.keeps_events)
		return;
	buf_init(&members, 4096);
	if (buf_format(&members, ",\"run\":\"%s\",\"backend\":\"%s\",\"runtime\":", run->id,
		       run->place.backend) == 0 &&
	    json_put_text(&members, run->runtime) == 0)
		run_tell(run, "started", members.data, members.size);
	buf_done(&members);
	if (run->calls.begun != NULL)
		run->calls.begun(run->user, run);
}

static void break_off(struct run *run, const char *what)
{
	run->end.facts.is_protocol_broken = true;
	(void)err_set(&run->end.facts.why, ERR_BAD_REQUEST, EPROTO, "ended by the supervisor: %s",
		      what);
	run_stop(run);
}

/* ---- output ---- */

void run_drain(struct run *run)
{
	if (run->place.out == NULL || run->state < RUN_RUNNING)
		return;
	stream_drain(run->place.out);
	stream_drain(run->place.err);
}

/* How many bytes at the end are the start of an incomplete character. */
static size_t unfinished(const uint8_t *data, size_t size)
{
	for (size_t back = 1; back <= 3 && back <= size; back++) {
		uint8_t byte = data[size - back];

		if (!utf8_is_inside(byte))
			return utf8_size(byte) > back ? back : 0;
	}
	return 0;
}

/* Bytes that are not UTF-8 become U+FFFD in the text: then the exact bytes are added as base64. */
static int put_exact(struct buf *members, const uint8_t *data, size_t size)
{
	int r;

	if (memmem(members->data, members->size, "\\ufffd", strlen("\\ufffd")) == NULL)
		return 0;
	r = buf_text(members, ",\"base64\":\"");
	if (r == 0)
		r = buf_base64(members, data, size);
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
	struct run_stream *stream = &run->told.streams[number - 1];
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
		struct run_stream *stream = &run->told.streams[number - 1];

		size_t held = stream->held_size;

		stream->held_size = 0;
		if (held > 0 && run->terms.keeps_events)
			tell_text(run, number, stream->held, held);
	}
}

void run_bytes_in(void *user, int number, const uint8_t *data, size_t size)
{
	struct run *run = user;
	struct run_stream *stream = &run->told.streams[number - 1];
	uint64_t room = run->terms.output_max - stream->kept_size;
	size_t taken = size < room ? size : (size_t)room;

	stream->seen += size;
	if (taken < size)
		*(number == 1 ? &run->told.cut.out : &run->told.cut.err) = true;
	if (taken > 0 && (run->told.log != NULL || buf_append(&stream->kept, data, taken) == 0)) {
		stream->kept_size += taken;
		if (run->terms.keeps_events)
			tell_bytes(run, number, data, taken);
		if (run->calls.output != NULL)
			run->calls.output(run->user, number, data, taken);
	}
	if (stream->seen > run->terms.output_max * RUN_OUTPUT_FACTOR && run->state == RUN_RUNNING) {
		run->end.facts.is_output_exceeded = true;
		run_stop(run);
	}
}

/* ---- files ---- */

/* The number of names in `path` below the workspace. */
static size_t depth_of(const char *path)
{
	size_t depth = 1;

	if (strncmp(path, WORKSPACE, strlen(WORKSPACE)) == 0)
		path += strlen(WORKSPACE);
	for (path = strchr(path, '/'); path != NULL; path = strchr(path + 1, '/'))
		depth++;
	return depth;
}

/* The number of folders of `path` that `before` does not have. A runner sends paths in order, so
 * that each folder is counted once. In any other order some are counted again, but none is left
 * out. */
static size_t new_folders(const char *before, const char *path)
{
	size_t count = 0;

	if (before[0] == '\0')
		before = WORKSPACE;
	while (*path != '\0' && *path == *before) {
		path++;
		before++;
	}
	for (; *path != '\0'; path++)
		count += *path == '/';
	return count;
}

static void begin_file(struct run_incoming *file, const char *path)
{
	file->count++;
	/* Even an empty file can be in many folders, and these cost the receiver disk space. */
	file->total += new_folders(file->path, path) * FOLDER_BYTES;
	(void)snprintf(file->path, sizeof(file->path), "%s", path);
	buf_consume(&file->bytes, file->bytes.size);
	file->state = INCOMING_PART;
}

/* Keeps the bytes for the event that closes the file. */
static void keep_piece(struct run_incoming *file, const void *bytes, size_t size, bool is_last)
{
	if (file->state != INCOMING_PART || buf_append(&file->bytes, bytes, size) < 0)
		file->state = INCOMING_CUT;
	else if (is_last)
		file->state = INCOMING_WHOLE;
}

static void take_file(struct run *run, const struct frame *frame)
{
	struct run_incoming *file = &run->told.file;
	char path[RUN_FILE_PATH_MAX + 1];
	const uint8_t *name = NULL;
	const uint8_t *bytes = NULL;
	size_t name_size = 0;
	size_t size = 0;
	struct err err = {0};
	bool is_last = frame->header.flags & FRAME_FLAG_LAST;

	/* After a restart the rest of a file may arrive, which nobody takes. */
	if (!run->terms.wants_files && run->told.log != NULL)
		return;
	if (frame_split(frame, &name, &name_size, &bytes, &size, &err) < 0 || name_size == 0 ||
	    name_size > RUN_FILE_PATH_MAX || memchr(name, '\0', name_size) != NULL) {
		break_off(run, "the sandbox sent a file with an invalid name");
		return;
	}
	if (!run->terms.wants_files)
		return;
	memcpy(path, name, name_size);
	path[name_size] = '\0';
	if (depth_of(path) > FILE_DEPTH_MAX) {
		run->told.cut.files = true;
		return;
	}
	if (strcmp(path, file->path) != 0)
		begin_file(file, path);
	file->total += size;
	if (file->total > run->terms.files_bytes_max || file->count > run->terms.files_max) {
		run->told.cut.files = true;
		return;
	}
	if (run->terms.returns_files)
		keep_piece(file, bytes, size, is_last);
	if (run->calls.file != NULL)
		run->calls.file(run->user, path, bytes, size, is_last);
}

void run_take_base64(struct run *run, const char *path, const char *value, size_t size)
{
	AUTO_BUF struct buf bytes = {.max = RUN_RETURNED_MAX + 3};

	if ((run->calls.file == NULL && !run->terms.returns_files) || size < 2 ||
	    buf_unbase64(&bytes, value + 1, size - 2, "") < 0)
		return;
	if (run->calls.file != NULL)
		run->calls.file(run->user, path, bytes.data, bytes.size, true);
	if (run->terms.returns_files) {
		begin_file(&run->told.file, path);
		keep_piece(&run->told.file, bytes.data, bytes.size, true);
	}
}

/* Adds the bytes of the last file to its fact, with which `members` ends; null if they are not
 * complete, or too many. */
static int return_file(struct run *run, struct span fact, struct buf *members)
{
	struct run_incoming *file = &run->told.file;
	char path[RUN_FILE_PATH_MAX + 1];
	bool is_there;
	int r;

	span_text(span_member(fact, "path"), path, sizeof(path));
	is_there = file->state == INCOMING_WHOLE && strcmp(path, file->path) == 0 &&
		   file->returned_total + file->bytes.size <= RUN_RETURNED_TOTAL_MAX;
	/* `members` ends with the fact, an object: reopen it. */
	while (members->data[members->size - 1] != '}')
		members->size--;
	members->size--;
	r = buf_text(members, members->data[members->size - 1] == '{' ? "" : ",");
	if (r == 0)
		r = buf_text(members, is_there ? "\"base64\":\"" : "\"base64\":null");
	if (r == 0 && is_there)
		r = buf_base64(members, file->bytes.data, file->bytes.size);
	if (r == 0 && is_there)
		file->returned_total += file->bytes.size;
	run->told.cut.files |= !is_there;
	buf_consume(&file->bytes, file->bytes.size);
	file->path[0] = '\0';
	file->state = INCOMING_PART;
	return r < 0 ? r : buf_text(members, is_there ? "\"}" : "}");
}

/* ---- facts ---- */

/* The answer of a look, which is not part of a result. */
static const struct result_row look_row = {.name = "look", .type = "object", .event = "look"};

static enum result_member member_of(const struct result_row *row)
{
	return row == &look_row ? RESULT_RESULT : (enum result_member)(row - result_rows);
}

static const char *name_of(const struct result_row *row)
{
	return row->from != NULL ? row->from : row->name;
}

/* The value is hostile and goes into results unchanged, so it must have the type that the table of
 * results says. */
static bool fits(const struct result_row *row, const char *value, size_t size)
{
	size_t type_size = strlen(row->type);

	if (row->how == RESULT_ITEM)
		type_size -= strlen("[]");
	return value[0] == '{' && shape_fits(row->type, type_size, value, size);
}

static const struct result_row *find_row(const struct run *run, const char *type, size_t size)
{
	if (run->terms.is_look && size == strlen(look_row.event) &&
	    memcmp(type, look_row.event, size) == 0)
		return &look_row;
	for (size_t i = 0; i < RESULT_COUNT; i++) {
		const struct result_row *row = &result_rows[i];

		if (row->is_fact && strlen(row->event) == size &&
		    memcmp(type, row->event, size) == 0)
			return row;
	}
	return NULL;
}

static void note_error(struct run *run, const char *error, size_t size)
{
	struct verdict_testimony *testimony = &run->end.testimony;
	struct span type = span_member((struct span){error, size}, "type");
	struct span message = span_member((struct span){error, size}, "message");

	if (type.size > 0 && type.size <= ERROR_TEXT_MAX)
		testimony_text(type.at, type.size, testimony->error_type,
			       sizeof(testimony->error_type));
	if (message.size > 0 && message.size <= ERROR_TEXT_MAX)
		testimony_text(message.at, message.size, testimony->error_message,
			       sizeof(testimony->error_message));
}

static bool has_room(struct run *run, const struct result_row *row, size_t size)
{
	if (member_of(row) == RESULT_FILES &&
	    (run->told.listed_count >= run->terms.files_max ||
	     run->told.parts[RESULT_FILES].size + size > FILES_LIST_MAX)) {
		run->told.cut.files = true;
		return false;
	}
	if (run->told.event_count >= RUN_EVENTS_MAX) {
		run->told.cut.events = true;
		return false;
	}
	if (run->told.kept + size > RUN_KEPT_MAX) {
		run->told.cut.result = true;
		return false;
	}
	return true;
}

/* The verdict lists the files, without their bytes. */
static void list_file(struct run *run, const char *value, size_t size)
{
	struct buf *list = &run->told.parts[RESULT_FILES];

	if (list->size > 0)
		(void)buf_append(list, ",", 1);
	(void)buf_append(list, value, size);
}

/* Writes the fact straight into the log: nothing is kept in memory. */
static void log_fact(struct run *run, const struct result_row *row, const char *value, size_t size)
{
	struct buf members;
	size_t start;
	int r;

	if (!has_room(run, row, size))
		return;
	buf_init(&members, LOGGED_MAX);
	r = json_put_name(&members, ",", name_of(row));
	start = members.size;
	if (r == 0)
		r = testimony_ascii(&members, value, size);
	if (r == 0 && member_of(row) == RESULT_FILES)
		list_file(run, (const char *)members.data + start, members.size - start);
	if (r == 0 && member_of(row) == RESULT_FILES && run->terms.returns_files)
		r = return_file(run, (struct span){value, size}, &members);
	if (r == 0) {
		run->told.event_count++;
		run->told.kept += members.size;
		run->told.listed_count += member_of(row) == RESULT_FILES;
		run_tell(run, row->event, members.data, members.size);
	} else {
		run->told.cut.result = true;
	}
	buf_done(&members);
}

/* Keeps the fact in memory and reports it. `value` is valid JSON from outside. */
static void keep_fact(struct run *run, const struct result_row *row, const char *value, size_t size)
{
	struct buf *part = &run->told.parts[member_of(row)];
	size_t before;

	if (!has_room(run, row, size))
		return;
	run->told.event_count++;
	if (row->how != RESULT_ITEM) {
		run->told.kept -= part->size;
		buf_consume(part, part->size);
	}
	if (part->size > 0)
		(void)buf_append(part, ",", 1);
	before = part->size;
	if (testimony_ascii(part, value, size) < 0) {
		buf_cut(part, before > 0 ? before - 1 : 0);
		run->told.cut.result = true;
		return;
	}
	run->told.kept += part->size - before;
	run->told.listed_count += member_of(row) == RESULT_FILES;

	if (run->terms.keeps_events) {
		struct buf members;

		buf_init(&members, part->max);
		if (json_put_name(&members, ",", name_of(row)) == 0 &&
		    buf_append(&members, part->data + before, part->size - before) == 0)
			run_tell(run, row->event, members.data, members.size);
		buf_done(&members);
	}
	if (run->calls.fact != NULL)
		run->calls.fact(run->user, row->event, (const char *)part->data + before,
				part->size - before);
}

/* Copies the members that describe a file, and no others: the list of files is in the verdict, so
 * its size may not be up to the sandbox. The file's bytes come in frames of their own. */
static int copy_file(struct span value, struct buf *fact)
{
	static const char *const names[] = {"path", "size", "mtime_ms", "mime", "sha256"};
	struct json_member member = {0};
	bool is_taken[ARRAY_LEN(names)] = {0};
	int r = 0;

	while (r == 0 && json_next(value.at, value.size, &member)) {
		for (size_t i = 0; i < ARRAY_LEN(names) && r == 0; i++) {
			if (is_taken[i] || !json_is_named(&member, names[i]))
				continue;
			is_taken[i] = true;
			r = json_put_name(fact, fact->size == 0 ? "{" : ",", names[i]);
			if (r == 0)
				r = testimony_ascii(fact, member.value, member.size);
		}
	}
	return r == 0 ? buf_text(fact, "}") : r;
}

/* A value that does not fit is dropped and counted as noise; is_flood has counted its bytes. */
static void take_fact(struct run *run, const struct result_row *row, const char *value, size_t size)
{
	AUTO_BUF struct buf file = {.max = FILE_FACT_MAX};

	if (!fits(row, value, size) ||
	    (member_of(row) == RESULT_FILES && copy_file((struct span){value, size}, &file) < 0)) {
		run->told.noise++;
		return;
	}
	if (member_of(row) == RESULT_FILES) {
		value = (const char *)file.data;
		size = file.size;
	}
	if (member_of(row) == RESULT_ERROR)
		note_error(run, value, size);
	if (run->told.log != NULL)
		log_fact(run, row, value, size);
	else
		keep_fact(run, row, value, size);
}

void run_take_fact(struct run *run, const char *type, const char *value, size_t size)
{
	const struct result_row *row = find_row(run, type, strlen(type));

	if (row != NULL)
		take_fact(run, row, value, size);
}

/* ---- frames ---- */

static void acknowledge(struct run *run, const struct frame *frame)
{
	struct err err = {0};
	struct buf ack;

	if (!(frame->header.flags & FRAME_FLAG_WAIT) || run->place.channel == NULL)
		return;
	buf_init(&ack, sizeof(struct frame_header) + 1);
	if (frame_append(&ack, FRAME_ACK, 0, run->nonce, "", 0) == 0)
		(void)channel_send(run->place.channel, &ack, NULL, &err);
	buf_done(&ack);
}

/* May the event be examined? All of a run's events are examined by the loop, which everybody waits
 * for. So whether one was kept or not, its bytes count towards what the run may keep. */
static bool may_examine(struct run *run, const struct frame *frame)
{
	run->told.event_bytes += frame->header.size;
	return run->told.event_bytes <= RUN_KEPT_MAX || frame->header.size <= SMALL_EVENT;
}

static void take_event(struct run *run, const struct frame *frame)
{
	const struct result_row *row = NULL;
	const char *value = NULL;
	size_t size = 0;

	if (!may_examine(run, frame)) {
		run->told.cut.result = true;
		run->told.frame_mark = frame->header.counter;
		acknowledge(run, frame);
		return;
	}
	if (!json_is_valid(frame->payload, frame->header.size)) {
		break_off(run, "the sandbox sent an event that is not JSON");
		return;
	}
	if (json_find(frame->payload, frame->header.size, "type", &value, &size) && value[0] == '"')
		row = find_row(run, value + 1, size - 2);
	if (row == NULL ||
	    !json_find(frame->payload, frame->header.size, name_of(row), &value, &size)) {
		break_off(run, "the sandbox sent an event of unknown type");
		return;
	}
	/* Output that was written before this event must come before it. */
	run_drain(run);
	run->told.frame_mark = frame->header.counter;
	take_fact(run, row, value, size);
	acknowledge(run, frame);
}

static void take_done(struct run *run, const struct frame *frame)
{
	struct err err = {0};

	run_drain(run);
	if (testimony_read(frame->payload, frame->header.size, &run->end.testimony,
			   &run->end.extras, &err) < 0) {
		break_off(run, err.text);
		return;
	}
	run->told.cut.files |= run->end.extras.is_files_cut;
	run->told.cut.result |= run->end.extras.is_result_cut;
	run->told.frame_mark = frame->header.counter;
	run_note(run, frame->payload, frame->header.size);
	run_stop(run);
}

/* Has the run sent more frames or bytes than any run needs? Counted before a frame is examined. */
static bool is_flood(struct run *run, const struct frame *frame)
{
	uint64_t most = (uint64_t)RUN_KEPT_MAX * RUN_OUTPUT_FACTOR + run->terms.files_bytes_max * 2;

	run->told.frames++;
	run->told.frame_bytes += frame->header.size;
	/* Pieces of files have 1 MiB each, except for the last of a file. */
	return run->told.frames > RUN_FRAMES_MAX + run->terms.files_bytes_max / MIB ||
	       run->told.frame_bytes > most;
}

void run_piece(void *user, const struct frame *piece)
{
	struct run *run = user;
	uint64_t marks[3];
	struct err err = {0};

	/* The bytes of files are not logged: after a restart they are not returned. */
	if (!(piece->header.flags & FRAME_FLAG_MORE) || piece->header.nonce != run->nonce ||
	    piece->header.type == FRAME_FILE || run->state != RUN_RUNNING)
		return;
	/* Bytes above the limit would only displace other logs from the disk. */
	run->told.piece_bytes += piece->header.size;
	if (run->told.piece_bytes > RUN_KEPT_MAX)
		return;
	put_marks(run, marks);
	marks[2] = (uint64_t)piece->header.type << 32 | piece->header.counter;
	if (log_piece(run->told.log, piece->payload, piece->header.size, marks, &err) < 0)
		log_event(LOG_LEVEL_ERROR, "run.piece", "run=%s why=%s", run->id, err.text);
}

void run_frame(void *user, const struct frame *frame)
{
	struct run *run = user;

	if (run->state != RUN_RUNNING)
		return;
	if (is_flood(run, frame)) {
		run->end.facts.is_output_exceeded = true;
		run_stop(run);
		return;
	}
	/* The answer to a look that was requested just before the run began. */
	if (frame->header.type == FRAME_FORKED && run->place.head != NULL)
		head_forked(run->place.head, frame);
	if (frame->header.nonce != run->nonce)
		return;

	switch ((enum frame_type)frame->header.type) {
	case FRAME_EVENT:
		take_event(run, frame);
		break;
	case FRAME_FILE:
		take_file(run, frame);
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
		break_off(run, "the sandbox sent a frame that does not belong to a run");
		break;
	}
}
