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
#include "cli/bench.h"

#define BWRAP "/usr/bin/bwrap"
#define ANSWER_MS 120000

const char bench_print[] = "print(1)\n";

const char bench_groupby[] =
	"import numpy as np, pandas as pd\n"
	"n = 10000\n"
	"df = pd.DataFrame({'key': np.arange(n) % 100, 'value': np.arange(n, dtype=float)})\n"
	"print(df.groupby('key')['value'].agg(['mean', 'sum', 'max']).to_string())\n";

/* argv: the code of the groupby, then the modules to import. It does what a zygote does (imports,
 * collect, freeze) and then, on request, what is compared with a sandbox. */
static const char script[] =
	"import gc, importlib, io, os, resource, sys, time\n"
	"for name in sys.argv[2:]:\n"
	"    importlib.import_module(name)\n"
	"code = compile(sys.argv[1], 'groupby', 'exec')\n"
	"gc.collect()\n"
	"gc.freeze()\n"
	"def fork():\n"
	"    pid = os.fork()\n"
	"    if pid == 0:\n"
	"        os._exit(0)\n"
	"    return pid\n"
	"def burst(n):\n"
	"    live = 0\n"
	"    for i in range(n):\n"
	"        fork()\n"
	"        live += 1\n"
	"        if live == 8:\n"
	"            os.wait()\n"
	"            live -= 1\n"
	"    while live:\n"
	"        os.wait()\n"
	"        live -= 1\n"
	"def groupby():\n"
	"    old, sys.stdout = sys.stdout, io.StringIO()\n"
	"    try:\n"
	"        exec(code, {'__name__': '__main__'})\n"
	"    finally:\n"
	"        sys.stdout = old\n"
	"def cpu():\n"
	"    return sum(int((r.ru_utime + r.ru_stime) * 1e9) for r in (\n"
	"        resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)))\n"
	"os.write(1, b'0\\n')\n"
	"for line in sys.stdin:\n"
	"    task, count = line.split()\n"
	"    start = time.perf_counter_ns()\n"
	"    if task == '0':\n"
	"        os.waitpid(fork(), 0)\n"
	"    elif task == '1':\n"
	"        burst(int(count))\n"
	"    elif task == '2':\n"
	"        groupby()\n"
	"    took = cpu() if task == '3' else time.perf_counter_ns() - start\n"
	"    os.write(1, b'%d\\n' % took)\n";

/* The environment a zygote has, so that both import the same. */
static char *const environment[] = {
	(char[]){"PATH=/usr/bin:/bin"},       (char[]){"LANG=C.UTF-8"},
	(char[]){"MPLBACKEND=Agg"},           (char[]){"OPENBLAS_NUM_THREADS=1"},
	(char[]){"OMP_NUM_THREADS=1"},        (char[]){"MPLCONFIGDIR=/tmp"},
	(char[]){"PYTHONDONTWRITEBYTECODE=1"}, NULL,
};

/* Reads one line with a number. */
static int read_answer(const struct twin *twin, uint64_t *ret_ns, struct err *err)
{
	struct pollfd wait = {.fd = twin->from, .events = POLLIN};
	char line[32];
	size_t size = 0;

	while (size == 0 || line[size - 1] != '\n') {
		ssize_t n;

		if (poll(&wait, 1, ANSWER_MS) <= 0)
			return err_set(err, ERR_INTERNAL, ETIMEDOUT, "the plain interpreter hangs");
		n = read(twin->from, line + size, sizeof(line) - 1 - size);
		if (n <= 0)
			return err_set(err, ERR_INTERNAL, EPIPE,
				       "the plain interpreter ended (are the runtime's packages there?)");
		size += (size_t)n;
		if (size == sizeof(line) - 1)
			return err_set(err, ERR_INTERNAL, EPROTO, "the plain interpreter says too much");
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
	AUTO_FREE const char **argv = xcalloc(runtime->preload.count + 6, sizeof(*argv));
	int to[2] = {-1, -1};
	int from[2] = {-1, -1};
	struct twin twin = {.to = -1, .from = -1};
	struct runtime_layout layout;
	uint64_t ready;
	size_t n = 0;
	int r;

	r = runtime_binds(runtime, &layout, err);
	if (r < 0)
		return r;
	argv[n++] = layout.host;
	argv[n++] = "-I";
	argv[n++] = "-c";
	argv[n++] = script;
	argv[n++] = bench_groupby;
	for (size_t i = 0; i < runtime->preload.count; i++)
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
	const char *const argv[] = {
		BWRAP,       "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
		"--ro-bind", "/usr",          "/usr",              "--ro-bind",     "/etc",       "/etc",
		"--symlink", "usr/bin",       "/bin",              "--symlink",     "usr/lib",    "/lib",
		"--symlink", "usr/lib64",     "/lib64",            "--proc",        "/proc",      "--dev",
		"/dev",      "--tmpfs",       "/tmp",              layout.host,     "-I",         "-c",
		bench_groupby, NULL};
	uint64_t start;
	int status = 0;
	pid_t pid = 0;
	int r;

	if (access(BWRAP, X_OK) < 0 || null < 0)
		return err_set(err, ERR_NOT_FOUND, ENOENT, "no bubblewrap (apt install bubblewrap)");
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
