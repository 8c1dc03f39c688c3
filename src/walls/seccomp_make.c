// SPDX-License-Identifier: Apache-2.0
/*
 * Prints the seccomp programs as C. Runs once, when Vivarium is built: they depend on nothing that
 * is known later, and making one takes as long as a tenth of a cold start.
 */
#include <stdio.h>
#include <stdlib.h>

#include "walls/wall.h"

static int print_filter(const char *name, bool is_measured)
{
	struct sock_filter *filter = NULL;
	struct err err = {0};
	uint16_t count = 0;

	if (seccomp_build(is_measured, &filter, &count, &err) < 0) {
		(void)fprintf(stderr, "seccomp_make: %s\n", err.text);
		return -1;
	}
	(void)printf("static const struct sock_filter %s[] = {\n", name);
	for (size_t i = 0; i < count; i++)
		(void)printf("\t{%#x, %u, %u, %#x},\n", filter[i].code, filter[i].jt, filter[i].jf,
			     filter[i].k);
	(void)printf("};\n\n");
	free(filter);
	return 0;
}

int main(void)
{
	(void)printf("/* Made by seccomp_make.c of seccomp_table.c. */\n"
		     "#include \"base/c.h\"\n"
		     "#include \"walls/wall.h\"\n\n");
	if (print_filter("counted", false) < 0 || print_filter("measured", true) < 0)
		return 1;
	(void)printf(
		"const struct sock_filter *seccomp_program(bool is_measured, uint16_t *ret_count)\n"
		"{\n"
		"\t*ret_count = is_measured ? ARRAY_LEN(measured) : ARRAY_LEN(counted);\n"
		"\treturn is_measured ? measured : counted;\n"
		"}\n");
	return ferror(stdout) || fflush(stdout) != 0 ? 1 : 0;
}
