// OpenAI's own Realtime clients against a running server: node openai_realtime.mjs PACKAGE PORT KEY CERTIFICATE CERTIFICATE_KEY TYPES.
// They know wss: only, so that a proxy with a certificate stands between, as it would anywhere. Every event that comes is written to
// the file TYPES as a program that compiles where the client's own types accept it.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import tls from 'node:tls';
import WebSocket from 'ws';

const [packageName, port, apiKey, certificate, certificateKey, typesFile] = process.argv.slice(2);
const { default: OpenAI, toFile } = await import(packageName);
const { OpenAIRealtimeWS } = await import(`${packageName}/realtime/ws`);
const { OpenAIRealtimeWS: OpenAIBetaRealtimeWS } = await import(`${packageName}/beta/realtime/ws`);
globalThis.WebSocket ??= WebSocket;  // as browsers and newer Nodes have it
const { OpenAIRealtimeWebSocket } = await import(`${packageName}/realtime/websocket`);

const model = 'eliza-1-demo';
const checks = [`import type OpenAI from '${packageName}';`,
  `import type * as Beta from '${packageName}/resources/beta/realtime/realtime';`,
  'declare function accept<T>(): <U extends T>(value: U) => void;'];  // more members than T knows are nobody's harm
// The types know absent members where the service, and we, say null.
const accepted = (type, value) => checks.push(`accept<${type}>()(${JSON.stringify(value, (_, one) => one ?? undefined)});`);

const proxy = tls.createServer({ cert: fs.readFileSync(certificate), key: fs.readFileSync(certificateKey) }, (outside) => {
  const inside = net.connect(Number(port), '127.0.0.1');
  outside.pipe(inside).pipe(outside);
  for (const socket of [outside, inside]) socket.on('error', () => { outside.destroy(); inside.destroy(); });
});
await new Promise((ready) => proxy.listen(0, '127.0.0.1', ready));
const baseURL = `https://127.0.0.1:${proxy.address().port}/v1`;
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0, timeout: 60000 });

// A session through a client's class: what came, and waiting for more of it.
class Talk {
  constructor(realtime, type) {
    this.realtime = realtime;
    this.events = [];
    this.errors = [];
    this.waiting = [];
    realtime.on('error', (error) => {
      if (!error.error) throw error;  // of the connection
      this.errors.push(error.error);
    });
    realtime.on('event', (event) => {
      this.events.push(event);
      if (type.startsWith('Beta') && event.session) event = { ...event, session: { ...event.session, model: null } };  // of a list
      accepted(type, event.type.endsWith('audio.delta') ? { ...event, delta: '' } : event);
      for (const look of this.waiting.splice(0)) look();
    });
  }
  send(event) {
    this.realtime.send(event);
  }
  async next(type) {
    for (let at = this.at ?? 0; ; ++at) {
      while (at >= this.events.length) {
        await new Promise((resolve, reject) => {
          const late = setTimeout(() => reject(new Error(`no ${type} within 30 s, but ${this.events.map((e) => e.type)}`)), 30000);
          this.waiting.push(() => { clearTimeout(late); resolve(); });
        });
      }
      this.at = at + 1;
      if (this.events[at].type === type) return this.events[at];
    }
  }
  ask(text) {
    this.send({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content: [{ type: 'input_text', text }] } });
  }
  all(type, field) {
    return this.events.filter((event) => event.type === type).map((event) => event[field]).join('');
  }
}

// A question as samples at 24 kHz, with silence behind it.
async function spoken(input) {
  const sound = await client.audio.speech.create({ model: 'eliza-1-demo-tts', voice: 'alloy', input, response_format: 'pcm' });
  return Buffer.concat([Buffer.from(await sound.arrayBuffer()), Buffer.alloc(2 * 24000)]);
}

