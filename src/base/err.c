// SPDX-License-Identifier: Apache-2.0
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/c.h"

int err_sys(struct err *err, const char *format, ...)
{
	int num = errno;
	char what[sizeof(err->text)];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(what, sizeof(what), format, args);
	va_end(args);

	err->kind = ERR_INTERNAL;
	err->num = num;
	(void)snprintf(err->text, sizeof(err->text), "%.400s: %s", what, strerrordesc_np(num));
	return num > 0 ? -num : -EIO;
}

int err_set(struct err *err, enum err_kind kind, int num, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);

	err->kind = kind;
	err->num = num;
	return -num;
}

int err_wrap(struct err *err, const char *format, ...)
{
	char front[sizeof(err->text)];
	char back[sizeof(err->text)];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(front, sizeof(front), format, args);
	va_end(args);

	memcpy(back, err->text, sizeof(back));
	back[sizeof(back) - 1] = '\0';
	(void)snprintf(err->text, sizeof(err->text), "%.120s: %.370s", front, back);
	return err->num > 0 ? -err->num : -EIO;
}

const char *err_kind_name(enum err_kind kind)
{
	static const char *const names[] = {
		[ERR_NONE] = "none",
		[ERR_BAD_REQUEST] = "bad_request",
		[ERR_UNAUTHORIZED] = "unauthorized",
		[ERR_FORBIDDEN] = "forbidden",
		[ERR_NOT_FOUND] = "not_found",
		[ERR_CONFLICT] = "conflict",
		[ERR_TOO_LARGE] = "too_large",
		[ERR_BUSY] = "busy",
		[ERR_UNSUPPORTED] = "unsupported",
		[ERR_INTERNAL] = "internal",
	};

	return (size_t)kind < ARRAY_LEN(names) ? names[kind] : "internal";
}
