// SPDX-License-Identifier: Apache-2.0
#include "session/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "base/json.h"
#include "session/log_state.h"
#include "session/testimony.h"

#define OWNER_SIZE 256 /* longer names of tokens are cut */
#define BUCKETS_FIRST 256U
#define JUMP_MS 10000 /* less is drift */

/* ---- the table ---- */

static size_t bucket_of(const struct logs *logs, const char *id)
{
	uint64_t hash = 0xcbf29ce484222325ULL;

	for (; *id != '\0'; id++)
		hash = (hash ^ (uint8_t)*id) * 0x100000001b3ULL;
	return (size_t)(hash ^ hash >> 32) & (logs->bucket_count - 1);
}

/* Chains stay short: the table grows with what is in it. */
static void grow(struct logs *logs)
{
	struct log *log = NULL;

	free(logs->buckets);
	logs->bucket_count *= 2;
	logs->buckets = xcalloc(logs->bucket_count, sizeof(*logs->buckets));
	TAILQ_FOREACH(log, &logs->all, entry)
		LIST_INSERT_HEAD(&logs->buckets[bucket_of(logs, log->id)], log, same_hash);
}

struct log *logs_find(struct logs *logs, const char *id)
{
	struct log *log = NULL;

	LIST_FOREACH(log, &logs->buckets[bucket_of(logs, id)], same_hash) {
		if (strcmp(log->id, id) == 0)
			return log;
	}
	return NULL;
}

struct log *log_insert(struct logs *logs, const char *id)
{
	struct log *log = xnew(struct log);

	(void)snprintf(log->id, sizeof(log->id), "%s", id);
	log->logs = logs;
	log->serial = ++logs->serial;
	LIST_INIT(&log->readers);
	LIST_INIT(&log->telling);
	TAILQ_INSERT_TAIL(&logs->all, log, entry);
	logs->count++;
	if (logs->count > logs->bucket_count)
		grow(logs);
	else
		LIST_INSERT_HEAD(&logs->buckets[bucket_of(logs, id)], log, same_hash);
	return log;
}

void log_forget(struct log *log)
{
	struct log_reader *reader = NULL;

	/* Those that wait are told once more, and then find no log. */
	while ((reader = LIST_FIRST(&log->readers)) != NULL) {
		log_reader_close(reader);
		if (reader->ready != NULL)
			reader->ready(reader->user);
	}
	LIST_REMOVE(log, same_hash);
	TAILQ_REMOVE(&log->logs->all, log, entry);
	log->logs->count--;
	free(log->owner);
	free(log->index);
	free(log);
}

struct logs *logs_new(struct journal *journal, uint64_t keep_ms)
{
	struct logs *logs = xnew(struct logs);

	logs->journal = journal;
	logs->keep_ms = keep_ms;
	logs->bucket_count = BUCKETS_FIRST;
	logs->buckets = xcalloc(logs->bucket_count, sizeof(*logs->buckets));
	TAILQ_INIT(&logs->all);
	return logs;
}

void logs_attach(struct logs *logs, struct journal *journal)
{
	logs->journal = journal;
}

void logs_free(struct logs *logs)
{
	if (logs == NULL)
		return;
	while (!TAILQ_EMPTY(&logs->all)) {
		struct log *log = TAILQ_FIRST(&logs->all);
		struct log_reader *reader = NULL;

		LIST_FOREACH(reader, &log->readers, entry)
			reader->ready = NULL;
		log_forget(log);
	}
	free(logs->buckets);
	free(logs);
}

void logs_each(struct logs *logs, void (*each)(void *user, struct log *log), void *user)
{
	struct log *log = NULL;

	TAILQ_FOREACH(log, &logs->all, entry)
		each(user, log);
}

/* ---- what a record changes; the same when it is written and when it is replayed ---- */

static void take_event(struct log *log, const struct journal_record *record,
		       struct journal_place place)
{
	/* A log has one end, and each number once. */
	if (log->is_over || record->seq <= log->seq)
		return;
	log_index_add(log, record->seq, place);
	if (log->first.segment == 0) {
		log->first = place;
		if (record->seq == 1 || log->begun_us == 0)
			log->begun_us = record->t_us;
	}
	log->last = place;
	log->last_size = (uint32_t)record->size;
	log->last_us = record->t_us;
	log->seq = record->seq;
	log->is_over = record->is_last;
	log->piece_count = 0;
	memcpy(log->marks, record->marks, sizeof(log->marks));
}

static void take_piece(struct log *log, const struct journal_record *record,
		       struct journal_place place)
{
	if (log->piece_count == 0)
		log->pieces = place;
	log->piece_count++;
	memcpy(log->marks, record->marks, sizeof(log->marks));
}

static void take_note(struct log *log, const struct journal_record *record,
		      struct journal_place place)
{
	log->note = place;
	/* Events before it are gone, but their numbers were given. */
	if (record->seq > log->seq) {
		log->seq = record->seq;
		memcpy(log->marks, record->marks, sizeof(log->marks));
	}
}

static void take_run(struct log *log, const struct journal_record *record,
		     struct journal_place place)
{
	const char *value = NULL;
	size_t size = 0;
	char owner[OWNER_SIZE];

