// SPDX-License-Identifier: Apache-2.0
#include "relay/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include <sys/signalfd.h>

#include "base/c.h"

#define OUT_MAX (4U << 20) /* bytes that may wait unread before the stream counts as dead */
#define IN_MAX (MUX_CHUNK_MAX + sizeof(struct mux_header))

enum poll_slot {
	POLL_FROM,
	POLL_TO,
	POLL_SIGNALS,
	POLL_PORTS,
};

struct loop {
	struct relay relay;
	int from, to, signals;
	struct buf in;
	bool is_cut; /* the stream has ended */
	struct pollfd polls[POLL_PORTS + MUX_PORTS_MAX];
	struct port *polled[MUX_PORTS_MAX]; /* borrowed for one turn */
	size_t polled_count;
};

/* ---- the stream ---- */

/* Nothing more arrives from the stream: writes what has arrived, then ends. */
static void cut(struct loop *loop)
{
	struct port *port = NULL;

	loop->is_cut = true;
	buf_cut(&loop->relay.out, 0);
	TAILQ_FOREACH(port, &loop->relay.ports, entry) {
		port->is_ending = true;
		if (loop->relay.is_inside || !port_is_sink(&loop->relay, port))
			port_end(&loop->relay, port, false);
	}
}

static int take_chunks(struct loop *loop, struct err *err)
{
	size_t used = 0;
	int64_t n = 1;
	int r = 0;

	while (r == 0 && n > 0) {
		struct mux_chunk chunk = {0};

		n = mux_decode(loop->in.data + used, loop->in.size - used, &chunk, err);
		if (n > 0)
			r = port_take(&loop->relay, port_find(&loop->relay, chunk.header.port),
				      &chunk, err);
		used += n > 0 ? (size_t)n : 0;
	}
	buf_consume(&loop->in, used);
	return n < 0 ? (int)n : r;
}

static int read_stream(struct loop *loop, struct err *err)
{
	ssize_t n;

	if (buf_reserve(&loop->in, IN_MAX - loop->in.size) < 0)
		return err_set(err, ERR_INTERNAL, ENOMEM, "no memory for a chunk");
	n = read(loop->from, loop->in.data + loop->in.size, IN_MAX - loop->in.size);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		cut(loop);
		return 0;
	}
	loop->in.size += (size_t)n;
	return take_chunks(loop, err);
}

static void write_stream(struct loop *loop)
{
	struct buf *out = &loop->relay.out;
	ssize_t n;

	if (out->size == 0 || loop->is_cut)
		return;
	n = write(loop->to, out->data, out->size);
	if (n > 0)
		buf_consume(out, (size_t)n);
	else if (n < 0 && errno != EAGAIN && errno != EINTR)
		buf_cut(out, 0); /* the reading side notices the end */
}

