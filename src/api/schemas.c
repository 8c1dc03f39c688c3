// SPDX-License-Identifier: Apache-2.0
#include <stdbool.h>
#include <string.h>

#include "api/openapi.h"
#include "base/c.h"
#include "op/object.h"
#include "policy/policy.h"
#include "policy/runtime.h"
#include "session/result.h"
#include "session/shape.h"

/* Members that several schemas share. */
#define SESSION                                                                                    \
	"id!:text name:text? state!:starting|idle|running|frozen|asleep|lost policy:text "         \
	"runtime:text "                                                                            \
	"backend:text? "                                                                           \
	"token:text? created_ms:int used_ms:int idle_ms:int ttl_ms:int runs:int memory:int? "      \
	"transactional:bool head:text? went_back_ms:int run:text checkpoint_blocked_by:text "      \
	"files:text "                                                                              \
	"keep:bool kept:@Kept why:text woken:@Woken"

/*
 * The schemas of answers (docs/http.md). More members may be added, so no schema forbids others.
 *
 * Members are `name:type`, separated by blanks; a `!` after the name: it is always there. A type is
 * text, int, num, bool, object or any; one of several words, a|b; or another schema, @Name. A []
 * after it makes it a list, a ? allows null as well. Members without a colon are one type, that of
 * the whole answer. Results, events and their parts are described by their own tables
 * (session/result.c, session/shape.h), and so are the keys of policies and runtimes.
 */
