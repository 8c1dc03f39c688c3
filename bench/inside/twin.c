// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>

#include <sys/wait.h>

#include "base/c.h"
#include "bench.h"

#define BWRAP "/usr/bin/bwrap"
#define ANSWER_MS 120000
#define ARGS_MAX (RUNTIME_PRELOAD_MAX / 2 + 16) /* the shortest name is a letter and a space */

const char bench_print[] = "print(1)\n";

const char bench_groupby[] =
	"import numpy as np\n"
	"import pandas as pd\n"
	"rng = np.random.default_rng(1)\n"
	"df = pd.DataFrame({'key': rng.integers(0, 50, 10_000), 'value': rng.random(10_000)})\n"
	"print(len(df.groupby('key')['value'].agg(['mean', 'sum', 'max'])))\n";

extern const char twin_py[]; /* twin.py */

/* Where the runner's Python lies: beside viv in a build dir; installed, in lib/ of the prefix. */
static int find_runner(char *ret_path, size_t size, struct err *err)
{
	static const char *const places[] = {"runner", "../../lib/vivarium/runner"};
	char self[512];
	char probe[640];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash = NULL;

	if (n < 0)
		return err_sys(err, "read /proc/self/exe");
	self[n] = '\0';
	slash = strrchr(self, '/');
	if (slash != NULL)
		*slash = '\0';
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		(void)snprintf(probe, sizeof(probe), "%s/%s/main.py", self, places[i]);
		if (access(probe, R_OK) == 0) {
			(void)snprintf(ret_path, size, "%s/%s", self, places[i]);
			return 0;
		}
	}
	return err_set(err, ERR_NOT_FOUND, ENOENT, "no runner beside %s", self);
}

/* The environment a zygote has, so that both import the same. */
static char *const environment[] = {
	(char[]){"PATH=/usr/bin:/bin"},
	(char[]){"LANG=C.UTF-8"},
	(char[]){"MPLBACKEND=Agg"},
	(char[]){"OPENBLAS_NUM_THREADS=1"},
	(char[]){"OMP_NUM_THREADS=1"},
	(char[]){"MPLCONFIGDIR=/tmp"},
	(char[]){"PYTHONDONTWRITEBYTECODE=1"},
	NULL,
};

/* Reads one line with a number. */
static int read_answer(const struct twin *twin, uint64_t *ret_ns, struct err *err)
{
	struct pollfd wait = {.fd = twin->from, .events = POLLIN};
	char line[32] = "";
	size_t size = 0;

	while (size == 0 || line[size - 1] != '\n') {
		ssize_t n;

		if (poll(&wait, 1, ANSWER_MS) <= 0)
			return err_set(err, ERR_INTERNAL, ETIMEDOUT, "the plain interpreter hangs");
		n = read(twin->from, line + size, sizeof(line) - 1 - size);
		if (n <= 0)
			return err_set(
				err, ERR_INTERNAL, EPIPE,
				"the plain interpreter ended (are the runtime's packages there?)");
		size += (size_t)n;
		if (size == sizeof(line) - 1)
			return err_set(err, ERR_INTERNAL, EPROTO,
				       "the plain interpreter says too much");
	}
	line[size] = '\0';
	*ret_ns = strtoull(line, NULL, 10);
	return 0;
}

static int spawn(const char *const argv[], int in, int out, pid_t *ret_pid, struct err *err)
{
	/* posix_spawn takes char *const[] and writes to none of them. */
	char *const *plain = (char *const *)(uintptr_t)argv;
	posix_spawn_file_actions_t actions;
	int r;

	r = posix_spawn_file_actions_init(&actions);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	if (r == 0)
		r = posix_spawn(ret_pid, argv[0], &actions, NULL, plain, environment);
	(void)posix_spawn_file_actions_destroy(&actions);
	return r == 0 ? 0 : err_set(err, ERR_INTERNAL, r, "start %s: %s", argv[0], strerror(r));
}

