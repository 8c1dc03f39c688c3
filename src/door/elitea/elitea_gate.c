// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/c.h"
#include "door/elitea/elitea.h"
#include "op/op_run.h"
#include "policy/policy.h"

#define FILE_MAX 8192
#define STAND_INS "by_table" /* a name that the runner knows */

/* ---- limits ---- */

/* Takes a whole number that is not below the range, capped at its top; else leaves *value alone: a
 * mistake must never mean "unlimited". */
static void take_env(const char *name, uint64_t low, uint64_t high, uint64_t unit, uint64_t *value)
{
	const char *text = getenv(name);
	unsigned long long number;
	char *end = NULL;

	if (text == NULL || text[0] < '0' || text[0] > '9')
		return;
	errno = 0;
	number = strtoull(text, &end, 10);
	if (errno != 0 || *end != '\0' || number < low)
		return;
	*value = (number < high ? number : high) * unit;
}

void elitea_limits_read(const struct config *config, struct elitea_limits *ret_limits)
{
	const struct elitea_config *own = config_part(config, &elitea_config);
	struct elitea_limits limits = own->limits;

	take_env("SANDBOX_MAX_CONCURRENT", 0, 4096, 1, &limits.concurrent);
	take_env("SANDBOX_MEMORY_PRESSURE_PCT", 0, 99, 1, &limits.pressure);
	take_env("SANDBOX_TIMEOUT_SECONDS", 1, 55, 1000, &limits.timeout_ms);
	take_env("SANDBOX_WASM_MAX_MEM_MB", 64, 65536, MIB, &limits.memory);
	*ret_limits = limits;
}

/* ---- memory ---- */

static bool read_text(const char *path, char *text, size_t room)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, room - 1);

	if (n <= 0)
		return false;
	text[n] = '\0';
	return true;
}

/* Reads the number after `key` at the start of a line; with "" the file's first number. */
static bool read_number(const char *path, const char *key, uint64_t *ret_number)
{
	char text[FILE_MAX];
	const char *line = text;
	char *end = NULL;

	if (!read_text(path, text, sizeof(text)))
		return false;
	while (strncmp(line, key, strlen(key)) != 0) {
		line = strchr(line, '\n');
		if (line == NULL)
			return false;
		line++;
	}
	*ret_number = strtoull(line + strlen(key), &end, 10);
	return end != line + strlen(key);
}

/* Memory in use: of the cgroup that is our root, in a container; else of the machine. */
static bool memory_in_use(uint64_t *ret_used, uint64_t *ret_all)
{
	uint64_t used = 0;
	uint64_t cache = 0;
	uint64_t all = 0;

	if (read_number("/sys/fs/cgroup/memory.max", "", &all) &&
	    read_number("/sys/fs/cgroup/memory.current", "", &used)) {
		(void)read_number("/sys/fs/cgroup/memory.stat", "inactive_file ", &cache);
		*ret_used = used > cache ? used - cache : 0;
		*ret_all = all;
		return all > 0;
	}
	if (!read_number("/proc/meminfo", "MemTotal:", &all) ||
	    !read_number("/proc/meminfo", "MemAvailable:", &cache) || all == 0)
		return false;
	*ret_used = all > cache ? all - cache : 0;
	*ret_all = all;
	return true;
}

/* ---- the gate ---- */

uint32_t elitea_running(const struct engine *engine, const struct op_caller *caller)
{
	const struct served_run *served = NULL;
	uint32_t count = 0;

	LIST_FOREACH(served, &engine->runs, entry) {
		count += served->stand_ins != NULL && strcmp(served->stand_ins, STAND_INS) == 0 &&
			 strcmp(served->token, caller->name) == 0;
	}
	return count;
}

bool elitea_admits(const struct elitea_limits *limits, uint32_t running, char *ret_why, size_t room)
{
	uint64_t used = 0;
	uint64_t all = 0;
	double percent;

	if (limits->concurrent > 0 && running >= limits->concurrent) {
		(void)snprintf(ret_why, room,
			       "Sandbox busy: %u concurrent executions at limit %llu. Retry "
			       "shortly.",
			       running, (unsigned long long)limits->concurrent);
		return false;
	}
	/* If memory use cannot be read, no run is refused. */
	if (limits->pressure == 0 || !memory_in_use(&used, &all))
		return true;
	percent = 100.0 * (double)used / (double)all;
	if (percent < (double)limits->pressure)
		return true;
	(void)snprintf(ret_why, room,
		       "Host memory pressure %.0f%% exceeds threshold %llu%%. Retry shortly.",
		       percent, (unsigned long long)limits->pressure);
	return false;
}

/* ---- a run ---- */

static const struct policy *choose_policy(const struct config *config,
					  const struct op_caller *caller)
{
	const struct elitea_config *own = config_part(config, &elitea_config);
	struct err err = {0};
	const struct policy *policy = op_policy(config, caller, own->policy, &err);

	/* A token that may not use this policy gets its own default. */
	return policy != NULL ? policy : op_policy(config, caller, NULL, &err);
}

/* Reads JSON text; anything but a positive number means the longest time. */
static uint64_t asked_ms(const char *timeout, uint64_t most)
{
	char *end = NULL;
	double seconds = strtod(timeout, &end);

	if (!(seconds > 0) || *end != '\0' || seconds * 1000 >= (double)most)
		return most;
	return seconds < 0.01 ? 10 : (uint64_t)(seconds * 1000 + 0.5);
}

void elitea_prepare(const struct elitea_limits *limits, const struct config *config,
		    const struct op_caller *caller, struct elitea_run *run)
{
	const struct policy *policy = choose_policy(config, caller);
	uint64_t most = limits->timeout_ms;

	if (policy != NULL) {
		run->args.policy = policy->name;
		most = most < policy->timeout_max_ms ? most : policy->timeout_max_ms;
		run->args.limits.memory =
			limits->memory < policy->memory ? limits->memory : policy->memory;
	}
	run->args.limits.timeout_ms = asked_ms(run->timeout, most);
	if (run->args.limits.timeout_ms == most)
		(void)snprintf(run->timeout, sizeof(run->timeout), "%g", (double)most / 1000);
	run->args.stand_ins = STAND_INS;
	run->args.save_state = run->is_stateful ? OP_YES : OP_NO;
	run->args.saved_max = limits->session_max;
}
