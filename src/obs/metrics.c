// SPDX-License-Identifier: Apache-2.0
#include "obs/metrics.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/c.h"
#include "obs/process.h"

#define LABEL_SIZE 80
#define INDEX_SIZE (2 * (size_t)METRIC_SERIES_MAX) /* half empty, so that lookups are short */
#define OTHER "other"

enum metric_kind {
	METRIC_COUNTER,
	METRIC_GAUGE,
	METRIC_HISTOGRAM,
};

struct metric_row {
	enum metric_kind kind;
	const char *name;
	const char *labels[2]; /* "": none */
	const char *help;
};

static const struct metric_row rows[METRIC_COUNT] = {
#define METRIC_ROW(id, kind, name, first, second, help)                                            \
	[METRIC_##id] = {METRIC_##kind, name, {first, second}, help},
	METRICS(METRIC_ROW)
#undef METRIC_ROW
};

/* Upper bounds in seconds: from a warm start to the longest run. A last bucket holds the rest. */
static const double bounds[] = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01,
				0.025,  0.05,    0.1,    0.25,  0.5,    1,     2.5,
				5,      10,      30,     60,    120,    300};
#define BUCKETS (ARRAY_LEN(bounds) + 1)

struct labels {
	char text[2][LABEL_SIZE]; /* printable ASCII */
};

struct series {
	struct labels labels;
	double value;      /* of a histogram: the sum */
	uint64_t *buckets; /* owned; NULL: not a histogram */
};

struct family {
	struct series *series; /* owned */
	size_t count, capacity;
	uint16_t *index; /* owned: open addressing; an index into `series`, plus one */
};

struct metrics {
	struct family families[METRIC_COUNT];
};

static void copy_label(char *to, const char *from)
{
	size_t i = 0;

	for (; from != NULL && from[i] != '\0' && i < LABEL_SIZE - 1; i++)
		to[i] = (char)(from[i] >= ' ' && from[i] <= '~' ? from[i] : '?');
	to[i] = '\0';
}

/* FNV-1a over both values. */
static uint32_t hash_labels(const struct labels *labels)
{
	uint32_t hash = 2166136261U;

	for (size_t i = 0; i < 2; i++) {
		for (const char *c = labels->text[i]; *c != '\0'; c++)
			hash = (hash ^ (unsigned char)*c) * 16777619U;
		hash = (hash ^ 0xff) * 16777619U;
	}
	return hash;
}

static bool is_same(const struct labels *a, const struct labels *b)
{
	return strcmp(a->text[0], b->text[0]) == 0 && strcmp(a->text[1], b->text[1]) == 0;
}

static struct series *add_series(struct family *family, const struct labels *labels,
				 enum metric_kind kind)
{
	struct series *series;

	if (family->count == family->capacity) {
		size_t capacity = family->capacity > 0 ? 2 * family->capacity : 4;

		series = reallocarray(family->series, capacity, sizeof(*series));
		if (series == NULL)
			abort();
		family->series = series;
		family->capacity = capacity;
	}
	series = &family->series[family->count++];
	*series = (struct series){.labels = *labels};
	if (kind == METRIC_HISTOGRAM)
		series->buckets = xcalloc(BUCKETS, sizeof(*series->buckets));
	return series;
}

/* The entry of these labels in the index, or the free entry where they belong. The index is never
 * full. */
static uint16_t *find_place(struct family *family, const struct labels *labels)
{
	size_t at = hash_labels(labels) % INDEX_SIZE;

	if (family->index == NULL)
		family->index = xcalloc(INDEX_SIZE, sizeof(*family->index));
	while (family->index[at] != 0 &&
	       !is_same(&family->series[family->index[at] - 1].labels, labels))
		at = (at + 1) % INDEX_SIZE;
	return &family->index[at];
}

static struct series *find_series(struct metrics *metrics, enum metric metric, const char *first,
				  const char *second)
{
	const struct metric_row *row = &rows[metric];
	struct family *family = &metrics->families[metric];
	struct labels labels = {0};
	uint16_t *place;

	assert((row->labels[0][0] != '\0') == (first != NULL));
	assert((row->labels[1][0] != '\0') == (second != NULL));
	copy_label(labels.text[0], first);
	copy_label(labels.text[1], second);

	place = find_place(family, &labels);
	if (*place == 0 && family->count >= METRIC_SERIES_MAX - 1) {
		copy_label(labels.text[0], first != NULL ? OTHER : NULL);
		copy_label(labels.text[1], second != NULL ? OTHER : NULL);
		place = find_place(family, &labels);
	}
	if (*place == 0) {
		(void)add_series(family, &labels, row->kind);
		*place = (uint16_t)family->count;
	}
	return &family->series[*place - 1];
}

struct metrics *metrics_new(void)
{
	struct metrics *metrics = xnew(struct metrics);

	for (size_t i = 0; i < METRIC_COUNT; i++) {
		if (rows[i].labels[0][0] == '\0')
			(void)find_series(metrics, (enum metric)i, NULL, NULL);
	}
	metrics_set(metrics, METRIC_BUILD_INFO, VIV_VERSION, NULL, 1);
	/* Set only once: recomputed from two clocks, the value would vary and look like a
	 * restart. */
	metrics_set(metrics, METRIC_PROCESS_START, NULL, NULL, process_look().start_seconds);
	return metrics;
}

