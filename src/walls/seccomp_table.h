// SPDX-License-Identifier: Apache-2.0
/*
 * Seccomp table - which system calls a sandbox has, and why
 *
 * Owns:    THE list. A call without a row is refused with EPERM; one with a number that was not
 *          reviewed for this list is answered with ENOSYS, as by an older kernel.
 * May not: hold code. seccomp_build.c makes a filter of it, tests/ check that filter against it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum call_rule {
	CALL_ALLOW,   /* whatever its arguments */
	CALL_ONLY,    /* if a case holds; else `refusal` */
	CALL_UNLESS,  /* if no case holds; else `refusal` */
	CALL_COUNTED, /* where a cgroup counts memory; `refusal` where it is only measured */
	CALL_REFUSE,  /* never: with an errno at which callers fall back, or with 0 where
		       * there is nothing to do */
};

/* Holds when the low 32 bits of the argument, masked, have the value. The high ones are not looked
 * at, because the kernel does not look at them: every argument tested here is an int. A mask of 0
 * always holds, so an unused test is all zero. */
struct call_test {
	uint32_t arg;
	uint32_t mask;
	uint32_t value;
};

/* Holds when both tests do, unless as much of the host's files is shown as `gone_from` says (enum
 * plan_shown; 0: it holds everywhere). */
struct call_case {
	struct call_test tests[2];
	uint32_t gone_from;
};

struct call_row {
	const char *name;
	enum call_rule rule;
	int refusal;        /* errno; for all kinds but CALL_ALLOW */
	uint32_t gone_from; /* refused where this much is shown; 0: shown files do not matter */
	const struct call_case *cases;
	size_t case_count;
	const char *reason;
};

extern const struct call_row call_rows[];
extern const size_t call_row_count;

/* set_mempolicy_home_node, Linux 5.17. Numbers above it were not reviewed. From 424 on they mean
 * the same call on every architecture. */
#define CALL_REVIEWED_MAX 450
