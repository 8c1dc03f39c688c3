// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <unistd.h>

#include "access_unit.h"

static const char with_tokens[] = "tokens:\n"
				  "  - {name: alice, sha256: " ALICE "}\n"
				  "  - {name: bob, sha256: " BOB "}\n"
				  "hosts: [My.Host, \"proxy.example:8443\", 192.0.2.7, "
				  "\"[2001:db8::7]\"]\n";

static int make_open(void **state)
{
	return desk_make(state, "hosts: [my.host, localhost]\n"
				"origins: [\"http://localhost:3000\", \"https://App.example\"]\n");
}

static int make_with_tokens(void **state)
{
	return desk_make(state, with_tokens);
}

static int check(const struct desk *desk, const struct access_request *request,
		 struct op_caller *ret_caller)
{
	struct err err = {0};
	int r = access_check(desk->access, request, ret_caller, &err);

	if (r == 0)
		return 0;
	assert_true(err.text[0] != '\0');
	return err.kind == ERR_UNAUTHORIZED ? 401 : err.kind == ERR_FORBIDDEN ? 403 : -1;
}

static int check_host(const struct desk *desk, const char *host)
{
	struct access_request request = good();
	struct op_caller caller = {0};

	request.host = host;
	return check(desk, &request, &caller);
}

static int check_origin(const struct desk *desk, const char *host, const char *origin)
{
	struct access_request request = good();
	struct op_caller caller = {0};

	request.host = host;
	request.origin = origin;
	return check(desk, &request, &caller);
}

static int check_bearer(const struct desk *desk, const char *authorization, const char **ret_name)
{
	struct access_request request = good();
	struct op_caller caller = {0};
	int r;

	request.authorization = authorization;
	r = check(desk, &request, &caller);
	if (r == 0)
		*ret_name = caller.name;
	return r;
}

static void without_tokens_this_machine_may_call(void **state)
{
	static const char *const local[] = {"127.0.0.1", "127.9.8.7", "::1", "::ffff:127.0.0.1",
					    NULL};
	static const char *const remote[] = {"192.0.2.1", "::ffff:192.0.2.1", "2001:db8::1",
					     "0.0.0.0",   "fe80::1%eth0",     "localhost",
					     "",          "127.0.0.1.evil",   "::1]"};

	for (size_t i = 0; i < ARRAY_LEN(local); i++) {
		struct access_request request = good();
		struct op_caller caller = {0};

		request.peer = local[i];
		request.authorization = "Bearer whatever";
		assert_int_equal(check(*state, &request, &caller), 0);
		assert_null(caller.token);
		assert_string_equal(caller.name, "");
		assert_string_equal(caller.peer, local[i] != NULL ? local[i] : "unix");
	}
	for (size_t i = 0; i < ARRAY_LEN(remote); i++) {
		struct access_request request = good();
		struct op_caller caller = {0};

		request.peer = remote[i];
		assert_int_equal(check(*state, &request, &caller), 401);
	}
}

