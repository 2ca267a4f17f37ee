// bun bun_client.ts LIBRARY CONSTANT BUNDLE: everything that an application does with the library, through the loader.
import assert from "node:assert/strict";
import { Loader } from "./loader";

const [path, constant, bundle] = process.argv.slice(2);
const question = "What is the capital of France?";
const loader = new Loader(path, Number(constant));
assert.equal(loader.version, constant);
loader.create(bundle);
loader.acquire("tts");
loader.acquire("asr");
loader.acquire("tts");
assert.throws(() => loader.acquire("nonsense"), /region_name is 'nonsense'/);

const pcm = loader.speak(question, "default", 24000 * 20);
assert.throws(() => loader.speak(question, "default", 10), /required samples=/);
const chunks: Float32Array[] = [];
let finals = 0;
assert.equal(loader.stream(question, null, (chunk, isFinal) => { isFinal ? ++finals : chunks.push(chunk); }), false);
assert.equal(finals, 1);
assert.ok(chunks.length > 1);
finals = 0;
assert.equal(loader.stream(question, "default", (_, isFinal) => { if (isFinal) ++finals; return true; }), true, "ended by its taker");
assert.equal(finals, 1);
loader.cancel();

assert.equal(loader.transcribe(pcm, 24000), question);
assert.equal(loader.transcribe(new Float32Array(1).subarray(0, 1), 16000), "");
const asr = loader.openAsr(24000);
for (let at = 0; at < pcm.length; at += 2400) asr.feed(pcm.slice(at, at + 2400));
asr.partial();
const heard = asr.finish(true);
assert.equal(heard.text, question);
assert.ok(heard.tokens.length > 3);
asr.close();

assert.ok(loader.supported("vad") && loader.supported("asr_stream") && loader.supported("tts_stream"));
const vad = loader.openVad();
assert.ok(vad.process(new Float32Array(512)) < 0.5);
assert.throws(() => vad.process(new Float32Array(100)), /512/);
vad.reset();
vad.close();

const events: any[] = [];
loader.setVerifier((event) => events.push(event));
if (loader.version === "12") {
  assert.equal(loader.bound.length, 11, "every family binds");
  for (const family of ["wakeword", "diariz", "vision", "kokoro"]) assert.ok(!loader.supported(family), family);
  for (const family of ["speaker", "embed", "tokenize", "llm_eot", "asr_timestamps", "llm_mtp"]) assert.ok(loader.supported(family), family);
  const { K, T, tokens } = loader.encodeReference(pcm);
  assert.equal(tokens.length, K * T);
  const llm = loader.openLlm();
  const prompt = loader.tokenize(`<|im_start|>user\n${question}<|im_end|>\n<|im_start|>assistant\n`);
  // Until drafts were verified: whether they pay is measured, and on a busy machine that may take a while.
  for (let again = 0, accepted = 0; accepted === 0; ++again) {
    assert.ok(again < 500, "the bundle has a drafter");
    let answer = "";
    events.length = 0;
    llm.prefill(prompt);
    for (let step = llm.next(); ; step = llm.next()) {
      answer += step.text;
      accepted += step.accepted;
      if (step.done) break;
    }
    assert.equal(answer, "The capital of France is Paris.");
    assert.equal(events.reduce((sum, event) => sum + event.accepted.length, 0), accepted);
  }
  llm.cancel();
  assert.throws(() => llm.next(), (error: any) => error.code === -7);
  llm.close();
}
loader.setVerifier(null);
loader.evict("tts");
loader.evict("asr");
assert.throws(() => loader.speak(question, null, 10), /mmap_acquire/);
loader.close();
console.log(`bun ${Bun.version}: ABI ${constant}, ${loader.bound.length} families`);
