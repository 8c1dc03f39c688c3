// SPDX-License-Identifier: Apache-2.0
#include "cli/trial.h"

#include <string.h>

#include "backend/choose.h"
#include "base/c.h"

#define TRIAL_OUTPUT_MAX MIB

int trial_open(struct trial *trial, struct err *err)
{
	struct backend_host host;
	struct err why = {0};
	int r;

	*trial = (struct trial){0};
	r = uv_loop_init(&trial->loop);
	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r, "event loop: %s", uv_strerror(r));
	trial->has_loop = true;

	r = pool_new(&trial->loop, NULL, &trial->pool, err);
	if (r < 0)
		return r;
	r = pool_wait_hello(trial->pool, &trial->hello, err);
	if (r < 0)
		return r;
	host = pool_host(trial->pool);
	(void)backend_choose_local(&host, &trial->backend, &why); /* a run will report `why` */
	return 0;
}

void trial_close(struct trial *trial)
{
	if (!trial->has_loop)
		return;

	pool_close(STEAL(trial->pool));
	(void)uv_run(&trial->loop, UV_RUN_DEFAULT);
	(void)uv_loop_close(&trial->loop);
	trial->has_loop = false;
}

struct run_request trial_request(const struct runtime *runtime, const struct plan *plan,
				 const char *code, uint32_t timeout_ms)
{
	return (struct run_request){
		.code = {.data = code, .size = strlen(code), .fd = -1},
		.kind = {.runtime = runtime, .trust = TRIAL_TRUST, .plan = *plan, .is_cold = true},
		.timeout_ms = timeout_ms,
		.timeout_max_ms = timeout_ms,
		.output_max = TRIAL_OUTPUT_MAX,
		.stdin_fd = -1,
	};
}

int trial_run(struct trial *trial, const struct run_request *request, struct run **ret_run,
	      struct err *err)
{
	const struct run_calls calls = {0};
	struct run *run = NULL;
	int r;

	r = run_start(trial->pool, request, &calls, NULL, &run, err);
	if (r < 0)
		return r;

	run_wait(run);
	*ret_run = run;
	return 0;
}

char *trial_output(const struct run *run, int stream)
{
	struct run_facts facts = run_facts(run);
	const struct buf *bytes = stream == 1 ? facts.out : facts.err;
	char *text = xcalloc(bytes->size + 1, 1);

	if (bytes->size > 0)
		memcpy(text, bytes->data, bytes->size);
	return text;
}
