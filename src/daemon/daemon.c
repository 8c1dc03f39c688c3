// SPDX-License-Identifier: Apache-2.0
#include "daemon/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/socket.h>
#include <sys/un.h>

#include "base/c.h"
#include "base/log.h"
#include "daemon/daemon_state.h"
#include "op/announce.h"
#include "op/op_run.h"
#include "op/warm.h"
#include "session/store.h"

#define TICK_MS 2000U
#define STOP_MS 10000U   /* how long a graceful stop waits for runs */
#define STOP_STEP_MS 20U /* how often it checks whether they have ended */
#define CLOSE_MS 5000U   /* how long handles may take to close before the process ends anyway */

/* ---- readiness, for systemd (man 3 sd_notify) ---- */

static void notify(const char *text)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	AUTO_CLOSE int fd = -1;
	socklen_t size;

	if (path == NULL || strlen(path) >= sizeof(address.sun_path))
		return;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	memcpy(address.sun_path, path, strlen(path));
	size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
	if (path[0] == '@')
		address.sun_path[0] = '\0';
	(void)sendto(fd, text, strlen(text), MSG_NOSIGNAL, (const struct sockaddr *)&address, size);
}

/* ---- the stop ---- */

static void cancel_all(struct daemon *daemon)
{
	struct served_run *served = LIST_FIRST(&daemon->engine.runs);
	struct err why = {0};

	(void)err_set(&why, ERR_CONFLICT, ECANCELED,
		      "the daemon was stopped before the run had ended");
	while (served != NULL) {
		struct served_run *next = LIST_NEXT(served, entry);

		if (served->run != NULL)
			run_cancel_for(served->run, &why);
		served = next;
	}
}

static void stop_step(uv_timer_t *timer)
{
	struct daemon *daemon = timer->data;
	bool is_late = now_ns() >= daemon->stop_ns;

	if (daemon->options->keep) {
		uv_stop(&daemon->loop); /* runs go on; the next daemon takes them over */
		return;
	}
	if (is_late)
		cancel_all(daemon);
	if (!LIST_EMPTY(&daemon->engine.runs) && now_ns() < daemon->stop_ns + STOP_MS * 1000000ULL)
		return;
	if (!daemon->is_drained && !is_late)
		return;
	if (sessions_are_keeping(daemon->engine.sessions) &&
	    now_ns() < daemon->stop_ns + STOP_MS * 1000000ULL)
		return;
	(void)uv_timer_stop(timer);
	uv_stop(&daemon->loop);
}

static void drained(void *user)
{
	struct daemon *daemon = user;

	daemon->is_drained = true;
}

static void stop(struct daemon *daemon)
{
	if (daemon->is_stopping) {
		/* A second signal: stop waiting for runs. */
		daemon->stop_ns = now_ns();
		return;
	}
	log_event(LOG_LEVEL_INFO, "daemon.stop", "runs_ms=%u keep=%d", STOP_MS,
		  daemon->options->keep);
	notify("STOPPING=1");
	daemon->is_stopping = daemon->engine.is_stopping = true;
	served_deny_held(&daemon->engine,
			 "the daemon was stopped before anyone allowed the run; nothing ran");
	if (daemon->options->keep) {
		uv_stop(&daemon->loop); /* runs go on; the next daemon takes them over */
		return;
	}
	daemon->stop_ns = now_ns() + STOP_MS * 1000000ULL;
	announcer_stop(daemon->engine.announcer);
	sessions_stop(daemon->engine.sessions);
	http_drain(daemon->http, drained, daemon);
	(void)uv_timer_start(&daemon->stop, stop_step, 0, STOP_STEP_MS);
}

static void on_signal(uv_signal_t *handle, int number)
{
	struct daemon *daemon = handle->data;
	struct err err = {0};

	if (number != SIGHUP) {
		stop(daemon);
	} else if (daemon->engine.audit != NULL && audit_reopen(daemon->engine.audit, &err) < 0) {
		log_event(LOG_LEVEL_ERROR, "audit.reopen", "why=%s", err.text);
	}
}

/* ---- housekeeping ---- */

static void request_finished(void *user, const struct router_finished *finished)
{
	struct daemon *daemon = user;
	char status[16];

	(void)snprintf(status, sizeof(status), "%u", finished->status);
	metrics_add(daemon->engine.metrics, METRIC_HTTP_REQUESTS, finished->route, status, 1);
}

