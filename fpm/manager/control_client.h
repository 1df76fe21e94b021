/* SPDX-License-Identifier: BSD-2-Clause */
/* berth status, reload and stop: requests to a running berth over its control socket. */
#ifndef FPM_CONTROL_CLIENT_H
#define FPM_CONTROL_CLIENT_H

/**
 * control_client_run() - send a request, wait for the answer and print it
 * @argc:	Words of @argv
 * @argv:	The verb and its options: --json (status), -c FILE or --control SOCKET
 *
 * Return: COMMAND_EXIT_OK; 1 if berth says that it could not be done; COMMAND_EXIT_USAGE;
 * COMMAND_EXIT_SYSTEM if no berth answers there
 */
int control_client_run(int argc, char *argv[]);

#endif
