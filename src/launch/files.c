// SPDX-License-Identifier: Apache-2.0
#include "launch/files.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/capability.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/c.h"
#include "base/io.h"
#include "launch/saved_tree.h"
#include "walls/wall.h"

#define HELPER_SECONDS 5
#define HELPER_NS (HELPER_SECONDS * 1000000000ULL)
#define INODES_MAX (1U << 20)
#define SANDBOX_ID 1000 /* the one id of the sandbox's user namespace (shell.c) */

_Static_assert(LAUNCH_HEADS_MAX <= 32, "a bit for each head");

struct files {
	TAILQ_ENTRY(files) busy; /* files with a helper at work, oldest first */
	int store;               /* owned */
	int pidfd;               /* owned: of the helper at work, or -1 */
	int answer;              /* owned: its pipe */
	uint32_t type;           /* of the current request; 0: only removals */
	uint32_t head;           /* ... and its head */
	uint32_t unsaved;        /* a bit per head whose copies must be removed */
	uint32_t removes;        /* ... are being removed by the current helper */
	uint32_t serial;
	uint32_t order[LAUNCH_HEADS_MAX]; /* when a head was last saved or restored; 0: not saved */
	uint64_t used;
	uint64_t end_ns; /* when the helper must have ended */
	bool has_next;   /* a request arrived while copies were being removed */
	struct launch_request next;
	int next_fds[IO_FDS_MAX]; /* owned */
	size_t next_count;
};

/* A job of the helper. */
struct job {
	uint32_t type;
	uint32_t head;
	int32_t like;     /* a head with copies to link from, or -1 */
	uint32_t removes; /* a bit per head */
	uint64_t room;
	int store;
	int init; /* pidfd of the sandbox's init */
	int answer;
	const int *tasks;
	size_t task_count;
};

struct answer {
	struct err err;
	uint64_t copied;
	uint64_t used;
};

/* ---- in the helper ---- */

static int by_number(const void *one, const void *other)
{
	const int *a = one;
	const int *b = other;

	return (*a > *b) - (*a < *b);
}

/* A peer waiting for end of file on one of our sockets must not have to wait for this process. */
static int close_others(const struct job *job, struct err *err)
{
	int kept[4 + WALL_TASKS_MAX] = {STDERR_FILENO, job->store, job->init, job->answer};
	size_t count = 4;

	for (size_t i = 0; i < job->task_count; i++)
		kept[count++] = job->tasks[i];
	qsort(kept, count, sizeof(kept[0]), by_number);
	for (size_t i = 0; i < count; i++) {
		unsigned first = (unsigned)kept[i] + 1;
		unsigned last = i + 1 < count ? (unsigned)kept[i + 1] - 1 : ~0U;

		if (first <= last && syscall(SYS_close_range, first, last, 0U) < 0)
			return err_sys(err, "close descriptors");
	}
	return 0;
}

