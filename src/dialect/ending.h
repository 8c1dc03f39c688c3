// SPDX-License-Identifier: Apache-2.0
/*
 * Ending - what a dialect says about a run, taken out of its Result
 *
 * Owns:    the members of a Result that a dialect needs, and texts made of several of them: joined
 *          and cut at a number of characters, never decoded on the way.
 * May not: know a dialect.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "dialect/escaped.h"

/* A JSON value as text. */
struct span {
	const char *at; /* borrowed */
	size_t size;    /* 0: there is none */
};

/* Borrowed from the Result, as long as that is there. */
struct ending {
	char kind[16]; /* of the verdict: "ok", "exception", ... */
	int exit_code;
	struct escaped out, err, traceback;
	struct escaped message; /* of the verdict */
	struct span value;      /* result's application/json */
	bool is_out_cut, is_err_cut, is_value_cut;
};

/* False: it is no Result. */
bool ending_read(const char *json, size_t size, struct ending *ret_ending);

bool ending_is(const struct ending *ending, const char *kind);

/* A member of an object, of any type. */
struct span span_member(struct span object, const char *name);

/* ... that is a string; else empty. */
struct escaped span_text(struct span object, const char *name);

/* A text of ours that needs no escape. */
struct escaped text_of(const char *text);

/* At most so many characters of it, none cut in two; a pair of surrogates is one. `*chars` is what
 * is left of them afterwards. */
struct escaped text_cut(struct escaped text, size_t *chars);

/* Appends the texts as one JSON string of at most `chars` characters. */
int texts_put(struct buf *buf, const struct escaped *texts, size_t count, size_t chars);

/* Appends what the text says, decoded. -EMSGSIZE, -ENOMEM. */
int text_decode(struct buf *buf, struct escaped text);
