// SPDX-License-Identifier: Apache-2.0
/*
 * viv-bench - latency, rate and memory of sandboxes on this host, seen from inside. `viv bench`
 * checks the flags and becomes this.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/resource.h>
#include <sys/utsname.h>

#include "base/c.h"
#include "bench.h"
#include "policy/config.h"

#define EXIT_USAGE 2
#define EXIT_INTERNAL 125

struct options {
	const char *config;
	const char *runtime;
	uint32_t runs; /* 0: as many as the size of the bench has */
	bool is_quick;
	bool is_json;
};

/* The model of the processor; no name of the host. */
static json_t *machine(const struct bench *bench)
{
	const struct backend_facts *hello = bench->trial.hello;
	uint32_t limits = hello != NULL ? hello->limits : BOX_LIMITS_MEASURED;
	struct utsname name = {0};
	char model[128] = "unknown";
	FILE *stream = fopen("/proc/cpuinfo", "re");
	char line[256];

	(void)uname(&name);
	while (stream != NULL && fgets(line, sizeof(line), stream) != NULL) {
		const char *value = strchr(line, ':');

		if (strncmp(line, "model name", 10) != 0 || value == NULL)
			continue;
		(void)snprintf(model, sizeof(model), "%.*s", (int)strcspn(value + 2, "\n"),
			       value + 2);
		break;
	}
	if (stream != NULL)
		(void)fclose(stream);
	return json_pack(
		"{s:s, s:I, s:s, s:I, s:s, s:s}", "cpu", model, "cores",
		(json_int_t)sysconf(_SC_NPROCESSORS_ONLN), "kernel", name.release, "memory",
		(json_int_t)sysconf(_SC_PHYS_PAGES) * (json_int_t)sysconf(_SC_PAGESIZE), "limits",
		limits == BOX_LIMITS_V2   ? "cgroup v2"
		: limits == BOX_LIMITS_V1 ? "cgroup v1"
					  : "measured",
		"user", geteuid() == 0 ? "root" : "ordinary");
}

static void progress(const char *text)
{
	if (isatty(STDERR_FILENO) == 1)
		(void)fprintf(stderr, "viv bench: %s ...\n", text);
}

static int measure(struct bench *bench, const struct bench_size *size, json_t *report,
		   struct err *err)
{
	int r;

	progress("latency, in turns with plain Python and bubblewrap");
	r = bench_latency(bench, size, report, err);
	if (r < 0)
		return err_wrap(err, "latency");
	progress("processor time, rate and memory");
	r = bench_spawns(bench, size, report, err);
	if (r < 0)
		return err_wrap(err, "spawns");
	progress("many live sandboxes");
	r = bench_live(bench, size, report, err);
	if (r < 0)
		return err_wrap(err, "live sandboxes");
	progress("leaks");
	r = bench_leaks(bench, size, report, err);
	return r < 0 ? err_wrap(err, "leaks") : 0;
}

static int open_all(struct bench *bench, const struct config *config, const struct options *wish,
		    struct err *err)
{
	const struct runtime *runtime =
		config_runtime(config, wish->runtime != NULL ? wish->runtime : "base", err);
	const struct policy *policy = config_policy(config, "default", err);
	struct policy_grant grant;
	struct rlimit files;
	int r;

	if (runtime == NULL || policy == NULL)
		return -err->num;
	r = policy_narrow(policy, NULL, &grant, err);
	if (r < 0)
		return r;
	bench->kind = (struct box_kind){.backend = &backend_namespace,
					.runtime = runtime,
					.trust = TRIAL_TRUST,
					.plan = grant.plan};

	/* A thousand sandboxes need more descriptors than the usual 1024; launch inherits this. */
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	r = twin_open(runtime, &bench->twin, err);
	return r < 0 ? r : trial_open(&bench->trial, err);
}

static void print_figure(const json_t *row)
{
	const char *against = json_string_value(json_object_get(row, "against"));
	const json_t *ratio = json_object_get(row, "ratio");
	char compared[64] = "";
	char target[48] = "";

	if (json_is_real(ratio))
		(void)snprintf(compared, sizeof(compared), "%.2fx %s", json_real_value(ratio),
			       against);
	if (json_is_real(json_object_get(row, "target")))
		(void)snprintf(target, sizeof(target), "%s %g: %s",
			       json_string_value(json_object_get(row, "relation")),
			       json_real_value(json_object_get(row, "target")),
			       json_is_true(json_object_get(row, "met")) ? "met" : "MISSED");
	(void)printf("%-44s %9.2f %-3s  %-30s %s\n",
		     json_string_value(json_object_get(row, "name")),
		     json_real_value(json_object_get(row, "value")),
		     json_string_value(json_object_get(row, "unit")), compared, target);
}

