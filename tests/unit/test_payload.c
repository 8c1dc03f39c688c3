// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/stat.h>

#include "base/c.h"
#include "base/io.h"
#include "base/json.h"
#include "proto/frame.h"
#include "session/payload.h"
#include "unit.h"

#define TEXT(text_)                                                                                \
	{                                                                                          \
		.data = (text_), .size = sizeof(text_) - 1, .fd = -1                               \
	}

static void split(struct payload *payload, struct frame *ret_frame, char *ret_meta, size_t room,
		  const uint8_t **ret_rest, size_t *ret_rest_size)
{
	const uint8_t *meta = NULL;
	size_t meta_size = 0;
	struct err err = {0};

	assert_int_equal(frame_decode(payload->frame.data, payload->frame.size, ret_frame, &err),
			 payload->frame.size);
	assert_int_equal(frame_split(ret_frame, &meta, &meta_size, ret_rest, ret_rest_size, &err),
			 0);
	assert_true(json_is_valid(meta, meta_size));
	assert_true(meta_size < room);
	memcpy(ret_meta, meta, meta_size);
	ret_meta[meta_size] = '\0';
}

static void a_small_one_travels_in_the_frame(void **state)
{
	static const char *const env[] = {"A=1", "B=x=\"y\"", NULL};
	static const char *const expect[] = {"/workspace/a.png", NULL};
	const struct run_file files[] = {{"in.csv", TEXT("a,b")}, {"/workspace/d/e", TEXT("")}};
	const struct run_request request = {
		.code = TEXT("print(1)"),
		.args = TEXT("{}"),
		.stdin_kind = RUN_STDIN_BYTES,
		.stdin_bytes = TEXT("in"),
		.env = env,
		.expect = expect,
		.files = files,
		.file_count = 2,
		.want_files = true,
	};
	struct payload payload = {.memfd = -1};
	struct frame frame;
	const uint8_t *rest = NULL;
	size_t rest_size = 0;
	char meta[1024];
	struct err err = {0};

	(void)state;
	assert_ok(payload_run(&request, 99, &payload, &err), err);
	assert_int_equal(payload.memfd, -1);
	split(&payload, &frame, meta, sizeof(meta), &rest, &rest_size);
	assert_int_equal(frame.header.type, FRAME_RUN);
	assert_int_equal(frame.header.flags, 0);
	assert_int_equal(frame.header.nonce, 99);
	assert_int_equal(rest_size, 15);
	assert_memory_equal(rest, "print(1){}ina,b", 15);
	assert_contains(meta, "\"code\":[0,8]");
	assert_contains(meta, "\"args\":[8,2]");
	assert_contains(meta, "\"stdin\":[10,2]");
	assert_contains(meta, "\"files\":[{\"path\":\"in.csv\",\"at\":[12,3]},"
			      "{\"path\":\"/workspace/d/e\",\"at\":[15,0]}]");
	assert_contains(meta, "\"env\":{\"A\":\"1\",\"B\":\"x=\\\"y\\\"\"}");
	assert_contains(meta, "\"expect\":[\"/workspace/a.png\"]");
	assert_contains(meta, "\"want_files\":true");
	payload_done(&payload);
}

