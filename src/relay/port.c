// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/c.h"
#include "relay/relay.h"

#define OUT_FULL (256U << 10) /* once this much waits for the stream, nothing more is read */

/* ---- life ---- */

struct port *port_new(struct relay *relay, uint32_t number, enum mux_what what, int *take_fd)
{
	struct port *port = xnew(struct port);

	port->number = number;
	port->what = what;
	port->fd = steal_fd(take_fd);
	port->given = -1;
	port->credit = MUX_WINDOW;
	port->granted = MUX_WINDOW;
	port->outputs[0] = port->outputs[1] = number;
	port->incoming.payload = number;
	buf_init(&port->pending, MUX_WINDOW);
	STAILQ_INIT(&port->attached);
	if (port->fd >= 0)
		(void)fcntl(port->fd, F_SETFL, fcntl(port->fd, F_GETFL) | O_NONBLOCK);
	TAILQ_INSERT_TAIL(&relay->ports, port, entry);
	relay->port_count++;
	relay->next = number + 1;
	return port;
}

struct port *port_find(struct relay *relay, uint32_t number)
{
	struct port *port = NULL;

	TAILQ_FOREACH(port, &relay->ports, entry) {
		if (port->number == number && !port->is_over)
			return port;
	}
	return NULL;
}

static void drop_attached(struct port *port)
{
	struct attached *first = STAILQ_FIRST(&port->attached);

	STAILQ_REMOVE_HEAD(&port->attached, entry);
	for (size_t i = 0; i < first->count; i++)
		drop_fd(&first->fds[i]);
	free(first);
}

static void send_attach(struct relay *relay, const struct port *channel)
{
	const struct incoming *in = &channel->incoming;

	if (in->port_count > 0)
		(void)mux_append(&relay->out, channel->number, MUX_ATTACH, in->ports,
				 in->port_count * sizeof(in->ports[0]));
}

/* Closes the port's descriptors at once; its memory is freed at the end of the turn. */
void port_end(struct relay *relay, struct port *port, bool tells)
{
	if (port->is_over)
		return;
	port->is_over = true;
	relay->port_count--;
	/* The relay inside drops what is attached to a channel that has ended. */
	if (port->incoming.is_held) {
		struct port *payload = port_find(relay, port->incoming.payload);

		if (payload != NULL)
			port_end(relay, payload, true);
		send_attach(relay, port);
	}
	if (tells)
		(void)mux_append(&relay->out, port->number, MUX_CLOSE, NULL, 0);
	drop_fd(&port->fd);
	drop_fd(&port->given);
	for (size_t i = 0; i < port->incoming.fd_count; i++)
		drop_fd(&port->incoming.fds[i]);
	while (!STAILQ_EMPTY(&port->attached))
		drop_attached(port);
	buf_done(&port->pending);
}

void port_free(struct port *port)
{
	free(port);
}

bool port_is_source(const struct relay *relay, const struct port *port)
{
	return port->what == MUX_IS_CHANNEL || (port->what == MUX_IS_OUTPUT) == relay->is_inside;
}

bool port_is_sink(const struct relay *relay, const struct port *port)
{
	return port->what == MUX_IS_CHANNEL || (port->what == MUX_IS_OUTPUT) != relay->is_inside;
}

/* ---- order ---- */

static uint64_t passed(const struct relay *relay, const struct port *output)
{
	return relay->is_inside ? output->read : output->written;
}

/* Bytes waiting in the kernel. */
static uint64_t waiting(int fd)
{
	int size = 0;

	return ioctl(fd, FIONREAD, &size) == 0 && size > 0 ? (uint64_t)size : 0;
}

/* The channel is read before its outputs, so output written before the channel's bytes is already
 * there. The channel's end counts as one byte more. */
static void set_barrier(struct relay *relay, struct port *channel)
{
	if (relay->is_inside) {
		uint64_t size = waiting(channel->fd);

		channel->barrier_until = channel->read + (size > 0 ? size : 1);
	} else {
		channel->barrier_until =
			channel->written + channel->pending.size + (channel->is_ending ? 1 : 0);
	}
	for (size_t i = 0; i < ARRAY_LEN(channel->outputs); i++) {
		const struct port *output = port_find(relay, channel->outputs[i]);

		channel->waits_for[i] = 0;
		if (output != NULL && output != channel)
			channel->waits_for[i] =
				passed(relay, output) +
				(relay->is_inside ? waiting(output->fd) : output->pending.size);
	}
	channel->has_barrier = true;
}

