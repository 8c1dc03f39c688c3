// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/socket.h>

#include "base/c.h"
#include "fuzz.h"
#include "proto/frame.h"
#include "relay/relay.h"

/* viv's side of the channel: a RUN with a payload, so that there are ports beyond the first four.
 */
static void ask(int channel)
{
	struct frame_header header = {.size = 4, .type = FRAME_RUN, .flags = FRAME_FLAG_MEMFD};
	uint8_t frame[sizeof(header) + 4] = {0};
	AUTO_CLOSE int payload = memfd_create("payload", MFD_CLOEXEC);

	memcpy(frame, &header, sizeof(header));
	(void)!ftruncate(payload, 1 << 20);
	CLAIM(io_send_fds(channel, frame, sizeof(frame), &payload, 1) == (ssize_t)sizeof(frame));
}

/* The bytes of a box that does not read what is sent to it, all of them, through the relay outside:
 * it always ends, and says why when it was not the end of the bytes. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	AUTO_CLOSE int from = memfd_create("box", MFD_CLOEXEC);
	AUTO_CLOSE int to = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct relay_ends ends = {.from = from, .to = to, .signals = -1};
	struct err err = {0};
	int channel[2];

	CLAIM(from >= 0 && to >= 0);
	CLAIM(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel) == 0);
	CLAIM(pwrite(from, bytes, size, 0) == (ssize_t)size);
	ask(channel[0]);
	(void)close(channel[0]);
	ends.first[MUX_CHANNEL] = channel[1];
	ends.first[MUX_STDIN] = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	ends.first[MUX_STDOUT] = open("/dev/null", O_WRONLY | O_CLOEXEC);
	ends.first[MUX_STDERR] = open("/dev/null", O_WRONLY | O_CLOEXEC);
	CLAIM(relay_run(&ends, &err) == 0 || err.text[0] != '\0');
	return 0;
}
