/* SPDX-License-Identifier: BSD-2-Clause */
/* A worker's own entry of the scoreboard. */
#ifndef FPM_WORKER_SCORE_H
#define FPM_WORKER_SCORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct template_worker;

/**
 * score_open() - map the scoreboard and take our entry
 * @worker:	What the manager sent
 *
 * If that fails the worker works all the same; the manager just knows less of it.
 */
void score_open(const struct template_worker *worker);

/* Waits for a request. */
void score_idle(void);

/**
 * score_busy() - the program starts on a request
 * @head:	Its head, as head_read() takes it
 * @size:	Bytes of @head
 */
void score_busy(const uint8_t *head, size_t size);

/* A request was answered to its end; at the limit this asks the manager for a successor. */
void score_served(void);

/* A connection was accepted. */
void score_accepted(void);

/* So many connections are held that are not being served. */
void score_parked(uint32_t count);

/* So many bytes of an answer are out. */
void score_wrote(size_t size);

/**
 * score_other_holds_fewer() - does another worker of the pool hold fewer connections
 * @count:	Connections
 *
 * Return: true if one of them, busy or not, holds fewer than @count by its own word
 */
bool score_other_holds_fewer(uint32_t count);

/* From now on nothing is written there: the process is a copy of the worker. */
void score_abandon(void);

#endif
