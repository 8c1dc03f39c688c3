// SPDX-License-Identifier: Apache-2.0
/*
 * Scan - the JSON body of a request, taken apart as it comes
 *
 * Owns:    which member goes where: large ones (code, data, files) as bytes into the parts, strings
 *          among them decoded on the way; small ones as JSON text of at most SCAN_SMALL_MAX, for a
 *          tree. Unknown and repeated members are refused by name; for foreign doors unknown ones
 *          are skipped, and of repeated ones the last counts.
 * May not: build a tree, keep a body twice, or do more work than the piece at hand asks for.
 */
#pragma once

#include <sodium.h>
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
#define SCAN_FILES_MAX 65536U    /* elements of a list of files */
#define SCAN_PATH_MAX 4096U      /* bytes of a path in it */
#define SCAN_SEEN_MAX (1U << 20) /* names in one object; paths and their folders in one list */

enum scan_kind {
	SCAN_SMALL, /* JSON text in scan->small */
	SCAN_RAW,   /* JSON text in scan->parts */
	SCAN_TEXT,  /* what a JSON string says, in scan->parts */
	SCAN_OVER,  /* skipped */
};

struct scan_member {
	const struct op_param *param; /* its row; of an object with dotted rows, the first */
	char name[PARAM_NAME_MAX];    /* at the top of the body */
	enum scan_kind kind;
	bool is_null;  /* the same as not given */
	bool is_wrong; /* lenient scan: not what its row wants, and not kept */
	uint64_t at, size;
};

/* A set of names, as 8-byte sums. */
struct scan_seen {
	uint64_t *sums;  /* owned: hash table; 0: an empty place */
	size_t capacity; /* a power of two, or 0 */
	size_t count;
};

/* The elements of a list of files, as far as they have been read. */
struct scan_files {
	uint64_t index; /* of the element */
	char key[16];   /* name of its member, decoded so far; longer names are unknown */
	size_t key_size;
	unsigned given; /* a bit for each member that was given */
	bool is_at_value;
	bool is_in_value; /* between the quotes of the value */
	char path[SCAN_PATH_MAX];
	size_t path_size;
	size_t digits, pads;   /* of base64 */
	struct scan_seen seen; /* all paths so far */
};

enum scan_table_part {
	TABLE_NONE, /* none has begun */
	TABLE_COLUMNS,
	TABLE_ROWS,
	TABLE_PART_COUNT,
};

/* A table, as far as it has been read. */
struct scan_table {
	bool is_records;                   /* a list of objects */
	uint64_t values;                   /* of the walk, up to here */
	uint64_t row;                      /* number of the row that is read, or comes next */
	uint64_t width;                    /* values in it so far */
	uint64_t counts[TABLE_PART_COUNT]; /* columns; values of the first row */
	bool has[TABLE_PART_COUNT];
	char key[PARAM_NAME_MAX]; /* name of its member, decoded so far; longer names are cut */
	size_t key_size;
	enum scan_table_part part; /* the one being read */
};

/* The names in a member's objects, as far as they have been read. */
struct scan_names {
	struct scan_seen seen[WALK_DEPTH_MAX]; /* of the object that is open at each depth */
	char name[PARAM_NAME_MAX];             /* what `sum` leaves out, decoded */
	size_t size;
	uint64_t sum; /* of the name's earlier bytes; 0: there are none */
};

struct scan {
	const struct op *op; /* borrowed */
	uint64_t body_max;
	bool is_lenient; /* set after scan_init: unknown members are skipped, of repeated ones the
			    last counts, a body that is no object has none */
	bool is_other;   /* lenient scan: the body is no object */
	struct walk walk;
	struct scan_member members[SCAN_MEMBERS_MAX];
	size_t count;
	struct scan_member over;    /* stands for every skipped member */
	struct scan_member *member; /* the one being read; NULL: between members */
	bool is_in_value;
	char key[PARAM_NAME_MAX + 4]; /* decoded so far, NUL-terminated */
	size_t key_size;
	char start[5]; /* the first bytes of the value: is it null? */
	uint8_t start_size;
	uint64_t values;    /* of the small members */
	struct err refusal; /* of a member; reported at the end, as broken JSON comes first */
	struct scan_files files;
	struct scan_table table;
	struct scan_names names;
	unsigned char sum_key[crypto_shorthash_KEYBYTES];
	bool has_sum_key;
	struct buf small;
	struct parts parts;
};

void scan_init(struct scan *scan, const struct op *op, uint64_t body_max);
void scan_done(struct scan *scan);

/* Takes the next piece. ERR_BAD_REQUEST: not JSON; ERR_TOO_LARGE. After a failure only scan_done
 * may follow. */
int scan_feed(struct scan *scan, const void *data, size_t size, struct err *err);

/* Ends the body; an empty one is an object without members. ERR_BAD_REQUEST: the JSON ends too
 * early, or else the first member that is refused; the message starts with its name and a colon. */
int scan_finish(struct scan *scan, struct err *err);

/* scan_seen.c: the sum of bytes that follow others, whose sum is `before` (0: none do). Its key is
 * one that no client knows, so none can make two sums equal. */
uint64_t scan_sum(struct scan *scan, uint64_t before, const void *bytes, size_t size);
bool scan_seen_has(const struct scan_seen *seen, uint64_t sum);
/* 1: added; 0: it was there already; -E2BIG: SCAN_SEEN_MAX are in it; -ENOMEM. */
int scan_seen_add(struct scan_seen *seen, uint64_t sum);
void scan_seen_clear(struct scan_seen *seen);
void scan_seen_done(struct scan_seen *seen);

/* scan_files.c: a step inside a list of files: [{path, text | base64}], nothing else, and each path
 * once. */
int scan_files_step(struct scan *scan, enum walk_step step, const uint8_t *from, const uint8_t *to,
		    struct err *err);
void scan_files_done(struct scan_files *files);

/* scan_table.c: a step inside a table: {columns, rows}, or a list of objects. */
int scan_table_step(struct scan *scan, enum walk_step step, const uint8_t *from, const uint8_t *to,
		    struct err *err);

/* scan_names.c: a step inside any JSON: refuses an object that has a name twice. */
int scan_names_step(struct scan *scan, enum walk_step step, const uint8_t *from, const uint8_t *to,
		    struct err *err);
void scan_names_done(struct scan_names *names);

/* A member by its name at the top of the body; NULL: not given, or null. */
const struct scan_member *scan_find(const struct scan *scan, const char *name);
