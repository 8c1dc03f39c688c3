// SPDX-License-Identifier: Apache-2.0

#include "http_fixture.h"

static void give(struct server *server, const char *text)
{
	assert_int_equal(buf_text(&server->source, text), 0);
	if (server->request != NULL)
		http_ready(server->request);
}

static void end(struct server *server)
{
	server->is_source_ended = true;
	http_ready(server->request);
}

static void streams_in_chunks_as_they_come(void **state)
{
	struct server server;
	struct client client;

	(void)state;
	server_start(&server, NULL);
	client_connect(&client, &server);
	client_send(&client, GET("/stream"));
	WAIT(&server, client_has(&client, "Transfer-Encoding: chunked" CRLF));
	give(&server, "one\n");
	WAIT(&server, client_has(&client, "4" CRLF "one\n" CRLF));
	give(&server, "three\n");
	WAIT(&server, client_has(&client, "6" CRLF "three\n" CRLF));
	assert_int_equal(server.source_closed, 0);
	end(&server);
	WAIT(&server, client_has(&client, CRLF "0" CRLF CRLF));
	WAIT(&server, strcmp(server.events, "hcG") == 0);
	assert_int_equal(server.source_closed, 1);

	/* The connection lives on. */
	client.got.size = 0;
	client_send(&client, GET("/now"));
	WAIT(&server, client_has(&client, "hello"));
	client_close(&client);
	server_stop(&server);
}

static void ready_may_come_at_any_time(void **state)
{
	struct server server;
	struct client client;

	(void)state;
	server_start(&server, NULL);
	client_connect(&client, &server);
	client_send(&client, GET("/later"));
	WAIT(&server, strcmp(server.events, "hc") == 0);
	http_ready(server.request);
	http_resume(server.request);
	stream(&server, server.request, -1);
	http_ready(server.request);
	give(&server, "a");
	give(&server, "b");
	WAIT(&server, client_has(&client, "ab"));
	http_ready(server.request);
	settle(&server);
	http_ready(server.request);
	end(&server);
	WAIT(&server, client_has(&client, "0" CRLF CRLF));
	client_close(&client);
	server_stop(&server);
}

static void streams_a_size_that_is_known(void **state)
{
	struct server server;
	struct client client;

	(void)state;
	server_start(&server, NULL);
	client_connect(&client, &server);
	client_send(&client, GET("/later"));
	WAIT(&server, strcmp(server.events, "hc") == 0);
	stream(&server, server.request, 6);
	give(&server, "abc");
	WAIT(&server, client_has(&client, CRLF CRLF "abc"));
	assert_contains(buf_string(&client.got), "Content-Length: 6" CRLF);
	give(&server, "def and more");
	WAIT(&server, strcmp(server.events, "hcG") == 0 && client_has(&client, "abcdef"));
	settle(&server);
	assert_false(client_has(&client, "and"));
	client_close(&client);
	server_stop(&server);
}

/* An answer that ends too early is cut off, whatever the framing: no client may take it for whole.
 */
static void breaks_off(const char *request, int64_t size, bool is_broken)
{
	struct server server;
	struct client client;

	server_start(&server, NULL);
	client_connect(&client, &server);
	client_send(&client, request);
	WAIT(&server, strcmp(server.events, "hc") == 0);
	stream(&server, server.request, size);
	give(&server, "part");
	WAIT(&server, client_has(&client, "part"));
	server.is_source_broken = is_broken;
	end(&server);
	WAIT(&server, client_is_over(&client));
	WAIT(&server, strcmp(server.events, "hcg") == 0);
	assert_false(client_has(&client, CRLF "0" CRLF CRLF));
	assert_int_equal(server.source_closed, 1);
	if (size < 0 && strstr(request, "1.0") != NULL)
		assert_true(client.is_reset);
	client_close(&client);
	server_stop(&server);
}

static void a_broken_stream_cuts_the_connection(void **state)
{
	(void)state;
	breaks_off(GET("/later"), -1, true);
	breaks_off(GET("/later"), 100, true);
	breaks_off(GET("/later"), 100, false);
	breaks_off("GET /later HTTP/1.0" CRLF CRLF, -1, true);
}

static void a_slow_reader_holds_the_source_back(void **state)
{
	enum {
		SIZE = 64 * 1024 * 1024
	};
	struct server server;
	struct client client;
	size_t left;

	(void)state;
	server_start(&server, NULL);
	client_connect(&client, &server);
	(void)uv_poll_stop(&client.poll);
	server.endless = SIZE;
	client_send(&client, GET("/stream"));
	WAIT(&server, server.endless < SIZE);
	do {
		left = server.endless;
		settle(&server);
	} while (server.endless < left);
	assert_true(left > SIZE / 2);

	/* Another client is not held back by it. */
	ask(&server, GET("/now"), "hello");
	server.is_source_ended = true;
	client_read(&client);
	WAIT(&server, server.endless == 0 && client_has(&client, "0" CRLF CRLF));
	assert_true(client.got.size > SIZE);
	client_close(&client);
	server_stop(&server);
}

static void tells_when_a_waiting_client_leaves(void **state)
{
	struct server server;
	struct client client;

	(void)state;
	server_start(&server, NULL);
	for (int i = 0; i < 2; i++) {
		server.events[0] = '\0';
		if (i == 0)
			client_connect(&client, &server);
		else
			client_connect_unix(&client, &server);
		client_send(&client, GET("/later"));
		WAIT(&server, strcmp(server.events, "hc") == 0);
		client_close(&client);
		WAIT(&server, strncmp(server.events, "hcl", 3) == 0);
		/* Both ends of a unix socket are gone for sure; a TCP client may still read. */
		if (i == 0)
			answer(server.request, 200, "nobody");
		WAIT(&server, http_connections(server.http) == 0);
		assert_non_null(strpbrk(server.events, "gG"));
	}
	server_stop(&server);
}

