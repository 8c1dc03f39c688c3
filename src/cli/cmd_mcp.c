// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "backend/namespace/launcher_start.h"
#include "base/c.h"
#include "base/tree.h"
#include "cli/cmd.h"
#include "cli/mcp_bridge.h"

#define START_MS 60000 /* for a private daemon to listen */
#define FOLDER_MAX 60

struct options {
	const char *config, *token_file;
	bool no_daemon;
	bool is_conformance;
	bool is_json;
};

static const struct flag flags[] = {
	FLAG_ROW(struct options, no_daemon, "no-daemon", 0, FLAG_SWITCH, NULL,
		 "do the work itself, even where a daemon runs"),
	FLAG_ROW(struct options, config, "config", 0, FLAG_TEXT, "FILE", "vivarium.yaml to use"),
	FLAG_ROW(struct options, token_file, "token-file", 0, FLAG_TEXT, "FILE",
		 "file with the daemon's token (default: $VIVARIUM_TOKEN)"),
	FLAG_ROW(struct options, is_conformance, "conformance", 0, FLAG_SWITCH, NULL,
		 "use viv-serve-test, which has the fixtures that MCP's conformance suite calls; "
		 "implies --no-daemon"),
	FLAG_ROW(struct options, is_json, "json", 0, FLAG_SWITCH, NULL,
		 "accepted, as everywhere: stdout is JSON, one message a line, in any case"),
};

/* A daemon of our own: it ends when our end of its stdin does, however we end. */
struct own_daemon {
	pid_t pid;
	int lifeline; /* owned: its stdin */
	int ready;    /* owned: its stdout */
	int dir;      /* owned: the folder, opened before anybody else knew of it */
	char folder[256];
};

/* ---- a daemon of our own ---- */

