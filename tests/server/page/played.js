// Before the page's own script: what it gives to the loudspeaker is kept, as it leaves for the device. The page's own processor of
// microphones records it: on the thread of the sound, which misses nothing when the page is busy.
window.played = {pieces: [], rate: 24000};
const connect = AudioNode.prototype.connect;
AudioNode.prototype.connect = function (to, ...more) {
  const result = connect.call(this, to, ...more);
  if (to instanceof AudioDestinationNode) {
    const recorder = new AudioWorkletNode(to.context, 'capture', {numberOfOutputs: 0});
    recorder.port.onmessage = ({data}) => window.played.pieces.push(Float32Array.from(data.samples, (sample) => sample / 32767));
    connect.call(this, recorder);
  }
  return result;
};
// All of it since the last call, as base64 of 16-bit samples.
window.takePlayed = () => {
  const samples = window.played.pieces.splice(0).flatMap((piece) => [...piece]);
  const bytes = new Uint8Array(Int16Array.from(samples, (sample) => 32767 * Math.max(-1, Math.min(1, sample))).buffer);
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
};
// A recording (base64 of FLAC) as 16-bit samples of a rate, in base64.
window.decoded = async (flac, rate) => {
  const bytes = Uint8Array.from(atob(flac), (character) => character.charCodeAt(0));
  const buffer = await new OfflineAudioContext(1, 1, rate).decodeAudioData(bytes.buffer);
  window.played.pieces.unshift(buffer.getChannelData(0));
  const text = window.takePlayed();
  return text;
};
