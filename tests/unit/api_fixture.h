// SPDX-License-Identifier: Apache-2.0
/*
 * Api fixture - an op with a row of every type, for the tests of what reads requests
 *
 * Owns:    its rows, its arguments, and a way to scan a text in pieces of any size.
 * May not: be linked into anything but tests.
 */
#pragma once

#include "api/decode.h"
#include "api/scan.h"
#include "base/c.h"
#include "unit.h"

#define BODY_MAX (40U << 20)

struct every_args {
	const char *id, *path;
	struct run_bytes code, data, table, files;
	const char *text, *word, *owner;
	uint64_t ms, wait_ms, memory, pids, cpus, offset;
	enum op_bool flag, recursive;
	const char *const *texts;
	const char *const *pairs;
	const char *const *tags;
	uint64_t size;
};

#define EVERY(field, ...) OP_PARAM(struct every_args, field, .help = "help", __VA_ARGS__)

static const struct op_param every_params[] = {
	{EVERY(id, .name = "id", .type = OP_TEXT, .in = OP_IN_PATH)},
	{EVERY(path, .name = "path", .type = OP_TEXT, .in = OP_IN_PATH)},
	{EVERY(code, .name = "code", .type = OP_BYTES)},
	{EVERY(data, .name = "data", .type = OP_JSON)},
	{EVERY(table, .name = "table", .type = OP_TABLE)},
	{EVERY(files, .name = "files", .type = OP_FILES)},
	{EVERY(text, .name = "text", .type = OP_TEXT)},
	{EVERY(word, .name = "word", .type = OP_TEXT, .choices = "first|second")},
	{EVERY(owner, .name = "owner", .type = OP_TEXT, .takes_null = true)},
	{EVERY(ms, .name = "timeout_ms", .type = OP_MS, .min = 10, .max = 3600000)},
	{EVERY(wait_ms, .name = "wait_ms", .type = OP_MS, .initial = 250)},
	{EVERY(memory, .name = "limits.memory", .type = OP_SIZE, .min = 1 * MIB, .max = 1 * GIB)},
	{EVERY(pids, .name = "limits.pids", .type = OP_COUNT, .min = 1, .max = 64)},
	{EVERY(cpus, .name = "limits.cpus", .type = OP_CPUS, .min = 10, .max = 4000)},
	{EVERY(flag, .name = "flag", .type = OP_BOOL)},
	{EVERY(texts, .name = "expect_files", .type = OP_TEXTS)},
	{EVERY(pairs, .name = "env", .type = OP_PAIRS)},
	{EVERY(offset, .name = "offset", .type = OP_COUNT, .in = OP_IN_QUERY, .max = 1000)},
	{EVERY(recursive, .name = "recursive", .type = OP_BOOL, .in = OP_IN_QUERY)},
	{EVERY(tags, .name = "tag", .type = OP_TEXTS, .in = OP_IN_QUERY)},
	{EVERY(size, .name = "size", .type = OP_SIZE, .in = OP_IN_QUERY)},
};

static const struct op every_op = {
	.name = "every",
	.method = "POST",
	.path = "/v1/every/{id}/{path...}",
	.help = "Takes everything",
	.params = every_params,
	.param_count = ARRAY_LEN(every_params),
	.args_size = sizeof(struct every_args),
};

/* Scans `size` bytes, `piece` at a time (0: in one). */
static inline int scan_all(struct scan *scan, const void *text, size_t size, size_t piece,
			   struct err *err)
{
	const char *at = text;
	int r = 0;

	scan_init(scan, &every_op, BODY_MAX);
	piece = piece > 0 ? piece : size;
	while (r == 0 && size > 0) {
		size_t n = piece < size ? piece : size;

		r = scan_feed(scan, at, n, err);
		at += n;
		size -= n;
	}
	return r == 0 ? scan_finish(scan, err) : r;
}
