// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/c.h"
#include "cli/cmd.h"
#include "door/config_table.h"

struct options {
	struct flag_list listen;
	const char *config;
	const char *dir;
	const char *dialect;
	bool keep;
	bool is_conformance;
	bool is_verbose;
	bool is_json;
};

static const struct flag flags[] = {
	FLAG_ROW(struct options, listen, "listen", 0, FLAG_LIST, "ADDRESS:PORT|unix:PATH",
		 "where to listen, instead of what the config says (default: 127.0.0.1:7878)"),
	FLAG_ROW(struct options, config, "config", 0, FLAG_TEXT, "FILE", "vivarium.yaml to use"),
	FLAG_ROW(struct options, dir, "dir", 0, FLAG_TEXT, "FOLDER",
		 "keep this daemon's sockets in FOLDER/run and its state in FOLDER/state, instead "
		 "of runtime_dir and state_dir: for a second daemon beside the first"),
	FLAG_ROW(struct options, dialect, "dialect", 0, FLAG_TEXT, "NAME",
		 "stand in for this system (one of" DIALECT_NAMES
		 "): its routes at the root, its environment, its errors"),
	FLAG_ROW(struct options, keep, "keep", 0, FLAG_SWITCH, NULL,
		 "on a graceful stop, leave sessions and runs for the next daemon"),
	FLAG_ROW(struct options, is_conformance, "conformance", 0, FLAG_SWITCH, NULL,
		 "be viv-serve-test, which also has the fixtures that MCP's conformance suite "
		 "calls; it is built with the tests and not installed"),
	FLAG_ROW(struct options, is_verbose, "verbose", 'v', FLAG_SWITCH, NULL,
		 "log the life of sessions, too"),
	FLAG_ROW(struct options, is_json, "json", 0, FLAG_SWITCH, NULL,
		 "print only log lines on stderr"),
};

#define ARGS_MAX (2 * FLAG_LIST_MAX + 12)

/* The folder of --dir as an absolute path, created if missing. A daemon that root starts becomes
 * another user, who must be able to pass through this folder to its own two. */
static int make_dir(const char *name, char ret_path[PATH_MAX], struct err *err)
{
	if (mkdir(name, geteuid() == 0 ? 0711 : 0700) < 0 && errno != EEXIST)
		return err_sys(err, "--dir: make %s", name);
	if (realpath(name, ret_path) == NULL)
		return err_sys(err, "--dir: %s", name);
	return 0;
}

/* Executes viv-serve. */
static int run(const struct cmd *cmd, const void *raw_options, const struct operands *operands)
{
	const struct options *options = raw_options;
	const char *args[ARGS_MAX] = {"viv-serve"};
	char dir[PATH_MAX];
	struct err err = {0};
	size_t count = 1;

	if (operands->count > 0) {
		(void)err_set(&err, ERR_BAD_REQUEST, EINVAL, "takes no operand: %.80s",
			      operands->items[0]);
		return cmd_fail(cmd, &err);
	}
	for (size_t i = 0; i < options->listen.count; i++) {
		args[count++] = "--listen";
		args[count++] = options->listen.items[i];
	}
	if (options->config != NULL) {
		args[count++] = "--config";
		args[count++] = options->config;
	}
	if (options->dir != NULL) {
		if (make_dir(options->dir, dir, &err) < 0)
			return cmd_fail(cmd, &err);
		args[count++] = "--dir";
		args[count++] = dir;
	}
	if (options->dialect != NULL) {
		args[count++] = "--dialect";
		args[count++] = options->dialect;
	}
	if (options->keep)
		args[count++] = "--keep";
	if (options->is_verbose)
		args[count++] = "--verbose";
	if (options->is_json)
		args[count++] = "--quiet";
	return cmd_become(cmd, options->is_conformance ? "viv-serve-test" : "viv-serve", args);
}

const struct cmd cmd_serve = {
	.name = "serve",
	.operands = "",
	.summary = "the daemon: runs and sessions over HTTP",
	.about =
		"Serves runs and sessions over HTTP until SIGTERM or SIGINT, on 127.0.0.1:7878\n"
		"and a unix socket unless the config says otherwise. A stop gives runs 10 s; then\n"
		"kept sessions sleep, and all else ends. If the daemon itself dies, sessions and\n"
		"runs live on in viv-launch, and the next `viv serve` takes them over without a\n"
		"gap. Started as root, it becomes the user vivarium. It listens beyond loopback\n"
		"only if the config has tokens (`viv token new NAME`).",
	.examples = "  viv serve\n" DIALECT_EXAMPLE
		    "  viv serve --listen 127.0.0.1:9000 --config vivarium.yaml\n"
		    "  viv serve --listen 127.0.0.1:9000 --dir ~/second-daemon\n"
		    "  curl -s localhost:7878/v1/run -d '{\"code\":\"1+1\"}'",
	CMD_FLAGS(flags),
	.options_size = sizeof(struct options),
	.run = run,
};
