// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <unistd.h>

#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/c.h"
#include "walls/wall.h"

/* Above any future capability; the loops end at the first number the kernel does not know. */
#define CAP_END 64

/*
 * uid 0 has no special rights, a change of uid restores nothing, nothing is kept over one, and
 * nothing can become ambient. The locks make each final, for everything that is ever started from
 * here.
 */
#define SECUREBITS                                                                                 \
	(SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |                           \
	 SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |   \
	 SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

static int lock_securebits(struct err *err)
{
	/* Already locked like this: setting it again would need CAP_SETPCAP. */
	if (prctl(PR_GET_SECUREBITS) == SECUREBITS)
		return 0;
	if (prctl(PR_SET_SECUREBITS, SECUREBITS) < 0)
		return err_sys(err, "lock securebits");
	return 0;
}

static int empty_bounding(struct err *err)
{
	for (int cap = 0; cap < CAP_END; cap++) {
		if (prctl(PR_CAPBSET_DROP, cap) == 0)
			continue;
		if (errno == EINVAL)
			break; /* the previous number was the kernel's last */
		/* Without CAP_SETPCAP nothing can be dropped; nothing needs to be if none is
		 * left. */
		if (prctl(PR_CAPBSET_READ, cap) > 0)
			return err_set(err, ERR_INTERNAL, EPERM, "capability %d cannot be dropped",
				       cap);
	}
	return 0;
}

static int empty_sets(struct err *err)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return err_sys(err, "clear ambient capabilities");
	if (syscall(SYS_capset, &header, none) < 0)
		return err_sys(err, "capset");
	return 0;
}

/* Reads every set back. Ambient needs no check: it is a subset of permitted (man 7
 * capabilities). */
static int verify(struct err *err)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &header, data) < 0)
		return err_sys(err, "capget");
	for (size_t i = 0; i < ARRAY_LEN(data); i++) {
		if (data[i].effective | data[i].permitted | data[i].inheritable)
			return err_set(err, ERR_INTERNAL, EPERM, "capabilities are left");
	}
	for (int cap = 0; cap < CAP_END; cap++) {
		int has = prctl(PR_CAPBSET_READ, cap);

		if (has < 0)
			break;
		if (has > 0)
			return err_set(err, ERR_INTERNAL, EPERM, "capability %d is left", cap);
	}
	if (prctl(PR_GET_SECUREBITS) != SECUREBITS || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return err_set(err, ERR_INTERNAL, EPERM, "securebits or no_new_privs are not set");
	return 0;
}

/*
 * Should:   leave no capability in any set, and no way to get one: not by uid 0, not by a file's
 *           set-uid bit or capabilities, not by a change of id.
 * Must not: need more than CAP_SETPCAP in the user namespace that enter has joined.
 */
static int caps_up(const struct walls_input *input, struct err *err)
{
	int r;

	(void)input;
	/* Both of these need CAP_SETPCAP, so they come before it is dropped. */
	r = lock_securebits(err);
	if (r < 0)
		return r;
	r = empty_bounding(err);
	if (r < 0)
		return r;

	r = empty_sets(err);
	if (r < 0)
		return r;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_sys(err, "no_new_privs");
	return verify(err);
}

const struct wall wall_caps = {
	.name = "caps",
	.ids = 1U << WALL_CAPS,
	.up = caps_up,
};
