// SPDX-License-Identifier: MIT
/*
 * Options of run conv and explain conv, for the command table.
 */
#include "conv.h"
#include "run_opts.h"

#define CONV(member)	offsetof(struct conv_opts, member)

const struct ctl_opt conv_table[] = {
	{ "a", 0, CTL_STRING, CTL_COMPLETE_FILE, CONV(a), .arg = "FILE",
	  .help = "take the input from a .npy file, [N, C, H, W], or from a picture, .png" },
	{ "b", 0, CTL_STRING, CTL_COMPLETE_FILE, CONV(b), .arg = "FILE",
	  .help = "take the weights from a .npy file, [M, C / groups, H, W]; with two dimensions, one filter for every channel",
	},
	{ "filter", 'f', CTL_CHOICE, 0, CONV(filter), .choices = conv_filter_names,
	  .help = "weights that blur, sharpen or find edges, for each channel separately" },
	{ "dtype", 't', CTL_CHOICE, 0, CONV(dtype), .choices = conv_kind_names,
	  .help = "element type (fp32); int8 is summed in int32, and for pictures converted to bytes",
	},
	{ "batch", 0, CTL_UINT, 0, CONV(batch), 1, 65536, .arg = "COUNT",
	  .help = "number of inputs without a file (1)" },
	{ "channels", 0, CTL_UINT, 0, CONV(channels), 1, 1048576, .arg = "COUNT",
	  .help = "their channels (3)" },
	{ "height", 0, CTL_UINT, 0, CONV(height), 1, 1048576, .arg = "COUNT",
	  .help = "their rows (32)" },
	{ "width", 0, CTL_UINT, 0, CONV(width), 1, 1048576, .arg = "COUNT",
	  .help = "their columns (32)" },
	{ "filters", 'm', CTL_UINT, 0, CONV(filters), 1, 1048576, .arg = "COUNT",
	  .help = "number of filters without a file (8)" },
	{ "size", 'k', CTL_UINT, 0, CONV(size), 1, 65536, .arg = "COUNT",
	  .help = "their rows and columns (3)" },
	{ "stride", 0, CTL_UINT, 0, CONV(stride), 1, 65536, .arg = "COUNT",
	  .help = "stride of the windows (1)" },
	{ "dilation", 0, CTL_UINT, 0, CONV(dilation), 1, 65536, .arg = "COUNT",
	  .help = "dilation: distance of the elements of a window (1)" },
	{ "pad", 0, CTL_UINT, 0, CONV(pad), 0, 65536, .arg = "COUNT",
	  .help = "zeros on all sides (0: none, and the edge of a picture is replicated)" },
	{ "groups", 'g', CTL_UINT, 0, CONV(groups), 1, 1048576, .arg = "COUNT",
	  .help = "groups of channels (1)" },
	{ "algorithm", 0, CTL_CHOICE, 0, CONV(algorithm), .choices = conv_algorithm_names,
	  .help = "algorithm; auto is the fastest supported one" },
	OPT_ENGINE(CONV),
	{ NULL }
};

const struct ctl_opt conv_run_table[] = {
	{ "out", 'o', CTL_STRING, CTL_COMPLETE_FILE, CONV(out), .arg = "FILE",
	  .help = "write the result to a .npy file or, if it has 1 or 3 channels, to a .png" },
	OPT_CHECK(CONV),
	OPTS_MEASURE(CONV),
	{ NULL }
};

void conv_opts_init(void *data)
{
	struct conv_opts *o = data;

	o->batch = 1;
	o->channels = 3;
	o->height = o->width = 32;
	o->filters = 8;
	o->size = 3;
	o->stride = o->dilation = o->groups = 1;
	o->seed = 1;
}
