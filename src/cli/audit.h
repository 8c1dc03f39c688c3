// SPDX-License-Identifier: Apache-2.0
/*
 * Audit - the attacks that `viv audit` makes on its own sandboxes
 *
 * Owns:    the table of attacks, what is planted on the host for them to reach, and one audit.
 * May not: judge by a probe's word alone: audit_attack.c also looks at the run's verdict and at
 *          what was planted.
 *
 * A probe is Python between prelude.py and coda.py of share/audit/, from which the build makes the
 * table (scripts/pack_probes.py). It has `_args` (what was planted where) and:
 *   tries(what, call, *args)  the call must be refused; a return value is a breach
 *   breach(what)              says what it managed
 *   leak(what, bytes)         a breach when the planted token is in there
 *   sysc(number, *args)       a raw system call, OSError when it is refused
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/types.h>

#include "base/err.h"
#include "base/id.h"
#include "cli/trial.h"
#include "policy/config.h"
#include "policy/plan.h"

enum audit_control {
	CONTROL_NONE, /* outside it would do harm, or a plain process cannot do it */
	CONTROL_ROOT, /* outside, as root, the same code succeeds */
	CONTROL_ANY,  /* outside, as anybody, the same code succeeds */
};

struct audit_probe {
	enum wall_id wall;
	const char *name;
	const char *tries; /* what it tries, in a line */
	const char *code;
	const char *ends;              /* verdict kinds that mean the wall held; NULL: ok */
	enum audit_control control;    /* who succeeds with it outside; the tests check that */
	unsigned int needs_cgroup : 1; /* measured limits do not promise this */
};

extern const char audit_prelude[];
extern const char audit_coda[];

extern const struct audit_probe audit_probes[]; /* in the order of the walls */
extern const size_t audit_probe_count;

/* Targets outside the sandbox for an attack to reach. Each is also an oracle: it shows from
 * outside whether it was reached. */
struct audit_plant {
	char token[ID_SIZE]; /* must never come out of a sandbox */
	char marker[16];     /* the name a process gives itself to be found by */
	char files[2][128];  /* in /tmp and /var/tmp, world-readable */
	char shm_file[64];   /* in /dev/shm */
	char socket_path[108];
	char queue[64];
	char abstract[64];
	int listeners[4]; /* owned: tcp, udp, abstract, unix */
	uint16_t tcp_port, udp_port;
	int memfd;    /* owned: inheritable on purpose */
	int queue_fd; /* owned */
	int shm_id;   /* System V; -1: none */
	int shm_key;
};

/* Plants everything; leaves out what the host does not have (message queues, System V). */
int audit_plant(struct audit_plant *plant, struct err *err);
void audit_unplant(struct audit_plant *plant);

/* `_args` of every probe. The caller owns it. */
json_t *audit_args(const struct audit_plant *plant, const struct plan *plan);

/* Says whether a target was reached since the last call, and names it. */
bool audit_was_reached(const struct audit_plant *plant, char *ret_what, size_t size);

/* The host's pid of the process that bears the marker; 0: none is there (or /proc hides it). */
pid_t audit_find_marker(const struct audit_plant *plant);

enum audit_outcome {
	AUDIT_HELD,
	AUDIT_BREACHED,
	AUDIT_UNCLEAR, /* the end shows neither: the audit could not judge */
	AUDIT_SKIPPED, /* not promised here, or not visible to this user; the detail says why */
};
#define AUDIT_OUTCOMES (AUDIT_SKIPPED + 1)
const char *audit_outcome_name(enum audit_outcome outcome);

/* Looks at a live sandbox through the host's /proc: ids, capabilities, filter, namespaces,
 * descriptors. Calls `tell` for each finding; `wall` is the wall that is responsible for it. */
typedef void audit_tell(void *user, enum wall_id wall, const char *name, const char *tries,
			enum audit_outcome outcome, const char *detail);
void audit_look(const struct audit_plant *plant, audit_tell *tell, void *user);

/* State of one audit. */
struct audit {
	struct trial trial;
	struct audit_plant plant;
	const struct runtime *runtime; /* borrowed: from the config */
	struct plan plan;
	bool is_cold;     /* how sandboxes are made now: exec, or fork of a zygote */
	uint32_t only;    /* a bit per wall to attack; set by the caller */
	char *args;       /* owned: JSON text for every probe */
	int null;         /* owned: /dev/null, the stdin of every attack */
	json_t *findings; /* owned: an array per wall, by name */
	uint32_t counts[WALL_COUNT][AUDIT_OUTCOMES];
	bool is_measured; /* sandboxes have no cgroup here; viv-launch measures them instead */
};

/* The limits that the attacks run against: those of the default policy, made small. */
int audit_plan(const struct config *config, struct plan *ret_plan, struct err *err);

/* Plants the targets and starts viv-launch. The audit is zeroed except for `only`. */
int attack_open(struct audit *audit, const struct config *config, struct err *err);
void attack_close(struct audit *audit);

/* Makes every attack in sandboxes of one kind. Fails only when it could not attack at all. */
int audit_attack(struct audit *audit, bool is_cold, struct err *err);
