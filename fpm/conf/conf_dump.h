/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints a configuration as it was understood. */
#ifndef FPM_CONF_DUMP_H
#define FPM_CONF_DUMP_H

#include <stdio.h>

struct conf;

/**
 * conf_dump() - print every setting, defaults included, as a file that means the same
 * @conf:	Configuration
 * @out:	Stream
 */
void conf_dump(const struct conf *conf, FILE *out);

#endif
