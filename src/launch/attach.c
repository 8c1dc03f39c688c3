// SPDX-License-Identifier: Apache-2.0
#include "launch/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <sys/socket.h>

#include "base/c.h"
#include "base/io.h"
#include "launch/facts.h"
#include "launch/heads.h"
#include "launch/inner.h"
#include "proto/frame.h"

#define QUIET_NS_MAX 5000000000ULL /* longest wait for the previous client's sandboxes */
#define QUIET_MS 5                 /* between two checks whether they have ended */
#define FIRST_MS 5000
#define SLEEP_NS 60000000000ULL

#define FRAMES_MAX 65536U /* more frames than fit into a socket's buffer */

struct kept_exit {
	STAILQ_ENTRY(kept_exit) next;
	struct launch_exit facts;
	pid_t pid;                    /* 0: nothing is left for the next client to read */
	int fds[LAUNCH_HEAD_FDS_MAX]; /* owned; -1: none */
};

struct kept {
	char name[LAUNCH_NAME_MAX];
	size_t fd_count;
	int fds[LAUNCH_KEPT_MAX]; /* owned */
	bool is_gone;
	struct err why; /* of GONE */
	STAILQ_HEAD(, kept_exit) exits;
};

static void drop_fds(struct kept *kept)
{
	for (size_t i = 0; i < kept->fd_count; i++)
		drop_fd(&kept->fds[i]);
	kept->fd_count = 0;
}

static void drop_exit_fds(struct kept_exit *exit)
{
	for (size_t i = 0; i < LAUNCH_HEAD_FDS_MAX; i++)
		drop_fd(&exit->fds[i]);
	exit->pid = 0;
}

void attach_forget(struct slot *slot)
{
	struct kept *kept = STEAL(slot->kept);

	if (kept == NULL)
		return;
	drop_fds(kept);
	while (!STAILQ_EMPTY(&kept->exits)) {
		struct kept_exit *exit = STAILQ_FIRST(&kept->exits);

		STAILQ_REMOVE_HEAD(&kept->exits, next);
		drop_exit_fds(exit);
		free(exit);
	}
	free(kept);
}

void attach_keep(struct outer *outer, struct slot *slot, const struct launch_keep *keep,
		 int *take_fds, size_t fd_count)
{
	struct kept *kept = slot->kept;

	if (outer->listener < 0)
		return;
	if (fd_count == 0) {
		attach_forget(slot);
		return;
	}
	if (kept == NULL) {
		kept = xnew(struct kept);
		STAILQ_INIT(&kept->exits);
		slot->kept = kept;
	}
	drop_fds(kept);
	memcpy(kept->name, keep->name, sizeof(kept->name));
	for (size_t i = 0; i < fd_count; i++)
		kept->fds[kept->fd_count++] = steal_fd(&take_fds[i]);
}

static struct kept_exit *find_exit(const struct slot *slot, uint32_t head)
{
	struct kept_exit *exit = NULL;

	if (slot->kept == NULL)
		return NULL;
	STAILQ_FOREACH(exit, &slot->kept->exits, next) {
		if (exit->facts.head == head)
			return exit;
	}
	return NULL;
}

void attach_forget_exit(struct slot *slot, uint32_t head)
{
	struct kept_exit *exit = find_exit(slot, head);

	if (exit == NULL)
		return;
	STAILQ_REMOVE(&slot->kept->exits, exit, kept_exit, next);
	drop_exit_fds(exit);
	free(exit);
}

void attach_note_exit(struct slot *slot, const struct launch_exit *facts)
{
	struct kept_exit *exit = NULL;

	if (slot->kept == NULL)
		return;
	attach_forget_exit(slot, facts->head);
	exit = xnew(struct kept_exit);
	exit->facts = *facts;
	for (size_t i = 0; i < LAUNCH_HEAD_FDS_MAX; i++)
		exit->fds[i] = -1;
	STAILQ_INSERT_TAIL(&slot->kept->exits, exit, next);
}

bool attach_is_away(const struct outer *outer)
{
	return outer->listener >= 0 && !outer->is_attached;
}

void attach_keep_dead(struct head *head)
{
	struct kept_exit *exit = find_exit(head->slot, head->id);

	if (exit == NULL || !head->has_run || head->is_parked || head->is_look)
		return;
	exit->pid = head->id == 0 ? 1 : head->number; /* the first head's pid is never reported */
	for (size_t i = 0; i < LAUNCH_HEAD_FDS_MAX; i++)
		exit->fds[i] = steal_fd(&head->fds[i]);
}

