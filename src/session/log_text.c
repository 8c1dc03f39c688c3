// SPDX-License-Identifier: Apache-2.0
#include "session/log_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "base/utf8.h"
#include "session/log_state.h"

#define WORK_MAX (256UL << 10) /* bytes that one read examines: about a millisecond of work */
#define LINE_WORK 256U         /* the least cost of a line or a record */
#define SLICE (8U << 10)       /* for bytes that are converted, not copied */

void log_text_init(struct log_text *text, struct logs *logs)
{
	text->logs = logs;
	buf_init(&text->out, LOG_TEXT_OUT_MAX);
}

void log_text_free(struct log_text *text)
{
	if (text == NULL)
		return;
	log_reader_close(&text->reader);
	buf_done(&text->out);
	text->free(text);
}

/* ---- lines ---- */

void log_text_follow(struct log_text *text, struct log *log, uint64_t after)
{
	log_reader_close(&text->reader);
	log_reader_open(&text->reader, log, after, NULL, NULL);
	memcpy(text->id, log->id, sizeof(text->id));
	text->line = (struct log_text_line){0};
}

const char *log_text_bytes(const struct log_text *text, struct journal_place place,
			   size_t *ret_size)
{
	struct journal_record record = {0};
	struct err err = {0};

	if (journal_read(text->logs->journal, place, &record, &err) < 0 ||
	    strcmp(record.id, text->id) != 0)
		return NULL;
	*ret_size = record.size;
	return record.data;
}

/* Number, time and type are the first members of every line, and short. */
static void read_type(struct log_text_line *line, const char *bytes)
{
	struct members *members = &line->members;
	size_t budget = LINE_WORK;

	while (members_next(members, bytes, line->size, &budget) == 1) {
		if (!members_is_named(members, bytes, "type"))
			continue;
		if (members->size > 2 && members->size - 2 < sizeof(line->type))
			memcpy(line->type, bytes + members->value_at + 1, members->size - 2);
		return;
	}
}

int log_text_next_line(struct log_text *text, size_t *budget)
{
	const char *bytes = NULL;
	size_t size = 0;
	int r;

	if (text->reader.log == NULL)
		return -ENOENT; /* the log was forgotten meanwhile */
	*budget -= *budget < LINE_WORK ? *budget : LINE_WORK;
	r = log_reader_next(&text->reader, &bytes, &size);
	if (r <= 0)
		return r == 0 ? -ENODATA : r;
	text->line = (struct log_text_line){.place = text->reader.place, .size = size};
	read_type(&text->line, bytes);
	return 0;
}

int log_text_next_member(struct log_text *text, size_t base, size_t limit, struct members *members,
			 const char **ret_bytes, size_t *budget)
{
	size_t size = 0;
	const char *bytes = log_text_bytes(text, text->line.place, &size);

	if (bytes == NULL || base > size || limit > size - base)
		return -ENOENT;
	*ret_bytes = bytes + base;
	return members_next(members, *ret_bytes, limit, budget);
}

/* ---- pieces ---- */

struct log_text_span log_text_value(const struct log_text *text, const struct members *members,
				    size_t base)
{
	return (struct log_text_span){
		.place = text->line.place, .at = base + members->value_at, .size = members->size};
}

struct log_text_span log_text_inner(struct log_text_span span, enum log_text_how how)
{
	span.at++;
	span.size -= 2;
	span.how = how;
	return span;
}

void log_text_put(struct log_text *text, const char *before, const struct log_text_span *span)
{
	struct log_text_piece *piece = &text->pieces[text->piece_count++];

	*piece = (struct log_text_piece){.before = before};
	if (span != NULL)
		piece->span = *span;
}

/* Escapes one slice of the bytes, without splitting a character. Returns how many bytes that
 * were. */
static size_t quote(struct buf *out, const char *bytes, size_t size, int *ret_r)
{
	size_t n = size < SLICE ? size : SLICE;
	size_t start = out->size;

	for (int i = 0; n < size && i < 3 && utf8_is_inside((uint8_t)bytes[n]); i++)
		n--;
	*ret_r = json_put_string(out, bytes, n);
	if (*ret_r == 0) {
		/* Removes the quotes, which the maker of the text writes itself. */
		memmove(out->data + start, out->data + start + 1, out->size - start - 2);
		out->size -= 2;
	}
	return n;
}

