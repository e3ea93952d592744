// SPDX-License-Identifier: GPL-2.0 OR MIT
#define CREATE_TRACE_POINTS
#include "uma_trace.h"
