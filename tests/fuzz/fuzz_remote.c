// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "backend/remote_state.h"
#include "base/json.h"
#include "fuzz.h"

static void started(void *user, const char *runtime)
{
	(void)user;
	CLAIM(strlen(runtime) <= 64);
}

static void text(void *user, int stream, const char *value, size_t size)
{
	(void)user;
	CLAIM(stream == 1 || stream == 2);
	CLAIM(value[0] == '"' && json_is_valid(value, size));
}

static void fact(void *user, const char *type, const char *value, size_t size)
{
	(void)user;
	(void)type;
	CLAIM(value[0] == '{' && json_is_valid(value, size));
}

/* An answer of a remote: the first byte says which one. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const struct backend_job_calls calls = {
		.started = started, .text = text, .fact = fact};
	struct remote_wire wire = {.calls = &calls};
	const char *answer = (const char *)bytes + 1;
	enum config_remote kind = bytes != NULL && size > 0 && bytes[0] & 1
					  ? CONFIG_REMOTE_SIDECAR
					  : CONFIG_REMOTE_VIVARIUM;

	if (size == 0)
		return 0;
	buf_init(&wire.rest, REMOTE_LINE_MAX);
	buf_init(&wire.end, REMOTE_LINE_MAX);
	if (bytes[0] & 2)
		(void)remote_wire_python(&wire, answer, size - 1);
	else if (bytes[0] & 4)
		(void)remote_wire_explore(&wire, kind, answer, size - 1);
	else
		(void)remote_wire_bytes(&wire, kind, answer, size - 1);
	CLAIM(wire.end.size == 0 || json_is_valid(wire.end.data, wire.end.size));
	buf_done(&wire.rest);
	buf_done(&wire.end);
	return 0;
}
