// SPDX-License-Identifier: Apache-2.0
#include "base/near.h"

#include <stdint.h>
#include <string.h>

/* Keeps only the last two rows of the table. */
size_t near_distance(const char *a, const char *b)
{
	uint8_t row[NEAR_NAME_MAX + 1];
	size_t n = strlen(b);

	if (n > NEAR_NAME_MAX || strlen(a) > NEAR_NAME_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= n; j++)
		row[j] = (uint8_t)j;
	for (size_t i = 0; a[i] != '\0'; i++) {
		uint8_t corner = row[0];

		row[0] = (uint8_t)(i + 1);
		for (size_t j = 0; j < n; j++) {
			uint8_t swap = (uint8_t)(corner + (a[i] != b[j]));
			uint8_t less = (uint8_t)((row[j] < row[j + 1] ? row[j] : row[j + 1]) + 1);

			corner = row[j + 1];
			row[j + 1] = swap < less ? swap : less;
		}
	}
	return row[n];
}
