// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "http_fixture.h"

#define OWNED(owner, path) "GET " path " HTTP/1.1" CRLF HOST "Owner: " owner CRLF CRLF

static size_t complete_count(const struct server *server)
{
	size_t count = 0;

	for (const char *at = server->events; *at != '\0'; at++)
		count += *at == 'c';
	return count;
}

/* A client whose request is under way, and stays so. */
static void client_at_work(struct client *client, struct server *server, const char *request)
{
	size_t before = complete_count(server);

	client_connect(client, server);
	client_send(client, request);
	WAIT(server, complete_count(server) == before + 1);
}

static void refuses_one_connection_too_many(void **state)
{
	const struct http_settings settings = {.connections_max = 2};
	struct server server;
	struct client first, second;

	(void)state;
	server_start(&server, &settings);
	client_at_work(&first, &server, GET("/later"));
	client_at_work(&second, &server, GET("/later"));
	for (int i = 0; i < 3; i++)
		ask(&server, GET("/now"), "HTTP/1.1 503 ");
	client_close(&second);
	answer(server.request, 200, "too late");
	WAIT(&server, http_connections(server.http) == 1);
	ask(&server, GET("/now"), "hello");
	client_close(&first);
	server_stop(&server);
}

static void gives_the_place_of_the_one_that_rests_for_the_longest(void **state)
{
	const struct http_settings settings = {.connections_max = 3};
	struct client silent, used, busy;
	struct server server;

	(void)state;
	server_start(&server, &settings);
	client_connect(&used, &server);
	WAIT(&server, http_connections(server.http) == 1);
	client_connect_unix(&silent, &server);
	WAIT(&server, http_connections(server.http) == 2);
	client_send(&used, GET("/now"));
	WAIT(&server, client_has(&used, "hello") && strchr(server.events, 'G') != NULL);
	client_at_work(&busy, &server, GET("/later"));
	ask(&server, GET("/now"), "hello");
	WAIT(&server, client_is_over(&silent));
	assert_false(client_is_over(&used) || client_is_over(&busy));
	client_close(&silent);
	client_close(&used);
	client_close(&busy);
	server_stop(&server);
}

static void serves_others_when_one_owner_takes_all_it_can(void **state)
{
	const struct http_settings settings = {.connections_max = 4, .owner_max = 2};
	struct client greedy[2], strangers[2], other;
	struct server server;

	(void)state;
	server_start(&server, &settings);
	for (size_t i = 0; i < ARRAY_LEN(greedy); i++)
		client_at_work(&greedy[i], &server, OWNED("a", "/later"));
	for (int i = 0; i < 3; i++)
		ask(&server, OWNED("a", "/now"), "HTTP/1.1 429 ");
	/* It need not say whose they are. */
	for (size_t i = 0; i < ARRAY_LEN(strangers); i++)
		client_at_work(&strangers[i], &server, GET("/later"));
	client_connect(&other, &server);
	client_send(&other, OWNED("b", "/now") OWNED("b", "/later"));
	WAIT(&server, client_has(&other, "hello") && client_is_over(&strangers[0]));
	assert_false(client_is_over(&strangers[1]) || client_is_over(&greedy[0]));
	ask(&server, OWNED("b", "/now"), "hello");
	WAIT(&server, client_is_over(&strangers[1]));
	assert_false(client_is_over(&other) || client_is_over(&greedy[0]));
	for (size_t i = 0; i < ARRAY_LEN(greedy); i++) {
		client_close(&greedy[i]);
		client_close(&strangers[i]);
	}
	client_close(&other);
	server_stop(&server);
}

static void ends_a_connection_that_asks_nothing(void **state)
{
	const struct http_settings settings = {.idle_ms = 50};
	struct server server;
	struct client clients[3];

	(void)state;
	server_start(&server, &settings);
	client_connect(&clients[0], &server);
	client_connect_unix(&clients[1], &server);
	client_connect(&clients[2], &server);
	client_send(&clients[2], GET("/now"));
	for (size_t i = 0; i < ARRAY_LEN(clients); i++) {
		WAIT(&server, clients[i].is_ended);
		assert_int_equal(clients[i].got.size > 0, i == 2);
		client_close(&clients[i]);
	}
	WAIT(&server, http_connections(server.http) == 0);
	server_stop(&server);
}

