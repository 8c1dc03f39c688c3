// SPDX-License-Identifier: Apache-2.0
/*
 * Synapse - what its HTTP routes and its MCP tools have in common
 *
 * Owns:    the policy of its runs, its limits, the vault that the config names, and the answers of
 *          the vault's tools.
 * May not: be known outside src/door/synapse.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/exchange.h"
#include "base/buf.h"
#include "base/err.h"
#include "document/vault.h"
#include "door/ending.h"
#include "policy/config.h"

/* synapse_config.c: dialects.synapse */
#define SYNAPSE_POLICY "ephemeral"

struct synapse_config {
	struct config_door door;
	char *vault;
};

extern const struct config_part synapse_config;

#define SYNAPSE_TIMEOUT_S 30
#define SYNAPSE_HTTP_TIMEOUT_MAX_S 60
#define SYNAPSE_TOOL_TIMEOUT_MAX_S 120

/* Is there nothing but blanks? */
bool synapse_is_blank(const void *code, uint64_t size);

/* The seconds asked for, at most `most` and what the policy allows, and at least one. */
uint64_t synapse_seconds(const struct config *config, int64_t asked, int64_t most);

/* Appends stderr and, after it, the traceback of an exception or the reason why the run was ended,
 * as one JSON string. */
int synapse_put_stderr(struct buf *buf, const struct ending *ending, size_t chars);

/* ---- answers for a run (synapse_answer.c); -EMSGSIZE, -ENOMEM ---- */

/* {exit_code, stdout, stderr} */
int synapse_put_test(struct buf *body, uint64_t seconds, const struct ending *ending);

/* The JSON that was printed; else {"output"}, or {"error", "stderr", "stdout"}. */
int synapse_put_custom(struct buf *body, uint64_t seconds, const struct ending *ending);

/* The value of `result`; without one, the output, as JSON or as text; else null. A failure gets
 * status 500; so does a result or output that was cut. */
int synapse_put_transform(struct buf *body, uint64_t seconds, const struct ending *ending,
			  unsigned *ret_status);

/* Opens the vault. ERR_UNSUPPORTED: the config names none. ERR_FORBIDDEN: the caller may not use
 * the policy that the vault belongs to. */
int synapse_vault_open(const struct config *config, const struct op_caller *caller,
		       struct vault *vault, struct err *err);

/* ---- over HTTP (synapse_vault.c) ---- */

/* Answer a failure in FastAPI's form. */
void synapse_detail(struct exchange *call, unsigned status, const char *text);
void synapse_invalid(struct exchange *call, const char *type, const char *field,
		     const char *message);

void synapse_get_tree(struct exchange *call);
void synapse_search(struct exchange *call);
void synapse_get_file(struct exchange *call);
void synapse_create_file(struct exchange *call);
void synapse_update_file(struct exchange *call);
void synapse_create_folder(struct exchange *call);
void synapse_delete_item(struct exchange *call);

extern const struct op_param synapse_file_members[3]; /* path, name, content */
