// node node_client.mjs LIBRARY BUNDLE: the library of profile 12 through koffi.
import assert from "node:assert/strict";
import koffi from "koffi";

const [path, bundle] = process.argv.slice(2);
const question = "What is the capital of France?";
const library = koffi.load(path);
const Chunk = koffi.proto("int eliza_tts_chunk_cb(void *pcm, size_t n, int is_final, void *user_data)");
const call = (signature) => library.func(signature.replace(/(\w+)\(/, "eliza_inference_$1("));
const version = call("const char *abi_version()");
const create = call("void *create(const char *dir, _Out_ void **err)");
const destroy = call("void destroy(void *ctx)");
const acquire = call("int mmap_acquire(void *ctx, const char *name, _Out_ void **err)");
const freeString = call("void free_string(void *text)");
const synthesize = call("int tts_synthesize(void *ctx, const char *text, size_t n, const char *voice, _Out_ float *pcm, size_t max, _Out_ void **err)");
const stream = call("int tts_synthesize_stream(void *ctx, const char *text, size_t n, const char *voice, eliza_tts_chunk_cb *cb, void *ud, _Out_ void **err)");
const cancel = call("int cancel_tts(void *ctx, _Out_ void **err)");
const transcribe = call("int asr_transcribe(void *ctx, const float *pcm, size_t n, int rate, _Out_ char *text, size_t max, _Out_ void **err)");
const vadOpen = call("void *vad_open(void *ctx, int rate, _Out_ void **err)");
const vadProcess = call("int vad_process(void *vad, const float *pcm, size_t n, _Out_ float *p, _Out_ void **err)");
const vadClose = call("void vad_close(void *vad)");

const error = [null];
const check = (status) => {
  if (status !== null && status >= 0) return status;
  const message = koffi.decode(error[0], "char", -1);
  freeString(error[0]);
  throw new Error(message);
};
assert.equal(version(), "12");
const ctx = create(bundle, error);
assert.ok(ctx, "create");
check(acquire(ctx, "tts", error));
check(acquire(ctx, "asr", error));
assert.throws(() => check(acquire(ctx, "nonsense", error)), /region_name is 'nonsense'/);

const pcm = new Float32Array(24000 * 20);
const n = check(synthesize(ctx, question, Buffer.byteLength(question), "default", pcm, pcm.length, error));
const text = Buffer.alloc(4096);
const length = check(transcribe(ctx, pcm.subarray(0, n), n, 24000, text, text.length, error));
assert.equal(text.toString("utf8", 0, length), question);

let samples = 0, finals = 0;
const take = koffi.register((_pcm, count, isFinal) => { samples += Number(count); finals += isFinal; return 0; }, koffi.pointer(Chunk));
check(stream(ctx, question, Buffer.byteLength(question), "default", take, null, error));
assert.ok(samples > 24000 / 2);
assert.equal(finals, 1);

// On a thread of its own, so that this one can cancel it.
const long = Array(8).fill(question).join(" ");
const ended = new Promise((resolve) =>
  synthesize.async(ctx, long, Buffer.byteLength(long), "default", pcm, pcm.length, error, (_, status) => resolve(status)));
setTimeout(() => cancel(ctx, [null]), 5);
const status = await ended;
assert.equal(status, -7);
freeString(error[0]);

const vad = vadOpen(ctx, 16000, error), probability = new Float32Array(1);
check(vadProcess(vad, new Float32Array(512), 512, probability, error));
assert.ok(probability[0] < 0.5);
vadClose(vad);
koffi.unregister(take);
destroy(ctx);
console.log(`node ${process.version}: koffi ${koffi.version ?? ""}`);
