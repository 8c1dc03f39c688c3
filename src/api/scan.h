// SPDX-License-Identifier: Apache-2.0
/*
 * Scan - the JSON body of a request, taken apart as it comes
 *
 * Owns:    which member goes where: large ones (code, data, files) as bytes into the parts, texts
 *          among them decoded on the way; small ones as JSON text for a tree of at most
 *          SCAN_SMALL_MAX. Unknown and repeated members are refused by name, or for the doors that
 *          stand in for others read over.
 * May not: build a tree, keep a body twice, or do more work than the piece at hand asks for.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/param.h"
#include "api/parts.h"
#include "api/walk.h"
#include "base/buf.h"
#include "base/err.h"
#include "op/op.h"

#define SCAN_SMALL_MAX (1U << 20) /* all small members together */
#define SCAN_TEXT_MAX (16U << 20) /* one OP_BYTES member whose row has no `max` */
#define SCAN_MEMBERS_MAX 64

enum scan_kind {
	SCAN_SMALL, /* JSON text in scan->small */
	SCAN_RAW,   /* JSON text in scan->parts */
	SCAN_TEXT,  /* what a JSON string says, in scan->parts */
	SCAN_OVER,  /* read over */
};

struct scan_member {
	const struct op_param *param; /* its row; of an object with dotted rows, the first */
	char name[PARAM_NAME_MAX];    /* at the top of the body */
	enum scan_kind kind;
	bool is_null;  /* the same as not given */
	bool is_wrong; /* of a lenient scan: not what its row wants, and not kept */
	uint64_t at, size;
};

/* The elements of a list of files, as far as they have been read. */
struct scan_files {
	uint64_t index; /* of the element */
	char key[16];   /* of its member, decoded so far; longer ones are none of ours */
	size_t key_size;
	unsigned given; /* of its members: a bit each */
	bool is_at_value;
	bool is_in_value;    /* between its quotes */
	size_t dots;         /* of a path: how many its last part is of, if of these alone */
	size_t digits, pads; /* of base64 */
};

struct scan {
	const struct op *op; /* borrowed */
	uint64_t body_max;
	bool is_lenient; /* set after scan_init: unknown members are read over, the last of two with
			    one name counts, a body that is no object has none */
	bool is_other;   /* ... it is no object */
	struct walk walk;
	struct scan_member members[SCAN_MEMBERS_MAX];
	size_t count;
	struct scan_member over;    /* stands for all that is read over */
	struct scan_member *member; /* the one being read; NULL: between members */
	bool is_in_value;
	char key[PARAM_NAME_MAX + 4]; /* decoded so far, NUL behind it */
	size_t key_size;
	char start[5]; /* the first bytes of the value: is it null? */
	uint8_t start_size;
	uint64_t values;    /* of the small members */
	struct err refusal; /* of a member; waits for the end, since broken JSON is told first */
	struct scan_files files;
	struct buf small;
	struct parts parts;
};

void scan_init(struct scan *scan, const struct op *op, uint64_t body_max);
void scan_done(struct scan *scan);

/* The next piece. ERR_BAD_REQUEST for what is not JSON, ERR_TOO_LARGE. After a failure only
 * scan_done may follow. */
int scan_feed(struct scan *scan, const void *data, size_t size, struct err *err);

/* The body is over. An empty one is an object without members. ERR_BAD_REQUEST for what ends too
 * early, and then for the first member that was not asked for; the message starts with its name and
 * a colon. */
int scan_finish(struct scan *scan, struct err *err);

/* scan_files.c: a step inside of a list of files: [{path, text | base64}], nothing else. */
int scan_files_step(struct scan *scan, enum walk_step step, const uint8_t *from, const uint8_t *to,
		    struct err *err);

/* By its name at the top of the body; NULL when it was not given (or null). */
const struct scan_member *scan_find(const struct scan *scan, const char *name);
