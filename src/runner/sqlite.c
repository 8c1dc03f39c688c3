// SPDX-License-Identifier: Apache-2.0
#define PY_SSIZE_T_CLEAN
#include "runner/sqlite.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

#include "base/c.h"

#define FOUND_MAX 16

struct found {
	const char *names[FOUND_MAX]; /* borrowed from the loader: libraries stay loaded */
	size_t count;
};

static int note_name(struct dl_phdr_info *info, size_t size, void *user)
{
	struct found *found = user;

	(void)size;
	if (strstr(info->dlpi_name, "sqlite") != NULL && found->count < FOUND_MAX)
		found->names[found->count++] = info->dlpi_name;
	return 0;
}

/* Python loads each extension module with local symbols: they are found only through its own
 * handle. */
static void forget_in(void *library)
{
	void *symbol = dlsym(library, "sqlite3_randomness");
	void (*randomness)(int size, void *bytes) = NULL;

	if (symbol == NULL)
		return;
	memcpy(&randomness, &symbol, sizeof(randomness));
	randomness(0,
		   NULL); /* a size of 0 resets the generator: sqlite.org/c3ref/randomness.html */
}

PyObject *sqlite_forget(PyObject *self, PyObject *args)
{
	struct found found = {0};

	(void)self;
	(void)args;
	(void)dl_iterate_phdr(note_name, &found);
	forget_in(RTLD_DEFAULT);
	for (size_t i = 0; i < found.count; i++) {
		void *library = dlopen(found.names[i], RTLD_LAZY | RTLD_NOLOAD);

		if (library == NULL)
			continue;
		forget_in(library);
		(void)dlclose(library);
	}
	Py_RETURN_NONE;
}
