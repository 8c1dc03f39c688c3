// SPDX-License-Identifier: Apache-2.0

#include "http_fixture.h"

#define POST "POST /echo HTTP/1.1" CRLF
#define CHUNKS "1" CRLF "x" CRLF "0" CRLF CRLF
#define SMUGGLED GET("/now")

struct bad {
	const char *what;
	const char *bytes;
	size_t size;
	const char *status;
};
#define BAD(what, bytes, status)                                                                   \
	{                                                                                          \
		what, bytes, sizeof(bytes) - 1, status                                             \
	}

static const struct bad bad[] = {
	BAD("two lengths that agree",
	    POST HOST "Content-Length: 1" CRLF "Content-Length: 1" CRLF CRLF "x" SMUGGLED, "400"),
	BAD("two lengths that differ",
	    POST HOST "Content-Length: 1" CRLF "Content-Length: 30" CRLF CRLF "x" SMUGGLED, "400"),
	BAD("a list of lengths", POST HOST "Content-Length: 1, 1" CRLF CRLF "x" SMUGGLED, "400"),
	BAD("a length with a sign", POST HOST "Content-Length: +1" CRLF CRLF "x" SMUGGLED, "400"),
	BAD("a length below zero", POST HOST "Content-Length: -1" CRLF CRLF "x" SMUGGLED, "400"),
	BAD("a length in hex", POST HOST "Content-Length: 0x1" CRLF CRLF "x" SMUGGLED, "400"),
	BAD("an empty length", POST HOST "Content-Length:" CRLF CRLF "x" SMUGGLED, "400"),
	BAD("a length above 2^63",
	    POST HOST "Content-Length: 9223372036854775808" CRLF CRLF "x" SMUGGLED, "400"),
	BAD("a length above 2^64",
	    POST HOST "Content-Length: 99999999999999999999" CRLF CRLF "x" SMUGGLED, "400"),
	BAD("a length, then chunks",
	    POST HOST "Content-Length: 1" CRLF
		      "Transfer-Encoding: chunked" CRLF CRLF CHUNKS SMUGGLED,
	    "400"),
	BAD("chunks, then a length",
	    POST HOST "Transfer-Encoding: chunked" CRLF
		      "Content-Length: 1" CRLF CRLF CHUNKS SMUGGLED,
	    "400"),
	BAD("chunked twice",
	    POST HOST "Transfer-Encoding: chunked" CRLF
		      "Transfer-Encoding: chunked" CRLF CRLF CHUNKS SMUGGLED,
	    "400"),
	BAD("a coding that is hidden behind another",
	    POST HOST "Transfer-Encoding: identity" CRLF
		      "Transfer-Encoding: chunked" CRLF CRLF CHUNKS SMUGGLED,
	    "400"),
	BAD("another coding", POST HOST "Transfer-Encoding: gzip" CRLF CRLF CHUNKS SMUGGLED, "501"),
	BAD("two codings in one",
	    POST HOST "Transfer-Encoding: gzip, chunked" CRLF CRLF CHUNKS SMUGGLED, "501"),
	BAD("a coding that is almost one",
	    POST HOST "Transfer-Encoding: xchunked" CRLF CRLF CHUNKS SMUGGLED, "501"),
	BAD("a coding behind a vertical tab",
	    POST HOST "Transfer-Encoding: \vchunked" CRLF CRLF CHUNKS SMUGGLED, "400"),
	BAD("chunks in HTTP/1.0",
	    "POST /echo HTTP/1.0" CRLF HOST "Transfer-Encoding: chunked" CRLF CRLF CHUNKS, "400"),
	BAD("a blank before the colon", POST HOST "Content-Length : 1" CRLF CRLF "x" SMUGGLED,
	    "400"),
	BAD("a tab before the colon",
	    POST HOST "Transfer-Encoding\t: chunked" CRLF CRLF CHUNKS SMUGGLED, "400"),
	BAD("a bare LF after the first line", "GET /now HTTP/1.1\n" HOST CRLF, "400"),
	BAD("a bare LF after a header", "GET /now HTTP/1.1" CRLF "Host: test\nA: b" CRLF CRLF,
	    "400"),
	BAD("a bare LF at the end", "GET /now HTTP/1.1" CRLF HOST "\n", "400"),
	BAD("bare LFs only", "GET /now HTTP/1.1\nHost: test\n\n", "400"),
	BAD("a bare LF after the last header", "GET /now HTTP/1.1" CRLF "Host: test\n" CRLF, "400"),
	BAD("a bare CR in a value", "GET /now HTTP/1.1" CRLF HOST "A: b\rC: d" CRLF CRLF, "400"),
	BAD("a bare CR in a name", "GET /now HTTP/1.1" CRLF HOST "A\rB: b" CRLF CRLF, "400"),
	BAD("a CR too many", "GET /now HTTP/1.1\r" CRLF HOST CRLF, "400"),
	BAD("a folded header", "GET /now HTTP/1.1" CRLF HOST "A: b" CRLF " c" CRLF CRLF, "400"),
	BAD("a folded length", POST HOST "Content-Length:" CRLF "\t1" CRLF CRLF "x" SMUGGLED,
	    "400"),
	BAD("a fold at the very first", "GET /now HTTP/1.1" CRLF " A: b" CRLF HOST CRLF, "400"),
	BAD("a NUL in a value", "GET /now HTTP/1.1" CRLF HOST "A: b\0c" CRLF CRLF, "400"),
	BAD("a NUL at the end of a value", "GET /now HTTP/1.1" CRLF HOST "A: b\0" CRLF CRLF, "400"),
	BAD("a NUL in a name", "GET /now HTTP/1.1" CRLF HOST "A\0B: b" CRLF CRLF, "400"),
	BAD("a NUL in the target", "GET /now\0/../x HTTP/1.1" CRLF HOST CRLF, "400"),
	BAD("a header without a colon", "GET /now HTTP/1.1" CRLF HOST "A" CRLF CRLF, "400"),
	BAD("a header without a name", "GET /now HTTP/1.1" CRLF HOST ": b" CRLF CRLF, "400"),
	BAD("a name that is no token", "GET /now HTTP/1.1" CRLF HOST "A(b): c" CRLF CRLF, "400"),
	BAD("no host", "GET /now HTTP/1.1" CRLF CRLF, "400"),
	BAD("two hosts", "GET /now HTTP/1.1" CRLF HOST "Host: other" CRLF CRLF, "400"),
	BAD("two hosts in two cases", "GET /now HTTP/1.1" CRLF HOST "hOST: test" CRLF CRLF, "400"),
	BAD("two hosts in HTTP/1.0", "GET /now HTTP/1.0" CRLF HOST HOST CRLF, "400"),
	BAD("two blanks before the target", "GET  /now HTTP/1.1" CRLF HOST CRLF, "400"),
	BAD("two blanks behind it", "GET /now  HTTP/1.1" CRLF HOST CRLF, "400"),
	BAD("a blank in the target", "GET /n ow HTTP/1.1" CRLF HOST CRLF, "400"),
	BAD("a blank behind the version", "GET /now HTTP/1.1 " CRLF HOST CRLF, "400"),
	BAD("a method that is no token", "G(T /now HTTP/1.1" CRLF HOST CRLF, "400"),
	BAD("a target in full", "GET http://other/now HTTP/1.1" CRLF HOST CRLF, "400"),
	BAD("a target that is no path", "GET now HTTP/1.1" CRLF HOST CRLF, "400"),
	BAD("a fragment", "GET /now#here HTTP/1.1" CRLF HOST CRLF, "400"),
	BAD("a byte that is not ASCII", "GET /n\xc3\xb6w HTTP/1.1" CRLF HOST CRLF, "400"),
	BAD("an escaped NUL", "GET /now%00.txt HTTP/1.1" CRLF HOST CRLF, "400"),
	BAD("an escaped NUL in the query", "GET /now?a=%00 HTTP/1.1" CRLF HOST CRLF, "400"),
	BAD("another expectation", POST HOST "Expect: 200-ok" CRLF "Content-Length: 1" CRLF CRLF,
	    "417"),
	BAD("no version", "GET /now" CRLF HOST CRLF, "400"),
	BAD("a version of the future", "GET /now HTTP/2.0" CRLF HOST CRLF, "505"),
	BAD("no request at all", "\x16\x03\x01\x02" CRLF CRLF, "400"),
	BAD("a word", "hello" CRLF CRLF, "400"),
};

