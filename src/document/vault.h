// SPDX-License-Identifier: Apache-2.0
/*
 * Vault - a folder of the host that clients read and write by name
 *
 * Owns:    what a client's path may mean: components below one open directory, no link ever
 *          followed. A write is complete or absent: temporary file, fsync, rename.
 * May not: know a dialect, a request or JSON; nor use a name it did not take apart first. Every
 *          name comes from a client, and other programs may rename files meanwhile.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define VAULT_FILE_MAX (10U << 20) /* bytes of one file, read or written */
#define VAULT_PATH_SIZE 1024       /* of a path below the vault, its NUL included */
#define VAULT_DEPTH_MAX 32         /* components of a path */
#define VAULT_ENTRIES_MAX 10000U   /* files and folders that one walk tells */
#define VAULT_STALE_S 3600         /* a temporary file of this age was left by a crash */
#define VAULT_TEMP ".viv-"         /* names of ours begin like this; clients may not use them */

struct vault {
	int dir;    /* owned; -1: closed */
	char *root; /* owned: its absolute name, no slash at the end */
};

/* At the start of a daemon: makes the folder where only its last component is missing, and sweeps
 * what a crash left there. A folder in which this process may not read and write is refused, with
 * the command that gives it the right. */
int vault_prepare(const char *root, struct err *err);

/* Opens the vault for a request. */
int vault_open(struct vault *vault, const char *root, struct err *err);
void vault_close(struct vault *vault);

/* Normalises a client's path below the vault: no empty or dot component; "" is the vault itself. A
 * path that starts with the vault's own absolute name means a name below it if `is_absolute_known`;
 * else leading slashes are dropped. -EPERM (ERR_FORBIDDEN): it leads out of the vault; -EINVAL,
 * -ENAMETOOLONG: it is no name. */
int vault_path(const struct vault *vault, const char *asked, bool is_absolute_known,
	       char ret_path[VAULT_PATH_SIZE], struct err *err);

/* From here on `path` is a path from vault_path. -ENOENT: no such file; -EISDIR: a folder where a
 * file is wanted; -EPERM: a link is in the way; -EFBIG: above VAULT_FILE_MAX. */
int vault_read(const struct vault *vault, const char *path, struct buf *buf, struct err *err);

enum vault_put {
	VAULT_CREATE, /* -EEXIST when there is one; its folders are made */
	VAULT_ADD,    /* the same, in a folder that must be there */
	VAULT_UPDATE, /* -ENOENT when there is none */
	VAULT_WRITE,  /* either; its folders are made */
};

/* Writes the whole file, or nothing of it. A file that it replaces keeps its mode. */
int vault_put(const struct vault *vault, const char *path, enum vault_put how, const void *data,
	      size_t size, struct err *err);

/* Makes a folder in an existing one. -EEXIST. */
int vault_make_folder(const struct vault *vault, const char *path, struct err *err);

/* Removes a file; -EISDIR for a folder, unless `with_folders`: then the folder goes with everything
 * in it, in one step. */
int vault_remove(const struct vault *vault, const char *path, bool with_folders, struct err *err);

enum vault_kind {
	VAULT_FILE,
	VAULT_FOLDER,      /* what is in it follows */
	VAULT_FOLDER_OVER, /* ... and was told */
};

struct vault_entry {
	enum vault_kind kind;
	const char *path; /* below the vault */
	const char *name; /* its last component */
	uint64_t size;    /* of a file */
	int64_t mtime_s;
	int parent; /* borrowed: the folder it is in */
};

enum vault_order {
	VAULT_BY_NAME,       /* component by component, bytes */
	VAULT_FOLDERS_FIRST, /* then without regard to case */
};

struct vault_walk {
	enum vault_order order;
	bool with_hidden;
	uint32_t entries_max; /* 0: VAULT_ENTRIES_MAX */
	/* A negative number ends the walk, and vault_each returns it. */
	int (*tell)(void *user, const struct vault_entry *entry);
	void *user;
};

/* Lists regular files and folders below `path`, never links and the like. *ret_is_cut: there are
 * more than VAULT_ENTRIES_MAX, or deeper than VAULT_DEPTH_MAX. -ENOTDIR: a file. */
int vault_each(const struct vault *vault, const char *path, const struct vault_walk *walk,
	       bool *ret_is_cut, struct err *err);

/* For the files of the vault: opens `path` below `dir` without following anything; -1 and errno. */
int vault_open_beneath(int dir, const char *path, int flags);

/* Removes `name` in `dir` with everything in it, as far as that is possible. */
void vault_clear(int dir, const char *name);