static int join(const struct job *job, struct err *err)
{
	const uint32_t kept = 1U << CAP_DAC_OVERRIDE | 1U << CAP_DAC_READ_SEARCH | 1U << CAP_FOWNER;
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{.effective = kept, .permitted = kept}, {0}};
	int r = io_write_file(AT_FDCWD, "/proc/self/oom_score_adj", "1000", err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < job->task_count; i++) {
		if (write(job->tasks[i], "0", 1) != 1)
			return err_sys(err, "join a cgroup");
	}
	if (setns(job->init, CLONE_NEWNS) < 0 || setns(job->init, CLONE_NEWUSER) < 0)
		return err_sys(err, "join the sandbox");
	if (setresgid(SANDBOX_ID, SANDBOX_ID, SANDBOX_ID) < 0 ||
	    setresuid(SANDBOX_ID, SANDBOX_ID, SANDBOX_ID) < 0)
		return err_sys(err, "become the sandbox's id");
	/* The capability covers only the sandbox's own files: file modes do not bind a process that
	 * may change them at any time. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || syscall(SYS_capset, &header, data) < 0)
		return err_sys(err, "drop capabilities");
	return 0;
}

static int work(const struct job *job, struct saved_tree *tree, struct err *err)
{
	int r = saved_tree_open(tree, err);

	for (uint32_t head = 0; r == 0 && head < LAUNCH_HEADS_MAX; head++) {
		if (job->removes & (1U << head))
			r = saved_tree_remove(tree, head, err);
	}
	if (r == 0 && job->type == LAUNCH_SAVE)
		r = saved_tree_save(tree, job->head, job->like, err);
	if (r == 0 && job->type == LAUNCH_RESTORE)
		r = saved_tree_restore(tree, job->head, err);
	return r;
}

static _Noreturn void helper_main(const struct job *job)
{
	struct saved_tree tree = {.store = job->store, .workspace = -1, .room = job->room};
	struct answer answer = {0};
	struct err ignored = {0};
	sigset_t none;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)umask(0);
	if (close_others(job, &answer.err) == 0 && join(job, &answer.err) == 0) {
		tree.workspace =
			open("/workspace", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (tree.workspace < 0)
			(void)err_sys(&answer.err, "open /workspace");
	}
	if (answer.err.kind == ERR_NONE)
		(void)work(job, &tree, &answer.err);
	(void)saved_index_store(&tree.index, tree.store,
				answer.err.kind == ERR_NONE ? &answer.err : &ignored);
	answer.copied = tree.copied;
	answer.used = tree.used;
	(void)!write(job->answer, &answer, sizeof(answer));
	_exit(0);
}

/* ---- in the inner half ---- */

/* The store is invisible: it is mounted nowhere, and only the helper gets the descriptor. */
static int make_store(uint64_t disk, int *ret_store, struct err *err)
{
	const unsigned flags = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
	AUTO_CLOSE int context = (int)syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC);
	uint64_t inodes = disk / KIB < INODES_MAX ? disk / KIB + 64 : INODES_MAX;
	char size_text[24];
	char inodes_text[24];
	int store;

	(void)snprintf(size_text, sizeof(size_text), "%llu", (unsigned long long)disk);
	(void)snprintf(inodes_text, sizeof(inodes_text), "%llu", (unsigned long long)inodes);
	if (context < 0)
		return err_sys(err, "open a tmpfs");
	if (syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, "size", size_text, 0) < 0 ||
	    syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, "nr_inodes", inodes_text, 0) < 0 ||
	    syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, "mode", "0777", 0) < 0 ||
	    syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return err_sys(err, "configure a tmpfs");
	store = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, flags);
	if (store < 0)
		return err_sys(err, "make a tmpfs");
	*ret_store = store;
	return 0;
}

static struct files *files_of(struct box *box)
{
	if (box->files == NULL) {
		box->files = xnew(struct files);
		box->files->store = -1;
		box->files->pidfd = -1;
		box->files->answer = -1;
	}
	return box->files;
}

static int32_t newest(const struct files *files)
{
	int32_t found = -1;

	for (uint32_t head = 0; head < LAUNCH_HEADS_MAX; head++) {
		if (files->order[head] > (found < 0 ? 0 : files->order[found]))
			found = (int32_t)head;
	}
	return found;
}

static int start_helper(struct inner *inner, struct box *box, struct job *job, int cgroup,
			struct err *err)
{
	struct files *files = box->files;
	AUTO_CLOSE int init = (int)syscall(SYS_pidfd_open, box->init.pid, 0);
	int pidfd = -1;
	struct clone_args args = {
		.flags = (uint64_t)CLONE_PIDFD,
		.pidfd = (uint64_t)(uintptr_t)&pidfd,
		.exit_signal = SIGCHLD,
	};
	int pair[2];
	pid_t pid;

