/* SPDX-License-Identifier: BSD-2-Clause */
/* Goes into the background, and lets whoever started us know what came of it. */
#ifndef FPM_DAEMONIZE_H
#define FPM_DAEMONIZE_H

#include <stdbool.h>

/**
 * daemonize() - go on in the background
 * @ret_status:	Set in the process that was started: the exit status that it has to end with
 *
 * The process that was started waits here until the one in the background says that it is ready,
 * or ends. A signal that asks it to stop goes to that one. The one in the background has a session
 * without a terminal, that it does not lead, /dev/null as standard input and output, and until it
 * is ready the standard error of the start.
 *
 * Return: true in the process that is to end now
 */
bool daemonize(int *ret_status);

/**
 * daemonize_adopt() - the program that was here before had gone into the background
 */
void daemonize_adopt(void);

/**
 * daemonize_ready() - the start has succeeded: let the process that was started end
 *
 * Does nothing unless we are in the background.
 */
void daemonize_ready(void);

/**
 * daemonize_log() - standard error goes where the log goes, once we are ready
 * @fd:		Descriptor of the log
 *
 * Does nothing unless we are in the background.
 */
void daemonize_log(int fd);

/**
 * daemonize_ended() - the start has failed
 * @status:	Exit status of the process that was started
 *
 * Does nothing unless we are in the background and have not been ready.
 */
void daemonize_ended(int status);

#endif