static bool is_one_answer(struct client *client)
{
	const char *got = buf_string(&client->got);

	return strncmp(got, "HTTP/1.1 ", 9) == 0 && strstr(got + 1, "HTTP/1.1 ") == NULL;
}

/* Refused once, closed, and nothing behind it is taken for a request of its own. */
static void refuses_what_two_readers_may_read_differently(void **state)
{
	struct server server;

	(void)state;
	server_start(&server, NULL);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct client client;
		char status[32];

		client_connect(&client, &server);
		client_send_bytes(&client, bad[i].bytes, bad[i].size);
		WAIT(&server, client_is_over(&client));
		(void)snprintf(status, sizeof(status), "HTTP/1.1 %s ", bad[i].status);
		if (strncmp(buf_string(&client.got), status, strlen(status)) != 0)
			fail_msg("%s: %s", bad[i].what, buf_string(&client.got));
		if (!client.is_ended || !is_one_answer(&client) || server.events[0] != '\0')
			fail_msg("%s: %s, events %s", bad[i].what, buf_string(&client.got),
				 server.events);
		client_close(&client);
	}
	WAIT(&server, http_connections(server.http) == 0);
	server_stop(&server);
}

static void a_refusal_says_why_in_json(void **state)
{
	struct server server;

	(void)state;
	server_start(&server, NULL);
	ask(&server, "GET /now HTTP/1.1" CRLF HOST HOST CRLF,
	    CRLF CRLF "{\"error\":{\"kind\":\"bad_request\",\"message\":"
		      "\"a request has exactly one Host header\"}}\n");
	server_stop(&server);
}

