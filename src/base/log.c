// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

static enum log_level log_level = LOG_LEVEL_WARNING;

void log_set_level(enum log_level level)
{
	log_level = level;
}

void log_event(enum log_level level, const char *event, const char *format, ...)
{
	static const char *const names[] = {"error", "warning", "info", "debug"};
	char text[1024];
	va_list args;

	if (level > log_level)
		return;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);

	for (char *c = text; *c != '\0'; c++) {
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
	}
	(void)fprintf(stderr, "level=%s event=%s %s\n", names[level], event, text);
}
