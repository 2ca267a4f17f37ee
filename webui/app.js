// The page to talk to: this browser's microphone and loudspeaker at a Realtime session of the server that it came from.
// Connection, Microphone, Loudspeaker, Turn, Timeline and Picture know nothing of each other; Talk, at the end, joins them.

const RATE = 24000;           // samples a second, both ways
const TAP_MS = 300;           // a button that is released sooner was pressed, not held
const TAIL_S = 0.04;          // of sound behind a question: the microphone is later than the hand
const LONGEST_TAIL_MS = 250;  // where no sound comes
const FRAMES_BEFORE = 10;     // of sound before the button, which is later than the mouth
const LINGER_MS = 30000;      // the microphone stays open behind a question, for the next one
const LETTER_SAMPLES = 1500;  // of speech
const LEAST_S = 0.1;          // of a question
const LONGEST_RETRY_S = 30;
const TIMES = 8;              // turns that the timeline shows

const $ = (id) => document.getElementById(id);

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function randomId() {
  return [...crypto.getRandomValues(new Uint32Array(4))].map((part) => part.toString(36)).join('');
}

// --- What is remembered: settings by this browser, conversation and key by this tab ---

const DEFAULTS = {voice: '', speed: 1, instructions: '', captions: true, ending: 'silence', silence: 350, theme: ''};

// What a browser that keeps nothing is told stays until the page is closed.
function storage(name) {
  try {
    return window[name];
  } catch {
    const values = new Map();
    return {getItem: (key) => values.get(key), setItem: (key, value) => values.set(key, value)};
  }
}

const ofBrowser = storage('localStorage'), ofTab = storage('sessionStorage');
const settings = {...DEFAULTS, ...JSON.parse(ofBrowser.getItem('parlance') ?? '{}')};
const tab = {
  get: (name) => ofTab.getItem(`parlance.${name}`) ?? '',
  set: (name, value) => ofTab.setItem(`parlance.${name}`, value),
};

// --- The server ---

// Why there is no session: words for people, and whether time may heal it.
class Refusal extends Error {
  constructor(message, isFinal = false, wantsKey = false) {
    super(message);
    Object.assign(this, {isFinal, wantsKey});
  }
}

async function ask(path, options = {}) {
  const headers = {...options.headers};
  if (tab.get('key')) headers.authorization = `Bearer ${tab.get('key')}`;
  let answer;
  try {
    answer = await fetch(path, {...options, headers});
  } catch {
    throw new Refusal('The server cannot be reached.');
  }
  const body = await answer.json().catch(() => ({}));
  return {status: answer.status, body, words: body.error?.message ?? `the server answered ${answer.status}`};
}

async function need(path, options) {
  const {status, body, words} = await ask(path, options);
  if (status < 300) return body;
  if (status === 401) {
    throw new Refusal(tab.get('key') ? 'The server does not know this key.' : 'The server wants a key.', true, true);
  }
  if (body.error?.code === 'origin_not_allowed') {
    throw new Refusal(`The server does not take questions from ${location.origin}. Open its own address, or start it with --cors-origin ${location.origin}.`, true);
  }
  if (body.error?.code === 'loading') throw new Refusal('The server is loading its models.');
  throw new Refusal(`The server refuses: ${words}.`, status < 500);
}

// One socket after the other: opens, tells what comes, opens again when it is lost. `on` has opened({models, voices}),
// event(event), waiting(words), refused(refusal).
class Connection {
  constructor(on) {
    this.on = on;
    this.nLost = 0;
    this.attempt = 0;  // only the latest may speak
    this.isAsleep = false;
    addEventListener('online', () => this.retry && this.open());
  }

  send(event) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(event));
  }

  close() {
    ++this.attempt;
    clearTimeout(this.retry);
    this.retry = undefined;
    this.socket?.close(1000);
    this.socket = undefined;
  }

  async open() {
    this.close();
    this.isAsleep = false;
    const attempt = this.attempt;
    try {
      const models = (await need('/v1/models')).data;
      const voices = (await ask('/v1/audio/voices')).body.voices ?? [];
      const protocols = ['realtime'];
      if (tab.get('key')) {
        const options = {method: 'POST', headers: {'content-type': 'application/json'}, body: '{"session": {"type": "realtime"}}'};
        const secret = await need(`/v1/realtime/client_secrets?conversation_id=${tab.get('conversation')}`, options);
        protocols.push(`openai-insecure-api-key.${secret.value}`);
      }
      if (attempt === this.attempt) this.connect(attempt, protocols, {models, voices});
    } catch (refusal) {
      if (attempt === this.attempt) this.fail(refusal);
    }
  }

  connect(attempt, protocols, about) {
    const url = new URL(`/v1/realtime?conversation_id=${tab.get('conversation')}`, location.href);
    url.protocol = url.protocol.replace('http', 'ws');
    const socket = this.socket = new WebSocket(url, protocols);
    let wasOpen = false;
    socket.onopen = () => {
      wasOpen = true;
      if (attempt === this.attempt) this.on.opened(about);
    };
    socket.onmessage = ({data}) => {
      if (attempt !== this.attempt) return;
      const event = JSON.parse(data);
      if (event.type === 'session.updated') this.nLost = 0;
      this.on.event(event);
    };
    socket.onclose = async ({code, reason}) => {
      if (attempt !== this.attempt) return;
      if (code === 1000 && reason === 'idle') {
        this.isAsleep = true;
        return this.on.waiting('Asleep');
      }
      const why = code === 1001 ? 'The server ends.' : wasOpen ? 'The connection was lost.' : await this.whyNoSocket();
      if (attempt === this.attempt) this.fail(why instanceof Refusal ? why : new Refusal(why));
    };
  }

  // Browsers do not say why a socket did not open; the same address without one does.
  async whyNoSocket() {
    try {
      const {status, words} = await ask('/v1/realtime');
      if (status === 426) return 'Sockets do not reach the server: a proxy in between has to pass upgrades.';
      return new Refusal(`No conversation: ${words}.`, status === 404);
    } catch (refusal) {
      return refusal;
    }
  }

  fail(refusal) {
    if (refusal.isFinal) return this.on.refused(refusal);
    const seconds = Math.min(2 ** this.nLost++, LONGEST_RETRY_S);
    this.retry = setTimeout(() => this.open(), 1000 * seconds);
    this.on.waiting(`${refusal.message} Trying again${seconds > 1 ? ` in ${seconds} s` : ''}…`);
  }
}

