// SPDX-License-Identifier: Apache-2.0
#include "backend/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/close_range.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "base/c.h"
#include "base/io.h"

#ifndef VIV_LIBEXECDIR
#define VIV_LIBEXECDIR "/usr/libexec/vivarium"
#endif

#define LAUNCH_FD 3         /* where viv-launch finds its socket */
#define LAUNCH_STOP_MS 5000 /* it ends its sandboxes by itself; this is the second line */
#define EVENTS_PER_TURN 64  /* then the loop looks at other things, too */
#define QUEUE_MAX 8192      /* requests that launch has not taken: more means it is stuck */

/* How much of the union each request fills; the rest need not travel. */
static const size_t request_sizes[] = {
	[LAUNCH_ROOT] = sizeof(struct launch_root),
	[LAUNCH_ZYGOTE] = sizeof(struct launch_zygote),
	[LAUNCH_RETIRE] = sizeof(uint32_t),
	[LAUNCH_SPAWN] = sizeof(struct launch_spawn),
	[LAUNCH_BEGIN] = sizeof(struct launch_begin),
	[LAUNCH_KILL] = sizeof(uint32_t),
	[LAUNCH_COUNT] = 0,
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
	uv_process_t process;
	uv_timer_t stop_timer;
	STAILQ_HEAD(, queued) queue;
	size_t queue_count;
	struct launch_hello hello;
	bool has_hello;
	bool has_process; /* the handle is open: viv-launch lives */
	bool is_lost;     /* `lost` has been called */
	bool is_closed;   /* launcher_close has been called */
	int handles;      /* open libuv handles; the last one frees */
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

static void take_event(struct launcher *launcher, const struct launch_event *event)
{
	if (event->type != LAUNCH_HELLO) {
		launcher->calls.event(launcher->user, event);
		return;
	}
	if (event->err.kind != ERR_NONE) {
		struct err why = event->err;

		(void)err_wrap(&why, "viv-launch");
		lose(launcher, &why);
		return;
	}
	launcher->hello = event->hello;
	launcher->has_hello = true;
	if (launcher->calls.hello != NULL)
		launcher->calls.hello(launcher->user, &launcher->hello);
}

static void read_events(struct launcher *launcher)
{
	for (int i = 0; i < EVENTS_PER_TURN && !launcher->is_closed && !launcher->is_lost; i++) {
		struct launch_event event;
		struct err why = {0};
		ssize_t n = recv(launcher->socket, &event, sizeof(event), MSG_DONTWAIT | MSG_TRUNC);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n == (ssize_t)sizeof(event)) {
			take_event(launcher, &event);
			continue;
		}

		if (n < 0)
			(void)err_sys(&why, "viv-launch");
		else if (n == 0)
			(void)err_set(&why, ERR_INTERNAL, EPIPE, "viv-launch ended");
		else
			(void)err_set(&why, ERR_INTERNAL, EPROTO,
				      "viv-launch sent %zd bytes where an event has %zu", n,
				      sizeof(event));
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
		/* Any other failure shows up as the end of the socket, too: reading reports it. */
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

static void process_exited(uv_process_t *process, int64_t code, int signal_number)
{
	struct launcher *launcher = process->data;
	struct err why = {0};

	/* What it said last may still be in the socket. */
	if (!launcher->is_closed && !launcher->is_lost)
		read_events(launcher);

	launcher->has_process = false;
	uv_close((uv_handle_t *)process, handle_closed);
	if (launcher->is_closed) {
		(void)uv_timer_stop(&launcher->stop_timer);
		if (!uv_is_closing((uv_handle_t *)&launcher->stop_timer))
			uv_close((uv_handle_t *)&launcher->stop_timer, handle_closed);
		return;
	}
	(void)err_set(&why, ERR_INTERNAL, ECHILD, "viv-launch ended with %s %d",
		      signal_number != 0 ? "signal" : "status",
		      signal_number != 0 ? signal_number : (int)code);
	lose(launcher, &why);
}

static void stop_late(uv_timer_t *timer)
{
	struct launcher *launcher = timer->data;

	if (launcher->has_process)
		(void)uv_process_kill(&launcher->process, SIGKILL);
}

/* Where viv-launch may be, in order: beside viv (a build tree), where an installation has it seen
 * from viv (wherever that was moved), and below the prefix. */
static int find_program(char *ret_path, size_t size, struct err *err)
{
	static const char *const beside[] = {"viv-launch", "../libexec/vivarium/viv-launch"};
	char self[512];
	char *slash = NULL;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0)
		return err_sys(err, "read /proc/self/exe");
	self[n] = '\0';
	slash = strrchr(self, '/');
	if (slash != NULL)
		*slash = '\0';

	for (size_t i = 0; i < ARRAY_LEN(beside); i++) {
		if (snprintf(ret_path, size, "%s/%s", self, beside[i]) < (int)size &&
		    access(ret_path, X_OK) == 0)
			return 0;
	}
	(void)snprintf(ret_path, size, "%s/viv-launch", VIV_LIBEXECDIR);
	if (access(ret_path, X_OK) == 0)
		return 0;
	return err_set(err, ERR_INTERNAL, ENOENT,
		       "viv-launch is neither beside viv (%s) nor in %s; install it there", self,
		       VIV_LIBEXECDIR);
}

/* The few variables that viv-launch may need to find the user's service manager. */
static size_t make_environment(char **ret_env, size_t room, char *text, size_t size)
{
	static const char *const names[] = {"XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"};
	static char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
	size_t count = 0;
	size_t used = 0;

	ret_env[count++] = path;
	for (size_t i = 0; i < ARRAY_LEN(names) && count + 1 < room; i++) {
		const char *value = getenv(names[i]);
		int n;

		if (value == NULL)
			continue;
		n = snprintf(text + used, size - used, "%s=%s", names[i], value);
		if (n < 0 || (size_t)n >= size - used)
			break;
		ret_env[count++] = text + used;
		used += (size_t)n + 1;
	}
	ret_env[count] = NULL;
	return count;
}

static int start_process(struct launcher *launcher, uv_loop_t *loop, int socket, struct err *err)
{
	char path[1024];
	char name[] = "viv-launch";
	char *args[] = {name, NULL};
	char env_text[1024];
	char *env[4];
	uv_stdio_container_t stdio[LAUNCH_FD + 1] = {
		{.flags = UV_IGNORE},
		{.flags = UV_IGNORE},
		{.flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO},
		{.flags = UV_INHERIT_FD, .data.fd = socket},
	};
	uv_process_options_t options = {
		.exit_cb = process_exited,
		.args = args,
		.env = env,
		/* Its own session: a terminal's Ctrl-C is for viv, which then ends the run. */
		.flags = UV_PROCESS_DETACHED,
		.stdio_count = LAUNCH_FD + 1,
		.stdio = stdio,
	};
	int r = find_program(path, sizeof(path), err);

	if (r < 0)
		return r;
	options.file = path;
	(void)make_environment(env, ARRAY_LEN(env), env_text, sizeof(env_text));

	/* Whatever our own caller left open must not reach the privileged program. */
	(void)close_range(LAUNCH_FD, ~0U, CLOSE_RANGE_CLOEXEC);

	r = uv_spawn(loop, &launcher->process, &options);
	launcher->process.data = launcher;
	launcher->handles++; /* uv_spawn opens the handle even where it fails */
	if (r < 0) {
		uv_close((uv_handle_t *)&launcher->process, handle_closed);
		return err_set(err, ERR_INTERNAL, -r, "start %s: %s", path, uv_strerror(r));
	}
	launcher->has_process = true;
	return 0;
}

static struct launcher *launcher_new(uv_loop_t *loop, const struct launcher_calls *calls,
				     void *user, int *take_socket)
{
	struct launcher *launcher = xnew(struct launcher);

	launcher->calls = *calls;
	launcher->user = user;
	launcher->socket = steal_fd(take_socket);
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

	/* The loop stays until viv-launch has ended what it held: nothing is left behind. */
	if (launcher->has_process)
		(void)uv_timer_start(&launcher->stop_timer, stop_late, LAUNCH_STOP_MS, 0);
	else
		uv_close((uv_handle_t *)&launcher->stop_timer, handle_closed);
}

const struct launch_hello *launcher_hello(const struct launcher *launcher)
{
	return launcher->has_hello ? &launcher->hello : NULL;
}

pid_t launcher_pid(const struct launcher *launcher)
{
	return launcher->has_process ? uv_process_get_pid(&launcher->process) : 0;
}

static int enqueue(struct launcher *launcher, const struct launch_request *request, const int *fds,
		   size_t fd_count, struct err *err)
{
	struct queued *queued = NULL;

	if (launcher->queue_count >= QUEUE_MAX)
		return err_set(err, ERR_BUSY, EBUSY, "viv-launch does not keep up");

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
		return err_set(err, ERR_INTERNAL, EPIPE, "viv-launch is gone");

	if (STAILQ_EMPTY(&launcher->queue))
		n = send_request(launcher, request, fds, fd_count);
	if (n == -EAGAIN)
		return enqueue(launcher, request, fds, fd_count, err);
	if (n < 0)
		return err_set(err, ERR_INTERNAL, (int)-n, "viv-launch: %s", strerror((int)-n));
	return 0;
}