bool attach_has_done(const struct head *head)
{
	const struct kept *kept = head->slot->kept;
	bool is_first = head == &head->slot->first;
	int channel = head->fds[0];
	bool is_found = false;
	int at = 0;

	if (is_first)
		channel = kept != NULL && kept->fd_count > 0 ? kept->fds[0] : -1;
	for (size_t i = 0; i < FRAMES_MAX && channel >= 0 && !is_found; i++) {
		struct frame_header header;

		if (setsockopt(channel, SOL_SOCKET, SO_PEEK_OFF, &at, sizeof(at)) < 0 ||
		    recv(channel, &header, sizeof(header), MSG_PEEK | MSG_DONTWAIT) !=
			    (ssize_t)sizeof(header) ||
		    header.size > FRAME_PIECE_MAX)
			break;
		is_found = header.type == FRAME_DONE;
		at += (int)(sizeof(header) + header.size);
	}
	at = -1; /* the next client looks from the beginning */
	if (channel >= 0)
		(void)setsockopt(channel, SOL_SOCKET, SO_PEEK_OFF, &at, sizeof(at));
	return is_found;
}

void attach_note_gone(struct slot *slot, const struct err *err)
{
	if (slot->kept == NULL)
		return;
	/* The descriptors stay until the client forgets the sandbox: a client that dies before it
	 * has read them leaves that to the next one. */
	slot->kept->is_gone = true;
	slot->kept->why = *err;
}

/* Duplicates the kept descriptors; none at all when there is no room for all. */
static size_t copy_fds(const int *fds, size_t count, int *ret_copies)
{
	for (size_t i = 0; i < count; i++) {
		ret_copies[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 0);
		if (ret_copies[i] >= 0)
			continue;
		while (i > 0)
			drop_fd(&ret_copies[--i]);
		return 0;
	}
	return count;
}

static void tell_head(struct outer *outer, struct launch_head_event about,
		      const int fds[LAUNCH_HEAD_FDS_MAX])
{
	struct launch_event event = {.type = LAUNCH_KEPT_HEAD, .id = about.sandbox, .head = about};
	int copies[LAUNCH_HEAD_FDS_MAX];
	size_t count = 0;

	while (count < LAUNCH_HEAD_FDS_MAX && fds[count] >= 0)
		count++;
	count = copy_fds(fds, count, copies);
	facts_tell(outer, &event, copies, count);
}

static void tell_live(struct outer *outer, const struct head *head)
{
	tell_head(outer,
		  (struct launch_head_event){
			  .sandbox = slot_id(outer, head->slot),
			  .head = head->id,
			  .pid = head->pid,
			  .is_armed = head->is_armed,
		  },
		  head->fds);
}

/* Reports the ended heads whose bytes no client may have read; their EXIT follows. */
static void tell_dead(struct outer *outer, const struct slot *slot)
{
	const struct kept_exit *exit = NULL;

	STAILQ_FOREACH(exit, &slot->kept->exits, next) {
		if (exit->pid == 0)
			continue;
		tell_head(outer,
			  (struct launch_head_event){
				  .sandbox = slot_id(outer, slot),
				  .head = exit->facts.head,
				  .pid = exit->pid,
			  },
			  exit->fds);
	}
}

static void tell_kept(struct outer *outer, const struct slot *slot)
{
	uint32_t sandbox = slot_id(outer, slot);
	struct launch_event event = {.type = LAUNCH_KEPT, .id = sandbox};
	const struct head *head = NULL;
	int copies[LAUNCH_KEPT_MAX];
	size_t count = copy_fds(slot->kept->fds, slot->kept->fd_count, copies);

	event.kept.sandbox = sandbox;
	memcpy(event.kept.name, slot->kept->name, sizeof(event.kept.name));
	facts_tell(outer, &event, copies, count);
	if (slot->kept->is_gone)
		return;
	if (!slot->first.is_dead && slot->first.end == NULL)
		tell_live(outer, &slot->first);
	LIST_FOREACH(head, &slot->heads, next) {
		if (head->end == NULL)
			tell_live(outer, head);
	}
	tell_dead(outer, slot);
}

static void tell_unheard(struct outer *outer, const struct slot *slot)
{
	struct launch_event event = {.type = LAUNCH_EXIT, .id = slot_id(outer, slot)};
	const struct kept_exit *exit = NULL;

	STAILQ_FOREACH(exit, &slot->kept->exits, next) {
		event.exit = exit->facts;
		facts_tell(outer, &event, NULL, 0);
	}
	if (slot->kept->is_gone)
		facts_tell_err(outer, LAUNCH_GONE, event.id, &slot->kept->why);
}

