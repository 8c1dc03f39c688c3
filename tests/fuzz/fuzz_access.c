// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "api/access.h"
#include "base/c.h"
#include "fuzz.h"

/* Of the secret "s". */
#define SUM "043a718774c572bd8a25adbeb1bfcd5c0256ae11cecf9f9c3f925d0e52beaf89"
#define TEXT "tokens: [{name: t, sha256: " SUM "}]\nhosts: [my.host, \"[2001:db8::1]:80\"]\n"

static const char *next_line(char **rest)
{
	const char *line = strsep(rest, "\n");

	return line == NULL || line[0] == '\0' ? NULL : line;
}

/* Lines: Authorization, Host, Origin, the peer's address; an empty one is absent. Who gets in has
 * the secret, and neither a host nor a page that nobody listed. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	AUTO_FREE char *text = xcalloc(1, size + 1);
	struct access_request request = {0};
	struct config *config = NULL;
	struct access *access;
	struct op_caller caller = {0};
	struct err err = {0};
	char *rest = text;
	int r;

	memcpy(text, bytes, size);
	request.authorization = next_line(&rest);
	request.host = next_line(&rest);
	request.origin = next_line(&rest);
	request.peer = next_line(&rest);
	CLAIM(config_parse(TEXT, strlen(TEXT), "fuzz.yaml", &config, &err) == 0);
	access = access_new(config);
	r = access_check(access, &request, &caller, &err);
	if (r == 0) {
		CLAIM(caller.token == config->tokens && strcmp(caller.name, "t") == 0);
		CLAIM(strncasecmp(request.authorization, "Bearer ", 7) == 0);
		CLAIM(strcmp(strrchr(request.authorization, ' '), " s") == 0);
		CLAIM(request.peer == NULL || request.host != NULL);
		CLAIM(request.origin == NULL || strncmp(request.origin, "http", 4) == 0);
		CLAIM(request.host == NULL || request.peer == NULL ||
		      strspn(request.host,
			     "0123456789abcdefghijklmnopqrstuvwxyz"
			     "ABCDEFGHIJKLMNOPQRSTUVWXYZ.-_:[]") == strlen(request.host));
	} else {
		CLAIM(err.kind == ERR_FORBIDDEN || err.kind == ERR_UNAUTHORIZED);
		CLAIM(caller.peer == NULL);
	}
	access_free(access);
	config_free(config);
	return 0;
}
