// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

#include <linux/landlock.h>
#include <sys/syscall.h>

#include "base/c.h"
#include "walls/wall.h"

/* The newest ABI this file knows; a newer kernel is used as if it had this one. */
#define ABI_KNOWN 7

/* Debian 12's headers end at ABI 2. The numbers are the kernel's (linux/landlock.h). */
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif
#ifndef LANDLOCK_ACCESS_FS_IOCTL_DEV
#define LANDLOCK_ACCESS_FS_IOCTL_DEV (1ULL << 15)
#endif
#ifndef LANDLOCK_ACCESS_NET_BIND_TCP
#define LANDLOCK_ACCESS_NET_BIND_TCP (1ULL << 0)
#define LANDLOCK_ACCESS_NET_CONNECT_TCP (1ULL << 1)
#endif
#ifndef LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
#define LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET (1ULL << 0)
#define LANDLOCK_SCOPE_SIGNAL (1ULL << 1)
#endif
#ifndef LANDLOCK_RESTRICT_SELF_LOG_SAME_EXEC_OFF
#define LANDLOCK_RESTRICT_SELF_LOG_SAME_EXEC_OFF (1U << 0)
#endif

#define READ                                                                                       \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define WRITE_A_FILE (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE)
/* Everything but devices: neither making them (MAKE_CHAR, MAKE_BLOCK) nor ioctls on them
 * (IOCTL_DEV). */
#define WRITE                                                                                      \
	(WRITE_A_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |           \
	 LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |                               \
	 LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |                             \
	 LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER)

/* struct landlock_ruleset_attr of ABI 6; an older kernel accepts it while the rest is 0. */
struct ruleset {
	uint64_t fs, net, scoped;
};

/*
 * The whole root may be read: it is read-only and holds only what launch mounted for this sandbox,
 * and a list of its folders here would have to know every policy's mounts. /proc is in it, so this
 * is also what keeps /proc/self/mem and the like from being written.
 */
static const struct {
	const char *path;
	uint64_t access;
} rules[] = {
	{"/", READ},
	{"/workspace", WRITE},
	{"/tmp", WRITE},
	{"/dev/shm", WRITE},
	{"/dev/null", WRITE_A_FILE},
	{"/dev/zero", WRITE_A_FILE},
	{"/dev/full", WRITE_A_FILE},
};

uint32_t landlock_probe(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	return abi > 0 ? (uint32_t)abi : 0;
}

uint32_t landlock_abi_used(uint32_t abi)
{
	return abi < ABI_KNOWN ? abi : ABI_KNOWN;
}

/* Everything that this ABI can forbid. An access that is handled and has no rule is refused. */
static struct ruleset ruleset_of(uint32_t abi)
{
	struct ruleset all = {0};

	all.fs = LANDLOCK_ACCESS_FS_MAKE_SYM | (LANDLOCK_ACCESS_FS_MAKE_SYM - 1);
	if (abi >= 2)
		all.fs |= LANDLOCK_ACCESS_FS_REFER;
	if (abi >= 3)
		all.fs |= LANDLOCK_ACCESS_FS_TRUNCATE;
	if (abi >= 4)
		all.net = LANDLOCK_ACCESS_NET_BIND_TCP | LANDLOCK_ACCESS_NET_CONNECT_TCP;
	if (abi >= 5)
		all.fs |= LANDLOCK_ACCESS_FS_IOCTL_DEV;
	if (abi >= 6)
		all.scoped = LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | LANDLOCK_SCOPE_SIGNAL;
	return all;
}

static int allow_beneath(int ruleset, const char *path, uint64_t access, struct err *err)
{
	struct landlock_path_beneath_attr rule = {.allowed_access = access};
	AUTO_CLOSE int fd = open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return err_sys(err, "open %s", path);

	rule.parent_fd = fd;
	if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
		return err_sys(err, "rule %s", path);
	return 0;
}

/*
 * Should:   let everything be read, and only the three tmpfs and three devices be written; refuse
 *           TCP (ABI 4), ioctls of devices (5), signals and abstract sockets to the outside (6).
 * Must not: stand on a kernel without landlock, leave a descriptor, or let what it refuses fill the
 *           host's audit log (7).
 */
static int landlock_up(const struct walls_input *input, struct err *err)
{
	uint32_t abi = landlock_abi_used(input->landlock_abi);
	const struct ruleset all = ruleset_of(abi);
	uint32_t flags = abi >= 7 ? LANDLOCK_RESTRICT_SELF_LOG_SAME_EXEC_OFF : 0;
	AUTO_CLOSE int ruleset = -1;

	if (abi < LANDLOCK_ABI_FLOOR)
		return err_set(err, ERR_UNSUPPORTED, EOPNOTSUPP,
			       "landlock is off on this kernel; boot with lsm=landlock,...");

	ruleset = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof(all), 0);
	if (ruleset < 0)
		return err_sys(err, "create a ruleset of ABI %u", abi);
	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		int r = allow_beneath(ruleset, rules[i].path, rules[i].access & all.fs, err);

		if (r < 0)
			return r;
	}
	if (syscall(SYS_landlock_restrict_self, ruleset, flags) < 0)
		return err_sys(err, "restrict");
	return 0;
}

const struct wall wall_landlock = {
	.name = "landlock",
	.ids = 1U << WALL_LANDLOCK,
	.up = landlock_up,
};
