// SPDX-License-Identifier: Apache-2.0
/*
 * viv-serve - the daemon as a program of its own. `viv serve` checks the flags and becomes this; no
 * other command of viv has to load what only a server needs.
 */
#include <stdio.h>
#include <string.h>

#include "base/c.h"
#include "base/log.h"
#include "daemon/daemon.h"
#include "dialect/doors.h"
#include "policy/config.h"

#define LISTEN_MAX 64
#define EXIT_BOOT 1 /* a dialect's own environment forbids to start */
#define EXIT_USAGE 2
#define EXIT_INTERNAL 125

struct arguments {
	const char *listen[LISTEN_MAX + 1];
	size_t listen_count;
	const char *config;
	struct daemon_options options;
	bool is_verbose;
};

static int read_arguments(int argc, char **argv, struct arguments *ret_arguments)
{
	for (int i = 1; i < argc; i++) {
		bool has_value = i + 1 < argc;

		if (strcmp(argv[i], "--keep") == 0)
			ret_arguments->options.keep = true;
		else if (strcmp(argv[i], "--quiet") == 0)
			ret_arguments->options.is_quiet = true;
		else if (strcmp(argv[i], "--verbose") == 0)
			ret_arguments->is_verbose = true;
		else if (strcmp(argv[i], "--config") == 0 && has_value)
			ret_arguments->config = argv[++i];
		else if (strcmp(argv[i], "--dialect") == 0 && has_value)
			ret_arguments->options.dialect = argv[++i];
		else if (strcmp(argv[i], "--listen") == 0 && has_value &&
			 ret_arguments->listen_count < LISTEN_MAX)
			ret_arguments->listen[ret_arguments->listen_count++] = argv[++i];
		else
			return -1;
	}
	if (ret_arguments->listen_count > 0)
		ret_arguments->options.listen = ret_arguments->listen;
	return 0;
}

int main(int argc, char **argv)
{
	struct arguments arguments = {0};
	struct config *config = NULL;
	struct err err = {0};
	int r;

	if (read_arguments(argc, argv, &arguments) < 0) {
		(void)fprintf(stderr, "viv-serve: started by `viv serve`, not by hand\n");
		return EXIT_USAGE;
	}
	log_set_level(arguments.is_verbose ? LOG_LEVEL_INFO : LOG_LEVEL_WARNING);
	r = config_load(arguments.config, &config, &err);
	if (r == 0 && arguments.options.dialect != NULL &&
	    doors_boot(arguments.options.dialect, config, &err) < 0) {
		(void)fprintf(stderr, "viv serve: %s\n", err.text);
		config_free(config);
		return EXIT_BOOT;
	}
	if (r == 0)
		r = daemon_main(config, &arguments.options, &err);
	config_free(config);
	if (r >= 0)
		return r;
	(void)fprintf(stderr, "viv serve: %s\n", err.text);
	return err.kind == ERR_BAD_REQUEST ? EXIT_USAGE : EXIT_INTERNAL;
}
