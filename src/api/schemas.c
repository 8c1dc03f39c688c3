// SPDX-License-Identifier: Apache-2.0
#include <stdbool.h>
#include <string.h>

#include "api/openapi.h"
#include "base/c.h"
#include "session/result.h"

/* What several schemas have. */
#define SESSION                                                                                    \
	"id!:text name:text? state!:starting|idle|running|frozen|asleep|lost policy:text "         \
	"runtime:text "                                                                            \
	"backend:text? "                                                                           \
	"token:text? created_ms:int used_ms:int idle_ms:int ttl_ms:int runs:int memory:int? "      \
	"transactional:bool head:text? run:text checkpoint_blocked_by:text files:text "            \
	"keep:bool kept:@Kept why:text"

static int describe_verdict(struct buf *buf)
{
	return fields_describe(verdict_fields, buf);
}

static int describe_usage(struct buf *buf)
{
	return fields_describe(usage_fields, buf);
}

static int describe_truncated(struct buf *buf)
{
	return fields_describe(truncated_fields, buf);
}

/*
 * What is answered (contracts: native, 2.2, 2.3 and 3). More members may be added, so none forbids
 * others.
 *
 * Members are `name:type` with blanks between; a `!` behind the name: it is always there. A type is
 * text, int, num, bool, object or any; one of several words, a|b; or another schema, @Name. Behind
 * it stands [] for a list of these, and ? where null may stand instead. Without a colon it is all
 * one type. Results, events and their parts are described by their own table (session/result.c).
 */