const struct schema schemas[] = {
	{"Error", "error!:@ErrorBody"},
	{"ErrorBody",
	 "kind!:bad_request|unauthorized|forbidden|not_found|conflict|too_large|busy|unsupported|"
	 "internal message!:text field:text remedy:text"},
	{"InputFile", "path!:text text:text base64:text"},
	{"Verdict", .fields = verdict_fields},
	{"Usage", .fields = usage_fields},
	{"Allowed", .fields = allowed_fields},
	{"Exception", SHAPE_EXCEPTION},
	{"Truncated", .fields = truncated_fields},
	{"Chart", SHAPE_CHART},
	{"Result", .describe = result_describe},
	{"SavedState", SHAPE_SAVED},
	{"CheckpointMade",
	 "id:text skipped:text last:text? files:text after:text undone:text[] why:text "
	 "kept:@NotKept woken:@Woken note:text"},
	{"NotKept", "why!:text note!:text"},
	{"Woken", "state!:text instead_of:text created_ms!:int after:text undone!:text[] "
		  "undone_count!:int variables!:bool files!:bool missing!:@Lost[]"},
	{"Event", NULL, "application/x-ndjson", .describe = result_describe_event},
	{"SessionEvent",
	 "seq:int t_ms:num type!:text run:text checkpoint:text files:text after:text undone:text[] "
	 "why:text "
	 "woken:@Woken limit:text left_ms:int",
	 "application/x-ndjson"},
	{"Announced",
	 "seq!:int type!:hello|reset|keepalive|session|session_gone|run|conversation|"
	 "conversation_gone boot:text session:@Session run:@RunLine id:text version:int",
	 "application/x-ndjson"},
	{"Input", "kind!:text name:text? size:int? text:text"},
	{"HeldRun",
	 "id!:text session:text? op:text policy:text runtime:text line:text? code_size:int? "
	 "who:@Who state!:held begun_ms!:int events:int verdict:text? code!:text held_ms!:int "
	 "until_ms!:int "
	 "inputs!:@Input[] may!:bool"},
	{"AuditLine",
	 "time!:text run!:text session:text? peer:text via:text client:text? token:text? op:text "
	 "policy:text runtime:text sha256:text? verdict:text state:text exit_code:int usage:@Usage "
	 "code:text decided_by:text"},
	{"Audit", "lines!:@AuditLine[]"},
	{"WallFact", "name!:text on!:bool what!:text why:text? remedy:text?"},
	{"Caller", "token!:text? oversees!:bool"},
	{"Approve", "needs!:nothing|key|token may!:bool"},
	{"Held", "held!:@HeldRun[] more!:int"},
	{"Code", "text", "text/plain"},
	{"RunId", "id!:text"},
	{"Taken", "object"},
	{"RunLine",
	 "id!:text session:text? op:text policy:text runtime:text line:text? code_size:int? "
	 "who:@Who state!:held|waiting|running|over begun_ms!:int events:int "
	 "verdict!:text? wall_ms:num cpu_ms:num peak_memory:int? inherited:bool"},
	{"Who", "token:text? via:text client:text? peer:text"},
	{"Runs", "runs!:@RunLine[]"},
	{"Session", SESSION},
	{"Kept", "states!:int bytes!:int dropped!:int pending!:bool why:text"},
	{"Sessions", "sessions!:@Session[] files:text next:text?"},
	{"Conversation", "id!:text name!:text session!:text? sandbox!:bool cells!:int version!:int "
			 "created_ms!:int changed_ms!:int document:object"},
	{"Conversations", "conversations!:@Conversation[]"},
	{"Output", "any"},
	{"Checkpoint", "id!:text name:text? name_was:text parent:text? not_kept:int run:text? "
		       "kind!:live|portable "
		       "created_ms:int memory:int? files:text bytes:int missing:@Lost[] "
		       "lacks:@Lost[] kept:@NotKept"},
	{"Checkpoints", "checkpoints!:@Checkpoint[] next:text?"},
	{"Diff",
	 "added!:text[] removed!:text[] changed!:text[] as_of:text checkpoint_blocked_by:text"},
	{"Completion", "matches!:text[] start!:int end!:int as_of:text checkpoint_blocked_by:text"},
	{"Var", "name!:text type!:text repr:text size:int? shape:int[] dtype:text columns:any[]"},
	{"Vars", "vars!:@Var[] as_of:text checkpoint_blocked_by:text next:int"},
	{"Table", SHAPE_TABLE},
	{"TableSummary", "total!:int width!:int columns!:@ColumnSummary[] index:@ColumnSummary[] "
			 "cut:bool as_of:text checkpoint_blocked_by:text"},
	{"ColumnSummary",
	 "name!:text dtype!:text count!:int missing!:int distinct!:int? min:any max:any mean:any "
	 "histogram:@Histogram top:@Frequent[]"},
	{"Histogram", "edges!:any[] counts!:int[]"},
	{"Frequent", "value!:any count!:int"},
	{"TableIndex", SHAPE_TABLE_INDEX},
	{"File", SHAPE_FILE},
	{"Files", "files!:@File[] next:text"},
	{"FileContent", "path!:text size!:int mime!:text text:text base64:text"},
	{"Closed", "session_id!:text closed!:bool"},
	{"Bytes", "any", "*/*"},
	{"Csv", "text", "text/csv"},
	{"Notebook", "object", "application/x-ipynb+json"},
	{"Exported", "any", "application/vnd.vivarium.session"},
	{"Lost", SHAPE_LOST},
	{"Imported", SESSION " names!:text[] lost!:@Lost[]"},
	{"Explored", "stdout:text stderr:text exit_code:int? truncated:any verdict:@Verdict"},
	{"Policy", "name!:text built_in:bool max:object runtimes:text[] warning:text?",
	 .settings = policy_rows, .setting_count = &policy_row_count},
	{"Policies", "policies!:@Policy[] next:text?"},
	{"Runtime", "name!:text built_in:bool", .settings = runtime_rows,
	 .setting_count = &runtime_row_count},
	{"Runtimes", "runtimes!:@Runtime[] next:text?"},
	{"Package", "name!:text version!:text"},
	{"Packages", "runtime:text packages!:@Package[] next:text?"},
	{"Backend", "name!:text priority:int isolation:text available:bool why:text? remedy:text? "
		    "kind:text? lacks:text[] for:text[]"},
	{"Pool", "runtime!:text memory:int keep:int ready:int coming:int why:text?"},
	{"Status",
	 "version!:text config:text? started_ms:int uptime_ms:int backend:text active:object "
	 "order:text pin:text? backends!:@Backend[] "
	 "walls:text[] "
	 "runtimes:@Runtime[] pools:@Pool[] explore:text[] limits:object journal:object "
	 "approve:@Approve caller:@Caller wall_facts:@WallFact[] sandboxes:int"},
	{"Health",
	 "status!:ok|starting|failing last_run_ms:int? why:text? backend:text active:object "
	 "order:text pin:text? backends:@Backend[]"},
	{"Metrics", "text", "text/plain; version=0.0.4"},
	{"OpenAPI", "object"},
	{NULL, NULL, NULL},
};

struct writer {
	struct buf *buf;
	bool is_whole; /* named schemas are inlined, not referenced */
};

static void put(struct writer *to, const char *text)
{
	(void)buf_text(to->buf, text);
}

static void put_part(struct writer *to, const char *text, size_t size)
{
	(void)buf_append(to->buf, text, size);
}

