// SPDX-License-Identifier: Apache-2.0
#include "backend/namespace/launcher_start.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/close_range.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/c.h"
#include "base/program.h"

#define BACKLOG 64 /* for instance, of daemons that were killed one after the other */

/* The few variables that viv-launch may need to find the user's service manager, in `env` (NULL
 * behind the last), their texts in `text`. */
static void launcher_environment(char **env, size_t room, char *text, size_t size)
{
	static const char *const names[] = {"XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"};
	static char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
	size_t count = 0;
	size_t used = 0;

	env[count++] = path;
	for (size_t i = 0; i < ARRAY_LEN(names) && count + 1 < room; i++) {
		const char *value = getenv(names[i]);
		int n;

		if (value == NULL)
			continue;
		n = snprintf(text + used, size - used, "%s=%s", names[i], value);
		if (n < 0 || (size_t)n >= size - used)
			break;
		env[count++] = text + used;
		used += (size_t)n + 1;
	}
	env[count] = NULL;
}

/* If SIGCHLD were ignored, a child that ended unseen would free its pid for another process. */
static void keep_children(void)
{
	struct sigaction action;

	if (sigaction(SIGCHLD, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
		(void)signal(SIGCHLD, SIG_DFL);
}

/* posix_spawn, not fork: a fork copies our page tables, and both processes then pay for each page
 * written. */
static int spawn_child(const char *program, int socket, pid_t *ret_pid)
{
	char name[] = "viv-launch";
	char *const args[] = {name, NULL};
	char env_text[1024];
	char *env[4];
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t signals;
	int r;

	launcher_environment(env, ARRAY_LEN(env), env_text, sizeof(env_text));
	if (posix_spawnattr_init(&attributes) != 0)
		return ENOMEM;
	/* A session of its own: a terminal's Ctrl-C is for viv, which then ends the run. */
	(void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF |
							    POSIX_SPAWN_SETSIGMASK);
	(void)sigemptyset(&signals);
	(void)posix_spawnattr_setsigmask(&attributes, &signals);
	(void)sigfillset(&signals);
	(void)posix_spawnattr_setsigdefault(&attributes, &signals);
	(void)posix_spawn_file_actions_init(&files);
	/* Duplicating a descriptor onto itself clears close-on-exec (glibc 2.29). */
	r = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (r == 0)
		r = posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_RDWR, 0);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDERR_FILENO);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(&files, socket, LAUNCH_FD);
	if (r == 0)
		r = posix_spawn(ret_pid, program, &files, &attributes, args, env);
	(void)posix_spawn_file_actions_destroy(&files);
	(void)posix_spawnattr_destroy(&attributes);
	return r;
}

int launcher_child(int socket, pid_t *ret_pid, int *ret_pidfd, struct err *err)
{
	char program[1024];
	pid_t pid = 0;
	int pidfd;
	int r = program_find("viv-launch", program, sizeof(program), err);

	if (r < 0)
		return r;
	/* Descriptors that our own caller left open must not reach the privileged program. */
	(void)close_range(LAUNCH_FD, ~0U, CLOSE_RANGE_CLOEXEC);
	keep_children();
	r = spawn_child(program, socket, &pid);
	if (r > 0)
		return err_set(err, ERR_INTERNAL, r, "start %s: %s", program, strerror(r));
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0) {
		r = err_sys(err, "watch %s", program);
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
		return r;
	}
	*ret_pid = pid;
	*ret_pidfd = pidfd;
	return 0;
}

static int make_address(const char *path, struct sockaddr_un *address, struct err *err)
{
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof(address->sun_path))
		return err_set(err, ERR_BAD_REQUEST, ENAMETOOLONG,
			       "%s is too long for a socket; set runtime_dir to a shorter folder",
			       path);
	(void)snprintf(address->sun_path, sizeof(address->sun_path), "%s", path);
	return 0;
}