void metrics_free(struct metrics *metrics)
{
	if (metrics == NULL)
		return;
	for (size_t i = 0; i < METRIC_COUNT; i++) {
		struct family *family = &metrics->families[i];

		for (size_t j = 0; j < family->count; j++)
			free(family->series[j].buckets);
		free(family->series);
		free(family->index);
	}
	free(metrics);
}

void metrics_add(struct metrics *metrics, enum metric metric, const char *first, const char *second,
		 double value)
{
	assert(rows[metric].kind != METRIC_HISTOGRAM);
	if (isfinite(value) && value >= 0)
		find_series(metrics, metric, first, second)->value += value;
}

void metrics_set(struct metrics *metrics, enum metric metric, const char *first, const char *second,
		 double value)
{
	assert(rows[metric].kind != METRIC_HISTOGRAM);
	if (isfinite(value))
		find_series(metrics, metric, first, second)->value = value;
}

void metrics_observe(struct metrics *metrics, enum metric metric, const char *first,
		     const char *second, double seconds)
{
	struct series *series;
	size_t i = 0;

	assert(rows[metric].kind == METRIC_HISTOGRAM);
	if (!isfinite(seconds))
		return;
	if (seconds < 0)
		seconds = 0;
	series = find_series(metrics, metric, first, second);
	while (i < ARRAY_LEN(bounds) && seconds > bounds[i])
		i++;
	series->buckets[i]++;
	series->value += seconds;
}

static int put_label(struct buf *buf, const char *name, const char *value, const char *separator)
{
	buf_format(buf, "%s%s=\"", separator, name);
	/* Values contain no line break: copy_label removed it. */
	for (; *value != '\0'; value++) {
		if (*value == '\\' || *value == '"')
			buf_append(buf, "\\", 1);
		buf_append(buf, value, 1);
	}
	buf_append(buf, "\"", 1);
	return buf->failed;
}

/* Writes name<suffix>{labels,le="bound"} and a space. `bound` NULL: without le. */
static int put_name(struct buf *buf, const struct metric_row *row, const char *suffix,
		    const struct series *series, const char *bound)
{
	const char *separator = "{";

	buf_format(buf, "%s%s", row->name, suffix);
	for (size_t i = 0; i < 2 && row->labels[i][0] != '\0'; i++) {
		put_label(buf, row->labels[i], series->labels.text[i], separator);
		separator = ",";
	}
	if (bound != NULL) {
		put_label(buf, "le", bound, separator);
		separator = ",";
	}
	buf_text(buf, *separator == ',' ? "} " : " ");
	return buf->failed;
}

static int put_histogram(struct buf *buf, const struct metric_row *row, const struct series *series)
{
	uint64_t count = 0;

	for (size_t i = 0; i < BUCKETS; i++) {
		char bound[24] = "+Inf";

		if (i < ARRAY_LEN(bounds))
			(void)snprintf(bound, sizeof(bound), "%g", bounds[i]);
		count += series->buckets[i];
		put_name(buf, row, "_bucket", series, bound);
		buf_format(buf, "%llu\n", (unsigned long long)count);
	}
	put_name(buf, row, "_sum", series, NULL);
	buf_format(buf, "%.15g\n", series->value);
	put_name(buf, row, "_count", series, NULL);
	buf_format(buf, "%llu\n", (unsigned long long)count);
	return buf->failed;
}

static int put_family(struct buf *buf, const struct metric_row *row, const struct family *family)
{
	static const char *const kinds[] = {
		[METRIC_COUNTER] = "counter",
		[METRIC_GAUGE] = "gauge",
		[METRIC_HISTOGRAM] = "histogram",
	};

	buf_format(buf, "# HELP %s %s.\n# TYPE %s %s\n", row->name, row->help, row->name,
		   kinds[row->kind]);
	for (size_t i = 0; i < family->count; i++) {
		const struct series *series = &family->series[i];

		if (row->kind == METRIC_HISTOGRAM) {
			put_histogram(buf, row, series);
			continue;
		}
		put_name(buf, row, "", series, NULL);
		buf_format(buf, "%.15g\n", series->value);
	}
	return buf->failed;
}

int metrics_put(struct metrics *metrics, struct buf *buf)
{
	struct process_facts facts = process_look();
	int r = 0;

	metrics_set(metrics, METRIC_PROCESS_CPU, NULL, NULL, facts.cpu_seconds);
	metrics_set(metrics, METRIC_PROCESS_FDS, NULL, NULL, (double)facts.fds);
	metrics_set(metrics, METRIC_PROCESS_FDS_MAX, NULL, NULL, (double)facts.fds_max);
	metrics_set(metrics, METRIC_PROCESS_MEMORY, NULL, NULL, (double)facts.memory);
	for (size_t i = 0; i < METRIC_COUNT && r == 0; i++)
		r = put_family(buf, &rows[i], &metrics->families[i]);
	return r;
}
