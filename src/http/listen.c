// SPDX-License-Identifier: Apache-2.0
#include "http/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/c.h"

#define BACKLOG 1024
#define UNIX_PREFIX "unix:"
#define UNIX_MODE 0660

union any_address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_un un;
};

static int bad_address(const char *address, struct err *err)
{
	return err_set(err, ERR_BAD_REQUEST, EINVAL,
		       "not an address to listen on: \"%s\"; write 127.0.0.1:7878, [::1]:7878, "
		       "localhost:7878, :7878 (all addresses) or unix:/path",
		       address);
}

/* Digits only, up to 65535: strtoul would accept spaces and signs. -ERANGE: more than that. */
static int parse_port(const char *text, in_port_t *ret_port)
{
	size_t size = strlen(text);
	unsigned port = 0;

	if (size == 0 || strspn(text, "0123456789") != size)
		return -EINVAL;
	for (; *text != '\0' && port <= UINT16_MAX; text++)
		port = port * 10 + (unsigned)(*text - '0');
	if (port > UINT16_MAX)
		return -ERANGE;
	if (size > 5)
		return -EINVAL;
	*ret_port = htons((in_port_t)port);
	return 0;
}

static int parse_unix(const char *address, union any_address *ret_to, struct err *err)
{
	const char *path = address + strlen(UNIX_PREFIX);
	union any_address to = {.un = {.sun_family = AF_UNIX}};

	/* Absolute, so that it names the same file for every client. */
	if (path[0] != '/')
		return bad_address(address, err);
	if (strlen(path) >= sizeof(to.un.sun_path))
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "the path of a unix socket has at most %zu bytes: %s",
			       sizeof(to.un.sun_path) - 1, path);

	memcpy(to.un.sun_path, path, strlen(path) + 1);
	*ret_to = to;
	return 0;
}

static int parse_address(const char *address, union any_address *ret_to, struct err *err)
{
	union any_address to = {0};
	char host[INET6_ADDRSTRLEN + 2];
	const char *colon = strrchr(address, ':');
	size_t size = colon != NULL ? (size_t)(colon - address) : 0;
	in_port_t port = 0;
	int r = colon != NULL ? parse_port(colon + 1, &port) : -EINVAL;

	if (strncmp(address, UNIX_PREFIX, strlen(UNIX_PREFIX)) == 0)
		return parse_unix(address, ret_to, err);
	if (r == -ERANGE)
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "the port of \"%s\" is above 65535, the largest there is", address);
	if (r < 0 || size >= sizeof(host))
		return bad_address(address, err);

	memcpy(host, address, size);
	host[size] = '\0';
	if (size == 0) {
		to.in6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = port};
	} else if (host[0] == '[' && host[size - 1] == ']') {
		host[size - 1] = '\0';
		to.in6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = port};
		if (inet_pton(AF_INET6, host + 1, &to.in6.sin6_addr) != 1)
			return bad_address(address, err);
	} else {
		const char *digits = strcmp(host, "localhost") == 0 ? "127.0.0.1" : host;

		to.in = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = port};
		if (inet_pton(AF_INET, digits, &to.in.sin_addr) != 1)
			return bad_address(address, err);
	}
	*ret_to = to;
	return 0;
}

/* Removes a socket file that no server listens on; anything else stays. */
static int clear_path(const union any_address *to, struct err *err)
{
	AUTO_CLOSE int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const char *path = to->un.sun_path;
	struct stat file;

	if (lstat(path, &file) < 0)
		return errno == ENOENT ? 0 : err_sys(err, "look at %s", path);
	if (!S_ISSOCK(file.st_mode))
		return err_set(err, ERR_CONFLICT, EEXIST, "%s exists and is not a socket", path);
	if (probe < 0)
		return err_sys(err, "socket");

	/* EAGAIN: the backlog is full, so a server is listening. */
	if (connect(probe, &to->any, sizeof(to->un)) == 0 || errno == EAGAIN)
		return err_set(err, ERR_CONFLICT, EADDRINUSE, "a server already listens on %s",
			       path);
	if (errno != ECONNREFUSED)
		return err_sys(err, "look at %s", path);
	if (unlink(path) < 0 && errno != ENOENT)
		return err_sys(err, "remove the old socket %s", path);
	return 0;
}

static int bind_unix(struct listener *listener, int fd, const union any_address *to,
		     struct err *err)
{
	const char *path = to->un.sun_path;
	int r = clear_path(to, err);

	if (r < 0)
		return r;

	/* Before bind, so that the file never has more permissions; after it, because bind applies
	 * the umask (unix(7)). */
	if (fchmod(fd, UNIX_MODE) < 0)
		return err_sys(err, "set the mode of a socket");
	if (bind(fd, &to->any, sizeof(to->un)) < 0)
		return err_sys(err, "listen on %s", path);
	if (chmod(path, UNIX_MODE) < 0 || lstat(path, &listener->file) < 0)
		return err_sys(err, "mode of %s", path);