static void tick_due(uv_timer_t *timer)
{
	struct daemon *daemon = timer->data;

	logs_tick(daemon->engine.logs, wall_ms(), sessions_floor(daemon->engine.sessions));
	conversations_tick(daemon->engine.conversations);
	store_tick(daemon->store);
}

static void segment_begun(void *user, uint32_t segment)
{
	struct daemon *daemon = user;

	(void)segment;
	if (daemon->engine.sessions != NULL)
		sessions_rewrite(daemon->engine.sessions);
}

static void replay(void *user, const struct journal_record *record, struct journal_place place)
{
	struct daemon *daemon = user;

	logs_replay(daemon->engine.logs, record, place);
	sessions_replay(daemon->engine.sessions, record, place);
}

/* ---- opening ---- */

/* Loads the logs and sessions that the previous daemon left. */
static int open_journal(struct daemon *daemon, struct err *err)
{
	const struct config *config = daemon->config;
	struct engine *engine = &daemon->engine;
	const struct sessions_settings sessions = {
		.loop = &daemon->loop,
		.config = config,
		.journal = &daemon->journal,
		.idle_ms = (uint32_t)config->session_idle_ms,
		.ttl_ms = (uint32_t)config->session_ttl_ms,
		.freeze_ms = (uint32_t)config->session_freeze_ms,
		.checkpoints_max = (uint32_t)config->session_checkpoints,
		.begun = daemon_session_begun,
		.ended = daemon_session_ended,
		.slept = daemon_session_slept,
		.woke = daemon_session_woke,
		.changed = daemon_session_changed,
		.user = daemon,
	};
	const struct journal_settings settings = {.resident = config->events_memory};
	char path[1024];
	int r;

	engine->logs = logs_new(NULL, config->events_keep_ms);
	engine->sessions = sessions_new(&sessions, engine->logs);
	(void)snprintf(path, sizeof(path), "%s/journal", config->state_dir);
	r = journal_open(path, &settings, replay, daemon, &daemon->journal, err);
	if (r < 0)
		return r;
	engine->journal = daemon->journal;
	logs_attach(engine->logs, daemon->journal);
	sessions_replayed(engine->sessions);
	r = store_open(&daemon->loop, config->state_dir, config->session_states,
		       config->session_states / (config->token_count > 1 ? 2 : 1), &daemon->store,
		       err);
	if (r < 0)
		return r;
	sessions_open_store(engine->sessions, daemon->store);
	journal_on_segment(daemon->journal, segment_begun, daemon);
	return 0;
}

static void audit_warn(void *user, const struct err *err, uint64_t lost)
{
	(void)user;
	log_event(LOG_LEVEL_WARNING, "audit.lost", "lines=%llu why=%s", (unsigned long long)lost,
		  err->text);
}

static int open_state(struct daemon *daemon, struct err *err)
{
	static const struct audit_calls audit_calls = {.warn = audit_warn};
	const struct config *config = daemon->config;
	struct engine *engine = &daemon->engine;
	int r;

	engine->config = config;
	engine->loop = &daemon->loop;
	engine->started_ms = wall_ms();
	LIST_INIT(&engine->runs);
	engine->metrics = metrics_new();
	metrics_set(engine->metrics, METRIC_BUILD_INFO, VIV_VERSION, NULL, 1);
	engine->packages = packages_new();
	engine->announcer = announcer_new(&daemon->loop);
	daemon->pressure = pressure_new("/proc", (uint32_t)config->pressure_memory);
	engine->admission = admission_new(config, daemon->pressure);
	r = daemon_make_dirs(config, err);
	if (r == 0)
		r = open_journal(daemon, err);
	if (r < 0)
		return r;
	r = conversations_open(config->state_dir, &engine->conversations, err);
	if (r < 0)
		return r;
	r = audit_open(config->audit_file, &audit_calls, &engine->audit, err);
	if (r == 0)
		audit_limit(engine->audit, config->audit_max);
	return r < 0 ? err_wrap(err, "audit.file") : 0;
}

