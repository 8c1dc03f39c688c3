// SPDX-License-Identifier: Apache-2.0
/* Links, neighbours who write at the same time, and ends at the worst moment. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "vault_unit.h"

/* ---- links and other traps ---- */

static void follows_no_link(void **state)
{
	struct place *place = *state;
	char link[160];
	char target[160];
	struct stat status;
	struct err err = {0};

	(void)snprintf(link, sizeof(link), "%s/dir", place->root);
	assert_int_equal(symlink(place->sibling, link), 0);
	(void)snprintf(link, sizeof(link), "%s/file", place->root);
	(void)snprintf(target, sizeof(target), "%s/secret.txt", place->sibling);
	assert_int_equal(symlink(target, link), 0);

	assert_int_equal(read_one(place, "file", &err), -EPERM);
	assert_int_equal(err.kind, ERR_FORBIDDEN);
	assert_int_equal(read_one(place, "dir/secret.txt", &err), -EPERM);
	assert_int_equal(put(place, "file", VAULT_WRITE, "x", &err), -EPERM);
	assert_int_equal(put(place, "dir/new", VAULT_WRITE, "x", &err), -EPERM);
	assert_int_equal(put(place, "dir/a/b", VAULT_CREATE, "x", &err), -EPERM);
	assert_int_equal(vault_make_folder(&place->vault, "dir/new", &err), -EPERM);
	assert_int_equal(vault_remove(&place->vault, "dir/secret.txt", true, &err), -EPERM);
	assert_int_equal(stat(target, &status), 0);
	assert_int_equal(status.st_size, strlen(SECRET));
}

static void a_pipe_does_not_hold_us_up(void **state)
{
	struct place *place = *state;
	char path[160];
	struct err err = {0};

	(void)snprintf(path, sizeof(path), "%s/pipe", place->root);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(read_one(place, "pipe", &err), -EPERM);
	assert_int_equal(put(place, "pipe", VAULT_WRITE, "x", &err), -EPERM);
}

/* Another process keeps swapping a folder for a link to outside while we write in it. */
static void a_folder_that_becomes_a_link_leads_nowhere(void **state)
{
	struct place *place = *state;
	char dir[128];
	char other[128];
	char link[128];
	char path[160];
	struct err err = {0};
	pid_t child;
	int made = 0;

	(void)snprintf(dir, sizeof(dir), "%s/d", place->root);
	(void)snprintf(other, sizeof(other), "%s/real", place->base);
	(void)snprintf(link, sizeof(link), "%s/link", place->base);
	assert_int_equal(mkdir(other, 0755), 0);
	assert_int_equal(symlink(place->sibling, link), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;) {
			(void)rename(other, dir);
			(void)rename(dir, other);
			(void)rename(link, dir);
			(void)rename(dir, link);
		}
	}
	for (int i = 0; i < 400; i++) {
		made += put(place, "d/caught", VAULT_WRITE, "x", &err) == 0;
		made += vault_remove(&place->vault, "d/secret.txt", true, &err) == 0 ? 1000 : 0;
	}
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_true(made < 1000);
	(void)snprintf(path, sizeof(path), "%s/caught", place->sibling);
	assert_int_equal(access(path, F_OK), -1);
	(void)snprintf(path, sizeof(path), "%s/secret.txt", place->sibling);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(temp_count(place->sibling), 0);
}

/* ---- several at once ---- */

static void of_many_who_create_one_wins(void **state)
{
	struct place *place = *state;
	struct err err = {0};
	int winners = 0;

	for (int i = 0; i < 8; i++) {
		pid_t child = fork();

		assert_true(child >= 0);
		if (child == 0)
			_exit(put(place, "one", VAULT_CREATE, "mine", &err) == 0 ? 0 : 1);
	}
	for (int i = 0; i < 8; i++) {
		int status = 0;

		assert_true(wait(&status) > 0);
		assert_true(WIFEXITED(status));
		winners += WEXITSTATUS(status) == 0;
	}
	assert_int_equal(winners, 1);
	assert_content(place, "one", "mine");
	assert_int_equal(temp_count(place->root), 0);
}

static void a_reader_sees_one_version_or_the_other(void **state)
{
	struct place *place = *state;
	enum {
		SIZE = 300000
	};
	char *text = malloc(SIZE);
	struct err err = {0};
	pid_t child;

	assert_non_null(text);
	memset(text, 'a', SIZE);
	assert_ok(vault_put(&place->vault, "x", VAULT_WRITE, text, SIZE, &err), err);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int i = 0;; i++) {
			memset(text, 'a' + i % 2, SIZE);
			(void)vault_put(&place->vault, "x", VAULT_WRITE, text, SIZE, &err);
		}
	}
	for (int i = 0; i < 200; i++) {
		struct buf buf;

		buf_init(&buf, VAULT_FILE_MAX);
		assert_ok(vault_read(&place->vault, "x", &buf, &err), err);
		assert_int_equal(buf.size, SIZE);
		assert_int_equal(memcmp(buf.data, buf.data + 1, SIZE - 1), 0);
		buf_done(&buf);
	}
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	free(text);
}

/* ---- ends at the worst moment ---- */

