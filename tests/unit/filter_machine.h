// SPDX-License-Identifier: Apache-2.0
/*
 * Filter machine - runs a seccomp program as the kernel would
 *
 * Owns:    the instructions that such programs use.
 * May not: know the table: the test compares.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <linux/seccomp.h>

#include "unit.h"
#include "walls/wall.h"

struct filter {
	struct sock_filter *code; /* owned */
	uint16_t count;
	struct seccomp_kind kind;
};

static inline uint32_t load(const struct seccomp_data *data, uint32_t offset)
{
	uint32_t word;

	assert_true(offset + sizeof(word) <= sizeof(*data));
	memcpy(&word, (const char *)data + offset, sizeof(word));
	return word;
}

static inline bool jumps(uint16_t code, uint32_t a, uint32_t k)
{
	switch (BPF_OP(code)) {
	case BPF_JEQ:
		return a == k;
	case BPF_JGT:
		return a > k;
	case BPF_JGE:
		return a >= k;
	case BPF_JSET:
		return (a & k) != 0;
	default:
		fail_msg("jump 0x%x", code);
		return false;
	}
}

/* The filter's answer to this call, as the kernel would compute it (linux/filter.h; the part that
 * filters use). */
static inline uint32_t evaluate(const struct filter *filter, const struct seccomp_data *data)
{
	uint32_t a = 0;

	for (size_t pc = 0; pc < filter->count; pc++) {
		const struct sock_filter *step = &filter->code[pc];

		switch (step->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			a = load(data, step->k);
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= step->k;
			break;
		case BPF_JMP | BPF_JA:
			pc += step->k;
			break;
		case BPF_RET | BPF_K:
			return step->k;
		default:
			assert_int_equal(BPF_CLASS(step->code), BPF_JMP);
			pc += jumps(step->code, a, step->k) ? step->jt : step->jf;
		}
	}
	fail_msg("the filter ran off its end");
	return 0;
}