static void takes_what_is_unusual_but_clear(void **state)
{
	static const char *const good[] = {
		"GET /now HTTP/1.0" CRLF CRLF,
		"GET /now HTTP/1.0" CRLF "A:" CRLF "B: \t " CRLF CRLF,
		CRLF "GET /now HTTP/1.1" CRLF HOST CRLF,
		"GET /now HTTP/1.1" CRLF "host:test" CRLF "A: " CRLF "B:c" CRLF "C:  d " CRLF CRLF,
		"GET /now? HTTP/1.1" CRLF HOST CRLF,
		"GET /now?a=b&c=%41&d=e=f HTTP/1.1" CRLF HOST "Cookie: a=b; c=d" CRLF CRLF,
		"POST /now HTTP/1.1" CRLF HOST "Content-Length: 0" CRLF CRLF,
		"POST /now HTTP/1.1" CRLF HOST "transfer-encoding: CHUNKED" CRLF CRLF CHUNKS,
		"M-SEARCH /now HTTP/1.1" CRLF HOST CRLF,
		"GET /now HTTP/1.1" CRLF HOST "A: \xc3\xa4" CRLF CRLF,
	};
	struct server server;

	(void)state;
	server_start(&server, NULL);
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		ask(&server, good[i], "hello");
	server_stop(&server);
}

/* Some readers see an end of the body where libmicrohttpd sees none, or the other way round. */
static void takes_nothing_behind_chunks_for_a_request(void **state)
{
	static const char *const chunks[] = {
		CHUNKS,
		"1\nx\n0\n\n",
		"1;a\nx" CRLF "0" CRLF CRLF,
		"1;a\rb" CRLF "x" CRLF "0" CRLF CRLF,
		"1" CRLF "x" CRLF "0" CRLF "A: b\n" CRLF,
	};
	struct server server;

	(void)state;
	server_start(&server, NULL);
	for (size_t i = 0; i < ARRAY_LEN(chunks); i++) {
		struct client client;
		char request[256];

		(void)snprintf(request, sizeof(request),
			       POST HOST "Transfer-Encoding: chunked" CRLF CRLF "%s" SMUGGLED,
			       chunks[i]);
		client_connect(&client, &server);
		client_send(&client, request);
		WAIT(&server, client_is_over(&client));
		if (!client.is_ended || !is_one_answer(&client) || client_has(&client, "hello"))
			fail_msg("%s: %s", chunks[i], buf_string(&client.got));
		assert_true(client_has(&client, "Connection: close" CRLF));
		client_close(&client);
	}
	server_stop(&server);
}