static void put_words(struct writer *to, const char *words, size_t size)
{
	const char *end = words + size;

	put(to, "{\"enum\":[\"");
	for (; words < end; words++) {
		if (*words == '|')
			put(to, "\",\"");
		else
			put_part(to, words, 1);
	}
	put(to, "\"]}");
}

static void put_schema(struct writer *to, const struct schema *schema);

/* Inlines a named schema. This ends, since no schema contains itself. */
static void put_named(struct writer *to, const char *name, size_t size)
{
	for (const struct schema *schema = schemas; schema->name != NULL; schema++) {
		if (strlen(schema->name) == size && memcmp(schema->name, name, size) == 0)
			put_schema(to, schema);
	}
}

static void put_base(struct writer *to, const char *type, size_t size)
{
	static const char *const names[][2] = {
		{"text", "string"},  {"int", "integer"},   {"num", "number"},
		{"bool", "boolean"}, {"object", "object"},
	};

	if (type[0] == '@' && to->is_whole) {
		put_named(to, type + 1, size - 1);
		return;
	}
	if (type[0] == '@') {
		put(to, "{\"$ref\":\"#/components/schemas/");
		put_part(to, type + 1, size - 1);
		put(to, "\"}");
		return;
	}
	if (memchr(type, '|', size) != NULL) {
		put_words(to, type, size);
		return;
	}
	if (size == 3 && memcmp(type, "any", 3) == 0) {
		put(to, SCHEMA_ANY);
		return;
	}
	put(to, "{");
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (strlen(names[i][0]) == size && memcmp(names[i][0], type, size) == 0) {
			put(to, "\"type\":\"");
			put(to, names[i][1]);
			put(to, "\"");
		}
	}
	put(to, "}");
}

/* Suffixes of a type are read from the right: text[]? is a list or null. */
static void put_type(struct writer *to, const char *type, size_t size)
{
	if (type[size - 1] == '?') {
		put(to, "{\"anyOf\":[");
		put_type(to, type, size - 1);
		put(to, ",{\"type\":\"null\"}]}");
	} else if (type[size - 1] == ']') {
		put(to, "{\"type\":\"array\",\"items\":");
		put_type(to, type, size - 2);
		put(to, "}");
	} else {
		put_base(to, type, size);
	}
}

static void put_required(struct writer *to, const char *members)
{
	const char *joint = ",\"required\":[\"";

	while (*members != '\0') {
		size_t name = strcspn(members, "!:");

		if (members[name] == '!') {
			put(to, joint);
			put_part(to, members, name);
			joint = "\",\"";
		}
		members += strcspn(members, " ");
		members += strspn(members, " ");
	}
	put(to, joint[1] == '"' ? "" : "\"]");
}

static void put_members(struct writer *to, const char *member)
{
	const char *joint = "\"";

	if (strchr(member, ':') == NULL) {
		put_type(to, member, strlen(member));
		return;
	}
	put(to, "{\"type\":\"object\"");
	put_required(to, member);
	put(to, ",\"properties\":{");
	while (*member != '\0') {
		const char *type = strchr(member, ':') + 1;
		size_t size = strcspn(type, " ");

		put(to, joint);
		put_part(to, member, strcspn(member, "!:"));
		put(to, "\":");
		put_type(to, type, size);
		joint = ",\"";
		member = type + size;
		member += strspn(member, " ");
	}
	put(to, "}}");
}

static void put_schema(struct writer *to, const struct schema *schema)
{
	struct buf members;

	buf_init(&members, 16 * KIB);
	if (schema->members != NULL)
		buf_text(&members, schema->members);
	if (schema->fields != NULL)
		fields_describe(schema->fields, &members);
	if (schema->settings != NULL)
		object_describe(schema->settings, *schema->setting_count, &members);
	if (schema->describe != NULL)
		schema->describe(&members);
	if (to->buf->failed == 0)
		to->buf->failed = members.failed;
	if (to->buf->failed == 0)
		put_members(to, buf_string(&members));
	buf_done(&members);
}

int schema_put(const struct schema *schema, bool is_whole, struct buf *buf)
{
	struct writer to = {.buf = buf, .is_whole = is_whole};

	put_schema(&to, schema);
	return to.buf->failed;
}

const struct schema *schema_find(const char *name)
{
	for (const struct schema *schema = schemas; name != NULL && schema->name != NULL;
	     schema++) {
		if (strcmp(schema->name, name) == 0)
			return schema;
	}
	return NULL;
}
