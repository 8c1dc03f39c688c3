// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include "base/c.h"
#include "policy/config.h"
#include "unit.h"

#define HEX64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct {
	const char *text, *says;
} mistakes[] = {
	{"listen: [\n", "vivarium.yaml:2: "},
	{"\n\nmemroy: 1\n",
	 "vivarium.yaml:3: unknown key memroy; allowed here: listen, state_dir,"},
	{"policies:\n  tight:\n    memroy: 1MiB\n",
	 "vivarium.yaml:3: unknown key policies.tight.memroy; allowed here: base, memory, cpus,"},
	{"policies:\n  tight:\n    guard:\n      on: true\n",
	 "vivarium.yaml:4: unknown key policies.tight.guard.on; allowed here: enabled, block, "
	 "allow"},
	{"tokens:\n  - name: a\n    secret: x\n",
	 "vivarium.yaml:3: unknown key tokens[0].secret; allowed here: name, sha256,"},
	{"dialects:\n  basic: {}\n",
	 "vivarium.yaml:2: unknown key dialects.basic; allowed here: atlas,"},
	{"policies:\n  tight:\n    memory: 1TiB\n",
	 "vivarium.yaml:3: policies.tight.memory: 1TiB is not"},
	{"policies:\n  tight:\n    memory: 1MiB\n", "allowed: 16MiB to 64GiB"},
	{"policies:\n  v1.2:\n    guard:\n      enabled: 2\n",
	 "vivarium.yaml:4: policies.v1.2.guard.enabled: 2"},
	{"policies:\n  tight:\n\n    guard:\n      enabled: maybe\n",
	 "vivarium.yaml:5: policies.tight.guard.enabled: maybe is not an allowed word; allowed: "
	 "true or false"},
	{"policies:\n  tight:\n    memory:\n", "vivarium.yaml:3: policies.tight.memory: (empty)"},
	{"policies:\n  tight: 5\n", "vivarium.yaml:2: policies.tight must be a mapping"},
	{"policies: [a]\n", "vivarium.yaml:1: policies must be a mapping"},
	{"tokens: {a: b}\n", "vivarium.yaml:1: tokens must be a list"},
	{"listen: 127.0.0.1:7878\n", "vivarium.yaml:1: listen must be a list"},
	{"policies:\n  tight:\n    network: [a.b]\n",
	 "vivarium.yaml:3: policies.tight.network must be a single value"},
	{"policies:\n  tight:\n    network: open\n",
	 "vivarium.yaml:3: policies.tight.network: open is not supported"},
	{"policies:\n  tight:\n    swap: 1MiB\n",
	 "vivarium.yaml:3: policies.tight.swap: 1MiB is not an allowed size; allowed: 0"},
	{"policies:\n  tight:\n    guard:\n      enabled: true\n      allow: [requests, os, sys]\n",
	 "vivarium.yaml:5: policies.tight.guard.allow: Cannot unblock critical Python modules: os, "
	 "sys. "},
	{"policies:\n  a: {base: b}\n  b: {base: a}\n", "inherits from itself"},
	{"policies:\n  a: {base: a}\n", "vivarium.yaml:2: policies.a.base: a inherits from itself"},
	{"policies:\n  a:\n    base: nowhere\n",
	 "vivarium.yaml:3: policies.a.base: there is no policy nowhere; there are: default,"},
	{"policies:\n  defaults:\n    base: defualt\n",
	 "vivarium.yaml:3: policies.defaults.base: there is no policy defualt; did you mean "
	 "default? "
	 "There are: default, "
	 "analysis,"},
	{"policies:\n  a:\n    runtime: none\n",
	 "vivarium.yaml:3: policies.a.runtime: there is no runtime none; there are: bare,"},
	{"policies:\n  a:\n    timeout: 200s\n",
	 "vivarium.yaml:3: policies.a.timeout: 200s is above the policy's timeout_max of 120s"},
	{"policies:\n  a:\n    data: /\n",
	 "vivarium.yaml:3: policies.a.data: / would show too much"},
	{"policies:\n  a:\n    io: 64KiB\n",
	 "vivarium.yaml:3: policies.a.io: 65536 is too slow; allowed: 0"},
	{"policies:\n  'a b': {pids: 4}\n", "vivarium.yaml:2: policies: a b cannot name a policy"},
	{"runtimes:\n  auto: {pool: 1}\n", "vivarium.yaml:2: runtimes: auto cannot name a runtime"},
	{"runtimes:\n  x:\n    preload: [os, \"a b\"]\n",
	 "vivarium.yaml:3: runtimes.x.preload: a b is not the name"},
	{"runtimes:\n  x:\n    python: python3\n",
	 "vivarium.yaml:3: runtimes.x.python: python3 is not an allowed path"},
	{"runtimes:\n  x:\n    pool: 1000\n",
	 "vivarium.yaml:3: runtimes.x.pool: 1000 is not an allowed number; allowed: 0 to 256"},
	{"tokens:\n  - sha256: " HEX64 "\n", "vivarium.yaml:2: tokens[0].name: (none) is no name"},
	{"tokens:\n  - name: a\n    sha256: abc\n", "vivarium.yaml:3: tokens[0].sha256: must be 64 "
						    "hex digits, as `viv token new NAME` prints"},
	{"tokens:\n  - name: a\n", "vivarium.yaml:2: tokens[0].sha256: must be 64 hex digits"},
	{"tokens:\n  - {name: a, sha256: " HEX64 "}\n  - {name: a, sha256: " HEX64 "}\n",
	 "vivarium.yaml:3: tokens[1].name: a is there twice"},
	{"tokens:\n  - name: a\n    sha256: " HEX64 "\n    policies: [nope]\n",
	 "vivarium.yaml:4: tokens[0].policies: there is no policy nope"},
	{"tokens:\n  - name: a\n    sha256: " HEX64 "\n    policies: []\n",
	 "vivarium.yaml:4: tokens[0].policies: an empty list allows nothing"},
	{"tokens:\n  - {name: a, sha256: " HEX64 "}\n  - {name: b, sha256: " HEX64 "}\n",
	 "vivarium.yaml:3: tokens[1].sha256: the token a has the same secret"},
	{"hosts: [a.b, \"https://my.host\"]\n",
	 "vivarium.yaml:1: hosts: https://my.host is no host; allowed: NAME,"},
	{"hosts: [\"my.host:\"]\n", "hosts: my.host: is no host"},
	{"hosts: [\"[::1\"]\n", "hosts: [::1 is no host"},
	{"hosts: [\"*.my.host\"]\n", "hosts: *.my.host is no host"},
	{"sessions:\n  idle_ms: 10\n", "vivarium.yaml:2: sessions.idle_ms: 10 is not an allowed"},
	{"pressure: {memory: 0}\n", "pressure.memory: 0 is not an allowed number"},
	{"listen: [here]\n", "vivarium.yaml:1: listen: here is no address"},
	{"listen:\n  - 127.0.0.1:99999\n", "listen: 127.0.0.1:99999 is no address"},
	{"backends:\n  remote:\n    url: ftp://x\n", "vivarium.yaml:3: backends.remote.url"},
	{"state_dir: here\n",
	 "vivarium.yaml:1: state_dir: here is not an allowed path; allowed: an absolute path"},
	{"origins: [my.host]\n",
	 "vivarium.yaml:1: origins: my.host is no origin; allowed: http://"},
	{"origins: [\"https://my.host/\"]\n", "origins: https://my.host/ is no origin"},
	{"origins: [\"ftp://my.host\"]\n", "origins: ftp://my.host is no origin"},
	{"origins: [\"*\"]\n", "origins: * is no origin"},
	{"hosts: [a]\nhosts: [b]\n", "vivarium.yaml:2: hosts is there twice"},
	{"a: &x 1\nb: *x\n", "vivarium.yaml:2: aliases are not allowed"},
	{"hosts: [a]\n---\nhosts: [b]\n", "only one document is allowed"},
	{"[1, 2]\n", "vivarium.yaml:1: the file must be a mapping"},
	{"just text\n", "vivarium.yaml:1: the file must be a mapping"},
	{"? [a]\n: b\n", "vivarium.yaml:1: a key must be a plain word"},
	{"a: [[[[[[[[[[[1]]]]]]]]]]]\n", "nested too deep"},
	{"\tlisten: []\n", "vivarium.yaml:1: "},
};

