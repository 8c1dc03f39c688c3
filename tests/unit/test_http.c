// SPDX-License-Identifier: Apache-2.0

#include "http_fixture.h"

static void answers_and_keeps_the_connection(void **state)
{
	struct server server;
	struct client client;

	(void)state;
	server_start(&server, NULL);
	client_connect(&client, &server);
	client_send(&client, GET("/now"));
	WAIT(&server, client_has(&client, "hello"));
	assert_contains(buf_string(&client.got), "HTTP/1.1 200 OK" CRLF);
	assert_contains(buf_string(&client.got), "Content-Length: 5" CRLF);
	assert_contains(buf_string(&client.got), "X-Test: yes" CRLF);
	assert_contains(buf_string(&client.got), "Content-Type: text/plain" CRLF);
	assert_int_equal(http_connections(server.http), 1);

	client.got.size = 0;
	client_send(&client, GET("/now"));
	WAIT(&server, client_has(&client, "hello"));
	assert_string_equal(server.events, "hcGhcG");
	client_close(&client);
	WAIT(&server, http_connections(server.http) == 0);
	server_stop(&server);
}

static void answers_on_a_unix_socket_and_knows_its_peer(void **state)
{
	struct server server;
	struct client client;
	struct stat file;
	uid_t uid = (uid_t)-1;

	(void)state;
	server_start(&server, NULL);
	assert_int_equal(stat(server.unix_path, &file), 0);
	assert_int_equal(file.st_mode & 07777, 0660);
	client_connect_unix(&client, &server);
	client_send(&client, GET("/later"));
	WAIT(&server, strcmp(server.events, "hc") == 0);
	assert_true(http_is_unix(server.request));
	assert_true(http_peer_uid(server.request, &uid));
	assert_int_equal(uid, getuid());
	answer(server.request, 200, "later");
	WAIT(&server, client_has(&client, "later"));
	client_close(&client);
	server_stop(&server);
	assert_int_equal(stat(server.unix_path, &file), -1);
}

static void tells_method_path_query_and_headers(void **state)
{
	struct server server;
	struct client client;
	uid_t uid = 0;

	(void)state;
	server_start(&server, NULL);
	client_connect(&client, &server);
	client_send(&client, "DELETE /a%2Fb?x=1&y=a+b%21&x=2&flag&=&%zz=%4 HTTP/1.1" CRLF HOST
			     "aCCept: text/plain" CRLF CRLF);
	WAIT(&server, strcmp(server.events, "hc") == 0);
	assert_string_equal(http_method(server.request), "DELETE");
	assert_string_equal(http_path(server.request), "/a%2Fb");
	assert_string_equal(http_query(server.request, "x"), "1");
	assert_string_equal(http_query(server.request, "y"), "a b!");
	assert_string_equal(http_query(server.request, "flag"), "");
	assert_string_equal(http_query(server.request, "%zz"), "%4");
	assert_null(http_query(server.request, "z"));
	assert_string_equal(http_header(server.request, "Accept"), "text/plain");
	assert_null(http_header(server.request, "Cookie"));
	assert_int_equal(http_body_size(server.request), 0);
	assert_false(http_is_unix(server.request));
	assert_false(http_peer_uid(server.request, &uid));
	answer(server.request, 204, "");
	WAIT(&server, client_has(&client, "204 No Content"));
	client_close(&client);
	server_stop(&server);
}

static bool count_two(void *user, const char *name, const char *value)
{
	int *count = user;

	assert_string_equal(name, "x");
	assert_int_equal(value[0], '1' + *count);
	return ++*count < 2;
}

static void goes_through_the_query_until_told_to_stop(void **state)
{
	struct server server;
	struct client client;
	int count = 0;

	(void)state;
	server_start(&server, NULL);
	client_connect(&client, &server);
	client_send(&client, GET("/later?x=1&x=2&x=3"));
	WAIT(&server, strcmp(server.events, "hc") == 0);
	http_each_query(server.request, count_two, &count);
	assert_int_equal(count, 2);
	client_close(&client);
	server_stop(&server);
}

static void reads_a_body_of_known_length(void **state)
{
	struct server server;

	(void)state;
	server_start(&server, NULL);
	ask(&server, "POST /echo HTTP/1.1" CRLF HOST "Content-Length: 5" CRLF CRLF "bytes",
	    CRLF CRLF "bytes");
	assert_string_equal(server.events, "hbcG");
	server_stop(&server);
}

static void reads_a_chunked_body_byte_by_byte(void **state)
{
	static const char request[] =
		"POST /echo HTTP/1.1" CRLF HOST "Transfer-Encoding: chunked" CRLF CRLF
		"4;ext=1" CRLF "chun" CRLF "00a" CRLF "ked bodies" CRLF "0" CRLF
		"Trailer: x" CRLF CRLF;
	struct server server;
	struct client client;

	(void)state;
	server_start(&server, NULL);
	client_connect(&client, &server);
	for (size_t i = 0; i + 1 < sizeof(request); i++) {
		client_send_bytes(&client, request + i, 1);
		settle(&server);
	}
	WAIT(&server, client_has(&client, CRLF CRLF "chunked bodies"));
	assert_int_equal(server.events[strlen(server.events) - 1], 'G');
	client_close(&client);
	server_stop(&server);
}

