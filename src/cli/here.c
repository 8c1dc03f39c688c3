// SPDX-License-Identifier: Apache-2.0
#include "cli/here.h"

#include <signal.h>
#include <unistd.h>

#include <sys/signalfd.h>

#include "backend/remote.h"
#include "base/c.h"
#include "cli/run_remote.h"

int here_init(struct here *here, enum show_mode mode, struct err *err)
{
	int r;

	here->signals = -1;
	r = uv_loop_init(&here->loop);
	here->has_loop = r == 0;
	if (r < 0)
		(void)err_set(err, ERR_INTERNAL, -r, "event loop: %s", uv_strerror(r));
	else
		r = run_remote_signals(&here->signals, err);
	show_init(&here->show, mode, here->signals);
	return r;
}

static void signal_came(uv_poll_t *poll, int status, int events)
{
	struct here *here = poll->data;
	struct signalfd_siginfo info;

	(void)status;
	(void)events;
	if (read(here->signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	if (here->run != NULL)
		run_cancel(here->run, info.ssi_signo == SIGINT);
}

int here_open(struct here *here, bool may_be_remote, struct err *err)
{
	struct pool_settings settings = {.config = here->config};
	const struct backend_facts *hello = NULL;
	struct err none = {0};
	int r = may_be_remote ? remote_new(&here->loop, here->config, &here->remote, err) : 0;

	if (r < 0)
		return r;
	settings.remote = here->remote;
	r = pool_new(&here->loop, &settings, &here->pool, err);
	if (r < 0)
		return r;
	/* Where there is a choice of backends, it depends on what this host has. */
	if (here->remote != NULL || here->config->process_development)
		(void)pool_wait_hello(here->pool, &hello, &none);
	r = uv_poll_init(&here->loop, &here->signals_poll, here->signals);
	if (r < 0)
		return err_set(err, ERR_INTERNAL, -r, "watch signals: %s", uv_strerror(r));
	here->signals_poll.data = here;
	(void)uv_poll_start(&here->signals_poll, UV_READABLE, signal_came);
	return 0;
}

void here_wait(struct here *here)
{
	while (!run_is_over(here->run)) {
		(void)uv_run(&here->loop, UV_RUN_ONCE);
		if (here->show.is_closed)
			run_cancel(here->run, false); /* nobody reads its output */
	}
}

void here_close(struct here *here)
{
	run_free(STEAL(here->run));
	pool_close(STEAL(here->pool));
	remote_free(STEAL(here->remote));
	if (here->signals_poll.data != NULL)
		uv_close((uv_handle_t *)&here->signals_poll, NULL);
	/* The loop ends when viv-launch has ended all it held: then nothing of the run is left. */
	if (here->has_loop) {
		(void)uv_run(&here->loop, UV_RUN_DEFAULT);
		(void)uv_loop_close(&here->loop);
	}
	config_free(STEAL(here->config));
	show_done(&here->show);
	drop_fd(&here->signals);
}
