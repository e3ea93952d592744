// SPDX-License-Identifier: MIT
/*
 * Options of the commands of text, for the command table.
 */
#include <accel/speech.h>
#include <math.h>

#include "text.h"

#define OPT(member)	offsetof(struct text_opts, member)

const char *const kv_names[] = { "fp32", "fp16", "bf16", "int8", NULL };

/* As of &enum accel_precision */
static const char *const precisions[] = { "fp32", "bf16", "fp16", NULL };

#define DTYPE \
	{ "dtype", 't', CTL_CHOICE, 0, OPT(dtype), .choices = precisions, \
	  .help = "of products of fp32, with sums in fp32, and of weights in memory (fp32)" }

const struct ctl_opt text_table[] = {
	{ "model", 'm', CTL_STRING, CTL_COMPLETE_FILE, OPT(model), .arg = "FILE|FOLDER",
	  .help = "GGUF file, or folder with config.json and safetensors" },
	{ "tokenizer", 0, CTL_STRING, CTL_COMPLETE_FILE, OPT(tokenizer), .arg = "FILE|FOLDER",
	  .help = "tokenizer.json, or a folder with it; the default is the model's folder" },
	{ "lora", 0, CTL_STRINGS, CTL_COMPLETE_DIR, OPT(loras), .arg = "FOLDER[:SCALE]",
	  .help = "adapter, as PEFT writes it, times SCALE (1); may be given again" },
	{ "prompt", 'p', CTL_STRING, 0, OPT(prompt), .arg = "TEXT", .help = "text" },
	{ "file", 'f', CTL_STRING, CTL_COMPLETE_FILE, OPT(file), .arg = "FILE",
	  .help = "text from a file; - for the standard input" },
	{ "input-ids", 0, CTL_STRING, 0, OPT(ids), .arg = "A,B,...",
	  .help = "tokens in the place of a text" },
	{ "context", 'c', CTL_UINT, 0, OPT(context), 2, 1 << 24, .arg = "TOKENS",
	  .help = "most tokens of a sequence, in whole pages (what the model has, at most 4096)" },
	DTYPE,
	{ "kv-type", 0, CTL_CHOICE, 0, OPT(kv_type), .choices = kv_names,
	  .help = "type of the cache of keys and values; int8 with a scale for each head (fp32)" },
	{ "no-repack", 0, CTL_FLAG, 0, OPT(no_repack),
	  .help = "weights as they lie in the file, without copies for speed" },
	{ "chunk", 0, CTL_UINT, 0, OPT(chunk), 1, 65536, .arg = "TOKENS",
	  .help = "most tokens of a step (256)" },
	{ "reproducible", 0, CTL_FLAG, 0, OPT(reproducible),
	  .help = "results are the same in any pieces, to the bit" },
	{ "threads", 0, CTL_UINT, 0, OPT(threads), 1, 4096, .arg = "COUNT",
	  .help = "in-process device: threads; the default is one a core" },
	{ "no-cache", 0, CTL_FLAG, 0, OPT(no_cache),
	  .help = "packed weights are neither looked for in accel/weights of XDG_CACHE_HOME nor left there",
	},
	{ NULL }
};

static const char *const stoppings[] = { "likely", "first", "never", NULL };

