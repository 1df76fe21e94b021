/* SPDX-License-Identifier: BSD-2-Clause */
/* A program without a dynamic linker, which would load nothing into it: it only waits. */

#include <unistd.h>

int main(void)
{
	for (;;)
		(void)pause();
}