static void holds_a_client_back_until_resumed(void **state)
{
	enum {
		SIZE = 8 * 1024 * 1024
	};
	AUTO_FREE char *bytes = xcalloc(SIZE, 1);
	struct server server;
	struct client client;
	size_t sent = 0;
	ssize_t n;

	(void)state;
	server_start(&server, NULL);
	client_connect(&client, &server);
	client_send(&client, "PUT /hold HTTP/1.1" CRLF HOST "Content-Length: 8388608" CRLF CRLF);
	while ((n = send(client.fd, bytes + sent, SIZE - sent, MSG_DONTWAIT)) > 0) {
		sent += (size_t)n;
		settle(&server);
	}
	assert_true(sent < SIZE);
	assert_string_equal(server.events, "hb"); /* asked once, then left alone */
	assert_true(server.largest < 64 * KIB);

	server.take = SIZE;
	http_resume(server.request);
	client_send_bytes(&client, bytes + sent, SIZE - sent);
	WAIT(&server, strchr(server.events, 'c') != NULL || server.body.size == SIZE);
	WAIT(&server, server.body.size == SIZE);
	answer(server.request, 200, "all of it");
	WAIT(&server, client_has(&client, "all of it"));
	client_close(&client);
	server_stop(&server);
}

static void a_body_may_be_taken_in_sips(void **state)
{
	struct server server;

	(void)state;
	server_start(&server, NULL);
	server.take = 3;
	ask(&server, "POST /sip HTTP/1.1" CRLF HOST "Content-Length: 10" CRLF CRLF "0123456789",
	    CRLF CRLF "0123456789");
	assert_string_equal(server.events, "hbbbbcG");
	server_stop(&server);
}

static void asks_for_the_body_only_when_it_is_wanted(void **state)
{
	struct server server;
	struct client client;

	(void)state;
	server_start(&server, NULL);
	client_connect(&client, &server);
	client_send(&client, "POST /echo HTTP/1.1" CRLF HOST "Content-Length: 4" CRLF
			     "Expect: 100-continue" CRLF CRLF);
	WAIT(&server, client_has(&client, "HTTP/1.1 100 Continue" CRLF CRLF));
	client_send(&client, "body");
	WAIT(&server, client_has(&client, CRLF CRLF "body"));
	client_close(&client);

	client_connect(&client, &server);
	client_send(&client, "POST /refuse HTTP/1.1" CRLF HOST "Content-Length: 4" CRLF
			     "Expect: 100-continue" CRLF CRLF);
	WAIT(&server, client_has(&client, "refused in the head"));
	assert_false(client_has(&client, "100 Continue"));
	assert_contains(buf_string(&client.got), "403 Forbidden");
	assert_contains(buf_string(&client.got), "Connection: close");
	client_close(&client);
	server_stop(&server);
}

/* The client writes all of its large body before it reads: a reset would take the answer away. */
static void an_early_answer_arrives_before(const char *path, const char *expect)
{
	enum {
		SIZE = 16 * 1024 * 1024
	};
	AUTO_FREE char *bytes = xcalloc(SIZE, 1);
	struct server server;
	struct client client;
	char head[128];

	server_start(&server, NULL);
	client_connect(&client, &server);
	(void)uv_poll_stop(&client.poll);
	(void)snprintf(head, sizeof(head),
		       "POST %s HTTP/1.1" CRLF HOST "Content-Length: 16777216" CRLF CRLF, path);
	client_send(&client, head);
	client_send_bytes(&client, bytes, SIZE);
	client_read(&client);
	WAIT(&server, client_is_over(&client));
	assert_true(client.is_ended);
	assert_contains(buf_string(&client.got), expect);
	assert_contains(buf_string(&client.got), "Connection: close");
	assert_int_equal(server.events[strlen(server.events) - 1], 'G');
	client_close(&client);
	WAIT(&server, http_connections(server.http) == 0);
	server_stop(&server);
}

static void an_answer_in_the_head_arrives_before_a_large_body(void **state)
{
	(void)state;
	an_early_answer_arrives_before("/refuse", "refused in the head");
}

static void an_answer_in_the_body_arrives_before_the_rest(void **state)
{
	(void)state;
	an_early_answer_arrives_before("/refuse-body", "refused in the body");
}

static void a_held_body_can_be_refused_later(void **state)
{
	struct server server;
	struct client client;

	(void)state;
	server_start(&server, NULL);
	client_connect(&client, &server);
	client_send(&client, "PUT /hold HTTP/1.1" CRLF HOST "Content-Length: 100" CRLF CRLF "x");
	WAIT(&server, strcmp(server.events, "hb") == 0);
	answer(server.request, 409, "no longer");
	WAIT(&server, client_has(&client, "no longer"));
	WAIT(&server, strcmp(server.events, "hbG") == 0);
	client_close(&client);
	server_stop(&server);
}