int twin_open(const struct runtime *runtime, struct twin *ret_twin, struct err *err)
{
	const char *argv[ARGS_MAX] = {NULL};
	int to[2] = {-1, -1};
	int from[2] = {-1, -1};
	struct twin twin = {.to = -1, .from = -1};
	struct runtime_layout layout;
	char runner[600];
	uint64_t ready;
	size_t n = 0;
	int r;

	r = runtime_binds(runtime, &layout, err);
	if (r == 0)
		r = find_runner(runner, sizeof(runner), err);
	if (r < 0)
		return r;
	argv[n++] = layout.host;
	argv[n++] = "-I";
	argv[n++] = "-c";
	argv[n++] = twin_py;
	argv[n++] = runner;
	argv[n++] = bench_groupby;
	for (size_t i = 0; i < runtime->preload.count && n < ARGS_MAX - 1; i++)
		argv[n++] = runtime->preload.items[i];

	if (pipe2(to, O_CLOEXEC) < 0)
		return err_sys(err, "pipe");
	if (pipe2(from, O_CLOEXEC) < 0) {
		r = err_sys(err, "pipe");
		drop_fd(&to[0]);
		drop_fd(&to[1]);
		return r;
	}
	r = spawn(argv, to[0], from[1], &twin.pid, err);
	drop_fd(&to[0]);
	drop_fd(&from[1]);
	twin.to = to[1];
	twin.from = from[0];
	if (r == 0)
		r = read_answer(&twin, &ready, err);
	if (r < 0) {
		twin_close(&twin);
		return r;
	}
	*ret_twin = twin;
	return 0;
}

void twin_close(struct twin *twin)
{
	if (twin->pid <= 0)
		return;
	drop_fd(&twin->to); /* at its end of file it ends */
	drop_fd(&twin->from);
	(void)kill(twin->pid, SIGKILL);
	(void)waitpid(twin->pid, NULL, 0);
	twin->pid = 0;
}

int twin_ask(struct twin *twin, enum twin_task task, uint32_t count, uint64_t *ret_ns,
	     struct err *err)
{
	char line[32];
	int length = snprintf(line, sizeof(line), "%d %u\n", (int)task, count);

	if (write(twin->to, line, (size_t)length) != length)
		return err_sys(err, "ask the plain interpreter");
	return read_answer(twin, ret_ns, err);
}

int bwrap_run(const struct runtime *runtime, uint64_t *ret_ns, struct err *err)
{
	AUTO_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct runtime_layout layout = {0};
	const char *const argv[] = {BWRAP,
				    "--unshare-all",
				    "--die-with-parent",
				    "--new-session",
				    "--cap-drop",
				    "ALL",
				    "--ro-bind",
				    "/usr",
				    "/usr",
				    "--ro-bind",
				    "/etc",
				    "/etc",
				    "--symlink",
				    "usr/bin",
				    "/bin",
				    "--symlink",
				    "usr/lib",
				    "/lib",
				    "--symlink",
				    "usr/lib64",
				    "/lib64",
				    "--proc",
				    "/proc",
				    "--dev",
				    "/dev",
				    "--tmpfs",
				    "/tmp",
				    layout.host,
				    "-I",
				    "-c",
				    bench_groupby,
				    NULL};
	uint64_t start;
	int status = 0;
	pid_t pid = 0;
	int r;

	if (access(BWRAP, X_OK) < 0 || null < 0)
		return err_set(err, ERR_NOT_FOUND, ENOENT,
			       "no bubblewrap (apt install bubblewrap)");
	r = runtime_binds(runtime, &layout, err);
	if (r < 0)
		return r;

	start = now_ns();
	r = spawn(argv, null, null, &pid, err);
	if (r < 0)
		return r;
	if (waitpid(pid, &status, 0) != pid)
		return err_sys(err, "wait for bubblewrap");
	*ret_ns = now_ns() - start;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return err_set(err, ERR_INTERNAL, ECHILD, "bubblewrap + python3 failed (status %d)",
			       status);
	return 0;
}
