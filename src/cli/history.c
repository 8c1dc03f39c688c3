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

static void append(struct history *history, const char *text)
{
	if (history->count == KEPT_MAX) {
		free(history->entries[0]);
		history->count--;
		memmove(history->entries, history->entries + 1,
			history->count * sizeof(history->entries[0]));
	}
	if (history->count == history->capacity) {
		history->capacity = history->capacity > 0 ? 2 * history->capacity : 64;
		history->entries =
			reallocarray(history->entries, history->capacity, sizeof(char *));
		if (history->entries == NULL)
			abort();
	}
	history->entries[history->count++] = xstrdup(text);
}

static int write_entry(int fd, const char *text)
{
	json_auto_t *string = json_string(text);
	AUTO_FREE char *line = string != NULL ? json_dumps(string, JSON_ENCODE_ANY) : NULL;
	AUTO_FREE char *whole = NULL;
	struct err err = {0};

	if (line == NULL || asprintf(&whole, "%s\n", line) < 0)
		return -ENOMEM;
	return io_write_all(fd, whole, strlen(whole), &err); /* one write: two viv may share it */
}

/* The folder and those above it; whether that went well shows when it is opened. */
static void make_folders(const char *path)
{
	/* A folder of root's that is closed to others is not used (path_state): one that is made
	 * here would be lost to the next start. The file itself is for nobody else. */
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

/* Ours alone, or it is not used: it holds what somebody typed. */
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

/* Lines that are none of ours are skipped. Returns how many entries there were. */
static size_t load(struct history *history, struct buf *text)
{
	char *rest = NULL;
	char *line = NULL;
	size_t count = 0;

	(void)buf_append(text, "", 1);
	for (line = strtok_r((char *)text->data, "\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\n", &rest)) {
		json_auto_t *entry = json_loads(line, JSON_DECODE_ANY, NULL);

		if (json_is_string(entry)) {
			append(history, json_string_value(entry));
			count++;
		}
	}
	return count;
}

void history_open(struct history *history, const char *folder)
{
	struct err err = {0};
	struct buf text;
	bool is_read = false;

	*history = (struct history){.file = -1};
	if (folder == NULL)
		return;
	history->file = open_file(folder);
	if (history->file < 0)
		return;
	buf_init(&text, FILE_MAX);
	is_read = io_read_all(history->file, &text, &err) == 0;
	/* It grows by a line for each entry: cut back to what is kept, now and then. */
	if (!is_read || load(history, &text) > 2UL * KEPT_MAX) {
		(void)ftruncate(history->file, 0);
		for (size_t i = 0; i < history->count; i++)
			(void)write_entry(history->file, history->entries[i]);
	}
	buf_done(&text);
}

void history_close(struct history *history)
{
	for (size_t i = 0; i < history->count; i++)
		free(history->entries[i]);
	free(history->entries);
	drop_fd(&history->file);
	*history = (struct history){.file = -1};
}

void history_add(struct history *history, const char *text)
{
	if (text[0] == '\0' || strlen(text) > ENTRY_MAX)
		return;
	if (history->count > 0 && strcmp(history->entries[history->count - 1], text) == 0)
		return;
	append(history, text);
	if (history->file >= 0)
		(void)write_entry(history->file, text);
}

long history_find(const struct history *history, const char *needle, size_t before)
{
	if (before > history->count)
		before = history->count;
	while (before-- > 0) {
		if (strstr(history->entries[before], needle) != NULL)
			return (long)before;
	}
	return -1;
}
