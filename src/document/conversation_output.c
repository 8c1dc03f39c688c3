// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/c.h"
#include "document/conversation_state.h"

#define CELL_LETTERS "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz-"

/* Can this be the name of a cell? */
static bool conversation_is_cell(const char *cell)
{
	size_t size = strspn(cell, CELL_LETTERS);

	return size > 0 && size <= CONVERSATION_CELL_MAX && cell[size] == '\0';
}

/* Opens the conversation's folder, and makes the file's name in it. */
static int find(const struct conversation *conversation, const char *cell, int *ret_dir,
		char ret_name[CONVERSATION_PATH_MAX], struct err *err)
{
	if (!conversation_is_cell(cell))
		return err_field(err, ERR_BAD_REQUEST, EINVAL, "cell",
				 "must be 1 to %d of A-Z, a-z, 0-9, _ and -",
				 CONVERSATION_CELL_MAX);
	(void)snprintf(ret_name, CONVERSATION_PATH_MAX, CONVERSATION_OUTPUT "%s", cell);
	return conversation_dir(conversation->table, conversation->id, ret_dir, err);
}

static int no_output(const char *cell, struct err *err)
{
	return err_set(err, ERR_NOT_FOUND, ENOENT, "nothing is kept of the cell %s", cell);
}

/* The disk space of the present file; 0: there is none. */
static uint64_t blocks_of(int dir, const char *name)
{
	struct stat status;

	if (fstatat(dir, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	return conversation_blocks((uint64_t)status.st_size);
}

static void count(struct conversation *conversation, uint64_t more, uint64_t less)
{
	conversation->outputs += more;
	conversation->outputs -= less < conversation->outputs ? less : conversation->outputs;
	conversation->owner->bytes += more;
	conversation->owner->bytes -=
		less < conversation->owner->bytes ? less : conversation->owner->bytes;
}

int conversation_open_output(const struct conversation *conversation, const char *cell, int *ret_fd,
			     uint64_t *ret_size, struct err *err)
{
	char name[CONVERSATION_PATH_MAX];
	AUTO_CLOSE int dir = -1;
	int r = find(conversation, cell, &dir, name, err);

	if (r < 0)
		return r;
	r = conversation_read(dir, name, ret_fd, ret_size, err);
	return r == -ENOENT ? no_output(cell, err) : r;
}

int conversation_write_output(struct conversation *conversation, const char *cell, const void *data,
			      size_t size, struct err *err)
{
	uint64_t more = conversation_blocks(size);
	char name[CONVERSATION_PATH_MAX];
	AUTO_CLOSE int dir = -1;
	uint64_t less = 0;
	int r = find(conversation, cell, &dir, name, err);

	if (r < 0)
		return r;
	if (size > CONVERSATION_OUTPUT_MAX)
		return err_set(err, ERR_TOO_LARGE, EMSGSIZE, "the output is larger than %u MiB",
			       CONVERSATION_OUTPUT_MAX >> 20);
	less = blocks_of(dir, name);
	if (more > less && conversation->outputs + more - less > CONVERSATION_OUTPUTS_MAX)
		return err_set(err, ERR_BUSY, ENOSPC,
			       "the outputs of one conversation may take %llu MiB, and these do; "
			       "delete some",
			       CONVERSATION_OUTPUTS_MAX >> 20);
	r = conversation_room(conversation->owner, more, less, err);
	if (r == 0)
		r = conversation_write(dir, name, data, size, err);
	if (r == 0)
		count(conversation, more, less);
	return r;
}

int conversation_remove_output(struct conversation *conversation, const char *cell, struct err *err)
{
	char name[CONVERSATION_PATH_MAX];
	AUTO_CLOSE int dir = -1;
	uint64_t less = 0;
	int r = find(conversation, cell, &dir, name, err);

	if (r < 0)
		return r;
	less = blocks_of(dir, name);
	if (unlinkat(dir, name, 0) < 0)
		return errno == ENOENT ? no_output(cell, err) : err_sys(err, "remove an output");
	count(conversation, 0, less);
	return 0;
}
