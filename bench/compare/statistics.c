/* SPDX-License-Identifier: BSD-2-Clause */
/* Medians, their exact intervals, ratios that are paired by round, and what may be said of them. */

#include "statistics.h"
