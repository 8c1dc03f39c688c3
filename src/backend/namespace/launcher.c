// SPDX-License-Identifier: Apache-2.0
#include "backend/namespace/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "backend/namespace/launcher_start.h"
#include "base/c.h"
#include "base/io.h"

#define LAUNCH_STOP_MS 5000 /* launch ends its sandboxes by itself; then it is killed */
#define EVENTS_PER_TURN 64  /* then other handles of the loop have their turn */
#define QUEUE_MAX 8192      /* requests that launch has not taken: more means it is stuck */

/* How much of the union each request uses; the rest is not sent. */
static const size_t request_sizes[] = {
	[LAUNCH_ROOT] = sizeof(struct launch_root),
	[LAUNCH_ZYGOTE] = sizeof(struct launch_zygote),
	[LAUNCH_RETIRE] = sizeof(uint32_t),
	[LAUNCH_SPAWN] = sizeof(struct launch_spawn),
	[LAUNCH_BEGIN] = sizeof(struct launch_begin),
	[LAUNCH_KILL] = sizeof(uint32_t),
	[LAUNCH_COUNT] = 0,
	[LAUNCH_END] = sizeof(struct launch_head_ref),
	[LAUNCH_HEAD] = sizeof(struct launch_head),
	[LAUNCH_DROP] = sizeof(struct launch_head_ref),
	[LAUNCH_SIGNAL] = sizeof(struct launch_head_ref),
	[LAUNCH_FREEZE] = sizeof(struct launch_head_ref),
	[LAUNCH_SAVE] = sizeof(struct launch_head_ref),
	[LAUNCH_RESTORE] = sizeof(struct launch_head_ref),
	[LAUNCH_KEEP] = sizeof(struct launch_keep),
	[LAUNCH_QUIT] = 0,
	[LAUNCH_METER] = sizeof(uint32_t),
	[LAUNCH_DISARM] = sizeof(struct launch_head_ref),
	[LAUNCH_SWEEP] = sizeof(struct launch_head_ref),
};

/* A request that did not fit into the socket. */
struct queued {
	struct launch_request request;
	int fds[IO_FDS_MAX]; /* owned: duplicates, until sent */
	size_t fd_count;
	STAILQ_ENTRY(queued) entry;
};

struct launcher {
	struct launcher_calls calls;
	void *user; /* borrowed until closed */
	int socket; /* owned */
	uv_poll_t poll;
	uv_poll_t ended; /* readable when viv-launch has ended */
	pid_t pid;       /* our child, not reaped yet; 0: none */
	int pidfd;       /* owned: of that child, or -1 */
	uv_timer_t stop_timer;
	STAILQ_HEAD(, queued) queue;
	size_t queue_count;
	bool is_lost;   /* `lost` has been called */
	bool is_closed; /* launcher_close has been called */
	int handles;    /* open libuv handles; the last one frees */
};

static void queued_free(struct queued *queued)
{
	for (size_t i = 0; i < queued->fd_count; i++)
		drop_fd(&queued->fds[i]);
	free(queued);
}

static void handle_closed(uv_handle_t *handle)
{
	struct launcher *launcher = handle->data;

	launcher->handles--;
	if (launcher->handles == 0)
		free(launcher);
}

static void lose(struct launcher *launcher, const struct err *why)
{
	if (launcher->is_lost || launcher->is_closed)
		return;
	launcher->is_lost = true;
	(void)uv_poll_stop(&launcher->poll);
	launcher->calls.lost(launcher->user, why);
}

static void take_event(struct launcher *launcher, const struct launch_event *event, int *take_fds,
		       size_t fd_count)
{
	if (event->type != LAUNCH_HELLO) {
		launcher->calls.event(launcher->user, event, take_fds, fd_count);
		return;
	}
	if (event->err.kind != ERR_NONE) {
		struct err why = event->err;

		(void)err_wrap(&why, "viv-launch");
		lose(launcher, &why);
		return;
	}
	if (launcher->calls.hello != NULL)
		launcher->calls.hello(launcher->user, &event->hello);
}

/* Describes a failed call on launch's socket. A reset means that launch ended with requests
 * unread. */
static int name_failure(ssize_t n, struct err *err)
{
	if (n == 0 || n == -EPIPE || n == -ECONNRESET)
		return err_set(err, ERR_BUSY, EPIPE, "the process that runs the sandboxes ended");
	return err_set(err, ERR_INTERNAL, (int)-n, "the process that runs the sandboxes: %s",
		       strerror((int)-n));
}

