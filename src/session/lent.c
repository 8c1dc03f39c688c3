// SPDX-License-Identifier: Apache-2.0
#include "session/lent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <linux/sockios.h>
#include <sys/ioctl.h>

#include "base/c.h"
#include "base/log.h"

#define READ_STEP (64U << 10)

/* Counts bytes that the sandbox may keep for as long as it lives. */
static void lent_count(struct sandbox *sandbox, uint64_t bytes)
{
	uint64_t before = sandbox->lent;

	sandbox->lent += bytes;
	if (before > LENT_MAX || sandbox->lent <= LENT_MAX)
		return;
	log_event(LOG_LEVEL_WARNING, "sandbox.lent", "sandbox=%u bytes=%llu why=%s", sandbox->id,
		  (unsigned long long)sandbox->lent,
		  "the sandbox holds memory of the daemon, and is ended");
	sandbox_kill(sandbox);
}

/* Opens the reading end of a pipe as a new open file description: setting O_NONBLOCK on the one
 * that the sandbox has would change it for the sandbox. */
static int open_reading(int write_end)
{
	char path[40];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", write_end);
	return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

void lent_stdin_end(int *take_write, int *ret_read)
{
	*ret_read = *take_write >= 0 ? open_reading(*take_write) : -1;
	drop_fd(take_write);
}

/* Empties the pipe and returns how many bytes stay in it. The code may write to it as well: our
 * bytes come before that, so they are out once a whole pipe was read. */
static uint64_t empty(int read_end)
{
	uint8_t bytes[READ_STEP] __attribute__((uninitialized));
	int room = fcntl(read_end, F_GETPIPE_SZ);
	ssize_t n = 1;

	for (int64_t left = room; left > 0 && n > 0; left -= n)
		n = TEMP_FAILURE_RETRY(read(read_end, bytes, sizeof(bytes)));
	/* A pipe that is kept open must not use up our share of pages (fs.pipe-user-pages-soft). */
	(void)fcntl(read_end, F_SETPIPE_SZ, 4096);
	return room > 0 ? 0 : READ_STEP;
}

void lent_stdin_back(struct sandbox *sandbox, int *take_write, int *take_read)
{
	int waiting = 0;

	if (*take_write >= 0 && ioctl(*take_write, FIONREAD, &waiting) < 0)
		waiting = 0;
	if (*take_write >= 0)
		lent_stdin_end(take_write, take_read);
	if (*take_read >= 0)
		waiting = (int)empty(*take_read);
	drop_fd(take_read);
	if (sandbox != NULL && waiting > 0)
		lent_count(sandbox, (uint64_t)waiting);
}

void lent_channel(struct sandbox *sandbox, int channel)
{
	int unread = 0;

	/* For a unix socket this is the memory of everything that its peer has not read. */
	if (channel >= 0 && ioctl(channel, SIOCOUTQ, &unread) == 0 && unread > 0)
		lent_count(sandbox, (uint64_t)unread);
}
