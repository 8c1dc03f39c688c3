// SPDX-License-Identifier: Apache-2.0
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/socket.h>

#include "base/c.h"

/* Debian 12's headers lack this constant; the value is the kernel's (asm-generic/socket.h). */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* Ancestors examined. A process with more of them is refused. */
#define ANCESTORS_MAX 1024

int io_write_all(int fd, const void *data, size_t size, struct err *err)
{
	const uint8_t *bytes = data;

	while (size > 0) {
		ssize_t n = write(fd, bytes, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, "write");
		bytes += n;
		size -= (size_t)n;
	}
	return 0;
}

int io_read_all(int fd, struct buf *buf, struct err *err)
{
	for (;;) {
		size_t room = buf->max - buf->size < 65536 ? buf->max - buf->size : 65536;
		uint8_t probe;
		ssize_t n;

		if (room > 0 && buf_reserve(buf, room) < 0)
			return err_set(err, ERR_INTERNAL, ENOMEM, "read: no memory");

		/* At the maximum, one more byte decides between "full" and "too long". */
		n = room > 0 ? read(fd, buf->data + buf->size, room) : read(fd, &probe, 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, "read");
		if (n == 0)
			return 0;
		if (room == 0)
			return err_set(err, ERR_TOO_LARGE, EMSGSIZE, "longer than %zu bytes",
				       buf->max);
		buf->size += (size_t)n;
	}
}

int io_read_file(int dir, const char *path, struct buf *buf, struct err *err)
{
	AUTO_CLOSE int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	int r;

	if (fd < 0)
		return err_sys(err, "open %s", path);

	r = io_read_all(fd, buf, err);
	if (r < 0)
		return err_wrap(err, "%s", path);
	return 0;
}

bool io_read_number(int dir, const char *path, const char *key, uint64_t *ret_number)
{
	AUTO_BUF struct buf text = {.max = 64 * KIB};
	struct err ignored = {0};
	const char *at;

	if (io_read_file(dir, path, &text, &ignored) < 0)
		return false;
	at = key != NULL ? strstr(buf_string(&text), key) : buf_string(&text);
	if (at == NULL)
		return false;
	*ret_number = strtoull(at + (key != NULL ? strlen(key) : 0), NULL, 10);
	return true;
}

int io_write_file(int dir, const char *path, const char *text, struct err *err)
{
	AUTO_CLOSE int fd = openat(dir, path, O_WRONLY | O_CLOEXEC);
	size_t size = strlen(text);
	ssize_t n;

	if (fd < 0)
		return err_sys(err, "open %s", path);

	/* One write: kernel files take a value whole or not at all. */
	do {
		n = write(fd, text, size);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_sys(err, "write %s to %s", text, path);
	return 0;
}

int io_sealed_memfd(const void *data, size_t size, int *ret_fd, struct err *err)
{
	AUTO_CLOSE int fd = memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r;

	if (fd < 0)
		return err_sys(err, "memfd");

	r = io_write_all(fd, data, size, err);
	if (r < 0)
		return r;
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return err_sys(err, "seal");

	*ret_fd = steal_fd(&fd);
	return 0;
}

ssize_t io_send_fds(int socket, const void *data, size_t size, const int *fds, size_t fd_count)
{
	_Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(int) * IO_FDS_MAX)] = {0};
	/* sendmsg does not write through iov_base; its type predates const. */
	struct iovec iov = {.iov_base = (void *)(uintptr_t)data, .iov_len = size};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n;

	if (fd_count > IO_FDS_MAX)
		return -EINVAL;
	if (fd_count > 0) {
		/* CMSG_FIRSTHDR without its NULL case: `control` always has room for one header. */
		struct cmsghdr *header = (struct cmsghdr *)(void *)control;

		msg.msg_control = control;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
		memcpy(CMSG_DATA(header), fds, sizeof(int) * fd_count);
	}

	do {
		n = sendmsg(socket, &msg, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static void take_fds(struct msghdr *msg, int *fds, size_t *count)
{
	for (struct cmsghdr *header = CMSG_FIRSTHDR(msg); header != NULL;
	     header = CMSG_NXTHDR(msg, header)) {
		size_t carried;

		if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
			continue;
		carried = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < carried; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
			if (*count < IO_FDS_MAX)
				fds[(*count)++] = fd;
			else
				(void)close(fd);
		}
	}
}

ssize_t io_recv_fds(int socket, void *data, size_t size, int *fds, size_t *ret_fd_count)
{
	_Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(int) * IO_FDS_MAX)];
	struct iovec iov = {.iov_base = data, .iov_len = size};
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	size_t count = 0;
	ssize_t n;

	for (size_t i = 0; i < IO_FDS_MAX; i++)
		fds[i] = -1;
	do {
		n = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;

	take_fds(&msg, fds, &count);
	if (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
		for (size_t i = 0; i < count; i++)
			drop_fd(&fds[i]);
		count = 0;
	}
	*ret_fd_count = count;
	return msg.msg_flags & MSG_TRUNC ? -EMSGSIZE : n;
}