static bool is_barrier_met(struct relay *relay, const struct port *channel)
{
	for (size_t i = 0; i < ARRAY_LEN(channel->outputs); i++) {
		const struct port *output = port_find(relay, channel->outputs[i]);

		if (output != NULL && output != channel &&
		    passed(relay, output) < channel->waits_for[i])
			return false;
	}
	return true;
}

/* How many bytes of a channel, `done` of which have passed, may leave the box now. */
static uint64_t room_in_order(struct relay *relay, struct port *channel, uint64_t done)
{
	if (channel->free_until <= done && !channel->has_barrier)
		set_barrier(relay, channel);
	if (channel->has_barrier && is_barrier_met(relay, channel)) {
		channel->free_until = channel->barrier_until;
		channel->has_barrier = false;
	}
	return channel->free_until > done ? channel->free_until - done : 0;
}

/* ---- out of the stream ---- */

static void count_written(struct relay *relay, struct port *port, size_t size)
{
	buf_consume(&port->pending, size);
	port->written += size;
	port->owed += (uint32_t)size;
	if (port->owed < MUX_WINDOW / 2)
		return;
	(void)mux_append(&relay->out, port->number, MUX_CREDIT, &port->owed, sizeof(port->owed));
	port->granted += port->owed;
	port->owed = 0;
}

/* Sends bytes to a head with the descriptors attached to them, stopping before bytes with later
 * attachments. */
static ssize_t send_inside(struct port *port)
{
	struct attached *first = STAILQ_FIRST(&port->attached);
	bool is_now = first != NULL && first->at == port->written;
	const struct attached *next = is_now ? STAILQ_NEXT(first, entry) : first;
	size_t size = port->pending.size;
	ssize_t n;

	if (next != NULL && next->at - port->written < size)
		size = (size_t)(next->at - port->written);
	n = io_send_fds(port->fd, port->pending.data, size, is_now ? first->fds : NULL,
			is_now ? first->count : 0);
	if (n > 0 && is_now)
		drop_attached(port);
	return n;
}

