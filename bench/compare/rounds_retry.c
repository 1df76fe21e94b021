/* SPDX-License-Identifier: BSD-2-Clause */
/* Extra rounds: what was measured while the machine was busy is measured once more. */

#include "rounds_internal.h"

/*
 * Theory of operation
 *
 * A ratio is made of slices of one round, so a dirty slice alone in a round would be worth nothing:
 * the cells that it is compared with come along. Each dirty slice of an ordinary round counts once,
 * and what is dirty again stays so. Nothing is deleted: the median bears the dirty slices, and who
 * throws away what he does not like measures his taste.
 */

static unsigned int count_dirty(const struct cell *cell)
{
	unsigned int count = 0;

	for (size_t i = 0; i < CELL_ROUNDS_MAX; i++)
		count += cell->rounds[i].dirty && !cell->rounds[i].again;
	return count;
}

size_t rounds_retry_plan(struct runner *runner)
{
	const struct rounds *rounds = runner->rounds;
	size_t count = 0;

	if (!rounds->options.retry_dirty || rounds->done < rounds->options.rounds ||
	    rounds->done + rounds->extra >= CELL_ROUNDS_MAX)
		return 0;
	for (size_t i = 0; i < rounds->cell_count; i++) {
		struct runner_cell *cell = &runner->cells[i];

		cell->owes = !rounds->cells[i].dead && count_dirty(&rounds->cells[i]) > cell->paid;
		cell->again = cell->owes;
	}
	for (size_t i = 0; i < rounds->pair_count; i++) {
		const struct pair *pair = &rounds->pairs[i];

		if (runner->cells[pair->a].owes || runner->cells[pair->b].owes) {
			runner->cells[pair->a].again = true;
			runner->cells[pair->b].again = true;
		}
	}
	for (size_t i = 0; i < rounds->cell_count; i++)
		count += runner->cells[i].again && !rounds->cells[i].dead;
	return count;
}

void rounds_retry_file(struct runner *runner, size_t index, unsigned int round)
{
	struct runner_cell *cell = &runner->cells[index];

	runner->rounds->cells[index].rounds[round].again = true;
	if (cell->owes) {
		cell->paid++;
		runner->rounds->retried++;
	}
}
