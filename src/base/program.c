// SPDX-License-Identifier: Apache-2.0
#include "base/program.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/c.h"

#ifndef VIV_LIBEXECDIR
#define VIV_LIBEXECDIR "/usr/libexec/vivarium"
#endif

int program_find(const char *name, char *ret_path, size_t size, struct err *err)
{
	static const char *const beside[] = {"", "../libexec/vivarium/"};
	char self[512];
	char *slash = NULL;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0)
		return err_sys(err, "read /proc/self/exe");
	self[n] = '\0';
	slash = strrchr(self, '/');
	if (slash != NULL)
		*slash = '\0';

	for (size_t i = 0; i < ARRAY_LEN(beside); i++) {
		if (snprintf(ret_path, size, "%s/%s%s", self, beside[i], name) < (int)size &&
		    access(ret_path, X_OK) == 0)
			return 0;
	}
	(void)snprintf(ret_path, size, "%s/%s", VIV_LIBEXECDIR, name);
	if (access(ret_path, X_OK) == 0)
		return 0;
	return err_set(err, ERR_INTERNAL, ENOENT,
		       "%s is neither beside viv (%.200s) nor in %s; install it there", name, self,
		       VIV_LIBEXECDIR);
}
