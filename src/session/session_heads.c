// SPDX-License-Identifier: Apache-2.0
/* Forks of a session: the head becomes a checkpoint and its child the head; a checkpoint forks a
 * new head when the session goes back; a head or checkpoint forks the head of a branch. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sys/mman.h>

#include "base/c.h"
#include "base/log.h"
#include "session/session_state.h"

#define FORK_MS 20000U       /* a fork of 64 GiB takes seconds; a longer one is stuck */
#define FORK_AGAIN_MS 20U    /* until a fork that could not begin is tried again */
#define PIPE_SIZE (1U << 20) /* of the output of a branch */

/* User code can destroy what the runner needs. If the runner fails after the code, the run caused
 * it. If it fails before the code, the last checkpoint contains the damage, and the session goes
 * back to the one before, if there is one. Damage from an earlier run may also show only after the
 * code: so after such a failure the runner tests itself before the next run from the same
 * checkpoint. */
static struct checkpoint *sound_checkpoint(const struct session *session, struct checkpoint *last)
{
	struct checkpoint *older = NULL;

	if (run_failed(session->run) != FAILED_START || session->back.since_count > 0)
		return last;
	older = states_find(&session->states, last->parent);
	if (older == NULL)
		older = TAILQ_PREV(last, checkpoint_list, entry);
	return older != NULL ? older : last;
}

/* The checkpoint that contained this run is gone. */
static void note_lost_run(struct way_back *back, const char *run)
{
	if (run[0] == '\0' || back->since_count == SESSION_SINCE_MAX)
		return;
	memmove(back->since[1], back->since[0], sizeof(back->since) - ID_SIZE);
	(void)snprintf(back->since[0], ID_SIZE, "%s", run);
	back->since_count++;
}

/* ---- a fork under way ---- */

/* Cancels the branch that is being made, if there is one. */
void session_drop_branch(struct session *session)
{
	struct session *branch = STEAL(session->branch);

	if (branch == NULL)
		return;
	branch->created.call = NULL;
	session_close(branch);
}

static void fork_late(uv_timer_t *timer);

static int start_fork(struct session *session, struct head *parent, struct err *err)
{
	int r = head_fork(parent, false, NULL, NULL, &session_head_calls, session, &session->coming,
			  err);

	if (r == 0)
		(void)uv_timer_start(&session->timers[TIMER_GUARD], fork_late, FORK_MS, 0);
	return r;
}

void session_tell_dead(struct session *session)
{
	if (session->dead.head == NULL)
		return;
	if (session->run != NULL)
		run_exited(session->run, session->dead.has_facts ? &session->dead.facts : NULL,
			   &session->dead.why);
	head_free(STEAL(session->dead.head));
}

static void settle(struct session *session, const char *checkpoint, const struct err *why)
{
	(void)uv_timer_stop(&session->timers[TIMER_GUARD]);
	session_tell_dead(session);
	session->state = SESSION_IDLE;
	session_record(session);
	if (session->now != NULL)
		session_finish_job(session, checkpoint, why);
	if (session_shares_files(session))
		head_tell_room(session->sandbox); /* the others may have waited for this fork */
	session_kick(session);
}

static void skip_checkpoint(struct session *session, const struct err *why)
{
	struct err told = *why;

	(void)snprintf(session->states.blocker, sizeof(session->states.blocker), "%.255s",
		       why->text);
	session->states.next[0] = '\0';
	if (why->kind == ERR_CONFLICT)
		(void)err_wrap(&told, "a checkpoint is blocked by");
	settle(session, "", &told);
}

void session_make_checkpoint(struct session *session)
{
	struct err err = {0};

	session_wake(session);
	session->state = SESSION_FORKING;
	if (start_fork(session, session->head, &err) < 0)
		skip_checkpoint(session, &err);
}

void files_changed(struct files *files)
{
	files->version = ++files->changes;
}

bool session_shares_files(const struct session *session)
{
	return session->sandbox != NULL && session->sandbox->sessions > 1;
}

/* Names that the state just read from disk lacks: a JSON list that the caller frees; NULL: none. */
static char *lacks_of(const struct session *session, const struct store_state *state)
{
	const json_t *woken = session->disk.woken;
	const json_t *missing = json_object_get(woken, "missing");
	const char *id = json_string_value(json_object_get(woken, "state"));

	return id != NULL && strcmp(id, state->id) == 0 && json_array_size(missing) > 0
		       ? json_dumps(missing, JSON_COMPACT)
		       : NULL;
}

