// SPDX-License-Identifier: Apache-2.0
#include "policy/host.h"

#include <stdio.h>

#include <sys/sysinfo.h>

uint64_t host_memory(void)
{
	struct sysinfo info;
	uint64_t memory =
		sysinfo(&info) == 0 ? (uint64_t)info.totalram * info.mem_unit : UINT64_MAX;
	unsigned long long limit = 0;
	FILE *file = fopen("/sys/fs/cgroup/memory.max", "re"); /* exists inside a container */

	if (file != NULL && fscanf(file, "%llu", &limit) == 1 && limit < memory)
		memory = limit;
	if (file != NULL)
		(void)fclose(file);
	return memory;
}