static ssize_t write_some(struct relay *relay, struct port *port)
{
	size_t size = port->pending.size;
	ssize_t n;

	if (port->what == MUX_IS_CHANNEL && relay->is_inside)
		return port->is_deaf ? (ssize_t)size : send_inside(port);
	if (port->what == MUX_IS_CHANNEL) {
		uint64_t room = room_in_order(relay, port, port->written);

		size = room < size ? (size_t)room : size;
		if (size == 0)
			return -EAGAIN;
		return port->is_deaf ? (ssize_t)size
				     : io_send_fds(port->fd, port->pending.data, size, NULL, 0);
	}
	do {
		n = write(port->fd, port->pending.data, size);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

void port_write(struct relay *relay, struct port *port)
{
	while (!port->is_over && port->pending.size > 0) {
		ssize_t n = write_some(relay, port);

		if (n == -EAGAIN)
			return;
		if (n > 0)
			count_written(relay, port, (size_t)n);
		else if (port->what == MUX_IS_CHANNEL)
			port->is_deaf = true; /* what the head sent before its end must still be
					       * read */
		else
			port_end(relay, port, true);
	}
}

/* ---- into the stream ---- */

static void send_data(struct relay *relay, struct port *port, const void *bytes, size_t size)
{
	(void)mux_append(&relay->out, port->number, MUX_DATA, bytes, size);
	port->credit -= (uint32_t)size;
}

/* Outside: makes a port for a descriptor that came with a frame, and attaches it to that frame. */
static struct port *attach_new(struct relay *relay, struct port *channel, enum mux_what what,
			       int *take_fd)
{
	struct incoming *in = &channel->incoming;
	struct port *port = NULL;

	if (*take_fd < 0 || in->port_count == MUX_ATTACH_MAX ||
	    relay->port_count >= MUX_PORTS_MAX || relay->next == UINT32_MAX)
		return NULL; /* the runner notices that it is missing, and reports it */
	port = port_new(relay, relay->next, what, take_fd);
	in->ports[in->port_count++] = port->number;
	return port;
}

static void open_port(struct relay *relay, const struct port *port)
{
	struct mux_open open = {port->what, port->outputs[0], port->outputs[1]};

	(void)mux_append(&relay->out, port->number, MUX_OPEN, &open, sizeof(open));
}

/* A fork has its parent's outputs, or those that come with its channel; a look has none. */
static void open_head(struct relay *relay, struct port *parent)
{
	struct incoming *in = &parent->incoming;
	struct port *channel = attach_new(relay, parent, MUX_IS_CHANNEL, &in->fds[0]);
	struct port *outputs[2] = {NULL, NULL};

	if (channel == NULL)
		return;
	for (size_t i = 0; i < ARRAY_LEN(outputs); i++) {
		if (in->fd_count > 1)
			outputs[i] = attach_new(relay, parent, MUX_IS_OUTPUT, &in->fds[i + 1]);
		if (outputs[i] != NULL)
			channel->outputs[i] = outputs[i]->number;
		else if (!(in->header.flags & FRAME_FLAG_LOOK))
			channel->outputs[i] = parent->outputs[i];
	}
	open_port(relay, channel);
	for (size_t i = 0; i < ARRAY_LEN(outputs); i++) {
		if (outputs[i] != NULL)
			open_port(relay, outputs[i]);
	}
}

static void open_inputs(struct relay *relay, struct port *channel)
{
	struct incoming *in = &channel->incoming;
	size_t at = 0;
	struct port *port = NULL;

	if (in->header.flags & FRAME_FLAG_MEMFD) {
		struct stat status;
		bool is_file = fstat(in->fds[0], &status) == 0 && S_ISREG(status.st_mode);

		port = attach_new(relay, channel, MUX_IS_PAYLOAD, &in->fds[at++]);
		if (port != NULL) {
			open_port(relay, port);
			in->payload = port->number;
			if (!is_file)
				port_end(relay, port, true);
		}
	}
	if (in->header.flags & FRAME_FLAG_STDIN) {
		port = attach_new(relay, channel, MUX_IS_INPUT, &in->fds[at]);
		if (port != NULL)
			open_port(relay, port);
	}
}

static int begin_frame(struct relay *relay, struct port *channel, struct err *err)
{
	struct incoming *in = &channel->incoming;

	if (in->header.size > FRAME_PAYLOAD_MAX)
		return err_set(err, ERR_INTERNAL, EMSGSIZE, "a frame of %u bytes", in->header.size);
	in->left = in->header.size;
	in->port_count = 0;
	in->is_held = true;
	for (size_t i = in->fd_count; i < IO_FDS_MAX; i++)
		in->fds[i] = -1;
	if (in->header.type == FRAME_FORK)
		open_head(relay, channel);
	else if (in->header.type == FRAME_RUN || in->header.type == FRAME_CHECK)
		open_inputs(relay, channel);
	for (size_t i = 0; i < in->fd_count; i++)
		drop_fd(&in->fds[i]);
	in->fd_count = 0;
	return 0;
}

/* Outside: reads the next bytes of the frame that viv sends, never beyond it, so that it is clear
 * which frame a descriptor came with. */
static ssize_t read_frame(struct relay *relay, struct port *channel, struct err *err)
{
	struct incoming *in = &channel->incoming;
	bool is_header = in->have < sizeof(in->header);
	uint8_t *into = is_header ? (uint8_t *)&in->header + in->have : relay->scratch;
	size_t size = is_header ? sizeof(in->header) - in->have : in->left;
	int fds[IO_FDS_MAX];
	size_t fd_count = 0;
	ssize_t n;

	if (!is_header && size > MUX_CHUNK_MAX)
		size = MUX_CHUNK_MAX;
	if (!is_header && size > channel->credit)
		size = channel->credit;
	n = io_recv_fds(channel->fd, into, size, fds, &fd_count);
	for (size_t i = 0; i < fd_count; i++) {
		if (is_header && in->fd_count < IO_FDS_MAX)
			in->fds[in->fd_count++] = steal_fd(&fds[i]);
		drop_fd(&fds[i]);
	}
	if (n <= 0)
		return n;
	if (is_header) {
		in->have += (size_t)n;
		if (in->have == sizeof(in->header) && begin_frame(relay, channel, err) < 0)
			return -EPROTO;
		return n;
	}
	send_data(relay, channel, relay->scratch, (size_t)n);
	in->left -= (uint32_t)n;
	if (in->left == 0)
		in->have = 0;
	return n;
}

/* Sends the frame once everything that belongs to it has been sent. */
static void release_frame(struct relay *relay, struct port *channel)
{
	struct incoming *in = &channel->incoming;

	if (in->payload != channel->number && port_find(relay, in->payload) != NULL)
		return;
	send_attach(relay, channel);
	send_data(relay, channel, &in->header, sizeof(in->header));
	in->payload = channel->number;
	in->is_held = false;
	if (in->left == 0)
		in->have = 0;
}

/* Inside: reads bytes of a head, and the pid of their sender. There is no room for descriptors: the
 * kernel drops any that user code sends along. */
static ssize_t read_head(struct relay *relay, struct port *channel, size_t size)
{
	_Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(struct ucred))];
	struct iovec iov = {.iov_base = relay->scratch, .iov_len = size};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control,
			     .msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(channel->fd, &msg, MSG_CMSG_CLOEXEC);
	const struct cmsghdr *header = NULL;

	if (n < 0)
		return -errno;
	header = CMSG_FIRSTHDR(&msg);
	if (channel->pid == 0 && n > 0 && header != NULL && header->cmsg_level == SOL_SOCKET &&
	    header->cmsg_type == SCM_CREDENTIALS) {
		struct ucred sender;

		memcpy(&sender, CMSG_DATA(header), sizeof(sender));
		channel->pid = sender.pid;
	}
	return n;
}