// --- Sound ---

const HAS_SOUND = Boolean(window.AudioWorkletNode && navigator.mediaDevices);
const NO_SOUND = 'Browsers give microphone and sound only to pages over https, or from this machine as http://localhost. You can write.';

// The browser's part of sound, once somebody has done something: before that it may not sound.
let soundContext;
async function sound() {
  soundContext ??= (async () => {
    const context = new AudioContext({latencyHint: 'interactive'});
    await context.audioWorklet.addModule('/audio-worklet.js');
    return context;
  })();
  const context = await soundContext;
  if (context.state === 'suspended') await context.resume();
  return context;
}

const NO_MICROPHONE = {
  NotAllowedError: 'This page may not use the microphone. Allow it in the browser’s settings of this page, beside the address.',
  NotFoundError: 'There is no microphone. Connect one, or write.',
  NotReadableError: 'The microphone cannot be used: another program may have it.',
};

// `onFrame` gets {samples, peak, time} every 20 ms; `onGone` is called when the device is taken away.
class Microphone {
  constructor(onFrame, onGone) {
    Object.assign(this, {onFrame, onGone});
  }

  // Errors are in words for people.
  open() {
    clearTimeout(this.linger);
    this.opening ??= this.begin().catch((error) => {
      this.opening = undefined;
      throw error;
    });
    return this.opening;
  }

  async begin() {
    if (!HAS_SOUND) throw new Error(NO_SOUND);
    const context = this.context = await sound();
    try {
      const audio = {channelCount: 1, echoCancellation: true, noiseSuppression: true, autoGainControl: true};
      this.stream = await navigator.mediaDevices.getUserMedia({audio});
    } catch (error) {
      throw new Error(NO_MICROPHONE[error.name] ?? `The microphone cannot be used: ${error.message}`);
    }
    this.source = context.createMediaStreamSource(this.stream);
    this.node = new AudioWorkletNode(context, 'capture', {numberOfOutputs: 0});
    this.node.port.onmessage = ({data}) => this.onFrame(data);
    this.source.connect(this.node);
    this.stream.getTracks()[0].onended = () => {
      this.close();
      this.onGone();
    };
  }

  close() {
    clearTimeout(this.linger);
    this.source?.disconnect();
    this.node?.port.postMessage('end');
    for (const track of this.stream?.getTracks() ?? []) track.stop();
    this.opening = this.stream = this.source = this.node = undefined;
  }

  closeSoon() {
    clearTimeout(this.linger);
    this.linger = setTimeout(() => this.close(), LINGER_MS);
  }
}

// Plays items one after the other. `onPlayed` gets {item, played, peak, first, ended} of the worklet.
class Loudspeaker {
  constructor(onPlayed) {
    this.onPlayed = onPlayed;
    this.waiting = new Set();  // items of which not everything was played
  }

  async open() {
    if (!HAS_SOUND) return;
    const context = await sound();
    if (this.node) return;
    this.node = new AudioWorkletNode(context, 'playback', {numberOfInputs: 0, outputChannelCount: [1]});
    this.node.port.onmessage = ({data}) => {
      if (data.ended) this.waiting.delete(data.item);
      this.onPlayed({...data, latency: context.outputLatency || 0});
    };
    this.node.connect(context.destination);
  }

  play(item, samples) {
    if (!this.node) return;
    this.waiting.add(item);
    this.node.port.postMessage({item, samples}, [samples.buffer]);
  }

  // Nothing more of it comes.
  end(item) {
    this.node?.port.postMessage({end: item});
  }

  duck(gain) {
    this.node?.port.postMessage({gain});
  }

  stop() {
    this.waiting.clear();
    this.node?.port.postMessage({stop: true});
  }
}

function base64Of(samples) {
  const bytes = new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength);
  return btoa(String.fromCharCode(...bytes));
}

function samplesOf(base64) {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const integers = new Int16Array(bytes.buffer, 0, bytes.length >> 1);
  return Float32Array.from(integers, (sample) => sample / 32768);
}

// --- What was said ---