int launcher_dial(const char *path, int *ret_socket, struct err *err)
{
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address;
	int r;

	if (fd < 0)
		return err_sys(err, "socket");
	r = make_address(path, &address, err);
	if (r < 0)
		return r;
	/* A unix socket connects at once or not at all (EAGAIN: its backlog is full). */
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return err_sys(err, "connect to viv-launch at %s", path);
	*ret_socket = steal_fd(&fd);
	return 0;
}

bool launcher_is_absent(int r)
{
	return r == -ECONNREFUSED || r == -ENOENT;
}

int launcher_listen(const struct backend_stay *stay, int *ret_socket, struct err *err)
{
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct sockaddr_un address;
	mode_t mask;
	int r;

	if (fd < 0)
		return err_sys(err, "socket");
	r = make_address(stay->path, &address, err);
	if (r < 0)
		return r;
	/* Acts as the owner: the folder is theirs, and a path in it may lead elsewhere between two
	 * calls. They gain nothing that they could not have made themselves. */
	(void)setfsuid(stay->owner);
	(void)unlink(stay->path); /* left by a launch that has ended; nothing answered there */
	mask = umask(0177);
	r = bind(fd, (const struct sockaddr *)&address, sizeof(address));
	if (r < 0)
		r = err_sys(err, "bind %s", stay->path);
	(void)umask(mask);
	(void)setfsuid(geteuid());
	if (r < 0)
		return r;
	if (listen(fd, BACKLOG) < 0)
		return err_sys(err, "listen at %s", stay->path);
	*ret_socket = steal_fd(&fd);
	return 0;
}

/* In the grandchild: orphaned on purpose, in a session of its own. */
static _Noreturn void become_launch(const char *program, const struct backend_stay *stay,
				    int socket)
{
	char name[] = "viv-launch";
	char owner_flag[] = "--owner";
	char reattach_flag[] = "--reattach-ms";
	char owner[24];
	char reattach[24];
	char *const args[] = {name, owner_flag, owner, reattach_flag, reattach, NULL};
	char text[1024];
	char *env[4];

	(void)snprintf(owner, sizeof(owner), "%u", stay->owner);
	(void)snprintf(reattach, sizeof(reattach), "%u", stay->reattach_ms);
	launcher_environment(env, ARRAY_LEN(env), text, sizeof(text));
	if (socket != LAUNCH_FD && dup2(socket, LAUNCH_FD) < 0)
		_exit(1);
	(void)fcntl(LAUNCH_FD, F_SETFD, 0);
	/* Descriptors that our own caller left open must not reach the privileged program. */
	(void)close_range(LAUNCH_FD + 1, ~0U, 0);
	(void)chdir("/");
	(void)execve(program, args, env);
	_exit(1);
}

/* Waits for the exec. Until then the new launch also holds our other descriptors, and with them our
 * locks on folders: the next viv would be told that this one still runs. */
static void await_exec(int *take_writer, int reader)
{
	char none;

	drop_fd(take_writer);
	while (read(reader, &none, 1) < 0 && errno == EINTR)
		;
}

int launcher_spawn(const struct backend_stay *stay, int socket, pid_t *ret_pid, struct err *err)
{
	AUTO_CLOSE int reader = -1;
	AUTO_CLOSE int writer = -1;
	char program[1024];
	int ends[2];
	int status = 0;
	pid_t pid;
	int r = program_find("viv-launch", program, sizeof(program), err);

	if (r < 0)
		return r;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(err, "pipe");
	reader = ends[0];
	writer = ends[1];
	pid = fork();
	if (pid == 0) {
		if (setsid() < 0)
			_exit(1);
		pid = ret_pid == NULL ? fork() : 0;
		if (pid != 0)
			_exit(pid < 0 ? 1 : 0);
		become_launch(program, stay, socket);
	}
	if (pid < 0)
		return err_sys(err, "start %s", program);
	await_exec(&writer, reader);
	if (ret_pid != NULL)
		*ret_pid = pid;
	else if (waitpid(pid, &status, 0) < 0 || status != 0)
		return err_set(err, ERR_INTERNAL, ECHILD, "%s could not be started", program);
	return 0;
}