/* Makes the checkpoint of the head. If its state was read from disk, it keeps that state's time,
 * name and parent, and remembers what it lacks. */
static struct checkpoint *checkpoint_new(struct session *session)
{
	struct checkpoint *checkpoint = xnew(struct checkpoint);
	const struct store_state *state = stored_find(session->disk.stored, session->states.next);

	memcpy(checkpoint->id, session->states.next, sizeof(checkpoint->id));
	memcpy(checkpoint->run, session->states.last_run, sizeof(checkpoint->run));
	checkpoint->memory = session->memory;
	if (state != NULL) {
		memcpy(checkpoint->parent, state->parent, sizeof(checkpoint->parent));
		checkpoint->not_kept = state->not_kept;
		checkpoint->created_ms = state->created_ms;
		checkpoint->name = xstrdup(state->name);
		checkpoint->lacks = lacks_of(session, state);
		return checkpoint;
	}
	session_put_parent(session, checkpoint->parent, &checkpoint->not_kept);
	checkpoint->created_ms = wall_ms();
	disk_set_due(&session->disk, true); /* a session that wakes is to be at this state */
	session->states.went_back_ms = 0;
	session->files.is_left = false;
	return checkpoint;
}

/* The head has forked: the parent becomes the checkpoint, the child the head. */
static void checkpoint_made(struct session *session)
{
	struct checkpoint *checkpoint = checkpoint_new(session);
	bool is_changed = session->files.is_dirty || session->files.has_others;
	/* Files that were too large are not copied again until something changes. */
	bool saves = (is_changed || session->files.kind == FILES_SAVED) &&
		     !session_shares_files(session);
	struct err err = {0};

	session->states.next[0] = '\0';
	checkpoint->files_version = session_shares_files(session) ? 0 : session->files.version;
	checkpoint->head = session->head;
	checkpoint->files =
		!is_changed && session->files.kind == FILES_NONE ? FILES_NONE : FILES_SKIPPED;
	session->files.has_others = session_shares_files(session);
	session->files.is_dirty = is_changed;
	if (session->now != NULL && session->now->kind == JOB_CHECKPOINT &&
	    session->now->name != NULL)
		session_name_checkpoint(session, checkpoint, &session->now->name);
	TAILQ_INSERT_TAIL(&session->states.live, checkpoint, entry);
	memcpy(session->states.current, checkpoint->id, sizeof(session->states.current));
	session->head = STEAL(session->coming);
	session->states.blocker[0] = '\0';
	session->back.since_count = 0;
	/* Checkpoints use the session's own memory. If that gets short, only one is kept. */
	session_trim_checkpoints(session, session->memory > session->kind.plan.memory / 2
						  ? 1
						  : session->table->settings.checkpoints_max);
	if (saves && head_save(checkpoint->head, &err) == 0)
		return; /* files_saved settles */
	settle(session, checkpoint->id, NULL);
}

static void files_saved(void *user, struct head *head, const struct err *why)
{
	struct session *session = user;
	struct checkpoint *checkpoint = states_current(&session->states);

	if (session->state != SESSION_FORKING || checkpoint == NULL || checkpoint->head != head)
		return;
	checkpoint->files = why->kind == ERR_NONE ? FILES_SAVED : FILES_SKIPPED;
	session->files.kind = checkpoint->files;
	session->files.is_dirty = why->kind != ERR_NONE && why->kind != ERR_TOO_LARGE;
	if (why->kind != ERR_NONE)
		log_event(LOG_LEVEL_INFO, "session.files", "session=%s why=%s", session->id,
			  why->text);
	settle(session, checkpoint->id, NULL);
}

/* ---- back ---- */

/* The checkpoint forks the new head of a rollback. If it cannot yet (it is forking a look, or every
 * number is in use until the old head has ended), session_roll_on tries again. */
static void fork_back(struct session *session, struct checkpoint *checkpoint)
{
	struct err err = {0};
	int r = checkpoint->head->forking != NULL ? -EBUSY
						  : start_fork(session, checkpoint->head, &err);

	if (r == -EOPNOTSUPP)
		session_lose(session, &err);
	else if (r < 0)
		session_kick_in(session, FORK_AGAIN_MS);
}

