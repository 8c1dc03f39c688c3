// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "attempt.h"
#include "base/c.h"

static int refusal_of(const struct walls_input *input)
{
	struct err err = {0};

	return -wall_fds.up(input, &err);
}

static int look_through_a_leaked_directory(struct walls_input *input, const struct wall *wall)
{
	int dir = open("/", O_RDONLY | O_DIRECTORY);

	put_up(wall, input);
	return tried(openat(dir, "etc", O_PATH));
}

static int use_a_leaked_high_number(struct walls_input *input, const struct wall *wall)
{
	int high = fcntl(0, F_DUPFD, 900);

	put_up(wall, input);
	return tried(fcntl(high, F_GETFD));
}

static int use_the_shells_pidfd(struct walls_input *input, const struct wall *wall)
{
	input->shell_pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	put_up(wall, input);
	return tried(syscall(SYS_pidfd_send_signal, input->shell_pidfd, 0, NULL, 0));
}

static void nothing_else_survives(void **state)
{
	(void)state;
	assert_int_equal(attempt(look_through_a_leaked_directory, NULL), 0);
	assert_int_equal(attempt(look_through_a_leaked_directory, &wall_fds), EBADF);
	assert_int_equal(attempt(use_a_leaked_high_number, NULL), 0);
	assert_int_equal(attempt(use_a_leaked_high_number, &wall_fds), EBADF);
	assert_int_equal(attempt(use_the_shells_pidfd, NULL), 0);
	assert_int_equal(attempt(use_the_shells_pidfd, &wall_fds), EBADF);
}

/* Puts what will be 0, 1, 2 and the channel at each other's numbers. Returns 0 when all arrived. */
static int scramble(struct walls_input *input, const struct wall *wall)
{
	static const int places[] = {2, 3, 0, 1};
	ino_t wanted[ARRAY_LEN(places)];
	struct stat st;
	int socket = fcntl(input->channel, F_DUPFD, 20);

	for (int i = 0; i < (int)ARRAY_LEN(places); i++) {
		int source = i == WALL_CHANNEL_FD ? socket : memfd_create("stream", 0);

		if (fstat(source, &st) < 0 || fcntl(source, F_DUPFD, 30 + i) < 0)
			give_up("sources");
		wanted[i] = st.st_ino;
	}
	for (int i = 0; i < (int)ARRAY_LEN(places); i++)
		if (dup2(30 + i, places[i]) < 0)
			give_up("places");

	for (int i = 0; i < 3; i++)
		input->std[i] = places[i];
	input->channel = places[3];
	put_up(wall, input);
	for (int i = 0; i < (int)ARRAY_LEN(places); i++) {
		int expected = i == WALL_CHANNEL_FD ? FD_CLOEXEC : 0;

		if (fstat(i, &st) < 0 || st.st_ino != wanted[i] || fcntl(i, F_GETFD) != expected)
			return 100 + i;
	}
	return 0;
}

static void sources_may_carry_each_others_numbers(void **state)
{
	(void)state;
	assert_int_equal(attempt(scramble, NULL), 100);
	assert_int_equal(attempt(scramble, &wall_fds), 0);
}

static int share_one_source(struct walls_input *input, const struct wall *wall)
{
	input->std[0] = input->std[1] = input->std[2] = input->channel;
	put_up(wall, input);
	return tried(fcntl(WALL_CHANNEL_FD, F_GETFD) == FD_CLOEXEC ? fcntl(2, F_GETFD) : -1);
}

static void one_source_may_serve_as_several(void **state)
{
	(void)state;
	assert_int_equal(attempt(share_one_source, &wall_fds), 0);
}

static int give_a_directory(struct walls_input *input, const struct wall *wall)
{
	(void)wall;
	input->std[0] = open("/", O_RDONLY | O_DIRECTORY);
	return refusal_of(input);
}

static int give_a_path(struct walls_input *input, const struct wall *wall)
{
	(void)wall;
	input->std[2] = open("/", O_PATH);
	return refusal_of(input);
}

static int give_a_closed_number(struct walls_input *input, const struct wall *wall)
{
	(void)wall;
	input->std[1] = 700;
	return refusal_of(input);
}

static int give_a_file_as_channel(struct walls_input *input, const struct wall *wall)
{
	(void)wall;
	input->channel = open("/dev/null", O_RDWR);
	return refusal_of(input);
}

static void what_could_lead_out_is_refused(void **state)
{
	(void)state;
	assert_int_equal(attempt(give_a_directory, NULL), EBADF);
	assert_int_equal(attempt(give_a_path, NULL), EBADF);
	assert_int_equal(attempt(give_a_closed_number, NULL), EBADF);
	assert_int_equal(attempt(give_a_file_as_channel, NULL), ENOTSOCK);
}

/* chroot leaves the working directory where it was: now outside (CVE-2024-21626 in short). */
static int stand_outside(struct walls_input *input, const struct wall *wall)
{
	if (chdir("/") < 0 || chroot("/workspace") < 0)
		give_up("chroot");
	if (wall == NULL)
		return tried(open("etc", O_PATH));
	return refusal_of(input);
}

static void a_working_directory_outside_is_refused(void **state)
{
	(void)state;
	assert_int_equal(attempt(stand_outside, NULL), 0);
	assert_int_equal(attempt(stand_outside, &wall_fds), EXDEV);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_else_survives),
		cmocka_unit_test(sources_may_carry_each_others_numbers),
		cmocka_unit_test(one_source_may_serve_as_several),
		cmocka_unit_test(what_could_lead_out_is_refused),
		cmocka_unit_test(a_working_directory_outside_is_refused),
	};

	return run_attempts("fds", tests, ARRAY_LEN(tests));
}
