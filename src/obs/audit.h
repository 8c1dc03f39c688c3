// SPDX-License-Identifier: Apache-2.0
/*
 * Audit - who ran what, and how it ended: one line of JSON for each run
 *
 * Owns:    the file (0600, only ever appended to, one write for a line), the one before it, and the
 *          members of a line.
 * May not: hold code or output, but the code where the policy says so; nor hold up a run: a line
 *          that cannot be written is counted, told once a minute, and gone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define AUDIT_SHA256_SIZE 65
#define AUDIT_CODE_MAX (1U << 20) /* bytes of code in a line; its sum is of all of it */

struct audit;

/* Everything is borrowed for the call. NULL is null. */
struct audit_run {
	const char *run, *session;
	const char *token;  /* its name; NULL or "": a caller without one */
	const char *peer;   /* "unix" or an address */
	const char *via;    /* the door it came through */
	const char *client; /* what it calls itself; NULL or "": nothing */
	const char *op;
	const char *policy, *runtime;
	const char *sha256; /* of the code or command, by audit_sha256 when it came */
	const void *code;   /* only where the policy has audit_code; NULL: not told */
	size_t code_size;
	const char *decided_by; /* who allowed or denied it; NULL or "": nobody was asked */
	const char *verdict;    /* its kind */
	int exit_code;
	const char *state; /* "none", "preserved", "rolled_back", "lost" */
	double queue_ms, wall_ms, cpu_ms;
	uint64_t peak_memory, output_bytes;
};

/* Told at most once a minute while lines are lost: why the last one was, and how many in all. */
struct audit_calls {
	void (*warn)(void *user, const struct err *err, uint64_t lost); /* may be NULL */
	void *user;
};

/* Opens or makes the file; its directory is there. */
int audit_open(const char *path, const struct audit_calls *calls, struct audit **ret_audit,
	       struct err *err);
void audit_close(struct audit *audit);

/* After the file was renamed: goes on in a new one of the old name. On failure it goes on in the
 * renamed one. */
int audit_reopen(struct audit *audit, struct err *err);

/* Bounds the log: before it grows beyond `max` bytes the file gets the name FILE.1, in place of the
 * one that had it, and a new one is begun. 0: never. What cannot be renamed grows on, with a
 * warning once a minute: no line is lost for it. */
void audit_limit(struct audit *audit, uint64_t max);

void audit_put(struct audit *audit, const struct audit_run *run);

/* The last `count` lines that are wanted, oldest first, appended to `buf` with commas between: from
 * the file and the one before it. Only the end of a long file is looked at. Lines that are no JSON
 * object of ours are passed over. */
int audit_tail(const struct audit *audit, size_t count,
	       bool (*wants)(void *user, const char *line, size_t size), void *user,
	       struct buf *buf, struct err *err);

/* Lines lost since the start. */
uint64_t audit_lost(const struct audit *audit);

/* As 64 hex digits. */
void audit_sha256(const void *bytes, size_t size, char ret_text[AUDIT_SHA256_SIZE]);
