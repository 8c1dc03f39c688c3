// SPDX-License-Identifier: Apache-2.0
/*
 * Daemon state - the inside of the daemon, for src/daemon alone
 *
 * Owns:    nothing of its own: daemon.c opens and closes, daemon_launch.c handles viv-launch,
 *          daemon_listen.c opens the sockets, prober.c checks that code really runs.
 */
#pragma once

#include <uv.h>

#include "api/access.h"
#include "api/router.h"
#include "daemon/daemon.h"
#include "document/conversation.h"
#include "door/door_table.h"
#include "http/http.h"
#include "obs/audit.h"
#include "obs/metrics.h"
#include "op/packages.h"
#include "page/page.h"
#include "session/admission.h"
#include "session/engine.h"
#include "session/journal.h"
#include "session/log.h"
#include "session/pressure.h"
#include "session/session.h"

struct daemon {
	const struct config *config;          /* borrowed */
	const struct daemon_options *options; /* borrowed */
	struct backend_stay stay;
	uv_loop_t loop;
	struct engine engine;
	struct store *store; /* owned */
	struct journal *journal;
	struct pressure *pressure;
	struct access *access;
	struct router *router;
	uv_poll_t lifeline; /* stdin of a private daemon */
	struct http *http;
	char key[96];     /* of the person who decides on held runs; "": tokens are used */
	struct buf bound; /* the addresses, one per line */

	uv_signal_t signals[3];
	uv_timer_t tick, restart, stop, probe;
	struct run *probing; /* the prober's current run */
	uint64_t stop_ns;    /* when a stop no longer waits */
	uint32_t restarts;   /* of launch, in a row */
	bool is_stopping, is_drained, is_lost;
	int status;
};

/* daemon_dirs.c: state_dir and runtime_dir. */
int daemon_make_dirs(const struct config *config, struct err *err);

/* daemon_launch.c: connects to viv-launch and starts pools; again whenever it is lost. */
int daemon_open_pool(struct daemon *daemon, struct err *err);

/* Before exit: a launch that was killed leaves its cgroups, which the next one removes. So this
 * starts a next one, if only for that. */
void daemon_sweep(struct daemon *daemon);

/* daemon_listen.c: opens every address of the flags or the config and our own socket, or takes the
 * sockets that systemd opened. */
int daemon_listen(struct daemon *daemon, struct err *err);

/* daemon_backends.c: opens the remote, if any, and prints warnings about the configured
 * backends. */
void daemon_open_backends(struct daemon *daemon);
void daemon_close_backends(struct daemon *daemon);

/* Name of the backend that runs Python now; "fail-closed": none does. */
const char *daemon_active(const struct daemon *daemon);

/* daemon_key.c: reads or makes the key for deciding on held runs; does nothing where there are
 * tokens. */
int daemon_read_key(struct daemon *daemon, struct err *err);

/* daemon_key.c: prints how to use the key, if a policy holds runs. */
void daemon_say_key(const struct daemon *daemon, const char *address);

/* daemon_sessions.c: a session began, ended, or changed its state. */
void daemon_session_begun(void *user, const struct session *session);
void daemon_session_ended(void *user, const struct session *session);
void daemon_session_slept(void *user, const struct session *session);
int daemon_session_woke(void *user, const struct session *session, struct err *err);
void daemon_session_changed(void *user, const struct session *session);

/* prober.c */
void daemon_probe_due(uv_timer_t *timer);

/* daemon_metrics.c: appends all metrics, with the figures that are read only now. */
int daemon_metrics(void *user, struct buf *buf);
