// SPDX-License-Identifier: Apache-2.0
/*
 * Venv - Python environments that `viv runtime add --requirements` makes
 *
 * Owns:    the folder of such venvs, <data dir>/vivarium/runtimes, and each NAME-XXXXXXXX in it.
 * May not: touch a venv that it did not make.
 */
#pragma once

#include "base/err.h"
#include "policy/runtime.h"

/* Makes a venv with /usr/bin/python3 and installs what `requirements` lists. Output of the tools
 * goes to stderr. A failure leaves nothing behind. */
int venv_make(const char *name, const char *requirements, char ret_path[RUNTIME_PATH_MAX],
	      struct err *err);

/* Deletes the venv at `path` if it is one of ours; anything else ("" as well) is left alone. */
void venv_remove(const char *path);

/* An absolute path for a venv or an interpreter the user named. Symbolic links stay: a venv's
 * bin/python is one, and what it points to is not the venv. */
int venv_absolute(const char *path, char ret_path[RUNTIME_PATH_MAX], struct err *err);
