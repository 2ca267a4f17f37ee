// A loader as applications bring it: opens the library through Bun's FFI, family by family, and takes it only if it calls
// itself what the loader was written for. Nothing here is of the library; what it expects is the contract.
import { CString, dlopen, FFIType, JSCallback, ptr, toArrayBuffer } from "bun:ffi";

const p = FFIType.ptr, u = FFIType.usize, i = FFIType.i32, f = FFIType.f32, none = FFIType.void;

type Signature = [any[], any];
const families: Record<string, Record<string, Signature>> = {
  core: {
    abi_version: [[], FFIType.cstring],
    create: [[p, p], p],
    destroy: [[p], none],
    mmap_acquire: [[p, p, p], i],
    mmap_evict: [[p, p, p], i],
    tts_synthesize: [[p, p, u, p, p, u, p], i],
    asr_transcribe: [[p, p, u, i, p, u, p], i],
    tts_stream_supported: [[], i],
    tts_synthesize_stream: [[p, p, u, p, u, u, p], i],
    cancel_tts: [[p, p], i],
    set_verifier_callback: [[p, u, u, p], i],
    asr_stream_supported: [[], i],
    asr_stream_open: [[p, i, p], u],
    asr_stream_feed: [[u, p, u, p], i],
    asr_stream_partial: [[u, p, u, p, p, p], i],
    asr_stream_finish: [[u, p, u, p, p, p], i],
    asr_stream_close: [[u], none],
    free_string: [[u], none],
  },
  reference: {
    encode_reference: [[p, p, u, i, p, p, p, p], i],
    free_tokens: [[u], none],
  },
  vad: {
    vad_supported: [[], i],
    vad_open: [[p, i, p], u],
    vad_process: [[u, p, u, p, p], i],
    vad_reset: [[u, p], i],
    vad_close: [[u], none],
  },
  wakeword: {
    wakeword_supported: [[], i],
    wakeword_open: [[p, i, p, p], u],
    wakeword_score: [[u, p, u, p, p], i],
    wakeword_reset: [[u, p], i],
    wakeword_close: [[u], none],
  },
  speaker: {
    speaker_supported: [[], i],
    speaker_open: [[p, p, p], u],
    speaker_embed: [[u, p, u, p, p], i],
    speaker_close: [[u], none],
    diariz_supported: [[], i],
    diariz_open: [[p, p, p], u],
    diariz_segment: [[u, p, u, p, p, p], i],
    diariz_close: [[u], none],
  },
  llm: {
    llm_stream_supported: [[], i],
    llm_stream_open: [[p, p, p], u],
    llm_stream_prefill: [[u, p, u, p], i],
    llm_stream_next: [[u, p, u, p, p, u, p, p, p], i],
    llm_stream_cancel: [[u], i],
    llm_stream_save_slot: [[u, p, p], i],
    llm_stream_restore_slot: [[u, p, p], i],
    llm_stream_close: [[u], none],
  },
  probes: {
    llm_mtp_supported: [[], i],
    llm_kv_quant_supported: [[], i],
  },
  text: {
    embed_supported: [[], i],
    embed: [[p, p, u, i, p, u, p, p], i],
    vision_supported: [[], i],
    describe_image: [[p, p, u, p, p, p, u, p], i],
    tokenize_supported: [[], i],
    tokenize: [[p, p, u, i, i, p, p, p], i],
    detokenize: [[p, p, u, i, i, p, u, p], i],
  },
  kokoro: {
    kokoro_supported: [[], i],
    kokoro_load: [[p, p, p, i, p], i],
    kokoro_synthesize: [[p, p, u, f, p, u, p], i],
    kokoro_sample_rate: [[p], i],
  },
  eot: {
    llm_eot_supported: [[], i],
    llm_eot_score: [[p, p, u, i, p, p, p, p], i],
  },
  timed: {
    asr_timestamps_supported: [[], i],
    asr_transcribe_timed: [[p, p, u, i, p, u, p, p, p, p], i],
  },
};

// What a loader tries to bind, most first, and what it then takes a library to be.
const full = ["core", "reference", "vad", "wakeword", "speaker", "llm", "probes", "text", "kokoro", "eot", "timed"];
const ladders: Record<number, string[][]> = {
  3: [["core", "vad"], ["core"]],
  12: [full, full.slice(0, -1), full.slice(0, -2), full.slice(0, -3), full.slice(0, 7), ["core", "reference", "vad"], ["core", "vad"], ["core"]],
};

function accepted(constant: number, version: string, bound: string[]): boolean {
  if (version === String(constant)) return true;
  if (constant !== 12) return false;
  if (version === "11") return !bound.includes("timed");
  if (version === "7" || version === "6") return true;
  if (version === "4") return !bound.includes("wakeword") && !bound.includes("speaker");
  return version === "3" && !bound.includes("wakeword") && !bound.includes("speaker") && !bound.includes("reference");
}