static void print_table(const json_t *report)
{
	const json_t *leaks = json_object_get(report, "leaks");
	size_t index;
	const json_t *row;

	json_array_foreach(json_object_get(report, "figures"), index, row)
		print_figure(row);

	(void)printf("\n%-16s %10s %10s %12s %14s\n", "live sandboxes", "p50 ms", "p99 ms",
		     "spawns/s", "bare forks/s");
	json_array_foreach(json_object_get(report, "live"), index, row) {
		const char *skipped = json_string_value(json_object_get(row, "skipped"));

		(void)printf("%-16lld",
			     (long long)json_integer_value(json_object_get(row, "live")));
		if (skipped != NULL)
			(void)printf(" skipped: %s\n", skipped);
		else
			(void)printf(" %10.2f %10.2f %12.0f %14.0f\n",
				     json_real_value(json_object_get(row, "p50_ms")),
				     json_real_value(json_object_get(row, "p99_ms")),
				     json_real_value(json_object_get(row, "spawns_per_s")),
				     json_real_value(json_object_get(row, "forks_per_s")));
	}

	(void)printf("\nafter %lld runs (%.0f/s): %s\n",
		     (long long)json_integer_value(json_object_get(leaks, "runs")),
		     json_real_value(json_object_get(leaks, "runs_per_s")),
		     json_is_true(json_object_get(leaks, "grown")) ? "something has GROWN"
								   : "nothing has grown");
	json_array_foreach(json_object_get(leaks, "held"), index, row)
		(void)printf("  %-26s %12lld -> %lld%s\n",
			     json_string_value(json_object_get(row, "name")),
			     (long long)json_integer_value(json_object_get(row, "before")),
			     (long long)json_integer_value(json_object_get(row, "after")),
			     json_is_true(json_object_get(row, "grown")) ? "  GROWN" : "");
}

static bool read_options(int argc, char **argv, struct options *ret_options)
{
	for (int i = 1; i < argc; i++) {
		bool has_value = i + 1 < argc;

		if (strcmp(argv[i], "--quick") == 0)
			ret_options->is_quick = true;
		else if (strcmp(argv[i], "--json") == 0)
			ret_options->is_json = true;
		else if (strcmp(argv[i], "--runs") == 0 && has_value)
			ret_options->runs = (uint32_t)strtoul(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "--runtime") == 0 && has_value)
			ret_options->runtime = argv[++i];
		else if (strcmp(argv[i], "--config") == 0 && has_value)
			ret_options->config = argv[++i];
		else
			return false;
	}
	return true;
}

static int run(const struct options *wish, json_t *report, struct err *err)
{
	struct bench_size size = {.rounds = 100, .spawns = 400, .live = 1000, .runs = 2000};
	struct config *config = NULL;
	struct bench bench = {0};
	int r;

	if (wish->is_quick)
		size = (struct bench_size){.rounds = 30, .spawns = 80, .live = 100, .runs = 500};
	if (wish->runs > 0)
		size.runs = wish->runs;

	r = config_load(wish->config, &config, err);
	if (r == 0)
		r = open_all(&bench, config, wish, err);
	if (r == 0) {
		(void)json_object_set_new(report, "machine", machine(&bench));
		r = measure(&bench, &size, report, err);
	}
	trial_close(&bench.trial);
	twin_close(&bench.twin);
	config_free(config);
	return r;
}

int main(int argc, char **argv)
{
	json_auto_t *report = json_pack("{s:s, s:[]}", "version", VIV_VERSION, "figures");
	struct options options = {0};
	struct err err = {0};

	(void)signal(SIGPIPE, SIG_IGN);
	if (!read_options(argc, argv, &options)) {
		(void)fprintf(stderr, "viv-bench: started by `viv bench`, not by hand\n");
		return EXIT_USAGE;
	}
	if (run(&options, report, &err) < 0) {
		(void)fprintf(stderr, "viv bench: %s\n", err.text);
		return err.kind == ERR_BAD_REQUEST || err.kind == ERR_NOT_FOUND ? EXIT_USAGE
										: EXIT_INTERNAL;
	}
	if (options.is_json) {
		(void)json_dumpf(report, stdout,
				 JSON_INDENT(2) | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(6));
		(void)printf("\n");
	} else {
		print_table(report);
	}
	return fflush(stdout) == 0 ? 0 : EXIT_INTERNAL;
}
