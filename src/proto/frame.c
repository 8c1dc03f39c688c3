// SPDX-License-Identifier: Apache-2.0
#include "proto/frame.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/c.h"
#include "base/io.h"

_Static_assert(sizeof(struct frame_header) == 24, "struct frame_header must match the wire layout");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "frames are little endian");

/* The flags that each type may carry. */
static const uint16_t allowed_flags[] = {
	[FRAME_HELLO] = 0,
	[FRAME_RUN] = FRAME_FLAG_MEMFD | FRAME_FLAG_STDIN | FRAME_FLAG_DOUBT,
	[FRAME_EVENT] = FRAME_FLAG_WAIT | FRAME_FLAG_MORE,
	[FRAME_FILE] = FRAME_FLAG_LAST | FRAME_FLAG_MORE,
	[FRAME_DONE] = FRAME_FLAG_MORE,
	[FRAME_ACK] = 0,
	[FRAME_CHECK] = FRAME_FLAG_MEMFD,
	[FRAME_FORK] = FRAME_FLAG_LOOK,
	[FRAME_FORKED] = 0,
};

int64_t frame_decode(const void *bytes, size_t size, struct frame *ret_frame, struct err *err)
{
	struct frame frame = {0};

	if (size < sizeof(frame.header))
		return 0;

	memcpy(&frame.header, bytes, sizeof(frame.header));
	if (frame.header.size > FRAME_PAYLOAD_MAX)
		return err_set(err, ERR_BAD_REQUEST, EMSGSIZE, "frame of %u bytes, at most %u",
			       frame.header.size, FRAME_PAYLOAD_MAX);
	if (frame.header.type < FRAME_HELLO || frame.header.type >= ARRAY_LEN(allowed_flags))
		return err_set(err, ERR_BAD_REQUEST, EPROTO, "unknown frame type %u",
			       frame.header.type);
	if (frame.header.flags & ~allowed_flags[frame.header.type])
		return err_set(err, ERR_BAD_REQUEST, EPROTO, "unknown flags %#x in frame type %u",
			       frame.header.flags, frame.header.type);
	if (size - sizeof(frame.header) < frame.header.size)
		return 0;

	frame.payload = (const uint8_t *)bytes + sizeof(frame.header);
	*ret_frame = frame;
	return (int64_t)(sizeof(frame.header) + frame.header.size);
}

int frame_append(struct buf *buf, uint16_t type, uint16_t flags, uint64_t nonce,
		 const void *payload, size_t size)
{
	struct frame_header header = {
		.size = (uint32_t)size, .type = type, .flags = flags, .nonce = nonce};
	int r;

	if (size > FRAME_PAYLOAD_MAX)
		return -EMSGSIZE;
	r = buf_reserve(buf, sizeof(header) + size);
	if (r < 0)
		return r;

	(void)buf_append(buf, &header, sizeof(header));
	(void)buf_append(buf, payload, size);
	return 0;
}

int frame_send_hello(int channel, uint32_t walls, uint32_t landlock_abi, uint32_t shown,
		     struct err *err)
{
	struct {
		struct frame_header header;
		struct frame_hello hello;
	} frame = {
		.header = {.size = sizeof(frame.hello), .type = FRAME_HELLO, .counter = 1},
		.hello =
			{
				.version = FRAME_VERSION,
				.walls = walls,
				.landlock_abi = landlock_abi,
				.pid = (uint32_t)getpid(),
				.shown = shown,
			},
	};

	return io_write_all(channel, &frame, sizeof(frame), err);
}

int frame_split(const struct frame *frame, const uint8_t **ret_meta, size_t *ret_meta_size,
		const uint8_t **ret_rest, size_t *ret_rest_size, struct err *err)
{
	uint32_t meta_size;

	if (frame->header.size < sizeof(meta_size))
		return err_set(err, ERR_BAD_REQUEST, EPROTO,
			       "frame is too short for its meta size");

	memcpy(&meta_size, frame->payload, sizeof(meta_size));
	if (meta_size > frame->header.size - sizeof(meta_size))
		return err_set(err, ERR_BAD_REQUEST, EPROTO, "meta is longer than its frame");

	*ret_meta = frame->payload + sizeof(meta_size);
	*ret_meta_size = meta_size;
	*ret_rest = *ret_meta + meta_size;
	*ret_rest_size = frame->header.size - sizeof(meta_size) - meta_size;
	return 0;
}
