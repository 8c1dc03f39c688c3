// SPDX-License-Identifier: Apache-2.0
#include "session/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/file.h>
#include <sys/stat.h>

#include "base/c.h"
#include "base/log.h"
#include "session/segment.h"

#define SEGMENT_SIZE_DEFAULT (16U << 20)
#define SEGMENT_SIZE_MIN (64U << 10)
#define SEGMENT_SIZE_MAX (1U << 30)
#define DISK_MAX_DEFAULT GIB
#define RESIDENT_DEFAULT MIB
#define MEMORY_SEGMENT (1U << 20) /* small, so that the disk is soon tried again */
#define MEMORY_MAX (64U << 20)
#define MAPPED_MAX 4U /* besides the one being written */
#define PAGE 4096U

struct journal {
	int dir;  /* owned */
	int lock; /* owned */
	uint32_t segment_size, resident;
	uint64_t disk_max, disk, memory; /* bytes */
	struct segment *segments;        /* owned; sorted by number; the last one is written to */
	size_t count, room;
	uint32_t next_number;
	uint64_t uses;
	struct err why; /* why records do not reach the disk */
	void (*begun)(void *user, uint32_t segment);
	void *user; /* borrowed: from journal_on_segment */
	bool is_beginning;
};

/* ---- the table ---- */

