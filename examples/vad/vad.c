// SPDX-License-Identifier: MIT
/*
 * vad MODEL FILE: when is somebody speaking? MODEL is Silero VAD (silero_vad_v5.onnx, or of
 * version 6), FILE any sound that libsndfile reads, "-" WAV from a pipe. Each line that is
 * written is the begin and the end of speech, in seconds.
 */
#include <accel/speech.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include "../net.h"

/* Samples that are looked at together, and those before them that the network sees too */
#define CHUNK	512
#define BEFORE	64
#define STATE	128

/* A chunk is speech above BEGINS, and no longer below ENDS. */
#define BEGINS	0.5f
#define ENDS	0.35f

/* In samples: shorter pauses are speech, shorter speech is none */
#define PAUSE	(ACCEL_SPEECH_RATE / 10)
#define SHORT	(ACCEL_SPEECH_RATE / 4)

/**
 * struct vad - speech that is being looked for
 * @net: network
 * @input: what it sees: BEFORE samples, and CHUNK new ones
 * @lstm: its memory from chunk to chunk
 * @speaking: there is speech now
 * @begin: sample at which it began
 * @pause: sample at which it may have ended, 0: it goes on
 */
struct vad {
	struct net net;
	float input[BEFORE + CHUNK];
	float lstm[2 * STATE];
	bool speaking;
	int64_t begin;
	int64_t pause;
};

/* How likely is speech in the chunk? Negative: it failed. */
static float look(struct vad *v)
{
	const int64_t sound[2] = { 1, BEFORE + CHUNK }, lstm[3] = { 2, 1, STATE };
	float *in = net_input(&v->net, 0, 2, sound), *state = net_input(&v->net, 1, 3, lstm);
	int64_t *rate = net_input(&v->net, 2, 0, sound);
	struct accel_value is = ACCEL_VALUE_INIT;
	const void *out, *next;
	int ret;

	if (!in || !state || !rate)
		return -1;
	memcpy(in, v->input, sizeof(v->input));
	memcpy(state, v->lstm, sizeof(v->lstm));
	*rate = ACCEL_SPEECH_RATE;
	ret = accel_state_run(v->net.state);
	if (!ret)
		ret = accel_state_get_output(v->net.state, 1, &is, &next);
	if (!ret && (is.type != ACCEL_F32 || is.rank != 3 || is.dims[1] != 1 ||
		     is.dims[2] != STATE || is.dims[0] != 2))
		ret = -EBADMSG;
	if (!ret)
		memcpy(v->lstm, next, sizeof(v->lstm));
	if (!ret)
		ret = accel_state_get_output(v->net.state, 0, &is, &out);
	if (!ret && (is.type != ACCEL_F32 || is.rank != 2 || is.dims[0] != 1 || is.dims[1] != 1))
		ret = -EBADMSG;
	if (ret) {
		net_failed(&v->net, "the model", ret);
		return -1;
	}
	return *(const float *)out;
}

static void write_speech(struct vad *v, int64_t end)
{
	v->speaking = false;
	v->pause = 0;
	if (end - v->begin >= SHORT)
		printf("%.3f %.3f\n", (double)v->begin / ACCEL_SPEECH_RATE,
		       (double)end / ACCEL_SPEECH_RATE);
}

/* The chunk that begins at sample @at is speech with this probability. */
static void take(struct vad *v, int64_t at, float speech)
{
	if (speech >= BEGINS) {
		if (!v->speaking)
			v->begin = at;
		v->speaking = true;
		v->pause = 0;
	} else if (speech < ENDS && v->speaking) {
		if (!v->pause)
			v->pause = at;
		if (at - v->pause >= PAUSE)
			write_speech(v, v->pause);
	}
}

/* Samples come in pieces of any size; the last chunk ends in silence. */
static int fill(struct accel_audio *audio, float *chunk, uint32_t *count)
{
	uint32_t got = 1;
	int ret = 0;

	for (*count = 0; *count < CHUNK && got && !ret; *count += ret ? 0 : got)
		ret = accel_audio_read(audio, chunk + *count, CHUNK - *count, &got);
	memset(chunk + *count, 0, (CHUNK - *count) * sizeof(*chunk));
	return ret;
}

static int listen(struct vad *v, struct accel_audio *audio)
{
	int64_t at = 0;
	uint32_t count;
	float speech;
	int ret;

	for (;; at += count) {
		ret = fill(audio, v->input + BEFORE, &count);
		if (ret || !count)
			break;
		speech = look(v);
		if (speech < 0)
			return -EIO;
		take(v, at, speech);
		memcpy(v->input, v->input + CHUNK, BEFORE * sizeof(v->input[0]));
	}
	if (ret)
		fprintf(stderr, "the sound: %s\n", strerror(-ret));
	else if (v->speaking)
		write_speech(v, v->pause ? v->pause : at);
	return ret;
}

int main(int argc, char **argv)
{
	struct accel_error e = ACCEL_ERROR_INIT;
	struct accel_audio *audio = NULL;
	struct vad v = { 0 };
	int ret;

	if (argc != 3) {
		fprintf(stderr, "usage: vad MODEL FILE\n");
		return 2;
	}
	ret = net_open(&v.net, argv[1]);
	if (!ret) {
		ret = accel_audio_open(argv[2], &e, &audio);
		if (ret)
			fprintf(stderr, "%s: %s\n", argv[2], e.text);
	}
	if (!ret)
		ret = listen(&v, audio);
	accel_audio_close(audio);
	net_close(&v.net);
	return ret ? 1 : 0;
}