// A word is a run without blanks; in writing that has none between words, each sign is one.
const SIGNS = ['Han', 'Hiragana', 'Katakana', 'Thai', 'Lao', 'Khmer', 'Myanmar'].map((name) => `\\p{sc=${name}}`).join('');
const WORD = new RegExp(`[${SIGNS}]|[^\\s${SIGNS}]+`, 'gu');

// As much of phrases [{text, begin, end}], which are spoken in samples begin to end, as is heard in the first `played` samples.
// A word takes of its phrase's time as much as it has of its letters: the server's rule of what it remembers.
export function heardText(phrases, played) {
  let heard = '';
  for (const {text, begin, end} of phrases) {
    if (end <= played) {
      heard += text;
    } else if (begin < played) {
      const words = [...text.matchAll(WORD)].map(({0: word, index}) => ({length: [...word].length, end: index + word.length}));
      const nLetters = words.reduce((sum, {length}) => sum + length, 0);
      let nSpoken = 0, cut = 0;
      for (const word of words) {
        nSpoken += word.length;
        if (begin + Math.floor((end - begin) * nSpoken / nLetters) > played) break;
        cut = word.end;
      }
      heard += text.slice(0, cut);
    }
  }
  return heard.trimEnd();
}

// One person's words. `certain` stands for good: what was understood, or heard; `open` may still change.
class Turn {
  constructor(role, id) {
    Object.assign(this, {role, id, certain: '', open: '', phrases: [], nReceived: 0, nPlayed: 0, isCut: false});
    this.item = element('div', role);
    Object.assign(this.item.dataset, {testid: 'turn', role, itemId: id, heard: ''});
    this.item.setAttribute('aria-busy', 'true');
    this.said = element('p', 'said');
    this.certainPart = element('span');
    this.openPart = element('span', 'open');
    this.said.append(this.certainPart, this.openPart);
    this.note = element('p', 'note small');
    this.item.append(element('span', 'who', role === 'user' ? 'You' : 'Parlance'), this.said, this.note);
  }

  show(certain, open = '') {
    if (certain === this.certain && open === this.open) return;
    Object.assign(this, {certain, open});
    const rest = open.trimStart();
    this.certainPart.textContent = certain + open.slice(0, open.length - rest.length);
    this.openPart.textContent = rest;
    this.item.dataset.heard = certain;
  }

  finish() {
    this.item.setAttribute('aria-busy', 'false');
  }

  remark(words) {
    this.note.textContent = words;
  }

  get text() {
    return this.phrases.map(({text}) => text).join('');
  }

  // Of an answer: words, which are said in the sound that comes behind them.
  addText(text) {
    const last = this.phrases.at(-1);
    if (last && last.begin === last.end) last.text += text;
    else this.phrases.push({text, begin: this.nReceived, end: this.nReceived});
    this.showHeard();
  }

  addSound(nSamples) {
    this.nReceived += nSamples;
    const last = this.phrases.at(-1);
    if (last) last.end = this.nReceived;
  }

  played(nSamples) {
    this.nPlayed = Math.max(this.nPlayed, nSamples);
    this.showHeard();
  }

  // Words whose sound is still to come were not heard; how long the last phrase gets is a guess until all of it is here.
  heardIn(nSamples) {
    const phrases = this.phrases.filter(({begin, end}) => begin < end);
    const last = phrases.at(-1);
    if (last && !this.isMade) phrases.splice(-1, 1, {...last, end: Math.max(last.end, last.begin + LETTER_SAMPLES * last.text.length)});
    return heardText(phrases, nSamples);
  }

  showHeard() {
    if (this.isCut) return;
    const all = this.text, heard = settings.captions && !this.isWhole ? this.heardIn(this.nPlayed) : all;
    this.show(heard, all.slice(heard.length));
  }

  // The answer was interrupted: the rest was never heard, and the model does not know of it.
  cut(heard) {
    this.isCut = true;
    this.item.classList.add('cut');
    this.show(heard, this.text.slice(heard.length).trimEnd());
    this.remark(heard ? 'Interrupted: the grey words were not heard' : 'Interrupted before the first word');
  }

  cutAt(nSamples) {
    this.cut(this.heardIn(nSamples));
  }
}

// --- Times of turns ---

const LANES = [  // from one checkpoint (or, where it is missing, the next) to another
  ['heard', ['vad-pause'], 'asr-final'],
  ['thought', ['asr-final', 'llm-start'], 'phrase-emit'],
  ['spoke', ['phrase-emit'], 'tts-first-audio-chunk'],
  ['silence', ['vad-speech-end'], 'turn-end'],
];
const SVG = 'http://www.w3.org/2000/svg';

// Bars of a turn's checkpoints on the server (docs/talking.md), from the end of speech on, and where the answer began to sound here.
class Timeline {
  constructor(list) {
    this.list = list;
    this.turns = [];
  }

  add(question, answer, timing) {
    this.turns.unshift({question, answer, ms: {'vad-speech-end': 0, ...timing.ms}});
    this.turns.length = Math.min(this.turns.length, TIMES);
    this.draw();
  }

  draw() {
    const lengths = this.turns.map(({answer, ms}) => Math.max(ms['audio-first-played'] ?? 0, ms['turn-end'] ?? 0, answer?.firstAudioMs ?? 0));
    const longest = Math.max(100, ...lengths);
    this.list.replaceChildren(...this.turns.map((turn) => this.row(turn, longest)));
  }

