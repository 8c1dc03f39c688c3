// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/c.h"
#include "base/log.h"
#include "daemon/daemon_state.h"

#define ACTIVATED_FD 3 /* man 3 sd_listen_fds */

static int listen_at(struct daemon *daemon, const char *address, struct err *err)
{
	bool is_local = false;
	AUTO_BUF struct buf bound = {.max = KIB};
	int r = http_is_local(address, &is_local, err);

	if (r == 0)
		r = access_may_listen(daemon->config, address, is_local, err);
	if (r < 0)
		return r;
	r = http_listen(daemon->http, address, &bound, err);
	if (r == 0) {
		access_add_bound(daemon->access, buf_string(&bound));
		log_event(LOG_LEVEL_INFO, "http.listen", "address=%s", buf_string(&bound));
		(void)buf_format(&daemon->bound, "%s\n", buf_string(&bound));
	}
	return r;
}

/* Can only this machine reach the address? */
static bool is_own_address(const struct sockaddr_storage *address)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;

	if (address->ss_family == AF_INET)
		return ntohl(v4->sin_addr.s_addr) >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET;
	if (address->ss_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
	return address->ss_family == AF_UNIX;
}

/* Uses the sockets that systemd opened. Their addresses come from the unit, so the rule about
 * tokens applies to them, too. */
static int listen_activated(struct daemon *daemon, int count, struct err *err)
{
	int r = 0;

	for (int i = 0; r == 0 && i < count; i++) {
		struct sockaddr_storage address = {0};
		socklen_t size = sizeof(address);
		int fd = ACTIVATED_FD + i;

		if (getsockname(fd, (struct sockaddr *)&address, &size) < 0)
			return err_sys(err, "LISTEN_FDS: descriptor %d", fd);
		r = access_may_listen(daemon->config, "the socket from systemd",
				      is_own_address(&address), err);
		if (r == 0)
			r = http_listen_fd(daemon->http, &fd, err);
	}
	return r;
}

int daemon_listen(struct daemon *daemon, struct err *err)
{
	const char *count = getenv("LISTEN_FDS");
	const char *pid = getenv("LISTEN_PID");
	const char *const *asked = daemon->options->listen;
	char own[1024];
	int r = 0;

	/* As root, systemd started the minder, and this process is its child. */
	if (count != NULL && pid != NULL &&
	    strtol(pid, NULL, 10) == (daemon->stay.wish >= 0 ? getppid() : getpid()))
		return listen_activated(daemon, (int)strtol(count, NULL, 10), err);
	for (size_t i = 0; r == 0 && asked != NULL && asked[i] != NULL; i++)
		r = listen_at(daemon, asked[i], err);
	for (size_t i = 0; r == 0 && asked == NULL && i < daemon->config->listen.count; i++)
		r = listen_at(daemon, daemon->config->listen.items[i], err);
	if (r < 0)
		return r;
	(void)snprintf(own, sizeof(own), "unix:%s/viv.sock", daemon->config->runtime_dir);
	return listen_at(daemon, own, err);
}