static void say_hello(struct outer *outer)
{
	struct launch_event event = {.type = LAUNCH_HELLO, .hello = outer->hello};

	outer->is_attached = true;
	facts_tell(outer, &event, NULL, 0);
	for (size_t i = 0; i < outer->slot_count; i++) {
		if (outer->slots[i].kept != NULL)
			tell_kept(outer, &outer->slots[i]);
	}
	event = (struct launch_event){.type = LAUNCH_ATTACHED};
	facts_tell(outer, &event, NULL, 0);
	for (size_t i = 0; i < outer->slot_count; i++) {
		if (outer->slots[i].kept != NULL)
			tell_unheard(outer, &outer->slots[i]);
	}
}

static bool is_quiet(const struct outer *outer)
{
	if (outer->is_forgetting || !TAILQ_EMPTY(&outer->ending))
		return false;
	for (size_t i = 0; i < outer->slot_count; i++) {
		const struct slot *slot = &outer->slots[i];

		if (slot->is_live && (slot->kept == NULL || slot->is_filing))
			return false;
	}
	return true;
}

void attach_tick(struct outer *outer)
{
	if (outer->is_attached || outer->client.fd < 0 || !outer->is_inner_up)
		return;
	if (is_quiet(outer) || now_ns() - outer->away_ns > QUIET_NS_MAX)
		say_hello(outer);
}

static void refuse(int socket, enum err_kind kind, int num, const char *why)
{
	struct launch_event event = {.type = LAUNCH_HELLO, .hello.version = LAUNCH_VERSION};

	(void)err_set(&event.err, kind, num, "%s", why);
	(void)io_send_fds(socket, &event, sizeof(event), NULL, 0);
}

static bool has_left(const struct outer *outer)
{
	struct pollfd ready = {.fd = outer->client.fd, .events = POLLIN};

	return poll(&ready, 1, 0) == 1 && (ready.revents & POLLHUP);
}

void attach_accept(struct outer *outer)
{
	AUTO_CLOSE int socket = -1;
	struct ucred peer = {0};
	socklen_t size = sizeof(peer);
	struct err err = {0};

	/* The previous client has left, but its requests come first: one request a turn, then its
	 * end. A new caller waits in the backlog. */
	if (outer->client.fd >= 0 && has_left(outer)) {
		if (outer->is_attached)
			return;
		(void)attach_lost(outer);
	}
	socket = accept4(outer->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (socket < 0)
		return;
	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 ||
	    (peer.uid != outer->owner && peer.uid != 0) || io_check_peer(socket, &err) < 0) {
		refuse(socket, ERR_FORBIDDEN, EPERM, "this viv-launch serves another user");
		return;
	}
	if (outer->client.fd >= 0) {
		refuse(socket, ERR_BUSY, EBUSY, "another viv is attached to this viv-launch");
		return;
	}
	outer->client_uid = peer.uid;
	outer->client_gid = peer.gid;
	link_init(&outer->client, &socket);
	attach_tick(outer);
}

bool attach_lost(struct outer *outer)
{
	if (outer->listener < 0)
		return false;
	link_done(&outer->client);
	outer->client.is_watched = false;
	outer->away_ns = now_ns();
	if (!outer->is_attached)
		return true;
	outer->is_attached = false;
	outer->is_forgetting = true;
	heads_end_looks(outer);
	for (size_t i = 0; i < outer->slot_count; i++) {
		if (outer->slots[i].is_live && outer->slots[i].kept == NULL)
			facts_end(outer, &outer->slots[i], LAUNCH_CAUSE_ASKED);
	}
	facts_send_inner(outer, INNER_FORGET, 0);
	return true;
}

int attach_timeout(const struct outer *outer)
{
	uint64_t end = outer->away_ns + (uint64_t)outer->hello.reattach_ms * 1000000;
	uint64_t now = now_ns();

	if (outer->listener < 0 || outer->is_attached)
		return -1;
	if (outer->client.fd >= 0)
		return QUIET_MS;
	if (end <= now)
		return 0;
	return (int)((end - now < SLEEP_NS ? end - now : SLEEP_NS) / 1000000 + 1);
}

bool attach_is_over(const struct outer *outer)
{
	return outer->listener >= 0 && outer->client.fd < 0 &&
	       now_ns() - outer->away_ns >= (uint64_t)outer->hello.reattach_ms * 1000000;
}

void attach_refuse_first(struct outer *outer, const struct err *err)
{
	struct pollfd ready = {.fd = outer->listener, .events = POLLIN};
	struct launch_event event = {.type = LAUNCH_HELLO, .hello = outer->hello, .err = *err};

	if (outer->listener >= 0 && poll(&ready, 1, FIRST_MS) == 1) {
		int socket = accept4(outer->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (socket >= 0)
			link_init(&outer->client, &socket);
	}
	link_send(&outer->client, &event, sizeof(event), NULL, 0);
}