  row({question, answer, ms}, longest) {
    const row = element('li');
    const picture = document.createElementNS(SVG, 'svg');
    picture.setAttribute('viewBox', '0 0 300 26');
    picture.setAttribute('aria-hidden', 'true');
    const x = (time) => 298 * Math.max(0, time) / longest;
    const bar = (className, from, to, y, height) => {
      const rectangle = document.createElementNS(SVG, 'rect');
      const place = {class: className, x: x(from), width: Math.max(1.5, x(to) - x(from)), y, height, rx: 1.5};
      for (const [name, value] of Object.entries(place)) rectangle.setAttribute(name, value);
      picture.append(rectangle);
    };
    const figures = element('p', 'small');
    const tell = (name, time) => figures.append(element('span', name, `${name} ${Math.round(time)} `));
    LANES.forEach(([name, froms, to], lane) => {
      const from = froms.map((checkpoint) => ms[checkpoint]).find((time) => time !== undefined);
      if (from === undefined || ms[to] === undefined) return;
      bar(name, from, ms[to], 1 + 6 * lane, 5);
      tell(name, ms[to] - from);
    });
    const first = answer?.firstAudioMs ?? ms['audio-first-played'];
    if (first !== undefined) {
      bar('first', first, first, 0, 26);
      tell('first sound', first);
    }
    row.append(element('p', 'asked', question?.certain || '…'), picture, figures);
    return row;
  }
}

// --- Waveform and level ---

// What went in and came out in the last seconds, thirty times a second, and nothing while there is nothing.
class Picture {
  constructor(canvas, meter) {
    Object.assign(this, {canvas, meter, bars: [], heard: 0, said: 0, drawn: 0});
    this.calm = matchMedia('(prefers-reduced-motion: reduce)');
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  hear(peak) {
    this.heard = Math.max(this.heard, peak);
    this.wake();
  }

  say(peak) {
    this.said = Math.max(this.said, peak);
    this.wake();
  }

  wake() {
    this.quietFrames = 0;
    this.frame ??= requestAnimationFrame((time) => this.tick(time));
  }

  tick(time) {
    this.frame = undefined;
    if (time - this.drawn >= 32) {
      this.drawn = time;
      this.bars.push([this.heard, this.said]);
      this.meter.value = Math.sqrt(this.heard);
      this.heard = this.said = 0;
      this.draw();
      ++this.quietFrames;
    }
    if (this.quietFrames < 200) this.frame ??= requestAnimationFrame((next) => this.tick(next));
  }

  draw() {
    const {canvas} = this;
    const scale = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
    if (canvas.width !== Math.round(width * scale)) canvas.width = Math.round(width * scale);
    if (canvas.height !== Math.round(height * scale)) canvas.height = Math.round(height * scale);
    const brush = canvas.getContext('2d'), style = getComputedStyle(canvas);
    brush.setTransform(scale, 0, 0, scale, 0, 0);
    brush.clearRect(0, 0, width, height);
    const nBars = Math.ceil(width / 4);
    this.bars = this.bars.slice(-nBars);
    if (this.calm.matches) return;
    for (let i = 1; i <= nBars; ++i) {
      const [heard, said] = this.bars.at(-i) ?? [0, 0];
      const loudness = Math.min(1, Math.sqrt(Math.max(heard, said)));
      brush.fillStyle = said > heard ? style.caretColor : heard > 0.01 ? style.color : style.outlineColor;
      const half = Math.max(0.75, loudness * (height / 2 - 1));
      brush.fillRect(width - 4 * i, height / 2 - half, 2.5, 2 * half);
    }
  }
}

// --- The conversation ---

const STATES = {connecting: 'Connecting…', ready: 'Ready', listening: 'Listening', thinking: 'Thinking…', speaking: 'Speaking'};

const TRANSCRIPT = 'on conversation.item.input_audio_transcription';

function textOf({content = []}) {
  return content.map((part) => part.transcript ?? part.text ?? '').join('');
}

class Talk {
  constructor() {
    this.turns = new Map();
    this.connection = new Connection(this);
    this.microphone = new Microphone((frame) => this.hear(frame), () => this.loseMicrophone());
    this.loudspeaker = new Loudspeaker((report) => this.played(report));
    this.timeline = new Timeline($('timeline'));
    this.picture = new Picture($('waveform'), $('level'));
    this.isHandsFree = this.isHeld = false;
    this.reset();
    if (!tab.get('conversation')) tab.set('conversation', randomId());
  }

  // Of a session; turns stay.
  reset() {
    this.isReady = this.isPersonSpeaking = this.isAwaiting = this.hasSounded = false;
    this.response = undefined;   // the one in progress
    this.nSent = 0;              // samples
    this.marks = [];             // {nSent, time}: when what was sent was heard, by the sound's clock
    this.turnEnd = undefined;    // of the last question, by the sound's clock
    this.before = [];            // frames that were not sent
    this.endAt = undefined;      // of a question, by the sound's clock
    this.announced = new Set();  // items of the session
  }

  // -- the connection's news

