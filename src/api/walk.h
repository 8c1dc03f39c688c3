// SPDX-License-Identifier: Apache-2.0
/*
 * Walk - JSON text step by step, in pieces of any size
 *
 * Owns:    the grammar (RFC 8259, UTF-8 checked, a depth of WALK_DEPTH_MAX), and the place in it
 *          that was reached. A text gives the same steps however it is cut, but for runs, which are
 *          cut where the pieces are.
 * May not: keep bytes: what a step took is between the caller's pointers; nor allocate.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WALK_DEPTH_MAX 64

enum walk_step {
	WALK_BAD,    /* not JSON: walk->why; there is no next step */
	WALK_BLANK,  /* blanks, a comma, a colon */
	WALK_OPEN,   /* { or [; depth has grown */
	WALK_CLOSE,  /* } or ]; depth has shrunk */
	WALK_BEGIN,  /* the " before a string */
	WALK_RUN,    /* content of a string, as it stands */
	WALK_ESCAPE, /* part of an escape; what it stands for is in walk->chars once complete */
	WALK_END,    /* the " behind a string */
	WALK_PLAIN,  /* bytes of a number or a word; none: it ended before the next byte */
};

enum walk_state {
	WALK_AT_VALUE,     /* a value must come */
	WALK_AT_FIRST,     /* ... or the end of this list */
	WALK_AT_KEY,       /* a key must come */
	WALK_AT_FIRST_KEY, /* ... or the end of this object */
	WALK_AT_COLON,     /* behind a key */
	WALK_BEHIND,       /* behind a value: comma or end; at depth 0 only blanks */
	WALK_IN_STRING,    /* of a key or a value */
	WALK_IN_ESCAPE,    /* behind a backslash */
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
	uint8_t chars[4];            /* WALK_ESCAPE: UTF-8 */
	uint8_t char_count;          /* ... 0: not complete */
	uint8_t utf8_left;           /* bytes that this character still needs */
	uint8_t utf8_low, utf8_high; /* what the next of them may be */
	uint8_t digits;              /* of \u, taken */
	uint16_t unit, high;         /* high: a first half that waits for its second; 0: none */
	const char *word;            /* what must still come of it */
};

/* A zeroed struct walk is at the start. Takes one step from *at on, and moves it. A piece is used
 * up when *at is `end`; call it only before that. */
enum walk_step walk_next(struct walk *walk, const uint8_t **at, const uint8_t *end);

/* No byte follows: was that one whole value? False also sets walk->why. */
bool walk_is_whole(struct walk *walk);

/* A tree costs some hundred bytes for each value, however short its text: whoever builds one of
 * what a client sent counts them first. */
#define WALK_TREE_MAX 16384U

/* Has it no more than so many values? What is not JSON is left to whoever reads it. */
bool walk_is_tree(const void *bytes, size_t size, uint64_t values_max);

/* Is this UTF-8 (RFC 3629)? */
bool walk_is_utf8(const void *bytes, size_t size);
