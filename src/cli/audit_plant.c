// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <string.h>

#include <arpa/inet.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/utsname.h>

#include "base/c.h"
#include "base/io.h"
#include "cli/audit.h"

#define SECRET_VARIABLE "VIV_AUDIT_SECRET"

enum listener {
	LISTENER_TCP,
	LISTENER_UDP,
	LISTENER_ABSTRACT,
	LISTENER_UNIX,
};

/* Calls that no sandbox may reach; with -1 for every argument none of them does anything. */
static const struct {
	const char *name;
	long number;
} calls[] = {
#define CALL(name)                                                                                 \
	{                                                                                          \
#name, SYS_##name                                                                  \
	}
	CALL(acct),
	CALL(add_key),
	CALL(adjtimex),
	CALL(bpf),
	CALL(chroot),
	CALL(clock_settime),
	CALL(delete_module),
	CALL(fanotify_init),
	CALL(finit_module),
	CALL(fsopen),
	CALL(fspick),
	CALL(init_module),
	CALL(io_uring_enter),
	CALL(io_uring_register),
	CALL(io_uring_setup),
	CALL(kcmp),
	CALL(kexec_load),
	CALL(keyctl),
	CALL(mbind),
	CALL(migrate_pages),
	CALL(mount),
	CALL(mount_setattr),
	CALL(move_mount),
	CALL(move_pages),
	CALL(mq_open),
	CALL(msgget),
	CALL(name_to_handle_at),
	CALL(open_by_handle_at),
	CALL(open_tree),
	CALL(perf_event_open),
	CALL(pidfd_getfd),
	CALL(pivot_root),
	CALL(process_madvise),
	CALL(process_vm_readv),
	CALL(process_vm_writev),
	CALL(ptrace),
	CALL(quotactl),
	CALL(request_key),
	CALL(seccomp),
	CALL(semget),
	CALL(sethostname),
	CALL(setns),
	CALL(settimeofday),
	CALL(shmget),
	CALL(splice),
	CALL(swapoff),
	CALL(swapon),
	CALL(syslog),
	CALL(tee),
	CALL(umount2),
	CALL(unshare),
	CALL(userfaultfd),
	CALL(vmsplice),
#ifdef SYS_landlock_create_ruleset
	CALL(landlock_create_ruleset),
#endif
#ifdef SYS_memfd_secret
	CALL(memfd_secret),
#endif
#ifdef SYS_iopl
	CALL(iopl),
	CALL(ioperm),
	CALL(modify_ldt),
#endif
#undef CALL
};

static const char *const spaces[] = {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"};

static int plant_file(const struct audit_plant *plant, const char *path, struct err *err)
{
	AUTO_CLOSE int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
	int r;

	if (fd < 0)
		return err_sys(err, "make %s", path);
	/* Readable for all, whatever the umask: only the walls may stand in the way. */
	if (fchmod(fd, 0644) < 0)
		return err_sys(err, "chmod %s", path);
	r = io_write_all(fd, plant->token, strlen(plant->token), err);
	return r < 0 ? err_wrap(err, "write %s", path) : 0;
}

static int plant_inet(int type, int *ret_fd, uint16_t *ret_port, struct err *err)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	AUTO_CLOSE int fd = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t size = sizeof(address);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    (type == SOCK_STREAM && listen(fd, 8) < 0) ||
	    getsockname(fd, (struct sockaddr *)&address, &size) < 0)
		return err_sys(err, "listen on loopback");

	*ret_port = ntohs(address.sin_port);
	*ret_fd = steal_fd(&fd);
	return 0;
}

