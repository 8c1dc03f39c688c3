// SPDX-License-Identifier: Apache-2.0
#include "launch/roots.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <sys/epoll.h>

#include "base/c.h"
#include "base/io.h"
#include "launch/root.h"

void roots_init(struct inner *inner)
{
	for (size_t i = 0; i < LAUNCH_ROOTS_MAX; i++)
		inner->roots[i] = (struct inner_root){.mntns = -1, .builder = -1};
}

/* Passes the root to a shell that waits on its status socket; the shell answers there when it is
 * up. */
static void hand_over(const struct inner_root *root, struct box *box)
{
	struct err err = root->err;

	box->waits_root = false;
	if (box->is_dying || box->status < 0)
		return;
	if (err.kind == ERR_NONE &&
	    io_send_fds(box->status, &err, sizeof(err), &root->mntns, 1) < 0)
		(void)err_set(&err, ERR_INTERNAL, EIO, "a shell did not take its root");
	if (err.kind != ERR_NONE)
		boxes_fail(box, &err);
}

void roots_settle(struct inner *inner, uint32_t id)
{
	struct inner_root *root = &inner->roots[id];
	AUTO_CLOSE int builder = steal_fd(&root->builder);
	struct box *box = NULL;

	if (builder < 0)
		return;
	(void)epoll_ctl(inner->epoll, EPOLL_CTL_DEL, builder, NULL);
	(void)root_finish(id, builder, &root->mntns, &root->err);
	LIST_FOREACH(box, &inner->boxes, next) {
		if (box->waits_root && box->spawn.root == id)
			hand_over(root, box);
	}
	inner_tell_err(inner, LAUNCH_ROOT_MADE, id, &root->err);
}

/* Builds a root under a number in use. The old root serves until the new one is built, and stays if
 * that fails. */
static void replace(struct inner *inner, const struct launch_root *request, int builder)
{
	struct inner_root *root = &inner->roots[request->root];
	int mntns = -1;

	if (root_finish(request->root, builder, &mntns, &root->err) == 0) {
		drop_fd(&root->mntns);
		root->mntns = mntns;
		root->made_of = *request;
	}
	inner_tell_err(inner, LAUNCH_ROOT_MADE, request->root, &root->err);
}

void roots_make(struct inner *inner, const struct launch_root *request, const int *fds)
{
	struct inner_root *root = &inner->roots[request->root];
	AUTO_CLOSE int builder = -1;

	roots_settle(inner, request->root);
	root->err = (struct err){0};
	/* The outer half has checked the number of descriptors. */
	if (root_start(request, fds[0], fds + 1, &builder, &root->err) < 0) {
		inner_tell_err(inner, LAUNCH_ROOT_MADE, request->root, &root->err);
	} else if (root->mntns >= 0 ||
		   inner_watch_root(inner, builder, request->root, &root->err) < 0) {
		root->err = (struct err){0};
		replace(inner, request, builder);
	} else {
		root->made_of = *request;
		root->builder = steal_fd(&builder);
	}
}

int roots_take(struct inner *inner, struct box *box, struct shell_input *shell, struct err *err)
{
	const struct inner_root *root = &inner->roots[box->spawn.root];

	shell->mntns = root->mntns;
	shell->root = &root->made_of;
	box->waits_root = root->builder >= 0;
	if (root->mntns >= 0 || box->waits_root)
		return 0;
	if (root->err.kind == ERR_NONE)
		return err_set(err, ERR_NOT_FOUND, ENOENT, "no root %u", box->spawn.root);
	*err = root->err;
	return err_code(err);
}

void roots_forget(struct inner *inner)
{
	for (uint32_t i = 0; i < LAUNCH_ROOTS_MAX; i++) {
		roots_settle(inner, i);
		drop_fd(&inner->roots[i].mntns);
	}
}
