// SPDX-License-Identifier: Apache-2.0
#include "cli/history.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/buf.h"
#include "base/c.h"
#include "base/io.h"

#define FILE_MAX (4U << 20)
#define KEPT_MAX 2000U   /* entries in memory */
#define ENTRY_MAX 65536U /* longer ones are not kept: nobody pages through them */
#define FILE_NAME "history"

static void append(struct history *past, const char *text)
{
	HistEvent event;

	(void)history(past->list, &event, H_ENTER, text);
}

const char *history_get(const struct history *past, size_t number)
{
	HistEvent event;
	int r = history(past->list, &event, H_FIRST);

	while (r >= 0 && --number > 0)
		r = history(past->list, &event, H_NEXT);
	return r >= 0 ? event.str : NULL;
}

static int write_entry(int fd, const char *text)
{
	json_auto_t *string = json_string(text);
	AUTO_FREE char *line = string != NULL ? json_dumps(string, JSON_ENCODE_ANY) : NULL;
	AUTO_FREE char *whole = NULL;
	struct err err = {0};

	if (line == NULL || asprintf(&whole, "%s\n", line) < 0)
		return -ENOMEM;
	return io_write_all(fd, whole, strlen(whole), &err); /* one write: other viv may append */
}

/* Makes the folder and those above it; a failure shows when the folder is opened. */
static void make_folders(const char *path)
{
	/* path_state() does not use a folder of root's that is closed to others: the next start
	 * would not find one made with 0700. The file itself is 0600. */
	mode_t mode = geteuid() == 0 ? 0711 : 0700;
	char part[4096];

	if (snprintf(part, sizeof(part), "%s", path) >= (int)sizeof(part))
		return;
	for (char *slash = strchr(part + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(part, mode);
		*slash = '/';
	}
	(void)mkdir(part, mode);
}

/* Opens the file if it belongs to this user alone: it holds what they typed. */
static int open_file(const char *folder)
{
	AUTO_CLOSE int dir = -1;
	AUTO_CLOSE int fd = -1;
	struct stat info;

	make_folders(folder);
	dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -1;
	fd = openat(dir, FILE_NAME,
		    O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (fd < 0 || fstat(fd, &info) < 0 || !S_ISREG(info.st_mode) || info.st_uid != geteuid() ||
	    info.st_nlink != 1)
		return -1;
	(void)fchmod(fd, 0600);
	return steal_fd(&fd);
}

/* Skips lines that are not entries. Returns the number of entries. */
static size_t load(struct history *past, struct buf *text)
{
	char *rest = NULL;
	char *line = NULL;
	size_t count = 0;

	(void)buf_append(text, "", 1);
	for (line = strtok_r((char *)text->data, "\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\n", &rest)) {
		json_auto_t *entry = json_loads(line, JSON_DECODE_ANY, NULL);

		if (json_is_string(entry)) {
			append(past, json_string_value(entry));
			count++;
		}
	}
	return count;
}

/* Reads the file, or its last FILE_MAX bytes from the first whole line on. */
static int read_tail(int fd, struct buf *text, bool *ret_is_cut, struct err *err)
{
	off_t size = lseek(fd, 0, SEEK_END);
	off_t from = size > (off_t)FILE_MAX ? size - (off_t)FILE_MAX : 0;
	const uint8_t *end = NULL;

	*ret_is_cut = from > 0;
	if (size < 0 || lseek(fd, from, SEEK_SET) < 0)
		return err_sys(err, "history");
	if (io_read_all(fd, text, err) < 0)
		return -EIO;
	end = *ret_is_cut ? memchr(text->data, '\n', text->size) : NULL;
	if (end != NULL)
		buf_consume(text, (size_t)(end + 1 - text->data));
	return 0;
}

void history_open(struct history *past, const char *folder)
{
	struct err err = {0};
	HistEvent event;
	struct buf text;
	bool is_cut = false;

	*past = (struct history){.list = history_init(), .file = -1};
	if (past->list == NULL)
		abort();
	(void)history(past->list, &event, H_SETSIZE, (int)KEPT_MAX);
	if (folder != NULL)
		past->file = open_file(folder);
	if (past->file < 0)
		return;
	buf_init(&text, 2UL * FILE_MAX); /* another viv may append to it meanwhile */
	if (read_tail(past->file, &text, &is_cut, &err) < 0)
		drop_fd(&past->file); /* and leave it as it is */
	/* The file grows by a line for each entry; it is written anew when it has twice what is
	 * kept. */
	else if (load(past, &text) > 2UL * KEPT_MAX || is_cut) {
		(void)ftruncate(past->file, 0);
		for (int r = history(past->list, &event, H_LAST); r >= 0;
		     r = history(past->list, &event, H_PREV))
			(void)write_entry(past->file, event.str);
	}
	buf_done(&text);
}

void history_close(struct history *past)
{
	history_end(past->list);
	drop_fd(&past->file);
}

void history_add(struct history *past, const char *text)
{
	const char *last = history_get(past, 1);

	if (text[0] == '\0' || strlen(text) > ENTRY_MAX ||
	    (last != NULL && strcmp(last, text) == 0))
		return;
	append(past, text);
	if (past->file >= 0)
		(void)write_entry(past->file, text);
}