static void refuses_chunks_that_are_none(void **state)
{
	static const char *const chunks[] = {
		"zz" CRLF, "-1" CRLF,          "0x1" CRLF "x" CRLF, " 1" CRLF "x" CRLF,
		CRLF,      "1" CRLF "xy" CRLF, "1 " CRLF "x" CRLF,  ";a" CRLF,
	};
	struct server server;

	(void)state;
	server_start(&server, NULL);
	for (size_t i = 0; i < ARRAY_LEN(chunks); i++) {
		char request[256];

		(void)snprintf(request, sizeof(request),
			       POST HOST "Transfer-Encoding: chunked" CRLF CRLF "%s", chunks[i]);
		ask(&server, request, "HTTP/1.1 400 ");
	}
	ask(&server, POST HOST "Transfer-Encoding: chunked" CRLF CRLF "fffffffffffffffff" CRLF,
	    "HTTP/1.1 413 ");
	assert_null(strchr(server.events, 'c'));
	assert_null(strchr(server.events, 'G'));
	server_stop(&server);
}

static void refuses_headers_that_are_too_large(void **state)
{
	const struct http_settings settings = {.header_max = 8 * KIB};
	struct server server;
	char large[128 * 1024];

	(void)state;
	server_start(&server, &settings);
	/* Ours, then libmicrohttpd's own limit, which it may meet in the first line. */
	for (size_t size = 9000; size < sizeof(large); size *= 3) {
		int n = snprintf(large, sizeof(large), "GET /now HTTP/1.1" CRLF HOST "A: ");

		memset(large + n, 'a', size - (size_t)n);
		(void)snprintf(large + size - 5, 6, CRLF CRLF);
		ask(&server, large, "HTTP/1.1 431 ");
	}
	memset(large, 'a', sizeof(large));
	memcpy(large, "GET /now?", 9);
	large[sizeof(large) - 1] = '\0';
	ask(&server, large, "HTTP/1.1 414 ");
	large[7000] = '\0';
	(void)snprintf(large + 7000, 100, " HTTP/1.1" CRLF HOST CRLF);
	ask(&server, large, "HTTP/1.1 200 ");
	server_stop(&server);
}

static void refuses_more_headers_than_fit(void **state)
{
	struct server server;
	struct buf request;

	(void)state;
	server_start(&server, NULL);
	buf_init(&request, MIB);
	assert_int_equal(buf_text(&request, "GET /now HTTP/1.1" CRLF HOST), 0);
	for (int i = 0; i < 3000; i++)
		assert_int_equal(buf_text(&request, "A:b" CRLF), 0);
	assert_int_equal(buf_text(&request, CRLF), 0);
	ask(&server, buf_string(&request), "HTTP/1.1 431 ");
	buf_done(&request);
	server_stop(&server);
}

/* Every cut of a request ends the same way: nothing is answered, nothing is left. */
static void a_client_may_disconnect_at_any_byte(void **state)
{
	static const char request[] =
		"POST /later HTTP/1.1" CRLF HOST "Transfer-Encoding: chunked" CRLF CRLF CHUNKS;
	struct server server;

	(void)state;
	server_start(&server, NULL);
	for (size_t size = 0; size < sizeof(request); size++) {
		struct client client;

		server.events[0] = '\0';
		client_connect(&client, &server);
		WAIT(&server, http_connections(server.http) == 1);
		client_send_bytes(&client, request, size);
		settle(&server);
		client_close(&client);
		if (size + 1 == sizeof(request)) {
			WAIT(&server, strchr(server.events, 'l') != NULL);
			answer(server.request, 200, "nobody");
		}
		WAIT(&server, http_connections(server.http) == 0);
		assert_int_equal(strchr(server.events, 'h') != NULL,
				 strpbrk(server.events, "gG") != NULL);
	}
	server_stop(&server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses_what_two_readers_may_read_differently),
		cmocka_unit_test(a_refusal_says_why_in_json),
		cmocka_unit_test(takes_what_is_unusual_but_clear),
		cmocka_unit_test(takes_nothing_behind_chunks_for_a_request),
		cmocka_unit_test(refuses_chunks_that_are_none),
		cmocka_unit_test(refuses_headers_that_are_too_large),
		cmocka_unit_test(refuses_more_headers_than_fit),
		cmocka_unit_test(a_client_may_disconnect_at_any_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
