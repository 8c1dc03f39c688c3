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

#define OWNER_SIZE 256 /* longer token names are cut */
#define BUCKETS_FIRST 256U
#define INDEX_EVERY 64U       /* events */
#define INDEX_GAP (32U << 10) /* bytes of other logs between two events */
#define RECORD_HEAD 128U      /* at least what the journal puts before a record's data */
#define PREFIX_MAX 160U       /* {"seq":...,"t_ms":...,"type":"..." */
#define JUMP_MS 10000         /* a smaller difference is drift */

/* ---- the table ---- */

static size_t bucket_of(const struct logs *logs, const char *id)
{
	uint64_t hash = 0xcbf29ce484222325ULL;

	for (; *id != '\0'; id++)
		hash = (hash ^ (uint8_t)*id) * 0x100000001b3ULL;
	return (size_t)(hash ^ hash >> 32) & (logs->bucket_count - 1);
}

/* The table grows with the number of logs, so that chains stay short. */
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

static struct log *insert(struct logs *logs, const char *id)
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

static void forget(struct log *log)
{
	struct log_reader *reader = NULL;

	/* Waiting readers are called once more, and then find no log. */
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
		forget(log);
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

/* ---- the index ---- */

/* Are there too many bytes of other logs between the last event and `place` for a walk? */
static bool is_far(const struct log *log, struct journal_place place)
{
	uint64_t end = (uint64_t)log->last.at + log->last_size + RECORD_HEAD;

	return place.segment != log->last.segment || place.at > end + INDEX_GAP;
}

static void index_add(struct log *log, uint64_t seq, struct journal_place place)
{
	struct log_index *index = NULL;
	uint64_t before = log->index_count > 0 ? log->index[log->index_count - 1].seq : 1;
	uint32_t room = log->index_room > 0 ? log->index_room * 2 : 4;

	if (log->last.segment == 0 || (seq - before < INDEX_EVERY && !is_far(log, place)))
		return;
	if (log->index_count == log->index_room) {
		index = reallocarray(log->index, room, sizeof(*index));
		if (index == NULL)
			return; /* without the entry, reading is slower, but still right */
		log->index = index;
		log->index_room = room;
	}
	log->index[log->index_count++] = (struct log_index){seq, place};
}

/* The last indexed event at or before `seq`. */
static struct log_index index_find(const struct log *log, uint64_t seq)
{
	size_t low = 0;
	size_t high = log->index_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (log->index[middle].seq <= seq)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 ? log->index[low - 1] : (struct log_index){0, log->first};
}

/* ---- the effect of a record, the same when it is written and when it is replayed ---- */

static void take_event(struct log *log, const struct journal_record *record,
		       struct journal_place place)
{
	/* A log has one end, and each number occurs once. */
	if (log->is_over || record->seq <= log->seq)
		return;
	index_add(log, record->seq, place);
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
	/* Events before the note are gone, but their numbers are used up. */
	if (record->seq > log->seq) {
		log->seq = record->seq;
		memcpy(log->marks, record->marks, sizeof(log->marks));
	}
}

/* The head comes first in the record of a run; the first mark is its size. */
static void read_head(const struct journal_record *record, struct log_head *ret_head)
{
	struct {
		const char *name;
		struct span *to;
	} rows[] = {
		{"session", &ret_head->session}, {"op", &ret_head->op},
		{"policy", &ret_head->policy},   {"runtime", &ret_head->runtime},
		{"backend", &ret_head->backend}, {"token", &ret_head->token},
		{"peer", &ret_head->peer},       {"who", &ret_head->who},
		{"command", &ret_head->command}, {"held", &ret_head->held},
		{"sha256", &ret_head->sha256},   {"code_size", &ret_head->code_size},
		{"line", &ret_head->line},
	};
	struct json_member member = {0};

	*ret_head = (struct log_head){0};
	while (record->marks[0] > 0 && record->marks[0] <= record->size &&
	       json_next(record->data, (size_t)record->marks[0], &member)) {
		for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
			if (rows[i].to->size == 0 && json_is_named(&member, rows[i].name))
				*rows[i].to = (struct span){member.value, member.size};
		}
	}
}

