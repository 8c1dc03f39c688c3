// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include <sys/stat.h>

#include "base/c.h"
#include "session/pressure.h"
#include "unit.h"

#define MS 1000000ULL

struct proc {
	char directory[64];
};

static void write_file(const struct proc *proc, const char *name, const char *text)
{
	char path[128];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", proc->directory, name);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void set_memory(const struct proc *proc, unsigned total_mib, unsigned available_mib)
{
	char text[200];

	(void)snprintf(text, sizeof(text),
		       "MemTotal:       %u kB\nMemFree:         1 kB\nMemAvailable:    %u kB\n",
		       total_mib * 1024, available_mib * 1024);
	write_file(proc, "meminfo", text);
}

static void set_stalls(const struct proc *proc, const char *percent)
{
	char text[200];

	(void)snprintf(text, sizeof(text),
		       "some avg10=%s avg60=99.00 avg300=99.00 total=1\n"
		       "full avg10=99.00 avg60=99.00 avg300=99.00 total=1\n",
		       percent);
	write_file(proc, "pressure/memory", text);
}

static int make(void **state)
{
	struct proc *proc = xnew(struct proc);
	char path[128];

	scratch_make(proc->directory);
	(void)snprintf(path, sizeof(path), "%s/pressure", proc->directory);
	assert_int_equal(mkdir(path, 0700), 0);
	*state = proc;
	return 0;
}

static int end(void **state)
{
	struct proc *proc = *state;

	scratch_remove(proc->directory);
	free(proc);
	return 0;
}

/* Is there room, asked anew? */
static bool has_room(const struct proc *proc, uint32_t percent)
{
	struct pressure *pressure = pressure_new(proc->directory, percent);
	struct err err = {0};
	int r = pressure_check(pressure, 0, &err);

	if (r < 0) {
		assert_int_equal(r, -ENOMEM);
		assert_int_equal(err.kind, ERR_BUSY);
		assert_contains(err.text, "memory");
	}
	pressure_free(pressure);
	return r == 0;
}

static void little_memory_is_a_reason_by_itself(void **state)
{
	const struct proc *proc = *state;

	set_stalls(proc, "0.00");
	set_memory(proc, 100000, 5001);
	assert_true(has_room(proc, 20));
	set_memory(proc, 100000, 4999);
	assert_false(has_room(proc, 20));
	set_memory(proc, 1000, 257);
	assert_true(has_room(proc, 20));
	set_memory(proc, 1000, 255);
	assert_false(has_room(proc, 20));
	assert_false(has_room(proc, 100));
}

static void stalls_count_while_memory_is_getting_short(void **state)
{
	const struct proc *proc = *state;

	set_memory(proc, 100000, 24000);
	set_stalls(proc, "20.00");
	assert_true(has_room(proc, 20));
	set_stalls(proc, "20.01");
	assert_false(has_room(proc, 20));
	assert_true(has_room(proc, 21));
	set_stalls(proc, "100.00");
	assert_true(has_room(proc, 100));

	/* A sandbox at its own limit, on a host that has plenty. */
	set_memory(proc, 100000, 26000);
	assert_true(has_room(proc, 20));
}

static void without_stalls_what_is_available_decides(void **state)
{
	const struct proc *proc = *state;

	set_memory(proc, 100000, 24000);
	assert_true(has_room(proc, 20));
	set_memory(proc, 100000, 100);
	assert_false(has_room(proc, 20));
}

static void a_host_that_says_nothing_has_room(void **state)
{
	const struct proc *proc = *state;

	assert_true(has_room(proc, 20));
	write_file(proc, "meminfo", "nonsense");
	write_file(proc, "pressure/memory", "");
	assert_true(has_room(proc, 20));
	pressure_free(NULL);
}

static void the_files_are_read_only_so_often(void **state)
{
	const struct proc *proc = *state;
	struct pressure *pressure;
	struct err err = {0};

	set_memory(proc, 100000, 50000);
	pressure = pressure_new(proc->directory, 20);
	assert_int_equal(pressure_check(pressure, 1000 * MS, &err), 0);
	set_memory(proc, 100000, 100);
	assert_int_equal(pressure_check(pressure, 1249 * MS, &err), 0);
	assert_int_equal(pressure_check(pressure, 1250 * MS, &err), -ENOMEM);
	set_memory(proc, 100000, 50000);
	err = (struct err){0};
	assert_int_equal(pressure_check(pressure, 1499 * MS, &err), -ENOMEM);
	assert_contains(err.text, "100 of 100000 MiB");
	assert_int_equal(pressure_check(pressure, 1500 * MS, &err), 0);
	pressure_free(pressure);
}

static void this_host_can_be_asked(void **state)
{
	struct pressure *pressure = pressure_new("/proc", 100);
	struct err err = {0};
	int r = pressure_check(pressure, now_ns(), &err);

	(void)state;
	assert_true(r == 0 || r == -ENOMEM);
	pressure_free(pressure);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(little_memory_is_a_reason_by_itself, make, end),
		cmocka_unit_test_setup_teardown(stalls_count_while_memory_is_getting_short, make,
						end),
		cmocka_unit_test_setup_teardown(without_stalls_what_is_available_decides, make,
						end),
		cmocka_unit_test_setup_teardown(a_host_that_says_nothing_has_room, make, end),
		cmocka_unit_test_setup_teardown(the_files_are_read_only_so_often, make, end),
		cmocka_unit_test(this_host_can_be_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