static void read_events(struct launcher *launcher)
{
	for (int i = 0; i < EVENTS_PER_TURN && !launcher->is_closed && !launcher->is_lost; i++) {
		struct launch_event event;
		struct err why = {0};
		int fds[IO_FDS_MAX];
		size_t fd_count = 0;
		ssize_t n = io_recv_fds(launcher->socket, &event, sizeof(event), fds, &fd_count);

		if (n == -EAGAIN || n == -EINTR)
			return;
		if (n == (ssize_t)sizeof(event)) {
			take_event(launcher, &event, fds, fd_count);
			for (size_t fd = 0; fd < fd_count; fd++)
				drop_fd(&fds[fd]);
			continue;
		}

		if (n <= 0)
			(void)name_failure(n, &why);
		else
			(void)err_set(&why, ERR_INTERNAL, EPROTO,
				      "the process that runs the sandboxes sent %zd bytes where an "
				      "event has %zu",
				      n, sizeof(event));
		lose(launcher, &why);
	}
}

static ssize_t send_request(const struct launcher *launcher, const struct launch_request *request,
			    const int *fds, size_t fd_count)
{
	size_t size = offsetof(struct launch_request, root) + request_sizes[request->type];

	return io_send_fds(launcher->socket, request, size, fds, fd_count);
}

static void write_queue(struct launcher *launcher)
{
	while (!STAILQ_EMPTY(&launcher->queue)) {
		struct queued *queued = STAILQ_FIRST(&launcher->queue);
		ssize_t n = send_request(launcher, &queued->request, queued->fds, queued->fd_count);

		if (n == -EAGAIN)
			return;
		/* Any other failure also shows as end of file, which the reading side reports. */
		STAILQ_REMOVE_HEAD(&launcher->queue, entry);
		launcher->queue_count--;
		queued_free(queued);
	}
}

static void socket_ready(uv_poll_t *poll, int status, int events);

static void watch(struct launcher *launcher)
{
	int events = UV_READABLE | (STAILQ_EMPTY(&launcher->queue) ? 0 : UV_WRITABLE);

	(void)uv_poll_start(&launcher->poll, events, socket_ready);
}

static void socket_ready(uv_poll_t *poll, int status, int events)
{
	struct launcher *launcher = poll->data;

	if (events & UV_WRITABLE) {
		write_queue(launcher);
		if (STAILQ_EMPTY(&launcher->queue))
			watch(launcher);
	}
	/* A status below 0 is an error on the socket, which reading names. */
	if ((events & UV_READABLE) || status < 0)
		read_events(launcher);
}

static void process_ended(uv_poll_t *ended, int events_status, int events)
{
	struct launcher *launcher = ended->data;
	struct err why = {0};
	int status = 0;

	(void)events_status;
	(void)events;
	/* Its last messages may still be in the socket. */
	if (!launcher->is_closed && !launcher->is_lost)
		read_events(launcher);

	(void)waitpid(launcher->pid, &status, 0);
	launcher->pid = 0;
	uv_close((uv_handle_t *)ended, handle_closed);
	drop_fd(&launcher->pidfd);
	if (launcher->is_closed) {
		(void)uv_timer_stop(&launcher->stop_timer);
		if (!uv_is_closing((uv_handle_t *)&launcher->stop_timer))
			uv_close((uv_handle_t *)&launcher->stop_timer, handle_closed);
		return;
	}
	(void)err_set(&why, ERR_BUSY, ECHILD,
		      "the process that runs the sandboxes ended with %s %d",
		      WIFSIGNALED(status) ? "signal" : "status",
		      WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	lose(launcher, &why);
}

static void stop_late(uv_timer_t *timer)
{
	struct launcher *launcher = timer->data;

	if (launcher->pid > 0)
		(void)kill(launcher->pid, SIGKILL);
}

static int start_process(struct launcher *launcher, uv_loop_t *loop, int socket, struct err *err)
{
	int r = launcher_child(socket, &launcher->pid, &launcher->pidfd, err);

	if (r < 0)
		return r;
	r = uv_poll_init(loop, &launcher->ended, launcher->pidfd);
	if (r < 0) {
		(void)kill(launcher->pid, SIGKILL);
		(void)waitpid(launcher->pid, NULL, 0);
		launcher->pid = 0;
		drop_fd(&launcher->pidfd);
		return err_set(err, ERR_INTERNAL, -r, "watch viv-launch: %s", uv_strerror(r));
	}
	launcher->ended.data = launcher;
	launcher->handles++;
	(void)uv_poll_start(&launcher->ended, UV_READABLE, process_ended);
	return 0;
}

static struct launcher *launcher_new(uv_loop_t *loop, const struct launcher_calls *calls,
				     void *user, int *take_socket)
{
	struct launcher *launcher = xnew(struct launcher);

	launcher->calls = *calls;
	launcher->user = user;
	launcher->socket = steal_fd(take_socket);
	launcher->pidfd = -1;
	STAILQ_INIT(&launcher->queue);

	(void)uv_timer_init(loop, &launcher->stop_timer);
	launcher->stop_timer.data = launcher;
	launcher->handles++;
	return launcher;
}

static int start_watching(struct launcher *launcher, uv_loop_t *loop, struct err *err)
{
	int r = uv_poll_init(loop, &launcher->poll, launcher->socket);

	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r, "watch viv-launch: %s", uv_strerror(r));
	launcher->poll.data = launcher;
	launcher->handles++;
	watch(launcher);
	return 0;
}