	log->run = place;
	if (log->first.segment == 0)
		log->begun_us = record->t_us;
	if (record->marks[0] > record->size ||
	    !json_find(record->data, (size_t)record->marks[0], "token", &value, &size) ||
	    value[0] != '"')
		return;
	testimony_text(value, size, owner, sizeof(owner));
	free(log->owner);
	log->owner = xstrdup(owner);
}

void log_take(struct log *log, const struct journal_record *record, struct journal_place place)
{
	switch (record->type) {
	case JOURNAL_RUN:
		take_run(log, record, place);
		break;
	case JOURNAL_NOTE:
		take_note(log, record, place);
		break;
	case JOURNAL_EVENT:
		take_event(log, record, place);
		break;
	case JOURNAL_PIECE:
		take_piece(log, record, place);
		break;
	case JOURNAL_SESSION:
	case JOURNAL_SESSION_END:
		break;
	}
}

void logs_replay(struct logs *logs, const struct journal_record *record, struct journal_place place)
{
	struct log *log = NULL;

	if (record->type != JOURNAL_RUN && record->type != JOURNAL_NOTE &&
	    record->type != JOURNAL_EVENT && record->type != JOURNAL_PIECE)
		return;
	/* Its beginning may be gone, with the segment it was in. */
	log = logs_find(logs, record->id);
	log_take(log != NULL ? log : log_insert(logs, record->id), record, place);
}

/* ---- forgetting ---- */

static void lower(uint32_t *floor, struct journal_place place)
{
	if (place.segment != 0 && place.segment < *floor)
		*floor = place.segment;
}

/*
 * A wall clock that is set makes no log older or younger: what it jumped, against the clock that
 * counts since boot, is added to the time of each log's last event.
 */
static void follow_clock(struct logs *logs, uint64_t now_ms)
{
	struct timespec boot;
	struct log *log = NULL;
	int64_t boot_ms, jump_ms;

	(void)clock_gettime(CLOCK_BOOTTIME, &boot);
	boot_ms = (int64_t)boot.tv_sec * 1000 + boot.tv_nsec / 1000000;
	jump_ms = logs->has_clock ? (int64_t)now_ms - boot_ms - logs->clock_ms : 0;
	if (logs->has_clock && jump_ms < JUMP_MS && jump_ms > -JUMP_MS)
		return;
	TAILQ_FOREACH(log, &logs->all, entry)
		log->last_us += (uint64_t)jump_ms * 1000;
	logs->clock_ms = (int64_t)now_ms - boot_ms;
	logs->has_clock = true;
}

void logs_tick(struct logs *logs, uint64_t now_ms, uint32_t floor)
{
	struct log *log = TAILQ_FIRST(&logs->all);

	follow_clock(logs, now_ms);
	while (log != NULL) {
		struct log *next = TAILQ_NEXT(log, entry);

		if (log->is_over && log->last_us / 1000 + logs->keep_ms <= now_ms) {
			log_forget(log);
		} else {
			lower(&floor, log->run);
			lower(&floor, log->first);
			lower(&floor, log->note);
		}
		log = next;
	}
	journal_forget(logs->journal, floor);
}

/* ---- one log ---- */

const char *log_id(const struct log *log)
{
	return log->id;
}

bool log_is_over(const struct log *log)
{
	return log->is_over;
}

void log_set_held(struct log *log, bool is_held)
{
	log->is_held = is_held;
}

bool log_is_held(const struct log *log)
{
	return log->is_held;
}

uint64_t log_seq(const struct log *log)
{
	return log->seq;
}

uint64_t log_begun_ms(const struct log *log)
{
	return log->begun_us / 1000;
}

uint64_t log_marks(const struct log *log, size_t which)
{
	return log->marks[which];
}

bool log_read_at(const struct log *log, struct journal_place place,
		 struct journal_record *ret_record)
{
	struct err err = {0};

	return place.segment != 0 &&
	       journal_read(log->logs->journal, place, ret_record, &err) == 0 &&
	       strcmp(ret_record->id, log->id) == 0;
}

/* The data of a RUN is head and code; the first mark says where the one ends. */
static bool read_run(const struct log *log, struct journal_record *ret_record)
{
	return log_read_at(log, log->run, ret_record) && ret_record->marks[0] <= ret_record->size;
}

bool log_head(const struct log *log, const char **ret_head, size_t *ret_size)
{
	struct journal_record record = {0};

	if (!read_run(log, &record))
		return false;
	*ret_head = record.data;
	*ret_size = (size_t)record.marks[0];
	return true;
}

const char *log_owner(const struct log *log)
{
	return log->run.segment >= journal_first(log->logs->journal) ? log->owner : NULL;
}

bool log_code(const struct log *log, const char **ret_code, size_t *ret_size)
{
	struct journal_record record = {0};

	if (!read_run(log, &record))
		return false;
	*ret_code = (const char *)record.data + record.marks[0];
	*ret_size = record.size - (size_t)record.marks[0];
	return true;
}

bool log_last_note(const struct log *log, const char **ret_note, size_t *ret_size)
{
	struct journal_record record = {0};

	if (!log_read_at(log, log->note, &record) || record.size == 0)
		return false;
	*ret_note = record.data;
	*ret_size = record.size;
	return true;
}
