// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "api/scan.h"
#include "base/c.h"

/* Checks that no object has a name twice, as the JSON passes by. Only sums of names are kept. */

/* The part of the member that is being read, as far as it is known: "data.rows[3]". */
static void put_place(const struct scan *scan, char *ret_text, size_t size)
{
	const struct scan_table *table = &scan->table;
	const char *name = scan->member->name;

	if (scan->member->param->type != OP_TABLE)
		(void)snprintf(ret_text, size, "%s", name);
	else if (table->is_records)
		(void)snprintf(ret_text, size, "%s[%llu]", name,
			       (unsigned long long)table->row - 1);
	else
		(void)snprintf(ret_text, size, "%s.rows[%llu]", name,
			       (unsigned long long)table->row);
}

/* A full `name` becomes part of the sum. A name is cut at the same places however the body came. */
static void add_to_name(struct scan *scan, const uint8_t *bytes, size_t size)
{
	struct scan_names *names = &scan->names;

	while (size > 0) {
		size_t room = sizeof(names->name) - names->size;
		size_t n = size < room ? size : room;

		if (room == 0) {
			names->sum = scan_sum(scan, names->sum, names->name, names->size);
			names->size = 0;
			continue;
		}
		memcpy(names->name + names->size, bytes, n);
		names->size += n;
		bytes += n;
		size -= n;
	}
}

static int end_name(struct scan *scan, struct err *err)
{
	struct scan_names *names = &scan->names;
	uint64_t sum = scan_sum(scan, names->sum, names->name, names->size);
	int r = scan_seen_add(&names->seen[scan->walk.depth - 1], sum);
	char place[2 * PARAM_NAME_MAX];

	if (r > 0)
		return 0;
	put_place(scan, place, sizeof(place));
	if (r == 0)
		return err_field(err, ERR_BAD_REQUEST, EINVAL, place,
				 "'%s%.*s' is given twice in one object",
				 names->sum != 0 ? "..." : "", (int)names->size, names->name);
	if (r == -E2BIG)
		return err_field(err, ERR_TOO_LARGE, E2BIG, place,
				 "an object has more than %u names; give it as a file",
				 SCAN_SEEN_MAX);
	return err_set(err, ERR_INTERNAL, ENOMEM, "no memory for the names of an object");
}

int scan_names_step(struct scan *scan, enum walk_step step, const uint8_t *from, const uint8_t *to,
		    struct err *err)
{
	struct scan_names *names = &scan->names;

	if (step == WALK_OPEN)
		scan_seen_clear(&names->seen[scan->walk.depth - 1]);
	if (!scan->walk.is_key)
		return 0;
	if (step == WALK_BEGIN) {
		names->size = 0;
		names->sum = 0;
	} else if (step == WALK_RUN) {
		add_to_name(scan, from, (size_t)(to - from));
	} else if (step == WALK_ESCAPE) {
		add_to_name(scan, scan->walk.chars, scan->walk.char_count);
	} else if (step == WALK_END) {
		return end_name(scan, err);
	}
	return 0;
}

void scan_names_done(struct scan_names *names)
{
	for (size_t i = 0; i < ARRAY_LEN(names->seen); i++)
		scan_seen_done(&names->seen[i]);
}
