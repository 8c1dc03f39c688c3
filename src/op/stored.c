// SPDX-License-Identifier: Apache-2.0
#include "op/stored.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/mman.h>

#include "base/c.h"

struct sending {
	struct buf head;
	int fd; /* owned */
	const char *tail;
	uint64_t at, size; /* of the file */
	size_t head_sent, tail_sent;
};

static int64_t copy(void *data, size_t room, const void *from, size_t size, size_t *sent)
{
	size_t n = size - *sent < room ? size - *sent : room;

	memcpy(data, (const char *)from + *sent, n);
	*sent += n;
	return (int64_t)n;
}

static int64_t read_stored(void *user, void *data, size_t room)
{
	struct sending *sending = user;
	uint64_t left = sending->size - sending->at;
	ssize_t n;

	if (sending->head_sent < sending->head.size)
		return copy(data, room, sending->head.data, sending->head.size,
			    &sending->head_sent);
	if (left == 0 && sending->tail_sent < strlen(sending->tail))
		return copy(data, room, sending->tail, strlen(sending->tail), &sending->tail_sent);
	if (left == 0)
		return -1;
	n = pread(sending->fd, data, left < room ? (size_t)left : room, (off_t)sending->at);
	if (n <= 0)
		return -2; /* the file was truncated meanwhile */
	sending->at += (uint64_t)n;
	return n;
}

static void close_stored(void *user)
{
	struct sending *sending = user;

	buf_done(&sending->head);
	drop_fd(&sending->fd);
	free(sending);
}

void stored_answer(struct op_call *call, struct buf *take_head, int *take_fd, uint64_t size,
		   const char *tail)
{
	struct sending *sending = xnew(struct sending);
	struct err err = {0};

	sending->head = *take_head;
	buf_init(take_head, 0);
	sending->fd = steal_fd(take_fd);
	sending->size = size;
	sending->tail = tail;
	call->is_foreign = true;
	if (!op_hold(call, sending->head.capacity)) {
		close_stored(sending);
		(void)err_set(&err, ERR_BUSY, ENOBUFS, OP_HELD_WHY);
		op_fail(call, &err);
		return;
	}
	op_stream(call, 0, "application/json", (int64_t)(sending->head.size + size + strlen(tail)),
		  &(const struct op_source){
			  .read = read_stored, .close = close_stored, .user = sending});
}

int stored_open(const struct run_bytes *bytes, uint64_t max, struct stored_view *ret_view,
		struct err *err)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t from = bytes->at / page * page;
	struct stored_view view = {.data = bytes->data, .size = (size_t)bytes->size};

	if (bytes->size > max)
		return err_set(err, ERR_TOO_LARGE, EMSGSIZE, "larger than %llu MiB",
			       (unsigned long long)(max >> 20));
	if (view.data == NULL && view.size > 0) {
		view.map_size = (size_t)(bytes->at - from + bytes->size);
		view.map = mmap(NULL, view.map_size, PROT_READ, MAP_SHARED, bytes->fd, (off_t)from);
		if (view.map == MAP_FAILED)
			return err_sys(err, "map the body");
		view.data = (const char *)view.map + (bytes->at - from);
	}
	*ret_view = view;
	return 0;
}

void stored_close(struct stored_view *view)
{
	if (view->map != NULL)
		(void)munmap(view->map, view->map_size);
	*view = (struct stored_view){0};
}
