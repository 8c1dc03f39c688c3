// SPDX-License-Identifier: Apache-2.0
/*
 * Prints the seccomp programs as C. Runs once, at build time: the programs depend on nothing that
 * is known later, and making one takes a tenth of a cold start.
 */
#include <stdio.h>
#include <stdlib.h>

#include "walls/wall.h"

static int print_filter(const struct seccomp_kind *kind)
{
	struct sock_filter *filter = NULL;
	struct err err = {0};
	uint16_t count = 0;

	if (seccomp_build(kind, &filter, &count, &err) < 0) {
		(void)fprintf(stderr, "seccomp_make: %s\n", err.text);
		return -1;
	}
	(void)printf("static const struct sock_filter program_%d_%u[] = {\n", kind->is_measured,
		     kind->shown);
	for (size_t i = 0; i < count; i++)
		(void)printf("\t{%#x, %u, %u, %#x},\n", filter[i].code, filter[i].jt, filter[i].jf,
			     filter[i].k);
	(void)printf("};\n\n");
	free(filter);
	return 0;
}

static void print_choice(void)
{
	(void)printf("const struct sock_filter *seccomp_program(const struct seccomp_kind *kind, "
		     "uint16_t *ret_count)\n"
		     "{\n");
	for (int measured = 0; measured < 2; measured++) {
		for (uint32_t shown = 0; shown < SHOWN_COUNT; shown++)
			(void)printf("\tif (kind->is_measured == %d && kind->shown == %u) {\n"
				     "\t\t*ret_count = ARRAY_LEN(program_%d_%u);\n"
				     "\t\treturn program_%d_%u;\n"
				     "\t}\n",
				     measured, shown, measured, shown, measured, shown);
	}
	(void)printf("\t*ret_count = 0;\n"
		     "\treturn 0;\n"
		     "}\n");
}

int main(void)
{
	(void)printf("/* Made by seccomp_make.c of seccomp_table.c. */\n"
		     "#include \"base/c.h\"\n"
		     "#include \"walls/wall.h\"\n\n");
	for (uint32_t shown = 0; shown < SHOWN_COUNT; shown++) {
		const struct seccomp_kind counted = {.shown = shown};
		const struct seccomp_kind measured = {.is_measured = true, .shown = shown};

		if (print_filter(&counted) < 0 || print_filter(&measured) < 0)
			return 1;
	}
	print_choice();
	return ferror(stdout) || fflush(stdout) != 0 ? 1 : 0;
}