static void a_large_one_travels_sealed(void **state)
{
	char path[64];
	char data_path[80];
	static char bytes[200000];
	struct run_request request = {.code = TEXT("x"), .data_format = RUN_DATA_CSV};
	struct payload payload = {.memfd = -1};
	struct frame frame;
	const uint8_t *rest = NULL;
	size_t rest_size = 0;
	char meta[1024];
	struct stat info;
	struct err err = {0};
	int fd;

	(void)state;
	scratch_make(path);
	(void)snprintf(data_path, sizeof(data_path), "%s/data", path);
	memset(bytes, 'd', sizeof(bytes));
	fd = open(data_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_ok(io_write_all(fd, bytes, sizeof(bytes), &err), err);
	request.data = (struct run_bytes){.size = sizeof(bytes), .fd = fd};

	assert_ok(payload_run(&request, 1, &payload, &err), err);
	split(&payload, &frame, meta, sizeof(meta), &rest, &rest_size);
	assert_int_equal(frame.header.flags, FRAME_FLAG_MEMFD);
	assert_int_equal(rest_size, 0);
	assert_contains(meta, "\"data\":[1,200000],\"data_format\":\"csv\"");
	assert_int_equal(fstat(payload.memfd, &info), 0);
	assert_int_equal(info.st_size, 200001);
	assert_int_equal(pwrite(payload.memfd, "y", 1, 0), -1);
	assert_int_equal(fcntl(payload.memfd, F_GET_SEALS),
			 F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SEAL);
	payload_done(&payload);

	/* A file that lost its end meanwhile is an error, not zeroes. */
	assert_int_equal(ftruncate(fd, 1000), 0);
	assert_int_equal(payload_run(&request, 1, &payload, &err), -EIO);
	(void)close(fd);
	scratch_remove(path);
}

static void a_memfd_that_is_lent_is_not_copied(void **state)
{
	const size_t size = 200000;
	int fd = memfd_create("lent", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct run_request request = {.look = "{}"};
	struct payload payload = {.memfd = -1};
	struct stat info;
	struct err err = {0};

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	request.code = (struct run_bytes){.fd = fd, .size = size, .is_lent = true};
	assert_ok(payload_run(&request, 1, &payload, &err), err);
	assert_int_equal(payload_inode(payload.memfd), payload_inode(fd));
	assert_int_equal(fcntl(fd, F_GET_SEALS), F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SEAL);
	payload_done(&payload);
	/* Its memory is taken back as well. */
	assert_int_equal(fstat(fd, &info), 0);
	assert_int_equal(info.st_size, 0);
	(void)close(fd);
}

static void a_memfd_that_is_lent_beside_other_parts_is_copied(void **state)
{
	const size_t size = 200000;
	int fd = memfd_create("lent", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct run_request request = {.look = "{}", .args = TEXT("[]")};
	struct payload payload = {.memfd = -1};
	struct err err = {0};

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	request.code = (struct run_bytes){.fd = fd, .size = size, .is_lent = true};
	assert_ok(payload_run(&request, 1, &payload, &err), err);
	assert_true(payload_inode(payload.memfd) != payload_inode(fd));
	payload_done(&payload);
	(void)close(fd);
}

/* Several parts of a request lie in one memfd, one behind the other. */
static void a_part_may_lie_anywhere_in_a_file(void **state)
{
	const size_t sizes[] = {3, 200000}; /* in the frame, and in a memfd */
	static char bytes[200010];
	struct err err = {0};
	int fd = memfd_create("parts", MFD_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	memset(bytes, 'd', sizeof(bytes));
	bytes[6] = 'x';
	bytes[7] = 'A';
	bytes[8] = 'B';
	assert_ok(io_write_all(fd, bytes, sizeof(bytes), &err), err);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		const struct run_request request = {
			.code = TEXT("x"),
			.args = {.size = sizes[i], .fd = fd, .at = 7},
		};
		struct payload payload = {.memfd = -1};
		struct frame frame;
		const uint8_t *rest = NULL;
		size_t rest_size = 0;
		char meta[1024], got[4] = "";

		assert_ok(payload_run(&request, 1, &payload, &err), err);
		split(&payload, &frame, meta, sizeof(meta), &rest, &rest_size);
		if (payload.memfd >= 0)
			assert_int_equal(pread(payload.memfd, got, 3, 1), 3);
		else
			memcpy(got, rest + 1, 3);
		assert_string_equal(got, "ABd");
		payload_done(&payload);
	}
	(void)close(fd);
}

static void refuses_paths_that_lead_out(void **state)
{
	static const char *const bad[] = {
		"../a",      "/etc/passwd", "/workspace", "/workspace/",   "/workspace/../x",
		"a/../../b", "a/..",        "",           "/workspacex/a",
	};
	static const char *const good[] = {"..a", "a..", ".../x", "/workspace/a", "new\nline"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad) + ARRAY_LEN(good); i++) {
		bool is_bad = i < ARRAY_LEN(bad);
		const struct run_file file = {is_bad ? bad[i] : good[i - ARRAY_LEN(bad)],
					      TEXT("x")};
		const struct run_request request = {
			.code = TEXT("1"), .files = &file, .file_count = 1};
		struct payload payload = {.memfd = -1};
		struct err err = {0};

		if (payload_run(&request, 1, &payload, &err) != (is_bad ? -EINVAL : 0))
			fail_msg("%s: %s", file.path, err.text);
		payload_done(&payload);
	}
}

static void a_check_has_the_code_and_the_lists(void **state)
{
	char *blocked[] = {(char[]){"pickle"}};
	const struct text_list block = {.items = blocked, .count = 1};
	const struct run_request request = {.code = TEXT("import os"), .guard_block = &block};
	struct payload payload = {.memfd = -1};
	struct frame frame;
	const uint8_t *rest = NULL;
	size_t rest_size = 0;
	char meta[256];
	struct err err = {0};

	(void)state;
	assert_ok(payload_check(&request, 5, &payload, &err), err);
	split(&payload, &frame, meta, sizeof(meta), &rest, &rest_size);
	assert_int_equal(frame.header.type, FRAME_CHECK);
	assert_string_equal(meta, "{\"code\":[0,9],\"block\":[\"pickle\"],\"allow\":[],"
				  "\"strict\":false}");
	assert_memory_equal(rest, "import os", 9);
	payload_done(&payload);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_memfd_that_is_lent_is_not_copied),
		cmocka_unit_test(a_memfd_that_is_lent_beside_other_parts_is_copied),
		cmocka_unit_test(a_small_one_travels_in_the_frame),
		cmocka_unit_test(a_large_one_travels_sealed),
		cmocka_unit_test(a_part_may_lie_anywhere_in_a_file),
		cmocka_unit_test(refuses_paths_that_lead_out),
		cmocka_unit_test(a_check_has_the_code_and_the_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
