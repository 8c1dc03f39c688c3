// SPDX-License-Identifier: Apache-2.0
#include "obs/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>

#include <sys/stat.h>

#include "base/buf.h"
#include "base/c.h"
#include "base/json.h"

#define LINE_MAX_BYTES (8 * (size_t)AUDIT_CODE_MAX) /* an escaped byte is at most six */
#define WARN_NS (60 * 1000000000ULL)

/* How many bytes at the end of the file are read first, and at most, to find enough lines. */
#define TAIL_FIRST (256UL << 10)
#define TAIL_LAST (16UL << 20)
#define TAIL_STEP 8

struct audit {
	int fd;       /* owned */
	char *path;   /* owned */
	char *old;    /* owned: the name of the previous file */
	uint64_t max; /* bytes; 0: no limit */
	struct audit_calls calls;
	uint64_t lost;
	uint64_t warned_ns; /* 0: never */
	bool is_torn;       /* the file ends in an incomplete line */
};

static int open_file(const char *path, int *ret_fd, struct err *err)
{
	/* O_NONBLOCK: opening a pipe or terminal in place of the file must not block. */
	AUTO_CLOSE int fd =
		open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);

	if (fd < 0)
		return err_sys(err, "open the audit log %s", path);
	*ret_fd = steal_fd(&fd);
	return 0;
}

int audit_open(const char *path, const struct audit_calls *calls, struct audit **ret_audit,
	       struct err *err)
{
	struct audit *audit;
	int fd = -1;
	int r = open_file(path, &fd, err);

	if (r < 0)
		return r;
	audit = xnew(struct audit);
	*audit = (struct audit){.fd = fd, .path = xstrdup(path), .calls = *calls};
	if (asprintf(&audit->old, "%s.1", path) < 0)
		abort();
	*ret_audit = audit;
	return 0;
}

void audit_close(struct audit *audit)
{
	if (audit == NULL)
		return;
	drop_fd(&audit->fd);
	free(audit->path);
	free(audit->old);
	free(audit);
}

int audit_reopen(struct audit *audit, struct err *err)
{
	int fd = -1;
	int r = open_file(audit->path, &fd, err);

	if (r < 0)
		return r;
	drop_fd(&audit->fd);
	audit->fd = fd;
	audit->is_torn = false;
	return 0;
}

uint64_t audit_lost(const struct audit *audit)
{
	return audit->lost;
}

void audit_sha256(const void *bytes, size_t size, char ret_text[AUDIT_SHA256_SIZE])
{
	unsigned char sum[crypto_hash_sha256_BYTES];

	(void)crypto_hash_sha256(sum, bytes, size);
	(void)sodium_bin2hex(ret_text, AUDIT_SHA256_SIZE, sum, sizeof(sum));
}

static const char *or_null(const char *text)
{
	return text != NULL && text[0] != '\0' ? text : NULL;
}

static int put_line(struct buf *line, const struct audit_run *run)
{
	size_t size = run->code_size < AUDIT_CODE_MAX ? run->code_size : AUDIT_CODE_MAX;
	char now[TIME_TEXT_SIZE];

	time_text(wall_ms(), now);
	json_put(line,
		 "{'time':%s,'run':%s,'session':%s,'peer':%s,'via':%s,'client':%s,'token':%s,'op':%"
		 "s,"
		 "'policy':%s,'runtime':%s,'sha256':%s,'verdict':%s,'state':%s,'exit_code':%d,"
		 "'usage':{'queue_ms':%.3f,'wall_ms':%.3f,'cpu_ms':%.3f,'peak_memory':%llu,"
		 "'output_bytes':%llu}",
		 now, run->run, run->session, run->peer, run->via, or_null(run->client),
		 or_null(run->token), run->op, run->policy, run->runtime, run->sha256, run->verdict,
		 run->state, run->exit_code, run->queue_ms, run->wall_ms, run->cpu_ms,
		 (unsigned long long)run->peak_memory, (unsigned long long)run->output_bytes);
	if (run->code != NULL)
		json_put(line, ",'code':%.*s", (int)size, (const char *)run->code);
	if (run->code != NULL && run->code_size > AUDIT_CODE_MAX)
		json_put(line, ",'code_cut':true");
	if (or_null(run->decided_by) != NULL)
		json_put(line, ",'decided_by':%s", run->decided_by);
	return json_put(line, "}\n");
}

/* Removes an incomplete line, written because the disk is full. Nobody else writes here, so the end
 * of the file is the end of our line. */
static void take_back(struct audit *audit, size_t written)
{
	off_t end = lseek(audit->fd, 0, SEEK_CUR);

	audit->is_torn = end < (off_t)written || ftruncate(audit->fd, end - (off_t)written) < 0;
}

