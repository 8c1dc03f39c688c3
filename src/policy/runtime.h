// SPDX-License-Identifier: Apache-2.0
/*
 * Runtime - a Python interpreter, the packages it sees, and the set it has imported beforehand
 *
 * Owns:    the built-in runtimes, which one suits a piece of code, and which directories of the
 *          host an interpreter needs inside the root.
 * May not: run an interpreter, or import anything: it works from names and files alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "policy/setting.h"

#define RUNTIME_PYTHON "/usr/bin/python3"
#define RUNTIME_PATH_MAX 512
#define RUNTIME_BINDS_MAX 4
#define RUNTIME_PRELOAD_MAX 1023 /* bytes of all names, a space between each */
#define RUNTIME_COUNT_MAX 32

struct runtime {
	char *name;   /* owned */
	char *source; /* owned: the file it comes from; "" for a built-in */

	/* One row each. */
	char *python;             /* an interpreter or the directory of a venv */
	struct text_list preload; /* modules a zygote imports */
	uint64_t pool;            /* sandboxes kept ready */
	char *requirements;       /* the file its venv was made from; "" for none */

	bool is_shell; /* no row: no Python at all, commands only; see runtime_explore */
};

extern const struct setting runtime_rows[];
extern const size_t runtime_row_count;

/* A directory of the host that must be in the root, read-only. */
struct runtime_bind {
	char source[RUNTIME_PATH_MAX];
	char target[RUNTIME_PATH_MAX];
};

struct runtime_layout {
	char python[RUNTIME_PATH_MAX]; /* the interpreter, as seen inside the root */
	char host[RUNTIME_PATH_MAX];   /* the interpreter, as seen on the host */
	struct runtime_bind binds[RUNTIME_BINDS_MAX];
	size_t bind_count;
};

void runtime_init(struct runtime *runtime, const char *name);
void runtime_done(struct runtime *runtime);

/* bare, base, full; on the heap: each the caller's to end with runtime_done, the array with free.
 */
struct runtime *runtime_built_ins(size_t *ret_count);

/* The runtime of commands over a folder: a root without Python, and our own program instead of an
 * interpreter. It is in no table, so it cannot be requested by name. */
extern const struct runtime runtime_explore;

/* The runtime of this name, or NULL. */
const struct runtime *runtime_find(const struct runtime *runtimes, size_t count, const char *name);

/* The smallest runtime whose preload covers what the code imports from outside the standard
 * library: bare, base, full, then the others by the size of their preload. A name that none
 * preloads selects `base`; has_data selects one with pandas. Never NULL for a table with at least
 * one runtime. */
const struct runtime *runtime_choose(const struct runtime *runtimes, size_t count, const void *code,
				     size_t size, bool has_data);

/* Finds the interpreter and the directories it needs besides /usr. Reads the host's files; refuses
 * directories that would show more of the host than Python (/, /home, a home directory, /etc,
 * ...). */
int runtime_binds(const struct runtime *runtime, struct runtime_layout *ret_layout,
		  struct err *err);

/* The preload as one text, names separated by spaces, as viv-launch expects it. */
void runtime_preload_text(const struct runtime *runtime, char ret_text[RUNTIME_PRELOAD_MAX + 1]);

/* Checks names, number and length of the preload. On failure *ret_key is the key of the row at
 * fault. */
int runtime_check(const struct runtime *runtime, const char **ret_key, struct err *err);

/* The directory of stored runtimes in a config directory. */
#define RUNTIMES_D "runtimes.d"

/* `viv runtime add` and `rm`: one file per runtime, <config dir>/runtimes.d/NAME.yaml, which
 * config_load reads, too. Add replaces; both return the file's path (may be NULL). The config dir
 * is the user's ($XDG_CONFIG_HOME or ~/.config); for root without XDG_CONFIG_HOME it is /etc. */
int runtime_save(const struct runtime *runtime, char ret_path[RUNTIME_PATH_MAX], struct err *err);
int runtime_remove(const char *name, char ret_path[RUNTIME_PATH_MAX], struct err *err);
