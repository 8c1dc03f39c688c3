// SPDX-License-Identifier: Apache-2.0
#include "http_fixture.h"

static void knows_which_addresses_are_local(void **state)
{
	static const struct {
		const char *address;
		bool is_local;
	} rows[] = {
		{"127.0.0.1:7878", true}, {"127.9.9.9:1", true}, {"localhost:7878", true},
		{"[::1]:7878", true},     {"unix:/run/x", true}, {":7878", false},
		{"0.0.0.0:1", false},     {"[::]:1", false},     {"10.0.0.1:65535", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct err err = {0};
		bool is_local = !rows[i].is_local;

		assert_ok(http_is_local(rows[i].address, &is_local, &err), err);
		if (is_local != rows[i].is_local)
			fail_msg("%s", rows[i].address);
	}
}

static void refuses_what_is_no_address(void **state)
{
	static const char *const rows[] = {
		"",       "7878",        "127.0.0.1",     "127.0.0.1:",     "127.0.0.1:x",
		"a:1",    "127.0.0.1:-", "127.0.0.1: 1",  "127.0.0.1:+1",   "::1:7878",
		"[::1]",  "[::1:7878",   "[127.0.0.1]:1", "example.com:80", "unix:",
		"unix:x", "unix:@x",     "256.0.0.1:1",   "[]:1",           "127.0.0.1:000080",
	};
	char path[256] = "unix:/";
	struct err err = {0};
	bool is_local = false;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (http_is_local(rows[i], &is_local, &err) != -EINVAL)
			fail_msg("taken: %s", rows[i]);
		assert_contains(err.text, "127.0.0.1:7878");
	}
	assert_int_equal(http_is_local("127.0.0.1:65536", &is_local, &err), -EINVAL);
	assert_contains(err.text, "the port of \"127.0.0.1:65536\" is above 65535");
	assert_int_equal(http_is_local("[::1]:99999999999999999999", &is_local, &err), -EINVAL);
	assert_contains(err.text, "is above 65535");
	memset(path + strlen(path), 'x', 120);
	assert_int_equal(http_is_local(path, &is_local, &err), -EINVAL);
	assert_contains(err.text, "at most 107 bytes");
}

/* Starts a second listener of the same server; returns what it says. */
static int listen_again(struct server *server, const char *address, char *ret_bound,
			struct err *err)
{
	struct buf bound;
	int r;

	buf_init(&bound, 200);
	r = http_listen(server->http, address, &bound, err);
	(void)snprintf(ret_bound, 200, "%s", buf_string(&bound));
	buf_done(&bound);
	return r;
}

static void says_where_it_listens(void **state)
{
	struct server server;
	struct err err = {0};
	char bound[200], path[120], expect[200];

	(void)state;
	server_start(&server, NULL);
	assert_ok(listen_again(&server, "localhost:0", bound, &err), err);
	assert_int_equal(strncmp(bound, "127.0.0.1:", 10), 0);
	assert_true(strtoul(bound + 10, NULL, 10) > 0);
	assert_ok(listen_again(&server, ":0", bound, &err), err);
	assert_non_null(strpbrk(bound, "[0"));
	(void)snprintf(path, sizeof(path), "unix:%s/other", server.directory);
	assert_ok(listen_again(&server, path, bound, &err), err);
	(void)snprintf(expect, sizeof(expect), "%s", path);
	assert_string_equal(bound, expect);

	/* Taken: the error says by its number. */
	(void)snprintf(path, sizeof(path), "127.0.0.1:%u", server.port);
	assert_int_equal(listen_again(&server, path, bound, &err), -EADDRINUSE);
	assert_contains(err.text, path);
	assert_contains(err.text, "another program has this port");
	server_stop(&server);
}

static void all_addresses_are_ipv4_too(void **state)
{
	struct server server;
	struct err err = {0};
	char bound[200];

	(void)state;
	server_start(&server, NULL);
	assert_ok(listen_again(&server, ":0", bound, &err), err);
	server.port = (in_port_t)strtoul(strrchr(bound, ':') + 1, NULL, 10);
	ask(&server, GET("/now"), "hello");
	server_stop(&server);
}

static void replaces_a_dead_socket_and_nothing_else(void **state)
{
	struct server server;
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	struct err err = {0};
	char bound[200], address[120];
	struct stat file;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	server_start(&server, NULL);
	(void)snprintf(to.sun_path, sizeof(to.sun_path), "%s/old", server.directory);
	(void)snprintf(address, sizeof(address), "unix:%s/old", server.directory);
	assert_int_equal(bind(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	(void)close(fd);
	assert_ok(listen_again(&server, address, bound, &err), err);

	/* Now it lives. */
	assert_int_equal(listen_again(&server, address, bound, &err), -EADDRINUSE);
	assert_contains(err.text, "already");

	(void)snprintf(to.sun_path, sizeof(to.sun_path), "%s/file", server.directory);
	(void)snprintf(address, sizeof(address), "unix:%s/file", server.directory);
	fd = open(to.sun_path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	(void)close(fd);
	assert_int_equal(listen_again(&server, address, bound, &err), -EEXIST);
	assert_int_equal(stat(to.sun_path, &file), 0);

	(void)snprintf(address, sizeof(address), "unix:%s/none/x", server.directory);
	assert_int_equal(listen_again(&server, address, bound, &err), -ENOENT);
	server_stop(&server);
}

/* Its file belongs to whoever bound it last. */
static void leaves_the_socket_of_a_successor(void **state)
{
	struct server server;
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	struct stat file;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	server_start(&server, NULL);
	(void)snprintf(to.sun_path, sizeof(to.sun_path), "%s", server.unix_path);
	assert_int_equal(unlink(server.unix_path), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	http_drain(server.http, NULL, NULL);
	assert_int_equal(stat(server.unix_path, &file), 0);
	(void)close(fd);
	server_stop(&server);
}

static void takes_a_socket_that_listens(void **state)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	socklen_t size = sizeof(at);
	struct server server;
	struct err err = {0};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int other = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int file = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	server_start(&server, NULL);
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 5), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
	assert_ok(http_listen_fd(server.http, &fd, &err), err);
	assert_int_equal(fd, -1);
	server.port = ntohs(at.sin_port);
	ask(&server, GET("/now"), "hello");

	assert_int_equal(http_listen_fd(server.http, &other, &err), -EINVAL);
	assert_int_equal(other, -1);
	assert_int_equal(http_listen_fd(server.http, &file, &err), -ENOTSOCK);
	assert_int_equal(file, -1);
	server_stop(&server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_which_addresses_are_local),
		cmocka_unit_test(refuses_what_is_no_address),
		cmocka_unit_test(says_where_it_listens),
		cmocka_unit_test(all_addresses_are_ipv4_too),
		cmocka_unit_test(replaces_a_dead_socket_and_nothing_else),
		cmocka_unit_test(leaves_the_socket_of_a_successor),
		cmocka_unit_test(takes_a_socket_that_listens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