const struct schema schemas[] = {
	{"Error", "error!:@ErrorBody", NULL},
	{"ErrorBody",
	 "kind!:bad_request|unauthorized|forbidden|not_found|conflict|too_large|busy|unsupported|"
	 "internal message!:text field:text remedy:text",
	 NULL},
	{"InputFile", "path!:text text:text base64:text", NULL},
	{"Verdict", NULL, NULL, describe_verdict},
	{"Usage", NULL, NULL, describe_usage},
	{"Exception", "type:text message:text traceback:text line:int?", NULL},
	{"Truncated", NULL, NULL, describe_truncated},
	{"Chart",
	 "kind!:image|spec|plotly mime:text base64:text index:int scale:int data:any spec:any "
	 "figure:any",
	 NULL},
	{"Result", NULL, NULL, result_describe},
	{"EliteaResult",
	 "result:any output:text error:text status:text charts:any[] execution_info!:text "
	 "session_id:text",
	 NULL},
	{"SavedState", "base64!:text? names!:text[] lost!:@Lost[]", NULL},
	{"CheckpointMade",
	 "id:text skipped:text last:text? files:text undone:text[] why:text woken:@Woken note:text",
	 NULL},
	{"Woken", "state!:text created_ms!:int variables!:bool files!:bool missing!:@Lost[]", NULL},
	{"Event", NULL, "application/x-ndjson", result_describe_event},
	{"SessionEvent",
	 "seq:int t_ms:num type!:text run:text checkpoint:text files:text undone:text[] why:text "
	 "woken:@Woken limit:text left_ms:int",
	 "application/x-ndjson"},
	{"Announced",
	 "seq!:int type!:hello|reset|keepalive|session|session_gone|run|conversation|"
	 "conversation_gone boot:text session:@Session run:@RunLine id:text version:int",
	 "application/x-ndjson"},
	{"Input", "kind!:text name:text? size:int? text:text", NULL},
	{"HeldRun",
	 "id!:text session:text? op:text policy:text runtime:text line:text? code_size:int? "
	 "who:@Who state!:held begun_ms!:int events:int verdict:text? code!:text held_ms!:int "
	 "until_ms!:int "
	 "inputs!:@Input[] may!:bool",
	 NULL},
	{"AuditLine",
	 "time!:text run!:text session:text? peer:text via:text client:text? token:text? op:text "
	 "policy:text runtime:text sha256:text? verdict:text state:text exit_code:int usage:@Usage "
	 "code:text decided_by:text",
	 NULL},
	{"Audit", "lines!:@AuditLine[]", NULL},
	{"WallFact", "name!:text on!:bool what!:text why:text? remedy:text?", NULL},
	{"Caller", "token!:text? oversees!:bool", NULL},
	{"Approve", "needs!:nothing|key|token may!:bool", NULL},
	{"Held", "held!:@HeldRun[] more!:int", NULL},
	{"Code", "text", "text/plain"},
	{"RunId", "id!:text", NULL},
	{"Taken", "object", NULL},
	{"RunLine",
	 "id!:text session:text? op:text policy:text runtime:text line:text? code_size:int? "
	 "who:@Who state!:held|waiting|running|over begun_ms!:int events:int "
	 "verdict!:text? wall_ms:num cpu_ms:num peak_memory:int? inherited:bool",
	 NULL},
	{"Who", "token:text? via:text client:text? peer:text", NULL},
	{"Runs", "runs!:@RunLine[]", NULL},
	{"Session", SESSION, NULL},
	{"Kept", "states!:int bytes!:int dropped!:int pending!:bool why:text", NULL},
	{"Sessions", "sessions!:@Session[] files:text next:text?", NULL},
	{"Conversation",
	 "id!:text name!:text session!:text? sandbox!:bool cells!:int version!:int "
	 "created_ms!:int changed_ms!:int document:object",
	 NULL},
	{"Conversations", "conversations!:@Conversation[]", NULL},
	{"Output", "any", NULL},
	{"Checkpoint",
	 "id!:text name:text? parent:text? run:text? kind!:live|portable created_ms:int "
	 "memory:int? files:text bytes:int missing:@Lost[]",
	 NULL},
	{"Checkpoints", "checkpoints!:@Checkpoint[] next:text?", NULL},
	{"Diff", "added!:text[] removed!:text[] changed!:text[] as_of:text", NULL},
	{"Completion", "matches!:text[] start!:int end!:int as_of:text", NULL},
	{"Var", "name!:text type!:text repr:text size:int? shape:int[] dtype:text columns:any[]",
	 NULL},
	{"Vars", "vars!:@Var[] as_of:text next:int", NULL},
	{"Table",
	 "columns:any[] column_levels:text[][] column_names:any[] rows:any[][] total:int? "
	 "dtypes:text[] decimals:any[] missing:object index:@TableIndex matched:int numbers:int[] "
	 "handle:text live:bool changed:bool cut:bool as_of:text",
	 NULL},
	{"TableSummary",
	 "total!:int width!:int columns!:@ColumnSummary[] index:@ColumnSummary[] "
	 "cut:bool as_of:text",
	 NULL},
	{"ColumnSummary",
	 "name!:text dtype!:text count!:int missing!:int distinct!:int? min:any max:any mean:any "
	 "histogram:@Histogram top:@Frequent[]",
	 NULL},
	{"Histogram", "edges!:any[] counts!:int[]", NULL},
	{"Frequent", "value!:any count!:int", NULL},
	{"TableIndex", "names!:any[] dtypes!:text[] rows!:any[][] missing:object", NULL},
	{"File", "path!:text size!:int mtime_ms:int mime:text? sha256:text? base64:text?", NULL},
	{"Files", "files!:@File[] next:text", NULL},
	{"FileContent", "path!:text size!:int mime!:text text:text base64:text", NULL},
	{"Closed", "session_id!:text closed!:bool", NULL},
	{"Bytes", "any", "*/*"},
	{"Csv", "text", "text/csv"},
	{"Notebook", "object", "application/x-ipynb+json"},
	{"Exported", "any", "application/vnd.vivarium.session"},
	{"Lost", "name!:text why:text", NULL},
	{"Imported", SESSION " names!:text[] lost!:@Lost[]", NULL},
	{"Explored", "stdout:text stderr:text exit_code:int? truncated:any verdict:@Verdict", NULL},
	{"Policy",
	 "name!:text built_in:bool base:text memory:int cpus:num pids:int disk:int io:int "
	 "files:int "
	 "output:int timeout_ms:int timeout_max_ms:int background_ms:int runtime:text backend:text "
	 "data:text guard:object network:text approve:bool approve_ms:int audit_code:bool "
	 "limits:cgroup|measured trust:text swap:int max:object runtimes:text[] warning:text?",
	 NULL},
	{"Policies", "policies!:@Policy[] next:text?", NULL},
	{"Runtime",
	 "name!:text built_in:bool python:text preload:text[] pool:int requirements:text", NULL},
	{"Runtimes", "runtimes!:@Runtime[] next:text?", NULL},
	{"Package", "name!:text version!:text", NULL},
	{"Packages", "runtime:text packages!:@Package[] next:text?", NULL},
	{"Backend",
	 "name!:text priority:int isolation:text available:bool why:text? remedy:text? "
	 "kind:text? lacks:text[] for:text[]",
	 NULL},
	{"Pool", "runtime!:text memory:int keep:int ready:int coming:int why:text?", NULL},
	{"Status",
	 "version!:text config:text? started_ms:int uptime_ms:int backend:text active:object "
	 "order:text pin:text? backends!:@Backend[] "
	 "walls:text[] "
	 "runtimes:@Runtime[] pools:@Pool[] explore:text[] limits:object journal:object "
	 "approve:@Approve caller:@Caller wall_facts:@WallFact[] sandboxes:int",
	 NULL},
	{"Health",
	 "status!:ok|starting|failing last_run_ms:int? why:text? backend:text active:object "
	 "order:text pin:text? backends:@Backend[]",
	 NULL},
	{"Metrics", "text", "text/plain; version=0.0.4"},
	{"OpenAPI", "object", NULL},
	{NULL, NULL, NULL},
};

struct writer {
	struct buf *buf;
	bool is_whole; /* schemas that are named stand in place of their names */
	int r;         /* the first failure; later steps do nothing */
};

static void put(struct writer *to, const char *text)
{
	if (to->r == 0)
		to->r = buf_text(to->buf, text);
}

static void put_part(struct writer *to, const char *text, size_t size)
{
	if (to->r == 0)
		to->r = buf_append(to->buf, text, size);
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

/* The schema that is named in place of its name: none holds itself. */
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

/* What stands behind a type is read from the right: text[]? is a list or null. */
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

	if (schema->describe == NULL) {
		put_members(to, schema->members);
		return;
	}
	buf_init(&members, 16 * KIB);
	if (to->r == 0)
		to->r = schema->describe(&members);
	if (to->r == 0)
		put_members(to, buf_string(&members));
	buf_done(&members);
}

int schema_put(const struct schema *schema, bool is_whole, struct buf *buf)
{
	struct writer to = {.buf = buf, .is_whole = is_whole};

	put_schema(&to, schema);
	return to.r;
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