void session_roll_back(struct session *session, struct checkpoint *checkpoint)
{
	session_wake(session);
	session->turns++;
	session->state = SESSION_ROLLING;
	session->states.next[0] = '\0';
	head_free(STEAL(session->head));
	head_free(STEAL(session->coming));
	memcpy(session->states.current, checkpoint->id, sizeof(session->states.current));
	memcpy(session->states.last_run, checkpoint->run, sizeof(session->states.last_run));
	(void)uv_timer_start(&session->timers[TIMER_GUARD], fork_late, FORK_MS, 0);
	fork_back(session, checkpoint);
}

/* The rollback is done. Its event says to which state, whether the files are back, which runs are
 * undone, and why no newer state could be used. */
static void settle_back(struct session *session)
{
	const char *files = session_files_left(session);
	struct buf members;

	session_keep_place(session);
	if (session->back.is_due) {
		buf_init(&members, RUN_LEFT_MAX);
		(void)buf_format(&members, ",\"checkpoint\":\"%s\"", session->states.current);
		if (files != NULL)
			(void)buf_format(&members, ",\"files\":\"%s\"", files);
		(void)buf_append(&members, session->back.members.data, session->back.members.size);
		session_tell(session, "rolled_back", buf_string(&members));
		buf_done(&members);
	}
	session->back.is_due = false;
	settle(session, session->states.current, NULL);
}

/* The head is gone, so a branch or checkpoint that was being forked from it fails. */
static void go_back(struct session *session, struct checkpoint *to, const struct err *why)
{
	session_drop_branch(session);
	if (session->now != NULL && session->now->kind != JOB_RUN)
		session_finish_job(session, "", why);
	session->files.version = 0;
	if (strcmp(session->states.current, to->id) != 0)
		session->states.went_back_ms = 0;
	session_note_back(session, to);
	session->back.is_due = true;
	session_roll_back(session, to);
}

/* The checkpoint does not fork a new head; user code may have caused that. It is dropped, and the
 * session goes back to the next older one. */
static void back_further(struct session *session, const struct err *why)
{
	struct checkpoint *broken = states_current(&session->states);
	struct checkpoint *older = NULL;
	char run[ID_SIZE] = "";

	head_free(STEAL(session->coming));
	if (broken != NULL) {
		log_event(LOG_LEVEL_WARNING, "session.checkpoint",
			  "session=%s checkpoint=%s why=%s", session->id, broken->id, why->text);
		memcpy(run, broken->run, sizeof(run));
		session_free_checkpoint(session, broken);
	}
	older = TAILQ_LAST(&session->states.live, checkpoint_list);
	if (older == NULL || session->sandbox->is_ending) {
		session_lose(session, why);
		return;
	}
	if (strcmp(run, older->run) != 0)
		note_lost_run(&session->back, run);
	go_back(session, older, why);
}

/* Whether a checkpoint, not the head, failed to fork a branch. */
static bool is_only_branch_late(const struct session *session)
{
	const struct head *coming = session->branch != NULL ? session->branch->coming : NULL;

	return session->state == SESSION_FORKING && session->head != NULL && coming != NULL &&
	       coming->parent != session->head->number;
}

static void fork_late(uv_timer_t *timer)
{
	struct session *session = timer->data;
	bool is_only_branch = is_only_branch_late(session);
	struct err why = {0};

	if (session->coming == NULL && session->state != SESSION_FORKING &&
	    session->state != SESSION_ROLLING)
		return;
	/* An interpreter that does not fork when told will not run anything either. */
	(void)err_set(&why, ERR_CONFLICT, ETIMEDOUT, "the interpreter did not fork in %u s",
		      FORK_MS / 1000);
	session_drop_branch(session);
	if (session->state == SESSION_ROLLING && session->head == NULL) {
		back_further(session, &why);
		return;
	}
	if (is_only_branch) {
		settle(session, session->states.current, &why);
		return;
	}
	if (session->state == SESSION_FORKING && session->head != NULL) {
		session_finish_job(session, "", &why);
		head_free(STEAL(session->coming));
		head_drop(session->head);
		return;
	}
	session_lose(session, &why);
}

void session_roll_on(struct session *session)
{
	struct checkpoint *checkpoint = states_current(&session->states);

	if (session->state == SESSION_ROLLING && session->head == NULL && session->coming == NULL &&
	    checkpoint != NULL)
		fork_back(session, checkpoint);
}

/* The checkpoint died after it had forked the new head: variables are back, its copy of the files
 * is lost. */
static void settle_without(struct session *session)
{
	session->files.kind = FILES_SKIPPED;
	session->files.is_dirty = true;
	session->files.is_left = true;
	session_want_checkpoint(session);
	settle_back(session);
}

