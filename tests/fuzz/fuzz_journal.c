// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <string.h>

#include <sys/stat.h>

#include "base/c.h"
#include "base/json.h"
#include "base/log.h"
#include "fuzz.h"
#include "session/log.h"
#include "session/log_text.h"
#include "session/segment.h"

#define INPUT_MAX (256U << 10)

/* A folder for all inputs; it goes with the process. In memory, where that can be had: faster. */
static char dir[64];

struct stage {
	struct journal *journal;
	struct logs *logs;
	size_t records;
};

static void path_of(unsigned number, char path[128])
{
	(void)snprintf(path, 128, "%s/" SEGMENT_NAME, dir, number);
}

static void clean(void)
{
	char path[128];

	for (unsigned number = 1; number <= 4; number++) {
		path_of(number, path);
		(void)unlink(path);
	}
	(void)snprintf(path, sizeof(path), "%s/lock", dir);
	(void)unlink(path);
	(void)rmdir(dir);
}

static void put_segment(const uint8_t *bytes, size_t size)
{
	AUTO_CLOSE int fd = -1;
	char path[128];

	clean();
	CLAIM(mkdir(dir, 0700) == 0);
	path_of(1, path);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	CLAIM(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
}

/* Whatever the bytes are, their head and checks become right: what is behind them is reached. */
static void mend(uint8_t *bytes, size_t size)
{
	struct segment_head head = {
		.magic = SEGMENT_MAGIC, .version = SEGMENT_VERSION, .number = 1, .size = size};
	struct segment_record record;
	size_t at = sizeof(head);

	if (size < sizeof(head))
		return;
	memcpy(bytes, &head, sizeof(head));
	while (size - at >= sizeof(record)) {
		memcpy(&record, bytes + at, sizeof(record));
		record.id[JOURNAL_ID_SIZE - 1] = '\0';
		record.check = segment_check(head.key, (uint32_t)at, &record);
		memcpy(bytes + at, &record, sizeof(record));
		if (record.size < sizeof(record) || record.size > size - at)
			return;
		at += (record.size + SEGMENT_ALIGN - 1) / SEGMENT_ALIGN * SEGMENT_ALIGN;
		if (at > size)
			return;
	}
}

static void hear(void *user, const struct journal_record *record, struct journal_place place)
{
	struct stage *stage = user;
	uint8_t sum = 0;

	/* Every byte it names is there. */
	for (size_t i = 0; i < record->size; i++)
		sum ^= ((const uint8_t *)record->data)[i];
	stage->records += 1 + (sum & 0);
	CLAIM(strlen(record->id) < JOURNAL_ID_SIZE);
	logs_replay(stage->logs, record, place);
}

static void use_log(void *user, struct log *log)
{
	struct stage *stage = user;
	struct log_reader reader;
	struct log_text *result = NULL;
	const char *text = NULL;
	struct err err = {0};
	uint64_t seq = 0;
	size_t size = 0;
	struct buf out;

	buf_init(&out, 4U << 20);
	log_reader_open(&reader, log, 0, NULL, NULL);
	while (log_reader_next(&reader, &text, &size) == 1) {
		CLAIM(reader.after == seq + 1 && reader.after <= log_seq(log));
		seq = reader.after;
	}
	log_reader_close(&reader);
	/* Lines are JSON that was checked when it came; here they are anything. */
	if (log_result_open(log, &result, &err) == 0)
		(void)log_text_whole(result, &out, &err);
	log_text_free(result);
	out.size = 0;
	(void)log_pieces(log, &out);
	(void)log_last_note(log, &text, &size);
	if (!log_is_over(log) && log_seq(log) < UINT64_MAX)
		CLAIM(log_add(log, "stdout", ",\"text\":\"x\"", 11, NULL, false, &err) == 0);
	stage->records += log_seq(log) > 0;
	buf_done(&out);
}

static void use_segment(void)
{
	struct journal_settings settings = {.segment_size = 64 * KIB};
	struct stage stage = {.logs = logs_new(NULL, 0)};
	struct log_text *text = NULL;
	struct err err = {0};
	struct buf book;

	CLAIM(journal_open(dir, &settings, hear, &stage, &stage.journal, &err) == 0);
	logs_attach(stage.logs, stage.journal);
	logs_each(stage.logs, use_log, &stage);
	buf_init(&book, 4U << 20);
	text = logs_notebook_open(stage.logs, "s", "n");
	(void)log_text_whole(text, &book, &err);
	log_text_free(text);
	buf_done(&book);
	logs_tick(stage.logs, UINT64_MAX / 2, UINT32_MAX);
	logs_free(stage.logs);
	journal_close(stage.journal);
}

/* A segment as somebody left it on the disk: as it is, and with its checks put right. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static bool is_ready;
	uint8_t *copy = NULL;

	if (size > INPUT_MAX)
		return 0;
	if (!is_ready) {
		(void)snprintf(dir, sizeof(dir), "%s/vivarium-fuzz-XXXXXX",
			       access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
		CLAIM(mkdtemp(dir) != NULL && atexit(clean) == 0);
		log_set_level(LOG_LEVEL_ERROR);
		is_ready = true;
	}
	put_segment(bytes, size);
	use_segment();

	copy = xcalloc(1, size + 1);
	if (size > 0)
		memcpy(copy, bytes, size);
	mend(copy, size);
	put_segment(copy, size);
	free(copy);
	use_segment();
	return 0;
}
