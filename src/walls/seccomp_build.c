// SPDX-License-Identifier: Apache-2.0
#include <endian.h>
#include <errno.h>
#include <seccomp.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/mman.h>

#include "base/buf.h"
#include "base/c.h"
#include "base/io.h"
#include "walls/seccomp_table.h"
#include "walls/wall.h"

/*
 * The program has two parts. libseccomp makes the second: an allow-list whose default is EPERM, and
 * all permission comes from there. It has one default for everything, so a first part of our own
 * stands in front that only ever refuses, with errors that callers understand better: ENOSYS for
 * numbers nobody reviewed, and the refusals of rows that name another errno than EPERM. What it
 * does not refuse it hands on. Jumps of a filter are relative, so the two are simply put together.
 */

#define FRONT_MAX 256
#define FRONT_ROWS_MAX 32
#define FRONT_GROUP 4
#define X32_BIT 0x40000000U
#define EVERY_BIT 0xffffffffU
/* In place of an errno: leaves the call to libseccomp's part. */
#define HAND_ON 0

_Static_assert(__BYTE_ORDER == __LITTLE_ENDIAN, "arguments are read at their low half");

#if defined(__x86_64__)
#define AUDIT_ARCH_NATIVE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define AUDIT_ARCH_NATIVE AUDIT_ARCH_AARCH64
#else
#error "the order of clone's and mmap's arguments is known for x86-64 and aarch64 only"
#endif

struct front {
	struct sock_filter code[FRONT_MAX];
	size_t count;
};

struct numbered_row {
	int number;
	const struct call_row *row; /* borrowed: from call_rows */
};

static void release_context(scmp_filter_ctx *context)
{
	if (*context != NULL)
		seccomp_release(*context);
}

/* libseccomp returns negative errnos and leaves errno alone. */
static int err_seccomp(struct err *err, int r, const char *what, const char *name)
{
	errno = -r;
	return err_sys(err, "%s %s", what, name);
}

static void emit(struct front *front, unsigned code, uint32_t k, unsigned jt, unsigned jf)
{
	const struct sock_filter step = {
		.code = (uint16_t)code,
		.jt = (uint8_t)jt,
		.jf = (uint8_t)jf,
		.k = k,
	};

	if (front->count < FRONT_MAX)
		front->code[front->count] = step;
	front->count++;
}

static void emit_refusal(struct front *front, int num)
{
	emit(front, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ((uint32_t)num & SECCOMP_RET_DATA), 0, 0);
}

/* Every jump of this kind in the front part goes to its end; see finish_front(). */
static void emit_hand_on(struct front *front)
{
	emit(front, BPF_JMP | BPF_JA, 0, 0, 0);
}

/* Makes the failing branch of the jump at `at` go to the next instruction. */
static void land_here(struct front *front, size_t at)
{
	size_t distance = front->count - at - 1;

	if (distance > UINT8_MAX)
		front->count = FRONT_MAX + 1; /* reported as too long */
	else if (at < FRONT_MAX)
		front->code[at].jf = (uint8_t)distance;
}

/* If the case holds: hands on, or refuses with `num`. If not: does nothing. */
static void emit_case(struct front *front, const struct call_case *one, int num)
{
	size_t jumps[ARRAY_LEN(one->tests)];
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(one->tests); i++) {
		const struct call_test *test = &one->tests[i];
		size_t offset = offsetof(struct seccomp_data, args) + test->arg * sizeof(uint64_t);

		if (test->mask == 0)
			continue;
		emit(front, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
		if (test->mask != EVERY_BIT)
			emit(front, BPF_ALU | BPF_AND | BPF_K, test->mask, 0, 0);
		jumps[n++] = front->count;
		emit(front, BPF_JMP | BPF_JEQ | BPF_K, test->value, 0, 0);
	}

	if (num == HAND_ON)
		emit_hand_on(front);
	else
		emit_refusal(front, num);
	for (size_t i = 0; i < n; i++)
		land_here(front, jumps[i]);
}

/* Is this row or case void because of what is shown? */
static bool is_gone(uint32_t gone_from, const struct seccomp_kind *kind)
{
	return gone_from != SHOWN_NOTHING && kind->shown >= gone_from;
}

