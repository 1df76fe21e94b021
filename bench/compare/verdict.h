/* SPDX-License-Identifier: BSD-2-Clause */
/* What a comparison found out, in sentences. */
#ifndef BENCH_COMPARE_VERDICT_H
#define BENCH_COMPARE_VERDICT_H

#include "bench/compare/pair.h"
#include "bench/compare/rounds.h"
#include "bench/compare/statistics.h"

#include <stdbool.h>
#include <stddef.h>

#define VERDICT_SENTENCE_MAX 480
#define VERDICT_SUMMARY_MAX  12
#define VERDICT_NOTES_MAX    24
#define VERDICT_NOTE_MAX     640

/* A difference below this does not matter unless somebody says otherwise. */
#define VERDICT_DELTA 0.03

/**
 * struct verdict - of a pair
 * @pair:	Index of the pair
 * @ratio:	Its ratio
 * @noise:	How far from 1 its control got, e.g. 0.02; NAN if there is no control
 * @verdict:	What may be said
 * @sentence:	"unix is 2.05x [2.03, 2.06] faster than tcp (new connections, c=1, 100 bytes)"
 */
struct verdict {
	size_t pair;
	struct pair_ratio ratio;
	double noise;
	enum statistics_verdict verdict;
	char sentence[VERDICT_SENTENCE_MAX];
};

/**
 * struct verdicts - of a comparison
 * @list:	One for each pair, in the same order (owned)
 * @count:	Entries
 * @delta:	Difference that does not matter
 * @control_holds: Each control's interval contains 1
 * @refused:	Nothing can be said of what was asked: there are too few rounds, or each comparison
 *		of transports and targets came out as VERDICT_UNKNOWN
 * @refusal:	Why, a sentence; empty unless @refused
 * @notes:	What to know about the figures: stalls, client-bound cells, drift, failures
 * @note_count:	Entries
 * @summary:	The answer to "which socket type should I use, and does it matter for me?", one
 *		sentence an entry
 * @summary_count: Entries
 */
struct verdicts {
	struct verdict *list;
	size_t count;
	double delta;
	bool control_holds;
	bool refused;
	char refusal[VERDICT_SENTENCE_MAX];
	char notes[VERDICT_NOTES_MAX][VERDICT_NOTE_MAX];
	size_t note_count;
	char summary[VERDICT_SUMMARY_MAX][VERDICT_SENTENCE_MAX];
	size_t summary_count;
};

/**
 * verdicts_make() - judge
 * @rounds:	What was measured
 * @delta:	Difference that does not matter, 0 = VERDICT_DELTA
 * @ret_verdicts: Set on success, to be released by verdicts_done()
 *
 * Return: 0 or -ENOMEM
 */
int verdicts_make(const struct rounds *rounds, double delta, struct verdicts *ret_verdicts);

/**
 * verdicts_done() - release
 * @verdicts:	Verdicts, may be all zero
 */
void verdicts_done(struct verdicts *verdicts);

#endif