/* `name` is a path, or with is_abstract a name in the network namespace. */
static int plant_unix(const char *name, bool is_abstract, int *ret_fd, struct err *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	char *start = address.sun_path + (is_abstract ? 1 : 0);
	socklen_t size;

	if (strlen(name) > sizeof(address.sun_path) - 2)
		return err_set(err, ERR_INTERNAL, ENAMETOOLONG, "socket name %s", name);
	memcpy(start, name, strlen(name) + 1);
	size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name) + 1);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, size) < 0 || listen(fd, 8) < 0)
		return err_sys(err, "listen on %s", name);
	if (!is_abstract && chmod(name, 0777) < 0)
		return err_sys(err, "chmod %s", name);

	*ret_fd = steal_fd(&fd);
	return 0;
}

static int plant_listeners(struct audit_plant *plant, struct err *err)
{
	int r;

	r = plant_inet(SOCK_STREAM, &plant->listeners[LISTENER_TCP], &plant->tcp_port, err);
	if (r < 0)
		return r;
	r = plant_inet(SOCK_DGRAM, &plant->listeners[LISTENER_UDP], &plant->udp_port, err);
	if (r < 0)
		return r;
	r = plant_unix(plant->abstract, true, &plant->listeners[LISTENER_ABSTRACT], err);
	if (r < 0)
		return r;
	return plant_unix(plant->socket_path, false, &plant->listeners[LISTENER_UNIX], err);
}

/* Plants targets that a host may lack; the audit goes on without them. */
static void plant_ipc(struct audit_plant *plant)
{
	void *segment = NULL;

	plant->shm_key = (int)(now_ns() & 0x7fffffff);
	plant->shm_id = shmget(plant->shm_key, 4096, IPC_CREAT | IPC_EXCL | 0666);
	if (plant->shm_id >= 0) {
		segment = shmat(plant->shm_id, NULL, 0);
		if (segment != (void *)-1) { // NOLINT(performance-no-int-to-ptr): shmat's own value
			(void)snprintf(segment, 4096, "%s", plant->token);
			(void)shmdt(segment);
		}
	}
	plant->queue_fd = mq_open(plant->queue, O_CREAT | O_EXCL | O_RDWR, 0666, NULL);
}

static void name_all(struct audit_plant *plant)
{
	const char *unique = plant->token + 4; /* after "viv_" */

	(void)snprintf(plant->marker, sizeof(plant->marker), "viva-%.8s", unique);
	(void)snprintf(plant->files[0], sizeof(plant->files[0]), "/tmp/viv-audit-%.12s", unique);
	(void)snprintf(plant->files[1], sizeof(plant->files[1]), "/var/tmp/viv-audit-%.12s",
		       unique);
	(void)snprintf(plant->shm_file, sizeof(plant->shm_file), "/dev/shm/viv-audit-%.12s",
		       unique);
	(void)snprintf(plant->socket_path, sizeof(plant->socket_path), "/tmp/viv-audit-%.12s.sock",
		       unique);
	(void)snprintf(plant->queue, sizeof(plant->queue), "/viv-audit-%.12s", unique);
	(void)snprintf(plant->abstract, sizeof(plant->abstract), "viv-audit-%.12s", unique);
}

int audit_plant(struct audit_plant *plant, struct err *err)
{
	const char *const paths[] = {plant->files[0], plant->files[1], plant->shm_file};
	int r;

	*plant = (struct audit_plant){.memfd = -1, .queue_fd = -1, .shm_id = -1};
	for (size_t i = 0; i < ARRAY_LEN(plant->listeners); i++)
		plant->listeners[i] = -1;
	id_new("viv_", plant->token);
	name_all(plant);

	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		r = plant_file(plant, paths[i], err);
		if (r < 0)
			return r;
	}
	r = plant_listeners(plant, err);
	if (r < 0)
		return r;

	/* Inheritable and in our environment on purpose: viv-launch must not pass either on. */
	plant->memfd = memfd_create("viv-audit", 0); // NOLINT(android-cloexec-memfd-create)
	if (plant->memfd < 0)
		return err_sys(err, "memfd");
	r = io_write_all(plant->memfd, plant->token, strlen(plant->token), err);
	if (r < 0)
		return r;
	if (setenv(SECRET_VARIABLE, plant->token, 1) < 0)
		return err_sys(err, "setenv");
	plant_ipc(plant);
	return 0;
}

