// SPDX-License-Identifier: Apache-2.0
#include "session/segment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/c.h"
#include "base/io.h"
#include "base/log.h"

#define READY_BYTES (128U << 10)

_Static_assert(sizeof(struct segment_head) % SEGMENT_ALIGN == 0, "records are aligned");
_Static_assert(sizeof(struct segment_record) % SEGMENT_ALIGN == 0, "their data follows at once");

uint32_t segment_check(uint64_t key, uint32_t at, const struct segment_record *record)
{
	struct segment_record copy = *record;
	uint64_t words[sizeof(copy) / sizeof(uint64_t)];
	uint64_t sum = key ^ at;

	copy.check = 0;
	memcpy(words, &copy, sizeof(copy));
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		sum = (sum ^ words[i]) * 0x9e3779b97f4a7c15ULL;
		sum ^= sum >> 29;
	}
	return (uint32_t)(sum >> 32);
}

/* The offset after a record of `size` bytes, including its head. */
static uint64_t behind(uint32_t at, uint64_t size)
{
	return (at + size + SEGMENT_ALIGN - 1) & ~(uint64_t)(SEGMENT_ALIGN - 1);
}

/* ---- files ---- */

/* Space that is not reserved now would be a SIGBUS later. */
static int reserve(int fd, uint32_t size, struct err *err)
{
	do {
		errno = posix_fallocate(fd, 0, size);
	} while (errno == EINTR);
	return errno != 0 ? err_sys(err, "reserve %u bytes for the journal", size) : 0;
}

