// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <time.h>
#include <unistd.h>

#include "base/c.h"
#include "obs/metrics.h"
#include "unit.h"

#define TEXT_MAX (8U << 20)

struct page {
	struct metrics *metrics;
	struct buf text;
};

static int make(void **state)
{
	struct page *page = xnew(struct page);

	page->metrics = metrics_new();
	buf_init(&page->text, TEXT_MAX);
	*state = page;
	return 0;
}

static int end(void **state)
{
	struct page *page = *state;

	metrics_free(page->metrics);
	buf_done(&page->text);
	free(page);
	return 0;
}

static const char *text_of(struct page *page)
{
	buf_consume(&page->text, page->text.size);
	assert_int_equal(metrics_put(page->metrics, &page->text), 0);
	return buf_string(&page->text);
}

/* The value behind "\nNAME ", NAME with its labels. */
static double value_of(const char *text, const char *name)
{
	char line[256];
	const char *at;

	(void)snprintf(line, sizeof(line), "\n%s ", name);
	at = strstr(text, line);
	if (at == NULL)
		fail_msg("no line %s", name);
	return strtod(at + strlen(line), NULL);
}

static void counters_add_up_by_their_labels(void **state)
{
	struct page *page = *state;
	const char *text;

	metrics_add(page->metrics, METRIC_RUNS, "default", "ok", 1);
	metrics_add(page->metrics, METRIC_RUNS, "default", "ok", 2);
	metrics_add(page->metrics, METRIC_RUNS, "default", "timeout", 1);
	metrics_add(page->metrics, METRIC_RUNS, "tight", "ok", 1);
	metrics_add(page->metrics, METRIC_RUNS, "tight", "ok", -5);
	metrics_add(page->metrics, METRIC_RUNS, "tight", "ok", NAN);
	text = text_of(page);
	assert_contains(text, "# HELP vivarium_runs_total Runs that are over.\n"
			      "# TYPE vivarium_runs_total counter\n");
	assert_true(value_of(text, "vivarium_runs_total{policy=\"default\",verdict=\"ok\"}") == 3);
	assert_true(value_of(text, "vivarium_runs_total{policy=\"default\",verdict=\"timeout\"}") ==
		    1);
	assert_true(value_of(text, "vivarium_runs_total{policy=\"tight\",verdict=\"ok\"}") == 1);
}

static void a_gauge_is_what_was_set_last(void **state)
{
	struct page *page = *state;

	assert_true(value_of(text_of(page), "vivarium_sandboxes") == 0);
	metrics_set(page->metrics, METRIC_SANDBOXES, NULL, NULL, 7);
	metrics_set(page->metrics, METRIC_SANDBOXES, NULL, NULL, 5);
	metrics_set(page->metrics, METRIC_SANDBOXES, NULL, NULL, INFINITY);
	metrics_set(page->metrics, METRIC_SESSIONS, "idle", NULL, 2);
	metrics_set(page->metrics, METRIC_MEMORY, NULL, NULL, 123456789012345.0);
	assert_true(value_of(text_of(page), "vivarium_sandboxes") == 5);
	assert_contains(text_of(page), "\nvivarium_sessions{state=\"idle\"} 2\n");
	assert_contains(text_of(page), "\nvivarium_memory_bytes 123456789012345\n");
}

static void a_histogram_is_cumulative_and_holds_sum_and_count(void **state)
{
#define OF(suffix, le) "vivarium_run_seconds" suffix "{policy=\"p\",verdict=\"ok\"" le "}"
	static const double seconds[] = {-1, 0.0001, 0.0002, 0.02, 1, 299, 301};
	struct page *page = *state;
	const char *text;

	for (size_t i = 0; i < ARRAY_LEN(seconds); i++)
		metrics_observe(page->metrics, METRIC_RUN_TIME, "p", "ok", seconds[i]);
	metrics_observe(page->metrics, METRIC_RUN_TIME, "p", "ok", NAN);
	text = text_of(page);
	assert_contains(text, "# TYPE vivarium_run_seconds histogram\n");
	assert_true(value_of(text, OF("_bucket", ",le=\"0.0001\"")) == 2);
	assert_true(value_of(text, OF("_bucket", ",le=\"0.00025\"")) == 3);
	assert_true(value_of(text, OF("_bucket", ",le=\"0.01\"")) == 3);
	assert_true(value_of(text, OF("_bucket", ",le=\"0.025\"")) == 4);
	assert_true(value_of(text, OF("_bucket", ",le=\"300\"")) == 6);
	assert_true(value_of(text, OF("_bucket", ",le=\"+Inf\"")) == 7);
	assert_true(value_of(text, OF("_count", "")) == 7);
	assert_true(fabs(value_of(text, OF("_sum", "")) - 601.0203) < 1e-9);
#undef OF
}