const struct ctl_opt generate_table[] = {
	{ "max-new-tokens", 'n', CTL_UINT, 0, OPT(most), 1, INT32_MAX, .arg = "COUNT",
	  .help = "most tokens of the answer; the default is what the context has room for" },
	{ "greedy", 0, CTL_FLAG, 0, OPT(greedy),
	  .help = "the most likely token each time, whatever else is said" },
	{ "temperature", 0, CTL_REAL, 0, OPT(temperature), .arg = "NUMBER",
	  .help = "logits are divided by it; 0: the most likely token (0.8)" },
	{ "top-k", 0, CTL_UINT, 0, OPT(top_k), 0, INT32_MAX, .arg = "COUNT",
	  .help = "draw from so many of the most likely tokens, 0: from all (40)" },
	{ "top-p", 0, CTL_REAL, 0, OPT(top_p), .arg = "SHARE",
	  .help = "draw from the fewest that have this probability together (0.95)" },
	{ "min-p", 0, CTL_REAL, 0, OPT(min_p), .arg = "SHARE",
	  .help = "draw from those with this share of the likeliest one's probability (0.05)" },
	{ "repeat-penalty", 0, CTL_REAL, 0, OPT(repeat_penalty), .arg = "NUMBER",
	  .help = "logits of the last 64 tokens are divided by it, or multiplied if below 0 (1)" },
	{ "presence-penalty", 0, CTL_REAL, 0, OPT(presence_penalty), .arg = "NUMBER",
	  .help = "less this for logits of the last 64 tokens, once each (0)" },
	{ "frequency-penalty", 0, CTL_REAL, 0, OPT(frequency_penalty), .arg = "NUMBER",
	  .help = "less this for them, as often as each was there (0)" },
	{ "logit-bias", 0, CTL_STRINGS, 0, OPT(biases), .arg = "TOKEN=NUMBER",
	  .help = "added to the logit of a token, by its number; -inf: never; may be given again" },
	{ "json-schema", 0, CTL_STRING, CTL_COMPLETE_FILE, OPT(schema), .arg = "FILE",
	  .help = "the answer is JSON of the schema in the file" },
	{ "seed", 0, CTL_UINT, 0, OPT(seed), 0, UINT32_MAX, .arg = "NUMBER",
	  .help = "of the numbers that are drawn (1)" },
	{ "stop", 0, CTL_STRINGS, 0, OPT(stops), .arg = "TEXT",
	  .help = "text that ends the answer and is no part of it; may be given again" },
	{ "ignore-eos", 0, CTL_FLAG, 0, OPT(ignore_eos),
	  .help = "go on behind tokens that end a text" },
	{ "lookup", 0, CTL_UINT, 0, OPT(lookup), 0, 64, .arg = "TOKENS",
	  .help = "most tokens that are guessed from what was there before (0)" },
	{ "draft", 0, CTL_STRING, CTL_COMPLETE_FILE, OPT(draft), .arg = "FILE|FOLDER",
	  .help = "smaller model with the same tokens, which guesses" },
	{ "beams", 0, CTL_UINT, 0, OPT(beams), 1, ACCEL_SEARCH_BEAMS_MAX, .arg = "COUNT",
	  .help = "follow so many continuations at once and write the best; nothing is drawn" },
	{ "length-penalty", 0, CTL_REAL, 0, OPT(length_penalty), .arg = "NUMBER",
	  .help = "with --beams: logarithms of probabilities over this power of the length (1)" },
	{ "early-stopping", 0, CTL_CHOICE, 0, OPT(stopping), .choices = stoppings,
	  .help = "with --beams, end if others will hardly be better, at once, if none can be" },
	{ "interactive", 'i', CTL_FLAG, 0, OPT(chat),
	  .help = "a conversation: a line is asked, and answered, until the input ends" },
	{ "system", 0, CTL_STRING, 0, OPT(system), .arg = "TEXT",
	  .help = "with -i: what the conversation begins with, in the role of the system" },
	{ "chat-template", 0, CTL_STRING, CTL_COMPLETE_FILE, OPT(template), .arg = "FILE",
	  .help = "with -i: how conversations are written, in Jinja; the default is the model's" },
	{ "logprobs", 0, CTL_FLAG, 0, OPT(logprobs),
	  .help = "with --json: logarithms of the tokens' probabilities" },
	{ "json-events", 0, CTL_FLAG, 0, OPT(events),
	  .help = "JSON as it comes: a line for each token, then that of --json as a line" },
	{ NULL }
};

const struct ctl_opt perplexity_table[] = {
	{ "limit", 0, CTL_UINT, 0, OPT(most), 2, INT32_MAX, .arg = "TOKENS",
	  .help = "the first tokens of the text alone" },
	{ NULL }
};