int launcher_attach(uv_loop_t *loop, int *take_socket, const struct launcher_calls *calls,
		    void *user, struct launcher **ret_launcher, struct err *err)
{
	struct launcher *launcher = launcher_new(loop, calls, user, take_socket);
	int r = start_watching(launcher, loop, err);

	if (r < 0) {
		launcher_close(launcher);
		return r;
	}
	*ret_launcher = launcher;
	return 0;
}

int launcher_connect(uv_loop_t *loop, const struct backend_stay *stay,
		     const struct launcher_calls *calls, void *user, struct launcher **ret_launcher,
		     struct err *err)
{
	AUTO_CLOSE int listener = -1;
	AUTO_CLOSE int socket = stay->connected;
	int r = socket >= 0 ? 0 : launcher_dial(stay->path, &socket, err);

	if (launcher_is_absent(r) && !stay->is_minded) {
		r = launcher_listen(stay, &listener, err);
		if (r == 0)
			r = launcher_spawn(stay, listener, NULL, err);
		if (r == 0)
			r = launcher_dial(stay->path, &socket, err);
	}
	if (r < 0)
		return r;
	return launcher_attach(loop, &socket, calls, user, ret_launcher, err);
}

int launcher_open(uv_loop_t *loop, const struct launcher_calls *calls, void *user,
		  struct launcher **ret_launcher, struct err *err)
{
	struct launcher *launcher = NULL;
	int pair[2];
	int r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, "socketpair");

	launcher = launcher_new(loop, calls, user, &pair[0]);
	r = start_process(launcher, loop, pair[1], err);
	drop_fd(&pair[1]);
	if (r == 0)
		r = start_watching(launcher, loop, err);
	if (r < 0) {
		launcher_close(launcher);
		return r;
	}
	*ret_launcher = launcher;
	return 0;
}

void launcher_close(struct launcher *launcher)
{
	if (launcher == NULL || launcher->is_closed)
		return;
	launcher->is_closed = true;

	while (!STAILQ_EMPTY(&launcher->queue)) {
		struct queued *queued = STAILQ_FIRST(&launcher->queue);

		STAILQ_REMOVE_HEAD(&launcher->queue, entry);
		queued_free(queued);
	}
	if (launcher->poll.data != NULL)
		uv_close((uv_handle_t *)&launcher->poll, handle_closed);
	drop_fd(&launcher->socket);

	/* Keeps the loop running until viv-launch has ended everything it held, so that nothing is
	 * left behind. */
	if (launcher->pid > 0)
		(void)uv_timer_start(&launcher->stop_timer, stop_late, LAUNCH_STOP_MS, 0);
	else
		uv_close((uv_handle_t *)&launcher->stop_timer, handle_closed);
}

pid_t launcher_pid(const struct launcher *launcher)
{
	return launcher->pid;
}

static int enqueue(struct launcher *launcher, const struct launch_request *request, const int *fds,
		   size_t fd_count, struct err *err)
{
	struct queued *queued = NULL;

	if (launcher->queue_count >= QUEUE_MAX)
		return err_set(err, ERR_BUSY, EBUSY, "too many requests wait for sandboxes");

	queued = xnew(struct queued);
	queued->request = *request;
	for (size_t i = 0; i < fd_count; i++) {
		int copy = fcntl(fds[i], F_DUPFD_CLOEXEC, 0);

		if (copy < 0) {
			int r = err_sys(err, "duplicate a descriptor");

			queued_free(queued);
			return r;
		}
		queued->fds[queued->fd_count++] = copy;
	}
	STAILQ_INSERT_TAIL(&launcher->queue, queued, entry);
	launcher->queue_count++;
	watch(launcher);
	return 0;
}

int launcher_send(struct launcher *launcher, const struct launch_request *request, const int *fds,
		  size_t fd_count, struct err *err)
{
	ssize_t n = -EAGAIN;

	if (fd_count > IO_FDS_MAX)
		return err_set(err, ERR_INTERNAL, EINVAL, "%zu descriptors in one request",
			       fd_count);
	if (launcher->is_lost || launcher->is_closed)
		return err_set(err, ERR_BUSY, EPIPE, "the process that runs the sandboxes ended");

	if (STAILQ_EMPTY(&launcher->queue))
		n = send_request(launcher, request, fds, fd_count);
	if (n == -EAGAIN)
		return enqueue(launcher, request, fds, fd_count, err);
	if (n < 0)
		return name_failure(n, err);
	return 0;
}