static int map_file(int fd, struct segment *segment, bool is_writable, struct err *err)
{
	int access = is_writable ? PROT_READ | PROT_WRITE : PROT_READ;
	void *map = mmap(NULL, segment->size, access, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		return err_sys(err, "map segment %u of the journal", segment->number);
	segment->map = map;
	segment->is_writable = is_writable;
	segment->let_go = 0;
	return 0;
}

static int write_head(int fd, struct segment *segment, struct err *err)
{
	struct segment_head head = {
		.magic = SEGMENT_MAGIC,
		.version = SEGMENT_VERSION,
		.number = segment->number,
		.size = segment->size,
	};

	if (getrandom(&head.key, sizeof(head.key), 0) != (ssize_t)sizeof(head.key))
		return err_sys(err, "random bytes");
	segment->key = head.key;
	return io_write_all(fd, &head, sizeof(head), err);
}

static int fill_new(int fd, struct segment *segment, struct err *err)
{
	int r = reserve(fd, segment->size, err);

	if (r == 0)
		r = write_head(fd, segment, err);
	if (r == 0)
		r = map_file(fd, segment, true, err);
	return r;
}

/* The file gets its name only when it is complete: a kill before that leaves `new`, which the next
 * segment reuses. */
static int make_on_disk(int dir, struct segment *segment, struct err *err)
{
	AUTO_CLOSE int fd =
		openat(dir, SEGMENT_NEW, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	char name[SEGMENT_NAME_SIZE];
	int r;

	if (fd < 0)
		return err_sys(err, "make a segment of the journal");
	r = fill_new(fd, segment, err);
	(void)snprintf(name, sizeof(name), SEGMENT_NAME, segment->number);
	if (r == 0 && renameat(dir, SEGMENT_NEW, dir, name) < 0)
		r = err_sys(err, "name segment %s of the journal", name);
	if (r < 0)
		(void)unlinkat(dir, SEGMENT_NEW, 0);
	return r;
}

static int make_in_memory(struct segment *segment, struct err *err)
{
	segment->memory = memfd_create("journal", MFD_CLOEXEC);
	if (segment->memory < 0)
		return err_sys(err, "memory for the journal");
	return fill_new(segment->memory, segment, err);
}

int segment_make(int dir, uint32_t number, uint32_t size, struct segment *ret_segment,
		 struct err *err)
{
	struct segment segment = {
		.number = number, .size = size, .end = SEGMENT_FIRST, .memory = -1};
	int r = dir >= 0 ? make_on_disk(dir, &segment, err) : make_in_memory(&segment, err);

	if (r < 0) {
		segment_close(&segment);
		return r;
	}
	*ret_segment = segment;
	return 0;
}

static int open_file(int dir, uint32_t number, int flags, uint64_t *ret_size, struct err *err)
{
	AUTO_CLOSE int fd = -1;
	char name[SEGMENT_NAME_SIZE];
	struct stat status;

	(void)snprintf(name, sizeof(name), SEGMENT_NAME, number);
	fd = openat(dir, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return err_sys(err, "open segment %s of the journal", name);
	if (fstat(fd, &status) < 0)
		return err_sys(err, "stat segment %s of the journal", name);
	if (!S_ISREG(status.st_mode))
		return err_set(err, ERR_INTERNAL, EPROTO, "%s is not a regular file", name);
	*ret_size = (uint64_t)status.st_size;
	return steal_fd(&fd);
}

static int check_head(const struct segment_head *head, uint32_t number, struct err *err)
{
	if (head->magic != SEGMENT_MAGIC || head->number != number || head->size > UINT32_MAX ||
	    head->size < SEGMENT_FIRST)
		return err_set(err, ERR_INTERNAL, EPROTO, "segment " SEGMENT_NAME " is not ours",
			       number);
	if (head->version != SEGMENT_VERSION)
		return err_set(err, ERR_INTERNAL, EPROTO,
			       "segment " SEGMENT_NAME " has version %u; this viv reads %u", number,
			       head->version, SEGMENT_VERSION);
	return 0;
}

int segment_open(int dir, uint32_t number, struct segment *ret_segment, struct err *err)
{
	struct segment segment = {.number = number, .end = SEGMENT_FIRST, .memory = -1};
	struct segment_head head = {0};
	uint64_t size = 0;
	AUTO_CLOSE int fd = open_file(dir, number, O_RDONLY, &size, err);
	int r;

	if (fd < 0)
		return fd;
	if (pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head))
		return err_set(err, ERR_INTERNAL, EPROTO, "segment " SEGMENT_NAME " has no head",
			       number);
	r = check_head(&head, number, err);
	if (r < 0)
		return r;

	segment.key = head.key;
	segment.is_shut = size < head.size;
	segment.size = (uint32_t)(segment.is_shut ? size : head.size);
	r = map_file(fd, &segment, false, err);
	if (r < 0)
		return r;
	*ret_segment = segment;
	return 0;
}

int segment_map(int dir, struct segment *segment, bool is_writable, struct err *err)
{
	uint64_t size = 0;
	AUTO_CLOSE int fd = -1;
	int r = 0;

	if (segment->memory >= 0)
		return map_file(segment->memory, segment, is_writable, err);
	fd = open_file(dir, segment->number, is_writable ? O_RDWR : O_RDONLY, &size, err);
	if (fd < 0)
		return fd;
	if (size < segment->size)
		return err_set(err, ERR_NOT_FOUND, ENOENT,
			       "segment %u of the journal was truncated", segment->number);
	/* The file may have holes if the folder was copied. */
	if (is_writable)
		r = reserve(fd, segment->size, err);
	return r < 0 ? r : map_file(fd, segment, is_writable, err);
}

void segment_unmap(struct segment *segment)
{
	if (segment->map != NULL)
		(void)munmap(STEAL(segment->map), segment->size);
}

void segment_close(struct segment *segment)
{
	if (segment == NULL || segment->number == 0)
		return;
	segment_unmap(segment);
	drop_fd(&segment->memory);
}

/* ---- the folder ---- */

/* The number in a segment's name; 0 for any other name. */
static uint32_t number_of(const char *name)
{
	char again[SEGMENT_NAME_SIZE];
	unsigned long number = strtoul(name, NULL, 16);

	if (number == 0 || number > SEGMENT_NUMBER_MAX)
		return 0;
	(void)snprintf(again, sizeof(again), SEGMENT_NAME, (uint32_t)number);
	return strcmp(name, again) == 0 ? (uint32_t)number : 0;
}

static int is_segment(const struct dirent *entry)
{
	static const char *const known[] = {".", "..", SEGMENT_NEW, SEGMENT_LOCK};

	if (number_of(entry->d_name) != 0)
		return 1;
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (strcmp(entry->d_name, known[i]) == 0)
			return 0;
	}
	log_event(LOG_LEVEL_WARNING, "journal.foreign", "ignored=%s", entry->d_name);
	return 0;
}

/* Numbers have a fixed number of digits, so that sorting names sorts numbers. */
static int by_name(const struct dirent **one, const struct dirent **other)
{
	return strcmp((*one)->d_name, (*other)->d_name);
}

int segment_list(int dir, uint32_t **ret_numbers, size_t *ret_count, struct err *err)
{
	struct dirent **entries = NULL;
	uint32_t *numbers = NULL;
	int count = scandirat(dir, ".", &entries, is_segment, by_name);

	if (count < 0)
		return err_sys(err, "list the journal");
	numbers = xcalloc((size_t)count + 1, sizeof(*numbers));
	for (int i = 0; i < count; i++) {
		numbers[i] = number_of(entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	*ret_numbers = numbers;
	*ret_count = (size_t)count;
	return 0;
}

/* ---- records ---- */

static bool is_ours(const struct segment *segment, uint32_t at, const struct segment_record *record)
{
	return record->size >= sizeof(*record) && record->size <= segment->size - at &&
	       record->check == segment_check(segment->key, at, record) &&
	       record->id[JOURNAL_ID_SIZE - 1] == '\0';
}

uint32_t segment_read(const struct segment *segment, uint32_t at, struct journal_record *ret_record)
{
	struct segment_record record;

	if (at < SEGMENT_FIRST || at % SEGMENT_ALIGN != 0 || at > segment->size ||
	    segment->size - at < sizeof(record))
		return 0;
	memcpy(&record, segment->map + at, sizeof(record));
	if (!is_ours(segment, at, &record))
		return 0;

	*ret_record = (struct journal_record){
		.type = (enum journal_type)record.type,
		.seq = record.seq,
		.t_us = record.t_us,
		.is_last = record.is_last != 0,
		.data = segment->map + at + sizeof(record),
		.size = record.size - sizeof(record),
	};
	memcpy(ret_record->id, record.id, sizeof(record.id));
	memcpy(ret_record->marks, record.marks, sizeof(record.marks));
	return (uint32_t)behind(at, record.size);
}

bool segment_scan(struct segment *segment,
		  void (*call)(void *user, const struct journal_record *record,
			       struct journal_place place),
		  void *user)
{
	struct journal_record record = {0};
	uint32_t next = segment_read(segment, segment->end, &record);
	uint32_t word = 0;

	while (next != 0) {
		struct journal_place place = {segment->number, segment->end};

		if (call != NULL)
			call(user, &record, place);
		segment->end = next;
		next = segment_read(segment, segment->end, &record);
	}
	if (segment->end < segment->size && segment->size - segment->end >= sizeof(word))
		memcpy(&word, segment->map + segment->end, sizeof(word));
	segment->is_shut = segment->is_shut || word != 0;
	return !segment->is_shut;
}

bool segment_has_room(const struct segment *segment, size_t size)
{
	return !segment->is_shut && segment->is_writable &&
	       behind(segment->end, sizeof(struct segment_record) + (uint64_t)size) <=
		       segment->size;
}

/* Makes many pages writable at once, so that no run has to pay for one fault per page. */
static void get_ready(struct segment *segment, uint32_t end)
{
	uint32_t start = segment->end / READY_BYTES * READY_BYTES;
	uint32_t ahead;

	if (end <= segment->ready)
		return;
	if (start < segment->ready)
		start = segment->ready;
	ahead = segment->size - start;
	if (ahead > READY_BYTES)
		ahead = READY_BYTES;
	/* If the kernel cannot (before 5.14, no space), the faults come one by one. */
	(void)madvise(segment->map + start, ahead, MADV_POPULATE_WRITE);
	segment->ready = start + ahead;
}

uint32_t segment_append(struct segment *segment, const struct journal_record *record,
			const struct iovec *more, size_t more_count)
{
	uint8_t *start = segment->map + segment->end;
	uint8_t *data = start + sizeof(struct segment_record);
	struct segment_record head = {
		.type = (uint16_t)record->type,
		.is_last = record->is_last,
		.seq = record->seq,
		.t_us = record->t_us,
	};
	uint64_t total = sizeof(head) + record->size;
	uint32_t at = segment->end;
	uint32_t end;

	for (size_t i = 0; i < more_count; i++)
		total += more[i].iov_len;
	head.size = (uint32_t)total;
	memcpy(head.id, record->id, sizeof(head.id) - 1);
	memcpy(head.marks, record->marks, sizeof(head.marks));
	head.check = segment_check(segment->key, at, &head);
	end = (uint32_t)behind(at, total);
	get_ready(segment, end);

	if (segment->size - end >= sizeof(uint32_t))
		memset(segment->map + end, 0, sizeof(uint32_t));
	if (record->size > 0)
		memcpy(data, record->data, record->size);
	data += record->size;
	for (size_t i = 0; i < more_count; i++) {
		if (more[i].iov_len > 0)
			memcpy(data, more[i].iov_base, more[i].iov_len);
		data += more[i].iov_len;
	}
	memcpy(start + sizeof(head.size), (uint8_t *)&head + sizeof(head.size),
	       sizeof(head) - sizeof(head.size));
	/* From here on the record exists. */
	__atomic_store_n((uint32_t *)(void *)start, head.size, __ATOMIC_RELEASE);

	segment->end = end;
	return at;
}

/*
 * Written pages stay in the page cache; our mapping only makes them count as our memory.
 * MADV_DONTNEED does not lose the contents of shared pages (madvise(2)), and readers fault them in
 * again.
 */
void segment_let_go(struct segment *segment, uint32_t step)
{
	uint32_t whole = segment->end / step * step;

	if (whole <= segment->let_go)
		return;
	(void)madvise(segment->map + segment->let_go, whole - segment->let_go, MADV_DONTNEED);
	segment->let_go = whole;
}
