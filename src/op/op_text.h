// SPDX-License-Identifier: Apache-2.0
/*
 * Op text - answers that are made from the journal while they are sent
 *
 * Owns:    the first bytes of such an answer, and how it goes on from turn to turn.
 * May not: hold more of it than that.
 */
#pragma once

#include "op/op.h"
#include "session/log_text.h"

/* Answers with a text: whole where it is short, else as it is read. Consumes it. */
void op_text(struct op_call *call, const char *type, struct log_text *take_text);

/* Answers with the result of a run. */
void op_text_result(struct op_call *call, struct log *log);