/* The files were not brought back and may differ from those of every state. */
static void leave_files(struct session *session)
{
	session->files.is_left = true;
	session->files.is_dirty |= !session_shares_files(session);
	files_changed(&session->files);
	session_share_change(session);
	settle_back(session);
}

static void rolled_back(struct session *session)
{
	struct checkpoint *checkpoint = states_current(&session->states);
	struct err err = {0};
	bool is_asked = session->now != NULL && session->now->kind == JOB_ROLLBACK;
	bool is_same;

	session->head = STEAL(session->coming);
	session->states.blocker[0] = '\0';
	session->back.since_count = 0;
	session->files.is_left = false;
	if (is_asked)
		session->states.went_back_ms = wall_ms();
	if (checkpoint == NULL) {
		settle_without(session);
		return;
	}
	is_same = session->files.version > 0 && session->files.version == checkpoint->files_version;
	session->files.kind = checkpoint->files;
	session->files.is_dirty = false;
	/* Changes by a branch or a client are undone only if a client asked for the rollback. */
	if (session_shares_files(session) || (session->files.has_others && !is_asked) ||
	    (!is_same && checkpoint->files == FILES_SKIPPED)) {
		leave_files(session);
		return;
	}
	session->files.has_others = false;
	session->files.version = checkpoint->files_version;
	if (is_same)
		settle_back(session);
	else if (head_restore(checkpoint->head, &err) < 0)
		leave_files(session);
	/* else files_restored settles */
}

static void files_restored(void *user, struct head *head, const struct err *why)
{
	struct session *session = user;

	(void)head;
	if (session->state != SESSION_ROLLING)
		return;
	if (why->kind != ERR_NONE) {
		log_event(LOG_LEVEL_WARNING, "session.files", "session=%s why=%s", session->id,
			  why->text);
		leave_files(session);
		return;
	}
	settle_back(session);
}

/* ---- calls of heads ---- */

static void head_ready(void *user, struct head *head)
{
	struct session *session = user;

	if (head != session->coming)
		return;
	if (session->state == SESSION_FORKING)
		checkpoint_made(session);
	else if (session->state == SESSION_ROLLING)
		rolled_back(session);
}

static void head_failed(void *user, struct head *head, const struct err *why)
{
	struct session *session = user;
	struct err copy = *why;

	if (head == session->coming)
		session->coming = NULL;
	head_free(head);
	if (session->state == SESSION_FORKING)
		skip_checkpoint(session, &copy);
	else if (session->state == SESSION_ROLLING)
		back_further(session, &copy);
}

/* The runner failed: remember the checkpoint that the head came from, and say why another one is
 * used. */
static void note_damage(struct session *session, const struct checkpoint *from,
			const struct checkpoint *to)
{
	session->states.suspect = from;
	if (from == to)
		return;
	note_lost_run(&session->back, from->run);
	(void)snprintf(session->states.blocker, sizeof(session->states.blocker),
		       "the interpreter was damaged by then");
}

/* The head died, and with it everything that its run did: roll back. */
static void lost_head(struct session *session, const struct box_exit *facts, const struct err *why)
{
	struct checkpoint *last = states_last(&session->states);
	struct checkpoint *sound = NULL;
	struct err lost = *why;

	if (last == NULL || session->sandbox->is_ending) {
		if (session->disk.reload != NULL && !session->sandbox->is_ending)
			session_say_unread(session, facts, &lost);
		else if (lost.kind == ERR_NONE)
			(void)err_set(&lost, ERR_CONFLICT, ECHILD,
				      "the interpreter ended, and there is no checkpoint");
		session_lose(session, &lost);
		return;
	}
	(void)err_set(&lost, ERR_CONFLICT, ECHILD,
		      "the interpreter ended; the session is back at its last checkpoint");
	if (session->run != NULL && run_failed(session->run) != FAILED_NOT) {
		sound = sound_checkpoint(session, last);
		note_damage(session, last, sound);
		last = sound;
	}
	go_back(session, last, &lost);
}

