// SPDX-License-Identifier: Apache-2.0
/*
 * Mcp transfer - one message of an MCP client on its way to a daemon, and what comes back
 *
 * Owns:    the request by libcurl, its headers, the reading of JSON and of event streams.
 * May not: know where messages come from; nor change one: they are passed on, each as one line.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <sys/queue.h>

#include "backend/curl.h"
#include "base/buf.h"
#include "base/err.h"
#include "cli/client_way.h"

#define MCP_ID_MAX 512
#define MCP_SESSION_MAX 128

struct mcp_transfer;

/* What the transfers of one bridge share. */
struct mcp_route {
	struct curl curl;
	CURLM *multi;                  /* owned by the bridge */
	const struct client_way *way;  /* borrowed */
	const char *path;              /* "/mcp" */
	char session[MCP_SESSION_MAX]; /* as initialize gave it; "": none */
	char version[32];              /* agreed with initialize; "": none */

	/* A message of the server, JSON in one line. */
	void (*message)(void *user, const char *json, size_t size);
	void *user;
	LIST_HEAD(, mcp_transfer) transfers;
};

/* What a message says of itself, as far as the way needs it. */
struct mcp_envelope {
	char id[MCP_ID_MAX];      /* JSON text; "": none */
	char method[128];         /* "": none, an answer to the server */
	char name[1024];          /* params.name, uri or taskId; "": none */
	char session[256];        /* arguments.session_id; "": none */
	char version[64];         /* of the 2026 era; "": it is of the 2025 era */
	char cancels[MCP_ID_MAX]; /* params.requestId as JSON text; "": none */
};

void mcp_envelope_read(const char *line, size_t size, struct mcp_envelope *ret_envelope);

/* Sends one message (a line without its end). */
int mcp_transfer_send(struct mcp_route *route, const char *line, size_t size,
		      const struct mcp_envelope *envelope, struct err *err);

/* GET, for what a server of the 2025 era says unasked; DELETE, for the end of its session. */
int mcp_transfer_plain(struct mcp_route *route, const char *method, const char *last_event,
		       const char *id, struct err *err);

/* Ends it without a word, by its id; false: there is none of the 2026 era. */
bool mcp_transfer_drop(struct mcp_route *route, const char *id);

/* Takes note of those that are over. */
void mcp_transfer_reap(struct mcp_route *route);

/* Is something that answers under way? With `is_first` initialize itself. */
bool mcp_transfer_is_due(const struct mcp_route *route, bool is_first);
void mcp_transfer_end_all(struct mcp_route *route);
