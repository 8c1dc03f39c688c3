// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <unistd.h>

#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/c.h"
#include "base/io.h"
#include "session/channel.h"
#include "unit.h"

#define TURNS 2000 /* then what a test waits for will not happen */

struct scene {
	uv_loop_t loop;
	struct channel channel;
	int far; /* owned: the sandbox's end */
	uint32_t counter;
	size_t frame_count, piece_count, ended_count;
	struct frame_header last;
	struct buf payload; /* of the last frame */
	struct err why;
	bool closes; /* the next frame is answered by closing the channel */
	bool reads;  /* ... by reading the channel again */
	bool is_closed;
	int left; /* bytes in the socket when the last frame was delivered */
};

static void handle_closed(uv_handle_t *handle)
{
	struct scene *scene = handle->loop->data;

	assert_ptr_equal(handle, &scene->channel.poll);
	scene->is_closed = true;
}

static void frame_in(void *user, const struct frame *frame)
{
	struct scene *scene = user;

	scene->frame_count++;
	scene->last = frame->header;
	buf_consume(&scene->payload, scene->payload.size);
	assert_int_equal(buf_append(&scene->payload, frame->payload, frame->header.size), 0);
	assert_int_equal(ioctl(scene->channel.fd, FIONREAD, &scene->left), 0);
	if (scene->reads)
		channel_read(&scene->channel);
	if (scene->closes)
		channel_close(&scene->channel, handle_closed);
}

static void piece_in(void *user, const struct frame *piece)
{
	struct scene *scene = user;

	(void)piece;
	scene->piece_count++;
}

static void ended(void *user, const struct err *why)
{
	struct scene *scene = user;

	scene->ended_count++;
	scene->why = *why;
}

static const struct channel_calls calls = {frame_in, ended, piece_in};

static int setup(void **state)
{
	struct scene *scene = xnew(struct scene);
	struct err err = {0};
	int pair[2];

	assert_int_equal(uv_loop_init(&scene->loop), 0);
	scene->loop.data = scene;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_ok(channel_open(&scene->channel, &scene->loop, &pair[0], &calls, scene, &err), err);
	scene->far = pair[1];
	buf_init(&scene->payload, FRAME_PAYLOAD_MAX);
	*state = scene;
	return 0;
}

static int teardown(void **state)
{
	struct scene *scene = *state;

	drop_fd(&scene->far);
	channel_close(&scene->channel, handle_closed);
	while (!scene->is_closed)
		(void)uv_run(&scene->loop, UV_RUN_ONCE);
	assert_int_equal(uv_loop_close(&scene->loop), 0);
	buf_done(&scene->payload);
	free(scene);
	return 0;
}

#define until(scene, condition)                                                                    \
	do {                                                                                       \
		for (int turn = 0; !(condition); turn++) {                                         \
			assert_true(turn < TURNS);                                                 \
			(void)uv_run(&(scene)->loop, UV_RUN_ONCE);                                 \
		}                                                                                  \
	} while (0)

static void say(struct scene *scene, const struct frame_header *header, const void *payload)
{
	struct buf bytes;

	buf_init(&bytes, sizeof(*header) + FRAME_PIECE_MAX + 1);
	assert_int_equal(buf_append(&bytes, header, sizeof(*header)), 0);
	assert_int_equal(buf_append(&bytes, payload, header->size), 0);
	assert_int_equal(send(scene->far, bytes.data, bytes.size, MSG_NOSIGNAL), bytes.size);
	buf_done(&bytes);
}

static void say_event(struct scene *scene, uint16_t flags, const void *payload, size_t size)
{
	struct frame_header header = {.size = (uint32_t)size,
				      .type = FRAME_EVENT,
				      .flags = flags,
				      .nonce = 7,
				      .counter = ++scene->counter};

	say(scene, &header, payload);
}

static void assert_broken(struct scene *scene, const char *why)
{
	until(scene, scene->ended_count > 0);
	assert_int_equal(scene->ended_count, 1);
	assert_int_equal(scene->why.kind, ERR_BAD_REQUEST);
	assert_contains(scene->why.text, why);
}

static void a_frame_stays_in_the_socket_until_it_was_delivered(void **state)
{
	struct scene *scene = *state;
	int left = -1;

	say_event(scene, 0, "{}", 2);
	until(scene, scene->frame_count == 1);
	assert_int_equal(scene->left, sizeof(struct frame_header) + 2);
	assert_int_equal(ioctl(scene->channel.fd, FIONREAD, &left), 0);
	assert_int_equal(left, 0);
	assert_memory_equal(scene->payload.data, "{}", 2);
}

static void a_frame_that_comes_again_is_dropped(void **state)
{
	struct scene *scene = *state;

	say_event(scene, 0, "a", 1);
	scene->counter--;
	say_event(scene, 0, "a", 1);
	say_event(scene, 0, "b", 1);
	until(scene, scene->last.counter == 2);
	assert_int_equal(scene->frame_count, 2);
	assert_int_equal(scene->ended_count, 0);
}