void audit_unplant(struct audit_plant *plant)
{
	const char *const paths[] = {plant->files[0], plant->files[1], plant->shm_file,
				     plant->socket_path};

	if (plant->token[0] == '\0')
		return;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		(void)unlink(paths[i]);
	for (size_t i = 0; i < ARRAY_LEN(plant->listeners); i++)
		drop_fd(&plant->listeners[i]);
	drop_fd(&plant->memfd);
	if (plant->queue_fd >= 0) {
		(void)mq_close(steal_fd(&plant->queue_fd));
		(void)mq_unlink(plant->queue);
	}
	if (plant->shm_id >= 0)
		(void)shmctl(plant->shm_id, IPC_RMID, NULL);
	plant->shm_id = -1;
	(void)unsetenv(SECRET_VARIABLE);
}

static json_t *spaces_json(void)
{
	json_t *object = json_object();

	for (size_t i = 0; i < ARRAY_LEN(spaces); i++) {
		char path[64];
		char link[64] = "";

		(void)snprintf(path, sizeof(path), "/proc/self/ns/%s", spaces[i]);
		if (readlink(path, link, sizeof(link) - 1) > 0)
			(void)json_object_set_new(object, spaces[i], json_string(link));
	}
	return object;
}

static json_t *calls_json(void)
{
	json_t *object = json_object();

	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		(void)json_object_set_new(object, calls[i].name, json_integer(calls[i].number));
	return object;
}

json_t *audit_args(const struct audit_plant *plant, const struct plan *plan)
{
	struct utsname name = {0};
	json_t *args = NULL;

	(void)uname(&name);
	args = json_pack(
		"{s:s, s:s, s:[s,s,s], s:i, s:i, s:s, s:s, s:i, s:s, s:i, s:s, s:[s,s,s,s]}",
		"token", plant->token, "marker", plant->marker, "files", plant->files[0],
		plant->files[1], plant->shm_file, "tcp", plant->tcp_port, "udp", plant->udp_port,
		"abstract", plant->abstract, "unix", plant->socket_path, "shm", plant->shm_key,
		"queue", plant->queue, "pid", getpid(), "host", name.nodename, "dull", "",
		"localhost", "sandbox", "vivarium");
	if (args == NULL)
		return NULL;
	(void)json_object_set_new(args, "disk", json_integer((json_int_t)plan->disk));
	(void)json_object_set_new(args, "memory", json_integer((json_int_t)plan->memory));
	(void)json_object_set_new(args, "pids", json_integer(plan->pids));
	(void)json_object_set_new(args, "open", json_integer(plan->files));
	(void)json_object_set_new(args, "cpus", json_real(plan->cpus_milli / 1000.0));
	(void)json_object_set_new(args, "ns", spaces_json());
	(void)json_object_set_new(args, "sys", calls_json());
	(void)json_object_set_new(args, "clone", json_integer(SYS_clone));
	(void)json_object_set_new(args, "clone3", json_integer(SYS_clone3));
	return args;
}

bool audit_was_reached(const struct audit_plant *plant, char *ret_what, size_t size)
{
	static const char *const names[] = {"tcp", "udp", "abstract unix", "unix"};
	bool was_reached = false;

	for (size_t i = 0; i < ARRAY_LEN(plant->listeners); i++) {
		AUTO_CLOSE int caller = -1;
		char byte;
		bool is_hit;

		if (i == LISTENER_UDP) {
			is_hit = recv(plant->listeners[i], &byte, 1, MSG_DONTWAIT) >= 0;
		} else {
			caller = accept4(plant->listeners[i], NULL, NULL, SOCK_CLOEXEC);
			is_hit = caller >= 0;
		}
		if (is_hit) {
			(void)snprintf(ret_what, size, "the host's %s listener was reached",
				       names[i]);
			was_reached = true;
		}
	}
	return was_reached;
}