const encoder = new TextEncoder();
const text = (value: string) => encoder.encode(value + "\0");
const safe = (value: number | bigint) => {
  if (BigInt(value) >= 1n << 53n) throw new Error(`${value} is no exact number`);
  return Number(value);
};

export class Loader {
  readonly bound: string[];
  readonly version: string;
  private readonly library: any;
  private readonly call: Record<string, (...args: any[]) => any> = {};
  private context = 0;
  private verifier: JSCallback | null = null;

  constructor(path: string, constant: number) {
    const tried = ladders[constant].map((rung) => {
      const names = Object.assign({}, ...rung.map((family) => families[family]));
      const symbols = Object.fromEntries(
        Object.entries(names).map(([name, [args, returns]]: any) => [`eliza_inference_${name}`, { args, returns }]));
      try {
        return { rung, library: dlopen(path, symbols) };
      } catch {
        return null;
      }
    });
    const found = tried.find((one) => one !== null);
    if (!found) throw new Error(`${path}: no rung of the ladder binds`);
    for (const one of tried) if (one && one !== found) one.library.close();
    this.bound = found.rung;
    this.library = found.library;
    for (const [name, symbol] of Object.entries(found.library.symbols)) {
      this.call[name.replace("eliza_inference_", "")] = symbol as any;
    }
    this.version = String(this.call.abi_version());
    if (!accepted(constant, this.version, this.bound)) {
      throw new Error(`ABI mismatch: the loader wants ${constant}, the library says ${this.version}`);
    }
  }

  // Calls with a place for the error, which is read after a failure only, and freed once.
  private checked(name: string, failed: (result: any) => boolean, ...args: any[]): any {
    const slot = new BigUint64Array(1);
    const result = this.call[name](...args, ptr(slot));
    if (!failed(result)) return result;
    let message = `${name} failed (${result})`;
    if (slot[0] !== 0n) {
      message = new CString(safe(slot[0]) as any).toString();
      this.call.free_string(slot[0]);
    }
    throw Object.assign(new Error(message), { code: Number(result) });
  }
  private status(name: string, ...args: any[]): number {
    return this.checked(name, (result) => result < 0, ...args);
  }
  private opened(name: string, ...args: any[]): bigint {
    const handle = this.checked(name, (result) => BigInt(result) === 0n, ...args);
    safe(handle);
    return BigInt(handle);
  }

  create(folder: string) {
    this.context = safe(this.checked("create", (result) => !result, ptr(text(folder))));
  }
  acquire(region: string) { this.status("mmap_acquire", this.context, ptr(text(region))); }
  evict(region: string) { this.status("mmap_evict", this.context, ptr(text(region))); }
  supported(family: string): boolean { return this.call[`${family}_supported`]() === 1; }

  speak(words: string, voice: string | null, maxSamples: number): Float32Array {
    const pcm = new Float32Array(maxSamples), bytes = text(words);
    const n = this.status("tts_synthesize", this.context, ptr(bytes), BigInt(bytes.length - 1),
      voice === null ? null : ptr(text(voice)), ptr(pcm), BigInt(maxSamples));
    return pcm.subarray(0, n);
  }
  // The callback ends the speech with true. Yields whether it was cancelled.
  stream(words: string, voice: string | null, onChunk: (pcm: Float32Array, isFinal: boolean) => boolean | void): boolean {
    const bytes = text(words);
    const callback = new JSCallback((address: number, n: number | bigint, isFinal: number) => {
      const count = Number(n);
      const pcm = count > 0 && address ? new Float32Array(toArrayBuffer(address as any, 0, count * 4).slice(0)) : new Float32Array(0);
      return onChunk(pcm, isFinal === 1) ? 1 : 0;
    }, { args: [p, u, i, u], returns: i });
    try {
      this.status("tts_synthesize_stream", this.context, ptr(bytes), BigInt(bytes.length - 1),
        voice === null ? null : ptr(text(voice)), BigInt(callback.ptr as any), 0n);
      return false;
    } catch (error: any) {
      if (error.code === -7) return true;
      throw error;
    } finally {
      callback.close();
    }
  }
  cancel() { this.status("cancel_tts", this.context); }

  encodeReference(pcm: Float32Array): { K: number; T: number; tokens: Int32Array } {
    const K = new Int32Array(1), T = new Int32Array(1), slot = new BigUint64Array(1);
    this.status("encode_reference", this.context, ptr(pcm), BigInt(pcm.length), 24000, ptr(K), ptr(T), ptr(slot));
    const tokens = new Int32Array(toArrayBuffer(safe(slot[0]) as any, 0, K[0] * T[0] * 4).slice(0));
    this.call.free_tokens(slot[0]);
    return { K: K[0], T: T[0], tokens };
  }

