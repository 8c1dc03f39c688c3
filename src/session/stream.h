// SPDX-License-Identifier: Apache-2.0
/*
 * Stream - viv's end of a sandbox's stdout or stderr
 *
 * Owns:    the pipe and when it is read.
 * May not: keep or change bytes, or wait: whoever still holds the other end delays nobody.
 *
 * With a spool (a memfd that launch keeps a copy of) bytes go from the pipe into it by splice, and
 * are told from there: its size *is* what was taken from the pipe, also for the viv that comes
 * after a kill -9 of this one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/err.h"

struct stream {
	int fd;           /* owned; -1: closed */
	int number;       /* 1: stdout, 2: stderr */
	int spool;        /* owned; -1: none */
	uint64_t taken;   /* bytes told since the last rewind: where the next one is in the spool */
	uint64_t punched; /* bytes given back at the spool's front */
	uv_poll_t poll;
	void (*bytes)(void *user, int number, const uint8_t *data, size_t size);
	void *user;       /* borrowed until stream_listen says otherwise */
	uint64_t ignored; /* bytes told to nobody since the last stream_listen */
	bool is_ended;
	bool is_held; /* not watched: too much was written that nobody wanted */
};

/* Takes the pipe, and the spool (-1: none), and watches. On failure both are closed. */
int stream_open(struct stream *stream, uv_loop_t *loop, int *take_fd, int *take_spool, int number,
		void (*bytes)(void *user, int number, const uint8_t *data, size_t size), void *user,
		struct err *err);

/* Somebody else is told from now on; `bytes` NULL: nobody. Then a little is thrown away, and more
 * stays in the pipe, and its writer waits, until somebody listens. */
void stream_listen(struct stream *stream,
		   void (*bytes)(void *user, int number, const uint8_t *data, size_t size),
		   void *user);

/* Another run begins: bytes are counted from 0 again. What was there has been told. */
void stream_rewind(struct stream *stream);

/* After an attach: the run that is on had taken so many bytes; the rest of the spool is told. */
void stream_resume(struct stream *stream, uint64_t taken);

/* Delivers what is in the pipe now. A writer that never stops does not keep it: at most what a
 * pipe holds. */
void stream_drain(struct stream *stream);

/* No call comes after this. `closed` is for the handle stream->poll. */
void stream_close(struct stream *stream, uv_close_cb closed);
