// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "api/scan.h"

#define CAPACITY_MIN 64U

uint64_t scan_sum(struct scan *scan, uint64_t before, const void *bytes, size_t size)
{
	_Static_assert(crypto_shorthash_BYTES == sizeof(uint64_t), "a sum is a number");
	uint64_t pair[2] = {before, 0};
	uint64_t sum = 0;

	if (!scan->has_sum_key)
		crypto_shorthash_keygen(scan->sum_key);
	scan->has_sum_key = true;
	(void)crypto_shorthash((unsigned char *)&sum, bytes, size, scan->sum_key);
	if (before != 0) {
		pair[1] = sum;
		(void)crypto_shorthash((unsigned char *)&sum, (const unsigned char *)pair,
				       sizeof(pair), scan->sum_key);
	}
	return sum + (sum == 0); /* 0 is an empty place */
}

/* The place of a sum, or the empty one where it belongs. */
static size_t place_of(const struct scan_seen *seen, uint64_t sum)
{
	size_t place = sum & (seen->capacity - 1);

	while (seen->sums[place] != 0 && seen->sums[place] != sum)
		place = (place + 1) & (seen->capacity - 1);
	return place;
}

bool scan_seen_has(const struct scan_seen *seen, uint64_t sum)
{
	return seen->count > 0 && seen->sums[place_of(seen, sum)] == sum;
}

/* Makes room for one more; at least a quarter of the table stays empty. */
static int grow(struct scan_seen *seen)
{
	struct scan_seen next = {.count = seen->count};

	if (4 * (seen->count + 1) <= 3 * seen->capacity)
		return 0;
	next.capacity = seen->capacity > 0 ? 2 * seen->capacity : CAPACITY_MIN;
	next.sums = calloc(next.capacity, sizeof(*next.sums));
	if (next.sums == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < seen->capacity; i++) {
		if (seen->sums[i] != 0)
			next.sums[place_of(&next, seen->sums[i])] = seen->sums[i];
	}
	free(seen->sums);
	*seen = next;
	return 0;
}

int scan_seen_add(struct scan_seen *seen, uint64_t sum)
{
	int r;

	if (scan_seen_has(seen, sum))
		return 0;
	if (seen->count == SCAN_SEEN_MAX)
		return -E2BIG;
	r = grow(seen);
	if (r < 0)
		return r;
	seen->sums[place_of(seen, sum)] = sum;
	seen->count++;
	return 1;
}

void scan_seen_clear(struct scan_seen *seen)
{
	/* Clearing costs what the table is long, so one that became too long is not kept: otherwise
	 * a client could follow one large object with many small ones. */
	if (seen->capacity > CAPACITY_MIN && seen->count < seen->capacity / 8)
		scan_seen_done(seen);
	else if (seen->count > 0)
		memset(seen->sums, 0, seen->capacity * sizeof(*seen->sums));
	seen->count = 0;
}

void scan_seen_done(struct scan_seen *seen)
{
	free(seen->sums);
	*seen = (struct scan_seen){0};
}
