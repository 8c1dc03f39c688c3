// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/c.h"
#include "session/log_state.h"

#define INDEX_EVERY 64U       /* events */
#define INDEX_GAP (32U << 10) /* bytes of others between two events */
#define RECORD_HEAD 128U      /* more than the journal puts in front of a record's data */

/* ---- the index ---- */

/* Is there so much of others between the last event and `place` that nobody should walk it? */
static bool is_far(const struct log *log, struct journal_place place)
{
	uint64_t end = (uint64_t)log->last.at + log->last_size + RECORD_HEAD;

	return place.segment != log->last.segment || place.at > end + INDEX_GAP;
}

void log_index_add(struct log *log, uint64_t seq, struct journal_place place)
{
	struct log_index *index = NULL;
	uint64_t before = log->index_count > 0 ? log->index[log->index_count - 1].seq : 1;
	uint32_t room = log->index_room > 0 ? log->index_room * 2 : 4;

	if (log->last.segment == 0 || (seq - before < INDEX_EVERY && !is_far(log, place)))
		return;
	if (log->index_count == log->index_room) {
		index = reallocarray(log->index, room, sizeof(*index));
		if (index == NULL)
			return; /* reading is slower, not wrong */
		log->index = index;
		log->index_room = room;
	}
	log->index[log->index_count++] = (struct log_index){seq, place};
}

/* The last place that is known for `seq` or an event before it. */
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

/* ---- readers ---- */

void log_tell(struct log *log)
{
	struct log_reader *reader = NULL;

	/* In its call a reader may close itself or others, and even add to the log: so each goes
	 * back to its place first. */
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

/* The event `seq` of `log`, from `place` on, between the records of others. */
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