  opened({models, voices}) {
    this.reset();
    this.isRefused = false;
    const modelOf = (kind) => models.find(({parlance}) => parlance?.kind === kind)?.id;
    Object.assign(this, {hears: modelOf('asr'), speaks: modelOf('tts'), model: modelOf('text')});
    const names = voices.length ? voices : ['default'];
    $('voice').replaceChildren(...names.map((voice) => new Option(voice)));
    if (!names.includes(settings.voice)) settings.voice = names[0];
    $('voice').value = settings.voice;
    this.showAbout();
    if (!this.hears) this.complain('This server has no model that hears. You can write.');
    this.show();
  }

  waiting(words) {
    this.leave();
    this.status = words;
    this.show();
  }

  refused(refusal) {
    this.leave();
    this.isRefused = true;
    this.status = refusal.message;
    if (refusal.wantsKey) this.askForKey(refusal.message);
    else this.complain(refusal.message, 'Try again', () => this.connection.open());
    this.show();
  }

  leave() {
    this.loudspeaker.stop();
    for (const turn of this.turns.values()) turn.finish();
    this.isHeld = false;
    this.reset();
  }

  event(event) {
    const take = this[`on ${event.type}`];
    if (take) take.call(this, event);
    this.show();
  }

  // -- settings

  configure() {
    const ending = settings.ending === 'silence'
      ? {type: 'server_vad', silence_duration_ms: Number(settings.silence)}
      : {type: 'semantic_vad', eagerness: settings.ending};
    const pcm = {type: 'audio/pcm', rate: RATE};
    const session = {
      type: 'realtime',
      instructions: settings.instructions || null,
      output_modalities: [this.speaks && HAS_SOUND ? 'audio' : 'text'],
      audio: {
        input: {
          format: pcm,
          transcription: this.hears ? {model: this.hears} : null,
          turn_detection: this.isHandsFree ? {...ending, create_response: true, interrupt_response: true} : null,
        },
        output: {format: pcm, speed: Number(settings.speed)},
      },
      parlance: {events: ['timing', 'barge_in', 'partial'], barge_in: 'confirm', playback: true},
    };
    if (!this.hasSounded) session.audio.output.voice = settings.voice;
    this.connection.send({type: 'session.update', session});
  }

  // A voice is for a session: behind the first sound it needs another one.
  changeVoice() {
    this.showAbout();
    if (this.hasSounded) this.connection.open();
    else this.configure();
  }

  // -- the session's events

  'on session.created'() {
    this.configure();
  }

  'on session.updated'() {
    if (this.isReady) return;
    this.isReady = true;
    this.status = '';
    if (this.turns.size === 0 || [...this.turns.keys()].some((id) => this.announced.has(id))) return;
    this.turns.clear();
    $('transcript').append(element('p', 'divider small', 'The server does not remember what is above'));
  }

  'on error'({error}) {
    if (error.code === 'response_cancel_not_active') return;  // it had ended
    this.isAwaiting = false;
    this.complain(`The server says: ${error.message}.`);
  }

  'on conversation.item.added'({item}) {
    this.announced.add(item.id);
    if (item.type !== 'message' || item.role === 'system') return;
    const turn = this.turn(item.role, item.id);
    const text = textOf(item);
    if (!text || item.status === 'in_progress') return;
    turn.show(text);
    turn.finish();
  }

  'on conversation.item.deleted'({item_id}) {
    this.turns.get(item_id)?.item.remove();
    this.turns.delete(item_id);
  }

  'on input_audio_buffer.speech_started'({item_id}) {
    this.isPersonSpeaking = true;
    this.turn('user', item_id);
  }

  'on input_audio_buffer.speech_stopped'({audio_end_ms}) {
    this.isPersonSpeaking = false;
    this.isAwaiting = true;
    this.turnEnd = this.timeOf(audio_end_ms * RATE / 1000);
  }

  'on input_audio_buffer.cleared'() {
    for (const {role, id} of this.turns.values()) {
      if (role === 'user' && !this.announced.has(id)) this['on conversation.item.deleted']({item_id: id});
    }
  }

  [`${TRANSCRIPT}.delta`]({item_id, delta}) {
    const turn = this.turn('user', item_id);
    const certain = turn.certain + delta, all = turn.certain + turn.open;
    turn.show(certain, all.startsWith(certain) ? all.slice(certain.length) : '');
  }

  'on parlance.partial'({item_id, text}) {
    const turn = this.turn('user', item_id);
    if (text.startsWith(turn.certain)) turn.show(turn.certain, text.slice(turn.certain.length));
  }

  [`${TRANSCRIPT}.completed`]({item_id, transcript}) {
    const turn = this.turn('user', item_id);
    turn.show(transcript.trim());
    if (!turn.certain) {
      turn.remark('Nothing was understood');
      this.isAwaiting = false;
    }
    turn.finish();
  }

  [`${TRANSCRIPT}.failed`]({item_id, error}) {
    const turn = this.turn('user', item_id);
    turn.remark(`Not understood: ${error.message}`);
    turn.finish();
    this.isAwaiting = false;
  }

  'on response.created'({response}) {
    this.response = response.id;
    this.isAwaiting = false;
  }

  'on response.output_item.added'({item}) {
    if (item.type !== 'message') return;
    this.turn('assistant', item.id).began = this.turnEnd;
  }

