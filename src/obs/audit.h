// SPDX-License-Identifier: Apache-2.0
/*
 * Audit - who ran what, and how it ended: one line of JSON for each run
 *
 * Owns:    the file (0600, append-only, one write per line), the previous file, and the members of
 * a line. May not: hold output, or code unless the policy says so; nor delay a run: a line that
 * cannot be written is counted, reported once a minute, and lost.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define AUDIT_SHA256_SIZE 65
#define AUDIT_CODE_MAX (1U << 20) /* bytes of code in a line; the SHA-256 covers all of it */

struct audit;

/* A run as the audit log sees it. Pointers are borrowed for the call; NULL is written as null. */
struct audit_run {
	const char *run, *session;
	const char *token;  /* the token's name; NULL or "": a caller without a token */
	const char *peer;   /* "unix" or an address */
	const char *via;    /* the door that the request came through */
	const char *client; /* the client's own name for itself; NULL or "": none */
	const char *op;
	const char *policy, *runtime;
	const char *sha256; /* of the code or command, by audit_sha256 when the request came */
	const void *code;   /* only where the policy has audit_code; NULL: not logged */
	size_t code_size;
	const char *decided_by; /* who allowed or denied it; NULL or "": nobody was asked */
	const char *verdict;    /* its kind */
	int exit_code;
	const char *state; /* "none", "preserved", "rolled_back", "lost" */
	double queue_ms, wall_ms, cpu_ms;
	uint64_t peak_memory, output_bytes;
};

/* Called at most once a minute while lines are lost: why the last one was lost, and how many in
 * all. */
struct audit_calls {
	void (*warn)(void *user, const struct err *err, uint64_t lost); /* may be NULL */
	void *user;
};

/* Opens or creates the file; its directory must exist. */
int audit_open(const char *path, const struct audit_calls *calls, struct audit **ret_audit,
	       struct err *err);
void audit_close(struct audit *audit);

/* Opens a new file at the old path after the file was renamed. On failure the log continues in the
 * renamed file. */
int audit_reopen(struct audit *audit, struct err *err);

/* Limits the log: before the file grows beyond `max` bytes it is renamed to FILE.1, replacing the
 * previous one, and a new file is started. 0: no limit. A file that cannot be renamed keeps
 * growing, with a warning once a minute, so that no line is lost. */
void audit_limit(struct audit *audit, uint64_t max);

void audit_put(struct audit *audit, const struct audit_run *run);

/* Appends the last `count` wanted lines to `buf`, oldest first and separated by commas, from the
 * current and the previous file. Reads only the end of a long file. Skips lines that are not JSON
 * objects of ours. */
int audit_tail(const struct audit *audit, size_t count,
	       bool (*wants)(void *user, const char *line, size_t size), void *user,
	       struct buf *buf, struct err *err);

/* Lines lost since the daemon started. */
uint64_t audit_lost(const struct audit *audit);

/* The SHA-256 of the bytes, as 64 hex digits. */
void audit_sha256(const void *bytes, size_t size, char ret_text[AUDIT_SHA256_SIZE]);
