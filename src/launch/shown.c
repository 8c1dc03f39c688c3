// SPDX-License-Identifier: Apache-2.0
#include "launch/shown.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include <linux/mount.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include "base/c.h"
#include "launch/root_parts.h"

/* Kernels older than 6.x refuse an overlay with fewer than two layers: the second is a folder of
 * the root that is empty and cannot be written to. */
#define EMPTY "/tmp"

struct cover {
	int context; /* owned */
	int tree;    /* owned: the overlay, mounted nowhere yet */
};

static int set(int context, const char *key, const char *value)
{
	return (int)syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, key, value, 0);
}

/* Makes an overlay over `target`. The folder is named by a descriptor: its path could contain the
 * characters that separate options, and would show in the sandbox's mountinfo. */
static bool make_cover(const char *target, uint64_t attributes, struct cover *ret_cover)
{
	AUTO_CLOSE int folder = open(target, O_PATH | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int context = (int)syscall(SYS_fsopen, "overlay", FSOPEN_CLOEXEC);
	char layers[64];
	int tree;

	if (folder < 0 || context < 0)
		return false;
	(void)snprintf(layers, sizeof(layers), "/proc/self/fd/%d:" EMPTY, folder);
	/* No redirects: an attribute of a file must not point the overlay to another place. */
	if (set(context, "source", "shown") < 0 || set(context, "lowerdir", layers) < 0 ||
	    set(context, "redirect_dir", "nofollow") < 0 ||
	    syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return false;
	tree = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, (unsigned)attributes);
	if (tree < 0)
		return false;
	*ret_cover = (struct cover){.context = steal_fd(&context), .tree = tree};
	return true;
}

/* Puts the overlay in place of the folder, which is unmounted, so that nothing below the overlay
 * could be uncovered. A folder inside another is unmounted with it and mounted again after it:
 * parents come first in the list. */
static int put_cover(const struct cover *cover, const char *target, struct err *err)
{
	if (umount2(target, MNT_DETACH) < 0 && errno != EINVAL)
		return err_sys(err, "take %s away", target);
	if (syscall(SYS_move_mount, cover->tree, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return err_sys(err, "cover %s", target);
	return 0;
}

int shown_cover(const struct launch_root *root, struct shown *ret_shown, struct err *err)
{
	const uint64_t attributes =
		root->is_bare != 0 ? ROOT_READ_ONLY | MOUNT_ATTR_NOEXEC : ROOT_READ_ONLY;
	struct cover covers[LAUNCH_BINDS_MAX];
	size_t count = 0;
	int r = 0;

	*ret_shown = (struct shown){0};
	if (root->bind_count > 0 || root->is_bare != 0)
		ret_shown->how = SHOWN_APART;
	while (count < root->bind_count &&
	       make_cover(root->binds[count].target, attributes, &covers[count]))
		count++;
	if (count < root->bind_count) {
		ret_shown->how = SHOWN_DIRECT;
	} else {
		for (size_t i = 0; i < count && r == 0; i++) {
			r = put_cover(&covers[i], root->binds[i].target, err);
			ret_shown->contexts[ret_shown->count++] = steal_fd(&covers[i].context);
		}
	}
	for (size_t i = 0; i < count; i++) {
		drop_fd(&covers[i].context);
		drop_fd(&covers[i].tree);
	}
	return r;
}

void shown_take(struct shown *shown, uint32_t how, int *take_fds, size_t fd_count)
{
	*shown = (struct shown){.how = how};
	for (size_t i = 0; i < fd_count; i++) {
		if (shown->count < LAUNCH_BINDS_MAX)
			shown->contexts[shown->count++] = steal_fd(&take_fds[i]);
		drop_fd(&take_fds[i]);
	}
}

/* A reconfiguration that changes nothing: it makes the kernel drop every cached name that is not in
 * use (reconfigure_super). If it fails, stale names stay until the next try, which is harmless. */
void shown_refresh(const struct shown *shown)
{
	for (size_t i = 0; i < shown->count; i++) {
		int context = shown->contexts[i];

		/* Must be read-only again, or the kernel refuses. */
		(void)syscall(SYS_fsconfig, context, FSCONFIG_SET_FLAG, "ro", NULL, 0);
		(void)syscall(SYS_fsconfig, context, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0);
	}
}

void shown_done(struct shown *shown)
{
	for (size_t i = 0; i < shown->count; i++)
		drop_fd(&shown->contexts[i]);
	shown->count = 0;
}
