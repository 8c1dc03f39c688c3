// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <stdlib.h>

#include "backend/namespace/namespace.h"
#include "base/c.h"

static struct namespace_box *ours(struct box *box)
{
	return (struct namespace_box *)box;
}

static int tell(struct box *box, const struct launch_request *request, const int *fds, size_t count,
		struct err *err)
{
	return launcher_send(ours(box)->namespace->launcher, request, fds, count, err);
}

/* ---- what is asked ---- */

static int ask(struct box *box, enum launch_type type, uint32_t head, struct err *err)
{
	const struct launch_request request = {
		.type = type,
		.ref = {.sandbox = box->number, .head = head},
	};

	return tell(box, &request, NULL, 0, err);
}

static int begin(struct box *box, uint32_t head, uint32_t timeout_ms, struct err *err)
{
	const struct launch_request request = {
		.type = LAUNCH_BEGIN,
		.begin = {.sandbox = box->number, .head = head, .timeout_ms = timeout_ms},
	};

	return tell(box, &request, NULL, 0, err);
}

static int end(struct box *box, uint32_t head, struct err *err)
{
	return ask(box, LAUNCH_END, head, err);
}

static int interrupt(struct box *box, uint32_t head, struct err *err)
{
	return ask(box, LAUNCH_SIGNAL, head, err);
}

static int kill_all(struct box *box, struct err *err)
{
	const struct launch_request request = {.type = LAUNCH_KILL, .id = box->number};

	return tell(box, &request, NULL, 0, err);
}

static void land(struct namespace_box *box)
{
	zygotes_landed(box->namespace->zygotes, box->zygote);
	box->zygote = -1;
}

static void stands(struct box *box)
{
	land(ours(box));
}

static int fork_head(struct box *box, const struct box_head *head, const int *fds, size_t fd_count,
		     struct err *err)
{
	const struct launch_request request = {
		.type = LAUNCH_HEAD,
		.head = {.sandbox = box->number,
			 .head = head->head,
			 .parent = head->parent,
			 .pid = head->pid,
			 .is_look = head->is_look},
	};

	return tell(box, &request, fds, fd_count, err);
}

static int drop_head(struct box *box, uint32_t head, struct err *err)
{
	return ask(box, LAUNCH_DROP, head, err);
}

static int disarm(struct box *box, uint32_t head, struct err *err)
{
	return ask(box, LAUNCH_DISARM, head, err);
}

static int save(struct box *box, uint32_t head, struct err *err)
{
	return ask(box, LAUNCH_SAVE, head, err);
}

static int restore(struct box *box, uint32_t head, struct err *err)
{
	return ask(box, LAUNCH_RESTORE, head, err);
}

static int freeze(struct box *box, bool is_on, struct err *err)
{
	return ask(box, LAUNCH_FREEZE, is_on ? 1 : 0, err);
}

static int keep(struct box *box, const char *name, const int *fds, size_t fd_count, struct err *err)
{
	struct launch_request request = {.type = LAUNCH_KEEP, .keep = {.sandbox = box->number}};

	_Static_assert(sizeof(request.keep.name) == BOX_NAME_MAX, "a name is cut");
	(void)snprintf(request.keep.name, sizeof(request.keep.name), "%s", name);
	ours(box)->is_kept = true;
	return tell(box, &request, fds, fd_count, err);
}

static int sweep(struct box *box, bool kills, struct err *err)
{
	return ask(box, LAUNCH_SWEEP, kills ? 1 : 0, err);
}

static int meter(struct box *box, struct err *err)
{
	const struct launch_request request = {.type = LAUNCH_METER, .id = box->number};
	struct meter *own = &ours(box)->meter;

	if (own->meters != NULL || own->is_asked)
		return 0;
	own->is_asked = true;
	return tell(box, &request, NULL, 0, err);
}

static void mark(struct box *box, struct box_mark *to)
{
	meter_mark(&ours(box)->meter, to);
}