static void a_successor_goes_on_where_the_last_one_was(void **state)
{
	struct scene *scene = *state;

	scene->channel.counter = 2;
	for (int i = 0; i < 3; i++)
		say_event(scene, 0, "x", 1);
	until(scene, scene->frame_count == 1);
	assert_int_equal(scene->last.counter, 3);
}

static void a_frame_that_was_skipped_is_the_end(void **state)
{
	struct scene *scene = *state;

	say_event(scene, 0, "a", 1);
	scene->counter++;
	say_event(scene, 0, "b", 1);
	assert_broken(scene, "frame 3 where 2");
	assert_int_equal(scene->frame_count, 1);
}

static void old_frames_without_end_are_the_end(void **state)
{
	struct scene *scene = *state;

	for (int i = 0; i < 100; i++) {
		scene->counter = 0;
		say_event(scene, 0, "a", 1);
	}
	assert_broken(scene, "repeated");
	assert_int_equal(scene->frame_count, 1);
}

static void pieces_come_together(void **state)
{
	struct scene *scene = *state;
	char *piece = xcalloc(FRAME_PIECE_MAX, 1);

	memset(piece, 'a', FRAME_PIECE_MAX);
	say_event(scene, FRAME_FLAG_MORE | FRAME_FLAG_WAIT, piece, FRAME_PIECE_MAX);
	until(scene, scene->piece_count == 1);
	memset(piece, 'b', FRAME_PIECE_MAX);
	say_event(scene, FRAME_FLAG_MORE | FRAME_FLAG_WAIT, piece, FRAME_PIECE_MAX);
	say_event(scene, FRAME_FLAG_WAIT, "c", 1);
	until(scene, scene->frame_count == 1);
	assert_int_equal(scene->last.size, 2 * FRAME_PIECE_MAX + 1);
	assert_int_equal(scene->last.flags, FRAME_FLAG_WAIT);
	assert_int_equal(scene->last.counter, 3);
	assert_int_equal(scene->payload.data[FRAME_PIECE_MAX - 1], 'a');
	assert_int_equal(scene->payload.data[FRAME_PIECE_MAX], 'b');
	assert_int_equal(scene->payload.data[2 * FRAME_PIECE_MAX], 'c');
	say_event(scene, 0, "next", 4);
	until(scene, scene->frame_count == 2);
	assert_memory_equal(scene->payload.data, "next", 4);
	assert_int_equal(scene->piece_count, 4);
	free(piece);
}

static void pieces_of_two_payloads_do_not_mix(void **state)
{
	struct scene *scene = *state;
	char *piece = xcalloc(FRAME_PIECE_MAX, 1);
	struct frame_header other = {.type = FRAME_DONE, .nonce = 7, .counter = 2};

	say_event(scene, FRAME_FLAG_MORE, piece, FRAME_PIECE_MAX);
	say(scene, &other, "");
	assert_broken(scene, "between two pieces");
	assert_int_equal(scene->frame_count, 0);
	free(piece);
}

static void pieces_of_another_run_do_not_mix(void **state)
{
	struct scene *scene = *state;
	char *piece = xcalloc(FRAME_PIECE_MAX, 1);
	struct frame_header other = {.type = FRAME_EVENT, .nonce = 8, .counter = 2};

	say_event(scene, FRAME_FLAG_MORE, piece, FRAME_PIECE_MAX);
	say(scene, &other, "");
	assert_broken(scene, "between two pieces");
	free(piece);
}

static void small_pieces_are_the_end(void **state)
{
	struct scene *scene = *state;

	say_event(scene, FRAME_FLAG_MORE, "a", 1);
	assert_broken(scene, "a piece of 1 bytes");
}

static void a_large_piece_is_refused_before_its_bytes_come(void **state)
{
	struct scene *scene = *state;
	struct frame_header header = {
		.size = FRAME_PIECE_MAX + 1, .type = FRAME_EVENT, .nonce = 7, .counter = 1};

	assert_int_equal(send(scene->far, &header, sizeof(header), 0), sizeof(header));
	assert_broken(scene, "65537 bytes");
}

static void a_payload_above_the_limit_is_the_end(void **state)
{
	struct scene *scene = *state;
	char *piece = xcalloc(FRAME_PIECE_MAX, 1);
	size_t most = FRAME_PAYLOAD_MAX / FRAME_PIECE_MAX;

	for (size_t i = 0; i < most; i++) {
		say_event(scene, FRAME_FLAG_MORE, piece, FRAME_PIECE_MAX);
		until(scene, scene->piece_count == i + 1);
	}
	assert_int_equal(scene->ended_count, 0);
	say_event(scene, 0, "a", 1);
	assert_broken(scene, "payload above");
	free(piece);
}