static int make_folder(struct own_daemon *own, struct err *err)
{
	const char *above = getenv("TMPDIR");

	/* The path of a socket has room for little more than this (man 7 unix). */
	if (above == NULL || above[0] != '/' || strlen(above) > FOLDER_MAX)
		above = "/tmp";
	(void)snprintf(own->folder, sizeof(own->folder), "%s/viv-mcp-XXXXXX", above);
	if (mkdtemp(own->folder) == NULL) {
		own->folder[0] = '\0';
		return err_sys(err, "make a folder in %s", above);
	}
	own->dir = open(own->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* Root's daemon becomes another user, who must get to the folders that are given to it. */
	if (own->dir < 0 || (geteuid() == 0 && fchmod(own->dir, 0711) < 0))
		return err_sys(err, "open %s", own->folder);
	return 0;
}

static _Noreturn void become_daemon(const char *path, const struct options *options,
				    const char *folder, int input, int output)
{
	const char *args[8] = {"viv-serve", "--quiet", "--private", folder};
	size_t count = 4;

	if (options->config != NULL) {
		args[count++] = "--config";
		args[count++] = options->config;
	}
	/* Ctrl-C is for us: we end it. */
	(void)setpgid(0, 0);
	if (dup2(input, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0)
		(void)execv(path, (char *const *)(uintptr_t)args);
	_exit(CMD_INTERNAL);
}

/* Waits for the line that says that it listens. */
static int wait_ready(const struct own_daemon *own, struct err *err)
{
	struct pollfd poll_ready = {.fd = own->ready, .events = POLLIN};
	char text[16];
	int r;

	do {
		r = poll(&poll_ready, 1, START_MS);
	} while (r < 0 && errno == EINTR);
	if (r > 0 && read(own->ready, text, sizeof(text)) > 0)
		return 0;
	return err_set(err, ERR_INTERNAL, r == 0 ? ETIMEDOUT : EPIPE,
		       r == 0 ? "the engine did not start within 60 s"
			      : "the engine could not start; its reason is above");
}

static int start_own(struct own_daemon *own, const struct options *options, struct err *err)
{
	char path[1024];
	int input[2], output[2];
	int r = launcher_find(options->is_conformance ? "viv-serve-test" : "viv-serve", path,
			      sizeof(path), err);

	if (r == 0)
		r = make_folder(own, err);
	if (r < 0)
		return r;
	if (pipe2(input, O_CLOEXEC) < 0)
		return err_sys(err, "pipe");
	own->lifeline = input[1];
	if (pipe2(output, O_CLOEXEC) < 0) {
		(void)close(input[0]);
		return err_sys(err, "pipe");
	}
	own->ready = output[0];
	own->pid = fork();
	if (own->pid == 0)
		become_daemon(path, options, own->folder, input[0], output[1]);
	(void)close(input[0]);
	(void)close(output[1]);
	return own->pid < 0 ? err_sys(err, "fork") : wait_ready(own, err);
}

static void end_own(struct own_daemon *own)
{
	drop_fd(&own->lifeline);
	if (own->pid > 0)
		(void)waitpid(own->pid, NULL, 0);
	drop_fd(&own->ready);
	/* Only the daemon's own two folders are in there, and they are that user's. */
	if (own->dir >= 0) {
		(void)tree_remove(own->dir, "run");
		(void)tree_remove(own->dir, "state");
	}
	drop_fd(&own->dir);
	if (own->folder[0] != '\0')
		(void)rmdir(own->folder);
}

/* ---- the way ---- */

/* A socket that nobody listens at is what a crash leaves. */
static bool is_alive(const struct client_way *way)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	AUTO_CLOSE int fd = -1;

	if (way->socket == NULL)
		return true;
	if (strlen(way->socket) >= sizeof(address.sun_path))
		return true; /* libcurl says it better */
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", way->socket);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0;
}

/* The daemon that runs, or one of our own. */
static int find_way(const struct options *options, const struct config *config,
		    struct client_way *way, struct own_daemon *own, struct err *err)
{
	const struct client_where where = {
		.config = config, .token_file = options->token_file, .is_local = true};
	bool is_own = options->no_daemon || options->is_conformance;
	int r = is_own ? -ENOENT : client_way_find(&where, way, err);

	if (r == 0 && (way->is_asked || is_alive(way)))
		return 0;
	if (r < 0 && r != -ENOENT)
		return r;
	client_way_done(way);
	*err = (struct err){0};
	r = start_own(own, options, err);
	if (r < 0)
		return r;
	if (asprintf(&way->socket, "%s/run/viv.sock", own->folder) < 0 ||
	    asprintf(&way->address, "unix:%s/run/viv.sock", own->folder) < 0)
		abort();
	way->url = xstrdup("http://localhost");
	return 0;
}

static int run(const struct cmd *cmd, const void *raw_options, const struct operands *operands)
{
	const struct options *options = raw_options;
	struct own_daemon own = {.lifeline = -1, .ready = -1, .dir = -1};
	struct client_way way = {0};
	struct config *config = NULL;
	struct err err = {0};
	int r;

	if (operands->count > 0) {
		(void)err_set(&err, ERR_BAD_REQUEST, EINVAL, "takes no operand: %.80s",
			      operands->items[0]);
		return cmd_fail(cmd, &err);
	}
	r = config_load(options->config, &config, &err);
	if (r == 0)
		r = find_way(options, config, &way, &own, &err);
	if (r == 0)
		r = mcp_bridge_run(&way, config->mcp_prefix, STDIN_FILENO, STDOUT_FILENO, &err);
	client_way_done(&way);
	end_own(&own);
	config_free(config);
	return r < 0 ? cmd_fail(cmd, &err) : CMD_OK;
}

const struct cmd cmd_mcp = {
	.name = "mcp",
	.operands = "",
	.summary = "MCP server on stdin and stdout, for agents and their hosts",
	.about = "Speaks the Model Context Protocol, one message a line: what a host starts as a\n"
		 "\"stdio server\". Its tools run Python, keep sessions, read and write their "
		 "files.\n"
		 "It carries the messages to the daemon that runs (or to $VIVARIUM_URL), so that\n"
		 "sessions are shared with everybody else's; where none runs, it starts an engine\n"
		 "of its own, which ends with it and leaves nothing behind. It ends with its "
		 "stdin,\n"
		 "once the calls that run are answered.",
	.examples = "  viv mcp\n"
		    "  claude mcp add vivarium -- viv mcp\n"
		    "  npx @modelcontextprotocol/inspector --cli viv mcp --method tools/list",
	CMD_FLAGS(flags),
	.options_size = sizeof(struct options),
	.run = run,
};