const struct ctl_opt tokenize_table[] = {
	{ "tokenizer", 'm', CTL_STRING, CTL_COMPLETE_FILE, OPT(tokenizer), .arg = "FILE|FOLDER",
	  .help = "tokenizer.json, vocab.txt, or a folder with one of them" },
	{ "prompt", 'p', CTL_STRING, 0, OPT(prompt), .arg = "TEXT", .help = "text" },
	{ "file", 'f', CTL_STRING, CTL_COMPLETE_FILE, OPT(file), .arg = "FILE",
	  .help = "text from a file; - for the standard input" },
	{ "decode", 0, CTL_STRING, 0, OPT(ids), .arg = "A,B,...",
	  .help = "the text of tokens, the other way round" },
	{ "special", 0, CTL_FLAG, 0, OPT(special),
	  .help = "special tokens may be written in the text" },
	{ "plain", 0, CTL_FLAG, 0, OPT(plain),
	  .help = "without the special tokens that begin and end texts" },
	{ NULL }
};

const char *const pooling_names[] = { "model", "mean", "cls", "last", "max", NULL };

const struct ctl_opt embed_table[] = {
	{ "model", 'm', CTL_STRING, CTL_COMPLETE_FILE, OPT(model), .arg = "FILE|FOLDER",
	  .help = "GGUF file, or folder with config.json and safetensors" },
	{ "tokenizer", 0, CTL_STRING, CTL_COMPLETE_FILE, OPT(tokenizer), .arg = "FILE|FOLDER",
	  .help = "tokenizer.json or vocab.txt, or a folder with it; the default is the model's" },
	{ "lora", 0, CTL_STRINGS, CTL_COMPLETE_DIR, OPT(loras), .arg = "FOLDER[:SCALE]",
	  .help = "adapter, as PEFT writes it, times SCALE (1); may be given again" },
	{ "prompt", 'p', CTL_STRINGS, 0, OPT(texts), .arg = "TEXT",
	  .help = "text; may be given again" },
	{ "file", 'f', CTL_STRING, CTL_COMPLETE_FILE, OPT(file), .arg = "FILE",
	  .help = "texts from a file, a line each; - for the standard input" },
	{ "input-ids", 0, CTL_STRING, 0, OPT(ids), .arg = "A,B,...",
	  .help = "tokens in the place of a text" },
	{ "pooling", 0, CTL_CHOICE, 0, OPT(pooling), .choices = pooling_names,
	  .help = "what a vector is made of; model: what its files say (model)" },
	{ "normalize", 0, CTL_FLAG, 0, OPT(normalise), .help = "vectors have the length 1" },
	{ "similarity", 0, CTL_FLAG, 0, OPT(similarity),
	  .help = "the cosines between all pairs of texts, in the place of the vectors" },
	{ "out", 'o', CTL_STRING, CTL_COMPLETE_FILE, OPT(out), .arg = "FILE",
	  .help = "write the vectors as .npy: fp32, a row for each text" },
	{ "context", 'c', CTL_UINT, 0, OPT(context), 1, 1 << 24, .arg = "TOKENS",
	  .help = "most tokens of a text (what the model has, at most 4096)" },
	{ "batch", 0, CTL_UINT, 0, OPT(batch), 1, 4096, .arg = "COUNT",
	  .help = "most texts of a run (32)" },
	DTYPE,
	{ "no-repack", 0, CTL_FLAG, 0, OPT(no_repack),
	  .help = "weights as they lie in the file, without copies for speed" },
	{ "reproducible", 0, CTL_FLAG, 0, OPT(reproducible),
	  .help = "a vector is the same among any others, to the bit" },
	{ "threads", 0, CTL_UINT, 0, OPT(threads), 1, 4096, .arg = "COUNT",
	  .help = "in-process device: threads; the default is one a core" },
	{ "no-cache", 0, CTL_FLAG, 0, OPT(no_cache),
	  .help = "packed weights are neither looked for in accel/weights of XDG_CACHE_HOME nor left there",
	},
	{ NULL }
};

static const char *const speech_dtypes[] = { "fp32", "int8", NULL };
static const char *const formats[] = { "text", "srt", "vtt", "json", NULL };