static void read_signals(struct loop *loop)
{
	struct signalfd_siginfo info;
	uint32_t number;

	if (read(loop->signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	number = info.ssi_signo;
	if (port_find(&loop->relay, MUX_CHANNEL) != NULL)
		(void)mux_append(&loop->relay.out, MUX_CHANNEL, MUX_SIGNAL, &number,
				 sizeof(number));
}

/* ---- a turn ---- */

static size_t prepare(struct loop *loop)
{
	struct relay *relay = &loop->relay;
	struct port *port = NULL;
	size_t count = 0;

	loop->polls[POLL_FROM] = (struct pollfd){loop->is_cut ? -1 : loop->from, POLLIN, 0};
	loop->polls[POLL_TO] =
		(struct pollfd){relay->out.size > 0 && !loop->is_cut ? loop->to : -1, POLLOUT, 0};
	loop->polls[POLL_SIGNALS] = (struct pollfd){loop->signals, POLLIN, 0};
	TAILQ_FOREACH(port, &relay->ports, entry) {
		short events = port_wants(relay, port);
		/* A pipe whose reader has closed it reports that without being asked. */
		bool is_watched = events != 0 || !port_is_source(relay, port);

		loop->polls[POLL_PORTS + count] =
			(struct pollfd){is_watched ? port->fd : -1, events, 0};
		loop->polled[count++] = port;
	}
	loop->polled_count = count;
	return POLL_PORTS + count;
}

/* Waits for events. Channels are looked at before everything else, so that whatever a head did
 * before it sent a frame (wrote output, closed a pipe) is already visible. */
static void wait_ports(struct loop *loop)
{
	size_t count = prepare(loop);
	short spoken[MUX_PORTS_MAX] = {0};
	bool is_spoken = false;

	(void)poll(loop->polls, count, -1);
	for (size_t i = 0; i < loop->polled_count; i++) {
		spoken[i] = loop->polls[POLL_PORTS + i].revents;
		is_spoken |= spoken[i] != 0 && loop->polled[i]->what == MUX_IS_CHANNEL;
	}
	if (!is_spoken)
		return;
	(void)poll(loop->polls, count, 0);
	for (size_t i = 0; i < loop->polled_count; i++) {
		if (loop->polled[i]->what == MUX_IS_CHANNEL)
			loop->polls[POLL_PORTS + i].revents = spoken[i];
	}
}

static int move(struct loop *loop, bool is_channel, struct err *err)
{
	struct relay *relay = &loop->relay;
	int r = 0;

	for (size_t i = 0; r == 0 && i < loop->polled_count; i++) {
		struct port *port = loop->polled[i];
		const struct pollfd *seen = &loop->polls[POLL_PORTS + i];

		if (port->is_over || (port->what == MUX_IS_CHANNEL) != is_channel ||
		    seen->revents == 0)
			continue;
		if (!is_channel && port_is_sink(relay, port) && seen->revents & POLLERR)
			port_end(relay, port, true);
		if (!port->is_over && seen->revents & POLLOUT)
			port_write(relay, port);
		if (!port->is_over && seen->events & POLLIN && !port->is_ending &&
		    seen->revents & (POLLIN | POLLHUP | POLLERR))
			r = port_read(relay, port, err);
	}
	return r;
}

static void settle(struct relay *relay)
{
	struct port *port = TAILQ_FIRST(&relay->ports);

	while (port != NULL) {
		struct port *next = TAILQ_NEXT(port, entry);

		if (!port->is_over)
			port_settle(relay, port);
		if (port->is_over) {
			TAILQ_REMOVE(&relay->ports, port, entry);
			port_free(port);
		}
		port = next;
	}
}

static int turn(struct loop *loop, struct err *err)
{
	int r = 0;

	wait_ports(loop);
	if (loop->polls[POLL_SIGNALS].revents != 0)
		read_signals(loop);
	if (loop->polls[POLL_FROM].revents != 0)
		r = read_stream(loop, err);
	if (r == 0)
		r = move(loop, false, err);
	if (r == 0)
		r = move(loop, true, err);
	if (r == 0 && loop->relay.out.failed < 0)
		r = err_set(err, ERR_INTERNAL, EOVERFLOW, "the other end does not read the stream");
	if (r == 0) {
		settle(&loop->relay);
		write_stream(loop);
	}
	return r;
}

static void set_up(struct loop *loop, struct relay_ends *ends)
{
	static const enum mux_what first[] = {MUX_IS_CHANNEL, MUX_IS_INPUT, MUX_IS_OUTPUT,
					      MUX_IS_OUTPUT};
	struct port *channel = NULL;

	memset(loop, 0, sizeof(*loop));
	loop->relay.is_inside = ends->is_inside;
	loop->from = ends->from;
	loop->to = ends->to;
	loop->signals = ends->signals;
	buf_init(&loop->in, IN_MAX);
	buf_init(&loop->relay.out, OUT_MAX);
	TAILQ_INIT(&loop->relay.ports);
	for (uint32_t i = 0; i < MUX_FIRST_COUNT; i++)
		(void)port_new(&loop->relay, i, first[i], &ends->first[i]);
	channel = port_find(&loop->relay, MUX_CHANNEL);
	channel->pid = ends->pid;
	channel->outputs[0] = MUX_STDOUT;
	channel->outputs[1] = MUX_STDERR;
	(void)fcntl(loop->from, F_SETFL, fcntl(loop->from, F_GETFL) | O_NONBLOCK);
	(void)fcntl(loop->to, F_SETFL, fcntl(loop->to, F_GETFL) | O_NONBLOCK);
}

int relay_run(struct relay_ends *ends, struct err *err)
{
	static struct loop loop;
	struct port *port = NULL;
	int r = 0;

	set_up(&loop, ends);
	while (r == 0 && (loop.relay.port_count > 0 || (loop.relay.out.size > 0 && !loop.is_cut)))
		r = turn(&loop, err);
	TAILQ_FOREACH(port, &loop.relay.ports, entry)
		port_end(&loop.relay, port, false);
	settle(&loop.relay);
	buf_done(&loop.in);
	buf_done(&loop.relay.out);
	return r;
}