static void a_host_is_loopback_or_listed(void **state)
{
	static const char *const fine[] = {
		"localhost",      "localhost:1",        "LOCALHOST:65535", "localhost.:80",
		"127.0.0.1:7878", "127.1.2.3",          "[::1]",           "[::1]:7878",
		"[0:0::1]",       "[::ffff:127.0.0.1]", "my.host",         "MY.HOST:1234",
		"my.host."};
	static const char *const bad[] = {"evil.example",
					  "my.host.evil.example",
					  "evil.my.host",
					  "localhost.evil.example",
					  "notlocalhost",
					  "127.0.0.1.evil.example",
					  "192.0.2.7",
					  "0.0.0.0:7878",
					  "[::]",
					  "[::2]:7878",
					  "10.0.0.1",
					  "localhost:",
					  "localhost:0",
					  "localhost:65536",
					  "localhost:80:80",
					  "localhost:8a",
					  "localhost:+80",
					  "localhost:000080",
					  "",
					  ":7878",
					  "@localhost",
					  "evil.example@localhost",
					  "localhost/",
					  "localhost ",
					  " localhost",
					  "localhost,evil.example",
					  "[::1",
					  "::1",
					  "[::1]x",
					  "[::1%lo]",
					  "[127.0.0.1]",
					  "[]",
					  "localhost..",
					  "2130706433",
					  "0x7f000001",
					  "127.1",
					  ".",
					  ".localhost",
					  "local\thost",
					  "loc\xc3\xa1lhost",
					  "localhost\x01",
					  "xn--localhost",
					  "\xff"};

	for (size_t i = 0; i < ARRAY_LEN(fine); i++) {
		if (check_host(*state, fine[i]) != 0)
			fail_msg("refused: %s", fine[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		if (check_host(*state, bad[i]) != 403)
			fail_msg("taken: %s", bad[i]);
	}
	assert_int_equal(check_host(*state, NULL), 403);
}

static void a_host_of_any_length_is_read(void **state)
{
	char name[2000];

	for (size_t size = 240; size < sizeof(name); size += size < 260 ? 1 : 150) {
		memset(name, 'a', size);
		name[size] = '\0';
		assert_int_equal(check_host(*state, name), 403);
		name[0] = '[';
		assert_int_equal(check_host(*state, name), 403);
	}
}

static void a_listed_port_is_the_only_one(void **state)
{
	const struct desk *desk = *state;
	struct access_request request = {.host = "proxy.example:8443", .peer = "127.0.0.1"};
	struct err err = {0};

	assert_ok(access_check_hosts(desk->access, &request, &err), err);
	request.host = "proxy.example:80";
	assert_int_equal(access_check_hosts(desk->access, &request, &err), -EPERM);
	request.host = "proxy.example";
	assert_int_equal(access_check_hosts(desk->access, &request, &err), -EPERM);
	assert_contains(err.text, "proxy.example");
	assert_contains(err.text, "`hosts`");
	request.host = "192.0.2.7:5";
	assert_ok(access_check_hosts(desk->access, &request, &err), err);
	request.host = "[2001:DB8:0::7]:5";
	assert_ok(access_check_hosts(desk->access, &request, &err), err);
}

static void an_origin_is_that_of_the_host(void **state)
{
	static const struct {
		const char *host, *origin;
		int status;
	} rows[] = {
		{"localhost", "http://localhost", 0},
		{"localhost:80", "http://localhost", 0},
		{"localhost", "https://localhost:443", 0},
		{"localhost:7878", "http://localhost:7878", 0},
		{"LOCALHOST:7878", "http://localhost.:7878", 0},
		{"127.0.0.1:7878", "http://127.0.0.1:7878", 0},
		{"[::1]:7878", "http://[::1]:7878", 0},
		{"my.host", "https://my.host", 0},
		{"my.host:99", "http://my.host:99", 0},
		/* Whatever else listens on this machine. */
		{"localhost:7878", "http://localhost:3001", 403},
		{"localhost:7878", "http://localhost", 403},
		{"localhost:7878", "https://localhost", 403},
		{"localhost", "http://localhost:7878", 403},
		{"127.0.0.1:7878", "http://127.0.0.1:7879", 403},
		{"127.0.0.1:7878", "http://127.0.0.2:7878", 403},
		{"127.0.0.1:7878", "http://localhost:7878", 403},
		{"localhost:7878", "http://[::1]:7878", 403},
		{"evil.example", "http://evil.example", 403},
		{"evil.example", "http://localhost", 403},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (check_origin(*state, rows[i].host, rows[i].origin) != rows[i].status)
			fail_msg("%s, %s", rows[i].host, rows[i].origin);
	}
}

static void or_one_that_is_listed(void **state)
{
	static const char *const fine[] = {"https://my.host",        "http://my.host",
					   "http://my.host:80",      "http://localhost:3000",
					   "http://LOCALHOST:3000",  "https://app.example",
					   "https://app.example:443"};
	static const char *const bad[] = {"https://my.host:8443",
					  "http://localhost:3001",
					  "https://localhost:3000",
					  "http://127.0.0.1:3000",
					  "http://app.example",
					  "https://app.example:80",
					  "null",
					  "",
					  "http://",
					  "https://evil.example",
					  "localhost",
					  "file://",
					  "http:localhost",
					  "HTTP//localhost",
					  "http://localhost:3000/",
					  "http://localhost:3000 http://localhost:3000",
					  "http://evil.example@localhost:3000",
					  "chrome-extension://localhost",
					  "ws://localhost:7878",
					  "http://192.0.2.9",
					  "https://localhost.evil.example",
					  "http://localhost:3000#",
					  "http://0.0.0.0"};

	for (size_t i = 0; i < ARRAY_LEN(fine); i++) {
		if (check_origin(*state, "localhost:7878", fine[i]) != 0)
			fail_msg("refused: %s", fine[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		if (check_origin(*state, "localhost:7878", bad[i]) != 403)
			fail_msg("taken: %s", bad[i]);
	}
}

static void what_strangers_load_is_refused_without_an_origin_too(void **state)
{
	static const struct {
		const char *site;
		int r;
	} rows[] = {{NULL, 0},
		    {"same-origin", 0},
		    {"none", 0},
		    {"same-site", -EPERM},
		    {"cross-site", -EPERM},
		    {"", -EPERM}};
	const struct desk *desk = *state;
	struct access_request request = good();
	struct err err = {0};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		request.site = rows[i].site;
		assert_int_equal(access_check_hosts(desk->access, &request, &err), rows[i].r);
	}
	request.origin = "http://localhost:3000";
	request.site = "same-site";
	assert_ok(access_check_hosts(desk->access, &request, &err), err);
}

static void what_was_bound_may_be_named(void **state)
{
	const struct desk *desk = *state;

	assert_int_equal(check_host(desk, "192.0.2.9:7878"), 403);
	access_add_bound(desk->access, "192.0.2.9:7878");
	access_add_bound(desk->access, "unix:/run/x");
	access_add_bound(desk->access, "not an address");
	assert_int_equal(check_host(desk, "192.0.2.9:7878"), 0);
	assert_int_equal(check_host(desk, "192.0.2.10:7878"), 403);
	assert_int_equal(check_origin(desk, "192.0.2.9:7878", "http://192.0.2.9:7878"), 0);
}

/* A page can have a numeric origin of its own, but not ours; and a name is what rebinding needs. */
static void bound_to_all_takes_numbers_but_no_names(void **state)
{
	static const char *const forms[] = {"0.0.0.0:7878", "[::]:7878", ":7878"};

	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		struct desk *desk = *state;

		access_free(desk->access);
		desk->access = access_new(desk->config);
		assert_int_equal(check_host(desk, "198.51.100.4"), 403);
		access_add_bound(desk->access, forms[i]);
		assert_int_equal(check_host(desk, "198.51.100.4:7878"), 0);
		assert_int_equal(check_host(desk, "[2001:db8::4]:7878"), 0);
		assert_int_equal(check_host(desk, "evil.example"), 403);
		assert_int_equal(
			check_origin(desk, "198.51.100.4:7878", "http://198.51.100.4:7878"), 0);
		assert_int_equal(check_origin(desk, "198.51.100.4:7878", "http://203.0.113.6"),
				 403);
		assert_int_equal(check_origin(desk, "localhost", "http://203.0.113.6"), 403);
	}
}

static void a_token_is_known_by_its_secret(void **state)
{
	const struct desk *desk = *state;
	const char *name = NULL;

	assert_int_equal(check_bearer(desk, "Bearer alice-secret", &name), 0);
	assert_string_equal(name, "alice");
	assert_int_equal(check_bearer(desk, "bEARER   bob-secret", &name), 0);
	assert_string_equal(name, "bob");
}

static void anything_else_is_no_token(void **state)
{
	static const char *const bad[] = {"",
					  "Bearer",
					  "Bearer ",
					  "Bearer  ",
					  "Beareralice-secret",
					  "alice-secret",
					  "Basic alice-secret",
					  "Bearer alice-secre",
					  "Bearer alice-secret ",
					  "Bearer alice-secret\x01",
					  "Bearer ALICE-SECRET",
					  "Bearer alice",
					  "Token alice-secret",
					  ("Bearer " ALICE),
					  "Bearer\talice-secret",
					  " Bearer alice-secret"};
	const struct desk *desk = *state;
	const char *name = NULL;
	char longest[5000] = "Bearer ";

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		if (check_bearer(desk, bad[i], &name) != 401)
			fail_msg("taken: %s", bad[i]);
	}
	assert_int_equal(check_bearer(desk, NULL, &name), 401);
	memset(longest + 7, 'a', sizeof(longest) - 8);
	assert_int_equal(check_bearer(desk, longest, &name), 401);
	assert_null(name);
}

static void a_wrong_host_is_told_before_a_wrong_token(void **state)
{
	struct access_request request = good();
	struct op_caller caller = {0};

	request.host = "evil.example";
	request.authorization = "Bearer alice-secret";
	assert_int_equal(check(*state, &request, &caller), 403);
	assert_null(caller.name);
}

static void a_dialect_may_spell_the_token_its_own_way(void **state)
{
	struct access_request request = good();
	struct op_caller caller = {0};

	request.secret = "alice-secret";
	assert_int_equal(check(*state, &request, &caller), 0);
	assert_string_equal(caller.token->name, "alice");
	request.authorization = "Bearer wrong";
	assert_int_equal(check(*state, &request, &caller), 401);
	request.authorization = NULL;
	request.secret = "";
	assert_int_equal(check(*state, &request, &caller), 401);
}

static void a_unix_peer_needs_a_token_but_for_us_and_root(void **state)
{
	struct access_request request = {.host = "anything", .has_uid = true, .uid = geteuid()};
	struct op_caller caller = {0};

	assert_int_equal(check(*state, &request, &caller), 0);
	assert_null(caller.token);
	assert_string_equal(caller.peer, "unix");
	request.uid = 0;
	assert_int_equal(check(*state, &request, &caller), 0);
	request.uid = geteuid() + 1;
	assert_int_equal(check(*state, &request, &caller), 401);
	request.authorization = "Bearer alice-secret";
	assert_int_equal(check(*state, &request, &caller), 0);
	assert_string_equal(caller.name, "alice");

	/* A token that is sent must be right, even if the caller needs none. */
	request.uid = 0;
	request.authorization = "Bearer wrong";
	assert_int_equal(check(*state, &request, &caller), 401);
	request = (struct access_request){.has_uid = false, .uid = 0};
	assert_int_equal(check(*state, &request, &caller), 401);

	/* The same ids say nothing about who is at the other end of TCP. */
	request = good();
	request.has_uid = true;
	request.uid = 0;
	assert_int_equal(check(*state, &request, &caller), 401);
}

static void over_a_unix_socket_only_the_origin_counts(void **state)
{
	struct access_request request = {.has_uid = true, .uid = geteuid()};
	struct op_caller caller = {0};

	assert_int_equal(check(*state, &request, &caller), 0);
	request.host = "\xff";
	assert_int_equal(check(*state, &request, &caller), 0);
	request.origin = "https://evil.example";
	assert_int_equal(check(*state, &request, &caller), 403);
	request.origin = "null";
	assert_int_equal(check(*state, &request, &caller), 403);
	request.origin = "http://localhost";
	assert_int_equal(check(*state, &request, &caller), 403);
	request.origin = "https://my.host";
	assert_int_equal(check(*state, &request, &caller), 0);
	/* A proxy passes on the Host of a page: its own counts, a stranger's name does not. */
	request.host = "localhost:8080";
	request.origin = "http://localhost:8080";
	assert_int_equal(check(*state, &request, &caller), 0);
	request.host = "evil.example:8080";
	request.origin = "http://evil.example:8080";
	assert_int_equal(check(*state, &request, &caller), 403);
}

static void beyond_this_machine_a_token_is_a_must(void **state)
{
	struct desk *desk = *state;
	struct err err = {0};

	assert_int_equal(access_may_listen(desk->config, "0.0.0.0:7878", false, &err), -EPERM);
	assert_contains(err.text, "viv token new NAME");
	assert_contains(err.text, "0.0.0.0:7878");
	assert_ok(access_may_listen(desk->config, "127.0.0.1:7878", true, &err), err);
	assert_int_equal(desk_end(state), 0);
	assert_int_equal(make_with_tokens(state), 0);
	desk = *state;
	assert_ok(access_may_listen(desk->config, "0.0.0.0:7878", false, &err), err);
	access_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(without_tokens_this_machine_may_call, make_open,
						desk_end),
		cmocka_unit_test_setup_teardown(a_host_is_loopback_or_listed, make_open, desk_end),
		cmocka_unit_test_setup_teardown(a_host_of_any_length_is_read, make_open, desk_end),
		cmocka_unit_test_setup_teardown(a_listed_port_is_the_only_one, make_with_tokens,
						desk_end),
		cmocka_unit_test_setup_teardown(an_origin_is_that_of_the_host, make_open, desk_end),
		cmocka_unit_test_setup_teardown(or_one_that_is_listed, make_open, desk_end),
		cmocka_unit_test_setup_teardown(
			what_strangers_load_is_refused_without_an_origin_too, make_open, desk_end),
		cmocka_unit_test_setup_teardown(what_was_bound_may_be_named, make_open, desk_end),
		cmocka_unit_test_setup_teardown(bound_to_all_takes_numbers_but_no_names, make_open,
						desk_end),
		cmocka_unit_test_setup_teardown(a_token_is_known_by_its_secret, make_with_tokens,
						desk_end),
		cmocka_unit_test_setup_teardown(anything_else_is_no_token, make_with_tokens,
						desk_end),
		cmocka_unit_test_setup_teardown(a_wrong_host_is_told_before_a_wrong_token,
						make_with_tokens, desk_end),
		cmocka_unit_test_setup_teardown(a_dialect_may_spell_the_token_its_own_way,
						make_with_tokens, desk_end),
		cmocka_unit_test_setup_teardown(a_unix_peer_needs_a_token_but_for_us_and_root,
						make_with_tokens, desk_end),
		cmocka_unit_test_setup_teardown(over_a_unix_socket_only_the_origin_counts,
						make_open, desk_end),
		cmocka_unit_test_setup_teardown(beyond_this_machine_a_token_is_a_must, make_open,
						desk_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
