// SPDX-License-Identifier: Apache-2.0
/*
 * Vault unit - a vault on disk, and a folder beside it that nobody may reach through it
 *
 * Owns:    the scratch folders of one test, and short ways to read and write in them.
 * May not: hold what only one of the vault's tests uses.
 */
#pragma once

#include <dirent.h>

#include <sys/stat.h>

#include "document/vault.h"
#include "unit.h"

#define SECRET "outside the vault\n"

struct place {
	char base[64];
	char root[96], sibling[96];
	struct vault vault;
};

static inline void put_host(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static inline int place_make(void **state)
{
	struct place *place = calloc(1, sizeof(*place));
	struct err err = {0};
	char path[128];

	assert_non_null(place);
	scratch_make(place->base);
	(void)snprintf(place->root, sizeof(place->root), "%s/vault", place->base);
	(void)snprintf(place->sibling, sizeof(place->sibling), "%s/vault_evil", place->base);
	assert_int_equal(mkdir(place->sibling, 0755), 0);
	(void)snprintf(path, sizeof(path), "%s/secret.txt", place->sibling);
	put_host(path, SECRET);
	assert_ok(vault_prepare(place->root, &err), err);
	assert_ok(vault_open(&place->vault, place->root, &err), err);
	*state = place;
	return 0;
}

static inline int place_remove(void **state)
{
	struct place *place = *state;

	vault_close(&place->vault);
	vault_close(&place->vault);
	scratch_remove(place->base);
	free(place);
	return 0;
}

static inline int put(struct place *place, const char *path, enum vault_put how, const char *text,
		      struct err *err)
{
	return vault_put(&place->vault, path, how, text, strlen(text), err);
}

static inline void assert_content(struct place *place, const char *path, const char *text)
{
	struct err err = {0};
	struct buf buf;

	buf_init(&buf, VAULT_FILE_MAX);
	assert_ok(vault_read(&place->vault, path, &buf, &err), err);
	assert_string_equal(buf_string(&buf), text);
	buf_done(&buf);
}

static inline int read_one(struct place *place, const char *path, struct err *err)
{
	struct buf buf;
	int r;

	buf_init(&buf, VAULT_FILE_MAX);
	r = vault_read(&place->vault, path, &buf, err);
	buf_done(&buf);
	return r;
}

/* How many entries with our prefix are in the folder. */
static inline int temp_count(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	int count = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir)) != NULL)
		count += strncmp(entry->d_name, VAULT_TEMP, strlen(VAULT_TEMP)) == 0;
	(void)closedir(dir);
	return count;
}
