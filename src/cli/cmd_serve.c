// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <sys/stat.h>

#include "backend/namespace/launcher_start.h"
#include "base/c.h"
#include "cli/cmd.h"

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
		 "stand in for this system (atlas, elitea, synapse, agentrail, piston, dify, "
		 "librechat): its routes at the root, its environment, its errors"),
	FLAG_ROW(struct options, keep, "keep", 0, FLAG_SWITCH, NULL,
		 "a graceful stop leaves sessions and runs for the daemon that comes next"),
	FLAG_ROW(struct options, is_conformance, "conformance", 0, FLAG_SWITCH, NULL,
		 "be viv-serve-test, which also has the fixtures that MCP's conformance suite "
		 "calls; it is built with the tests and not installed"),
	FLAG_ROW(struct options, is_verbose, "verbose", 'v', FLAG_SWITCH, NULL,
		 "log the life of sessions, too"),
	FLAG_ROW(struct options, is_json, "json", 0, FLAG_SWITCH, NULL,
		 "say nothing on stderr but log lines"),
};

#define ARGS_MAX (2 * FLAG_LIST_MAX + 12)

/* The folder of --dir as an absolute path, made when it is not there. Root's daemon becomes another
 * user, who must get through it to the folders that are given to it. */
static int make_dir(const char *name, char ret_path[PATH_MAX], struct err *err)
{
	if (mkdir(name, geteuid() == 0 ? 0711 : 0700) < 0 && errno != EEXIST)
		return err_sys(err, "--dir: make %s", name);
	if (realpath(name, ret_path) == NULL)
		return err_sys(err, "--dir: %s", name);
	return 0;
}

/* Becomes viv-serve: beside viv, or where an installation has it. */
static int run(const struct cmd *cmd, const void *raw_options, const struct operands *operands)
{
	const struct options *options = raw_options;
	const char *args[ARGS_MAX] = {"viv-serve"};
	char path[1024];
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
	if (launcher_find(options->is_conformance ? "viv-serve-test" : "viv-serve", path,
			  sizeof(path), &err) < 0)
		return cmd_fail(cmd, &err);
	/* execv wants char *const *; it does not write through them. */
	(void)execv(path, (char *const *)(uintptr_t)args);
	(void)err_sys(&err, "exec %s", path);
	return cmd_fail(cmd, &err);
}

const struct cmd cmd_serve = {
	.name = "serve",
	.operands = "",
	.summary = "the daemon: runs and sessions over HTTP",
	.about = "Serves runs and sessions over HTTP, on 127.0.0.1:7878 and a unix socket unless "
		 "the\n"
		 "config says otherwise, until SIGTERM or SIGINT: runs then get 10 s, and "
		 "everything\n"
		 "is ended. When the daemon itself dies, sessions and runs live on in viv-launch, "
		 "and\n"
		 "the next `viv serve` takes them over without a gap. Started as root it becomes "
		 "the\n"
		 "user vivarium. It binds to other than loopback addresses only when the config "
		 "has\n"
		 "tokens (`viv token new NAME`).",
	.examples = "  viv serve\n"
		    "  SIDECAR_AUTH_TOKEN=secret viv serve --dialect atlas\n"
		    "  viv serve --listen 127.0.0.1:9000 --config vivarium.yaml\n"
		    "  viv serve --listen 127.0.0.1:9000 --dir ~/second-daemon\n"
		    "  curl -s localhost:7878/v1/run -d '{\"code\":\"1+1\"}'",
	CMD_FLAGS(flags),
	.options_size = sizeof(struct options),
	.run = run,
};
