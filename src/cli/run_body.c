// SPDX-License-Identifier: Apache-2.0
#include "cli/run_body.h"

#include <jansson.h>
#include <string.h>

#include <sys/mman.h>

#include "base/c.h"
#include "base/json.h"
#include "session/body.h"

#define BODY_MAX (224ULL * MIB) /* a daemon takes 256 MiB unless its config says otherwise */

static bool is_text(const void *bytes, size_t size)
{
	json_auto_t *text = json_stringn(bytes, size); /* NULL when it is not UTF-8 */

	return text != NULL;
}

static bool is_utf8(const struct run_request *request, const struct op_param *param)
{
	const struct run_bytes *bytes = request_bytes(request, param);
	const char *const *texts = NULL;

	if (bytes != NULL)
		return bytes->data == NULL || is_text(bytes->data, bytes->size);
	if (param->type != OP_TEXTS && param->type != OP_PAIRS)
		return true;
	for (texts = request_texts(request, param); texts != NULL && *texts != NULL; texts++) {
		if (!is_text(*texts, strlen(*texts)))
			return false;
	}
	return true;
}

/* Data is copied into the body unchanged: invalid JSON could end its member and add others. */
static bool is_json(const struct run_bytes *bytes)
{
	void *map = mmap(NULL, bytes->size, PROT_READ, MAP_PRIVATE, bytes->fd, 0);
	bool is_valid;

	if (map == MAP_FAILED)
		return false;
	is_valid = json_is_valid(map, bytes->size);
	(void)munmap(map, bytes->size);
	return is_valid;
}

bool run_body_is_possible(const struct run_inputs *inputs)
{
	const struct run_request *op = &inputs->op;
	uint64_t size = op->data.size;

	for (size_t i = 0; i < op->file_count; i++) {
		size += op->files[i].bytes.size / 3 * 4;
		if (!is_text(op->files[i].path, strlen(op->files[i].path)))
			return false;
	}
	for (size_t i = 0; i < RUN_PARAMS; i++) {
		if (!is_utf8(op, &run_params[i]))
			return false;
	}
	return size < BODY_MAX && (op->data_format == RUN_DATA_NONE ||
				   (op->data_format == RUN_DATA_JSON && is_json(&op->data)));
}

int run_body_make(const struct run_inputs *inputs, bool is_session, int *ret_fd, struct err *err)
{
	struct body body = {.fd = -1};
	int r = body_make(&inputs->op, is_session ? BODY_SESSION : BODY_DAEMON, &body, err);

	if (r == 0)
		*ret_fd = body.fd;
	return r;
}
