// SPDX-License-Identifier: MIT
/*
 * Where somebody speaks: frames whose level is well above the floor of the noise. The floor is the
 * least smoothed level of some seconds (R. Martin, "Noise power spectral density estimation based
 * on optimal smoothing and minimum statistics", IEEE Trans. Speech and Audio Processing 9(5),
 * 2001), here of all frequencies at once. Frames wait for a while before they are judged, so that
 * a recording that begins with a word has a floor by then.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "speech.h"

/* Frames that wait to be judged */
#define AHEAD	50
/* Decibels of digital silence */
#define QUIETEST	(-120.0f)

static uint32_t frames_of(float ms)
{
	return (uint32_t)lroundf(ms * ACCEL_SPEECH_RATE / 1000 / FEATURES_HOP);
}

int vad_create(struct vad *v, const struct accel_vad_opts *opts)
{
	v->opts = *opts;
	v->on = frames_of(opts->min_speech_ms);
	v->on = v->on ? v->on : 1;
	v->hang = frames_of(opts->hangover_ms);
	v->margin = frames_of(opts->margin_ms);
	v->margin = v->margin < v->hang ? v->margin : v->hang;
	v->memory = frames_of(opts->memory_ms);
	v->memory = v->memory > AHEAD ? v->memory : AHEAD;
	v->room = AHEAD + v->on + v->hang + v->margin + 1;
	v->frames = calloc(v->room, FEATURES_HOP * sizeof(*v->frames));
	v->levels = calloc(v->memory, sizeof(*v->levels));
	return v->frames && v->levels ? 0 : -ENOMEM;
}

void vad_destroy(struct vad *v)
{
	free(v->frames);
	free(v->levels);
	*v = (struct vad) { 0 };
}

void vad_reset(struct vad *v)
{
	v->partial = 0;
	v->came = 0;
	v->judged = 0;
	v->kept = 0;
	v->loud = 0;
	v->quiet = 0;
	v->speaking = false;
	memset(v->energy, 0, sizeof(v->energy));
}

static float *frame_at(const struct vad *v, uint64_t frame)
{
	return v->frames + frame % v->room * FEATURES_HOP;
}

/* The level of the frame that came last, in decibels of full scale */
static float level_of(struct vad *v)
{
	const float *x = frame_at(v, v->came);
	const uint64_t n = v->came < VAD_SMOOTH ? v->came + 1 : VAD_SMOOTH;
	double sum = 0, mean = 0;
	uint32_t i;

	/* A constant is no sound. */
	for (i = 0; i < FEATURES_HOP; i++)
		mean += (double)x[i] / FEATURES_HOP;
	for (i = 0; i < FEATURES_HOP; i++)
		sum += ((double)x[i] - mean) * ((double)x[i] - mean);
	v->energy[v->came % VAD_SMOOTH] = sum / FEATURES_HOP;
	for (i = 0, sum = 0; i < n; i++)
		sum += v->energy[i];
	return sum > 0 ? fmaxf((float)(10 * log10(sum / (double)n)), QUIETEST) : QUIETEST;
}

static bool is_loud(const struct vad *v)
{
	const uint64_t n = v->came < v->memory ? v->came : v->memory;
	const float level = v->levels[v->judged % v->memory];
	float least = INFINITY;
	uint64_t i;

	for (i = 0; i < n; i++)
		least = fminf(least, v->levels[i]);
	return level > v->opts.level_db && level > least + v->opts.snr_db;
}

static int hand_over(struct vad *v, uint64_t to, const struct vad_sink *sink)
{
	int ret = 0;

	for (; v->kept < to && !ret; v->kept++)
		ret = sink->speech(sink->user, frame_at(v, v->kept), FEATURES_HOP);
	return ret;
}

/* One frame more is judged; what is kept back is what may yet be before or within speech. */
static int judge(struct vad *v, const struct vad_sink *sink)
{
	const bool loud = v->opts.probability ?
			  v->levels[v->judged % v->memory] > v->opts.threshold : is_loud(v);
	int ret = 0;

	v->judged++;
	v->loud = loud ? v->loud + 1 : 0;
	v->quiet = loud ? 0 : v->quiet + 1;
	while (!v->speaking && v->judged - v->kept > v->on + v->margin)
		v->kept++;
	if (!v->speaking && v->loud >= v->on) {
		v->speaking = true;
		ret = sink->begin(sink->user, v->kept * FEATURES_HOP);
	}
	if (v->speaking && !v->quiet && !ret)
		return hand_over(v, v->judged, sink);
	if (v->speaking && v->quiet > v->hang && !ret) {
		ret = hand_over(v, v->judged - v->quiet + v->margin, sink);
		v->speaking = false;
		if (!ret)
			ret = sink->end(sink->user);
	}
	return ret;
}

static int take_frame(struct vad *v, const struct vad_sink *sink)
{
	float level = 0;
	int ret = 0;

	if (v->opts.probability)
		ret = v->opts.probability(v->opts.user, v->came, frame_at(v, v->came), &level);
	else
		level = level_of(v);
	if (ret)
		return ret < 0 ? ret : -ECANCELED;
	if (!isfinite(level))
		return -EDOM;
	v->levels[v->came % v->memory] = level;
	v->came++;
	return v->came - v->judged > (v->opts.probability ? 0 : AHEAD - 1) ? judge(v, sink) : 0;
}

int vad_push(struct vad *v, const float *samples, size_t count, const struct vad_sink *sink)
{
	size_t n;
	int ret = 0;

	while (count && !ret) {
		n = FEATURES_HOP - v->partial;
		n = n < count ? n : count;
		memcpy(frame_at(v, v->came) + v->partial, samples, n * sizeof(*samples));
		v->partial += (uint32_t)n;
		samples += n;
		count -= n;
		if (v->partial < FEATURES_HOP)
			break;
		v->partial = 0;
		ret = take_frame(v, sink);
	}
	return ret;
}

int vad_finish(struct vad *v, const struct vad_sink *sink)
{
	const uint32_t rest = v->partial;
	uint64_t to;
	int ret = 0;

	while (v->judged < v->came && !ret)
		ret = judge(v, sink);
	if (ret || !v->speaking)
		return ret;
	to = v->judged - v->quiet + (v->quiet < v->margin ? v->quiet : v->margin);
	ret = hand_over(v, to, sink);
	/* Less than a frame is not judged, but belongs to what is spoken before it. */
	if (!ret && rest && to == v->came)
		ret = sink->speech(sink->user, frame_at(v, v->came), rest);
	v->speaking = false;
	return ret ? ret : sink->end(sink->user);
}
