// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>

#include "backend/transfer_state.h"
#include "base/c.h"

#define CONNECTIONS_MAX 256L

/* A socket that we watch for curl. */
struct watch {
	struct transfers *all; /* borrowed */
	uv_poll_t poll;
	curl_socket_t socket;
	int events;
};

/* ---- the end of one ---- */

static void sweep(struct transfers *all)
{
	struct transfer *transfer = LIST_FIRST(&all->list);

	while (transfer != NULL) {
		struct transfer *next = LIST_NEXT(transfer, entry);

		if (transfer->is_cancelled)
			transfer_free(transfer);
		transfer = next;
	}
}

static void finish(struct transfer *transfer, CURLcode code)
{
	struct transfers *all = transfer->all;
	struct transfer_end end = {0};

	end.status = (unsigned)curl_request_status(&transfer->request);
	end.is_unreachable = code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST;
	end.is_late = code == CURLE_OPERATION_TIMEDOUT;
	if (transfer->broke != NULL)
		(void)err_set(&end.why, ERR_INTERNAL, EPROTO, "%s", transfer->broke);
	else if (code != CURLE_OK)
		(void)err_set(&end.why, ERR_INTERNAL, end.is_late ? ETIMEDOUT : EIO, "%.200s",
			      transfer->error[0] != '\0' ? transfer->error
							 : all->curl.easy_strerror(code));
	end.body = buf_string(&transfer->body);
	end.body_size = transfer->body.size;
	/* Whatever `done` starts or cancels, it can no longer reach this transfer. */
	transfer->is_cancelled = true;
	all->inside++;
	transfer->calls.done(transfer->user, &end);
	all->inside--;
}

static void take_messages(struct transfers *all)
{
	struct transfer *transfer = NULL;
	CURLcode code = CURLE_OK;

	while (!all->is_freed &&
	       (transfer = curl_next_done(&all->curl, all->multi, &code)) != NULL) {
		if (!transfer->is_cancelled)
			finish(transfer, code);
	}
}

/* ---- curl in the loop ---- */

static void free_when_done(struct transfers *all)
{
	if (all->is_freed && all->handles == 0)
		free(all);
}

static void handle_closed(uv_handle_t *handle)
{
	struct transfers *all = handle->data;

	all->handles--;
	free_when_done(all);
}

static void watch_closed(uv_handle_t *handle)
{
	struct watch *watch = handle->data;
	struct transfers *all = watch->all;

	free(watch);
	all->handles--;
	free_when_done(all);
}

static void act(struct transfers *all, curl_socket_t socket, int events)
{
	int running = 0;

	if (all->is_freed)
		return;
	all->inside++;
	(void)all->curl.multi_socket_action(all->multi, socket, events, &running);
	all->inside--;
	take_messages(all);
	if (all->inside == 0 && !all->is_freed)
		sweep(all);
}

static void socket_ready(uv_poll_t *poll, int status, int events)
{
	struct watch *watch = poll->data;
	int flags = (events & UV_READABLE ? CURL_CSELECT_IN : 0) |
		    (events & UV_WRITABLE ? CURL_CSELECT_OUT : 0);

	/* On an error the loop has stopped watching the socket: curl tries both directions and
	 * finds the error itself. */
	if (status < 0)
		flags = CURL_CSELECT_IN | CURL_CSELECT_OUT;
	act(watch->all, watch->socket, flags);
	if (status < 0 && !uv_is_closing((uv_handle_t *)poll))
		(void)uv_poll_start(poll, watch->events, socket_ready);
}

static void timer_due(uv_timer_t *timer)
{
	act(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

static int timer_wanted(CURLM *multi, long ms, void *user)
{
	struct transfers *all = user;

	(void)multi;
	if (all->is_freed || ms < 0)
		(void)uv_timer_stop(&all->timer);
	else
		(void)uv_timer_start(&all->timer, timer_due, (uint64_t)ms, 0);
	return 0;
}

static struct watch *watch_new(struct transfers *all, curl_socket_t socket)
{
	struct watch *watch = xnew(struct watch);

	watch->all = all;
	watch->socket = socket;
	watch->poll.data = watch;
	if (uv_poll_init_socket(all->loop, &watch->poll, socket) < 0) {
		free(watch);
		return NULL;
	}
	all->handles++;
	(void)all->curl.multi_assign(all->multi, socket, watch);
	return watch;
}

static int socket_wanted(CURL *easy, curl_socket_t socket, int what, void *user, void *known)
{
	struct transfers *all = user;
	struct watch *watch = known;
	int events =
		(what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		if (watch == NULL)
			return 0;
		(void)uv_poll_stop(&watch->poll);
		uv_close((uv_handle_t *)&watch->poll, watch_closed);
		(void)all->curl.multi_assign(all->multi, socket, NULL);
		return 0;
	}
	if (watch == NULL)
		watch = watch_new(all, socket);
	if (watch == NULL)
		return -1;
	watch->events = events;
	(void)uv_poll_start(&watch->poll, events, socket_ready);
	return 0;
}

/* ---- all of it ---- */

int transfers_open(struct transfers *all, uv_loop_t *loop, struct err *err)
{
	all->multi = all->curl.multi_init();
	if (all->multi == NULL)
		return err_set(err, ERR_INTERNAL, ENOMEM, "no memory for requests");
	all->loop = loop;
	(void)uv_timer_init(loop, &all->timer);
	all->timer.data = all;
	all->handles = 1;
	(void)all->curl.multi_setopt(all->multi, CURLMOPT_SOCKETFUNCTION, socket_wanted);
	(void)all->curl.multi_setopt(all->multi, CURLMOPT_SOCKETDATA, all);
	(void)all->curl.multi_setopt(all->multi, CURLMOPT_TIMERFUNCTION, timer_wanted);
	(void)all->curl.multi_setopt(all->multi, CURLMOPT_TIMERDATA, all);
	(void)all->curl.multi_setopt(all->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, CONNECTIONS_MAX);
	return 0;
}

void transfers_close(struct transfers *all)
{
	(void)all->curl.multi_cleanup(all->multi);
	all->is_freed = true;
	uv_close((uv_handle_t *)&all->timer, handle_closed);
}
