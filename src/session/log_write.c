// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "session/log_state.h"

#define PREFIX_MAX 160U /* {"seq":...,"t_ms":...,"type":"..." */

/* A note says how far its log had come, for a time when the events before it are gone. */
static void count_in(const struct log *log, struct journal_record *note)
{
	note->seq = log->seq;
	memcpy(note->marks, log->marks, sizeof(note->marks));
}

static int append_one(struct log *log, struct journal_record *record, const struct iovec *more,
		      size_t more_count, struct err *err)
{
	struct journal_place place = {0};
	int r;

	memcpy(record->id, log->id, sizeof(record->id));
	if (record->t_us == 0)
		record->t_us = wall_us();
	r = journal_append(log->logs->journal, record, more, more_count, &place, err);
	if (r < 0)
		return err_wrap(err, "log of %s", log->id);
	for (size_t i = 0; i < more_count; i++)
		record->size += more[i].iov_len;
	log_take(log, record, place);
	log->logs->segment = place.segment;
	return 0;
}

/* Writes RUN or the last NOTE once more: from a copy, for its segment may go. */
static void write_again(struct log *log, enum journal_type type, struct journal_place place)
{
	struct journal_record record = {.type = type};
	struct err err = {0};
	void *copy = NULL;

	/* One that has no note gets an empty one, which says how far it has come. */
	if (!log_read_at(log, place, &record) && type == JOURNAL_RUN)
		return;
	copy = malloc(record.size + 1);
	if (copy == NULL)
		return;
	if (record.size > 0)
		memcpy(copy, record.data, record.size);
	record.data = copy;
	if (type == JOURNAL_NOTE)
		count_in(log, &record);
	(void)append_one(log, &record, NULL, 0, &err);
	free(copy);
}

/*
 * What a run that goes on cannot be taken up without (its head, its last note, its last number)
 * must not go with the oldest segments, however much others write: it is written again before it is
 * among the older half.
 */
static void save_live(struct logs *logs)
{
	uint32_t first = journal_first(logs->journal);
	uint32_t middle = first + (logs->segment - first) / 2;
	struct log *log = NULL;

	logs->is_saving = true;
	TAILQ_FOREACH(log, &logs->all, entry) {
		if (!log->is_over && log->run.segment < middle)
			write_again(log, JOURNAL_RUN, log->run);
		if (!log->is_over && log->note.segment < middle)
			write_again(log, JOURNAL_NOTE, log->note);
	}
	logs->is_saving = false;
}

/* The record's id and time are set here; `log` knows of it afterwards. */
static int append(struct log *log, struct journal_record *record, const struct iovec *more,
		  size_t more_count, struct err *err)
{
	struct logs *logs = log->logs;
	uint32_t before = logs->segment;
	int r = append_one(log, record, more, more_count, err);

	if (r == 0 && logs->segment != before && !logs->is_saving)
		save_live(logs);
	return r;
}

int logs_add(struct logs *logs, const char *id, const char *head, size_t head_size,
	     const void *code, size_t code_size, struct log **ret_log, struct err *err)
{
	struct journal_record record = {
		.type = JOURNAL_RUN, .marks = {head_size}, .data = head, .size = head_size};
	struct iovec more = {(void *)(uintptr_t)code, code_size}; /* only read */
	struct log *log = NULL;
	int r;

	if (strlen(id) >= JOURNAL_ID_SIZE || logs_find(logs, id) != NULL)
		return err_set(err, ERR_INTERNAL, EEXIST, "there is a log of %s", id);
	log = log_insert(logs, id);
	r = append(log, &record, &more, 1, err);
	if (r < 0) {
		log_forget(log);
		return r;
	}
	*ret_log = log;
	return 0;
}

int log_note(struct log *log, const char *note, size_t size, struct err *err)
{
	struct journal_record record = {.type = JOURNAL_NOTE, .data = note, .size = size};

	count_in(log, &record);
	return append(log, &record, NULL, 0, err);
}

int log_piece(struct log *log, const void *data, size_t size, const uint64_t marks[3],
	      struct err *err)
{
	struct journal_record record = {.type = JOURNAL_PIECE, .data = data, .size = size};

	memcpy(record.marks, marks != NULL ? marks : log->marks, sizeof(record.marks));
	return append(log, &record, NULL, 0, err);
}

/* The t_ms of its last line; 0 when it is not to be had. */
static double last_t_ms(const struct log *log)
{
	struct journal_record record = {0};
	const char *value = NULL;
	char digits[32] = "0";
	size_t size = 0;
	double t_ms;

	if (log_read_at(log, log->last, &record) &&
	    json_find(record.data, record.size, "t_ms", &value, &size) && size < sizeof(digits)) {
		memcpy(digits, value, size);
		digits[size] = '\0';
	}
	t_ms = strtod(digits, NULL);
	return t_ms > 0 && t_ms < 1e12 ? t_ms : 0;
}

/*
 * When the run began, on the clock that never jumps. After a restart of this program it follows
 * from the last line: t_ms goes on from there, by what the wall clock says has passed since.
 */
static uint64_t start_of(const struct log *log, uint64_t now)
{
	uint64_t since_us = log->last.segment != 0 ? log->last_us : log->begun_us;
	uint64_t real = wall_us();
	uint64_t passed_ns = (uint64_t)(last_t_ms(log) * 1e6);

	if (log->seq == 0)
		return now;
	if (real > since_us)
		passed_ns += (real - since_us) * 1000;
	return passed_ns < now ? now - passed_ns : 1;
}

int log_add(struct log *log, const char *type, const void *members, size_t size,
	    const uint64_t marks[3], bool is_last, struct err *err)
{
	struct journal_record record = {
		.type = JOURNAL_EVENT, .seq = log->seq + 1, .is_last = is_last};
	char close[] = "}";
	struct iovec more[] = {{(void *)(uintptr_t)members, size}, {close, 1}}; /* only read */
	uint64_t now = now_ns();
	char prefix[PREFIX_MAX];
	int length;
	int r;

	if (log->is_over)
		return err_set(err, ERR_CONFLICT, ESHUTDOWN, "the log of %s has ended", log->id);
	if (log->start_ns == 0)
		log->start_ns = start_of(log, now);
	length =
		snprintf(prefix, sizeof(prefix), "{\"seq\":%llu,\"t_ms\":%.3f,\"type\":\"%s\"",
			 (unsigned long long)record.seq, (double)(now - log->start_ns) / 1e6, type);
	if (length < 0 || (size_t)length >= sizeof(prefix))
		return err_set(err, ERR_INTERNAL, EINVAL, "no event has so long a type");

	record.data = prefix;
	record.size = (size_t)length;
	memcpy(record.marks, marks != NULL ? marks : log->marks, sizeof(record.marks));
	r = append(log, &record, more, ARRAY_LEN(more), err);
	if (r == 0)
		log_tell(log);
	return r;
}