/* The index of the first segment with this number or a higher one. */
static size_t find_from(const struct journal *journal, uint32_t number)
{
	size_t low = 0;
	size_t high = journal->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (journal->segments[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct segment *find(struct journal *journal, uint32_t number)
{
	size_t i = find_from(journal, number);

	return i < journal->count && journal->segments[i].number == number ? &journal->segments[i]
									   : NULL;
}

static struct segment *last(struct journal *journal)
{
	return journal->count > 0 ? &journal->segments[journal->count - 1] : NULL;
}

static void count_bytes(struct journal *journal, const struct segment *segment, int sign)
{
	uint64_t *sum = segment->memory >= 0 ? &journal->memory : &journal->disk;

	*sum += sign > 0 ? segment->size : -(uint64_t)segment->size;
}

static void push(struct journal *journal, const struct segment *segment)
{
	if (journal->segments == NULL || journal->count == journal->room) {
		size_t room = journal->room > 0 ? journal->room * 2 : 16;
		struct segment *segments = reallocarray(journal->segments, room, sizeof(*segments));

		if (segments == NULL)
			abort(); /* small, as with xnew */
		journal->segments = segments;
		journal->room = room;
	}
	journal->segments[journal->count++] = *segment;
	count_bytes(journal, segment, 1);
	if (segment->number >= journal->next_number)
		journal->next_number = segment->number + 1;
}

/* Drops a segment and deletes its file. */
static void drop(struct journal *journal, size_t i)
{
	struct segment *segment = &journal->segments[i];
	char name[SEGMENT_NAME_SIZE];

	if (segment->memory < 0) {
		(void)snprintf(name, sizeof(name), SEGMENT_NAME, segment->number);
		(void)unlinkat(journal->dir, name, 0);
	}
	count_bytes(journal, segment, -1);
	segment_close(segment);
	journal->count--;
	memmove(segment, segment + 1, (journal->count - i) * sizeof(*segment));
}

/* Drops the oldest segments, never the one being written. */
static void drop_above_limits(struct journal *journal)
{
	for (size_t i = 0; journal->disk > journal->disk_max && i + 1 < journal->count;) {
		if (journal->segments[i].memory < 0)
			drop(journal, i);
		else
			i++;
	}
	for (size_t i = 0; journal->memory > MEMORY_MAX && i + 1 < journal->count;) {
		if (journal->segments[i].memory >= 0)
			drop(journal, i);
		else
			i++;
	}
}

/* ---- mapping ---- */

/* Few segments stay mapped: those that were read last. */
static void unmap_oldest(struct journal *journal)
{
	struct segment *oldest = NULL;
	size_t mapped = 0;

	for (size_t i = 0; i + 1 < journal->count; i++) {
		struct segment *segment = &journal->segments[i];

		if (segment->map == NULL)
			continue;
		mapped++;
		if (oldest == NULL || segment->used < oldest->used)
			oldest = segment;
	}
	if (mapped >= MAPPED_MAX)
		segment_unmap(oldest);
}

static int use(struct journal *journal, struct segment *segment, struct err *err)
{
	segment->used = ++journal->uses;
	if (segment->map != NULL)
		return 0;
	unmap_oldest(journal);
	return segment_map(journal->dir, segment, false, err);
}

/* ---- opening ---- */

struct replay {
	void (*call)(void *user, const struct journal_record *record, struct journal_place place);
	void *user;
};

static int replay_all(struct journal *journal, const struct replay *replay, struct err *err)
{
	AUTO_FREE uint32_t *numbers = NULL;
	size_t count = 0;
	int r = segment_list(journal->dir, &numbers, &count, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++) {
		struct segment segment = {.memory = -1};
		struct err why = {0};

		journal->next_number = numbers[i] + 1;
		if (segment_open(journal->dir, numbers[i], &segment, &why) < 0) {
			log_event(LOG_LEVEL_WARNING, "journal.foreign", "why=%s", why.text);
			continue;
		}
		if (!segment_scan(&segment, replay->call, replay->user))
			log_event(LOG_LEVEL_WARNING, "journal.torn", "segment=%u kept=%u bytes",
				  segment.number, segment.end);
		segment_unmap(&segment);
		push(journal, &segment);
	}
	return 0;
}

/* Continues the last segment if that is possible; else the next record begins a new one. */
static void take_up(struct journal *journal)
{
	struct segment *segment = last(journal);
	struct err err = {0};

	if (segment != NULL && !segment->is_shut && segment->number + 1 == journal->next_number)
		(void)segment_map(journal->dir, segment, true, &err);
}

static int lock(struct journal *journal, const char *dir, struct err *err)
{
	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return err_sys(err, "make %s", dir);
	journal->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (journal->dir < 0)
		return err_sys(err, "open %s", dir);
	journal->lock =
		openat(journal->dir, SEGMENT_LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (journal->lock < 0)
		return err_sys(err, "open %s/" SEGMENT_LOCK, dir);
	if (flock(journal->lock, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK
			       ? err_set(err, ERR_BUSY, EBUSY,
					 "%s: another viv serve uses it; stop that one, or give "
					 "this one a state_dir of its own",
					 dir)
			       : err_sys(err, "lock %s", dir);
	return 0;
}

static void settle(struct journal *journal, const struct journal_settings *settings)
{
	uint64_t disk_max = settings->disk_max > 0 ? settings->disk_max : DISK_MAX_DEFAULT;
	uint64_t size = settings->segment_size > 0 ? settings->segment_size : SEGMENT_SIZE_DEFAULT;
	uint64_t resident = settings->resident > 0 ? settings->resident : RESIDENT_DEFAULT;

	/* At least two segments: one being written, and one to read back. */
	if (size > disk_max / 2)
		size = disk_max / 2;
	if (size > SEGMENT_SIZE_MAX)
		size = SEGMENT_SIZE_MAX;
	if (size < SEGMENT_SIZE_MIN)
		size = SEGMENT_SIZE_MIN;
	journal->segment_size = (uint32_t)(size / PAGE * PAGE);
	journal->disk_max = disk_max;
	if (resident > SEGMENT_SIZE_MAX)
		resident = SEGMENT_SIZE_MAX;
	journal->resident = (uint32_t)((resident + PAGE - 1) / PAGE * PAGE);
}

int journal_open(const char *dir, const struct journal_settings *settings,
		 void (*replay)(void *user, const struct journal_record *record,
				struct journal_place place),
		 void *user, struct journal **ret_journal, struct err *err)
{
	struct journal *journal = xnew(struct journal);
	int r;

	journal->dir = -1;
	journal->lock = -1;
	journal->next_number = 1;
	settle(journal, settings);
	r = lock(journal, dir, err);
	if (r == 0)
		r = replay_all(journal, &(struct replay){replay, user}, err);
	if (r < 0) {
		journal_close(journal);
		return r;
	}
	take_up(journal);
	*ret_journal = journal;
	return 0;
}

void journal_close(struct journal *journal)
{
	if (journal == NULL)
		return;
	for (size_t i = 0; i < journal->count; i++)
		segment_close(&journal->segments[i]);
	free(journal->segments);
	drop_fd(&journal->lock);
	drop_fd(&journal->dir);
	free(journal);
}

/* ---- writing ---- */

static void note_why(struct journal *journal, const struct err *why)
{
	if (why->kind == ERR_NONE && journal->why.kind != ERR_NONE)
		log_event(LOG_LEVEL_WARNING, "journal.disk", "events reach the disk again");
	if (why->kind != ERR_NONE && journal->why.kind == ERR_NONE)
		log_event(LOG_LEVEL_WARNING, "journal.memory",
			  "events are kept in memory only, and lost with this process: %s",
			  why->text);
	journal->why = *why;
}

/* Begins a segment with room for `need` bytes. NULL: failed, `err` says why. */
static struct segment *begin_segment(struct journal *journal, size_t need, struct err *err)
{
	uint32_t least = (uint32_t)((SEGMENT_ROOM + need + PAGE) / PAGE * PAGE);
	uint32_t size = journal->segment_size > least ? journal->segment_size : least;
	uint32_t memory_size = MEMORY_SEGMENT > least ? MEMORY_SEGMENT : least;
	struct segment segment = {.memory = -1};
	struct err why = {0};
	int r = 0;

	if (journal->next_number > SEGMENT_NUMBER_MAX) {
		(void)err_set(err, ERR_INTERNAL, EOVERFLOW,
			      "the journal has run out of segment numbers");
		return NULL;
	}
	if (segment_make(journal->dir, journal->next_number, size, &segment, &why) < 0)
		r = segment_make(-1, journal->next_number, memory_size, &segment, err);
	if (r < 0) {
		(void)err_wrap(err, "%s; in memory", why.text);
		return NULL;
	}
	note_why(journal, &why);
	if (last(journal) != NULL)
		segment_unmap(last(journal));
	push(journal, &segment);
	drop_above_limits(journal);
	return last(journal);
}

/* The segment for a record of `need` bytes: the last one, or a new one, into which the listener may
 * write first. NULL: failed, `err` says why. */
static struct segment *room_for(struct journal *journal, size_t need, struct err *err)
{
	struct segment *segment = last(journal);

	if (segment != NULL && segment_has_room(segment, need))
		return segment;
	segment = begin_segment(journal, need, err);
	if (segment == NULL || journal->begun == NULL || journal->is_beginning)
		return segment;

	journal->is_beginning = true;
	journal->begun(journal->user, segment->number);
	journal->is_beginning = false;
	segment = last(journal);
	if (segment != NULL && segment_has_room(segment, need))
		return segment;
	return begin_segment(journal, need, err);
}

int journal_append(struct journal *journal, const struct journal_record *record,
		   const struct iovec *more, size_t more_count, struct journal_place *ret_place,
		   struct err *err)
{
	struct journal_record stamped = *record;
	struct segment *segment = NULL;
	uint64_t need = record->size;

	for (size_t i = 0; i < more_count; i++)
		need += more[i].iov_len;
	if (need > JOURNAL_RECORD_MAX)
		return err_set(err, ERR_TOO_LARGE, EMSGSIZE,
			       "a record of %llu bytes; the journal takes at most %u",
			       (unsigned long long)need, JOURNAL_RECORD_MAX);
	segment = room_for(journal, need, err);
	if (segment == NULL)
		return -err->num;

	if (stamped.t_us == 0)
		stamped.t_us = wall_us();
	ret_place->at = segment_append(segment, &stamped, more, more_count);
	ret_place->segment = segment->number;
	segment_let_go(segment, journal->resident);
	return 0;
}

/* ---- reading ---- */

int journal_read(struct journal *journal, struct journal_place place,
		 struct journal_record *ret_record, struct err *err)
{
	struct segment *segment = find(journal, place.segment);
	int r;

	if (segment == NULL || place.at >= segment->end)
		return err_set(err, ERR_NOT_FOUND, ENOENT, "the journal no longer has this record");
	r = use(journal, segment, err);
	if (r < 0)
		return r;
	if (segment_read(segment, place.at, ret_record) == 0)
		return err_set(err, ERR_NOT_FOUND, ENOENT,
			       "there is no record at this place of the journal");
	return 0;
}

bool journal_next(struct journal *journal, struct journal_place *place)
{
	struct segment *segment = find(journal, place->segment);
	struct journal_record record = {0};
	struct err err = {0};
	uint32_t next = 0;

	if (segment != NULL && use(journal, segment, &err) == 0)
		next = segment_read(segment, place->at, &record);
	if (next != 0 && next < segment->end) {
		place->at = next;
		return true;
	}
	for (size_t i = find_from(journal, place->segment + 1); i < journal->count; i++) {
		if (journal->segments[i].end > SEGMENT_FIRST) {
			*place = (struct journal_place){journal->segments[i].number, SEGMENT_FIRST};
			return true;
		}
	}
	return false;
}

void journal_on_segment(struct journal *journal, void (*begun)(void *user, uint32_t segment),
			void *user)
{
	journal->begun = begun;
	journal->user = user;
}

void journal_forget(struct journal *journal, uint32_t segment)
{
	while (journal->count > 1 && journal->segments[0].number < segment)
		drop(journal, 0);
}

uint32_t journal_first(const struct journal *journal)
{
	return journal->count > 0 ? journal->segments[0].number : journal->next_number;
}

uint64_t journal_disk(const struct journal *journal)
{
	return journal->disk;
}

const struct err *journal_why(const struct journal *journal)
{
	return journal->why.kind != ERR_NONE ? &journal->why : NULL;
}
