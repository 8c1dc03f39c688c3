// SPDX-License-Identifier: Apache-2.0
/*
 * Stream - viv's end of a sandbox's stdout or stderr
 *
 * Owns:    the pipe and when it is read.
 * May not: keep or change bytes, or wait for the end: a process that still holds the other end must
 *          delay nobody.
 *
 * With a spool (a memfd that the backend keeps a copy of), bytes go from the pipe into it by
 * splice, and are delivered from there: its size *is* the count of bytes taken from the pipe, also
 * for the next viv after a kill -9 of this one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/err.h"

struct stream {
	int fd;     /* owned; -1: closed */
	int number; /* 1: stdout, 2: stderr */
	int spool;  /* owned; -1: none */
	/* Bytes delivered since the last rewind: the offset of the next one in the spool. */
	uint64_t taken;
	uint64_t punched; /* bytes at the front of the spool whose memory was freed */
	uv_poll_t poll;
	void (*bytes)(void *user, int number, const uint8_t *data, size_t size);
	void *user;       /* borrowed until the next stream_listen */
	uint64_t ignored; /* bytes thrown away since the last stream_listen */
	bool is_ended;
	bool is_held; /* not watched: too much was written while nobody listened */
};

/* Takes the pipe, and the spool (-1: none), and watches. On failure both are closed. */
int stream_open(struct stream *stream, uv_loop_t *loop, int *take_fd, int *take_spool, int number,
		void (*bytes)(void *user, int number, const uint8_t *data, size_t size), void *user,
		struct err *err);

/* Sets who gets the bytes from now on; `bytes` NULL: nobody. Then a few bytes are thrown away;
 * further ones stay in the pipe, and their writer waits, until the next stream_listen. */
void stream_listen(struct stream *stream,
		   void (*bytes)(void *user, int number, const uint8_t *data, size_t size),
		   void *user);

/* Another run begins: bytes are counted from 0 again. All earlier bytes have been delivered. */
void stream_rewind(struct stream *stream);

/* After an attach: the run under way had taken so many bytes; the rest of the spool is
 * delivered. */
void stream_resume(struct stream *stream, uint64_t taken);

/* Delivers what is in the pipe now. At most as much as a pipe holds, so that a writer that never
 * stops cannot keep this call busy. */
void stream_drain(struct stream *stream);

/* No call comes after this. `closed` is for the handle stream->poll. */
void stream_close(struct stream *stream, uv_close_cb closed);