  'on response.output_text.delta'({item_id, delta}) {
    const turn = this.turn('assistant', item_id);
    turn.show(turn.certain + delta);
  }

  'on response.output_audio_transcript.delta'({item_id, delta}) {
    this.turn('assistant', item_id).addText(delta);
  }

  'on response.output_audio.delta'({response_id, item_id, delta}) {
    const turn = this.turn('assistant', item_id);
    if (turn.isCut || turn.isStopping || response_id === this.stopped) return;
    const samples = samplesOf(delta);
    this.hasSounded = true;
    turn.addSound(samples.length);
    this.loudspeaker.play(item_id, samples);
  }

  'on response.output_audio.done'({item_id}) {
    this.turn('assistant', item_id).isMade = true;
    this.loudspeaker.end(item_id);
  }

  'on response.done'({response}) {
    this.response = undefined;
    const turn = this.turns.get(response.output.find(({type}) => type === 'message')?.id);
    turn?.finish();
    if (response.status === 'cancelled') {
      const isPlaying = this.loudspeaker.waiting.has(turn?.id);
      if (isPlaying) this.hush();
      else if (turn?.phrases.length) turn.cutAt(turn.nPlayed);
      else turn?.remark('Stopped');
    }
    if (response.status === 'failed') this.complain(`The answer failed: ${response.status_details?.error?.message ?? 'no reason was given'}.`);
    if (response.status === 'incomplete') turn?.remark('The answer was too long and ends here');
  }

  'on conversation.item.truncated'({item_id, audio_end_ms}) {
    const turn = this.turns.get(item_id);
    if (!turn || turn.role !== 'assistant') return;
    if (this.loudspeaker.waiting.has(item_id)) this.hush();
    turn.cutAt(Math.floor(audio_end_ms * RATE / 1000));
    this.connection.send({type: 'conversation.item.retrieve', item_id});
  }

  // What the model remembers of an answer that was cut.
  'on conversation.item.retrieved'({item}) {
    const turn = this.turns.get(item.id);
    const text = textOf(item);
    if (turn?.isCut && turn.text.startsWith(text)) turn.cut(text);
  }

  'on parlance.barge_in'({phase}) {
    if (phase === 'tentative') this.loudspeaker.duck(0.2);
    else this.loudspeaker.duck(1);
    if (phase === 'confirmed') this.hush();
  }

  'on parlance.timing'(timing) {
    const turns = [...this.turns.values()];
    const at = turns.findIndex(({id}) => id === timing.item_id);
    const question = turns.slice(0, at < 0 ? undefined : at).reverse().find(({role}) => role === 'user');
    this.timeline.add(question, turns[at], timing);
    if (at < 0) return;
    turns[at].waitedMs = timing.ms['turn-end'] ?? 0;
    this.tellFirst(turns[at]);
  }

  // How long after the end of speech an answer began to sound here; the turn ended by so much later.
  tellFirst(turn) {
    if (turn.first === undefined || turn.began === undefined || turn.waitedMs === undefined) return;
    turn.firstAudioMs = 1000 * (turn.first - turn.began) + turn.waitedMs;
    turn.item.dataset.firstAudioMs = Math.round(turn.firstAudioMs);
    this.timeline.draw();
  }

  turn(role, id) {
    let turn = this.turns.get(id);
    if (turn) return turn;
    turn = new Turn(role, id);
    this.turns.set(id, turn);
    $('transcript').append(turn.item);
    $('welcome').hidden = true;
    return turn;
  }

  // -- sound

  hear(frame) {
    this.picture.hear(frame.peak);
    if (this.isReady && (this.isHandsFree || this.isHeld || this.endAt)) this.append(frame);
    else this.before = [...this.before.slice(1 - FRAMES_BEFORE), frame];
    if (frame.time >= this.endAt) this.commit();
  }

  append(frame) {
    this.nSent += frame.samples.length;
    this.marks = [...this.marks.slice(-2999), {nSent: this.nSent, time: frame.time}];  // a minute
    this.connection.send({type: 'input_audio_buffer.append', audio: base64Of(frame.samples)});
  }

  // When a sample that was sent was heard, by the sound's clock.
  timeOf(nSamples) {
    const mark = this.marks.find(({nSent}) => nSent >= nSamples);
    return mark && mark.time - (mark.nSent - nSamples) / RATE;
  }

  played({item, played, peak, first, ended, latency}) {
    const turn = this.turns.get(item);
    this.picture.say(peak);
    if (!turn) return;
    if (first !== undefined) {
      turn.first = first;
      this.tellFirst(turn);
    }
    const wasStopped = turn.isStopping;
    turn.isWhole = ended && !wasStopped;
    turn.played(turn.isWhole ? turn.nReceived : Math.max(0, played - Math.round(latency * RATE)));
    const playedMs = Math.floor(1000 * turn.nPlayed / RATE);
    this.connection.send({type: 'parlance.playback', item_id: item, played_ms: playedMs});
    if (ended && wasStopped) {
      turn.isStopping = false;
      turn.cutAt(turn.nPlayed);
      this.connection.send({type: 'conversation.item.truncate', item_id: item, content_index: 0, audio_end_ms: playedMs});
    }
    this.show();
  }

