// SPDX-License-Identifier: Apache-2.0
#include "fuzz.h"
#include "policy/imports.h"
#include "policy/runtime.h"

struct code {
	const char *start, *end;
	const char *last; /* where the last name was */
};

static void see(void *context, const char *name, size_t size)
{
	struct code *code = context;

	CLAIM(size > 0 && name >= code->start && name + size <= code->end);
	CLAIM(name >= code->last); /* forward only: linear time */
	code->last = name;
	(void)import_is_stdlib(name, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct code code = {(const char *)bytes, (const char *)bytes + size, (const char *)bytes};
	size_t count = 0;
	struct runtime *runtimes = runtime_built_ins(&count);

	imports_scan(bytes, size, see, &code);
	CLAIM(runtime_choose(runtimes, count, bytes, size, size % 2 == 0) != NULL);
	for (size_t i = 0; i < count; i++)
		runtime_done(&runtimes[i]);
	free(runtimes);
	return 0;
}
