// SPDX-License-Identifier: Apache-2.0
/*
 * Doctor - what this host gives, found by trying
 *
 * Owns:    the questions, in three files: the kernel and its settings (doctor_host.c), Python and
 *          its packages (doctor_runtime.c), and a real sandbox (cmd_doctor.c).
 * May not: change the host. A remedy is a command that the user runs.
 */
#pragma once

#include "base/err.h"
#include "cli/report.h"
#include "cli/trial.h"
#include "policy/config.h"

/* Groups of the report. */
#define DOCTOR_HOST "host"
#define DOCTOR_LIMITS "limits"
#define DOCTOR_WALLS "walls"
#define DOCTOR_BACKENDS "backends"
#define DOCTOR_RUNTIMES "runtimes"
#define DOCTOR_NOTES "notes"

/* Kernel version, user namespaces, /proc, landlock, seccomp. Needs no viv-launch. */
void doctor_host(struct report *report);

/* Which cgroups there are and whether this user may use them; `hello` NULL: launch did not start.
 */
void doctor_limits(struct report *report, const struct backend_facts *hello);

/* Settings that weaken a host without stopping a run: KSM, swap, SMT, core dumps, io_uring. */
void doctor_notes(struct report *report);

/* Each runtime of the config: its interpreter and its packages, seen from inside a sandbox. */
void doctor_runtimes(struct report *report, const struct config *config, struct trial *trial,
		     const struct plan *plan);
