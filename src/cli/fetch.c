// SPDX-License-Identifier: Apache-2.0
#include "cli/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/c.h"
#include "base/io.h"

struct target {
	int fd;
	const char *file; /* borrowed; for messages */
	uint64_t size;
	struct err *err;
};

static int take(void *user, const void *bytes, size_t size)
{
	struct target *target = user;
	int r = io_write_all(target->fd, bytes, size, target->err);

	target->size += size;
	return r < 0 ? err_wrap(target->err, "%.200s", target->file) : 0;
}

static int fetch_to(struct client *client, const char *path, int fd, const char *file,
		    uint64_t *ret_size, struct err *err)
{
	struct target target = {.fd = fd, .file = file, .err = err};
	const struct client_call call = {
		.method = "GET", .path = path, .bytes = take, .user = &target};
	int r = client_call(client, &call, NULL, err);

	*ret_size = target.size;
	return r;
}

static int refuse_taken(const char *file, struct err *err)
{
	return err_set(err, ERR_BAD_REQUEST, EEXIST,
		       "%.200s already exists; choose another name, or add --overwrite", file);
}

/* Gives the file the mode that umask leaves to any new file. */
static void set_mode(int fd)
{
	mode_t mask = umask(0);

	(void)umask(mask);
	(void)fchmod(fd, 0666 & ~mask);
}

static int put_in_place(const char *temporary, const char *file, bool may_replace, struct err *err)
{
	int r = may_replace ? rename(temporary, file) : link(temporary, file);

	if (r < 0 && errno == EEXIST)
		return refuse_taken(file, err);
	return r < 0 ? err_sys(err, "%.200s", file) : 0;
}

int fetch_file(struct client *client, const char *path, const char *file, bool may_replace,
	       uint64_t *ret_size, struct err *err)
{
	AUTO_FREE char *temporary = NULL;
	AUTO_CLOSE int fd = -1;
	struct stat info;
	int r;

	if (strcmp(file, "-") == 0)
		return fetch_to(client, path, STDOUT_FILENO, "stdout", ret_size, err);
	if (!may_replace && lstat(file, &info) == 0)
		return refuse_taken(file, err);
	if (asprintf(&temporary, "%s.XXXXXX", file) < 0)
		abort();
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, "%.200s", file);
	set_mode(fd);
	r = fetch_to(client, path, fd, file, ret_size, err);
	if (r == 0)
		r = put_in_place(temporary, file, may_replace, err);
	if (r < 0 || !may_replace)
		(void)unlink(temporary);
	return r;
}
