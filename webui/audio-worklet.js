// What runs on the browser's audio thread: the microphone's sound becomes frames for the server, the server's sound becomes
// the loudspeaker's. Both pass at RATE; the device has the rate of its own that the context has.
const RATE = 24000;
const FRAME = 480;            // samples of a frame of the microphone: 20 ms
const REPORT_SECONDS = 0.05;  // between two accounts of what was played
const GAP_SECONDS = 0.2;      // of sound that is waited for where it came too slowly: one gap instead of many
const FADE_SECONDS = 0.01;    // of an answer that is stopped
const DUCK_SECONDS = 0.04;    // to another loudness
const ZERO_CROSSINGS = 16;    // of the filter, to each side

function greatestDivisor(a, b) {
  return b ? greatestDivisor(b, a % b) : a;
}

// From one rate to another in pieces of any size: a windowed sinc, with one row of taps for each place that a sample of the result
// can have between two that came.
class Resampler {
  constructor(from, to) {
    const divisor = greatestDivisor(from, to);
    this.nRows = to / divisor;
    this.step = from / divisor;  // in rows, from one sample of the result to the next
    const band = 0.95 * Math.min(1, to / from);
    const half = Math.ceil(ZERO_CROSSINGS / band);
    this.nTaps = 2 * half;
    this.taps = new Float32Array(this.nRows * this.nTaps);
    for (let row = 0; row < this.nRows; ++row) {
      const taps = this.taps.subarray(row * this.nTaps, (row + 1) * this.nTaps);
      for (let tap = 0; tap < this.nTaps; ++tap) {
        const x = tap - half + 1 - row / this.nRows;
        const angle = Math.PI * band * x;
        const window = 0.42 + 0.5 * Math.cos(Math.PI * x / half) + 0.08 * Math.cos(2 * Math.PI * x / half);
        taps[tap] = Math.abs(x) >= half ? 0 : window * (x === 0 ? 1 : Math.sin(angle) / angle);
      }
      const sum = taps.reduce((a, b) => a + b, 0);
      for (let tap = 0; tap < this.nTaps; ++tap) taps[tap] /= sum;
    }
    this.clear();
  }

  clear() {
    this.kept = new Float32Array(this.nTaps / 2 - 1);  // the silence before the first sample
    this.row = 0;
  }

  convert(samples) {
    const input = new Float32Array(this.kept.length + samples.length);
    input.set(this.kept);
    input.set(samples, this.kept.length);
    const result = new Float32Array(Math.ceil(input.length * this.nRows / this.step) + 1);
    let at = 0, n = 0;
    for (; at + this.nTaps <= input.length; ++n) {
      const first = this.row * this.nTaps;
      let sum = 0;
      for (let tap = 0; tap < this.nTaps; ++tap) sum += input[at + tap] * this.taps[first + tap];
      result[n] = sum;
      this.row += this.step;
      at += Math.floor(this.row / this.nRows);
      this.row %= this.nRows;
    }
    this.kept = input.slice(at);
    return result.subarray(0, n);
  }
}

// Posts {samples: Int16Array, peak, time}: a frame, and the context's time at its end.
class Capture extends AudioWorkletProcessor {
  constructor() {
    super();
    this.resampler = new Resampler(Math.round(sampleRate), RATE);
    this.frame = new Int16Array(FRAME);
    this.nFilled = 0;
    this.peak = 0;
    this.isOver = false;
    this.port.onmessage = () => {
      this.post();  // what there is of a frame
      this.isOver = true;
    };
  }

  post() {
    if (this.nFilled > 0) {
      const samples = this.frame.slice(0, this.nFilled);
      this.port.postMessage({samples, peak: this.peak, time: currentTime}, [samples.buffer]);
    }
    this.nFilled = this.peak = 0;
  }

  process([channels]) {
    if (this.isOver) return false;
    if (channels.length === 0) return true;  // the microphone has not begun
    for (const sample of this.resampler.convert(channels[0])) {
      const clipped = Math.max(-1, Math.min(1, sample));
      this.peak = Math.max(this.peak, Math.abs(clipped));
      this.frame[this.nFilled++] = Math.round(32767 * clipped);
      if (this.nFilled === FRAME) this.post();
    }
    return true;
  }
}

