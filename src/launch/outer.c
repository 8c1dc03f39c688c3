// SPDX-License-Identifier: Apache-2.0
#include "launch/outer.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <linux/sched.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/c.h"
#include "base/io.h"
#include "launch/attach.h"
#include "launch/facts.h"
#include "launch/freeze.h"
#include "launch/heads.h"
#include "launch/inner.h"
#include "launch/watch.h"
#include "walls/wall.h"

#define INNER_CONTROL_FD 3

static int copy_program(int self, int *ret_fd, struct err *err)
{
	AUTO_CLOSE int copy = memfd_create("viv-launch", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	ssize_t n;

	if (copy < 0)
		return err_sys(err, "copy this program");
	do {
		n = sendfile(copy, self, NULL, 64 * MIB);
	} while (n > 0);
	if (n < 0 || fcntl(copy, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW) < 0)
		return err_sys(err, "copy this program");
	*ret_fd = steal_fd(&copy);
	return 0;
}

/* Opens this program, for the inner half to exec, wherever it is. If other users may not read it, a
 * sealed copy is made: the memory of a process whose program it cannot read belongs to the parent
 * user namespace (man 2 execve and PR_SET_DUMPABLE). */
static int open_program(int *ret_fd, struct err *err)
{
	AUTO_CLOSE int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const mode_t needed = S_IROTH | S_IXOTH;
	struct stat status;

	if (self < 0 || fstat(self, &status) < 0)
		return err_sys(err, "open this program");
	if ((status.st_mode & needed) != needed)
		return copy_program(self, ret_fd, err);
	*ret_fd = steal_fd(&self);
	return 0;
}

/* In the clone: waits for the id maps, becomes root of the new user namespace, drops all outside
 * groups, and execs. Root of the namespace keeps all its capabilities over the exec. */
static _Noreturn void become_inner(int program, int control)
{
	static const char *const argv[] = {"viv-launch", "inner", NULL};
	static const char *const envp[] = {NULL};
	struct idmap map;

	if (recv(control, &map, sizeof(map), 0) != (ssize_t)sizeof(map))
		_exit(0);
	if (setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0)
		_exit(1);
	if (map.count > 1 && setgroups(0, NULL) < 0)
		_exit(1);
	if (dup2(control, INNER_CONTROL_FD) < 0)
		_exit(1);
	/* execveat wants char *const *; it does not write through them. */
	(void)syscall(SYS_execveat, program, "", (char *const *)(uintptr_t)argv,
		      (char *const *)(uintptr_t)envp, AT_EMPTY_PATH);
	_exit(1);
}

static int clone_inner(struct outer *outer, int *ret_control, struct err *err)
{
	struct clone_args args = {
		/* Its network namespace follows with the first zygote (inner.c). */
		.flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS,
		.exit_signal = SIGCHLD,
	};
	AUTO_CLOSE int program = -1;
	AUTO_CLOSE int leaf = -1;
	int pair[2];
	int r = open_program(&program, err);

	if (r == 0)
		r = cgroups_leaf(&outer->groups, &leaf, err);
	if (r < 0)
		return r;
	if (leaf >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (unsigned)leaf;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, "socketpair");
	outer->inner_pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (outer->inner_pid == 0) {
		int control = fcntl(pair[1], F_DUPFD_CLOEXEC, INNER_CONTROL_FD + 1);

		(void)close(pair[0]);
		become_inner(program, control);
	}
	(void)close(pair[1]);
	*ret_control = pair[0];
	if (outer->inner_pid < 0)
		return err_sys(err, "make a user namespace (see `viv doctor`)");
	return 0;
}

static void fill_hello(const struct outer *outer, struct launch_hello *hello)
{
	hello->version = LAUNCH_VERSION;
	hello->limits = cgroups_limits(&outer->groups);
	hello->landlock_abi = landlock_probe();
	hello->uid_count = outer->map.count;
	hello->is_root = geteuid() == 0;
	hello->cgroup_kill = outer->groups.v2_limits;
	hello->can_freeze = outer->groups.tree[CGROUP_V2] >= 0;
	hello->disks = (uint32_t)outer->groups.disk_count;
	hello->why = outer->groups.why;
}

static int start_inner(struct outer *outer, struct err *err)
{
	struct launch_hello *hello = &outer->hello;
	struct inner_input input = {0};
	int control = -1;
	int r = clone_inner(outer, &control, err);

	if (r == 0)
		r = idmap_write(outer->inner_pid, &outer->map, err);
	if (r == 0)
		r = cgroups_hand_over(&outer->groups, &outer->map, err);
	if (r == 0 && send(control, &outer->map, sizeof(outer->map), MSG_NOSIGNAL) < 0)
		r = err_sys(err, "start the inner half");

	/* The inner half is busy with its exec: do the rest meanwhile. */
	cgroups_open_v1(&outer->groups);
	fill_hello(outer, hello);
	input.map = outer->map;
	input.landlock_abi = hello->landlock_abi;
	input.is_measured = hello->limits == LAUNCH_LIMITS_MEASURED;
	input.task_count = cgroups_task_count(&outer->groups);
	if (r == 0 && send(control, &input, sizeof(input), MSG_NOSIGNAL) < 0)
		r = err_sys(err, "start the inner half");
	if (control >= 0)
		link_init(&outer->inner, &control);
	return r;
}

/* Asks for EPOLLOUT only while something waits to be sent. */
static void watch(const struct outer *outer, struct link *link, enum watched kind, bool reads)
{
	struct epoll_event event = {
		.events = (reads ? (uint32_t)EPOLLIN : 0U) |
			  (link_is_waiting(link) ? (uint32_t)EPOLLOUT : 0U),
		.data.u64 = WATCHED(kind, 0, 0),
	};

	if (link->fd < 0 || (link->is_watched && link->watched == event.events))
		return;
	(void)epoll_ctl(outer->epoll, link->is_watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, link->fd,
			&event);
	link->is_watched = true;
	link->watched = event.events;
}

/* Every request may have an answer: a client that does not read its answers is not read from
 * either, or they would pile up here without bound. */
static void watch_client(struct outer *outer)
{
	bool reads = !link_is_full(&outer->client) && !link_is_full(&outer->inner);

	watch(outer, &outer->client, WATCHED_CLIENT, reads);
}

static int open_loop(struct outer *outer, struct err *err)
{
	struct epoll_event event = {.events = EPOLLIN};
	sigset_t signals;

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGTERM);
	(void)sigaddset(&signals, SIGINT);
	(void)sigaddset(&signals, SIGHUP);
	(void)sigaddset(&signals, SIGCHLD);
	if (sigprocmask(SIG_SETMASK, &signals, NULL) < 0)
		return err_sys(err, "sigprocmask");
	outer->signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	outer->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (outer->signals < 0 || outer->epoll < 0)
		return err_sys(err, "event loop");
	event.data.u64 = WATCHED(WATCHED_SIGNALS, 0, 0);
	if (epoll_ctl(outer->epoll, EPOLL_CTL_ADD, outer->signals, &event) < 0)
		return err_sys(err, "event loop");
	return 0;
}

