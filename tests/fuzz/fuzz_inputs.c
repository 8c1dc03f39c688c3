// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "fuzz.h"
#include "op/inputs.h"
#include "policy/runtime.h"

/* The files of a request, which were checked to be JSON, as a person is shown them. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const struct runtime runtime = {0};
	const struct run_request request = {
		.kind.runtime = &runtime,
		.files_json = {.data = bytes, .size = size, .fd = -1},
	};
	struct buf buf;

	if (!json_is_valid(bytes, size))
		return 0;
	buf_init(&buf, INPUTS_MAX);
	if (inputs_put(&request, &buf) == 0)
		CLAIM(json_is_valid(buf.data, buf.size));
	buf_done(&buf);
	return 0;
}