static void half_a_frame_waits_without_turning_the_loop(void **state)
{
	struct scene *scene = *state;
	struct frame_header header = {.size = 2, .type = FRAME_EVENT, .nonce = 7, .counter = 1};
	uint64_t begun = now_ns();
	size_t turns = 0;

	assert_int_equal(send(scene->far, &header, sizeof(header), 0), sizeof(header));
	/* The loop sleeps between looks: in 100 ms there are few of them. */
	while (now_ns() - begun < 100000000) {
		(void)uv_run(&scene->loop, UV_RUN_ONCE);
		turns++;
	}
	assert_true(turns < 50);
	assert_int_equal(send(scene->far, "{}", 2, 0), 2);
	until(scene, scene->frame_count == 1);
	assert_int_equal(scene->ended_count, 0);
}

static void half_a_frame_and_the_end_is_the_end(void **state)
{
	struct scene *scene = *state;
	struct frame_header header = {.size = 2, .type = FRAME_EVENT, .nonce = 7, .counter = 2};

	say_event(scene, 0, "{}", 2);
	assert_int_equal(send(scene->far, &header, sizeof(header), 0), sizeof(header));
	drop_fd(&scene->far);
	until(scene, scene->ended_count == 1);
	assert_int_equal(scene->why.kind, ERR_NONE);
	assert_int_equal(scene->frame_count, 1);
}

static void what_comes_during_a_pause_stays_in_the_socket(void **state)
{
	struct scene *scene = *state;
	int left = 0;

	say_event(scene, 0, "a", 1);
	until(scene, scene->frame_count == 1);
	channel_pause(&scene->channel);
	say_event(scene, 0, "b", 1);
	(void)uv_run(&scene->loop, UV_RUN_NOWAIT);
	channel_read(&scene->channel);
	assert_int_equal(scene->frame_count, 1);
	assert_int_equal(ioctl(scene->channel.fd, FIONREAD, &left), 0);
	assert_int_equal(left, sizeof(struct frame_header) + 1);
	channel_resume(&scene->channel);
	until(scene, scene->frame_count == 2);
	assert_memory_equal(scene->payload.data, "b", 1);
}

static void a_call_may_read_again(void **state)
{
	struct scene *scene = *state;

	scene->reads = true;
	say_event(scene, 0, "a", 1);
	say_event(scene, 0, "b", 1);
	until(scene, scene->frame_count == 2);
	assert_memory_equal(scene->payload.data, "b", 1);
}

static void a_call_may_close_the_channel(void **state)
{
	struct scene *scene = *state;

	scene->closes = true;
	say_event(scene, 0, "a", 1);
	say_event(scene, 0, "b", 1);
	until(scene, scene->is_closed);
	assert_int_equal(scene->frame_count, 1);
}

static void descriptors_go_out_with_the_bytes(void **state)
{
	struct scene *scene = *state;
	int fds[CHANNEL_FDS_MAX] = {dup(0), -1, dup(0)};
	int came[8];
	size_t came_count = 0;
	struct err err = {0};
	struct buf bytes;
	char byte;

	buf_init(&bytes, 10);
	assert_int_equal(buf_append(&bytes, "x", 1), 0);
	assert_ok(channel_send_fds(&scene->channel, &bytes, fds, CHANNEL_FDS_MAX, &err), err);
	assert_int_equal(fds[0], -1);
	assert_int_equal(fds[2], -1);
	assert_int_equal(io_recv_fds(scene->far, &byte, 1, came, &came_count), 1);
	assert_int_equal(came_count, 2);
	drop_fd(&came[0]);
	drop_fd(&came[1]);
}

static void the_sender_is_told_and_its_descriptors_are_not_taken(void **state)
{
	struct scene *scene = *state;
	struct frame_header header = {.type = FRAME_EVENT, .nonce = 7, .counter = 1};
	struct err err = {0};
	int before = dup(0);
	int after;
	pid_t pid;

	(void)close(before);
	assert_ok(channel_want_sender(&scene->channel, &err), err);
	pid = fork();
	if (pid == 0) {
		int fds[] = {0, 0, 0};

		_exit(io_send_fds(scene->far, &header, sizeof(header), fds, 3) < 0);
	}
	until(scene, scene->frame_count == 1);
	assert_int_equal(scene->channel.sender, pid);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	after = dup(0);
	assert_int_equal(after, before);
	(void)close(after);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_frame_stays_in_the_socket_until_it_was_delivered),
		TEST(a_frame_that_comes_again_is_dropped),
		TEST(a_successor_goes_on_where_the_last_one_was),
		TEST(a_frame_that_was_skipped_is_the_end),
		TEST(old_frames_without_end_are_the_end),
		TEST(pieces_come_together),
		TEST(pieces_of_two_payloads_do_not_mix),
		TEST(pieces_of_another_run_do_not_mix),
		TEST(small_pieces_are_the_end),
		TEST(a_large_piece_is_refused_before_its_bytes_come),
		TEST(a_payload_above_the_limit_is_the_end),
		TEST(half_a_frame_waits_without_turning_the_loop),
		TEST(half_a_frame_and_the_end_is_the_end),
		TEST(what_comes_during_a_pause_stays_in_the_socket),
		TEST(a_call_may_read_again),
		TEST(a_call_may_close_the_channel),
		TEST(descriptors_go_out_with_the_bytes),
		TEST(the_sender_is_told_and_its_descriptors_are_not_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