/* The facts about a process from /proc/PID/status. */
struct kin {
	bool is_maker;  /* the half of viv-launch that all sandboxes descend from */
	bool is_nested; /* it is in a pid namespace below ours */
	pid_t parent;
};

static int read_kin(pid_t pid, struct kin *ret_kin)
{
	struct err err = {0};
	AUTO_BUF struct buf text = {.max = 16384};
	const char *at = NULL;
	char path[32];
	int r;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", pid);
	r = io_read_file(AT_FDCWD, path, &text, &err);
	if (r == 0) {
		const char *status = buf_string(&text);

		ret_kin->is_maker = strncmp(status, "Name:\t" IO_MAKER_NAME "\n",
					    strlen("Name:\t" IO_MAKER_NAME "\n")) == 0;
		at = strstr(status, "\nPPid:\t");
		ret_kin->parent = at != NULL ? (pid_t)strtol(at + 7, NULL, 10) : 0;
		/* NSpid has one number per pid namespace, starting with ours. */
		at = strstr(status, "\nNSpid:\t");
		if (at != NULL)
			ret_kin->is_nested = strcspn(at + 8, "\t\n") < strcspn(at + 8, "\n");
		r = at != NULL ? 0 : -ENOENT;
	}
	return r;
}

/* Is this process outside every sandbox? All processes of a sandbox have the maker among their
 * ancestors and cannot leave it. Processes in other pid namespaces (a container) are allowed. */
static bool is_outside(pid_t pid)
{
	struct kin kin = {0};

	if (read_kin(pid, &kin) < 0)
		return false;
	if (!kin.is_nested)
		return true;
	for (int i = 0; i < ANCESTORS_MAX && kin.parent > 0; i++) {
		if (read_kin(kin.parent, &kin) < 0 || kin.is_maker)
			return false;
	}
	return kin.parent == 0;
}

int io_check_peer(int socket, struct err *err)
{
	struct ucred peer = {0};
	socklen_t size = sizeof(peer);
	socklen_t pidfd_size = sizeof(int);
	AUTO_CLOSE int pidfd = -1;
	struct pollfd life = {.events = POLLIN};

	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return err_sys(err, "identify the peer of the socket");
	/* pid 0: the peer is outside our pid namespace. All sandboxes are inside it. */
	if (peer.pid == 0)
		return 0;
	/* A pidfd keeps the pid from being reused meanwhile. Linux before 6.5 does not offer it. */
	if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &pidfd_size) < 0 &&
	    errno != ENOPROTOOPT)
		return err_sys(err, "hold the peer");
	life.fd = pidfd;
	if (is_outside(peer.pid) && (pidfd < 0 || poll(&life, 1, 0) == 0))
		return 0;
	return err_set(err, ERR_FORBIDDEN, EPERM, "the peer is in a sandbox, or has ended");
}
