// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "base/c.h"
#include "base/log.h"
#include "cli/cmd.h"
#include "daemon/daemon.h"
#include "policy/config.h"

struct options {
	struct flag_list listen;
	const char *config;
	bool keep;
	bool is_verbose;
	bool is_json;
};

static const struct flag flags[] = {
	FLAG_ROW(struct options, listen, "listen", 0, FLAG_LIST, "ADDRESS:PORT|unix:PATH",
		 "where to listen, instead of what the config says (default: 127.0.0.1:7878)"),
	FLAG_ROW(struct options, config, "config", 0, FLAG_TEXT, "FILE", "vivarium.yaml to use"),
	FLAG_ROW(struct options, keep, "keep", 0, FLAG_SWITCH, NULL,
		 "a graceful stop leaves sessions and runs for the daemon that comes next"),
	FLAG_ROW(struct options, is_verbose, "verbose", 'v', FLAG_SWITCH, NULL,
		 "log the life of sessions, too"),
	FLAG_ROW(struct options, is_json, "json", 0, FLAG_SWITCH, NULL,
		 "say nothing on stderr but log lines"),
};

static int run(const struct cmd *cmd, const void *raw_options, const struct operands *operands)
{
	const struct options *options = raw_options;
	const char *listen[FLAG_LIST_MAX + 1] = {NULL};
	struct daemon_options daemon = {.keep = options->keep, .is_quiet = options->is_json};
	struct config *config = NULL;
	struct err err = {0};
	int r;

	(void)operands;
	for (size_t i = 0; i < options->listen.count; i++)
		listen[i] = options->listen.items[i];
	if (options->listen.count > 0)
		daemon.listen = listen;
	log_set_level(options->is_verbose ? LOG_LEVEL_INFO : LOG_LEVEL_WARNING);
	r = config_load(options->config, &config, &err);
	if (r == 0)
		r = daemon_main(config, &daemon, &err);
	config_free(config);
	return r < 0 ? cmd_fail(cmd, &err) : r;
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
		    "  viv serve --listen 127.0.0.1:9000 --config vivarium.yaml\n"
		    "  curl -s localhost:7878/v1/run -d '{\"code\":\"1+1\"}'",
	CMD_FLAGS(flags),
	.options_size = sizeof(struct options),
	.run = run,
};