// Takes {item, samples: Float32Array}, {end: item}: nothing more of it comes, {gain}, {stop: true}. Posts of an item how many
// of its samples were played: {item, played, peak}, with `first`, the context's time at the first of them, and with `ended`.
class Playback extends AudioWorkletProcessor {
  constructor() {
    super();
    this.resampler = new Resampler(RATE, Math.round(sampleRate));
    this.gain = this.wantedGain = 1;
    this.peak = 0;
    this.nextReport = 0;
    this.clear();
    this.port.onmessage = ({data}) => this.take(data);
  }

  clear() {
    this.items = [];  // {id, pieces, nFed, isWhole}; the first is played
    this.ready = new Float32Array(0);  // for the device, from `next` on
    this.next = 0;
    this.isShort = false;  // of sound that was due
    this.nFading = 0;  // samples until silence, of an answer that is stopped
    this.resampler.clear();
  }

  stop() {
    for (const item of this.items) this.report({ended: true}, item);
    this.clear();
  }

  take(order) {
    if (order.stop) {
      if (this.items.length > 0 && this.nFading === 0) this.nFading = Math.round(FADE_SECONDS * sampleRate);
    } else if (order.gain !== undefined) {
      this.wantedGain = order.gain;
    } else if (order.end) {
      const item = this.items.find(({id}) => id === order.end);
      if (item) item.isWhole = true;
    } else if (this.nFading === 0) {
      let item = this.items.find(({id}) => id === order.item);
      if (!item) this.items.push(item = {id: order.item, pieces: [], nFed: 0, isWhole: false});
      item.pieces.push(order.samples);
    }
  }

  played(item) {
    return Math.max(0, Math.floor(item.nFed - (this.ready.length - this.next) * RATE / sampleRate));
  }

  report(more, item = this.items[0]) {
    this.port.postMessage({item: item.id, played: this.played(item), peak: this.peak, ...more});
    this.peak = 0;
    this.nextReport = currentTime + REPORT_SECONDS;
  }

  // More samples for the device; false: there are none.
  refill() {
    while (this.items.length > 0) {
      const [item] = this.items;
      const nWaiting = item.pieces.reduce((sum, {length}) => sum + length, 0);
      if (this.isShort && nWaiting < GAP_SECONDS * RATE && !item.isWhole) return false;
      this.isShort = false;
      if (nWaiting > 0) {
        const [piece] = item.pieces;
        const samples = piece.subarray(0, 64);
        if (piece.length > 64) item.pieces[0] = piece.subarray(64); else item.pieces.shift();
        if (item.nFed === 0) this.report({first: currentTime});
        item.nFed += samples.length;
        this.ready = this.resampler.convert(samples);
        this.next = 0;
        if (this.ready.length > 0) return true;
        continue;
      }
      if (!item.isWhole) {
        this.isShort = true;
        return false;
      }
      this.report({ended: true});
      this.items.shift();
    }
    return false;
  }

  process(_, [[out]]) {
    const slope = 1 / (DUCK_SECONDS * sampleRate);
    for (let i = 0; i < out.length; ++i) {
      if (this.next === this.ready.length && !this.refill()) {
        if (this.nFading > 0) this.stop();
        break;
      }
      this.gain += Math.max(-slope, Math.min(slope, this.wantedGain - this.gain));
      out[i] = this.gain * this.ready[this.next++];
      if (this.nFading > 0) out[i] *= this.nFading / (FADE_SECONDS * sampleRate);
      this.peak = Math.max(this.peak, Math.abs(out[i]));
      if (this.nFading > 0 && --this.nFading === 0) {
        this.stop();
        break;
      }
    }
    if (this.items.length > 0 && currentTime >= this.nextReport) this.report({});
    return true;
  }
}

registerProcessor('capture', Capture);
registerProcessor('playback', Playback);
