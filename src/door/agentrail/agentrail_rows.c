// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "base/c.h"
#include "door/agentrail/agentrail.h"

#define PYTHON_MS 60000
#define BASH_MS 30000
#define FILES_MS 30000

#define HELP_PYTHON                                                                                \
	"Run a Python script in the session's sandbox. Files in /workspace stay from call "        \
	"to "                                                                                      \
	"call, variables do not; new files in /workspace/.deep-research/artifacts are listed"
#define HELP_BASH                                                                                  \
	"Run a shell command in the session's sandbox. If it takes longer than its timeout, "      \
	"it continues in the background"
#define HELP_READ "Lines of a file in the session's sandbox, numbered"
#define HELP_WRITE "Write a file in the session's sandbox; missing folders are made"
#define HELP_EDIT "Replace a text in a file of the session's sandbox"
#define HELP_GREP "Search in the files of the session's sandbox"
#define HELP_GLOB "Find files of the session's sandbox by name"

#define ARG(field, ...)                                                                            \
	{                                                                                          \
		OP_PARAM(struct agentrail_args, field, .name = #field, __VA_ARGS__)                \
	}
#define SESSION                                                                                    \
	ARG(session_id, .type = OP_TEXT, .max = 180,                                               \
	    .help = "session to work in; without it a new one, whose id is in the answer")
#define FOLDER                                                                                     \
	ARG(working_directory, .type = OP_TEXT,                                                    \
	    .help = "folder to start in, /workspace or below it (default: /workspace)")
#define FILE_PATH                                                                                  \
	ARG(file_path, .type = OP_TEXT, .is_required = true,                                       \
	    .help = "absolute path of the file, below /workspace")
#define WHERE                                                                                      \
	ARG(path, .type = OP_TEXT,                                                                 \
	    .help = "absolute path of a folder or file to look in (default: /workspace)")

static const struct op_param python_rows[] = {
	ARG(code, .type = OP_BYTES, .is_required = true,
	    .help = "Python to run as a script of its own; print what matters"),
	FOLDER,
	ARG(timeout, .type = OP_MS, .min = 1, .initial = PYTHON_MS,
	    .help = "end the script after this many milliseconds"),
	ARG(expected_output_files, .type = OP_TEXTS,
	    .help = "absolute path below /workspace that the script should make"),
	SESSION,
};

static const struct op_param bash_rows[] = {
	ARG(command, .type = OP_BYTES, .is_required = true, .help = "command line for the shell"),
	FOLDER,
	ARG(timeout, .type = OP_MS, .initial = BASH_MS,
	    .help = "after this many milliseconds it continues in the background; 0: at once"),
	SESSION,
};

static const struct op_param read_rows[] = {
	FILE_PATH,
	ARG(offset, .type = OP_COUNT,
	    .help = "number of the first line, counted from 1 (default: 1)"),
	ARG(limit, .type = OP_COUNT, .help = "largest number of lines (default: 100)"),
	SESSION,
};

static const struct op_param write_rows[] = {
	FILE_PATH,
	ARG(content, .type = OP_BYTES, .is_required = true,
	    .help = "the whole content of the file"),
	SESSION,
};

static const struct op_param edit_rows[] = {
	FILE_PATH,
	ARG(old_string, .type = OP_BYTES, .is_required = true,
	    .help = "exact text to replace; it must occur once"),
	ARG(new_string, .type = OP_BYTES, .is_required = true, .help = "text to put in its place"),
	ARG(replace_all, .type = OP_BOOL, .help = "replace every occurrence (default: false)"),
	SESSION,
};

static const struct op_param grep_rows[] = {
	ARG(pattern, .type = OP_TEXT, .is_required = true, .help = "regular expression"),
	WHERE,
	ARG(glob, .type = OP_TEXT, .help = "only files like this: *.py, **/*.{ts,tsx}"),
	ARG(type, .type = OP_TEXT, .help = "only files of this kind: py, js, md"),
	ARG(output_mode, .type = OP_TEXT, .choices = "content|files_with_matches|count",
	    .help = "lines, paths or counts (default: files_with_matches)"),
	ARG(multiline, .type = OP_BOOL, .help = "a match may span several lines (default: false)"),
	ARG(case_insensitive, .type = OP_BOOL, .help = "ignore case (default: false)"),
	SESSION,
};

static const struct op_param glob_rows[] = {
	ARG(pattern, .type = OP_TEXT, .is_required = true,
	    .help = "which files: *.csv, **/*.py, {a,b}.md"),
	WHERE,
	SESSION,
};

#define ROWS(rows_) .params = (rows_), .param_count = ARRAY_LEN(rows_)

static const struct agentrail_tool tools[] = {
	{.name = "Python", .help = HELP_PYTHON, ROWS(python_rows)},
	{.name = "Bash", .help = HELP_BASH, ROWS(bash_rows)},
	{.name = "Read", .help = HELP_READ, ROWS(read_rows), .timeout_ms = FILES_MS},
	{.name = "Write", .help = HELP_WRITE, ROWS(write_rows), .timeout_ms = FILES_MS},
	{.name = "Edit", .help = HELP_EDIT, ROWS(edit_rows), .timeout_ms = FILES_MS},
	{.name = "Grep", .help = HELP_GREP, ROWS(grep_rows), .timeout_ms = FILES_MS},
	{.name = "Glob", .help = HELP_GLOB, ROWS(glob_rows), .timeout_ms = FILES_MS},
	{.name = NULL},
};

const struct agentrail_tool *agentrail_find(const char *name)
{
	for (const struct agentrail_tool *tool = tools; tool->name != NULL; tool++) {
		if (strcmp(tool->name, name) == 0)
			return tool;
	}
	return NULL;
}

/* ---- as tools of MCP ---- */

#define TOOL(name_, title_, rows_, help_, hints_)                                                  \
	static void call_##name_(struct mcp_call *call)                                            \
	{                                                                                          \
		agentrail_mcp(call, #name_);                                                       \
	}                                                                                          \
	static const struct mcp_tool tool_##name_ = {                                              \
		.name = #name_,                                                                    \
		.title = (title_),                                                                 \
		.help = (help_),                                                                   \
		.params = (rows_),                                                                 \
		.param_count = ARRAY_LEN(rows_),                                                   \
		.args_size = sizeof(struct agentrail_args),                                        \
		.answer = "",                                                                      \
		.hints = (hints_),                                                                 \
		.call = call_##name_,                                                              \
	}

TOOL(Python, "Python script", python_rows, HELP_PYTHON, MCP_DESTRUCTIVE);
TOOL(Bash, "Shell command", bash_rows, HELP_BASH, MCP_DESTRUCTIVE);
TOOL(Read, "Read a file", read_rows, HELP_READ, MCP_READ_ONLY);
TOOL(Write, "Write a file", write_rows, HELP_WRITE, MCP_DESTRUCTIVE | MCP_IDEMPOTENT);
TOOL(Edit, "Edit a file", edit_rows, HELP_EDIT, MCP_DESTRUCTIVE);
TOOL(Grep, "Search in files", grep_rows, HELP_GREP, MCP_READ_ONLY);
TOOL(Glob, "Find files", glob_rows, HELP_GLOB, MCP_READ_ONLY);

const struct mcp_tool *const agentrail_mcp_tools[] = {
	&tool_Python, &tool_Bash, &tool_Read, &tool_Write, &tool_Edit, &tool_Grep, &tool_Glob, NULL,
};
