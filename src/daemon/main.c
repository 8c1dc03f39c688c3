// SPDX-License-Identifier: Apache-2.0
/*
 * viv-serve - the daemon as a program of its own. `viv serve` checks the flags and executes this
 * program, so that no other command of viv has to load a server's libraries.
 */
#include <stdio.h>
#include <string.h>

#include "base/c.h"
#include "base/log.h"
#include "daemon/daemon.h"
#include "door/door_table.h"
#include "policy/config.h"

#define LISTEN_MAX 64
#define EXIT_BOOT 1 /* the dialect's own environment variables forbid a start */
#define EXIT_USAGE 2
#define EXIT_INTERNAL 125

struct arguments {
	const char *listen[LISTEN_MAX + 1];
	size_t listen_count;
	const char *config;
	struct daemon_options options;
	const char *dir;         /* NULL: the directories of the config */
	const char *private_dir; /* NULL: none */
	bool is_verbose;
};

/* How long viv-launch waits for a next daemon when this one crashes: there will be none. */
#define PRIVATE_REATTACH_MS 1000

/* Puts all files of this daemon into one folder; an audit.file named by the config moves only if
 * `moves_audit`. */
static void use_dir(struct config *config, const char *dir, bool moves_audit)
{
	char **const places[] = {&config->runtime_dir, &config->state_dir, &config->audit_file};
	static const char *const names[] = {"run", "state", "state/audit.jsonl"};
	size_t count = moves_audit || config->is_audit_beside_state ? 3 : 2;

	for (size_t i = 0; i < count; i++) {
		free(*places[i]);
		if (asprintf(places[i], "%s/%s", dir, names[i]) < 0)
			abort();
	}
}

/* Makes a daemon for one process: all files are in a folder of that process, and its only listener
 * is a unix socket there. */
static void make_private(struct config *config, const char *dir)
{
	use_dir(config, dir, true);
	config_door(config, &mcp_config)->is_enabled = true;
	config->reattach_ms = PRIVATE_REATTACH_MS;
}

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
		else if (strcmp(argv[i], "--private") == 0 && has_value)
			ret_arguments->private_dir = argv[++i];
		else if (strcmp(argv[i], "--dir") == 0 && has_value)
			ret_arguments->dir = argv[++i];
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
	ret_arguments->options.is_private = ret_arguments->private_dir != NULL;
	if (ret_arguments->listen_count > 0 || ret_arguments->options.is_private)
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
		(void)fprintf(stderr, "viv-serve: do not start this by hand; use `viv serve`\n");
		return EXIT_USAGE;
	}
	log_set_level(arguments.is_verbose ? LOG_LEVEL_INFO : LOG_LEVEL_WARNING);
	r = config_load(arguments.config, &config, &err);
	if (r == 0 && arguments.options.dialect != NULL &&
	    door_boot(door_table, arguments.options.dialect, config, &err) < 0) {
		(void)fprintf(stderr, "viv serve: %s\n", err.text);
		config_free(config);
		return EXIT_BOOT;
	}
	if (r == 0 && arguments.dir != NULL)
		use_dir(config, arguments.dir, false);
	if (r == 0 && arguments.private_dir != NULL)
		make_private(config, arguments.private_dir);
	if (r == 0)
		r = daemon_main(config, &arguments.options, &err);
	config_free(config);
	if (r >= 0)
		return r;
	(void)fprintf(stderr, "viv serve: %s\n", err.text);
	return err.kind == ERR_BAD_REQUEST ? EXIT_USAGE : EXIT_INTERNAL;
}