/* Any signal ends us, except SIGCHLD for a child other than the inner half, or for an inner half
 * that was only stopped or continued. If its end is reported together with a stop, end of file on
 * its socket shows it. */
static bool is_over(struct outer *outer)
{
	struct signalfd_siginfo info;

	while (read(outer->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo != SIGCHLD)
			return true;
		if (info.ssi_code == CLD_STOPPED || info.ssi_code == CLD_CONTINUED)
			continue;
		if (info.ssi_pid == (uint32_t)outer->inner_pid)
			return true;
		(void)waitpid((pid_t)info.ssi_pid, NULL, WNOHANG);
	}
	return false;
}

/* False: the client has left. Its earlier requests have been carried out. */
static bool on_client(struct outer *outer)
{
	struct launch_request request = {0};
	int fds[IO_FDS_MAX];
	size_t fd_count = 0;
	ssize_t n = io_recv_fds(outer->client.fd, &request, sizeof(request), fds, &fd_count);

	/* A client closed before it had read everything: the kernel reports that first, once; the
	 * client's requests are still to be read, perhaps a QUIT. */
	if (n == -ECONNRESET)
		return true;
	if (n == -EAGAIN || n == -EMSGSIZE || n == -EBADF)
		return true;
	if (n <= 0)
		return false;
	slots_request(outer, &request, (size_t)n, fds, fd_count);
	for (size_t i = 0; i < IO_FDS_MAX; i++)
		drop_fd(&fds[i]);
	return true;
}

static bool on_inner(struct outer *outer)
{
	struct launch_event event = {0};
	int fds[IO_FDS_MAX];
	size_t fd_count = 0;
	ssize_t n = io_recv_fds(outer->inner.fd, &event, sizeof(event), fds, &fd_count);

	if (n == -EAGAIN)
		return true;
	if (n <= 0)
		return false;
	facts_event(outer, &event, fds, fd_count);
	for (size_t i = 0; i < IO_FDS_MAX; i++)
		drop_fd(&fds[i]);
	return true;
}