/* One byte at a time, each in time: the head as a whole is late. */
static void ends_a_head_that_drips(const char *start, bool is_unix)
{
	const struct http_settings settings = {.head_ms = 100, .idle_ms = is_unix ? 300 : 20000};
	struct server server;
	struct client client;

	server_start(&server, &settings);
	if (is_unix)
		client_connect_unix(&client, &server);
	else
		client_connect(&client, &server);
	client_send(&client, start);
	while (!client_is_over(&client)) {
		(void)send(client.fd, "a", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
		(void)uv_timer_start(&server.late, on_late, 5, 0);
		(void)uv_run(&server.loop, UV_RUN_ONCE);
	}
	if (!is_unix || strchr(start, ':') != NULL)
		assert_contains(buf_string(&client.got), "HTTP/1.1 408 ");
	assert_string_equal(server.events, "");
	client_close(&client);
	WAIT(&server, http_connections(server.http) == 0);
	server_stop(&server);
}

static void ends_a_slow_head(void **state)
{
	(void)state;
	ends_a_head_that_drips("GET /now HTTP/1.1" CRLF "A: ", false);
	ends_a_head_that_drips("GET /now HTTP/1.1" CRLF "A: ", true);
	ends_a_head_that_drips("GET /", false);
	ends_a_head_that_drips("GET /", true);
}

static void ends_a_body_that_stalls(void **state)
{
	const struct http_settings settings = {.body_stall_ms = 50};
	struct server server;

	(void)state;
	server_start(&server, &settings);
	ask(&server, "POST /echo HTTP/1.1" CRLF HOST "Content-Length: 10" CRLF CRLF "part",
	    "HTTP/1.1 408 ");
	WAIT(&server, strcmp(server.events, "hbg") == 0);
	server.events[0] = '\0';
	ask(&server, "POST /echo HTTP/1.1" CRLF HOST "Content-Length: 10" CRLF CRLF,
	    "HTTP/1.1 408 ");
	WAIT(&server, strcmp(server.events, "hg") == 0);
	server_stop(&server);
}

/* While we are at work, or hold it back ourselves, no clock runs against the client. */
static void waits_for_ourselves_without_end(void **state)
{
	const struct http_settings settings = {
		.idle_ms = 20, .head_ms = 20, .body_stall_ms = 20, .send_stall_ms = 20};
	struct server server;
	struct client held, later, silent, timer;

	(void)state;
	server_start(&server, &settings);
	client_connect(&held, &server);
	client_send(&held, "PUT /hold HTTP/1.1" CRLF HOST "Content-Length: 4" CRLF CRLF "body");
	WAIT(&server, strcmp(server.events, "hb") == 0);
	client_connect(&later, &server);
	client_send(&later, GET("/later"));
	WAIT(&server, strcmp(server.events, "hbhc") == 0);
	client_connect(&silent, &server);
	client_send(&silent, GET("/stream"));
	WAIT(&server, client_has(&silent, "200 OK"));
	/* Five idle connections in a row outlast every clock. */
	for (int i = 0; i < 5; i++) {
		client_connect(&timer, &server);
		WAIT(&server, timer.is_ended);
		client_close(&timer);
	}
	assert_int_equal(http_connections(server.http), 3);
	assert_null(strpbrk(server.events, "gGl"));
	client_close(&held);
	client_close(&later);
	client_close(&silent);
	server_stop(&server);
}

static void ends_a_client_that_takes_nothing(void **state)
{
	const struct http_settings settings = {.send_stall_ms = 100};
	AUTO_FREE char *text = xcalloc(1, 32 * MIB + 1);
	struct server server;
	struct client client;

	(void)state;
	memset(text, 'a', 32 * MIB);
	server_start(&server, &settings);
	for (int i = 0; i < 2; i++) {
		server.events[0] = '\0';
		client_connect(&client, &server);
		(void)uv_poll_stop(&client.poll);
		server.endless = 1 * GIB;
		client_send(&client, i == 0 ? GET("/stream") : GET("/later"));
		WAIT(&server, strncmp(server.events, "hc", 2) == 0);
		if (i == 1)
			answer(server.request, 200, text);
		WAIT(&server, strcmp(server.events, "hcg") == 0);
		WAIT(&server, http_connections(server.http) == 0);
		client_close(&client);
	}
	server_stop(&server);
}

/* A chunk's extension without end fills libmicrohttpd's buffer; it then asks to be run at once. */
static void a_full_buffer_is_no_busy_loop(void **state)
{
	const struct http_settings settings = {.body_stall_ms = 300};
	struct server server;
	struct client client;
	char junk[64 * 1024];
	unsigned turns = 0;

	(void)state;
	memset(junk, 'a', sizeof(junk));
	server_start(&server, &settings);
	client_connect(&client, &server);
	client_send(&client,
		    "POST /echo HTTP/1.1" CRLF HOST "Transfer-Encoding: chunked" CRLF CRLF "1;");
	WAIT(&server, strcmp(server.events, "h") == 0);
	(void)send(client.fd, junk, sizeof(junk), MSG_NOSIGNAL | MSG_DONTWAIT);
	while (!client_is_over(&client)) {
		(void)uv_run(&server.loop, UV_RUN_ONCE);
		turns++;
	}
	assert_true(turns < 1000);
	WAIT(&server, http_connections(server.http) == 0);
	assert_string_equal(server.events, "hg");
	client_close(&client);
	server_stop(&server);
}

static void out_of_descriptors_it_waits_and_goes_on(void **state)
{
	struct server server;
	struct client first, second;
	struct rlimit limit, low;
	unsigned turns = 0;
	int spare;

	(void)state;
	server_start(&server, NULL);
	client_connect(&first, &server);
	client_send(&first, GET("/now"));
	WAIT(&server, client_has(&first, "hello"));
	client_connect(&second, &server);
	client_send(&second, GET("/now"));

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	spare = dup(0);
	low = (struct rlimit){(rlim_t)spare, limit.rlim_max};
	(void)close(spare);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	(void)uv_timer_start(&server.late, on_late, 300, 0);
	while (!server.is_late) {
		(void)uv_run(&server.loop, UV_RUN_ONCE);
		turns++;
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_true(turns < 100);
	assert_int_equal(http_connections(server.http), 1);

	WAIT(&server, client_has(&second, "hello"));
	client_close(&first);
	client_close(&second);
	server_stop(&server);
}

static void note_idle(void *user)
{
	struct server *server = user;

	server->idle++;
}

static void drains_what_is_at_work_and_then_says_so(void **state)
{
	struct server server;
	struct client busy, idle;
	struct stat file;

	(void)state;
	server_start(&server, NULL);
	client_connect(&idle, &server);
	client_send(&idle, GET("/now"));
	WAIT(&server, client_has(&idle, "hello"));
	client_connect(&busy, &server);
	client_send(&busy, GET("/later") GET("/now"));
	WAIT(&server, strcmp(server.events, "hcGhc") == 0);

	http_drain(server.http, note_idle, &server);
	WAIT(&server, idle.is_ended);
	assert_int_equal(stat(server.unix_path, &file), -1);
	settle(&server);
	assert_int_equal(server.idle, 0);
	answer(server.request, 200, "the last one");
	WAIT(&server, busy.is_ended);
	assert_contains(buf_string(&busy.got), "Connection: close");
	assert_contains(buf_string(&busy.got), "the last one");
	assert_false(client_has(&busy, "hello"));
	WAIT(&server, server.idle == 1);
	client_close(&idle);
	client_close(&busy);
	settle(&server);
	assert_int_equal(server.idle, 1);
	server_stop(&server);
}

static void closes_whatever_is_open(void **state)
{
	static const char *const requests[] = {
		"",
		"GET",
		GET("/later"),
		GET("/stream"),
		GET("/now"),
		"PUT /hold HTTP/1.1" CRLF HOST "Content-Length: 4" CRLF CRLF "body",
		"PUT /echo HTTP/1.1" CRLF HOST "Content-Length: 4" CRLF CRLF "bo",
		"PUT /refuse HTTP/1.1" CRLF HOST "Content-Length: 4" CRLF CRLF "bo",
	};
	struct client clients[ARRAY_LEN(requests)];
	struct server server;
	size_t told = 0, gone = 0;

	(void)state;
	server_start(&server, NULL);
	for (size_t i = 0; i < ARRAY_LEN(clients); i++) {
		client_connect(&clients[i], &server);
		client_send(&clients[i], requests[i]);
		settle(&server);
	}
	for (size_t i = 0; i < ARRAY_LEN(clients); i++) {
		uv_close((uv_handle_t *)&clients[i].poll, NULL);
		drop_fd(&clients[i].fd);
	}
	server_stop(&server);
	for (const char *at = server.events; *at != '\0'; at++) {
		told += *at == 'h';
		gone += *at == 'g' || *at == 'G';
	}
	assert_int_equal(told, 6);
	assert_int_equal(gone, 6);
	assert_int_equal(server.source_closed, 1);
	for (size_t i = 0; i < ARRAY_LEN(clients); i++)
		buf_done(&clients[i].got);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses_one_connection_too_many),
		cmocka_unit_test(gives_the_place_of_the_one_that_rests_for_the_longest),
		cmocka_unit_test(serves_others_when_one_owner_takes_all_it_can),
		cmocka_unit_test(ends_a_connection_that_asks_nothing),
		cmocka_unit_test(ends_a_slow_head),
		cmocka_unit_test(ends_a_body_that_stalls),
		cmocka_unit_test(waits_for_ourselves_without_end),
		cmocka_unit_test(ends_a_client_that_takes_nothing),
		cmocka_unit_test(a_full_buffer_is_no_busy_loop),
		cmocka_unit_test(out_of_descriptors_it_waits_and_goes_on),
		cmocka_unit_test(drains_what_is_at_work_and_then_says_so),
		cmocka_unit_test(closes_whatever_is_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
