// SPDX-License-Identifier: Apache-2.0
/*
 * _vivarium - the C half of the runner, loaded into a stock python3 (stable ABI, 3.9 and later)
 *
 * Python sees the table of methods at the end: forking a zygote or a head, and the channel, request
 * by request and frame by frame. Everything here runs inside a sandbox (or in a zygote), and
 * nothing outside trusts it.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>

#include "base/c.h"
#include "base/io.h"
#include "proto/frame.h"
#include "runner/arena.h"
#include "runner/head.h"
#include "runner/sqlite.h"
#include "runner/zygote.h"
#include "walls/wall.h"

#define EMPTY_SIZE 40 /* st_size of an empty folder: 2 * BOGO_DIRENT_SIZE */

/* Nonce of the current run; one interpreter has one channel. */
static uint64_t current_nonce;

/* Counter of the last frame sent: the code that put our walls up has sent HELLO for us. */
static uint32_t sent_counter = 1;

/* The contents of that HELLO; heads forked from here send the same. */
static struct walls_report walls_report;

static PyObject *raise_err(const struct err *err)
{
	PyErr_SetString(PyExc_OSError, err->text);
	return NULL;
}

static PyObject *py_zygote(PyObject *self, PyObject *args)
{
	struct err err = {0};
	const char *lacks = NULL;
	int socket;
	int r;

	(void)self;
	if (!PyArg_ParseTuple(args, "is", &socket, &lacks))
		return NULL;
	r = zygote_serve(socket, lacks, &walls_report, &err);
	if (r < 0)
		return raise_err(&err);
	if (r > 0)
		_exit(0);
	Py_RETURN_NONE;
}

static PyObject *py_huge(PyObject *self, PyObject *args)
{
	(void)self;
	(void)args;
	arena_install();
	Py_RETURN_NONE;
}

static PyObject *py_zygote_fail(PyObject *self, PyObject *args)
{
	const char *why = NULL;
	int socket;

	(void)self;
	if (!PyArg_ParseTuple(args, "is", &socket, &why))
		return NULL;
	zygote_fail(socket, why);
	Py_RETURN_NONE;
}

/* If user code has closed its streams, their numbers are free, and a new descriptor there would be
 * written to as stdout. If no other number is free, it stays. */
static int move_up(int *take_fd)
{
	int fd = *take_fd > STDERR_FILENO ? -1
					  : fcntl(*take_fd, F_DUPFD_CLOEXEC, WALL_CHANNEL_FD + 1);

	if (fd < 0)
		return steal_fd(take_fd);
	drop_fd(take_fd);
	return fd;
}

