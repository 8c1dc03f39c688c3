// SPDX-License-Identifier: Apache-2.0
/*
 * Metrics - the daemon's counters, and their text for Prometheus
 *
 * Owns:    the table of metrics, their series, and the exposition format (version 0.0.4).
 * May not: grow without bound: a label's values are known sets (policies, runtimes, verdicts,
 *          routes), and series beyond METRIC_SERIES_MAX are counted as "other". Nor have a label
 *          whose values a client chooses.
 */
#pragma once

#include "base/buf.h"

#define METRIC_SERIES_MAX 1024 /* of one metric; 64 policies by 14 verdicts fit */

/* X(id, kind, name, label, label, help). A metric has up to two labels; "" is none. All times and
 * histograms are in seconds. */
#define METRICS(X)                                                                                 \
	X(RUNS, COUNTER, "vivarium_runs_total", "policy", "verdict", "Runs that are over")         \
	X(RUN_QUEUE, HISTOGRAM, "vivarium_run_queue_seconds", "policy", "verdict",                 \
	  "Time from a request to its admission")                                                  \
	X(RUN_START, HISTOGRAM, "vivarium_run_start_seconds", "policy", "verdict",                 \
	  "Time from admission to a sandbox that takes the code")                                  \
	X(RUN_TIME, HISTOGRAM, "vivarium_run_seconds", "policy", "verdict",                        \
	  "Time from a sandbox to the verdict")                                                    \
	X(RUNS_RUNNING, GAUGE, "vivarium_runs_running", "", "", "Runs that run now")               \
	X(RUNS_HELD, GAUGE, "vivarium_runs_held", "", "", "Runs that wait for a person")           \
	X(RUNS_WAITING, GAUGE, "vivarium_runs_waiting", "", "", "Runs that wait for admission")    \
	X(REJECTS, COUNTER, "vivarium_rejects_total", "reason", "",                                \
	  "Requests refused before anything ran")                                                  \
	X(HTTP_REQUESTS, COUNTER, "vivarium_http_requests_total", "route", "status",               \
	  "HTTP requests answered")                                                                \
	X(HTTP_CONNECTIONS, GAUGE, "vivarium_http_connections", "", "", "Open HTTP connections")   \
	X(SESSIONS, GAUGE, "vivarium_sessions", "state", "", "Live sessions")                      \
	X(SANDBOXES, GAUGE, "vivarium_sandboxes", "", "", "Live sandboxes, pools included")        \
	X(POOL_READY, GAUGE, "vivarium_pool_ready", "runtime", "",                                 \
	  "Sandboxes ready to take a run")                                                         \
	X(POOL_COMING, GAUGE, "vivarium_pool_coming", "runtime", "", "Sandboxes being made")       \
	X(MEMORY, GAUGE, "vivarium_memory_bytes", "", "",                                          \
	  "Memory of all sessions, when each last told")                                           \
	X(JOURNAL, GAUGE, "vivarium_journal_bytes", "", "", "Bytes of kept events")                \
	X(AUDIT_LOST, COUNTER, "vivarium_audit_lost_total", "", "",                                \
	  "Lines that could not be written to the audit log")                                      \
	X(LAUNCH_RESTARTS, COUNTER, "vivarium_launch_restarts_total", "", "",                      \
	  "Times viv-launch had to be started again")                                              \
	X(BUILD_INFO, GAUGE, "vivarium_build_info", "version", "", "1, labelled by the version")   \
	X(PROCESS_CPU, COUNTER, "process_cpu_seconds_total", "", "",                               \
	  "User and system time of the daemon")                                                    \
	X(PROCESS_FDS, GAUGE, "process_open_fds", "", "", "Open descriptors of the daemon")        \
	X(PROCESS_FDS_MAX, GAUGE, "process_max_fds", "", "", "The most descriptors it may open")   \
	X(PROCESS_MEMORY, GAUGE, "process_resident_memory_bytes", "", "",                          \
	  "Resident memory of the daemon")                                                         \
	X(PROCESS_START, GAUGE, "process_start_time_seconds", "", "",                              \
	  "When the daemon started, since the epoch")

enum metric {
#define METRIC_ID(id, ...) METRIC_##id,
	METRICS(METRIC_ID)
#undef METRIC_ID
	METRIC_COUNT,
};

struct metrics;

/* All metrics without labels exist from the start, as 0. */
struct metrics *metrics_new(void);
void metrics_free(struct metrics *metrics);

/* `first` and `second` are the values of the metric's labels; NULL for a label it does not have.
 * Use add for a counter (or a gauge that was set before), set for a gauge (or a counter that is
 * counted elsewhere), observe for a histogram. Values that are not finite are ignored. */
void metrics_add(struct metrics *metrics, enum metric metric, const char *first, const char *second,
		 double value);
void metrics_set(struct metrics *metrics, enum metric metric, const char *first, const char *second,
		 double value);
void metrics_observe(struct metrics *metrics, enum metric metric, const char *first,
		     const char *second, double seconds);

/* Appends all metrics, with the current figures of this process. -EMSGSIZE, -ENOMEM. */
int metrics_put(struct metrics *metrics, struct buf *buf);
