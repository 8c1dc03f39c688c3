// SPDX-License-Identifier: Apache-2.0
#include "session/guard.h"

#include <errno.h>
#include <stdlib.h>

#include "backend/choose.h"
#include "base/c.h"
#include "session/sandbox.h"
#include "session/testimony.h"

#define CHECK_MS 10000U

struct guard {
	struct pool *pool; /* borrowed: outlives every run */
	struct payload payload;
	uint64_t nonce;
	struct pool_ticket *ticket;
	struct sandbox *sandbox; /* ours until sandbox_end */
	void (*answer)(void *user, const struct verdict_testimony *testimony,
		       const struct err *why);
	void *user;
	bool is_answered;
};

static void say(struct guard *guard, const struct verdict_testimony *testimony,
		const struct err *why)
{
	if (guard->is_answered)
		return;
	guard->is_answered = true;
	guard->answer(guard->user, testimony, why); /* frees the guard */
}

/* Code that makes the checker end is refused, like code that the checker cannot read. */
static void refuse(struct guard *guard, const char *why)
{
	struct verdict_testimony testimony = {.is_given = true, .kind = VERDICT_GUARD};

	(void)snprintf(testimony.message, sizeof(testimony.message),
		       "the import guard could not check this code: %s", why);
	say(guard, &testimony, NULL);
}

static void take_frame(void *user, const struct frame *frame)
{
	struct guard *guard = user;
	struct verdict_testimony testimony = {0};
	struct testimony_extras extras = {0};
	struct err err = {0};

	if (frame->header.nonce != guard->nonce)
		return;
	if (frame->header.type != FRAME_DONE) {
		refuse(guard, "the checker gave an invalid answer");
		return;
	}
	buf_init(&extras.missing, TESTIMONY_MAX);
	buf_init(&extras.left_out, TESTIMONY_MAX);
	if (testimony_read(frame->payload, frame->header.size, &testimony, &extras, &err) < 0)
		refuse(guard, err.text);
	else
		say(guard, &testimony, NULL);
	buf_done(&extras.missing);
	buf_done(&extras.left_out);
}

static void channel_ended(void *user, const struct err *why)
{
	refuse(user, why->kind != ERR_NONE ? why->text : "the checker ended");
}

static void sandbox_exited(void *user, const struct box_exit *facts, const struct err *why)
{
	struct guard *guard = user;

	if (facts == NULL) {
		say(guard, NULL, why);
		return;
	}
	if (facts->cause == BOX_CAUSE_DEADLINE)
		refuse(guard, "the check took too long");
	else if (facts->cause == BOX_CAUSE_MEMORY || facts->oom_kills > 0)
		refuse(guard, "the check took too much memory");
	else
		refuse(guard, "the checker ended");
}

static void bytes_ignored(void *user, int number, const uint8_t *data, size_t size)
{
	(void)user;
	(void)number;
	(void)data;
	(void)size;
}

static void sandbox_taken(void *user, struct sandbox *sandbox, const struct err *why)
{
	static const struct channel_calls calls = {.frame = take_frame, .ended = channel_ended};
	struct guard *guard = user;
	struct err err = {0};

	guard->ticket = NULL;
	if (sandbox == NULL) {
		say(guard, NULL, why);
		return;
	}
	guard->sandbox = sandbox;
	sandbox_take(sandbox, sandbox_exited, guard);
	channel_listen(&sandbox->channel, &calls, guard);
	stream_listen(&sandbox->out, bytes_ignored, NULL);
	stream_listen(&sandbox->err, bytes_ignored, NULL);
	drop_fd(&sandbox->in);
	/* If either call fails, the channel or the sandbox ends, which the loop reports. */
	(void)sandbox_begin(sandbox, CHECK_MS, &err);
	(void)channel_send(&sandbox->channel, &guard->payload.frame, &guard->payload.memfd, &err);
}

int guard_kind(struct pool *pool, struct box_kind *kind, struct err *err)
{
	const struct backend_host host = pool_host(pool);

	if (kind->backend != NULL && kind->backend->jobs == NULL)
		return 0;
	return backend_choose_local(&host, &kind->backend, err);
}

int guard_start(struct pool *pool, const struct box_kind *kind, struct payload *take_payload,
		uint64_t nonce,
		void (*answer)(void *user, const struct verdict_testimony *testimony,
			       const struct err *why),
		void *user, struct guard **ret_guard, struct err *err)
{
	struct guard *guard = xnew(struct guard);
	int r;

	guard->pool = pool;
	guard->payload = *take_payload;
	*take_payload = (struct payload){.memfd = -1};
	guard->nonce = nonce;
	guard->answer = answer;
	guard->user = user;
	r = pool_take(pool, kind, sandbox_taken, guard, &guard->ticket, err);
	if (r < 0) {
		guard_free(guard);
		return r;
	}
	*ret_guard = guard;
	return 0;
}

void guard_free(struct guard *guard)
{
	if (guard == NULL)
		return;
	guard->is_answered = true;
	if (guard->ticket != NULL)
		pool_untake(guard->ticket);
	sandbox_end(guard->sandbox);
	payload_done(&guard->payload);
	free(guard);
}
