/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of the spawn-fcgi command line share. */
#ifndef FPM_SPAWN_FCGI_INTERNAL_H
#define FPM_SPAWN_FCGI_INTERNAL_H

#include "fpm/conf/identity.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define SPAWN_FCGI_EXIT_ERROR 255 /* main() of the original returns -1 */
#define SPAWN_FCGI_FORKS_MAX  10000

/**
 * struct spawn_fcgi_options - the command line
 * @address:	-a, NULL = any IPv4 address
 * @port:	-p, 0 = not given
 * @path:	-s, NULL = not given
 * @mode:	-M, (mode_t)-1 = not given
 * @php_children: -C, negative = leave the environment alone
 * @forks:	-F
 * @backlog:	-b
 * @pid_path:	-P, NULL = none
 * @no_fork:	-n
 * @chdir:	-d, NULL = none
 * @command:	-f, NULL = none
 * @argv:	Program and arguments at the end, NULL = none
 * @chroot:	-c, NULL = none
 * @before_chroot: -S
 * @user:	-u, NULL = none
 * @group:	-g, NULL = none
 * @socket_user: -U, NULL = none
 * @socket_group: -G, NULL = none
 * @supervise:	--supervise
 * @own_sockets: --own-sockets
 * @error_log:	--error-log, NULL = none
 */
struct spawn_fcgi_options {
	const char *address;
	unsigned int port;
	const char *path;
	mode_t mode;
	int php_children;
	unsigned int forks;
	int backlog;
	const char *pid_path;
	bool no_fork;
	const char *chdir;
	const char *command;
	char **argv;
	const char *chroot;
	bool before_chroot;
	const char *user;
	const char *group;
	const char *socket_user;
	const char *socket_group;
	bool supervise;
	bool own_sockets;
	const char *error_log;
};

/**
 * struct spawn_fcgi_ids - who the program becomes, and whose the socket is
 * @identity:	uid (uid_t)-1 and gid (gid_t)-1 stay as they are
 * @groups_known: @identity has supplementary groups from the database
 * @socket_uid:	Owner of the socket's file, (uid_t)-1 = leave alone
 * @socket_gid:	Group of it, (gid_t)-1 = leave alone
 */
struct spawn_fcgi_ids {
	struct identity identity;
	bool groups_known;
	uid_t socket_uid;
	gid_t socket_gid;
};

/**
 * struct spawn_fcgi_pid_file - a pid file that is still to appear
 * @folder:	Its folder, -1 if there is no pid file
 * @fd:		The new file, or the old one if the folder can't be written to
 * @name:	Name in the folder
 * @new_name:	Name that the new file has until then, "" if it is written in place
 */
struct spawn_fcgi_pid_file {
	int folder;
	int fd;
	char name[256];
	char new_name[256];
};

/**
 * spawn_fcgi_error() - a line on standard error
 * @format:	As printf(), without a newline
 *
 * Return: SPAWN_FCGI_EXIT_ERROR
 */
__attribute__((format(printf, 1, 2))) int spawn_fcgi_error(const char *format, ...);

/**
 * spawn_fcgi_parse() - read the command line
 * @argc:	Words of @argv
 * @argv:	Name and arguments, gets another order
 * @ret_options: Set if it is to be gone on
 *
 * Return: -1 if it is to be gone on, otherwise the exit status; messages and help are printed
 */
int spawn_fcgi_parse(int argc, char *argv[], struct spawn_fcgi_options *ret_options);

/**
 * spawn_fcgi_ids_resolve() - look up who is named
 * @options:	Command line
 * @ret_ids:	Set on success
 *
 * Return: 0, or the exit status after a message
 */
int spawn_fcgi_ids_resolve(const struct spawn_fcgi_options *options,
			   struct spawn_fcgi_ids *ret_ids);

/**
 * spawn_fcgi_groups_drop() - change the groups
 * @ids:	Who
 *
 * Return: 0, or the exit status after a message
 */
int spawn_fcgi_groups_drop(const struct spawn_fcgi_ids *ids);

/**
 * spawn_fcgi_socket_check() - can the address be one at all
 * @options:	Command line
 *
 * Return: 0, or the exit status after a message
 */
int spawn_fcgi_socket_check(const struct spawn_fcgi_options *options);

/**
 * spawn_fcgi_socket_mode() - the mode of the socket's file
 * @options:	Command line
 *
 * Return: mode
 */
mode_t spawn_fcgi_socket_mode(const struct spawn_fcgi_options *options);

/**
 * spawn_fcgi_socket_open() - bind and listen
 * @options:	Command line
 * @ids:	Whose its file is
 *
 * Return: descriptor, or -1 after a message
 */
int spawn_fcgi_socket_open(const struct spawn_fcgi_options *options,
			   const struct spawn_fcgi_ids *ids);

/**
 * spawn_fcgi_arguments() - what to execute
 * @options:	Command line
 * @ret_argv:	Set to a list for free(), whose strings are @options' but for the last one of -f
 *
 * Return: 0 or -ENOMEM
 */
int spawn_fcgi_arguments(const struct spawn_fcgi_options *options, char ***ret_argv);

/**
 * spawn_fcgi_become() - run the program in place of this process
 * @socket:	Listening socket
 * @argv:	Program and arguments
 *
 * Return: exit status after a message
 */
int spawn_fcgi_become(int socket, char *const argv[]);

/**
 * spawn_fcgi_children_start() - run the program in new processes and see whether they stay
 * @socket:	Listening socket
 * @null:	/dev/null
 * @argv:	Program and arguments
 * @uid:	Who the processes become, (uid_t)-1 = nobody else
 * @count:	How many
 * @ret_pids:	Set to the pids of those that live, @count of them at the most
 * @ret_living:	Number of them
 *
 * Return: exit status
 */
int spawn_fcgi_children_start(int socket, int null, char *const argv[], uid_t uid,
			      unsigned int count, pid_t *ret_pids, unsigned int *ret_living);

/**
 * spawn_fcgi_pid_file_open() - see that the pid file can be written later, by whoever we are then
 * @path:	Where, NULL = no pid file
 * @ret_file:	Set on success
 *
 * Return: 0, or the exit status after a message; a file that is there is unchanged
 */
int spawn_fcgi_pid_file_open(const char *path, struct spawn_fcgi_pid_file *ret_file);

/**
 * spawn_fcgi_pid_file_write() - make it appear with its content
 * @file:	From spawn_fcgi_pid_file_open()
 * @pids:	Content
 * @count:	Entries of @pids, 0 = leave what is there
 *
 * Return: 0, or the exit status after a message
 */
int spawn_fcgi_pid_file_write(struct spawn_fcgi_pid_file *file, const pid_t *pids,
			      unsigned int count);

/**
 * spawn_fcgi_pid_file_drop() - forget a file that is not to appear
 * @file:	From spawn_fcgi_pid_file_open(), written or not
 */
void spawn_fcgi_pid_file_drop(struct spawn_fcgi_pid_file *file);

/**
 * spawn_fcgi_supervise() - become a berth that keeps the program running
 * @options:	Command line
 *
 * Return: exit status after a message
 */
int spawn_fcgi_supervise(const struct spawn_fcgi_options *options);

#endif
