// SPDX-License-Identifier: Apache-2.0
/*
 * Stream - viv's end of a sandbox's stdout or stderr
 *
 * Owns:    the pipe and when it is read.
 * May not: keep or change bytes, or wait: whoever still holds the other end delays nobody.
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
	uv_poll_t poll;
	void (*bytes)(void *user, int number, const uint8_t *data, size_t size);
	void *user; /* borrowed until stream_listen says otherwise */
	bool is_ended;
};

/* Takes the pipe and watches it. On failure it is closed. */
int stream_open(struct stream *stream, uv_loop_t *loop, int *take_fd, int number,
		void (*bytes)(void *user, int number, const uint8_t *data, size_t size), void *user,
		struct err *err);

void stream_listen(struct stream *stream,
		   void (*bytes)(void *user, int number, const uint8_t *data, size_t size),
		   void *user);

/* Delivers what is in the pipe now. A writer that never stops does not keep it: at most what a
 * pipe holds. */
void stream_drain(struct stream *stream);

/* No call comes after this. `closed` is for the handle stream->poll. */
void stream_close(struct stream *stream, uv_close_cb closed);