/* Reads exactly `size` bytes from the channel; descriptors may come with the first of them. */
static int read_exact(void *data, size_t size, int *fds, size_t *fd_count)
{
	uint8_t *at = data;

	while (size > 0) {
		int more[IO_FDS_MAX];
		size_t more_count = 0;
		ssize_t n = io_recv_fds(WALL_CHANNEL_FD, at, size, more, &more_count);

		if (n <= 0)
			return n == 0 ? -EPIPE : (int)n;
		for (size_t i = 0; i < more_count; i++) {
			if (fds != NULL && *fd_count < IO_FDS_MAX)
				fds[(*fd_count)++] = move_up(&more[i]);
			drop_fd(&more[i]);
		}
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

/* Maps the memfd that holds the payload of a large request; Python gets a view without a copy. */
static PyObject *map_memfd(int fd)
{
	PyObject *mmap_module = PyImport_ImportModule("mmap");
	PyObject *mapped = NULL;
	PyObject *view = NULL;
	struct stat status;

	if (mmap_module == NULL || fstat(fd, &status) < 0) {
		Py_XDECREF(mmap_module);
		return NULL;
	}
	if (status.st_size == 0) {
		Py_DECREF(mmap_module);
		return PyBytes_FromStringAndSize("", 0);
	}
	/* Mapped read-only: the memfd is sealed against writing. */
	mapped = PyObject_CallMethod(mmap_module, "mmap", "inii", fd, (Py_ssize_t)status.st_size,
				     MAP_SHARED, PROT_READ);
	Py_DECREF(mmap_module);
	if (mapped == NULL)
		return NULL;
	view = PyMemoryView_FromObject(mapped);
	Py_DECREF(mapped);
	return view;
}

/* The numbers of the descriptors that came with the request; Python owns them from here on. */
static PyObject *give_fds(int *fds, size_t first, size_t count)
{
	PyObject *given = PyTuple_New((Py_ssize_t)count);

	for (size_t i = 0; given != NULL && i < count; i++) {
		PyObject *number = PyLong_FromLong(fds[first + i]);

		if (number == NULL || PyTuple_SetItem(given, (Py_ssize_t)i, number) < 0) {
			Py_DECREF(given);
			return NULL;
		}
	}
	for (size_t i = 0; given != NULL && i < count; i++)
		(void)steal_fd(&fds[first + i]);
	return given;
}

/* (type, flags, nonce, meta, payload, descriptors) */
static PyObject *build_run(const struct frame *frame, int *fds, size_t fd_count)
{
	const uint8_t *meta = NULL;
	const uint8_t *rest = NULL;
	size_t meta_size = 0;
	size_t rest_size = 0;
	size_t first = frame->header.flags & FRAME_FLAG_MEMFD ? 1 : 0;
	size_t given = frame->header.flags & FRAME_FLAG_STDIN && fd_count > first ? 1 : 0;
	struct err err = {0};
	PyObject *payload = NULL;
	PyObject *numbers = NULL;

	if (frame_split(frame, &meta, &meta_size, &rest, &rest_size, &err) < 0)
		return raise_err(&err);
	if (first > 0)
		payload = map_memfd(fds[0]);
	else
		payload = PyBytes_FromStringAndSize((const char *)rest, (Py_ssize_t)rest_size);
	if (payload == NULL && first > 0) {
		PyErr_Clear();
		PyErr_SetString(PyExc_ValueError, "no payload came with the request");
	}
	if (payload == NULL)
		return NULL;
	numbers = give_fds(fds, first, given);
	if (numbers == NULL) {
		Py_DECREF(payload);
		return NULL;
	}
	return Py_BuildValue("iiKy#NN", (int)frame->header.type, (int)frame->header.flags,
			     (unsigned long long)frame->header.nonce, (const char *)meta,
			     (Py_ssize_t)meta_size, payload, numbers);
}

static PyObject *build_request(const struct frame *frame, int *fds, size_t fd_count)
{
	PyObject *numbers = NULL;

	current_nonce = frame->header.nonce;
	if (frame->header.type != FRAME_FORK)
		return build_run(frame, fds, fd_count);
	numbers = give_fds(fds, 0, fd_count);
	if (numbers == NULL)
		return NULL;
	return Py_BuildValue("iiKyyN", (int)frame->header.type, (int)frame->header.flags,
			     (unsigned long long)frame->header.nonce, "", "", numbers);
}

/* Reads one whole frame into `bytes`. -EPIPE: the other side has closed. */
static int read_frame(struct buf *bytes, struct frame *frame, int *fds, size_t *fd_count,
		      struct err *err)
{
	struct frame_header header;
	int r = read_exact(&header, sizeof(header), fds, fd_count);

	if (r < 0)
		return r;
	if (header.size > FRAME_PAYLOAD_MAX || buf_reserve(bytes, sizeof(header) + header.size) < 0)
		return err_set(err, ERR_INTERNAL, EMSGSIZE, "a frame of %u bytes", header.size);
	memcpy(bytes->data, &header, sizeof(header));
	r = read_exact(bytes->data + sizeof(header), header.size, fds, fd_count);
	if (r < 0)
		return r;
	bytes->size = sizeof(header) + header.size;
	return frame_decode(bytes->data, bytes->size, frame, err) > 0 ? 0 : -EPROTO;
}

static PyObject *py_next(PyObject *self, PyObject *args)
{
	struct buf bytes;
	struct frame frame = {0};
	struct err err = {0};
	PyObject *result = NULL;
	int fds[IO_FDS_MAX];
	size_t fd_count = 0;
	int r;

	(void)self;
	(void)args;
	for (size_t i = 0; i < IO_FDS_MAX; i++)
		fds[i] = -1;
	buf_init(&bytes, sizeof(struct frame_header) + FRAME_PAYLOAD_MAX);
	do {
		Py_BEGIN_ALLOW_THREADS
		head_wait(WALL_CHANNEL_FD);
		r = read_frame(&bytes, &frame, fds, &fd_count, &err);
		Py_END_ALLOW_THREADS
	} while (r == 0 && frame.header.type == FRAME_ACK); /* late, for a timed-out event */

	if (r == -EPIPE)
		result = Py_BuildValue("");
	else if (r < 0)
		PyErr_Format(PyExc_OSError, "channel: %s", err.text);
	else
		result = build_request(&frame, fds, fd_count);
	for (size_t i = 0; i < IO_FDS_MAX; i++)
		drop_fd(&fds[i]);
	buf_done(&bytes);
	return result;
}

/* Sends all parts, even if the socket takes only some at a time. */
static int write_parts(struct iovec *parts, size_t count)
{
	size_t at = 0;

	while (at < count) {
		struct msghdr msg = {.msg_iov = &parts[at], .msg_iovlen = count - at};
		ssize_t n = sendmsg(WALL_CHANNEL_FD, &msg, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		while (at < count && (size_t)n >= parts[at].iov_len) {
			n -= (ssize_t)parts[at].iov_len;
			at++;
		}
		if (at < count) {
			parts[at].iov_base = (uint8_t *)parts[at].iov_base + n;
			parts[at].iov_len -= (size_t)n;
		}
	}
	return 0;
}

static int wait_ack(void)
{
	struct frame_header header;
	size_t fd_count = 0;
	int r = read_exact(&header, sizeof(header), NULL, &fd_count);

	if (r < 0)
		return r;
	return header.type == FRAME_ACK && header.size == 0 ? 0 : -EPROTO;
}

/* Sends the payload in pieces, so that viv can accept each of them completely or not at all. */
static int send_pieces(struct frame_header header, const struct iovec source[2])
{
	size_t rest = source[0].iov_len + source[1].iov_len;
	size_t at = 0;

	do {
		struct iovec parts[3] = {{&header, sizeof(header)}, {NULL, 0}, {NULL, 0}};
		size_t size = rest < FRAME_PIECE_MAX ? rest : FRAME_PIECE_MAX;
		size_t before = at < source[0].iov_len ? source[0].iov_len - at : 0;
		int r;

		if (before > size)
			before = size;
		if (before > 0)
			parts[1] = (struct iovec){(uint8_t *)source[0].iov_base + at, before};
		if (size > before)
			parts[2] = (struct iovec){(uint8_t *)source[1].iov_base + at + before -
							  source[0].iov_len,
						  size - before};
		at += size;
		rest -= size;
		header.size = (uint32_t)size;
		header.counter = ++sent_counter;
		if (rest > 0)
			header.flags |= FRAME_FLAG_MORE;
		else
			header.flags &= (uint16_t)~FRAME_FLAG_MORE;
		r = write_parts(parts, ARRAY_LEN(parts));
		if (r < 0)
			return r;
	} while (rest > 0);
	return 0;
}

/* Sends both parts as one payload, and waits for the ACK if the frame asks for one. */
static int send_frame(struct frame_header header, PyObject *data, PyObject *more)
{
	struct iovec source[2] = {{NULL, 0}, {NULL, 0}};
	PyObject *const objects[] = {data, more};
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(objects); i++) {
		char *bytes = NULL;
		Py_ssize_t size = 0;

		if (objects[i] == NULL || PyBytes_AsStringAndSize(objects[i], &bytes, &size) < 0)
			continue;
		source[i] = (struct iovec){bytes, (size_t)size};
	}
	if (source[0].iov_len + source[1].iov_len > FRAME_PAYLOAD_MAX)
		return -EMSGSIZE;

	Py_BEGIN_ALLOW_THREADS
	r = send_pieces(header, source);
	if (r == 0 && header.type == FRAME_EVENT && (header.flags & FRAME_FLAG_WAIT) != 0)
		r = wait_ack();
	Py_END_ALLOW_THREADS
	return r;
}

static PyObject *py_send(PyObject *self, PyObject *args)
{
	struct frame_header header = {.nonce = current_nonce};
	PyObject *data = NULL;
	PyObject *more = NULL;
	int type;
	int flags;
	int r;

	(void)self;
	if (!PyArg_ParseTuple(args, "iiO|O", &type, &flags, &data, &more))
		return NULL;
	header.type = (uint16_t)type;
	header.flags = (uint16_t)flags;

	/* For bytes objects this only adds a reference; any other buffer is copied. */
	data = PyBytes_FromObject(data);
	more = more != NULL ? PyBytes_FromObject(more) : NULL;
	if (PyErr_Occurred()) {
		Py_XDECREF(data);
		Py_XDECREF(more);
		return NULL;
	}
	r = send_frame(header, data, more);
	Py_XDECREF(data);
	Py_XDECREF(more);
	if (r < 0) {
		errno = -r;
		return PyErr_SetFromErrno(PyExc_OSError);
	}
	Py_RETURN_NONE;
}

/* After the exec of a cold interpreter: programs that it starts must not inherit the channel, and
 * the contents of the HELLO that was sent before come as numbers. */
static PyObject *py_channel(PyObject *self, PyObject *args)
{
	(void)self;
	if (!PyArg_ParseTuple(args, "|III", &walls_report.up, &walls_report.landlock_abi,
			      &walls_report.shown))
		return NULL;
	if (fcntl(WALL_CHANNEL_FD, F_SETFD, FD_CLOEXEC) < 0)
		return PyErr_SetFromErrno(PyExc_OSError);
	return PyLong_FromLong(WALL_CHANNEL_FD);
}

static PyObject *py_fork(PyObject *self, PyObject *args)
{
	struct head_fds fds = {-1, -1, -1};
	struct err err = {0};
	int is_look = 0;
	pid_t pid;

	(void)self;
	if (!PyArg_ParseTuple(args, "piii", &is_look, &fds.channel, &fds.out, &fds.err))
		return NULL;
	pid = head_fork(&fds, is_look != 0, &err);
	if (pid < 0) {
		errno = err.num;
		return PyErr_SetFromErrno(PyExc_OSError);
	}
	if (pid == 0) {
		current_nonce = 0;
		sent_counter = 1;
	}
	return PyLong_FromLong(pid);
}

static PyObject *py_hello(PyObject *self, PyObject *args)
{
	struct err err = {0};

	(void)self;
	(void)args;
	if (frame_send_hello(WALL_CHANNEL_FD, walls_report.up, walls_report.landlock_abi,
			     walls_report.shown, &err) < 0)
		return raise_err(&err);
	Py_RETURN_NONE;
}

static PyObject *py_flush(PyObject *self, PyObject *args)
{
	(void)self;
	(void)args;
	(void)fflush(NULL);
	Py_RETURN_NONE;
}

/* Python's compile() first makes a type for each kind of syntax-tree node (1 ms), even if nobody
 * asked for a tree. This function does not. */
static PyObject *py_compile(PyObject *self, PyObject *args)
{
	const char *source = NULL;
	const char *filename = NULL;
	int is_expression;

	(void)self;
	if (!PyArg_ParseTuple(args, "ssp", &source, &filename, &is_expression))
		return NULL;
	return Py_CompileString(source, filename, is_expression ? Py_eval_input : Py_file_input);
}

/* On a tmpfs the st_size of a folder counts its entries, and that of an empty one is fixed:
 * mm/shmem.c. That takes one call; reading the folder takes five. False also if it cannot be
 * known. */
static PyObject *py_is_empty(PyObject *self, PyObject *args)
{
	static dev_t known;
	const char *path = NULL;
	struct statfs fs;
	struct stat folder;
	bool is_empty;

	(void)self;
	if (!PyArg_ParseTuple(args, "s", &path))
		return NULL;
	is_empty =
		stat(path, &folder) == 0 && S_ISDIR(folder.st_mode) && folder.st_size == EMPTY_SIZE;
	if (is_empty && folder.st_dev != known) {
		is_empty = statfs(path, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
		known = is_empty ? folder.st_dev : known;
	}
	return PyBool_FromLong(is_empty);
}

/* If a request is already waiting, or comes within this time, preparing for it would only delay it.
 */
static PyObject *py_is_asked(PyObject *self, PyObject *args)
{
	struct pollfd wait = {.fd = WALL_CHANNEL_FD, .events = POLLIN};
	int wait_ms = 0;
	int n;

	(void)self;
	if (!PyArg_ParseTuple(args, "|i", &wait_ms))
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	n = poll(&wait, 1, wait_ms);
	Py_END_ALLOW_THREADS
	return PyBool_FromLong(n == 1 && (wait.revents & POLLIN) != 0);
}

static PyMethodDef methods[] = {
	{"zygote", py_zygote, METH_VARARGS,
	 "Serve fork requests; returns in a child inside its sandbox."},
	{"huge", py_huge, METH_NOARGS, "Take the memory of small objects from huge pages."},
	{"zygote_fail", py_zygote_fail, METH_VARARGS, "Tell launch why there is no zygote."},
	{"next", py_next, METH_NOARGS, "The next request, or None at the end."},
	{"send", py_send, METH_VARARGS, "Send a frame; with flag 1, wait for the ACK."},
	{"fork", py_fork, METH_VARARGS,
	 "Fork a head: 0 in the child, which has its own channel and streams."},
	{"hello", py_hello, METH_NOARGS, "Send the HELLO of a new head."},
	{"channel", py_channel, METH_VARARGS,
	 "Mark the channel close-on-exec; returns its number."},
	{"compile", py_compile, METH_VARARGS, "Source, file name, whether an expression -> code."},
	{"is_empty", py_is_empty, METH_VARARGS, "Whether this folder of a tmpfs surely is empty."},
	{"is_asked", py_is_asked, METH_VARARGS,
	 "Whether a request waits on the channel, or comes within so many milliseconds."},
	{"forget", sqlite_forget, METH_NOARGS, "Make every SQLite reseed its random numbers."},
	{"flush", py_flush, METH_NOARGS, "Flush what C code has buffered on its streams."},
	{NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
	.m_base = PyModuleDef_HEAD_INIT,
	.m_name = "_vivarium",
	.m_doc = "The C half of the runner.",
	.m_size = -1,
	.m_methods = methods,
};

PyMODINIT_FUNC PyInit__vivarium(void);

PyMODINIT_FUNC PyInit__vivarium(void)
{
	return PyModule_Create(&module);
}
