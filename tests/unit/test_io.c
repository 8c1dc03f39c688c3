// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/socket.h>

#include "base/c.h"
#include "base/io.h"
#include "unit.h"

static void reads_back_what_it_wrote(void **state)
{
	AUTO_CLOSE int fd = memfd_create("test", MFD_CLOEXEC);
	struct err err = {0};
	struct buf buf;

	(void)state;
	assert_ok(io_write_all(fd, "hello", 5, &err), err);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	buf_init(&buf, 5);
	assert_ok(io_read_all(fd, &buf, &err), err);
	assert_string_equal(buf_string(&buf), "hello");
	buf_done(&buf);
}

static void refuses_a_file_that_is_longer_than_the_buffer_may_be(void **state)
{
	AUTO_CLOSE int fd = memfd_create("test", MFD_CLOEXEC);
	struct err err = {0};
	struct buf buf;

	(void)state;
	assert_ok(io_write_all(fd, "hello!", 6, &err), err);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	buf_init(&buf, 5);
	assert_int_equal(io_read_all(fd, &buf, &err), -EMSGSIZE);
	assert_int_equal(err.kind, ERR_TOO_LARGE);
	buf_done(&buf);
}

static void names_the_file_that_is_not_there(void **state)
{
	struct err err = {0};
	struct buf buf;

	(void)state;
	buf_init(&buf, 5);
	assert_int_equal(io_read_file(AT_FDCWD, "/nowhere/at/all", &buf, &err), -ENOENT);
	assert_contains(err.text, "/nowhere/at/all");
	assert_int_equal(io_write_file(AT_FDCWD, "/nowhere/at/all", "1", &err), -ENOENT);
	buf_done(&buf);
}

static void a_sealed_memfd_cannot_be_changed(void **state)
{
	struct err err = {0};
	char byte = 0;
	int fd = -1;

	(void)state;
	assert_ok(io_sealed_memfd("abc", 3, &fd, &err), err);
	assert_int_equal(pread(fd, &byte, 1, 2), 1);
	assert_int_equal(byte, 'c');
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), -1);
	drop_fd(&fd);
}

static void descriptors_arrive_close_on_exec(void **state)
{
	int pair[2], fds[IO_FDS_MAX];
	size_t count = 0;
	char text[8] = "";

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(io_send_fds(pair[0], "hi", 2, pair, 2), 2);
	assert_int_equal(io_recv_fds(pair[1], text, sizeof(text), fds, &count), 2);
	assert_int_equal(count, 2);
	assert_string_equal(text, "hi");
	for (size_t i = 0; i < 2; i++) {
		assert_true(fcntl(fds[i], F_GETFD) & FD_CLOEXEC);
		assert_int_equal(close(fds[i]), 0);
	}
	for (size_t i = 2; i < IO_FDS_MAX; i++)
		assert_int_equal(fds[i], -1);
	assert_int_equal(close(pair[0]), 0);
	assert_int_equal(io_recv_fds(pair[1], text, sizeof(text), fds, &count), 0);
	assert_int_equal(close(pair[1]), 0);
}

static int open_descriptors(void)
{
	int count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void a_cut_message_is_an_error_and_keeps_no_descriptor(void **state)
{
	int pair[2], fds[IO_FDS_MAX], before;
	size_t count = 0;
	char text[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	before = open_descriptors();
	assert_int_equal(io_send_fds(pair[0], "too long", 8, pair, 2), 8);
	assert_int_equal(io_recv_fds(pair[1], text, sizeof(text), fds, &count), -EMSGSIZE);
	assert_int_equal(open_descriptors(), before);
	assert_int_equal(close(pair[0]), 0);
	assert_int_equal(close(pair[1]), 0);
}

static void refuses_to_send_more_descriptors_than_fit(void **state)
{
	int pair[2], many[IO_FDS_MAX + 1] = {0};

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(io_send_fds(pair[0], "x", 1, many, IO_FDS_MAX + 1), -EINVAL);
	assert_int_equal(close(pair[1]), 0);
	assert_int_equal(io_send_fds(pair[0], "x", 1, NULL, 0), -EPIPE);
	assert_int_equal(close(pair[0]), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_back_what_it_wrote),
		cmocka_unit_test(refuses_a_file_that_is_longer_than_the_buffer_may_be),
		cmocka_unit_test(names_the_file_that_is_not_there),
		cmocka_unit_test(a_sealed_memfd_cannot_be_changed),
		cmocka_unit_test(descriptors_arrive_close_on_exec),
		cmocka_unit_test(a_cut_message_is_an_error_and_keeps_no_descriptor),
		cmocka_unit_test(refuses_to_send_more_descriptors_than_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
