// SPDX-License-Identifier: Apache-2.0
/*
 * Walk - JSON text step by step, in pieces of any size
 *
 * Owns:    the grammar (RFC 8259, UTF-8 checked, a depth of WALK_DEPTH_MAX), and the place in it
 *          that was reached. A text gives the same steps however it is split into pieces, except
 *          for runs, which are split where the pieces are.
 * May not: keep bytes (what a step took is between the caller's pointers) or allocate.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define WALK_DEPTH_MAX 64

enum walk_step {
	WALK_BAD,    /* not JSON: walk->why; there is no next step */
	WALK_BLANK,  /* blanks, a comma, a colon */
	WALK_OPEN,   /* { or [; depth has grown */
	WALK_CLOSE,  /* } or ]; depth has shrunk */
	WALK_BEGIN,  /* the " before a string */
	WALK_RUN,    /* content of a string, as it stands */
	WALK_ESCAPE, /* part of an escape; what it stands for is in walk->chars once complete */
	WALK_END,    /* the " after a string */
	WALK_PLAIN,  /* bytes of a number or a word; none: it ended before the next byte */
};

enum walk_state {
	WALK_AT_VALUE,     /* a value must come */
	WALK_AT_FIRST,     /* ... or the end of this list */
	WALK_AT_KEY,       /* a key must come */
	WALK_AT_FIRST_KEY, /* ... or the end of this object */
	WALK_AT_COLON,     /* after a key */
	WALK_BEHIND,       /* after a value: comma or end; at depth 0 only blanks */
	WALK_IN_STRING,    /* of a key or a value */
	WALK_IN_ESCAPE,    /* after a backslash */
	WALK_IN_UNIT,      /* in the four digits of \u */
	WALK_IN_WORD,      /* true, false, null */
	WALK_IN_MINUS,     /* a digit must come */
	WALK_IN_ZERO,      /* dot, e, or the end */
	WALK_IN_DIGITS,    /* any more digits */
	WALK_IN_DOT,       /* a digit must come */
	WALK_IN_FRACTION,  /* any more digits */
	WALK_IN_E,         /* sign or digit must come */
	WALK_IN_E_SIGN,    /* a digit must come */
	WALK_IN_EXPONENT,  /* any more digits */
};

struct walk {
	enum walk_state state;
	uint64_t at;     /* bytes taken so far */
	uint64_t values; /* begun so far; the name of a member counts as one */
	size_t depth;
	uint64_t lists;              /* a bit per depth: a list, not an object */
	bool is_key;                 /* the string is a key */
	bool allows_lone;            /* set by the caller: surrogates need no partner */
	const char *why;             /* WALK_BAD: borrowed, a constant */
	bool is_too_deep;            /* WALK_BAD: valid so far, but nested too deep */
	uint8_t chars[4];            /* WALK_ESCAPE: UTF-8 */
	uint8_t char_count;          /* ... 0: not complete */
	uint8_t utf8_first, utf8_at; /* of a character: its first byte, and how many came; 0: all */
	uint8_t digits;              /* of \u, taken so far */
	uint16_t unit, high;         /* high: a first half that waits for its second; 0: none */
	const char *word;            /* the rest of the word, still to come */
};

/* Takes one step from *at on, and moves *at. A zeroed struct walk is at the start. Call it only
 * while *at is before `end`: at `end` the piece is used up. */
enum walk_step walk_next(struct walk *walk, const uint8_t **at, const uint8_t *end);

/* At the end of the text: was it one whole value? False also sets walk->why. */
bool walk_is_whole(struct walk *walk);

/* Says why `what` ("the body") was refused: after WALK_BAD, or where walk_is_whole was false. */
int walk_refuse(const struct walk *walk, const char *what, struct err *err);

/* A tree costs some hundred bytes for each value, however short its text, so the values of what a
 * client sent are counted before a tree is built. */
#define WALK_TREE_MAX 16384U

/* Does the text have at most so many values? If it is not JSON, the caller's parser refuses it. */
bool walk_is_tree(const void *bytes, size_t size, uint64_t values_max);
