// SPDX-License-Identifier: Apache-2.0
#include "base/id.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <sys/random.h>

#define ID_CHARACTERS 26

void id_new(const char *prefix, char ret_id[ID_SIZE])
{
	static const char alphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";
	uint8_t random[ID_CHARACTERS];
	char text[ID_CHARACTERS + 1];

	/* Reads of up to 256 bytes are never short once the pool is ready (man 2 getrandom). */
	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		abort();
	for (size_t i = 0; i < ID_CHARACTERS; i++)
		text[i] = alphabet[random[i] % 32];
	text[ID_CHARACTERS] = '\0';
	(void)snprintf(ret_id, ID_SIZE, "%.12s%s", prefix, text);
}