static void session_head_exited(void *user, struct head *head, const struct box_exit *facts,
				const struct err *why)
{
	struct session *session = user;
	struct checkpoint *checkpoint = NULL;
	struct err copy = *why;

	if (head == session->head) {
		session->head = NULL;
		if (session->run == NULL) {
			head_free(head);
		} else {
			session->dead.head = head;
			session->dead.has_facts = facts != NULL;
			if (facts != NULL)
				session->dead.facts = *facts;
			session->dead.why = *why;
			run_note_death(session->run, facts);
		}
		if (session->state != SESSION_LOST && session->state != SESSION_CLOSED)
			lost_head(session, facts, &copy);
		return;
	}
	TAILQ_FOREACH(checkpoint, &session->states.live, entry) {
		if (checkpoint->head == head)
			break;
	}
	if (checkpoint == NULL) {
		head_free(head);
		return;
	}
	/* A checkpoint died. The head, its child, lives on. */
	log_event(LOG_LEVEL_WARNING, "session.checkpoint", "session=%s checkpoint=%s why=it ended",
		  session->id, checkpoint->id);
	if (session->coming != NULL && session->coming->is_cut &&
	    session->coming->parent == head->number)
		head_free(STEAL(session->coming)); /* its parent can no longer say why it failed */
	session_free_checkpoint(session, checkpoint);
	if (session->head != NULL || session->coming != NULL)
		return;
	if (copy.kind == ERR_NONE)
		(void)err_set(&copy, ERR_CONFLICT, ECHILD, "the session's last checkpoint ended");
	if (session->state == SESSION_ROLLING && states_current(&session->states) == NULL)
		back_further(session, &copy);
	else if (states_last(&session->states) == NULL)
		session_lose(session, &copy);
}

static void head_forked_one(void *user, struct head *head)
{
	(void)head;
	session_kick(user); /* another fork of this head may be waiting */
}

/* A session with nothing to do is left alone: a kick counts as use. */
static void room_again(void *user)
{
	struct session *session = user;

	if (session->state == SESSION_ROLLING || !LIST_EMPTY(&session->looks) ||
	    !TAILQ_EMPTY(&session->jobs) || session_checkpoint_is_due(session) ||
	    strcmp(session->states.blocker, HEAD_NO_ROOM) == 0)
		session_kick(session);
}

const struct head_calls session_head_calls = {
	.forked = head_forked_one,
	.room = room_again,
	.ready = head_ready,
	.failed = head_failed,
	.exited = session_head_exited,
	.saved = files_saved,
	.restored = files_restored,
};

/* ---- branches ---- */

static void pipes_closed(struct branch_pipes *pipes)
{
	pipes->handles--;
	if (pipes->is_freed && pipes->handles == 0)
		free(pipes);
}

static void out_closed(uv_handle_t *handle)
{
	pipes_closed((struct branch_pipes *)(void *)((char *)handle -
						     offsetof(struct branch_pipes, out.poll)));
}

static void err_closed(uv_handle_t *handle)
{
	pipes_closed((struct branch_pipes *)(void *)((char *)handle -
						     offsetof(struct branch_pipes, err.poll)));
}

void session_free_pipes(struct session *session)
{
	struct branch_pipes *pipes = STEAL(session->pipes);

	if (pipes == NULL)
		return;
	pipes->is_freed = true;
	stream_close(&pipes->out, out_closed);
	stream_close(&pipes->err, err_closed);
	if (pipes->handles == 0)
		free(pipes);
}

static int open_pipe(struct branch_pipes *pipes, uv_loop_t *loop, int number, int *ret_end,
		     struct err *err)
{
	struct stream *stream = number == 1 ? &pipes->out : &pipes->err;
	AUTO_CLOSE int spool = memfd_create("spool", MFD_CLOEXEC);
	int pair[2];
	int r;

	if (spool < 0 || pipe2(pair, O_CLOEXEC) < 0)
		return err_sys(err, "pipe");
	(void)fcntl(pair[0], F_SETFL, O_NONBLOCK);
	(void)fcntl(pair[0], F_SETPIPE_SZ, PIPE_SIZE);
	*ret_end = pair[1];
	r = stream_open(stream, loop, &pair[0], &spool, number, NULL, NULL, err);
	if (r == 0)
		pipes->handles++;
	return r;
}

static struct branch_pipes *pipes_new(void)
{
	struct branch_pipes *pipes = xnew(struct branch_pipes);

	pipes->out.fd = pipes->err.fd = pipes->out.spool = pipes->err.spool = -1;
	return pipes;
}

/* Takes over the pipes of the previous daemon: out, err, and their spools. */
void session_adopt_pipes(struct session *session, int take_fds[4])
{
	struct branch_pipes *pipes = session->pipes = pipes_new();
	uv_loop_t *loop = session->table->settings.loop;
	struct err err = {0};

	if (stream_open(&pipes->out, loop, &take_fds[0], &take_fds[2], 1, NULL, NULL, &err) == 0)
		pipes->handles++;
	if (stream_open(&pipes->err, loop, &take_fds[1], &take_fds[3], 2, NULL, NULL, &err) == 0)
		pipes->handles++;
}