static ssize_t read_plain(struct relay *relay, struct port *port, size_t size)
{
	ssize_t n;

	/* pread: the memfd's offset is shared with viv's descriptor, and not ours to move. */
	if (port->what == MUX_IS_PAYLOAD)
		n = pread(port->fd, relay->scratch, size, (off_t)port->read);
	else
		n = read(port->fd, relay->scratch, size);
	return n < 0 ? -errno : n;
}

int port_read(struct relay *relay, struct port *port, struct err *err)
{
	size_t size = port->credit < MUX_CHUNK_MAX ? port->credit : MUX_CHUNK_MAX;
	ssize_t n;

	if (port->what == MUX_IS_CHANNEL && !relay->is_inside) {
		n = read_frame(relay, port, err);
		if (n == -EPROTO)
			return -EPROTO;
	} else if (port->what == MUX_IS_CHANNEL) {
		uint64_t room = room_in_order(relay, port, port->read);

		if (room == 0)
			return 0;
		n = read_head(relay, port, room < size ? (size_t)room : size);
	} else {
		n = read_plain(relay, port, size);
	}
	if (n == -EAGAIN || n == -EINTR)
		return 0;
	if (n <= 0) {
		port_end(relay, port, true);
		return 0;
	}
	port->read += (uint64_t)n;
	if (port->what != MUX_IS_CHANNEL || relay->is_inside)
		send_data(relay, port, relay->scratch, (size_t)n);
	return 0;
}

/* ---- a turn ---- */

short port_wants(struct relay *relay, struct port *port)
{
	short events = 0;
	bool is_channel = port->what == MUX_IS_CHANNEL;
	bool is_held =
		is_channel && (relay->is_inside ? port->has_barrier && !is_barrier_met(relay, port)
						: port->incoming.is_held);

	if (port_is_source(relay, port) && !port->is_ending && !is_held &&
	    port->credit >= sizeof(struct frame_header) && relay->out.size < OUT_FULL)
		events |= POLLIN;
	if (port->pending.size > 0 &&
	    (!is_channel || relay->is_inside || room_in_order(relay, port, port->written) > 0))
		events |= POLLOUT;
	return events;
}

void port_settle(struct relay *relay, struct port *port)
{
	if (port->incoming.is_held && port->credit >= sizeof(struct frame_header))
		release_frame(relay, port);
	if (!port->is_ending || port->pending.size > 0)
		return;
	if (port->what == MUX_IS_PAYLOAD) {
		/* The payload is complete and waits to be attached. */
		(void)fcntl(port->fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SEAL);
		if (port->given < 0)
			port->given = steal_fd(&port->fd);
		return;
	}
	if (port->what != MUX_IS_CHANNEL || relay->is_inside ||
	    room_in_order(relay, port, port->written) > 0)
		port_end(relay, port, false);
}

/* ---- chunks ---- */

/* Inside: makes both ends of the object that the port stands for. */
static int make_ends(enum mux_what what, int *ret_ours, int *ret_theirs)
{
	int ends[2] = {-1, -1};
	int one = 1;

	if (what == MUX_IS_PAYLOAD) {
		*ret_ours = memfd_create("payload", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		return *ret_ours < 0 ? -errno : 0;
	}
	if (what == MUX_IS_CHANNEL) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
			return -errno;
		(void)setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &one, sizeof(one));
	} else if (pipe2(ends, O_CLOEXEC) < 0) {
		return -errno;
	}
	*ret_ours = what == MUX_IS_INPUT ? ends[1] : ends[0];
	*ret_theirs = what == MUX_IS_INPUT ? ends[0] : ends[1];
	return 0;
}