const struct ctl_opt transcribe_table[] = {
	{ "model", 'm', CTL_STRING, CTL_COMPLETE_DIR, OPT(model), .arg = "FOLDER",
	  .help = "folder of a Whisper model: config.json, safetensors and tokenizer.json" },
	{ "format", 0, CTL_CHOICE, 0, OPT(format), .choices = formats,
	  .help = "text: a line for each segment; srt, vtt: subtitles; json: all at the end" },
	{ "dtype", 't', CTL_CHOICE, 0, OPT(dtype), .choices = speech_dtypes,
	  .help = "of products; int8: weights and what they meet in bytes, 32 to a scale (fp32)" },
	{ "language", 0, CTL_STRING, 0, OPT(language), .arg = "NAME",
	  .help = "language that is spoken, as en; without it the model says what it hears" },
	{ "translate", 0, CTL_FLAG, 0, OPT(translate),
	  .help = "into English, if the model has learnt that" },
	{ "no-timestamps", 0, CTL_FLAG, 0, OPT(no_times),
	  .help = "a segment for each window, also if the model writes times" },
	{ "beams", 0, CTL_UINT, 0, OPT(beams), 1, ACCEL_SPEECH_SEQUENCES_MAX, .arg = "COUNT",
	  .help = "follow so many continuations at once at temperature 0 (1)" },
	{ "patience", 0, CTL_REAL, 0, OPT(patience), .arg = "NUMBER",
	  .help = "with --beams: end when this times as many have ended (1)" },
	{ "length-penalty", 0, CTL_REAL, 0, OPT(length_penalty), .arg = "NUMBER",
	  .help = "judge by logprob / ((5 + tokens) / 6) ^ NUMBER; without it by their mean" },
	{ "best-of", 0, CTL_UINT, 0, OPT(best_of), 1, ACCEL_SPEECH_SEQUENCES_MAX, .arg = "COUNT",
	  .help = "draw so many sequences above temperature 0 and take the best (1)" },
	{ "temperature", 0, CTL_REAL, 0, OPT(temperature), .arg = "NUMBER",
	  .help = "the first one (0)" },
	{ "temperature-step", 0, CTL_REAL, 0, OPT(temperature_step), .arg = "NUMBER",
	  .help = "to the next one, if a text repeats or is not likely; 0: none (0.2)" },
	{ "compression-ratio", 0, CTL_REAL, 0, OPT(compression), .arg = "NUMBER",
	  .help = "a text that zlib makes smaller than by this repeats (2.4)" },
	{ "logprob", 0, CTL_REAL, 0, OPT(logprob), .arg = "NUMBER",
	  .help = "a text whose tokens have a mean logarithm below this is not likely (-1)" },
	{ "no-speech", 0, CTL_REAL, 0, OPT(no_speech), .arg = "NUMBER",
	  .help = "above this probability nobody speaks, if the text is not likely (0.6)" },
	{ "no-condition", 0, CTL_FLAG, 0, OPT(no_condition),
	  .help = "windows do not have the text before them as a prompt" },
	{ "vad", 0, CTL_FLAG, 0, OPT(vad),
	  .help = "do not hear stretches where nobody speaks" },
	{ "seed", 0, CTL_UINT, 0, OPT(seed), 0, UINT32_MAX, .arg = "NUMBER",
	  .help = "of the numbers that are drawn (0)" },
	{ "threads", 0, CTL_UINT, 0, OPT(threads), 1, 4096, .arg = "COUNT",
	  .help = "in-process device: threads; the default is one a core" },
	{ "no-cache", 0, CTL_FLAG, 0, OPT(no_cache),
	  .help = "packed weights are neither looked for in accel/weights of XDG_CACHE_HOME nor left there",
	},
	{ NULL }
};

void generate_init(void *data)
{
	struct text_opts *o = data;

	o->temperature = 0.8;
	o->top_k = 40;
	o->top_p = 0.95;
	o->min_p = 0.05;
	o->repeat_penalty = 1;
	o->seed = 1;
	o->length_penalty = 1;
	o->chunk = 256;
}

void perplexity_init(void *data)
{
	struct text_opts *o = data;

	o->chunk = 256;
}

void transcribe_init(void *data)
{
	const struct accel_speech_opts d = ACCEL_SPEECH_OPTS_INIT;
	struct text_opts *o = data;

	o->patience = (double)d.patience;
	o->length_penalty = NAN;
	o->temperature_step = (double)d.temperature_step;
	o->compression = (double)d.compression;
	o->logprob = (double)d.logprob;
	o->no_speech = (double)d.no_speech;
}