static void count(struct box *box, bool is_alone, struct box_mark *to)
{
	meter_count(&ours(box)->meter, is_alone, to);
}

static bool measure(struct box *box, const struct box_mark *from, struct box_exit *facts)
{
	return meter_read(&ours(box)->meter, from, facts);
}

const struct box_impl namespace_box_impl = {
	.begin = begin,
	.end = end,
	.interrupt = interrupt,
	.kill = kill_all,
	.stands = stands,
	.fork_head = fork_head,
	.drop_head = drop_head,
	.disarm = disarm,
	.save = save,
	.restore = restore,
	.freeze = freeze,
	.keep = keep,
	.sweep = sweep,
	.meter = meter,
	.mark = mark,
	.count = count,
	.measure = measure,
};

/* ---- what is told ---- */

void namespace_box_free(struct namespace_box *box)
{
	if (box == NULL)
		return;
	box->namespace->boxes[box->box.number] = NULL;
	meter_done(&box->meter);
	free(box);
}

static struct box_exit facts_of(const struct launch_exit *exit)
{
	static const enum box_cause causes[] = {
		[LAUNCH_CAUSE_SELF] = BOX_CAUSE_SELF,
		[LAUNCH_CAUSE_DEADLINE] = BOX_CAUSE_DEADLINE,
		[LAUNCH_CAUSE_MEMORY] = BOX_CAUSE_MEMORY,
		[LAUNCH_CAUSE_ASKED] = BOX_CAUSE_ASKED,
		[LAUNCH_CAUSE_LOCKS] = BOX_CAUSE_LOCKS,
	};

	return (struct box_exit){
		.cause = exit->cause < ARRAY_LEN(causes) ? causes[exit->cause] : BOX_CAUSE_ASKED,
		.code = exit->code,
		.signal = exit->signal,
		.oom_kills = exit->oom_kills,
		.peak = exit->peak,
		.cpu_us = exit->cpu_us,
		.memory = exit->memory,
		.own_us = exit->own_us,
		.over_ns = exit->over_ns,
	};
}

/* Frees a box that has ended and whose run has been answered: launch can drop what it kept. */
static void end_box(struct namespace_box *box)
{
	const struct launch_request request = {.type = LAUNCH_KEEP,
					       .keep = {.sandbox = box->box.number}};
	struct err err = {0};

	if (box->is_kept)
		(void)tell(&box->box, &request, NULL, 0,
			   &err); /* a launch that is gone keeps nothing */
	namespace_box_free(box);
}

void namespace_box_event(struct namespace_box *box, const struct launch_event *event, int *take_fds,
			 size_t fd_count)
{
	const struct box_calls *calls = box->box.calls;
	void *user = box->box.user;
	struct box_exit facts;

	if (calls == NULL) { /* no session wanted the box: it was killed */
		if (event->type == LAUNCH_GONE)
			end_box(box);
		return;
	}
	switch (event->type) {
	case LAUNCH_EXIT:
		facts = facts_of(&event->exit);
		calls->exited(user, event->exit.head, &facts, &event->err);
		break;
	case LAUNCH_ENDED:
		facts = facts_of(&event->exit);
		calls->ended(user, event->exit.head, &facts);
		break;
	case LAUNCH_HEAD_UP:
		calls->head_up(user, event->head.head, &event->err);
		break;
	case LAUNCH_SAVED:
		calls->saved(user, event->head.head, &event->err);
		break;
	case LAUNCH_RESTORED:
		calls->restored(user, event->head.head, &event->err);
		break;
	case LAUNCH_FROZEN:
		calls->frozen(user, &event->err);
		break;
	case LAUNCH_SWEPT:
		calls->swept(user, event->head.left);
		break;
	case LAUNCH_METERED:
		meter_take(&box->namespace->meters, &box->meter, take_fds, fd_count);
		break;
	case LAUNCH_GONE:
		land(box);
		calls->gone(user, &event->err);
		end_box(box);
		break;
	default: /* SPAWNED: HELLO says more. SIGNALLED: nothing waits for it. */
		break;
	}
}
