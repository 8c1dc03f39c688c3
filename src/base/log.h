// SPDX-License-Identifier: Apache-2.0
/*
 * Log - one line per event on stderr: a fixed event name, then fields
 *
 * Owns:    the log level, and escaping: control bytes never reach the terminal.
 * May not: be called by libraries below `session` (they return errors), nor ever be given code,
 *          output, file contents or tokens.
 */
#pragma once

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARNING,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG,
};

/* Lines above this level are dropped. Default: warning. */
void log_set_level(enum log_level level);

void log_event(enum log_level level, const char *event, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