static void labels_are_escaped(void **state)
{
	struct page *page = *state;

	metrics_add(page->metrics, METRIC_REJECTS, "a\"b\\c\nd\xc3\xa9", NULL, 1);
	assert_contains(text_of(page), "\nvivarium_rejects_total{reason=\"a\\\"b\\\\c?d??\"} 1\n");
}

static void what_is_too_many_is_counted_as_other(void **state)
{
	struct page *page = *state;
	const char *text;
	size_t lines = 0;

	for (int i = 0; i < 3 * METRIC_SERIES_MAX; i++) {
		char route[32];

		(void)snprintf(route, sizeof(route), "GET /%d", i);
		metrics_add(page->metrics, METRIC_HTTP_REQUESTS, route, "200", 1);
	}
	metrics_add(page->metrics, METRIC_HTTP_REQUESTS, "GET /0", "200", 1);
	text = text_of(page);
	for (const char *at = text; (at = strstr(at, "\nvivarium_http_requests_total{")) != NULL;)
		at++, lines++;
	assert_int_equal(lines, METRIC_SERIES_MAX);
	assert_true(value_of(text,
			     "vivarium_http_requests_total{route=\"GET /0\",status=\"200\"}") == 2);
	assert_true(
		value_of(text, "vivarium_http_requests_total{route=\"other\",status=\"other\"}") ==
		2 * METRIC_SERIES_MAX + 1);
}

static void a_label_that_is_too_long_is_one_series(void **state)
{
	struct page *page = *state;
	char name[300];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	metrics_add(page->metrics, METRIC_REJECTS, name, NULL, 1);
	metrics_add(page->metrics, METRIC_REJECTS, name, NULL, 1);
	assert_contains(text_of(page), "x\"} 2\n");
}

static void the_process_is_told(void **state)
{
	struct page *page = *state;
	double before = value_of(text_of(page), "process_open_fds");
	double started = value_of(text_of(page), "process_start_time_seconds");
	AUTO_CLOSE int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	const char *text = text_of(page);

	assert_true(fd >= 0);
	assert_true(value_of(text, "process_open_fds") == before + 1);
	assert_true(value_of(text, "process_max_fds") >= before);
	assert_true(value_of(text, "process_resident_memory_bytes") > 100000);
	assert_true(value_of(text, "process_cpu_seconds_total") >= 0);
	assert_true(started <= (double)time(NULL) + 1 && started > (double)time(NULL) - 3600);
	assert_true(value_of(text, "process_start_time_seconds") == started);
	assert_contains(text, "\nvivarium_build_info{version=\"" VIV_VERSION "\"} 1\n");
}

/* Each line is a comment or NAME{LABELS} NUMBER; each metric is told once, in one block. */
static void the_page_has_the_form_of_prometheus(void **state)
{
	struct page *page = *state;
	size_t types = 0;
	AUTO_FREE char *text = NULL;
	char *rest = NULL;

	metrics_add(page->metrics, METRIC_RUNS, "a} b", "ok", 1);
	metrics_observe(page->metrics, METRIC_RUN_QUEUE, "a", "ok", 0.001);
	text = strdup(text_of(page));
	assert_true(text[strlen(text) - 1] == '\n');
	for (char *line = strtok_r(text, "\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\n", &rest)) {
		char *number = strrchr(line, ' ') + 1;
		char *tail = NULL;

		types += strncmp(line, "# TYPE ", 7) == 0;
		if (line[0] == '#')
			continue;
		(void)strtod(number, &tail);
		assert_true(tail > number && *tail == '\0');
		assert_true(strspn(line, "abcdefghijklmnopqrstuvwxyz_") > 8);
	}
	assert_int_equal(types, METRIC_COUNT);
}

static void a_page_that_does_not_fit_is_an_error(void **state)
{
	struct page *page = *state;
	struct buf small;

	buf_init(&small, 100);
	assert_int_equal(metrics_put(page->metrics, &small), -EMSGSIZE);
	buf_done(&small);
	metrics_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(counters_add_up_by_their_labels, make, end),
		cmocka_unit_test_setup_teardown(a_gauge_is_what_was_set_last, make, end),
		cmocka_unit_test_setup_teardown(a_histogram_is_cumulative_and_holds_sum_and_count,
						make, end),
		cmocka_unit_test_setup_teardown(labels_are_escaped, make, end),
		cmocka_unit_test_setup_teardown(what_is_too_many_is_counted_as_other, make, end),
		cmocka_unit_test_setup_teardown(a_label_that_is_too_long_is_one_series, make, end),
		cmocka_unit_test_setup_teardown(the_process_is_told, make, end),
		cmocka_unit_test_setup_teardown(the_page_has_the_form_of_prometheus, make, end),
		cmocka_unit_test_setup_teardown(a_page_that_does_not_fit_is_an_error, make, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
