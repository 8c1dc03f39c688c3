// SPDX-License-Identifier: Apache-2.0
/*
 * Op text - answers that are made from the journal while they are sent
 *
 * Owns:    the first bytes of such an answer, and its progress from one turn of the loop to the
 *          next.
 * May not: hold more of the answer than its first bytes.
 */
#pragma once

#include "op/op.h"
#include "session/log_text.h"

/* Answers with a text: at once if it is short, else while it is read. Consumes the text. */
void op_text(struct op_call *call, const char *type, struct log_text *take_text);

/* Answers with the result of a run: as a value where the door takes one. */
void op_text_result(struct op_call *call, struct log *log);