	if (init < 0 || pipe2(pair, O_CLOEXEC) < 0)
		return err_sys(err, "start a helper");
	if (cgroup >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (unsigned)cgroup;
	}
	job->store = files->store;
	job->init = init;
	job->answer = pair[1];
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0)
		helper_main(job);
	if (pid < 0)
		(void)err_sys(err, "fork a helper");
	(void)close(pair[1]);
	if (pid > 0) {
		files->pidfd = pidfd;
		files->answer = pair[0];
		files->end_ns = now_ns() + HELPER_NS;
		TAILQ_INSERT_TAIL(&inner->busy, files, busy);
		return inner_watch_files(inner, pidfd, box->id, err);
	}
	(void)close(pair[0]);
	return -err->num;
}

static void tell(struct inner *inner, const struct box *box, uint32_t type, uint32_t head,
		 const struct answer *answer)
{
	struct launch_event event = {.id = box->id, .err = answer->err};

	event.type = type == LAUNCH_SAVE ? LAUNCH_SAVED : LAUNCH_RESTORED;
	event.head.sandbox = box->id;
	event.head.head = head;
	event.head.bytes = answer->copied;
	inner_tell(inner, &event, -1);
}

static int start(struct inner *inner, struct box *box, struct job *job, int cgroup, struct err *err)
{
	struct files *files = files_of(box);
	int r = 0;

	if (files->pidfd >= 0)
		return err_set(err, ERR_BUSY, EBUSY, "the files of the sandbox are being copied");
	if (box->is_dying || box->init.pid <= 0)
		return err_set(err, ERR_NOT_FOUND, ENOENT, "the sandbox ends");
	if (files->store < 0)
		r = make_store(box->spawn.plan.disk, &files->store, err);
	if (r < 0)
		return r;
	job->room = box->spawn.plan.disk / 2;
	job->like = newest(files);
	job->removes = files->unsaved;
	files->type = job->type;
	files->head = job->head;
	files->removes = files->unsaved;
	files->unsaved = 0;
	r = start_helper(inner, box, job, cgroup, err);
	if (r < 0)
		files->unsaved |= files->removes;
	return r;
}

/* Copies are being removed: the request is handled after that. */
static void put_off(struct files *files, const struct launch_request *request, int *take_fds,
		    size_t fd_count)
{
	files->has_next = true;
	files->next = *request;
	files->next_count = fd_count;
	for (size_t i = 0; i < fd_count; i++)
		files->next_fds[i] = steal_fd(&take_fds[i]);
}

static void request_now(struct inner *inner, struct box *box, const struct launch_request *request,
			int *take_fds, size_t fd_count)
{
	size_t has_v2 = request->reserved != 0;
	struct job job = {
		.type = request->type,
		.head = request->ref.head,
		.tasks = take_fds + has_v2,
		.task_count = inner->input.task_count,
	};
	struct answer answer = {0};

	/* Without one of these descriptors the helper, and what it copies, would be outside a
	 * cgroup. */
	if (fd_count != has_v2 + job.task_count)
		(void)err_set(&answer.err, ERR_BUSY, EMFILE,
			      "too many files are open for another sandbox");
	else
		(void)start(inner, box, &job, has_v2 ? take_fds[0] : -1, &answer.err);
	if (answer.err.kind != ERR_NONE)
		tell(inner, box, job.type, job.head, &answer);
}

static struct box *box_of(const struct inner *inner, uint32_t sandbox)
{
	return sandbox < LAUNCH_SANDBOXES_MAX ? inner->by_id[sandbox] : NULL;
}

void files_request(struct inner *inner, const struct launch_request *request, int *take_fds,
		   size_t fd_count)
{
	struct box *box = box_of(inner, request->ref.sandbox);

	if (box == NULL || request->ref.head >= LAUNCH_HEADS_MAX)
		return; /* the sandbox has ended, which is reported */
	if (files_is_busy(box->files) && box->files->type == 0 && !box->files->has_next)
		put_off(box->files, request, take_fds, fd_count);
	else
		request_now(inner, box, request, take_fds, fd_count);
}

