// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/c.h"
#include "policy/config.h"
#include "unit.h"

static const char *const variables[] = {"ATLAS_SANDBOX", "ATLAS_SANDBOX_PRIORITY",
					"ATLAS_SANDBOX_URL", "SIDECAR_AUTH_TOKEN"};

/* Loads a file with this text under these variables ("NAME=VALUE", NULL behind the last). */
static struct config *load(const char *text, const char *const *environment, struct err *err)
{
	char path[] = "/tmp/viv-config-XXXXXX";
	AUTO_CLOSE int fd = mkstemp(path);
	struct config *config = NULL;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	for (size_t i = 0; environment[i] != NULL; i++) {
		char line[600];

		(void)snprintf(line, sizeof(line), "%s", environment[i]);
		*strchr(line, '=') = '\0';
		assert_int_equal(setenv(line, strchr(environment[i], '=') + 1, 1), 0);
	}
	*err = (struct err){0};
	(void)config_load(path, &config, err);
	for (size_t i = 0; i < ARRAY_LEN(variables); i++)
		(void)unsetenv(variables[i]);
	(void)unlink(path);
	return config;
}

#define ENV(...) ((const char *const[]){__VA_ARGS__, NULL})

static void atlas_names_stand_for_ours(void **state)
{
	struct err err = {0};
	struct config *config = load("",
				     ENV("ATLAS_SANDBOX=nsjail", "ATLAS_SANDBOX_PRIORITY=sidecar, "
								 "vercel-sandbox,nsjail,just-bash"),
				     &err);

	(void)state;
	assert_non_null(config);
	assert_string_equal(config->backend_pin, "namespace");
	assert_int_equal(config->backend_priority.count, 4);
	assert_string_equal(config->backend_priority.items[0], "remote");
	assert_string_equal(config->backend_priority.items[1], "microvm");
	assert_string_equal(config->backend_priority.items[2], "namespace");
	assert_string_equal(config->backend_priority.items[3], "process");
	assert_true(config->sidecar.has_pin && config->sidecar.has_priority &&
		    !config->sidecar.has_url);
	config_free(config);
}

static void their_token_goes_to_their_address_only(void **state)
{
	struct err err = {0};
	struct config *config =
		load("", ENV("ATLAS_SANDBOX_URL=http://sidecar:8080", "SIDECAR_AUTH_TOKEN=s3cret"),
		     &err);

	(void)state;
	assert_non_null(config);
	assert_string_equal(config->remote_url, "http://sidecar:8080");
	assert_string_equal(config->remote_token, "s3cret");
	config_free(config);

	config = load("backends: {remote: {url: \"http://other\"}}",
		      ENV("SIDECAR_AUTH_TOKEN=s3cret"), &err);
	assert_non_null(config);
	assert_string_equal(config->remote_token, "");
	config_free(config);
}

static void without_a_variable_nothing_changes(void **state)
{
	struct err err = {0};
	struct config *config = load("", (const char *const[]){NULL}, &err);

	(void)state;
	assert_non_null(config);
	assert_string_equal(config->backend_pin, "auto");
	assert_int_equal(config->backend_priority.count, 0);
	assert_string_equal(config->remote_url, "");
	assert_false(config->process_development);
	config_free(config);
}

static void what_cannot_be_stops_the_start(void **state)
{
	static const struct {
		const char *text, *variable, *says;
	} rows[] = {
		{"", "ATLAS_SANDBOX=docker", "ATLAS_SANDBOX: docker is not a backend"},
		{"",
		 "ATLAS_SANDBOX_PRIORITY=", "ATLAS_SANDBOX_PRIORITY: (nothing) is not a backend"},
		{"", "ATLAS_SANDBOX_PRIORITY=nsjail,", "ATLAS_SANDBOX_PRIORITY: (nothing)"},
		{"", "ATLAS_SANDBOX_PRIORITY=nsjail,nsjail", "nsjail is listed twice"},
		{"", "ATLAS_SANDBOX_PRIORITY=nsjail,namespace", "namespace is listed twice"},
		{"", "ATLAS_SANDBOX_PRIORITY=nsjail,docker", "docker is not a backend"},
		{"", "ATLAS_SANDBOX_URL=ftp://x", "Invalid ATLAS_SANDBOX_URL: ftp://x"},
		{"", "ATLAS_SANDBOX_URL=http://u:p@host", "Invalid ATLAS_SANDBOX_URL"},
		{"", "ATLAS_SANDBOX_URL=http://", "Invalid ATLAS_SANDBOX_URL"},
		{"backends: {pin: remote}", "ATLAS_SANDBOX=nsjail", "disagree; remove one of them"},
		{"backends: {priority: [remote]}", "ATLAS_SANDBOX_PRIORITY=nsjail",
		 "disagree; remove one of them"},
		{"backends: {remote: {url: \"http://a\"}}", "ATLAS_SANDBOX_URL=http://b",
		 "disagree; remove one of them"},
		{"backends: {pin: docker}", "X=", "backends.pin: there is no backend docker"},
		{"backends: {priority: []}", "X=", "backends.priority: an empty list"},
		{"backends: {priority: [remote, remote]}", "X=", "remote is there twice"},
		{"backends: {priority: [docker]}", "X=", "there is no backend docker"},
		{"policies:\n  mine:\n    base: default\n    backend: zz\n",
		 "X=", ":4: policies.mine.backend: there is no backend zz; allowed: auto"},
		{"backends: {order: best}", "X=", "backends.order"},
		{"backends: {remote: {url: \"http://a b\"}}", "X=", "backends.remote.url"},
		{"backends: {remote: {url: \"http://a\", token: \"a b\"}}",
		 "X=", "backends.remote.token"},
		{"backends: {remote: {url: \"http://a\", policy: \"a b\"}}",
		 "X=", "backends.remote.policy"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct err err = {0};
		struct config *config = load(rows[i].text, ENV(rows[i].variable), &err);

		if (config != NULL)
			fail_msg("row %zu was taken", i);
		assert_int_equal(err.kind, ERR_BAD_REQUEST);
		assert_contains(err.text, rows[i].says);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(atlas_names_stand_for_ours),
		cmocka_unit_test(their_token_goes_to_their_address_only),
		cmocka_unit_test(without_a_variable_nothing_changes),
		cmocka_unit_test(what_cannot_be_stops_the_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
