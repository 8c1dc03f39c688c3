// SPDX-License-Identifier: Apache-2.0
/*
 * Remedy - what to do about a verdict, in the words of the place where it is read
 *
 * Owns:    the one table of remedies: a key that never changes, and its words for each place. A
 *          flag means nothing to a client that sent a field, and a field nothing to a person who
 *          typed a flag.
 * May not: know a verdict's facts: it only gets a detail (a name, a number).
 *
 * The page has words of its own for the same keys (web/src/output/remedy.ts).
 */
#pragma once

#include <stddef.h>

#define REMEDY_DETAIL_SIZE 80

enum remedy_place {
	REMEDY_HTTP, /* and every place that passes a Result on unchanged */
	REMEDY_CLI,
	REMEDY_MCP,
	REMEDY_SESSION, /* `viv session`: the flags of run and repl are not those of `viv run` */
	REMEDY_DOOR,    /* a foreign system, whose requests have fields of their own names */
	REMEDY_PLACES,
};

/* The static string of the table that equals `key`; NULL if there is none. */
const char *remedy_key(const char *key, size_t size);

/* Writes one sentence without a full stop; "" for a key that is not in the table. */
void remedy_say(const char *key, const char *detail, enum remedy_place place, char *text,
		size_t room);