static int open_door(struct daemon *daemon, struct err *err)
{
	const struct router_settings settings = {
		.engine = &daemon->engine,
		.body_max = daemon->config->body,
		.token_held_max = daemon->config->token_count > 1 ? 2 * daemon->config->body : 0,
		.metrics = daemon_metrics,
		.finished = request_finished,
		.user = daemon,
	};
	const struct http_settings http = {
		.connections_max = (uint32_t)daemon->config->connections,
		/* A single token shares its connections with no one. */
		.owner_max = (uint32_t)daemon->config->connections /
			     (daemon->config->token_count > 1 ? 2 : 1),
		.held_max = daemon->config->answers,
		.owner_held_max =
			daemon->config->answers / (daemon->config->token_count > 1 ? 2 : 1),
	};
	struct router_settings full = settings;
	int r;

	daemon->access = access_new(daemon->config);
	r = daemon_read_key(daemon, err);
	if (r < 0)
		return r;
	full.access = daemon->access;
	full.page = daemon->config->page_enabled ? page_door() : NULL;
	full.doors = door_table;
	full.main = daemon->options->dialect;
	r = router_new(&full, &daemon->router, err);
	if (r == 0)
		r = http_new(&daemon->loop, &http, &router_calls, daemon->router, &daemon->http,
			     err);
	return r < 0 ? r : daemon_listen(daemon, err);
}

static void open_timers(struct daemon *daemon)
{
	static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
	uv_timer_t *const timers[] = {&daemon->tick, &daemon->restart, &daemon->stop,
				      &daemon->probe};

	for (size_t i = 0; i < ARRAY_LEN(timers); i++) {
		(void)uv_timer_init(&daemon->loop, timers[i]);
		timers[i]->data = daemon;
	}
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		(void)uv_signal_init(&daemon->loop, &daemon->signals[i]);
		daemon->signals[i].data = daemon;
		(void)uv_signal_start(&daemon->signals[i], on_signal, numbers[i]);
	}
	(void)uv_timer_start(&daemon->tick, tick_due, TICK_MS, TICK_MS);
	(void)uv_timer_start(&daemon->probe, daemon_probe_due, 0, 0);
}

/* The process that started this private daemon has ended. */
static void owner_gone(uv_poll_t *poll, int status, int events)
{
	struct daemon *daemon = poll->data;
	char byte;

	(void)status;
	(void)events;
	if (read(STDIN_FILENO, &byte, 1) > 0)
		return;
	daemon->engine.is_stopping = true;
	uv_stop(&daemon->loop);
}

static void open_lifeline(struct daemon *daemon)
{
	if (!daemon->options->is_private)
		return;
	(void)uv_poll_init(&daemon->loop, &daemon->lifeline, STDIN_FILENO);
	daemon->lifeline.data = daemon;
	(void)uv_poll_start(&daemon->lifeline, UV_READABLE | UV_DISCONNECT, owner_gone);
	(void)dprintf(STDOUT_FILENO, "ready\n");
}

static void give_up(uv_timer_t *timer)
{
	uv_stop(timer->loop);
}

/* Closes our own handles, then runs the loop until all parts have closed theirs. */
static void close_handles(struct daemon *daemon)
{
	uv_handle_t *const handles[] = {
		(uv_handle_t *)&daemon->tick,       (uv_handle_t *)&daemon->restart,
		(uv_handle_t *)&daemon->probe,      (uv_handle_t *)&daemon->signals[0],
		(uv_handle_t *)&daemon->signals[1], (uv_handle_t *)&daemon->signals[2],
	};

	if (daemon->tick.data == NULL)
		return; /* it was never opened */
	for (size_t i = 0; i < ARRAY_LEN(handles); i++)
		uv_close(handles[i], NULL);
	if (daemon->options->is_private)
		uv_close((uv_handle_t *)&daemon->lifeline, NULL);
	(void)uv_timer_start(&daemon->stop, give_up, CLOSE_MS, 0);
	uv_unref((uv_handle_t *)&daemon->stop);
	(void)uv_run(&daemon->loop, UV_RUN_DEFAULT);
	uv_close((uv_handle_t *)&daemon->stop, NULL);
	(void)uv_run(&daemon->loop, UV_RUN_NOWAIT);
}

/* Leaves everything for the next daemon to find: like a crash, but never in the middle of a
 * record. */