	memcpy(listener->path, path, strlen(path) + 1);
	return 0;
}

static int bind_tcp(int fd, const char *address, const union any_address *to, struct err *err)
{
	socklen_t size = to->any.sa_family == AF_INET6 ? sizeof(to->in6) : sizeof(to->in);
	int on = 1;
	int off = 0;

	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
		return err_sys(err, "reuse of %s", address);
	/* ":7878" means IPv4, too. */
	if (to->any.sa_family == AF_INET6 && address[0] == ':' &&
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) < 0)
		return err_sys(err, "listen on IPv4 and IPv6");
	if (bind(fd, &to->any, size) == 0)
		return 0;
	if (errno != EADDRINUSE)
		return err_sys(err, "listen on %s", address);
	return err_set(err, ERR_CONFLICT, EADDRINUSE,
		       "listen on %s: another program has this port; give another with `listen` "
		       "or --listen, or see who has it: ss -ltnp",
		       address);
}

/* A host without IPv6 lacks AF_INET6 entirely: there ":7878" means IPv4 only. */
static int open_socket(const char *address, union any_address *to)
{
	int fd = socket(to->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 && errno == EAFNOSUPPORT && address[0] == ':') {
		to->in = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = to->in6.sin6_port};
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	}
	return fd;
}

static int tell_bound(const struct listener *listener, struct buf *ret_bound, struct err *err)
{
	union any_address at = {0};
	socklen_t size = sizeof(at);
	char host[INET6_ADDRSTRLEN] = "";
	int r;

	if (listener->path[0] != '\0') {
		r = buf_format(ret_bound, UNIX_PREFIX "%s", listener->path);
	} else if (getsockname(listener->fd, &at.any, &size) < 0) {
		return err_sys(err, "get the address of a socket");
	} else if (at.any.sa_family == AF_INET6) {
		(void)inet_ntop(AF_INET6, &at.in6.sin6_addr, host, sizeof(host));
		r = buf_format(ret_bound, "[%s]:%u", host, ntohs(at.in6.sin6_port));
	} else {
		(void)inet_ntop(AF_INET, &at.in.sin_addr, host, sizeof(host));
		r = buf_format(ret_bound, "%s:%u", host, ntohs(at.in.sin_port));
	}
	return r < 0 ? err_set(err, ERR_INTERNAL, -r, "no room for an address") : 0;
}

int listener_open(struct listener *listener, const char *address, struct buf *ret_bound,
		  struct err *err)
{
	union any_address to = {0};
	AUTO_CLOSE int fd = -1;
	int r = parse_address(address, &to, err);

	listener->fd = -1;
	if (r < 0)
		return r;
	fd = open_socket(address, &to);
	if (fd < 0)
		return err_sys(err, "socket for %s", address);

	r = to.any.sa_family == AF_UNIX ? bind_unix(listener, fd, &to, err)
					: bind_tcp(fd, address, &to, err);
	if (r < 0)
		return r;
	listener->fd = steal_fd(&fd);
	if (listen(listener->fd, BACKLOG) < 0)
		r = err_sys(err, "listen on %s", address);
	else if (ret_bound != NULL)
		r = tell_bound(listener, ret_bound, err);
	if (r < 0)
		listener_close(listener);
	return r;
}

int listener_adopt(struct listener *listener, int *take_fd, struct err *err)
{
	AUTO_CLOSE int fd = steal_fd(take_fd);
	int is_listening = 0;
	socklen_t size = sizeof(is_listening);

	listener->fd = -1;
	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &size) < 0)
		return err_sys(err, "descriptor %d was passed as a socket", fd);
	if (!is_listening)
		return err_set(err, ERR_BAD_REQUEST, EINVAL,
			       "socket %d was passed but does not listen", fd);
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
		return err_sys(err, "flags of the socket %d", fd);

	listener->fd = steal_fd(&fd);
	return 0;
}

void listener_close(struct listener *listener)
{
	struct stat now;

	drop_fd(&listener->fd);
	/* The next daemon may have replaced the file. */
	if (listener->path[0] != '\0' && lstat(listener->path, &now) == 0 &&
	    now.st_dev == listener->file.st_dev && now.st_ino == listener->file.st_ino)
		(void)unlink(listener->path);
	listener->path[0] = '\0';
}

int http_is_local(const char *address, bool *ret_is_local, struct err *err)
{
	union any_address to = {0};
	int r = parse_address(address, &to, err);

	if (r < 0)
		return r;
	if (to.any.sa_family == AF_INET)
		*ret_is_local = ntohl(to.in.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	else if (to.any.sa_family == AF_INET6)
		*ret_is_local = IN6_IS_ADDR_LOOPBACK(&to.in6.sin6_addr);
	else
		*ret_is_local = true;
	return 0;
}
