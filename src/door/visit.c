// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/job.h"
#include "base/c.h"
#include "door/door_state.h"

/* ---- its life ---- */

struct visit *visit_new(struct doors *doors, struct http_request *request,
			const struct opened *opened)
{
	struct visit *visit = xnew(struct visit);

	visit->doors = doors;
	visit->request = request;
	visit->call = (struct door_call){
		.door = opened->door,
		.state = opened->state,
		.engine = doors->settings.engine,
	};
	visit->start_ns = now_ns();
	parts_init(&visit->parts);
	buf_init(&visit->answer, 1);
	buf_init(&visit->queue, DOOR_QUEUE_MAX);
	http_peer(request, visit->peer, sizeof(visit->peer));
	visit->call.caller = (struct op_caller){.name = "", .peer = visit->peer};
	http_set_user(request, visit);
	doors->visit_count++;
	router_enter(doors->settings.router);
	return visit;
}

static void free_parts(struct visit *visit)
{
	route_done(&visit->route);
	scan_done(visit->scan);
	free(visit->scan);
	parts_done(&visit->parts);
	json_decref(visit->tree);
	for (size_t i = 0; i < ARRAY_LEN(visit->trees); i++)
		json_decref(visit->trees[i]);
	while (visit->memory != NULL) {
		struct memory *memory = visit->memory;

		visit->memory = memory->next;
		free(memory);
	}
	for (size_t i = 0; i < visit->header_count; i++) {
		free(visit->headers[i].name);
		free(visit->headers[i].value);
	}
	free(visit->origin);
	free(visit->type);
	buf_done(&visit->answer);
	buf_done(&visit->queue);
}

void visit_release(struct visit *visit)
{
	struct doors *doors = visit->doors;
	const struct mounted *mounted = visit->mounted;
	struct router_finished finished = {
		.route = mounted != NULL ? mounted->path : "none",
		.method = mounted != NULL ? mounted->op.method : "other",
		.status = visit->status,
		.seconds = (double)(now_ns() - visit->start_ns) / 1e9,
	};

	if (visit->request != NULL || visit->refs > 0 ||
	    (visit->is_begun && (!visit->is_answered || (visit->is_stream && !visit->is_ended))))
		return;
	if (visit->is_begun && visit->call.ended != NULL)
		visit->call.ended(&visit->call);
	router_leave(doors->settings.router, &visit->held, &finished);
	doors->kept -= visit->kept;
	free_parts(visit);
	free(visit);
	doors->visit_count--;
	doors_release(doors);
}

bool door_keep(struct door_call *call, uint64_t size)
{
	struct visit *visit = (struct visit *)call;
	struct doors *doors = visit->doors;

	/* As much as bodies may take. One alone is limited by whoever made it. */
	if (doors->kept > visit->kept && doors->kept + size > 4 * doors->settings.body_max)
		return false;
	visit->kept += size;
	doors->kept += size;
	return true;
}

int visit_keep_tree(struct visit *visit, uint64_t size, struct err *err)
{
	if (size <= VISIT_TREE_SMALL || door_keep(&visit->call, VISIT_TREE_COST * size))
		return 0;
	return err_set(err, ERR_BUSY, ENOBUFS,
		       "too many large requests are under way; try again later");
}

void door_hold(struct door_call *call)
{
	((struct visit *)call)->refs++;
}

void door_release(struct door_call *call)
{
	struct visit *visit = (struct visit *)call;

	visit->refs--;
	visit_release(visit);
}

/* ---- the head ---- */

void visit_refuse(struct visit *visit, unsigned status, const struct err *err)
{
	visit->is_refused = true;
	visit->call.door->refuse(&visit->call, status, err);
}

static int check_access(struct visit *visit, bool needs_token, struct err *err)
{
	struct http_request *request = visit->request;
	const struct door *door = visit->call.door;
	const struct access *access = visit->doors->settings.access;
	bool is_unix = http_is_unix(request);
	struct access_request asked = {
		.authorization = http_header(request, "Authorization"),
		.host = http_header(request, "Host"),
		.origin = http_header(request, "Origin"),
		.site = http_header(request, "Sec-Fetch-Site"),
		.client = http_header(request, "Vivarium-Client"),
		.peer = is_unix ? NULL : visit->peer,
	};
	int r;

	if (door->token_header != NULL) {
		asked.secret = http_header(request, door->token_header);
		/* Theirs is meant when both are there. */
		if (asked.secret != NULL)
			asked.authorization = NULL;
	}
	asked.has_uid = is_unix && http_peer_uid(request, &asked.uid);
	r = access_check_hosts(access, &asked, err);
	if (r < 0)
		return r;
	if (asked.origin != NULL && door->has_cors) {
		visit->origin = strdup(asked.origin);
		if (visit->origin == NULL)
			return err_set(err, ERR_INTERNAL, ENOMEM, "no memory");
	}
	r = needs_token ? access_check(access, &asked, &visit->call.caller, err) : 0;
	if (r == 0)
		r = router_own(request, &visit->call.caller, err);
	visit->call.caller.via = door->name;
	/* Whoever decides does so over our own API: here speak agents, whatever their token. */
	visit->call.caller.is_overseer = visit->call.caller.may_decide = false;
	visit->call.caller.is_forwarded = http_header(request, BACKEND_FORWARDED) != NULL;
	return r;
}

