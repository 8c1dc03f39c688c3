// SPDX-License-Identifier: Apache-2.0
/*
 * Remedy - what to do about a verdict, in the words of the place where it is read
 *
 * Owns:    the one table of remedies: a key that never changes, and for each place its words. A
 *          flag means nothing to who sent a field, and a field nothing to who typed a flag.
 * May not: know a verdict's facts: a detail (a name, a number) is all that it is told.
 *
 * The page has words of its own for the same keys (web/src/output/remedy.ts).
 */
#pragma once

#include <stddef.h>

#define REMEDY_DETAIL_SIZE 80

enum remedy_place {
	REMEDY_HTTP, /* and whatever passes a Result on as it is */
	REMEDY_CLI,
	REMEDY_MCP,
	REMEDY_SESSION, /* `viv session`: the flags of run and repl are not those of `viv run` */
	REMEDY_PLACES,
};

/* The key as the table has it, for good; NULL when there is none of this name. */
const char *remedy_key(const char *key, size_t size);

/* One sentence without a full stop, "" for a key that is not in the table. */
void remedy_say(const char *key, const char *detail, enum remedy_place place, char *text,
		size_t room);