static int take_open(struct relay *relay, const struct mux_chunk *chunk, struct err *err)
{
	uint32_t what = mux_number(chunk, 0);
	struct port *port = NULL;
	int ours = -1;
	int theirs = -1;

	if (!relay->is_inside || chunk->header.port < relay->next ||
	    chunk->header.port == UINT32_MAX || what >= MUX_WHAT_END ||
	    relay->port_count >= MUX_PORTS_MAX)
		return err_set(err, ERR_BAD_REQUEST, EPROTO,
			       "chunk opens a port that cannot be opened");
	/* If no descriptor is free, the head goes without, and reports it. */
	if (make_ends(what, &ours, &theirs) < 0) {
		relay->next = chunk->header.port + 1;
		(void)mux_append(&relay->out, chunk->header.port, MUX_CLOSE, NULL, 0);
		return 0;
	}
	port = port_new(relay, chunk->header.port, what, &ours);
	port->given = theirs;
	port->outputs[0] = mux_number(chunk, 1);
	port->outputs[1] = mux_number(chunk, 2);
	return 0;
}

static int take_data(struct relay *relay, struct port *port, const struct mux_chunk *chunk,
		     struct err *err)
{
	uint32_t size = chunk->header.size;

	if (!port_is_sink(relay, port) || port->is_ending)
		return err_set(err, ERR_BAD_REQUEST, EPROTO, "data for port %u, which accepts none",
			       port->number);
	if (port->written + port->pending.size + size > port->granted)
		return err_set(err, ERR_BAD_REQUEST, EPROTO, "more data than port %u has room for",
			       port->number);
	if (buf_append(&port->pending, chunk->bytes, size) < 0)
		return err_set(err, ERR_INTERNAL, ENOMEM, "out of memory for a port's window");
	port_write(relay, port);
	return 0;
}

static int take_credit(struct relay *relay, struct port *port, uint32_t size, struct err *err)
{
	if (!port_is_source(relay, port) || size > MUX_WINDOW - port->credit)
		return err_set(err, ERR_BAD_REQUEST, EPROTO,
			       "more credit for port %u than it can have", port->number);
	port->credit += size;
	return 0;
}

/* Attaches all descriptors or none: a head knows by their count which ones it got. NULL: the
 * channel has ended. */
static void take_attach(struct relay *relay, struct port *channel, const struct mux_chunk *chunk)
{
	struct attached *attached = xnew(struct attached);
	size_t count = chunk->header.size / sizeof(uint32_t);

	for (size_t i = 0; i < count; i++) {
		struct port *port = port_find(relay, mux_number(chunk, i));

		if (port == NULL || port->given < 0)
			continue;
		attached->fds[attached->count++] = steal_fd(&port->given);
		if (port->what == MUX_IS_PAYLOAD)
			port_end(relay, port, false);
	}
	if (channel == NULL || attached->count < count) {
		for (size_t i = 0; i < attached->count; i++)
			drop_fd(&attached->fds[i]);
		free(attached);
		return;
	}
	attached->at = channel->written + channel->pending.size;
	STAILQ_INSERT_TAIL(&channel->attached, attached, entry);
}

int port_take(struct relay *relay, struct port *port, const struct mux_chunk *chunk,
	      struct err *err)
{
	if (chunk->header.kind == MUX_OPEN)
		return take_open(relay, chunk, err);
	if (port == NULL && chunk->header.port >= relay->next)
		return err_set(err, ERR_BAD_REQUEST, EPROTO,
			       "chunk for port %u, which was never opened", chunk->header.port);
	if (port == NULL) { /* it has ended here, before the other relay heard of it */
		if (chunk->header.kind == MUX_ATTACH && relay->is_inside)
			take_attach(relay, NULL, chunk);
		return 0;
	}
	switch (chunk->header.kind) {
	case MUX_DATA:
		return take_data(relay, port, chunk, err);
	case MUX_CREDIT:
		return take_credit(relay, port, mux_number(chunk, 0), err);
	case MUX_CLOSE:
		port->is_ending = true;
		if (!port_is_sink(relay, port))
			port_end(relay, port, false);
		else
			port_settle(relay, port);
		return 0;
	default:
		break;
	}
	if (!relay->is_inside || port->what != MUX_IS_CHANNEL)
		return err_set(err, ERR_BAD_REQUEST, EPROTO, "chunk kind %u for port %u",
			       chunk->header.kind, port->number);
	if (chunk->header.kind == MUX_ATTACH)
		take_attach(relay, port, chunk);
	else if (port->pid > 1)
		(void)kill(port->pid, (int)mux_number(chunk, 0));
	return 0;
}