  // What sounds falls silent, and the server is told how far it was heard.
  hush() {
    for (const id of this.loudspeaker.waiting) {
      const turn = this.turns.get(id);
      if (turn) turn.isStopping = true;
    }
    this.loudspeaker.stop();
  }

  stopAnswer() {
    const {response} = this;  // without a name: the one that was asked for
    if (response || this.isAwaiting) this.connection.send({type: 'response.cancel', response_id: response});
    this.stopped = response;  // more of it may be on its way
    this.hush();
    this.isAwaiting = false;
    this.show();
  }

  loseMicrophone() {
    this.complain('The microphone is gone. Connect one, or write.');
    if (this.isHandsFree) this.toggleHandsFree();
    this.show();
  }

  // -- what people do

  async wake() {
    await this.loudspeaker.open();
    if (this.connection.isAsleep) this.connection.open();
  }

  async toggleHandsFree() {
    const isWanted = !this.isHandsFree;
    if (isWanted) {
      try {
        await this.wake();
        await this.microphone.open();
      } catch (error) {
        return this.complain(error.message);
      }
      this.quieten();
    } else {
      this.microphone.close();
    }
    this.isHandsFree = isWanted;
    this.isPersonSpeaking = false;
    if (this.isReady) {
      this.configure();
      if (!isWanted) this.connection.send({type: 'input_audio_buffer.clear'});
    }
    this.show();
  }

  async press() {
    if (this.isHeld || this.isHandsFree || !this.isReady || !this.hears) return;
    this.isHeld = true;
    this.heldSince = performance.now();
    this.stopAnswer();
    for (const frame of this.before.splice(0)) this.append(frame);
    this.nBefore = this.nSent;
    this.show();
    try {
      await this.wake();
      await this.microphone.open();
      if (!this.isHeld) this.microphone.closeSoon();
      this.quieten();
    } catch (error) {
      this.isHeld = false;
      this.complain(error.message);
    }
    this.show();
  }

  // What was said until now is still on its way here.
  release() {
    if (!this.isHeld) return;
    this.isHeld = false;
    this.heldMs = performance.now() - this.heldSince;
    this.endAt = (this.microphone.context?.currentTime ?? 0) + TAIL_S;
    this.isAwaiting = true;
    setTimeout(() => this.commit(), LONGEST_TAIL_MS);
    this.show();
  }

  // The button was pressed to have silence.
  drop() {
    this.isHeld = false;
    this.microphone.closeSoon();
    this.connection.send({type: 'input_audio_buffer.clear'});
    this.show();
  }

  // Asks for the answer to what was said.
  commit() {
    if (!this.endAt) return;
    this.endAt = undefined;
    this.microphone.closeSoon();
    // Sound from before the button may come behind it, late.
    if (Math.min(this.heldMs / 1000, (this.nSent - this.nBefore) / RATE) >= LEAST_S) {
      this.turnEnd = this.marks.at(-1)?.time;
      this.connection.send({type: 'input_audio_buffer.commit'});
      this.connection.send({type: 'response.create'});
    } else {
      this.isAwaiting = false;
      this.connection.send({type: 'input_audio_buffer.clear'});
      this.complain('That was too short: hold the button while you speak.');
    }
    this.show();
  }

  async write(text) {
    await this.wake();
    if (!this.isReady) return false;
    this.stopAnswer();
    this.quieten();
    const id = `item_${randomId()}`;
    const turn = this.turn('user', id);
    turn.show(text);
    turn.finish();
    this.announced.add(id);
    const item = {id, type: 'message', role: 'user', content: [{type: 'input_text', text}]};
    this.connection.send({type: 'conversation.item.create', item});
    this.connection.send({type: 'response.create'});
    this.turnEnd = (await soundContext)?.currentTime;
    this.isAwaiting = true;
    this.show();
    return true;
  }

  beginAnew() {
    tab.set('conversation', randomId());
    this.leave();
    this.turns.clear();
    $('transcript').replaceChildren();
    $('welcome').hidden = false;
    this.connection.open();
    this.show();
  }

  askForKey(words) {
    if (tab.get('key')) $('key-why').textContent = `${words} Try another one.`;
    $('settings').close();
    if (!$('key-dialog').open) $('key-dialog').showModal();
  }

  useKey(key) {
    tab.set('key', key);
    this.connection.open();
  }

  // -- what is seen

  get state() {
    if (this.isRefused) return 'error';
    if (!this.isReady) return 'connecting';
    if (this.isHeld || this.isPersonSpeaking) return 'listening';
    if (this.loudspeaker.waiting.size > 0) return 'speaking';
    if (this.isAwaiting || this.response) return 'thinking';
    return this.isHandsFree ? 'listening' : 'ready';
  }

  show() {
    const {state} = this;
    document.body.dataset.state = state;
    const words = this.status || (state === 'listening' && this.isHeld ? 'Listening: let go to send' : STATES[state]);
    if ($('status').textContent !== words) $('status').textContent = words;
    const canStop = this.isReady && !this.isHeld && (state === 'speaking' || this.isHandsFree && state === 'thinking');
    const talk = $('talk');
    talk.classList.toggle('stops', canStop);
    talk.disabled = !canStop && (!this.isReady || !this.hears || this.isHandsFree);
    $('talk-label').textContent = canStop ? 'Stop' : this.isHandsFree ? 'Listening' : this.isHeld ? 'Send' : 'Talk';
    $('hands-free').disabled = !this.isHandsFree && (!this.isReady || !this.hears);
    $('hands-free').setAttribute('aria-checked', this.isHandsFree);
    $('send').disabled = !this.isReady;
  }

