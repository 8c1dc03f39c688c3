// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/resource.h>

#include "attempt.h"
#include "base/c.h"

static int open_many(struct walls_input *input, const struct wall *wall)
{
	int r = 0;

	input->plan.files = 32;
	put_up(wall, input);
	for (int i = 0; i < 40 && r == 0; i++)
		r = tried(dup(0));
	return r;
}

static void descriptors_end_at_the_plans_number(void **state)
{
	(void)state;
	assert_int_equal(attempt(open_many, NULL), 0);
	assert_int_equal(attempt(open_many, &wall_rlimit), EMFILE);
}

static int make_a_sparse_terabyte(struct walls_input *input, const struct wall *wall)
{
	int fd = open("/workspace/sparse", O_CREAT | O_RDWR, 0600);

	(void)signal(SIGXFSZ, SIG_IGN); /* as Python does */
	put_up(wall, input);
	return tried(ftruncate(fd, 1LL << 40));
}

static int make_a_file_of_all_there_is(struct walls_input *input, const struct wall *wall)
{
	int fd = open("/workspace/full", O_CREAT | O_RDWR, 0600);

	put_up(wall, input);
	return tried(ftruncate(fd, (off_t)input->plan.memory));
}

static void a_file_is_never_larger_than_all_there_is(void **state)
{
	(void)state;
	assert_int_equal(attempt(make_a_sparse_terabyte, NULL), 0);
	assert_int_equal(attempt(make_a_sparse_terabyte, &wall_rlimit), EFBIG);
	assert_int_equal(attempt(make_a_file_of_all_there_is, &wall_rlimit), 0);
}

static int raise_again(struct walls_input *input, const struct wall *wall)
{
	struct rlimit before;

	input->plan.files = 32;
	if (getrlimit(RLIMIT_NOFILE, &before) < 0)
		give_up("getrlimit");
	put_up(wall, input);
	return tried(setrlimit(RLIMIT_NOFILE, &before));
}

static int dump_core(struct walls_input *input, const struct wall *wall)
{
	const struct rlimit large = {.rlim_cur = MIB, .rlim_max = MIB};

	put_up(wall, input);
	return tried(setrlimit(RLIMIT_CORE, &large));
}

static void a_limit_cannot_be_raised_again(void **state)
{
	struct rlimit core;

	(void)state;
	assert_int_equal(attempt(raise_again, NULL), 0);
	assert_int_equal(attempt(raise_again, &wall_rlimit), EPERM);

	assert_int_equal(getrlimit(RLIMIT_CORE, &core), 0);
	assert_int_equal(attempt(dump_core, NULL), core.rlim_max >= MIB ? 0 : EPERM);
	assert_int_equal(attempt(dump_core, &wall_rlimit), EPERM);
}

/* Returns 0 when each limit is at or below its number, else 100 + its place. */
static int read_back(struct walls_input *input, const struct wall *wall)
{
	const struct {
		__rlimit_resource_t resource;
		rlim_t soft, hard;
	} expected[] = {
		{RLIMIT_CORE, 1, 1},
		{RLIMIT_NOFILE, 1024, 1024},
		{RLIMIT_FSIZE, 512 * MIB, 512 * MIB},
		{RLIMIT_MEMLOCK, 64 * KIB, 64 * KIB},
		{RLIMIT_MSGQUEUE, 0, 0},
		{RLIMIT_SIGPENDING, 256, 256},
		{RLIMIT_STACK, 8 * MIB, 64 * MIB},
		{RLIMIT_RTPRIO, 0, 0},
		{RLIMIT_NICE, 0, 0},
	};

	put_up(wall, input);
	for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
		struct rlimit now;

		if (getrlimit(expected[i].resource, &now) < 0 || now.rlim_cur > expected[i].soft ||
		    now.rlim_max > expected[i].hard)
			return 100 + (int)i;
	}
	return 0;
}

static void every_limit_is_where_it_should_be(void **state)
{
	(void)state;
	assert_int_not_equal(attempt(read_back, NULL), 0);
	assert_int_equal(attempt(read_back, &wall_rlimit), 0);
}

static int keep_a_lower_limit(struct walls_input *input, const struct wall *wall)
{
	const struct rlimit low = {.rlim_cur = 20, .rlim_max = 24};
	struct rlimit now;

	if (setrlimit(RLIMIT_NOFILE, &low) < 0)
		give_up("setrlimit");
	put_up(wall, input);
	return getrlimit(RLIMIT_NOFILE, &now) == 0 ? (int)now.rlim_max : 0;
}

static void what_is_lower_already_stays(void **state)
{
	(void)state;
	assert_int_equal(attempt(keep_a_lower_limit, &wall_rlimit), 24);
}

static int map(size_t size, int protection)
{
	void *memory =
		mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? errno : 0;
}

static int map_writable(struct walls_input *input, const struct wall *wall)
{
	input->is_measured = 1;
	put_up(wall, input);
	return map(input->plan.memory + GIB + 64 * MIB, PROT_READ | PROT_WRITE);
}

static int map_a_lot(struct walls_input *input, const struct wall *wall)
{
	input->is_measured = 1;
	put_up(wall, input);
	return map(input->plan.memory + 5 * GIB, PROT_READ);
}

static int map_with_a_cgroup(struct walls_input *input, const struct wall *wall)
{
	put_up(wall, input);
	return map(input->plan.memory + 5 * GIB, PROT_READ);
}

static void measured_limits_bound_what_one_process_maps(void **state)
{
	(void)state;
	assert_int_equal(attempt(map_writable, NULL), 0);
	assert_int_equal(attempt(map_writable, &wall_rlimit), ENOMEM);
	assert_int_equal(attempt(map_a_lot, NULL), 0);
	assert_int_equal(attempt(map_a_lot, &wall_rlimit), ENOMEM);
	assert_int_equal(attempt(map_with_a_cgroup, &wall_rlimit), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(descriptors_end_at_the_plans_number),
		cmocka_unit_test(a_file_is_never_larger_than_all_there_is),
		cmocka_unit_test(a_limit_cannot_be_raised_again),
		cmocka_unit_test(every_limit_is_where_it_should_be),
		cmocka_unit_test(what_is_lower_already_stays),
		cmocka_unit_test(measured_limits_bound_what_one_process_maps),
	};

	return run_attempts("rlimit", tests, ARRAY_LEN(tests));
}
