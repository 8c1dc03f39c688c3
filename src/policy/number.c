// SPDX-License-Identifier: Apache-2.0
#include "policy/number.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/c.h"

/* All values fit a signed 64-bit number, as JSON clients and kernel files expect. */
#define NUMBER_MAX ((uint64_t)INT64_MAX)

struct unit {
	const char *name;
	uint64_t factor;
};

/* Largest first: number_format uses the first that divides. The later spellings are input only. */
static const struct unit sizes[] = {
	{"GiB", GIB}, {"MiB", MIB}, {"KiB", KIB}, {"", 1},    {"G", GIB}, {"M", MIB},
	{"K", KIB},   {"B", 1},     {"g", GIB},   {"m", MIB}, {"k", KIB},
};
#define SIZES_OUT 4

static const struct unit times[] = {
	{"h", 3600000},
	{"m", 60000},
	{"s", 1000},
	{"ms", 1},
};

static int take_digits(const char **text, uint64_t *ret_number)
{
	const char *p = *text;
	uint64_t number = 0;

	for (; *p >= '0' && *p <= '9'; p++) {
		uint64_t digit = (uint64_t)(*p - '0');

		if (number > (NUMBER_MAX - digit) / 10)
			return -ERANGE;
		number = number * 10 + digit;
	}
	if (p == *text)
		return -EINVAL;

	*text = p;
	*ret_number = number;
	return 0;
}

static int take_unit(const char *text, const struct unit *units, size_t count, uint64_t *number)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(text, units[i].name) != 0)
			continue;
		if (*number > NUMBER_MAX / units[i].factor)
			return -ERANGE;
		*number *= units[i].factor;
		return 0;
	}
	return -EINVAL;
}

/* "2", "0.5", "1.25": at most three decimals, because cpu.max is set in thousandths. */
static int parse_cpus(const char *text, uint64_t *ret_number)
{
	uint64_t whole, part = 0;
	int r;

	r = take_digits(&text, &whole);
	if (r < 0)
		return r;
	if (whole > NUMBER_MAX / 1000 - 1)
		return -ERANGE;
	if (*text == '.') {
		const char *start = ++text;

		r = take_digits(&text, &part);
		if (r < 0)
			return r;
		if (text - start > 3)
			return -EINVAL;
		for (ptrdiff_t i = text - start; i < 3; i++)
			part *= 10;
	}
	if (*text != '\0')
		return -EINVAL;

	*ret_number = whole * 1000 + part;
	return 0;
}

int number_parse(enum number_type type, const char *text, uint64_t *ret_number)
{
	uint64_t number;
	int r;

	if (type == NUMBER_CPUS)
		return parse_cpus(text, ret_number);

	r = take_digits(&text, &number);
	if (r < 0)
		return r;
	if (type == NUMBER_BYTES)
		r = take_unit(text, sizes, ARRAY_LEN(sizes), &number);
	else if (type == NUMBER_MS)
		r = take_unit(text, times, ARRAY_LEN(times), &number);
	else if (*text != '\0')
		r = -EINVAL;
	if (r < 0)
		return r;

	*ret_number = number;
	return 0;
}

static void format_unit(const struct unit *units, size_t count, uint64_t number, char *ret_text,
			size_t size)
{
	size_t i = 0;

	while (i < count - 1 && (number == 0 || number % units[i].factor != 0))
		i++;
	(void)snprintf(ret_text, size, "%" PRIu64 "%s", number / units[i].factor, units[i].name);
}

void number_format(enum number_type type, uint64_t number, char *ret_text, size_t size)
{
	if (type == NUMBER_BYTES) {
		format_unit(sizes, SIZES_OUT, number, ret_text, size);
	} else if (type == NUMBER_MS) {
		/* Prints 120s, not 2m: small limits are given in seconds. */
		size_t first = number > 120000 ? 0 : 2;

		format_unit(times + first, ARRAY_LEN(times) - first, number, ret_text, size);
	} else if (type == NUMBER_CPUS && number % 1000 != 0) {
		int n = snprintf(ret_text, size, "%" PRIu64 ".%03" PRIu64, number / 1000,
				 number % 1000);

		for (; n > 1 && (size_t)n <= size && ret_text[n - 1] == '0'; n--)
			ret_text[n - 1] = '\0';
	} else {
		(void)snprintf(ret_text, size, "%" PRIu64,
			       type == NUMBER_CPUS ? number / 1000 : number);
	}
}
