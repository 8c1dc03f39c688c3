// SPDX-License-Identifier: Apache-2.0
/*
 * Io - whole reads and writes, and descriptors over sockets
 *
 * Owns:    EINTR, short counts, and the control messages that carry descriptors.
 * May not: log, or keep a descriptor it was handed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

#define IO_FDS_MAX 8
/* The name of the process that all sandboxes descend from (launch/inner.c). */
#define IO_MAKER_NAME "viv-launch-in"

/* Writes all bytes, or fails. For files and blocking descriptors. */
int io_write_all(int fd, const void *data, size_t size, struct err *err);

/* Reads to the end of file into `buf`, up to its maximum. */
int io_read_all(int fd, struct buf *buf, struct err *err);

/* Reads the file at `path`, relative to `dir` (or AT_FDCWD). */
int io_read_file(int dir, const char *path, struct buf *buf, struct err *err);

/* Reads the number after `key` (NULL: the first number) in a /proc or cgroup file; false: not
 * found. A key that is a whole line's must start with a line break, because a process name could
 * contain the key. */
bool io_read_number(int dir, const char *path, const char *key, uint64_t *ret_number);

/* Writes `text` to an existing file at `path`, relative to `dir`: for /proc and cgroup files. */
int io_write_file(int dir, const char *path, const char *text, struct err *err);

/* A memfd with these bytes, sealed so that nobody can change them. */
int io_sealed_memfd(const void *data, size_t size, int *ret_fd, struct err *err);

/* Sends one message with up to IO_FDS_MAX descriptors (still the caller's afterwards).
 * Returns the count of bytes sent, or a negative errno (-EAGAIN on a full non-blocking socket). */
ssize_t io_send_fds(int socket, const void *data, size_t size, const int *fds, size_t fd_count);

/* Checks that the peer of a connected unix socket is not in a Vivarium sandbox. -EPERM: it is in
 * one, or that cannot be determined. */
int io_check_peer(int socket, struct err *err);

/* Receives one message. Descriptors arrive close-on-exec in `fds` (room for IO_FDS_MAX, unused ones
 * -1). Returns the byte count, 0 at the end of file, or a negative errno; a truncated message is
 * -EMSGSIZE. Descriptors come all or none: when this process cannot open more, none arrive, so the
 * caller must check their count. */
ssize_t io_recv_fds(int socket, void *data, size_t size, int *fds, size_t *ret_fd_count);
