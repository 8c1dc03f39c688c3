// SPDX-License-Identifier: Apache-2.0
/*
 * Relay - carries what goes into and out of a box over one stream of bytes (proto/mux.h)
 *
 * Owns:    the descriptors on its side of the stream, and the order of what passes: frames do not
 *          overtake the output that was written before them.
 * May not: trust the stream, hold more than one window per port, or parse a frame further than
 *          needed to see which descriptors came with it.
 *
 * There are two relays, one on each side. The outside relay takes the sandbox's place: it has the
 * descriptors that a box is made with, and receives those that viv sends with frames. The inside
 * relay is next to the runner, and makes a socket, pipe or memfd for each of them. Neither viv nor
 * the runner notices the stream between them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/queue.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "proto/frame.h"
#include "proto/mux.h"

/* Descriptors that go to a head with a particular byte of its channel. */
struct attached {
	uint64_t at;             /* bytes of the channel before that one */
	int fds[MUX_ATTACH_MAX]; /* owned; -1 after the last */
	size_t count;
	STAILQ_ENTRY(attached) entry;
};

/* Outside: the frame that viv is sending. */
struct incoming {
	struct frame_header header;
	size_t have;   /* bytes of the header */
	uint32_t left; /* bytes of the payload still to come */
	int fds[IO_FDS_MAX];
	size_t fd_count; /* descriptors that came with it; owned until ports are made of them */
	uint32_t ports[MUX_ATTACH_MAX];
	size_t port_count;
	uint32_t payload; /* the frame is held until this port has ended */
	bool is_held;
};

struct port {
	uint32_t number;
	enum mux_what what;
	int fd;    /* owned: this relay's end; -1: none, or closed */
	int given; /* owned, inside: the head's end until it is attached */
	pid_t pid; /* inside: the head at the other end of the channel; 0: not known */

	uint32_t credit;    /* bytes that the other relay accepts now */
	uint64_t read;      /* bytes that were read from `fd` */
	uint64_t written;   /* bytes that were written to it, or dropped */
	uint64_t granted;   /* bytes that the other relay may send in all */
	uint32_t owed;      /* bytes written since credit was last sent */
	struct buf pending; /* bytes that arrived and are not written yet */

	/* For a channel: bytes up to here may pass. Later ones wait until both outputs have passed
	 * on everything they held when those bytes were first seen. */
	uint32_t outputs[2]; /* their port numbers; its own number: none */
	uint64_t free_until, barrier_until;
	uint64_t waits_for[2];
	bool has_barrier;

	struct incoming incoming;
	STAILQ_HEAD(, attached) attached;
	bool is_deaf;   /* nobody reads it any more: bytes for it are dropped */
	bool is_ending; /* nothing more arrives; it ends when `pending` is written */
	bool is_over;
	TAILQ_ENTRY(port) entry;
};

struct relay {
	bool is_inside;
	struct buf out;    /* for the stream */
	uint32_t next;     /* the lowest number never used */
	size_t port_count; /* ports that have not ended */
	TAILQ_HEAD(, port) ports;
	uint8_t scratch[MUX_CHUNK_MAX];
};

/* The descriptors a relay is started with. */
struct relay_ends {
	bool is_inside;
	int from, to;               /* borrowed: the stream */
	int first[MUX_FIRST_COUNT]; /* consumed: the objects at the first ports */
	int signals; /* borrowed, outside: a signalfd, for the first head; -1: none */
	pid_t pid;   /* inside: the first head */
};

/* Relays until everything behind the ports has ended, or the stream has. A negative errno: the
 * stream carried something invalid, or was not read. */
int relay_run(struct relay_ends *ends, struct err *err);

/* ---- ports: port.c ---- */

/* A new port in front of `take_fd`. */
struct port *port_new(struct relay *relay, uint32_t number, enum mux_what what, int *take_fd);

/* The open port of that number, or NULL. */
struct port *port_find(struct relay *relay, uint32_t number);

/* Ends the port here; `tells`: the other relay is told, too. */
void port_end(struct relay *relay, struct port *port, bool tells);
void port_free(struct port *port);

/* Do bytes enter the stream here, or leave it? A channel does both. */
bool port_is_source(const struct relay *relay, const struct port *port);
bool port_is_sink(const struct relay *relay, const struct port *port);

/* The poll events that the port waits for now. */
short port_wants(struct relay *relay, struct port *port);

/* Moves as many bytes as possible now. */
int port_read(struct relay *relay, struct port *port, struct err *err);
void port_write(struct relay *relay, struct port *port);

/* Called once in each turn: sends a held frame, ends ports that have nothing left to write. */
void port_settle(struct relay *relay, struct port *port);

/* Handles a chunk for the port (DATA, CREDIT, CLOSE), or for a new one (OPEN). */
int port_take(struct relay *relay, struct port *port, const struct mux_chunk *chunk,
	      struct err *err);
