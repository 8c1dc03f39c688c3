// SPDX-License-Identifier: Apache-2.0
/*
 * with_walls INPUT PROGRAM ARGUMENTS... - runs a program in the room of attempt.h, behind every
 * wall but enter, with the file INPUT as its stdin.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attempt.h"
#include "base/c.h"

#define EXIT_SKIP 77

int main(int argc, char **argv)
{
	static const struct wall *const walls[] = {&wall_caps, &wall_landlock, &wall_fds,
						   &wall_rlimit, &wall_seccomp};
	static const char *const environment[] = {"PATH=/usr/bin:/bin", "HOME=/workspace",
						  "LANG=C.UTF-8", "MPLBACKEND=Agg", NULL};
	const char *must_run = getenv("VIV_MUST_RUN");
	struct walls_input input;
	int script;

	if (argc < 3) {
		(void)fprintf(stderr, "usage: with_walls INPUT PROGRAM ARGUMENTS...\n");
		return 2;
	}
	script = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (script < 0)
		give_up(argv[1]);
	if (room_enter() < 0)
		return must_run != NULL && strcmp(must_run, "1") == 0 ? 1 : EXIT_SKIP;

	room_input(&input);
	input.std[0] = script;
	for (size_t i = 0; i < ARRAY_LEN(walls); i++)
		put_up(walls[i], &input);
	(void)execve(argv[2], argv + 2, (char *const *)(uintptr_t)environment);
	give_up("execve");
}