static int write_line(struct audit *audit, const struct buf *line, struct err *err)
{
	ssize_t n;

	do {
		n = write(audit->fd, line->data, line->size);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_sys(err, "write to the audit log %s", audit->path);
	if ((size_t)n == line->size) {
		audit->is_torn = false;
		return 0;
	}
	take_back(audit, (size_t)n);
	return err_set(err, ERR_INTERNAL, ENOSPC,
		       "write to the audit log %s: only %zd of %zu bytes were taken", audit->path,
		       n, line->size);
}

static void warn(struct audit *audit, const struct err *err)
{
	uint64_t now = now_ns();

	if (audit->warned_ns != 0 && now - audit->warned_ns < WARN_NS)
		return;
	audit->warned_ns = now;
	if (audit->calls.warn != NULL)
		audit->calls.warn(audit->calls.user, err, audit->lost);
}

/* Starts a new file when `more` bytes would exceed the limit. If the daemon is killed anywhere in
 * here, the next start still finds every line in one of the two files. */
static int make_room(struct audit *audit, size_t more, struct err *err)
{
	struct stat own, named;

	if (audit->max == 0 || fstat(audit->fd, &own) < 0 || !S_ISREG(own.st_mode) ||
	    own.st_size == 0 || (uint64_t)own.st_size + more <= audit->max)
		return 0;
	/* If another program has renamed the file, the file now at this path is not ours to
	 * rename. */
	if (stat(audit->path, &named) == 0 && named.st_dev == own.st_dev &&
	    named.st_ino == own.st_ino && rename(audit->path, audit->old) < 0)
		return err_sys(err, "rename the audit log %s, which has reached its size limit",
			       audit->path);
	return audit_reopen(audit, err);
}

void audit_limit(struct audit *audit, uint64_t max)
{
	audit->max = max;
}

void audit_put(struct audit *audit, const struct audit_run *run)
{
	struct err err = {0};
	AUTO_BUF struct buf line = {.max = LINE_MAX_BYTES};
	int r;

	/* Ends an incomplete line that could not be removed. */
	r = audit->is_torn ? buf_text(&line, "\n") : 0;
	if (r == 0)
		r = put_line(&line, run);
	if (r < 0)
		r = err_set(&err, ERR_INTERNAL, -r, "a line of the audit log: %s", strerror(-r));
	else if (make_room(audit, line.size, &err) < 0)
		warn(audit, &err);
	if (r == 0)
		r = write_line(audit, &line, &err);
	if (r < 0) {
		audit->lost++;
		warn(audit, &err);
	}
}

/* ---- reading ---- */

struct tail {
	bool (*wants)(void *user, const char *line, size_t size);
	void *user;
	const char **lines; /* owned: the start of each line, newest first */
	size_t *sizes;      /* owned */
	size_t count, room;
};

static void take_line(struct tail *tail, const char *line, size_t size)
{
	if (size == 0 || line[0] != '{' || !json_is_valid(line, size) ||
	    !tail->wants(tail->user, line, size))
		return;
	tail->lines[tail->count] = line;
	tail->sizes[tail->count++] = size;
}

/* Collects lines from the end backwards. Text before the first newline may be part of a line, so it
 * is skipped unless the file begins there. */
static void take_lines(struct tail *tail, const char *text, size_t size, bool is_whole)
{
	const char *end = text + size;

	while (tail->count < tail->room && end > text) {
		const char *before = memrchr(text, '\n', (size_t)(end - text - 1));
		const char *line = before != NULL ? before + 1 : text;

		if (before == NULL && !is_whole)
			break;
		take_line(tail, line, (size_t)(end - line) - (end[-1] == '\n'));
		end = line;
	}
}

static int put_lines(const struct tail *tail, struct buf *buf)
{
	for (size_t i = tail->count; i > 0; i--) {
		if (i < tail->count)
			buf_text(buf, ",");
		buf_append(buf, tail->lines[i - 1], tail->sizes[i - 1]);
	}
	return buf->failed;
}

/* The last `window` bytes of the file. */
static int read_end(int fd, size_t window, struct buf *text, bool *ret_is_whole, struct err *err)
{
	struct stat status;
	off_t at;

	if (fstat(fd, &status) < 0)
		return err_sys(err, "look at the audit log");
	if (!S_ISREG(status.st_mode))
		return err_set(err, ERR_UNSUPPORTED, ESPIPE,
			       "the audit log is not a regular file, so it cannot be read back");
	at = status.st_size > (off_t)window ? status.st_size - (off_t)window : 0;
	*ret_is_whole = at == 0;
	buf_cut(text, 0);
	if (buf_reserve(text, window) < 0)
		return err_set(err, ERR_INTERNAL, ENOMEM, "no memory for the audit log");
	while (text->size < window) {
		ssize_t n = pread(fd, text->data + text->size, window - text->size,
				  at + (off_t)text->size);

		if (n < 0 && errno != EINTR)
			return err_sys(err, "read the audit log");
		if (n == 0)
			break;
		text->size += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* Adds the last lines of one file. A missing file counts as an empty one. */
static int tail_file(struct tail *tail, const char *path, struct buf *text, struct err *err)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t before = tail->count;
	bool is_whole = false;

	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(err, "open the audit log");
	for (size_t window = TAIL_FIRST;; window *= TAIL_STEP) {
		int r = read_end(fd, window, text, &is_whole, err);

		if (r < 0)
			return r;
		tail->count = before;
		take_lines(tail, (const char *)text->data, text->size, is_whole);
		if (tail->count == tail->room || is_whole || window >= TAIL_LAST)
			return 0;
	}
}

int audit_tail(const struct audit *audit, size_t count,
	       bool (*wants)(void *user, const char *line, size_t size), void *user,
	       struct buf *buf, struct err *err)
{
	struct tail tail = {.wants = wants, .user = user, .room = count};
	AUTO_BUF struct buf text = {.max = TAIL_LAST};
	AUTO_BUF struct buf old = {.max = TAIL_LAST};
	int r;

	tail.lines = xcalloc(count, sizeof(*tail.lines));
	tail.sizes = xcalloc(count, sizeof(*tail.sizes));
	r = tail_file(&tail, audit->path, &text, err);
	if (r == 0 && tail.count < count)
		r = tail_file(&tail, audit->old, &old, err);
	if (r == 0 && put_lines(&tail, buf) < 0)
		r = err_field(err, ERR_TOO_LARGE, EMSGSIZE, "limit",
			      "the requested lines are too long for one answer");
	free(tail.lines);
	free(tail.sizes);
	return r;
}
