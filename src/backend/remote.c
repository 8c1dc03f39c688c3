// SPDX-License-Identifier: Apache-2.0
#include "backend/remote.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/remote_state.h"
#include "base/c.h"
#include "base/json.h"

#define HEALTH_MS 5000U
#define HEALTH_MAX (64U << 10)
#define THERE_MS 15000U /* how often a reachable remote is checked */
#define GONE_MS 2000U   /* ... and an unreachable one */

static void look_due(uv_timer_t *timer)
{
	struct remote *remote = timer->data;

	remote_look(remote);
}

void remote_found(struct remote *remote, const struct err *why)
{
	bool is_new =
		!remote->is_known || (remote->why.kind == ERR_NONE) != (why->kind == ERR_NONE);

	remote->is_known = true;
	remote->why = *why;
	if (remote->changed != NULL) {
		(void)uv_timer_start(&remote->timer, look_due,
				     why->kind == ERR_NONE ? THERE_MS : GONE_MS, 0);
		if (is_new)
			remote->changed(remote->changed_user, why);
	}
}

/* Curl's own messages contain the address, so they are not used. */
int remote_silent(const struct transfer_end *end, struct err *err)
{
	return err_set(err, ERR_UNSUPPORTED, EHOSTUNREACH, "it does not answer: %s",
		       end->is_unreachable ? "the connection failed"
		       : end->is_late      ? "it took too long"
					   : "the connection broke off");
}

/* ---- its /health ---- */

static struct span member(const struct transfer_end *end, const char *name)
{
	return span_member((struct span){end->body, end->body_size}, name);
}

/* Tells the kind by /health: a Vivarium reports when it last ran code, a sidecar which folder it
 * uses. */
static enum config_remote kind_of(const struct transfer_end *end)
{
	if (member(end, "last_run_ms").size > 0)
		return CONFIG_REMOTE_VIVARIUM;
	if (member(end, "semanticDir").size > 0 || member(end, "bashAvailable").size > 0)
		return CONFIG_REMOTE_SIDECAR;
	return CONFIG_REMOTE_AUTO;
}

static int judge(struct remote *remote, const struct transfer_end *end, struct err *err)
{
	bool is_object = end->body_size > 0 && json_is_valid(end->body, end->body_size) &&
			 end->body[0] == '{';
	bool is_good = end->status >= 200 && end->status < 300;

	if (end->status == 0 || end->why.kind != ERR_NONE)
		return remote_silent(end, err);
	if (is_object && remote->config->remote_kind == CONFIG_REMOTE_AUTO)
		remote->kind = kind_of(end);
	if (remote->kind == CONFIG_REMOTE_AUTO)
		return err_set(err, ERR_UNSUPPORTED, EPROTO,
			       "its /health (HTTP %u) is neither a Vivarium's nor a sidecar's",
			       end->status);
	/* A sidecar without a shell is degraded, but still has Python; a Vivarium that has just
	 * started accepts runs. */
	if (is_good || (is_object && (member(end, "pythonAvailable").at[0] == 't' ||
				      span_is(member(end, "status"), "starting"))))
		return 0;
	return err_set(err, ERR_UNSUPPORTED, EAGAIN, "it says that it cannot work (HTTP %u)",
		       end->status);
}

static void health_came(void *user, const struct transfer_end *end)
{
	struct remote *remote = user;
	struct backend_job *job = NULL;
	struct err why = {0};

	remote->asking = NULL;
	(void)judge(remote, end, &why);
	remote_found(remote, &why);
	/* Restarts from the head each time: the call may free this job, and others with it. */
	do {
		LIST_FOREACH(job, &remote->jobs, entry) {
			if (job->is_waiting)
				break;
		}
		if (job != NULL) {
			job->is_waiting = false;
			remote_job_go(job, &why);
		}
	} while (job != NULL);
}

void remote_look(struct remote *remote)
{
	static const struct transfer_calls calls = {.done = health_came};
	uint64_t patience = remote->config->remote_timeout_ms;
	const struct transfer_ask ask = {
		.method = "GET",
		.path = "/health",
		.accept = "application/json",
		.fd = -1,
		.timeout_ms = patience < HEALTH_MS ? (uint32_t)patience : HEALTH_MS,
		.answer_max = HEALTH_MAX,
	};
	struct err err = {0};

	if (remote->asking == NULL &&
	    transfer_start(remote->transfers, &ask, &calls, remote, &remote->asking, &err) < 0)
		remote_found(remote, &err); /* out of memory: waiting jobs end by their timeout */
}

void remote_watch(struct remote *remote, void (*changed)(void *user, const struct err *why),
		  void *user)
{
	remote->changed = changed;
	remote->changed_user = user;
	remote_look(remote);
}

void remote_ask(struct remote *remote)
{
	remote_look(remote);
	while (remote->asking != NULL)
		(void)uv_run(remote->loop, UV_RUN_ONCE);
}

int remote_why(const struct remote *remote, struct err *err)
{
	if (!remote->is_known || remote->why.kind == ERR_NONE)
		return 0;
	*err = remote->why;
	return -remote->why.num;
}

const char *remote_kind(const struct remote *remote)
{
	if (remote->kind == CONFIG_REMOTE_SIDECAR)
		return config_sidecar_words->remote;
	return remote->kind == CONFIG_REMOTE_VIVARIUM ? "vivarium" : "";
}

int remote_new(uv_loop_t *loop, const struct config *config, struct remote **ret_remote,
	       struct err *err)
{
	struct remote *remote = NULL;
	int r;

	*ret_remote = NULL;
	if (config->remote_url[0] == '\0')
		return 0;
	remote = xnew(struct remote);
	remote->loop = loop;
	remote->config = config;
	remote->kind = (enum config_remote)config->remote_kind;
	LIST_INIT(&remote->jobs);
	r = transfers_new(loop, config->remote_url, config->remote_token,
			  (uint32_t)config->remote_timeout_ms, &remote->transfers, err);
	if (r < 0) {
		free(remote);
		return r;
	}
	(void)uv_timer_init(loop, &remote->timer);
	remote->timer.data = remote;
	*ret_remote = remote;
	return 0;
}

static void timer_closed(uv_handle_t *handle)
{
	free(handle->data);
}

void remote_free(struct remote *remote)
{
	if (remote == NULL)
		return;
	while (!LIST_EMPTY(&remote->jobs))
		backend_remote.jobs->cancel(LIST_FIRST(&remote->jobs));
	transfers_free(remote->transfers);
	uv_close((uv_handle_t *)&remote->timer, timer_closed);
}