  showAbout() {
    $('about').textContent = [this.model, this.speaks && settings.voice].filter(Boolean).join(' · ');
  }

  complain(words, action, act) {
    $('error-text').textContent = words;
    $('error').hidden = false;
    $('error-act').hidden = !action;
    $('error-act').textContent = action ?? '';
    $('error-act').onclick = () => {
      this.quieten();
      act();
    };
  }

  quieten() {
    $('error').hidden = true;
    $('error-text').textContent = '';
  }
}

// --- Buttons, keys and fields ---

function showFigure(field) {
  const figure = document.querySelector(`output[for=${field.id}]`);
  if (figure) figure.textContent = Number(field.value) + field.dataset.unit;
}

function showSettings() {
  if (settings.theme) document.documentElement.dataset.theme = settings.theme;
  else delete document.documentElement.dataset.theme;
  for (const field of document.querySelectorAll('[data-setting]')) {
    const value = settings[field.dataset.setting];
    if (field.type === 'checkbox') field.checked = value;
    else field.value = value;
    showFigure(field);
  }
  $('silence').disabled = settings.ending !== 'silence';
}

function changeSetting(talk, field) {
  const name = field.dataset.setting;
  settings[name] = field.type === 'checkbox' ? field.checked : field.type === 'range' ? Number(field.value) : field.value;
  ofBrowser.setItem('parlance', JSON.stringify(settings));
  showSettings();
  if (name === 'voice') talk.changeVoice();
  if (['speed', 'instructions', 'ending', 'silence'].includes(name)) talk.configure();
  talk.picture.draw();
}

// The round button: held as long as somebody speaks, or pressed before and behind it.
function connectTalkButton(talk, button) {
  let stays, stops, since;
  const down = (event) => {
    since = event.timeStamp;
    stays = talk.isHeld;
    stops = button.classList.contains('stops');
    if (stops && talk.isHandsFree) talk.stopAnswer();
    else if (!stays) talk.press();
  };
  const up = (event) => {
    const isTap = event.timeStamp - since < TAP_MS;
    if (stops && isTap) talk.drop();
    else if (talk.isHeld && (stays || !isTap)) talk.release();
  };
  button.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    button.setPointerCapture(event.pointerId);
    down(event);
  });
  button.addEventListener('pointerup', up);
  button.addEventListener('pointercancel', up);
  button.addEventListener('contextmenu', (event) => event.preventDefault());
  // Screen readers press, and cannot hold.
  button.addEventListener('click', (event) => {
    if (event.detail !== 0 || event.pointerType) return;
    if (talk.isHeld) talk.release();
    else if (button.classList.contains('stops')) talk.stopAnswer();
    else talk.press();
  });

  const isForTalking = (target) => target === button || !target.closest('button, input, textarea, select, summary, dialog, a');
  for (const [kind, act] of [['keydown', down], ['keyup', up]]) {
    addEventListener(kind, (event) => {
      if (event.code !== 'Space' || !isForTalking(event.target)) return;
      event.preventDefault();
      if (!event.repeat) act(event);
    });
  }
}

function start() {
  const talk = new Talk();
  showSettings();
  connectTalkButton(talk, $('talk'));
  $('hands-free').addEventListener('click', () => talk.toggleHandsFree());
  $('begin-anew').addEventListener('click', () => talk.beginAnew());
  $('error-close').addEventListener('click', () => talk.quieten());
  $('write').addEventListener('submit', async (event) => {
    event.preventDefault();
    const text = $('text-input').value.trim();
    if (text && await talk.write(text)) $('text-input').value = '';
  });
  for (const suggestion of document.querySelectorAll('#suggestions button')) {
    suggestion.addEventListener('click', () => talk.write(suggestion.textContent));
  }
  addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && !document.querySelector('dialog[open]')) talk.stopAnswer();
  });
  for (const event of ['pointerdown', 'keydown', 'focus']) {
    addEventListener(event, () => talk.connection.isAsleep && talk.connection.open());
  }

  $('settings-open').addEventListener('click', () => {
    $('key').value = tab.get('key');
    $('settings').showModal();
  });
  $('settings-form').addEventListener('submit', (event) => {
    event.preventDefault();
    $('settings').close();
  });
  for (const field of document.querySelectorAll('[data-setting]')) {
    field.addEventListener('change', () => changeSetting(talk, field));
    field.addEventListener('input', () => showFigure(field));
  }
  $('key').addEventListener('change', () => talk.useKey($('key').value));
  $('key-form').addEventListener('submit', (event) => {
    event.preventDefault();
    $('key-dialog').close();
    talk.useKey($('asked-key').value.trim());
  });

  const narrow = matchMedia('(max-width: 60rem)');
  const fold = () => $('times').toggleAttribute('open', !narrow.matches);
  narrow.addEventListener('change', fold);
  fold();

  if (!HAS_SOUND) talk.complain(NO_SOUND);
  talk.show();
  talk.connection.open();
}

start();
