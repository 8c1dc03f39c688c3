// SPDX-License-Identifier: Apache-2.0
#include "op/wall_facts.h"

#include "base/c.h"
#include "policy/plan.h"

#define CGROUP_REMEDY "systemd-run --user --scope -p Delegate=yes viv serve"
#define IDS_REMEDY                                                                                 \
	"sudo apt install uidmap && sudo usermod --add-subuids 100000-165535 "                     \
	"--add-subgids 100000-165535 \"$USER\""

static const char *const stops[] = {
	[WALL_USER] = "Root inside is nobody outside: no power over the host comes with any id.",
	[WALL_MOUNT] = "Code sees a file system of its own; the host's files are not there.",
	[WALL_PID] = "Code sees and signals only its own processes, and all end with the sandbox.",
	[WALL_NET] = "There is no network, not even loopback to services of the host.",
	[WALL_IPC] = "No shared memory, semaphores or queues reach out of the sandbox.",
	[WALL_UTS] = "The host's name is neither seen nor changed.",
	[WALL_CGROUP] = "The kernel itself limits memory, processes and processor time.",
	[WALL_FDS] = "No open file or socket of the daemon is inherited.",
	[WALL_RLIMIT] = "Open files, core dumps and locked memory are limited for each process.",
	[WALL_CAPS] = "Every capability is gone, and none can be regained.",
	[WALL_LANDLOCK] = "The kernel refuses every file beyond the few that the runtime needs.",
	[WALL_SECCOMP] = "System calls that ordinary Python does not need do not exist.",
};
_Static_assert(ARRAY_LEN(stops) == WALL_COUNT, "a wall has no sentence");

static void put(struct object *object, const char *name, bool is_on, const char *what,
		const char *why, const char *remedy)
{
	object_open(object, NULL, '{');
	object_text(object, "name", name);
	object_bool(object, "on", is_on);
	object_text(object, "what", what);
	object_text(object, "why", is_on ? NULL : why);
	object_text(object, "remedy", is_on ? NULL : remedy);
	object_close(object, '}');
}

void wall_facts_put(struct object *object, const struct backend_seen *seen, const char *why,
		    const char *remedy)
{
	const struct backend_facts *facts = seen->facts;
	uint32_t up = facts != NULL ? facts->walls : 0;

	object_open(object, "wall_facts", '[');
	for (unsigned id = 0; id < WALL_COUNT; id++) {
		bool is_measured = id == WALL_CGROUP && facts != NULL;

		if (seen->backend->walls & 1U << id)
			put(object, wall_name((enum wall_id)id), up & 1U << id, stops[id],
			    is_measured ? facts->why.text : why,
			    is_measured ? CGROUP_REMEDY : remedy);
	}
	if (seen->backend->walls & 1U << WALL_USER)
		put(object, "ids", facts != NULL && facts->uid_count > 1,
		    "Each sandbox has a host id that no other one has.",
		    facts != NULL
			    ? "there is only one id: all sandboxes share it, and all limits per id"
			    : why,
		    facts != NULL ? IDS_REMEDY : remedy);
	object_close(object, ']');
}