/* Freeing memory needs no cgroup. */
static void remove_unsaved(struct inner *inner, struct box *box)
{
	struct job job = {0};
	struct err ignored = {0};

	/* If that fails now, the next helper does it. */
	if (box->files->unsaved != 0 && box->files->pidfd < 0)
		(void)start(inner, box, &job, -1, &ignored);
}

void files_unsave(struct inner *inner, const struct launch_head_ref *ref)
{
	struct box *box = box_of(inner, ref->sandbox);

	if (box == NULL || box->files == NULL || ref->head >= LAUNCH_HEADS_MAX ||
	    box->files->order[ref->head] == 0)
		return;
	box->files->order[ref->head] = 0;
	box->files->unsaved |= 1U << ref->head;
	remove_unsaved(inner, box);
}

/* Reads the helper's answer, or makes one up from what is known. */
static void take_answer(struct inner *inner, struct box *box)
{
	struct files *files = box->files;
	struct answer answer = {0};

	if (read(files->answer, &answer, sizeof(answer)) != (ssize_t)sizeof(answer)) {
		answer = (struct answer){.used = files->used};
		(void)err_set(&answer.err, ERR_INTERNAL, ETIME,
			      "the files took longer than %d s, or memory was short",
			      HELPER_SECONDS);
	}
	(void)epoll_ctl(inner->epoll, EPOLL_CTL_DEL, files->pidfd, NULL);
	TAILQ_REMOVE(&inner->busy, files, busy);
	drop_fd(&files->pidfd);
	drop_fd(&files->answer);
	answer.err.text[sizeof(answer.err.text) - 1] = '\0';
	files->used = answer.used;
	if (answer.err.kind == ERR_NONE && files->type != 0)
		files->order[files->head] = ++files->serial;
	else if (answer.err.kind != ERR_NONE)
		files->unsaved |= files->removes;
	if (files->type != 0)
		tell(inner, box, files->type, files->head, &answer);
	if (files->has_next) {
		files->has_next = false;
		request_now(inner, box, &files->next, files->next_fds, files->next_count);
		for (size_t i = 0; i < files->next_count; i++)
			drop_fd(&files->next_fds[i]);
	} else if (answer.err.kind == ERR_NONE) {
		remove_unsaved(inner, box);
	}
}

void files_over(struct inner *inner, uint32_t sandbox)
{
	struct box *box = box_of(inner, sandbox);

	if (box == NULL || !files_is_busy(box->files))
		return;
	take_answer(inner, box);
	boxes_finish(inner, box);
}

int files_timeout(const struct inner *inner)
{
	const struct files *first = TAILQ_FIRST(&inner->busy);
	uint64_t now = now_ns();

	if (first == NULL)
		return -1;
	return first->end_ns > now ? (int)((first->end_ns - now) / 1000000 + 1) : 0;
}

/* A sandbox can make its helper take arbitrarily long, so helpers have a deadline. */
void files_tick(struct inner *inner)
{
	struct files *files = NULL;

	TAILQ_FOREACH(files, &inner->busy, busy) {
		if (now_ns() < files->end_ns)
			break;
		files_stop(files);
	}
}

void files_stop(struct files *files)
{
	if (files_is_busy(files))
		(void)syscall(SYS_pidfd_send_signal, files->pidfd, SIGKILL, NULL, 0);
}

bool files_is_busy(const struct files *files)
{
	return files != NULL && files->pidfd >= 0;
}

uint64_t files_used(const struct files *files)
{
	return files != NULL ? files->used : 0;
}

void files_free(struct files *files)
{
	if (files == NULL)
		return;
	drop_fd(&files->pidfd);
	drop_fd(&files->answer);
	drop_fd(&files->store);
	for (size_t i = 0; i < files->next_count; i++)
		drop_fd(&files->next_fds[i]);
	free(files);
}
