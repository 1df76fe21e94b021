/* SPDX-License-Identifier: BSD-2-Clause */
/* Which CPUs client and server run on. */

#include "placement.h"
