// SPDX-License-Identifier: Apache-2.0
/*
 * Namespace - the inside of the backend `namespace`, for namespace.c and box.c alone
 *
 * Owns:    nothing of its own: namespace.c opens viv-launch and makes boxes, box.c asks launch
 *          about one of them and passes on what launch tells.
 */
#pragma once

#include "backend/backend.h"
#include "backend/namespace/launcher.h"
#include "backend/namespace/meter.h"
#include "backend/namespace/zygote.h"

struct namespace_box {
	struct box box;              /* first: box.h */
	struct namespace *namespace; /* borrowed: it owns the box */
	int32_t zygote;              /* zygote that it is being forked from; -1: none */
	bool is_kept;                /* launch keeps its descriptors for the next viv */
	struct meter meter;
};

struct namespace
{
	struct backend_instance instance;  /* first: backend.h */
	const struct backend_calls *calls; /* a static row */
	void *user;                        /* borrowed until `close` */
	struct launcher *launcher;         /* owned */
	struct zygotes *zygotes;           /* owned */
	struct meters meters;              /* of all boxes */
	struct backend_facts facts;
	struct namespace_box *boxes[LAUNCH_SANDBOXES_MAX]; /* owned, by number; NULL: free */
	uint32_t next;                                     /* number to try first */
};

extern const struct box_impl namespace_box_impl;

/* Handles an event of launch about one of our boxes. */
void namespace_box_event(struct namespace_box *box, const struct launch_event *event, int *take_fds,
			 size_t fd_count);

void namespace_box_free(struct namespace_box *box);