static void take_run(struct log *log, const struct journal_record *record,
		     struct journal_place place)
{
	struct log_head head;
	char owner[OWNER_SIZE];

	log->run = place;
	if (log->first.segment == 0)
		log->begun_us = record->t_us;
	read_head(record, &head);
	if (head.token.size == 0 || head.token.at[0] != '"')
		return;
	span_text(head.token, owner, sizeof(owner));
	free(log->owner);
	log->owner = xstrdup(owner);
}

static void take(struct log *log, const struct journal_record *record, struct journal_place place)
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
	/* The start of a log may be gone with its segment. */
	log = logs_find(logs, record->id);
	take(log != NULL ? log : insert(logs, record->id), record, place);
}

/* ---- forgetting ---- */

static void lower(uint32_t *floor, struct journal_place place)
{
	if (place.segment != 0 && place.segment < *floor)
		*floor = place.segment;
}

/*
 * Setting the wall clock must not make a log older or younger: the size of the jump, measured
 * against CLOCK_BOOTTIME, is added to the time of each log's last event.
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
			forget(log);
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

uint64_t log_last_us(const struct log *log)
{
	return log->last_us;
}

uint64_t log_begun_ms(const struct log *log)
{
	return log->begun_us / 1000;
}

uint64_t log_marks(const struct log *log, size_t which)
{
	return log->marks[which];
}

static bool read_at(const struct log *log, struct journal_place place,
		    struct journal_record *ret_record)
{
	struct err err = {0};

	return place.segment != 0 &&
	       journal_read(log->logs->journal, place, ret_record, &err) == 0 &&
	       strcmp(ret_record->id, log->id) == 0;
}

/* The data of a RUN record is head and code; the first mark is the size of the head. */
static bool read_run(const struct log *log, struct journal_record *ret_record)
{
	return read_at(log, log->run, ret_record) && ret_record->marks[0] <= ret_record->size;
}

bool log_head(const struct log *log, struct log_head *ret_head)
{
	struct journal_record record = {0};
	bool is_there = read_run(log, &record);

	read_head(&record, ret_head);
	return is_there;
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

	if (!read_at(log, log->note, &record) || record.size == 0)
		return false;
	*ret_note = record.data;
	*ret_size = record.size;
	return true;
}

/* ---- readers ---- */

static void tell_readers(struct log *log)
{
	struct log_reader *reader = NULL;

	/* In its callback a reader may close itself or others, and even add to the log, so each
	 * reader is moved back to the list before it is called. */
	while ((reader = LIST_FIRST(&log->readers)) != NULL) {
		LIST_REMOVE(reader, entry);
		LIST_INSERT_HEAD(&log->telling, reader, entry);
	}
	while ((reader = LIST_FIRST(&log->telling)) != NULL) {
		LIST_REMOVE(reader, entry);
		LIST_INSERT_HEAD(&log->readers, reader, entry);
		if (reader->ready != NULL)
			reader->ready(reader->user);
	}
}

void log_reader_open(struct log_reader *reader, struct log *log, uint64_t after,
		     void (*ready)(void *user), void *user)
{
	*reader = (struct log_reader){.log = log, .after = after, .ready = ready, .user = user};
	LIST_INSERT_HEAD(&log->readers, reader, entry);
}

void log_reader_close(struct log_reader *reader)
{
	if (reader == NULL || reader->log == NULL)
		return;
	LIST_REMOVE(reader, entry);
	reader->log = NULL;
}

static bool is_same(struct journal_place one, struct journal_place other)
{
	return one.segment == other.segment && one.at == other.at;
}

/* Finds the event `seq` of `log` from `place` on, skipping records of other logs. */
static int walk(const struct log *log, struct journal_place *place, uint64_t seq,
		struct journal_record *ret_record)
{
	struct journal *journal = log->logs->journal;
	struct err err = {0};

	for (;;) {
		struct journal_record record = {0};
		int r = journal_read(journal, *place, &record, &err);
		bool is_event;

		if (r < 0)
			return r;
		is_event = record.type == JOURNAL_EVENT && strcmp(record.id, log->id) == 0;
		if (is_event && record.seq == seq) {
			*ret_record = record;
			return 0;
		}
		if ((is_event && record.seq > seq) || is_same(*place, log->last) ||
		    !journal_next(journal, place))
			return -ENOENT;
	}
}