static void tells_when_a_client_leaves_a_silent_stream(void **state)
{
	struct server server;
	struct client client;

	(void)state;
	server_start(&server, NULL);
	client_connect(&client, &server);
	client_send(&client, GET("/stream"));
	give(&server, "one");
	WAIT(&server, client_has(&client, "one"));
	client_close(&client);
	WAIT(&server, strcmp(server.events, "hcl") == 0);
	server.is_source_broken = true;
	http_ready(server.request);
	WAIT(&server, strcmp(server.events, "hclg") == 0);
	assert_int_equal(server.source_closed, 1);
	WAIT(&server, http_connections(server.http) == 0);
	server_stop(&server);
}

static void a_reset_ends_an_exchange_that_waits(void **state)
{
	const struct linger hard = {.l_onoff = 1};
	struct server server;
	struct client client;

	(void)state;
	server_start(&server, NULL);
	client_connect(&client, &server);
	client_send(&client, GET("/later"));
	WAIT(&server, strcmp(server.events, "hc") == 0);
	assert_int_equal(setsockopt(client.fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)), 0);
	client_close(&client);
	WAIT(&server, strcmp(server.events, "hclg") == 0);
	WAIT(&server, http_connections(server.http) == 0);
	server_stop(&server);
}

static void a_client_that_closed_its_end_is_answered(void **state)
{
	struct server server;
	struct client client;

	(void)state;
	server_start(&server, NULL);
	for (int i = 0; i < 2; i++) {
		server.events[0] = '\0';
		if (i == 0)
			client_connect(&client, &server);
		else
			client_connect_unix(&client, &server);
		client_send(&client, GET("/later"));
		assert_int_equal(shutdown(client.fd, SHUT_WR), 0);
		WAIT(&server, strcmp(server.events, "hcl") == 0);
		answer(server.request, 200, "all the same");
		WAIT(&server, client.is_ended);
		assert_contains(buf_string(&client.got), "all the same");
		assert_string_equal(server.events, "hclG");
		client_close(&client);
		WAIT(&server, http_connections(server.http) == 0);
	}
	server_stop(&server);
}

static void a_stream_may_begin_before_the_body_was_read(void **state)
{
	struct server server;
	struct client client;

	(void)state;
	server_start(&server, NULL);
	for (int i = 0; i < 2; i++) {
		char head[128];

		server.events[0] = '\0';
		server.is_source_ended = false;
		client_connect(&client, &server);
		(void)snprintf(head, sizeof(head),
			       "POST %s HTTP/1.1" CRLF HOST "Content-Length: 5" CRLF CRLF "12345",
			       i == 0 ? "/stream-early" : "/stream-body");
		client_send(&client, head);
		WAIT(&server, client_has(&client, "200 OK"));
		give(&server, "stream");
		end(&server);
		WAIT(&server, client_has(&client, "stream" CRLF "0" CRLF CRLF));
		WAIT(&server, strchr(server.events, 'G') != NULL);
		assert_null(strchr(server.events, 'c'));
		client_close(&client);
	}
	server_stop(&server);
}

static void an_endless_body_before_a_stream_is_cut(void **state)
{
	AUTO_FREE char *bytes = xcalloc(1, 4 * MIB);
	struct server server;
	struct client client;
	ssize_t n = 1;

	(void)state;
	server_start(&server, NULL);
	client_connect(&client, &server);
	client_send(&client,
		    "POST /stream-body HTTP/1.1" CRLF HOST "Content-Length: 99999999999" CRLF CRLF);
	while (strchr(server.events, 'g') == NULL) {
		n = send(client.fd, bytes, 4 * MIB, MSG_NOSIGNAL | MSG_DONTWAIT);
		assert_true(n > 0 || errno == EAGAIN);
		settle(&server);
	}
	assert_string_equal(server.events, "hbg");
	client_close(&client);
	server_stop(&server);
}

static void head_of_a_stream_reads_nothing(void **state)
{
	struct server server;
	struct client client;

	(void)state;
	server_start(&server, NULL);
	server.endless = 100;
	client_connect(&client, &server);
	client_send(&client, "HEAD /stream HTTP/1.1" CRLF HOST CRLF);
	WAIT(&server, strcmp(server.events, "hcG") == 0 && client_has(&client, CRLF CRLF));
	assert_int_equal(server.endless, 100);
	assert_int_equal(server.source_closed, 1);
	client_close(&client);
	server_stop(&server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(streams_in_chunks_as_they_come),
		cmocka_unit_test(ready_may_come_at_any_time),
		cmocka_unit_test(streams_a_size_that_is_known),
		cmocka_unit_test(a_broken_stream_cuts_the_connection),
		cmocka_unit_test(a_slow_reader_holds_the_source_back),
		cmocka_unit_test(tells_when_a_waiting_client_leaves),
		cmocka_unit_test(tells_when_a_client_leaves_a_silent_stream),
		cmocka_unit_test(a_reset_ends_an_exchange_that_waits),
		cmocka_unit_test(a_client_that_closed_its_end_is_answered),
		cmocka_unit_test(a_stream_may_begin_before_the_body_was_read),
		cmocka_unit_test(an_endless_body_before_a_stream_is_cut),
		cmocka_unit_test(head_of_a_stream_reads_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
