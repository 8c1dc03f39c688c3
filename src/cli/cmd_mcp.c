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

#include "base/c.h"
#include "base/program.h"
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
		 "start a private daemon, even if another one runs"),
	FLAG_ROW(struct options, config, "config", 0, FLAG_TEXT, "FILE", "vivarium.yaml to use"),
	FLAG_ROW(struct options, token_file, "token-file", 0, FLAG_TEXT, "FILE",
		 "file with the daemon's token (default: $VIVARIUM_TOKEN)"),
	FLAG_ROW(struct options, is_conformance, "conformance", 0, FLAG_SWITCH, NULL,
		 "use viv-serve-test, which has the fixtures that MCP's conformance suite calls; "
		 "implies --no-daemon"),
	FLAG_ROW(struct options, is_json, "json", 0, FLAG_SWITCH, NULL,
		 "accepted, as everywhere: stdout is JSON, one message a line, in any case"),
};

/* A private daemon: it ends when its stdin is closed, which happens however we end. */
struct own_daemon {
	pid_t pid;
	int lifeline; /* owned: its stdin */
	int ready;    /* owned: its stdout */
	int dir;      /* owned: the folder, opened before anybody else knew of it */
	char folder[256];
};

/* ---- a private daemon ---- */

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
	/* A daemon that root starts becomes another user, who must be able to reach its folders. */
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
	/* Ctrl-C is for us only; we end the daemon. */
	(void)setpgid(0, 0);
	if (dup2(input, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0)
		(void)execv(path, (char *const *)(uintptr_t)args);
	_exit(CMD_INTERNAL);
}

/* Waits for the daemon's line that says that it listens. */
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
		       r == 0 ? "viv-serve did not start within 60 s"
			      : "viv-serve could not start; its reason is above");
}

static int start_own(struct own_daemon *own, const struct options *options, struct err *err)
{
	char path[1024];
	int input[2], output[2];
	int r = program_find(options->is_conformance ? "viv-serve-test" : "viv-serve", path,
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
	/* The folder holds only these two, which belong to the daemon's user. */
	if (own->dir >= 0) {
		(void)tree_remove(own->dir, "run");
		(void)tree_remove(own->dir, "state");
	}
	drop_fd(&own->dir);
	if (own->folder[0] != '\0')
		(void)rmdir(own->folder);
}

/* ---- which daemon ---- */

/* A crash leaves a socket at which nobody listens. */
static bool is_alive(const struct client *client)
{
	const char *path = client_address(client);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	AUTO_CLOSE int fd = -1;

	if (client_is_asked(client) || strncmp(path, "unix:", 5) != 0)
		return true;
	if (strlen(path + 5) >= sizeof(address.sun_path))
		return true; /* libcurl has the better message */
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path + 5);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0;
}

/* Opens a client of the running daemon, or of a private one. */
static int open_client(const struct options *options, const struct config *config,
		       struct client **ret_client, struct own_daemon *own, struct err *err)
{
	struct client_where where = {
		.config = config, .token_file = options->token_file, .is_local = true};
	bool is_own = options->no_daemon || options->is_conformance;
	int r = is_own ? -ENOENT : client_open(&where, ret_client, err);
	AUTO_FREE char *path = NULL;

	if (r == 0 && is_alive(*ret_client))
		return 0;
	if (r < 0 && r != -ENOENT)
		return r;
	client_close(STEAL(*ret_client));
	*err = (struct err){0};
	r = start_own(own, options, err);
	if (r < 0)
		return r;
	if (asprintf(&path, "%s/run/viv.sock", own->folder) < 0)
		abort();
	where.socket = path;
	return client_open(&where, ret_client, err);
}

static int run(const struct cmd *cmd, const void *raw_options, const struct operands *operands)
{
	const struct options *options = raw_options;
	struct own_daemon own = {.lifeline = -1, .ready = -1, .dir = -1};
	struct client *client = NULL;
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
		r = open_client(options, config, &client, &own, &err);
	if (r == 0)
		r = mcp_bridge_run(client, config_door(config, &mcp_config)->prefix, STDIN_FILENO,
				   STDOUT_FILENO, &err);
	client_close(client);
	end_own(&own);
	config_free(config);
	return r < 0 ? cmd_fail(cmd, &err) : CMD_OK;
}

const struct cmd cmd_mcp = {
	.name = "mcp",
	.operands = "",
	.summary = "MCP server on stdin and stdout, for agents and their hosts",
	.about = "Speaks the Model Context Protocol on stdin and stdout, one message per line: it\n"
		 "is what MCP hosts call a \"stdio server\". Its tools run Python, keep sessions, "
		 "and\n"
		 "read and write their files.\n"
		 "\n"
		 "It passes messages to the running daemon (or to $VIVARIUM_URL), so sessions are\n"
		 "shared with the daemon's other clients. If no daemon runs, it starts one of its\n"
		 "own, which ends with it and leaves nothing behind. When stdin ends, it answers\n"
		 "the calls that are still running, then ends.",
	.examples = "  viv mcp\n"
		    "  claude mcp add vivarium -- viv mcp\n"
		    "  npx @modelcontextprotocol/inspector --cli viv mcp --method tools/list",
	CMD_FLAGS(flags),
	.options_size = sizeof(struct options),
	.run = run,
};