int log_reader_next(struct log_reader *reader, const char **ret_text, size_t *ret_size)
{
	const struct log *log = reader->log;
	uint64_t seq = reader->after + 1;
	struct journal_record record = {0};
	struct journal_place place;
	struct log_index known;
	int r;

	if (log == NULL)
		return -ENODATA;
	if (reader->after >= log->seq)
		return log->is_over ? -ENODATA : 0;

	known = index_find(log, seq);
	place = known.place;
	if (seq == log->seq) {
		place = log->last;
	} else if (reader->place.segment != 0 && known.seq <= reader->after) {
		place = reader->place;
		if (!journal_next(log->logs->journal, &place))
			return -ENOENT;
	}
	r = walk(log, &place, seq, &record);
	if (r < 0)
		return -ENOENT;

	reader->place = place;
	reader->after = seq;
	*ret_text = record.data;
	*ret_size = record.size;
	return 1;
}

/* ---- pieces ---- */

int log_pieces(const struct log *log, struct buf *buf)
{
	struct journal *journal = log->logs->journal;
	struct journal_place place = log->pieces;
	size_t before = buf->size;
	uint32_t left = log->piece_count;

	while (left > 0) {
		struct journal_record record = {0};
		struct err err = {0};
		int r = journal_read(journal, place, &record, &err);

		if (r == 0 && record.type == JOURNAL_PIECE && strcmp(record.id, log->id) == 0) {
			r = buf_append(buf, record.data, record.size);
			left--;
		}
		if (r == 0 && left > 0 && !journal_next(journal, &place))
			r = -ENOENT;
		if (r < 0) {
			buf_cut(buf, before);
			return r;
		}
	}
	return 0;
}

/* ---- writing ---- */

/* A note contains the last number and marks of its log, for when the events before it are gone. */
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
	take(log, record, place);
	log->logs->segment = place.segment;
	return 0;
}

/* Writes the RUN or the last NOTE again, from a copy, since its segment may be dropped
 * meanwhile. */
static void write_again(struct log *log, enum journal_type type, struct journal_place place)
{
	struct journal_record record = {.type = type};
	struct err err = {0};
	void *copy = NULL;

	/* A log without a note gets an empty one, for its number and marks. */
	if (!read_at(log, place, &record) && type == JOURNAL_RUN)
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
 * A run under way cannot be resumed without its head, its last note and its last number. These must
 * not be dropped with the oldest segments, however much other runs write, so they are written again
 * once they are in the older half of the segments.
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

/* Appends a record; sets its id and time, and updates `log`. */
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
		return err_set(err, ERR_INTERNAL, EEXIST, "there is already a log of %s", id);
	log = insert(logs, id);
	r = append(log, &record, &more, 1, err);
	if (r < 0) {
		forget(log);
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

/* The t_ms of the last line; 0 if it cannot be read. */
static double last_t_ms(const struct log *log)
{
	struct journal_record record = {0};
	const char *value = NULL;
	char digits[32] = "0";
	size_t size = 0;
	double t_ms;

	if (read_at(log, log->last, &record) &&
	    json_find(record.data, record.size, "t_ms", &value, &size) && size < sizeof(digits)) {
		memcpy(digits, value, size);
		digits[size] = '\0';
	}
	t_ms = strtod(digits, NULL);
	return t_ms > 0 && t_ms < 1e12 ? t_ms : 0;
}

/*
 * When the run began, on the monotonic clock. After a restart of this program it is derived from
 * the last line: t_ms continues from there, plus the time that has passed since by the wall clock.
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
		return err_set(err, ERR_INTERNAL, EINVAL, "the type of an event is too long");

	record.data = prefix;
	record.size = (size_t)length;
	memcpy(record.marks, marks != NULL ? marks : log->marks, sizeof(record.marks));
	r = append(log, &record, more, ARRAY_LEN(more), err);
	if (r == 0)
		tell_readers(log);
	return r;
}

void log_end(struct log *log)
{
	log->is_over = true;
	tell_readers(log);
}