static size_t split(struct buf *out, const char *bytes, size_t size, int *ret_r)
{
	size_t at = 0;
	int r = 0;

	while (at < size && at < SLICE && r == 0) {
		size_t n = bytes[at] == '\\' && at + 1 < size ? 2 : 1;

		if (n == 1 || bytes[at + 1] != 'n')
			r = buf_append(out, bytes + at, n);
		else if (at + 2 < size)
			r = buf_text(out, "\",\"");
		at += n;
	}
	*ret_r = r;
	return at;
}

/* Takes the next bytes of a piece: copies them to `data`, or converts them into text->out. Returns
 * how many bytes were copied, or a negative errno. */
static int64_t take_span(struct log_text *text, struct log_text_span *span, char *data, size_t room)
{
	size_t size = 0;
	const char *bytes = log_text_bytes(text, span->place, &size);
	size_t n = span->size < room ? span->size : room;
	int64_t copied = 0;
	int r = 0;

	if (bytes == NULL || span->at > size || span->size > size - span->at)
		return -ENOENT;
	bytes += span->at;
	switch (span->how) {
	case LOG_TEXT_COPY:
		memcpy(data, bytes, n);
		copied = (int64_t)n;
		break;
	case LOG_TEXT_QUOTE:
		n = quote(&text->out, bytes, span->size, &r);
		break;
	case LOG_TEXT_LINES:
		n = split(&text->out, bytes, span->size, &r);
		break;
	}
	span->at += n;
	span->size -= n;
	return r < 0 ? r : copied;
}

static int64_t take_piece(struct log_text *text, char *data, size_t room)
{
	struct log_text_piece *piece = &text->pieces[text->piece_next];

	if (piece->before != NULL) {
		const char *before = STEAL(piece->before);

		return buf_text(&text->out, before);
	}
	if (piece->span.size > 0)
		return take_span(text, &piece->span, data, room);
	if (++text->piece_next == text->piece_count)
		text->piece_next = text->piece_count = 0;
	return 0;
}

static size_t take_out(struct log_text *text, char *data, size_t room)
{
	size_t n = text->out.size - text->out_sent;

	n = n < room ? n : room;
	memcpy(data, text->out.data + text->out_sent, n);
	text->out_sent += n;
	if (text->out_sent == text->out.size)
		text->out.size = text->out_sent = 0;
	return n;
}

int64_t log_text_read(struct log_text *text, void *data, size_t room)
{
	size_t budget = WORK_MAX;
	size_t size = 0;
	int64_t n = 0;

	while (size < room && n >= 0 && !text->is_over) {
		if (text->out.size > 0)
			n = (int64_t)take_out(text, (char *)data + size, room - size);
		else if (text->piece_count > 0)
			n = take_piece(text, (char *)data + size, room - size);
		else if (budget > 0)
			n = text->step(text, &budget);
		else
			break;
		size += n > 0 ? (size_t)n : 0;
		text->sent += n > 0 ? (size_t)n : 0;
	}
	if (n < 0) {
		text->is_over = true;
		text->is_broken = n != -ENODATA;
	}
	if (size > 0 || !text->is_over)
		return (int64_t)size;
	return text->is_broken ? -2 : -1;
}

int log_text_whole(struct log_text *text, struct buf *buf, struct err *err)
{
	char piece[SLICE];
	int64_t n = 0;
	int r = 0;

	while (n >= 0 && r == 0) {
		n = log_text_read(text, piece, sizeof(piece));
		if (n > 0)
			r = buf_append(buf, piece, (size_t)n);
	}
	if (r < 0)
		return err_set(err, ERR_TOO_LARGE, -r, "the text is larger than its buffer");
	if (n == -2)
		return err_set(err, ERR_NOT_FOUND, ENOENT, "the events are no longer kept");
	return 0;
}