static void a_mistake_is_told_with_its_place_and_what_is_allowed(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(mistakes); i++) {
		struct config *config = NULL;
		struct err err = {0};

		if (config_parse(mistakes[i].text, strlen(mistakes[i].text), "vivarium.yaml",
				 &config, &err) != -EINVAL)
			fail_msg("taken, or the wrong number: %s", mistakes[i].text);
		assert_null(config);
		assert_contains(err.text, mistakes[i].says);
	}
}

static void assert_row(const struct setting *row, const void *defaults, void *object)
{
	char text[256] = "";
	struct err err = {0};

	assert_true(row->help != NULL && row->help[0] != '\0');
	assert_true(row->help[strlen(row->help) - 1] != '.');
	setting_format(row, defaults, text, sizeof(text));
	if (row->type != SETTING_LIST && !(row->type == SETTING_TEXT && row->low > 0))
		assert_ok(setting_parse(row, object, text, &err), err);
}

static void every_row_has_a_help_and_a_default_that_it_allows(void **state)
{
	struct config *defaults = config_new();
	struct config *config = config_new();
	struct config_token token_defaults = {0}, token = {0};

	(void)state;
	settings_init(token_rows, token_row_count, &token_defaults);
	for (size_t i = 0; i < defaults->row_count; i++)
		assert_row(&defaults->rows[i], defaults, config);
	for (size_t i = 0; i < token_row_count; i++)
		assert_row(&token_rows[i], &token_defaults, &token);
	config_free(defaults);
	config_free(config);
	settings_done(token_rows, token_row_count, &token_defaults);
	settings_done(token_rows, token_row_count, &token);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mistake_is_told_with_its_place_and_what_is_allowed),
		cmocka_unit_test(every_row_has_a_help_and_a_default_that_it_allows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