  private readText(buffer: Uint8Array, n: number): string {
    const end = buffer.indexOf(0);
    return new TextDecoder().decode(buffer.subarray(0, end < 0 ? n : end));
  }
  transcribe(pcm: Float32Array, rate: number): string {
    const out = new Uint8Array(4096);
    const n = this.status("asr_transcribe", this.context, ptr(pcm), BigInt(pcm.length), rate, ptr(out), 4096n);
    return this.readText(out, n);
  }
  openAsr(rate: number) {
    const handle = this.opened("asr_stream_open", this.context, rate);
    const ask = (name: string, wantsTokens: boolean) => {
      const out = new Uint8Array(4096), tokens = new Int32Array(256), count = new BigUint64Array([256n]);
      const n = this.status(name, handle, ptr(out), 4096n, wantsTokens ? ptr(tokens) : null, wantsTokens ? ptr(count) : null);
      return { text: this.readText(out, n), tokens: wantsTokens ? [...tokens.subarray(0, Number(count[0]))] : [] };
    };
    return {
      feed: (pcm: Float32Array) => this.status("asr_stream_feed", handle, ptr(pcm), BigInt(pcm.length)),
      partial: (wantsTokens = false) => ask("asr_stream_partial", wantsTokens),
      finish: (wantsTokens = false) => ask("asr_stream_finish", wantsTokens),
      close: () => this.call.asr_stream_close(handle),
    };
  }
  openVad() {
    const handle = this.opened("vad_open", this.context, 16000);
    return {
      process: (pcm: Float32Array) => {
        const probability = new Float32Array(1);
        this.status("vad_process", handle, ptr(pcm), BigInt(pcm.length), ptr(probability));
        return probability[0];
      },
      reset: () => this.status("vad_reset", handle),
      close: () => this.call.vad_close(handle),
    };
  }

  setVerifier(onEvent: ((event: { accepted: number[]; from: number; to: number; corrected: number[] }) => void) | null) {
    if (onEvent === null) {
      this.status("set_verifier_callback", this.context, 0n, 0n);
      this.verifier?.close();
      this.verifier = null;
      return;
    }
    const ids = (address: bigint, n: bigint) =>
      n > 0n && address !== 0n ? [...new Int32Array(toArrayBuffer(safe(address) as any, 0, Number(n) * 4).slice(0))] : [];
    this.verifier = new JSCallback((address: number) => {
      const view = new DataView(toArrayBuffer(address as any, 0, 40));
      onEvent({
        accepted: ids(view.getBigUint64(0, true), view.getBigUint64(8, true)), from: view.getInt32(16, true),
        to: view.getInt32(20, true), corrected: ids(view.getBigUint64(24, true), view.getBigUint64(32, true)),
      });
    }, { args: [p, u], returns: none });
    this.status("set_verifier_callback", this.context, BigInt(this.verifier.ptr as any), 0n);
  }

  tokenize(words: string): Int32Array {
    const bytes = text(words), slot = new BigUint64Array(1), count = new BigUint64Array(1);
    this.status("tokenize", this.context, ptr(bytes), BigInt(bytes.length - 1), 1, 1, ptr(slot), ptr(count));
    const tokens = new Int32Array(toArrayBuffer(safe(slot[0]) as any, 0, Number(count[0]) * 4).slice(0));
    this.call.free_tokens(slot[0]);
    return tokens;
  }
  openLlm(options: { maxTokens?: number; draftMax?: number } = {}) {
    const config = new DataView(new ArrayBuffer(80));
    config.setInt32(0, options.maxTokens ?? 0, true);
    config.setFloat32(8, 1, true);
    config.setFloat32(16, 1, true);
    config.setInt32(20, -1, true);
    config.setInt32(36, options.draftMax ?? 0, true);
    config.setInt32(60, -1, true);
    const handle = this.opened("llm_stream_open", this.context, ptr(config));
    return {
      prefill: (tokens: Int32Array) => this.status("llm_stream_prefill", handle, ptr(tokens), BigInt(tokens.length)),
      next: () => {
        const tokens = new Int32Array(32), count = new BigUint64Array(1), out = new Uint8Array(1024);
        const drafted = new Int32Array(1), accepted = new Int32Array(1);
        const done = this.status("llm_stream_next", handle, ptr(tokens), 32n, ptr(count), ptr(out), 1024n, ptr(drafted), ptr(accepted));
        return { done: done === 1, tokens: [...tokens.subarray(0, Number(count[0]))], text: this.readText(out, 1024),
          drafted: drafted[0], accepted: accepted[0] };
      },
      cancel: () => this.call.llm_stream_cancel(handle),
      close: () => this.call.llm_stream_close(handle),
    };
  }

  close() {
    if (this.verifier) this.setVerifier(null);
    if (this.context) this.call.destroy(this.context);
    this.context = 0;
    this.library.close();
  }
}