async function heardText(chunks) {
  const samples = Buffer.concat(chunks.map((chunk) => Buffer.from(chunk, 'base64')));
  const head = Buffer.alloc(44);
  head.write('RIFF', 0);
  head.writeUInt32LE(36 + samples.length, 4);
  head.write('WAVEfmt ', 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(24000, 24);
  head.writeUInt32LE(48000, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write('data', 36);
  head.writeUInt32LE(samples.length, 40);
  const file = await toFile(Buffer.concat([head, samples]), 'answer.wav');
  return (await client.audio.transcriptions.create({ model: 'eliza-1-demo-asr', file })).text;
}

function say(talk, samples) {
  for (let at = 0; at < samples.length; at += 9600)
    talk.send({ type: 'input_audio_buffer.append', audio: samples.subarray(at, at + 9600).toString('base64') });
}

async function written() {
  const talk = new Talk(new OpenAIRealtimeWS({ model }, client), 'OpenAI.Realtime.RealtimeServerEvent');
  assert.equal((await talk.next('session.created')).session.type, 'realtime');
  talk.send({ type: 'session.update', session: { type: 'realtime', output_modalities: ['text'] } });
  assert.deepEqual((await talk.next('session.updated')).session.output_modalities, ['text']);
  talk.ask('What is the capital of France?');
  talk.send({ type: 'response.create' });
  const { response } = await talk.next('response.done');
  assert.equal(response.status, 'completed');
  assert.match(talk.all('response.output_text.delta', 'delta'), /Paris/);
  assert.equal(talk.all('response.output_text.delta', 'delta'), talk.all('response.output_text.done', 'text'));

  const item = response.output[0].id;
  talk.send({ type: 'conversation.item.retrieve', item_id: item });
  assert.equal((await talk.next('conversation.item.retrieved')).item.id, item);
  talk.send({ type: 'conversation.item.delete', item_id: item });
  assert.equal((await talk.next('conversation.item.deleted')).item_id, item);
  assert.equal(talk.errors.length, 0);
  talk.send({ type: 'response.cancel' });
  await talk.next('error');
  assert.equal(talk.errors[0].code, 'response_cancel_not_active');

  talk.ask('Set a timer for 5 minutes.');
  talk.send({ type: 'response.create', response: { tool_choice: 'required', tools: [{ type: 'function', name: 'set_timer',
    description: 'Sets a timer.', parameters: { type: 'object', properties: { minutes: { enum: [1, 5, 30] } }, required: ['minutes'] } }] } });
  const call = (await talk.next('response.done')).response.output.find((one) => one.type === 'function_call');
  assert.equal(typeof JSON.parse(call.arguments).minutes, 'number');
  assert.equal(talk.all('response.function_call_arguments.delta', 'delta'), call.arguments);
  talk.send({ type: 'conversation.item.create', item: { type: 'function_call_output', call_id: call.call_id, output: 'done' } });
  talk.send({ type: 'response.create' });
  assert.equal((await talk.next('response.done')).response.status, 'completed');
  const closed = new Promise((resolve) => talk.realtime.socket.on('close', resolve));
  talk.realtime.close();
  assert.equal(await closed, 1000);
}

async function said() {
  const talk = new Talk(new OpenAIRealtimeWS({ model }, client), 'OpenAI.Realtime.RealtimeServerEvent');
  await talk.next('session.created');
  talk.send({ type: 'session.update', session: { type: 'realtime', audio: { input: { transcription: { model: 'whisper-1' } } } } });
  await talk.next('session.updated');
  say(talk, await spoken('What is nine plus four?'));
  const { response } = await talk.next('response.done');
  assert.equal(response.status, 'completed');
  assert.equal(talk.all('conversation.item.input_audio_transcription.completed', 'transcript'), 'What is 9 plus 4?');
  const sound = talk.events.filter((event) => event.type === 'response.output_audio.delta').map((event) => event.delta);
  assert.match(await heardText(sound), /13/);
  talk.send({ type: 'conversation.item.truncate', item_id: response.output[0].id, content_index: 0, audio_end_ms: 300 });
  assert.equal((await talk.next('conversation.item.truncated')).audio_end_ms, 300);
  assert.equal(talk.errors.length, 0);
  talk.realtime.close();
}

// A page with a secret in place of the key: the client for browsers, which has only sub-protocols to show it in.
async function secret() {
  const made = await client.realtime.clientSecrets.create({
    expires_after: { anchor: 'created_at', seconds: 60 },
    session: { type: 'realtime', output_modalities: ['text'], instructions: 'Answer in one word.' } });
  accepted('OpenAI.Realtime.ClientSecretCreateResponse', made);
  const page = new OpenAI({ baseURL, apiKey: made.value, maxRetries: 0 });
  const talk = new Talk(new OpenAIRealtimeWebSocket({ model }, page), 'OpenAI.Realtime.RealtimeServerEvent');
  const { session } = await talk.next('session.created');
  assert.equal(session.instructions, 'Answer in one word.');
  assert.deepEqual(session.output_modalities, ['text']);
  assert.equal(talk.realtime.socket.protocol, 'realtime');
  talk.ask('What is the capital of France?');
  talk.send({ type: 'response.create' });
  assert.equal((await talk.next('response.done')).response.status, 'completed');
  talk.realtime.close();
  // It is good for sockets alone, and another is good for nothing.
  await assert.rejects(page.models.list(), OpenAI.AuthenticationError);
  const stranger = new WebSocket(`${baseURL.replace('https', 'wss')}/realtime`, ['realtime', 'openai-insecure-api-key.ek_nobody']);
  const error = await new Promise((resolve) => stranger.on('error', resolve));
  assert.match(error.message, /401/);
}

async function beta() {
  const talk = new Talk(new OpenAIBetaRealtimeWS({ model }, client), 'Beta.RealtimeServerEvent');
  assert.deepEqual((await talk.next('session.created')).session.modalities.toSorted(), ['audio', 'text']);
  talk.send({ type: 'session.update', session: { turn_detection: null, input_audio_transcription: { model: 'whisper-1' } } });
  assert.equal((await talk.next('session.updated')).session.turn_detection, null);
  say(talk, await spoken('What is nine plus four?'));
  talk.send({ type: 'input_audio_buffer.commit' });
  talk.send({ type: 'response.create' });
  assert.equal((await talk.next('response.done')).response.status, 'completed');
  assert.match(talk.all('response.audio_transcript.delta', 'delta'), /13/);
  assert.match(await heardText(talk.events.filter((event) => event.type === 'response.audio.delta').map((event) => event.delta)), /13/);
  assert.equal(talk.errors.length, 0);
  talk.realtime.close();
}

for (const part of [written, said, secret, beta]) {
  await part();
  console.log(`${part.name}: as the client expects`);
}
fs.writeFileSync(typesFile, checks.join('\n') + '\n');
proxy.close();
process.exit(0);
