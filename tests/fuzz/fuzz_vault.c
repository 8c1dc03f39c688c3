// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "base/json.h"
#include "document/vault.h"
#include "document/vault_text.h"
#include "fuzz.h"

/* Whatever a client calls a path: what comes out has no component that leads anywhere else. */
static void claim_path(const char *asked, bool is_absolute_known)
{
	static char root[] = "/srv/vault";
	const struct vault vault = {.dir = -1, .root = root};
	char path[VAULT_PATH_SIZE];
	struct err err = {0};
	const char *at = path;

	if (vault_path(&vault, asked, is_absolute_known, path, &err) < 0)
		return;
	CLAIM(path[0] != '/' && strlen(path) < VAULT_PATH_SIZE);
	while (*at != '\0') {
		size_t size = strcspn(at, "/");

		CLAIM(size > 0 && size <= 255);
		CLAIM(!(size == 1 && at[0] == '.') && !(size == 2 && strncmp(at, "..", 2) == 0));
		CLAIM(strncmp(at, VAULT_TEMP, strlen(VAULT_TEMP)) != 0);
		at += size;
		CLAIM(*at == '\0' || at[1] != '\0');
		at += *at == '/';
	}
}

/* Indented JSON is JSON, and stays as it is when it is done again. */
static void claim_indented(const uint8_t *bytes, size_t size)
{
	struct buf once;
	struct buf twice;

	buf_init(&once, 1U << 20);
	buf_init(&twice, 1U << 20);
	if (vault_indent(bytes, size, &once) == 0) {
		CLAIM(json_is_valid(once.data, once.size));
		CLAIM(vault_indent(once.data, once.size, &twice) == 0);
		CLAIM(once.size == twice.size && memcmp(once.data, twice.data, once.size) == 0);
	}
	buf_done(&once);
	buf_done(&twice);
}

/* A merge of two halves is JSON, or was refused. */
static void claim_merged(const uint8_t *bytes, size_t size)
{
	const uint8_t *cut = memchr(bytes, 0, size);
	size_t first = cut != NULL ? (size_t)(cut - bytes) : size;
	struct err err = {0};
	struct buf buf;

	buf_init(&buf, 1U << 20);
	if (cut != NULL && vault_merge(bytes, first, cut + 1, size - first - 1, &buf, &err) == 0)
		CLAIM(json_is_valid(buf.data, buf.size));
	buf_done(&buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);

	CLAIM(text != NULL);
	claim_path(text, true);
	claim_path(text, false);
	free(text);
	claim_indented(data, size);
	claim_merged(data, size);
	return 0;
}