/* From here on a rename ends this process. */
static void die_at_rename(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	const struct sock_fprog program = {.len = 5, .filter = filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		_exit(3);
}

static void put_and_die(struct place *place, enum vault_put how, const char *path)
{
	struct rlimit no_core = {0};
	struct err err = {0};
	int status = 0;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		(void)setrlimit(RLIMIT_CORE, &no_core);
		die_at_rename();
		(void)put(place, path, how, "half", &err);
		_exit(4);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSYS);
}

static void make_old(struct place *place)
{
	struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	DIR *dir = opendir(place->root);
	const struct dirent *entry;

	assert_non_null(dir);
	while ((entry = readdir(dir)) != NULL) {
		if (strncmp(entry->d_name, VAULT_TEMP, strlen(VAULT_TEMP)) == 0)
			assert_int_equal(utimensat(dirfd(dir), entry->d_name, old, 0), 0);
	}
	(void)closedir(dir);
}

static void a_kill_before_the_rename_loses_nothing(void **state)
{
	struct place *place = *state;
	char path[160];
	struct err err = {0};

	assert_ok(put(place, "x", VAULT_WRITE, "whole", &err), err);
	put_and_die(place, VAULT_WRITE, "x");
	assert_content(place, "x", "whole");
	put_and_die(place, VAULT_CREATE, "new");
	assert_int_equal(read_one(place, "new", &err), -ENOENT);
	assert_int_equal(temp_count(place->root), 2);

	/* A name that only looks like one of ours is somebody's own, however old. */
	(void)snprintf(path, sizeof(path), "%s/" VAULT_TEMP "notes", place->root);
	put_host(path, "kept");
	/* Young ones may be somebody's who is just writing. */
	assert_ok(vault_prepare(place->root, &err), err);
	assert_int_equal(temp_count(place->root), 3);
	make_old(place);
	assert_ok(vault_prepare(place->root, &err), err);
	assert_int_equal(temp_count(place->root), 1);
	assert_int_equal(access(path, F_OK), 0);
	assert_content(place, "x", "whole");
}

static void a_write_that_does_not_fit_changes_nothing(void **state)
{
	struct place *place = *state;
	struct rlimit small = {.rlim_cur = 4096, .rlim_max = RLIM_INFINITY};
	struct rlimit before;
	struct err err = {0};
	char text[10000];

	assert_ok(put(place, "x", VAULT_WRITE, "whole", &err), err);
	memset(text, 'a', sizeof(text));
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small.rlim_max = before.rlim_max;
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_true(vault_put(&place->vault, "x", VAULT_WRITE, text, sizeof(text), &err) < 0);
	assert_true(vault_put(&place->vault, "new", VAULT_CREATE, text, sizeof(text), &err) < 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_content(place, "x", "whole");
	assert_int_equal(read_one(place, "new", &err), -ENOENT);
	assert_int_equal(temp_count(place->root), 0);
}

static bool write_map(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	bool is_good = file != NULL && fputs(text, file) >= 0;

	return file != NULL && fclose(file) == 0 && is_good;
}

/* Mounts of our own; who is not root needs a user namespace around them, with himself in it. */
static bool enter_namespaces(void)
{
	char uids[32];
	char gids[32];

	(void)snprintf(uids, sizeof(uids), "0 %u 1", (unsigned)geteuid());
	(void)snprintf(gids, sizeof(gids), "0 %u 1", (unsigned)getegid());
	if (geteuid() == 0)
		return unshare(CLONE_NEWNS) == 0;
	return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
	       write_map("/proc/self/setgroups", "deny") && write_map("/proc/self/uid_map", uids) &&
	       write_map("/proc/self/gid_map", gids);
}

/* In a mount namespace of its own: 0 as it should be, 77 when there is no such namespace to have,
 * else the step that failed. */
static int fill_a_disk(struct place *place)
{
	enum {
		SIZE = 256 * 1024
	};
	char *text = calloc(1, SIZE);
	struct vault vault;
	struct err err = {0};
	struct buf buf;

	if (!enter_namespaces() || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", place->root, "tmpfs", 0, "size=128k,mode=0777") < 0)
		return 77;
	if (vault_open(&vault, place->root, &err) < 0)
		return 1;
	if (vault_put(&vault, "x", VAULT_WRITE, "whole", 5, &err) < 0)
		return 2;
	if (vault_put(&vault, "x", VAULT_WRITE, text, SIZE, &err) != -ENOSPC)
		return 3;
	if (vault_put(&vault, "new", VAULT_CREATE, text, SIZE, &err) != -ENOSPC)
		return 4;
	buf_init(&buf, VAULT_FILE_MAX);
	if (vault_read(&vault, "x", &buf, &err) < 0 || strcmp(buf_string(&buf), "whole") != 0)
		return 5;
	return temp_count(place->root) == 0 ? 0 : 6;
}

static void a_full_disk_changes_nothing(void **state)
{
	struct place *place = *state;
	int status = 0;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0)
		_exit(fill_a_disk(place));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77) {
		print_message("skipped: no mount namespace may be made here\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

#define ONE(test) cmocka_unit_test_setup_teardown(test, place_make, place_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ONE(follows_no_link),
		ONE(a_pipe_does_not_hold_us_up),
		ONE(a_folder_that_becomes_a_link_leads_nowhere),
		ONE(of_many_who_create_one_wins),
		ONE(a_reader_sees_one_version_or_the_other),
		ONE(a_kill_before_the_rename_loses_nothing),
		ONE(a_write_that_does_not_fit_changes_nothing),
		ONE(a_full_disk_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