static void a_body_that_is_awaited_can_be_refused_later(void **state)
{
	struct server server;
	struct client client;

	(void)state;
	server_start(&server, NULL);
	client_connect(&client, &server);
	client_send(&client, "PUT /echo HTTP/1.1" CRLF HOST "Content-Length: 100" CRLF CRLF "x");
	WAIT(&server, strcmp(server.events, "hb") == 0);
	answer(server.request, 409, "no longer");
	WAIT(&server, client_has(&client, "no longer"));
	client_send(&client, "more");
	WAIT(&server, strcmp(server.events, "hbG") == 0);
	WAIT(&server, client.is_ended);
	client_close(&client);
	WAIT(&server, http_connections(server.http) == 0);
	server_stop(&server);
}

static void answers_pipelined_requests_in_order(void **state)
{
	struct server server;
	struct client client;

	(void)state;
	server_start(&server, NULL);
	client_connect(&client, &server);
	client_send(&client, GET("/later") "POST /echo HTTP/1.1" CRLF HOST
					   "Content-Length: 6" CRLF CRLF "second" GET("/now"));
	WAIT(&server, strcmp(server.events, "hc") == 0);
	settle(&server);
	assert_string_equal(server.events, "hc");
	answer(server.request, 200, "first");
	WAIT(&server, client_has(&client, "hello"));
	assert_contains(strstr(buf_string(&client.got), "first"), "second");
	assert_contains(strstr(buf_string(&client.got), "second"), "hello");
	client_close(&client);
	server_stop(&server);
}

static void head_has_the_length_and_no_body(void **state)
{
	struct server server;
	struct client client;

	(void)state;
	server_start(&server, NULL);
	client_connect(&client, &server);
	client_send(&client, "HEAD /now HTTP/1.1" CRLF HOST CRLF GET("/refuse"));
	WAIT(&server, client_has(&client, "refused in the head"));
	assert_contains(buf_string(&client.got), "Content-Length: 5" CRLF);
	assert_false(client_has(&client, "hello"));
	client_close(&client);
	server_stop(&server);
}

static void a_large_answer_arrives_whole(void **state)
{
	enum {
		SIZE = 20 * 1024 * 1024
	};
	AUTO_FREE char *text = xcalloc(SIZE + 1, 1);
	struct server server;
	struct client client;

	(void)state;
	memset(text, 'a', SIZE);
	text[SIZE - 1] = 'z';
	server_start(&server, NULL);
	client_connect(&client, &server);
	client_send(&client, GET("/later"));
	WAIT(&server, strcmp(server.events, "hc") == 0);
	answer(server.request, 200, text);
	WAIT(&server, strcmp(server.events, "hcG") == 0 && client.got.size > SIZE);
	assert_int_equal(client.got.data[client.got.size - 1], 'z');
	assert_contains(buf_string(&client.got), "Content-Length: 20971520");
	client_close(&client);
	server_stop(&server);
}

static void a_second_answer_is_dropped(void **state)
{
	struct server server;
	struct client client;

	(void)state;
	server_start(&server, NULL);
	client_connect(&client, &server);
	client_send(&client, GET("/later"));
	WAIT(&server, strcmp(server.events, "hc") == 0);
	answer(server.request, 200, "one");
	answer(server.request, 500, "two");
	stream(&server, server.request, -1);
	assert_int_equal(server.source_closed, 1);
	WAIT(&server, strcmp(server.events, "hcG") == 0);
	settle(&server);
	assert_contains(buf_string(&client.got), "one");
	assert_false(client_has(&client, "two"));
	client_close(&client);
	server_stop(&server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_and_keeps_the_connection),
		cmocka_unit_test(answers_on_a_unix_socket_and_knows_its_peer),
		cmocka_unit_test(tells_method_path_query_and_headers),
		cmocka_unit_test(goes_through_the_query_until_told_to_stop),
		cmocka_unit_test(reads_a_body_of_known_length),
		cmocka_unit_test(reads_a_chunked_body_byte_by_byte),
		cmocka_unit_test(holds_a_client_back_until_resumed),
		cmocka_unit_test(a_body_may_be_taken_in_sips),
		cmocka_unit_test(asks_for_the_body_only_when_it_is_wanted),
		cmocka_unit_test(an_answer_in_the_head_arrives_before_a_large_body),
		cmocka_unit_test(an_answer_in_the_body_arrives_before_the_rest),
		cmocka_unit_test(a_held_body_can_be_refused_later),
		cmocka_unit_test(a_body_that_is_awaited_can_be_refused_later),
		cmocka_unit_test(answers_pipelined_requests_in_order),
		cmocka_unit_test(head_has_the_length_and_no_body),
		cmocka_unit_test(a_large_answer_arrives_whole),
		cmocka_unit_test(a_second_answer_is_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
