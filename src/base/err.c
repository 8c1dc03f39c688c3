// SPDX-License-Identifier: Apache-2.0
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/c.h"

#define FRONT_MAX 120 /* bytes of a prefix, so that the text itself keeps some room */

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
	err->field = 0;
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
	err->field = 0;
	return -num;
}

int err_wrap(struct err *err, const char *format, ...)
{
	char front[FRONT_MAX + sizeof(": ")];
	va_list args;
	size_t size;

	va_start(args, format);
	(void)vsnprintf(front, FRONT_MAX + 1, format, args);
	va_end(args);

	size = strlen(front) + strlen(": ");
	memcpy(front + size - strlen(": "), ": ", sizeof(": "));
	memmove(err->text + size, err->text, sizeof(err->text) - size);
	memcpy(err->text, front, size);
	err->text[sizeof(err->text) - 1] = '\0';
	err->field = 0;
	return err_code(err);
}

int err_code(const struct err *err)
{
	return err->num > 0 ? -err->num : -EIO;
}

int err_blame(struct err *err, const char *field)
{
	int r = err_wrap(err, "%s", field);

	err->field = (uint32_t)strnlen(field, FRONT_MAX);
	return r;
}

int err_field(struct err *err, enum err_kind kind, int num, const char *field, const char *format,
	      ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);

	err->kind = kind;
	err->num = num;
	return err_blame(err, field);
}

bool err_is_busy(const struct err *err)
{
	return err->kind == ERR_BUSY || err->kind == ERR_QUOTA;
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
		[ERR_QUOTA] = "busy",
	};

	return (size_t)kind < ARRAY_LEN(names) ? names[kind] : "internal";
}
