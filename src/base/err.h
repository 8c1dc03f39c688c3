// SPDX-License-Identifier: Apache-2.0
/*
 * Err - why something failed, as plain data on the caller's stack
 *
 * Owns:    the text of one failure and its kind.
 * May not: log or allocate; it is used between clone and exec, and travels between our programs.
 */
#pragma once

enum err_kind {
	ERR_NONE,
	ERR_BAD_REQUEST,  /* what the caller asked for is wrong */
	ERR_UNAUTHORIZED, /* no or a wrong token */
	ERR_FORBIDDEN,    /* this caller may not */
	ERR_NOT_FOUND,    /* no such thing */
	ERR_CONFLICT,     /* not in this state */
	ERR_TOO_LARGE,    /* over a limit of size */
	ERR_BUSY,         /* try again later */
	ERR_UNSUPPORTED,  /* this host or runtime cannot */
	ERR_INTERNAL,     /* we failed */
};

struct err {
	enum err_kind kind;
	int num; /* the errno, positive */
	char text[500];
};

/* A failed system call: takes errno, appends its text; kind ERR_INTERNAL. Returns -errno. */
int err_sys(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What we refuse ourselves. `num` is the positive errno; returns -num. */
int err_set(struct err *err, enum err_kind kind, int num, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Puts "<text>: " in front of what is there. Returns -err->num. */
int err_wrap(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The word used on the wire: "bad_request", "busy", ... */
const char *err_kind_name(enum err_kind kind);
