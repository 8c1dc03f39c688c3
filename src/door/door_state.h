// SPDX-License-Identifier: Apache-2.0
/*
 * Door state - the inside of the kit, for its own files alone
 *
 * Owns:    one request through a door, from its head to the end of its answer.
 * May not: outlive it: a visit goes when the transport has let go, an answer was given, and nobody
 *          holds it any more.
 */
#pragma once

#include <netinet/in.h>
#include <sys/queue.h>

#include "api/parts.h"
#include "api/route.h"
#include "api/scan.h"
#include "door/doors.h"

#define VISIT_HEADERS_MAX 16
#define VISIT_TREE_COST 64           /* bytes of a tree for each of its text, at the worst */
#define VISIT_TREE_SMALL (16U << 10) /* text whose tree is not worth counting */
#define VISIT_BODY_SMALL                                                                           \
	(64U << 10) /* read to its end though it is answered: the connection lives */

/* A door that the config opens. */
struct opened {
	const struct door *door;
	void *state; /* owned: the door's own */
	bool is_open;
	TAILQ_ENTRY(opened) entry;
};

TAILQ_HEAD(opened_list, opened);

/* A route at the place where it is mounted. */
struct mounted {
	struct op op; /* first: its path whole, its members; found by route_find */
	char *path;   /* owned */
	const struct door_route *route;
	const struct opened *opened;
	bool is_shared; /* two doors would have it by default: so it is nobody's */
	TAILQ_ENTRY(mounted) entry;
};

TAILQ_HEAD(mounted_list, mounted);

/* Routes in the order of their tables. */
struct half {
	struct mounted_list list;
	const struct op **ops; /* owned: those of the list, NULL behind the last */
};

/* Where all of a door's routes are. */
struct mount {
	const struct opened *opened;
	TAILQ_ENTRY(mount) entry;
	char prefix[]; /* "": the root */
};

TAILQ_HEAD(mount_list, mount);

struct doors {
	struct doors_settings settings;
	struct opened_list opened; /* owned, each */
	struct mount_list mounts;  /* owned, each */
	struct half first, last;   /* before our own routes, and behind them */
	const struct opened *main; /* or NULL */
	uint64_t kept; /* bytes of all visits, beside their bodies: answers that nobody reads */
	uint32_t visit_count;
	bool is_closed;
};

struct memory {
	struct memory *next;
	max_align_t bytes[];
};

struct header {
	char *name, *value; /* owned */
};

struct visit {
	struct door_call call; /* first: what handlers see */
	struct doors *doors;
	struct http_request *request; /* borrowed; NULL: the transport has let go */
	const struct mounted *mounted;
	struct route route;
	struct scan *scan; /* owned; NULL: no members */
	struct parts parts;
	json_t *tree;                    /* owned */
	json_t *trees[SCAN_MEMBERS_MAX]; /* owned: of small members */
	struct memory *memory;           /* owned */
	struct header headers[VISIT_HEADERS_MAX];
	size_t header_count;
	char *origin; /* owned: allowed, so told; NULL: none */
	char peer[INET6_ADDRSTRLEN];
	struct router_held held;
	uint64_t kept; /* our part of doors->kept */
	uint64_t body_size;
	unsigned refs;
	bool is_refused; /* the body is no longer of interest */
	bool is_begun;   /* the handler has seen it */
	bool is_complete;
	bool is_answered;
	bool is_left_told;

	/* An answer that waits for the end of a small body. */
	unsigned status;
	char *type; /* owned */
	struct buf answer;
	bool is_waiting;

	/* A stream. */
	struct buf queue;
	size_t queue_at; /* up to here it was sent */
	bool is_stream, is_ended, is_cut, is_full;

	uint64_t start_ns;
};

struct visit *visit_new(struct doors *doors, struct http_request *request,
			const struct opened *opened);

/* The calls of a request that is a door's. */
extern const struct http_calls visit_calls;

/* Its head is there; found < 0: no such path (-ENOENT), not by this method (-EPERM). */
void visit_begin(struct visit *visit, int found, const struct err *err);

/* Answers in the door's own words. */
void visit_refuse(struct visit *visit, unsigned status, const struct err *err);

/* Is there memory for the tree of so much text? */
int visit_keep_tree(struct visit *visit, uint64_t size, struct err *err);

/* An answer that waited can go. */
void visit_send(struct visit *visit);

void visit_release(struct visit *visit); /* frees it once nobody needs it */
void doors_release(struct doors *doors);