/* Refused before the client sends it. */
static int check_body(const struct visit *visit, struct err *err)
{
	const char *coding = http_header(visit->request, "Content-Encoding");
	int64_t size = http_body_size(visit->request);

	if (coding != NULL && strcasecmp(coding, "identity") != 0)
		return err_set(err, ERR_UNSUPPORTED, ENOTSUP,
			       "Content-Encoding %.40s is not known here; send the body as it is",
			       coding);
	if (size > 0 && (uint64_t)size > visit->doors->settings.body_max)
		return err_set(err, ERR_TOO_LARGE, EMSGSIZE, "the body is too large");
	return 0;
}

static void answer_options(struct visit *visit)
{
	struct buf body;

	door_set_header(&visit->call, "Allow", visit->route.allow);
	if (visit->origin != NULL) {
		const char *headers = http_header(visit->request, "Access-Control-Request-Headers");

		door_set_header(&visit->call, "Access-Control-Allow-Methods", visit->route.allow);
		if (headers != NULL)
			door_set_header(&visit->call, "Access-Control-Allow-Headers", headers);
		door_set_header(&visit->call, "Access-Control-Max-Age", "600");
	}
	visit->is_refused = true;
	buf_init(&body, 1);
	door_answer(&visit->call, 204, &body);
}

/* What is in its way before a handler sees it; 0: nothing, and its route is known. */
static unsigned refusal_of(struct visit *visit, int found, const struct err *found_err,
			   struct err *err)
{
	const struct door_route *route = found == 0 ? visit->mounted->route : NULL;

	visit->call.route = route;
	if (check_access(visit, route != NULL && !route->is_open, err) < 0)
		return router_status(err);
	if (route == NULL) {
		*err = *found_err;
		return found == -EPERM ? 405 : router_status(err);
	}
	return check_body(visit, err) < 0 ? router_status(err) : 0;
}

void visit_begin(struct visit *visit, int found, const struct err *found_err)
{
	struct err err = {0};
	unsigned status = refusal_of(visit, found, found_err, &err);

	if (status == 405 && visit->call.door->has_cors &&
	    strcmp(http_method(visit->request), "OPTIONS") == 0) {
		answer_options(visit);
	} else if (status != 0 || visit->call.route == NULL) {
		visit_refuse(visit, status, &err);
	} else {
		visit->is_begun = true;
		if (visit->call.route->begin != NULL)
			visit->call.route->begin(&visit->call);
	}
}

/* ---- the body ---- */

static int take_members(struct visit *visit, const void *data, size_t size, struct err *err)
{
	if (visit->scan == NULL) {
		visit->scan = xnew(struct scan);
		scan_init(visit->scan, &visit->mounted->op, visit->doors->settings.body_max);
		visit->scan->is_lenient = true;
	}
	return scan_feed(visit->scan, data, size, err);
}

static size_t on_body(void *user, struct http_request *request, const void *data, size_t size)
{
	struct visit *visit = http_user(request);
	struct router *router = visit->doors->settings.router;
	struct err err = {0};
	uint64_t held;
	int r;

	(void)user;
	if (visit->is_answered || visit->is_refused)
		return size;
	visit->body_size += size;
	if (visit->mounted->route->members != NULL)
		r = take_members(visit, data, size, &err);
	else
		r = parts_append(&visit->parts, data, size, &err);
	if (r == 0) {
		held = visit->parts.size;
		if (visit->scan != NULL)
			held += visit->scan->parts.size + visit->scan->small.size;
		r = router_hold(router, &visit->held, visit->call.caller.token, held, &err);
	}
	if (r < 0)
		visit_refuse(visit, router_status(&err), &err);
	return size;
}

static void on_complete(void *user, struct http_request *request)
{
	struct visit *visit = http_user(request);
	struct err err = {0};
	int r = 0;

	(void)user;
	visit->is_complete = true;
	if (visit->is_waiting)
		visit_send(visit);
	if (visit->is_answered || visit->is_refused)
		return;
	if (visit->scan != NULL) {
		r = scan_finish(visit->scan, &err);
		if (r == 0)
			r = visit_keep_tree(visit, visit->scan->small.size, &err);
	} else {
		r = parts_finish(&visit->parts, &err);
	}
	if (r < 0) {
		visit_refuse(visit, router_status(&err), &err);
		return;
	}
	visit->call.route->run(&visit->call);
}

/* ---- the client's end ---- */

static void tell_left(struct visit *visit)
{
	if (visit->is_left_told || !visit->is_begun || visit->call.left == NULL ||
	    (visit->is_answered && !(visit->is_stream && !visit->is_ended)))
		return;
	visit->is_left_told = true;
	visit->call.left(&visit->call);
}

static void on_left(void *user, struct http_request *request)
{
	struct visit *visit = http_user(request);

	(void)user;
	/* It may be freed by what it is told. */
	visit->refs++;
	tell_left(visit);
	door_release(&visit->call);
}

static void on_gone(void *user, struct http_request *request, bool is_sent)
{
	struct visit *visit = http_user(request);

	(void)user;
	(void)is_sent;
	visit->refs++;
	visit->request = NULL;
	/* Before all of its body came: `run` will never be called. */
	if (visit->is_begun && !visit->is_complete)
		visit->is_answered = true;
	tell_left(visit);
	/* Whoever waits for room has all of it now: nothing is kept any more. */
	if (visit->is_full && visit->call.drained != NULL)
		visit->call.drained(&visit->call);
	visit->is_full = false;
	door_release(&visit->call);
}

const struct http_calls visit_calls = {
	.head = NULL, /* handed over from there */
	.body = on_body,
	.complete = on_complete,
	.gone = on_gone,
	.left = on_left,
};
