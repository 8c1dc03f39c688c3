// SPDX-License-Identifier: Apache-2.0
#include "proto/mux.h"

#include <errno.h>
#include <string.h>

#include "base/c.h"

_Static_assert(sizeof(struct mux_header) == 12, "struct mux_header must match the wire layout");
_Static_assert(sizeof(struct mux_open) == 12, "struct mux_open must match the wire layout");

/* How many bytes each kind may have. */
static const struct {
	uint32_t least, most;
} sizes[MUX_KIND_END] = {
	[MUX_OPEN] = {sizeof(struct mux_open), sizeof(struct mux_open)},
	[MUX_DATA] = {1, MUX_CHUNK_MAX},
	[MUX_CREDIT] = {sizeof(uint32_t), sizeof(uint32_t)},
	[MUX_CLOSE] = {0, 0},
	[MUX_ATTACH] = {sizeof(uint32_t), MUX_ATTACH_MAX * sizeof(uint32_t)},
	[MUX_SIGNAL] = {sizeof(uint32_t), sizeof(uint32_t)},
};

int64_t mux_decode(const void *bytes, size_t size, struct mux_chunk *ret_chunk, struct err *err)
{
	struct mux_chunk chunk = {0};
	const struct mux_header *header = &chunk.header;

	if (size < sizeof(*header))
		return 0;

	memcpy(&chunk.header, bytes, sizeof(chunk.header));
	if (header->size > MUX_CHUNK_MAX)
		return err_set(err, ERR_BAD_REQUEST, EMSGSIZE, "chunk of %u bytes, at most %u",
			       header->size, MUX_CHUNK_MAX);
	if (header->kind < MUX_OPEN || header->kind >= MUX_KIND_END || header->reserved != 0)
		return err_set(err, ERR_BAD_REQUEST, EPROTO, "unknown chunk kind %u", header->kind);
	if (header->size < sizes[header->kind].least || header->size > sizes[header->kind].most ||
	    (header->kind != MUX_DATA && header->size % sizeof(uint32_t) != 0))
		return err_set(err, ERR_BAD_REQUEST, EPROTO, "chunk kind %u with %u bytes",
			       header->kind, header->size);
	if (size - sizeof(*header) < header->size)
		return 0;

	chunk.bytes = (const uint8_t *)bytes + sizeof(*header);
	*ret_chunk = chunk;
	return (int64_t)(sizeof(*header) + header->size);
}

int mux_append(struct buf *buf, uint32_t port, enum mux_kind kind, const void *bytes, size_t size)
{
	struct mux_header header = {.size = (uint32_t)size, .port = port, .kind = (uint16_t)kind};
	int r;

	if (size > MUX_CHUNK_MAX)
		return -EMSGSIZE;
	r = buf_reserve(buf, sizeof(header) + size);
	if (r < 0)
		return r;

	(void)buf_append(buf, &header, sizeof(header));
	(void)buf_append(buf, bytes, size);
	return 0;
}

uint32_t mux_number(const struct mux_chunk *chunk, size_t index)
{
	uint32_t number;

	memcpy(&number, chunk->bytes + index * sizeof(number), sizeof(number));
	return number;
}
