// SPDX-License-Identifier: Apache-2.0
/*
 * Err - why something failed, as plain data on the caller's stack
 *
 * Owns:    the text of one failure and its kind.
 * May not: log or allocate; it is used between clone and exec, and travels between our programs.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum err_kind {
	ERR_NONE,
	ERR_BAD_REQUEST,  /* the request itself is wrong */
	ERR_UNAUTHORIZED, /* the token is missing or wrong */
	ERR_FORBIDDEN,    /* the caller may not do this */
	ERR_NOT_FOUND,    /* no such thing */
	ERR_CONFLICT,     /* not possible in this state */
	ERR_TOO_LARGE,    /* above a size limit */
	ERR_BUSY,         /* try again later */
	ERR_UNSUPPORTED,  /* this host or runtime cannot do it */
	ERR_INTERNAL,     /* we failed */
	ERR_QUOTA,        /* "busy" because of the caller's own quota; stays last: err crosses
			   * between programs */
};

struct err {
	enum err_kind kind;
	int num; /* the errno, positive */
	char text[496];
	uint32_t field; /* length of the request field's name at the start of `text`; 0: none */
};

/* A failed system call: takes errno, appends its text; kind ERR_INTERNAL. Returns -errno. */
int err_sys(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Reports a refusal of our own. `num` is the positive errno; returns -num. */
int err_set(struct err *err, enum err_kind kind, int num, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Reports a bad field of a request: the text becomes "<field>: <message>". */
int err_field(struct err *err, enum err_kind kind, int num, const char *field, const char *format,
	      ...) __attribute__((format(printf, 5, 6)));

/* Puts "<text>: " in front of the message and clears `field`. Returns -err->num. */
int err_wrap(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Puts "<field>: " in front of the message and marks that field as wrong. Returns -err->num. */
int err_blame(struct err *err, const char *field);

/* The return value of a function that failed with this error: -err->num, never 0. */
int err_code(const struct err *err);

/* Should the caller try again later (ERR_BUSY or ERR_QUOTA)? */
bool err_is_busy(const struct err *err);

/* The kind's name in the API: "bad_request", "busy", ... */
const char *err_kind_name(enum err_kind kind);