/* The refusals of one row. On entry the accumulator holds the call's number, and still does when it
 * is another call's; inside the row it is lost, so every path through it ends in a refusal or hands
 * on. */
static void emit_row(struct front *front, const struct call_row *row, int number,
		     const struct seccomp_kind *kind)
{
	bool is_only = row->rule == CALL_ONLY;
	size_t jump = front->count;

	emit(front, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 0);
	for (size_t i = 0; i < row->case_count; i++) {
		if (!is_gone(row->cases[i].gone_from, kind))
			emit_case(front, &row->cases[i], is_only ? HAND_ON : row->refusal);
	}
	if (is_only)
		emit_refusal(front, row->refusal);
	else
		emit_hand_on(front);
	land_here(front, jump);
}

/* A foreign architecture and x32 are handed on at once: their numbers mean other calls, and
 * libseccomp's part ends the process. */
static void begin_front(struct front *front)
{
	emit(front, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
	emit(front, BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_NATIVE, 1, 0);
	emit_hand_on(front);
	emit(front, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
	emit(front, BPF_JMP | BPF_JGT | BPF_K, CALL_REVIEWED_MAX, 0, 3);
	emit(front, BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1);
	emit_hand_on(front);
	emit_refusal(front, ENOSYS);
}

static int finish_front(struct front *front, struct err *err)
{
	if (front->count > FRONT_MAX)
		return err_set(err, ERR_INTERNAL, E2BIG,
			       "the part of the filter that refuses is too long");
	for (size_t i = 0; i < front->count; i++) {
		if (front->code[i].code == (BPF_JMP | BPF_JA))
			front->code[i].k = (uint32_t)(front->count - i - 1);
	}
	return 0;
}

static int compare_descending(const void *left, const void *right)
{
	const struct numbered_row *a = left, *b = right;

	return (a->number < b->number) - (a->number > b->number);
}

/* Collects the rows that need code here (libseccomp refuses with EPERM by itself). Returns how many
 * there are; stores no more than there is room for. */
static size_t collect_rows(struct numbered_row *rows, const struct seccomp_kind *kind)
{
	size_t n = 0;

	for (size_t i = 0; i < call_row_count; i++) {
		const struct call_row *row = &call_rows[i];
		int number = seccomp_syscall_resolve_name(row->name);
		bool is_ours = row->rule == CALL_UNLESS ||
			       (row->rule == CALL_ONLY && row->refusal != EPERM);

		if (number < 0 || !is_ours || is_gone(row->gone_from, kind))
			continue;
		if (n < FRONT_ROWS_MAX)
			rows[n] = (struct numbered_row){.number = number, .row = row};
		n++;
	}
	return n;
}

/*
 * In groups, each behind one test of its lowest number: the kernel walks a new filter once for
 * every number there is, to learn which are always allowed (Linux 5.11), and a chain of all these
 * rows would lengthen every walk.
 */
static int build_front(struct front *front, const struct seccomp_kind *kind, struct err *err)
{
	struct numbered_row rows[FRONT_ROWS_MAX];
	size_t count = collect_rows(rows, kind);

	if (count > FRONT_ROWS_MAX)
		return err_set(err, ERR_INTERNAL, E2BIG, "%zu rows with an errno of their own",
			       count);
	qsort(rows, count, sizeof(*rows), compare_descending);

	begin_front(front);
	for (size_t begin = 0; begin < count; begin += FRONT_GROUP) {
		size_t end = begin + FRONT_GROUP < count ? begin + FRONT_GROUP : count;
		size_t jump = front->count;

		emit(front, BPF_JMP | BPF_JGE | BPF_K, (uint32_t)rows[end - 1].number, 0, 0);
		for (size_t i = begin; i < end; i++)
			emit_row(front, rows[i].row, rows[i].number, kind);
		emit_hand_on(front);
		land_here(front, jump);
	}
	return finish_front(front, err);
}

/* One rule that allows the call when this case holds. */
static int allow_case(scmp_filter_ctx context, int number, const struct call_case *one)
{
	struct scmp_arg_cmp tests[ARRAY_LEN(one->tests)];
	unsigned n = 0;

	for (size_t i = 0; i < ARRAY_LEN(one->tests); i++) {
		const struct call_test *test = &one->tests[i];

		if (test->mask != 0)
			tests[n++] =
				SCMP_CMP64(test->arg, SCMP_CMP_MASKED_EQ, test->mask, test->value);
	}
	return seccomp_rule_add_array(context, SCMP_ACT_ALLOW, number, n, tests);
}

static int add_row(scmp_filter_ctx context, const struct call_row *row,
		   const struct seccomp_kind *kind)
{
	const uint32_t refusal = SCMP_ACT_ERRNO((unsigned)row->refusal);
	int number = seccomp_syscall_resolve_name(row->name);
	int r = 0;

	if (number == __NR_SCMP_ERROR)
		return -EINVAL;
	/* A call that this architecture never had, such as open on aarch64. */
	if (number < 0)
		return 0;

	if (is_gone(row->gone_from, kind))
		return seccomp_rule_add(context, refusal, number, 0);
	switch (row->rule) {
	case CALL_ALLOW:
	case CALL_UNLESS:
		return seccomp_rule_add(context, SCMP_ACT_ALLOW, number, 0);
	case CALL_COUNTED:
		return seccomp_rule_add(context, kind->is_measured ? refusal : SCMP_ACT_ALLOW,
					number, 0);
	case CALL_REFUSE:
		return seccomp_rule_add(context, refusal, number, 0);
	case CALL_ONLY:
		for (size_t i = 0; i < row->case_count && r == 0; i++) {
			if (!is_gone(row->cases[i].gone_from, kind))
				r = allow_case(context, number, &row->cases[i]);
		}
		return r;
	}
	return -EINVAL;
}

/* Builds libseccomp's part, as the bytes of a filter. */
static int build_list(const struct seccomp_kind *kind, struct buf *list, struct err *err)
{
	__attribute__((cleanup(release_context))) scmp_filter_ctx context =
		seccomp_init(SCMP_ACT_ERRNO(EPERM));
	AUTO_CLOSE int fd = memfd_create("filter", MFD_CLOEXEC);
	int r;

	if (context == NULL)
		return err_set(err, ERR_INTERNAL, ENOMEM, "seccomp_init");
	if (fd < 0)
		return err_sys(err, "memfd");

	r = seccomp_attr_set(context, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (r < 0)
		return err_seccomp(err, r, "set", "the action for foreign architectures");
	/* 2: a binary tree over the numbers; a chain of all rows would cost every call. */
	r = seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (r < 0)
		return err_seccomp(err, r, "set", "the optimization");
	for (size_t i = 0; i < call_row_count; i++) {
		r = add_row(context, &call_rows[i], kind);
		if (r < 0)
			return err_seccomp(err, r, "row", call_rows[i].name);
	}

	r = seccomp_export_bpf(context, fd);
	if (r < 0)
		return err_seccomp(err, r, "export", "the filter");
	if (lseek(fd, 0, SEEK_SET) < 0)
		return err_sys(err, "lseek");
	return io_read_all(fd, list, err);
}

static int join(const struct front *front, const struct buf *list, struct sock_filter **ret_filter,
		uint16_t *ret_count, struct err *err)
{
	const size_t front_size = front->count * sizeof(struct sock_filter);
	const size_t count = front->count + list->size / sizeof(struct sock_filter);
	struct sock_filter *filter;

	if (list->size == 0 || list->size % sizeof(struct sock_filter) != 0 || count > BPF_MAXINSNS)
		return err_set(err, ERR_INTERNAL, EINVAL, "a filter of %zu instructions", count);
	filter = malloc(front_size + list->size);
	if (filter == NULL)
		return err_set(err, ERR_INTERNAL, ENOMEM, "no memory for the filter");

	memcpy(filter, front->code, front_size);
	memcpy(filter + front->count, list->data, list->size);
	*ret_filter = filter;
	*ret_count = (uint16_t)count;
	return 0;
}

int seccomp_build(const struct seccomp_kind *kind, struct sock_filter **ret_filter,
		  uint16_t *ret_count, struct err *err)
{
	struct front front = {0};
	AUTO_BUF struct buf list = {.max = BPF_MAXINSNS * sizeof(struct sock_filter)};
	int r;

	r = build_front(&front, kind, err);
	if (r < 0)
		return r;

	r = build_list(kind, &list, err);
	if (r == 0)
		r = join(&front, &list, ret_filter, ret_count, err);
	return r;
}