static void copy_origins(struct session *branch, const struct session *session, const char *run)
{
	for (uint32_t i = 0; i < session->states.origin_count; i++)
		states_add_origin(&branch->states, session->states.origins[i].session,
				  session->states.origins[i].run);
	states_add_origin(&branch->states, session->id, run);
}

static struct session *make_branch(struct session *session, const char *run)
{
	const struct session_ask ask = {
		.name = "", /* names are unique, so a branch has none */
		.token = session->token,
		.policy = session->policy,
		.kind = session->kind,
		.pin = session->pin,
		.idle_ms = session->life.idle_ms,
		.ttl_ms = session->life.ttl_ms,
		.is_transactional = session->is_transactional,
		.is_kept = session_is_kept(session),
	};
	struct session *branch = session_new(session->table, NULL, &ask);

	copy_origins(branch, session, run);
	memcpy(branch->home, session->home, sizeof(branch->home));
	branch->sandbox = session->sandbox;
	branch->sandbox->sessions++;
	branch->files.has_others = true;
	branch->files.kind = FILES_SKIPPED;
	branch->pipes = pipes_new();
	branch->state = SESSION_STARTING;
	return branch;
}

static void branch_ready(void *user, struct head *head)
{
	struct session *branch = user;

	head->calls = &session_head_calls;
	branch->head = STEAL(branch->coming);
	branch->state = SESSION_IDLE;
	disk_set_due(&branch->disk, true);
	session_begin(branch);
}

static void branch_failed(void *user, struct head *head, const struct err *why)
{
	struct session *branch = user;
	struct err copy = *why;

	if (why->kind == ERR_CONFLICT && why->num == EBUSY)
		(void)err_wrap(&copy, "a branch is blocked by");
	branch->coming = NULL;
	head_free(head);
	if (branch->created.call != NULL)
		STEAL(branch->created.call)(branch->created.user, NULL, &copy);
	session_close(branch);
}

static void branch_exited(void *user, struct head *head, const struct box_exit *facts,
			  const struct err *why)
{
	(void)facts;
	branch_failed(user, head, why);
}

static const struct head_calls branch_calls = {
	.ready = branch_ready,
	.failed = branch_failed,
	.exited = branch_exited,
};

/* A branch exists: both share /workspace from now on. The files on disk are still those of now. */
static void share_files(struct session *session)
{
	bool is_written =
		session->files.version > 0 && session->disk.written == session->files.version;

	session->files.has_others = true;
	files_changed(&session->files);
	if (is_written)
		session->disk.written = session->files.version;
}

/* The branch is ready, or failed (NULL and why): its parent goes on. */
static void branch_made(void *user, struct session *branch, const struct err *why)
{
	struct session *session = user;
	struct job *job = session->now;

	session->branch = NULL;
	if (branch != NULL)
		share_files(session);
	if (session->state != SESSION_FORKING)
		return;
	if (branch != NULL && job != NULL && job->forked != NULL) {
		job->forked(job->user, branch, NULL);
		job->forked = NULL;
	}
	settle(session, session->states.current, why);
}

void session_branch(struct session *session, const struct checkpoint *checkpoint)
{
	struct head *from = checkpoint != NULL ? checkpoint->head : session->head;
	struct session *branch = make_branch(
		session, checkpoint != NULL ? checkpoint->run : session->states.last_run);
	struct head_pipes pipes = {&branch->pipes->out, &branch->pipes->err};
	int ends[2] = {-1, -1};
	struct err err = {0};
	int r;

	session->state = SESSION_FORKING;
	session->branch = branch;
	branch->created.call = branch_made;
	branch->created.user = session;
	r = open_pipe(branch->pipes, session->table->settings.loop, 1, &ends[0], &err);
	if (r == 0)
		r = open_pipe(branch->pipes, session->table->settings.loop, 2, &ends[1], &err);
	if (r == 0)
		r = head_fork(from, false, &pipes, ends, &branch_calls, branch, &branch->coming,
			      &err);
	drop_fd(&ends[0]);
	drop_fd(&ends[1]);
	if (r == 0)
		(void)uv_timer_start(&session->timers[TIMER_GUARD], fork_late, FORK_MS, 0);
	if (r < 0) {
		branch->created.call = NULL;
		session_close(branch);
		branch_made(session, NULL, &err);
	}
}
