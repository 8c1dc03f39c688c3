// SPDX-License-Identifier: Apache-2.0
/*
 * Report - facts about this host, once as a table for people and once as JSON for programs
 *
 * Owns:    the facts it was given and how they are laid out. Both forms hold the same facts.
 * May not: find facts: `viv doctor` does.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum fact_state {
	FACT_ON,   /* present, and it was tried */
	FACT_OFF,  /* missing or broken; the remedy says what to do */
	FACT_NOTE, /* neither good nor bad, or unknown */
};

struct fact {
	const char *group; /* borrowed: a literal; one JSON array and one block of the table each */
	char name[40];
	enum fact_state state;
	char detail[320];
	char remedy[320]; /* "" when there is nothing to do */
	json_t *more;     /* owned, may be NULL: members that only the JSON form has */
};

struct report {
	struct fact *facts; /* owned */
	size_t count;
	size_t capacity;
};

void report_done(struct report *report);

/* Adds a fact; `remedy` may be NULL. The fact is valid until the next call. */
struct fact *report_add(struct report *report, const char *group, const char *name,
			enum fact_state state, const char *remedy, const char *format, ...)
	__attribute__((format(printf, 6, 7)));

/* Prints a block per group, in the order in which groups first came. */
void report_print(const struct report *report, FILE *out, bool is_terminal);

/* Puts one array per group into `object`: {"name","state":"on|off|note","detail","remedy",...}. */
void report_to_json(const struct report *report, json_t *object);
