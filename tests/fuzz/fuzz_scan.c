// SPDX-License-Identifier: Apache-2.0
#include <jansson.h>
#include <string.h>

#include "api/decode.h"
#include "api/scan.h"
#include "base/c.h"
#include "base/json.h"
#include "fuzz.h"

#define BODY_MAX (1U << 20)

struct args {
	struct run_bytes code, data, files;
	const char *text, *word;
	uint64_t ms, memory, pids, cpus;
	enum op_bool flag;
	const char *const *texts;
	const char *const *pairs;
};

#define ARG(field, ...) OP_PARAM(struct args, field, __VA_ARGS__)

static const struct op_param params[] = {
	{ARG(code, .name = "code", .type = OP_BYTES, .help = "", .max = 64)},
	{ARG(data, .name = "data", .type = OP_JSON, .help = "")},
	{ARG(files, .name = "files", .type = OP_FILES, .help = "")},
	{ARG(text, .name = "text", .type = OP_TEXT, .help = "")},
	{ARG(word, .name = "word", .type = OP_TEXT, .help = "", .choices = "a|b")},
	{ARG(ms, .name = "ms", .type = OP_MS, .help = "", .min = 1, .max = 1000)},
	{ARG(memory, .name = "limits.memory", .type = OP_SIZE, .help = "")},
	{ARG(pids, .name = "limits.pids", .type = OP_COUNT, .help = "")},
	{ARG(cpus, .name = "limits.cpus", .type = OP_CPUS, .help = "")},
	{ARG(flag, .name = "flag", .type = OP_BOOL, .help = "")},
	{ARG(texts, .name = "texts", .type = OP_TEXTS, .help = "")},
	{ARG(pairs, .name = "pairs", .type = OP_PAIRS, .help = "")},
};

static const struct op op = {
	.name = "fuzz",
	.params = params,
	.param_count = ARRAY_LEN(params),
	.args_size = sizeof(struct args),
};

/* The whole text in pieces whose sizes follow from `seed`; 0: in one. */
static int scan_in_pieces(struct scan *scan, const uint8_t *bytes, size_t size, uint32_t seed,
			  bool is_lenient, struct err *err)
{
	size_t at = 0;
	int r = 0;

	scan_init(scan, &op, BODY_MAX);
	scan->is_lenient = is_lenient;
	while (r == 0 && at < size) {
		size_t n = seed > 0 ? seed % 7 + 1 : size;

		seed = seed > 0 ? seed * 1103515245U + 12345U : 0;
		n = n < size - at ? n : size - at;
		r = scan_feed(scan, bytes + at, n, err);
		at += n;
	}
	return r == 0 ? scan_finish(scan, err) : r;
}

static void claim_same_text(struct scan *a, struct scan *b, const struct scan_member *member)
{
	struct run_bytes left = {0}, right = {0};
	struct err err = {0};

	CLAIM(parts_bytes(&a->parts, member->at, member->size, true, &left, &err) == 0);
	CLAIM(parts_bytes(&b->parts, member->at, member->size, true, &right, &err) == 0);
	CLAIM(memcmp(left.data, right.data, member->size) == 0);
	if (member->kind == SCAN_RAW && !member->is_wrong)
		CLAIM(json_is_valid(left.data, left.size));
}

static void claim_same(struct scan *a, struct scan *b)
{
	CLAIM(a->count == b->count);
	CLAIM(a->small.size == b->small.size);
	CLAIM(a->small.size == 0 || memcmp(a->small.data, b->small.data, a->small.size) == 0);
	for (size_t i = 0; i < a->count; i++) {
		const struct scan_member *left = &a->members[i], *right = &b->members[i];

		CLAIM(left->param == right->param && left->kind == right->kind);
		CLAIM(left->is_null == right->is_null);
		CLAIM(left->at == right->at && left->size == right->size);
		if (left->kind != SCAN_SMALL)
			claim_same_text(a, b, left);
		else
			CLAIM(json_is_valid(a->small.data + left->at, left->size));
	}
}

/* The grammar alone, against another strict parser. They differ in what jansson cannot hold (large
 * numbers, a NUL in a name) and in depth. */
static void claim_as_jansson(const uint8_t *bytes, size_t size)
{
	const uint8_t *at = bytes, *end = bytes + size;
	struct walk walk = {0};
	enum walk_step step = WALK_BLANK;
	json_error_t error = {0};
	json_t *tree;
	bool is_good;

	while (at < end && step != WALK_BAD)
		step = walk_next(&walk, &at, end);
	is_good = step != WALK_BAD && walk_is_whole(&walk);
	/* A NUL byte outside of strings it now and then skips. */
	if (size == 0 || memchr(bytes, 0, size) != NULL)
		return;
	tree = json_loadb((const char *)bytes, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
	if (tree != NULL)
		CLAIM(is_good || strstr(walk.why, "64 deep") != NULL);
	else if (json_error_code(&error) != json_error_numeric_overflow &&
		 json_error_code(&error) != json_error_null_byte_in_key)
		CLAIM(!is_good);
	json_decref(tree);
}

/* The lenient reader takes every text that the strict one takes, and finds the same members. */
static void claim_lenient(struct scan *strict, int strict_r, const uint8_t *bytes, size_t size,
			  uint32_t seed)
{
	struct scan *whole = xnew(struct scan), *pieces = xnew(struct scan);
	struct err err = {0}, other = {0};
	int r = scan_in_pieces(whole, bytes, size, 0, true, &err);

	CLAIM(scan_in_pieces(pieces, bytes, size, seed, true, &other) == r);
	CLAIM(strict_r < 0 || r == 0);
	if (r == 0) {
		claim_same(whole, pieces);
		CLAIM(size == 0 || json_is_valid(bytes, size));
	}
	if (strict_r == 0)
		claim_same(whole, strict);
	scan_done(whole);
	scan_done(pieces);
	free(whole);
	free(pieces);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	uint32_t seed = size > 0 ? bytes[0] + 1U : 1;
	struct scan *whole = xnew(struct scan), *pieces = xnew(struct scan);
	struct err err = {0}, other = {0};
	struct decoded decoded = {0};
	struct decode_source source = {.scan = whole};
	int r = scan_in_pieces(whole, bytes, size, 0, false, &err);

	CLAIM(scan_in_pieces(pieces, bytes, size, seed, false, &other) == r);
	CLAIM(strcmp(err.text, other.text) == 0 && err.kind == other.kind);
	if (r == 0) {
		claim_same(whole, pieces);
		CLAIM(size == 0 || json_is_valid(bytes, size));
		if (decode_args(&op, &source, &decoded, &err) < 0)
			CLAIM(err.kind == ERR_BAD_REQUEST && strstr(err.text, ": ") != NULL);
		decoded_done(&decoded);
	}
	claim_lenient(whole, r, bytes, size, seed);
	claim_as_jansson(bytes, size);
	scan_done(whole);
	scan_done(pieces);
	free(whole);
	free(pieces);
	return 0;
}
