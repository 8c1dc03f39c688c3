// SPDX-License-Identifier: Apache-2.0
/*
 * Mcp transfer - one message of an MCP client on its way to a daemon, and the answer
 *
 * Owns:    the headers of its request, the reading of JSON and of event streams.
 * May not: know where messages come from; nor change one: they are passed on, each as one line.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <sys/queue.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/client.h"

#define MCP_ID_MAX 512
#define MCP_SESSION_MAX 128

struct mcp_transfer;

/* State that the transfers of one bridge share. */
struct mcp_route {
	struct client *client;         /* borrowed */
	const char *path;              /* "/mcp" */
	char session[MCP_SESSION_MAX]; /* as initialize gave it; "": none */
	char version[32];              /* agreed with initialize; "": none */

	/* Called for each message of the server: JSON in one line. */
	void (*message)(void *user, const char *json, size_t size);

	/* Called when the session of this line no longer exists; the daemon did nothing. */
	void (*lost)(void *user, const char *line, size_t size);
	void *user;
	LIST_HEAD(, mcp_transfer) transfers;
};

/* The members of a message that its transfer needs. */
struct mcp_envelope {
	char id[MCP_ID_MAX];      /* JSON text; "": none */
	char method[128];         /* "": none, an answer to the server */
	char name[1024];          /* params.name, uri or taskId; "": none */
	char session[256];        /* arguments.session_id; "": none */
	char version[64];         /* of the 2026 era; "": a message of the 2025 era */
	char cancels[MCP_ID_MAX]; /* params.requestId as JSON text; "": none */
	bool is_silent;           /* set by the caller: the answer is not passed on */
	bool is_again;            /* set by the caller: sent again, `lost` is not called twice */
};

void mcp_envelope_read(const char *line, size_t size, struct mcp_envelope *ret_envelope);

/* Sends one message (a line without its newline). */
void mcp_transfer_send(struct mcp_route *route, const char *line, size_t size,
		       const struct mcp_envelope *envelope);

/* GET opens the stream of a 2025-era server's unsolicited messages, or resumes the answer to `id`
 * after `last_event`; DELETE ends the session. */
void mcp_transfer_plain(struct mcp_route *route, const char *method, const char *last_event,
			const char *id);

/* Aborts the 2026-era request with this id; false: there is none. */
bool mcp_transfer_drop(struct mcp_route *route, const char *id);

/* True while a request is being answered; with `is_first`, while initialize is. */
bool mcp_transfer_is_due(const struct mcp_route *route, bool is_first);
void mcp_transfer_end_all(struct mcp_route *route);