static bool dispatch(struct outer *outer, const struct epoll_event *event)
{
	bool is_readable = event->events & (EPOLLIN | EPOLLHUP);
	uint32_t index = (uint32_t)event->data.u64;

	switch ((enum watched)(event->data.u64 >> 32)) {
	case WATCHED_SIGNALS:
		return !is_over(outer);
	case WATCHED_CLIENT:
		link_flush(&outer->client);
		return !is_readable || on_client(outer) || attach_lost(outer);
	case WATCHED_LISTENER:
		attach_accept(outer);
		return true;
	case WATCHED_HEAD:
		heads_over(outer, index >> 8, index & 0xff);
		return true;
	case WATCHED_INNER:
		break;
	}
	link_flush(&outer->inner);
	return !is_readable || on_inner(outer);
}

/* The shortest timeout of all parts; -1 is for ever. */
static int timeout_of(const struct outer *outer)
{
	const int wanted[] = {facts_timeout(outer), heads_timeout(outer), freeze_timeout(outer),
			      attach_timeout(outer), watch_timeout(outer)};
	int shortest = -1;

	for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
		if (wanted[i] >= 0 && (shortest < 0 || wanted[i] < shortest))
			shortest = wanted[i];
	}
	return shortest;
}

static void watch_listener(const struct outer *outer)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = WATCHED(WATCHED_LISTENER, 0, 0)};

	if (outer->listener >= 0)
		(void)epoll_ctl(outer->epoll, EPOLL_CTL_ADD, outer->listener, &event);
}

static void serve(struct outer *outer)
{
	bool is_up = true;

	watch(outer, &outer->inner, WATCHED_INNER, true);
	watch_listener(outer);
	while (is_up && !outer->is_quitting && !attach_is_over(outer)) {
		struct epoll_event events[16];
		int n = epoll_wait(outer->epoll, events, ARRAY_LEN(events), timeout_of(outer));

		for (int i = 0; is_up && i < n; i++)
			is_up = dispatch(outer, &events[i]);
		facts_tick(outer);
		heads_tick(outer);
		freeze_tick(outer);
		watch_tick(outer);
		attach_tick(outer);
		if (outer->is_inner_up && outer->is_attached)
			watch_client(outer);
		watch(outer, &outer->inner, WATCHED_INNER, true);
	}
}

/* Killing its init ends the whole pid namespace: no orphan can be left, and the cgroups are
 * empty. */
static void end_all(struct outer *outer)
{
	if (outer->inner_pid > 0) {
		(void)kill(outer->inner_pid, SIGKILL);
		(void)waitpid(outer->inner_pid, NULL, 0);
	}
	slots_done(outer);
	cgroups_close(&outer->groups);
	link_done(&outer->inner);
	link_done(&outer->client);
}

/* A client on a connected socket gets HELLO at once; one that connects gets it when its turn
 * comes. */
static void say_first(struct outer *outer, const struct err *err)
{
	struct launch_event event = {.type = LAUNCH_HELLO, .hello = outer->hello, .err = *err};

	if (outer->listener < 0) {
		outer->is_attached = true;
		facts_tell(outer, &event, NULL, 0);
	} else if (err->kind != ERR_NONE) {
		attach_refuse_first(outer, err);
	}
}

int outer_main(int *take_socket, const struct outer_options *options)
{
	struct outer *outer = xnew(struct outer);
	struct err err = {0};
	struct rlimit files;
	int r;

	outer->listener = -1;
	outer->client_uid = geteuid();
	outer->client_gid = getegid();
	outer->client.fd = -1;
	STAILQ_INIT(&outer->client.queue);
	outer->inner.fd = -1;
	STAILQ_INIT(&outer->inner.queue);
	if (options != NULL) {
		outer->listener = steal_fd(take_socket);
		(void)fcntl(outer->listener, F_SETFD, FD_CLOEXEC);
		(void)fcntl(outer->listener, F_SETFL, O_NONBLOCK);
		outer->owner = options->owner;
		/* Drops root's supplementary groups, which are not the client's (open_inside). */
		if (geteuid() == 0)
			(void)setgroups(0, NULL);
		outer->hello.reattach_ms = options->reattach_ms;
		outer->away_ns = now_ns();
	} else {
		link_init(&outer->client, take_socket);
	}
	slots_init(outer);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}

	cgroups_open(&outer->groups);
	r = open_loop(outer, &err);
	if (r == 0)
		r = start_inner(outer, &err);
	say_first(outer, &err);
	if (r == 0)
		serve(outer);
	end_all(outer);
	free(outer);
	return r == 0 ? 0 : 1;
}