static void leave(struct daemon *daemon)
{
	if (daemon->http != NULL)
		http_close(daemon->http);
	if (daemon->engine.audit != NULL)
		audit_close(daemon->engine.audit);
	if (daemon->journal != NULL)
		journal_close(daemon->journal);
}

/* Ends viv-launch and everything it keeps. If launch has died, perhaps unseen by the loop, its
 * cgroups are left: another launch is started to remove them, and is ended instead. */
static void end_launch(struct daemon *daemon)
{
	struct pool *const *pool = &daemon->engine.pool;
	const struct backend_facts *hello = NULL;
	struct err err = {0};

	for (int tries = 0; tries < 2; tries++) {
		daemon_sweep(daemon);
		if (*pool == NULL)
			return;
		if (pool_wait_hello(*pool, &hello, &err) < 0) {
			if (daemon->is_lost)
				continue;
			return; /* no HELLO: this launch belongs to another daemon */
		}
		if (pool_quit(*pool, &err) == 0) {
			(void)unlink(daemon->stay.path);
			return;
		}
		daemon->is_lost = true;
	}
}

/* Closes everything and leaves nothing behind. */
static void close_all(struct daemon *daemon)
{
	struct engine *engine = &daemon->engine;

	cancel_all(daemon);
	while (!LIST_EMPTY(&engine->runs) && engine->pool != NULL)
		(void)uv_run(&daemon->loop, UV_RUN_ONCE);
	http_close(daemon->http);
	end_launch(daemon); /* first: quicker than ending each session */
	if (engine->sessions != NULL)
		sessions_leave(engine->sessions);
	pool_close(engine->pool);
	engine->pool = NULL;
	daemon_close_backends(daemon);
	warm_forget(engine);
	router_close(daemon->router);
	announcer_close(STEAL(engine->announcer));
	close_handles(daemon);
	sessions_free(engine->sessions);
	store_close(daemon->store);
	conversations_close(engine->conversations);
	audit_close(engine->audit);
	logs_free(engine->logs);
	journal_close(daemon->journal);
	access_free(daemon->access);
	admission_free(engine->admission);
	pressure_free(daemon->pressure);
	packages_free(engine->packages);
	metrics_free(engine->metrics);
	(void)uv_loop_close(&daemon->loop);
}

static void say_where(struct daemon *daemon)
{
	AUTO_BUF struct buf url = {.max = 16 * KIB};
	char *line = NULL;
	char *rest = NULL;
	const char *first = NULL;

	if (daemon->options->is_quiet)
		return;
	(void)buf_append(&url, daemon->bound.data, daemon->bound.size);
	(void)buf_append(&url, "", 1);
	for (line = strtok_r((char *)url.data, "\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\n", &rest)) {
		bool is_unix = strncmp(line, "unix:", 5) == 0;

		if (!is_unix && first == NULL)
			first = line;
		(void)fprintf(stderr, "viv serve: listening on %s%s\n", is_unix ? "" : "http://",
			      line);
	}
	if (first != NULL)
		daemon_say_key(daemon, first);
}

int daemon_serve(const struct config *config, const struct daemon_options *options,
		 const struct backend_stay *stay, struct err *err)
{
	struct daemon *daemon = xnew(struct daemon);
	int r;

	(void)signal(SIGPIPE, SIG_IGN);
	daemon->config = config;
	daemon->options = options;
	daemon->stay = *stay;
	buf_init(&daemon->bound, 16 * KIB);
	r = uv_loop_init(&daemon->loop);
	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r, "event loop: %s", uv_strerror(r));
	r = open_state(daemon, err);
	if (r == 0)
		r = open_door(daemon, err);
	if (r == 0)
		daemon_open_backends(daemon);
	if (r == 0)
		r = daemon_open_pool(daemon, err);
	if (r == 0) {
		open_timers(daemon);
		notify("READY=1");
		say_where(daemon);
		open_lifeline(daemon);
		(void)uv_run(&daemon->loop, UV_RUN_DEFAULT);
		r = daemon->status;
	}
	/* A start that failed must not end sessions that the previous daemon left. */
	if (r < 0 || options->keep) {
		leave(daemon);
		return r;
	}
	close_all(daemon);
	buf_done(&daemon->bound);
	free(daemon);
	return r;
}
