// OpenAI's own client against a running server: node openai_client.mjs PACKAGE URL KEY TYPES.
// Every answer that it is given is written to the file TYPES as a program that compiles where the client's own types accept it.
import assert from 'node:assert/strict';
import fs from 'node:fs';

const [packageName, baseURL, apiKey, typesFile] = process.argv.slice(2);
const library = await import(packageName);
const { default: OpenAI, toFile } = library;

const checks = [`import type OpenAI from '${packageName}';`, 'declare function accept<T>(value: T & { [name: string]: unknown }): void;'];
const accepted = (type, value) => checks.push(`accept<${type}>(${JSON.stringify(value)});`);

const client = new OpenAI({ baseURL: `${baseURL}/v1`, apiKey, maxRetries: 0, timeout: 60000 });
const question = { messages: [{ role: 'user', content: 'What is nine plus four?' }], temperature: 0 };
const model = 'eliza-1-demo';
const chat = (more) => client.chat.completions.create({ model, ...question, ...more });
const tools = [{
  type: 'function',
  function: { name: 'set_timer', description: 'Sets a timer.', parameters: {
    type: 'object', properties: { minutes: { type: 'integer' } }, required: ['minutes'], additionalProperties: false }, strict: true },
}];

async function models() {
  const names = [];
  for await (const one of client.models.list()) {
    accepted('OpenAI.Model', one);
    names.push(one.id);
  }
  assert.deepEqual(names, ['eliza-1-demo', 'eliza-1-demo-asr', 'eliza-1-demo-tts', 'eliza-1-demo-embedding']);
  assert.equal((await client.models.retrieve(model)).id, model);
}

async function chats() {
  const whole = await chat({ logprobs: true, top_logprobs: 2, n: 2, seed: 1 });
  accepted('OpenAI.ChatCompletion', whole);
  const text = whole.choices[0].message.content;
  assert.match(text, /13/);
  assert.equal(whole.choices.length, 2);
  assert.equal(whole.choices[0].logprobs.content.map((one) => one.token).join(''), text);

  let streamed = '';
  let usage;
  for await (const chunk of await chat({ stream: true, stream_options: { include_usage: true } })) {
    accepted('OpenAI.ChatCompletionChunk', chunk);
    streamed += chunk.choices[0]?.delta.content ?? '';
    usage = chunk.usage ?? usage;
  }
  assert.equal(streamed, text);
  assert.equal(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens);

  const runner = client.chat.completions.stream({ model, ...question });
  assert.equal(await runner.finalContent(), text);

  const schema = { type: 'object', properties: { sum: { type: 'integer' } }, required: ['sum'], additionalProperties: false };
  const parsed = await client.chat.completions.parse({
    model, ...question, response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } } });
  assert.equal(typeof JSON.parse(parsed.choices[0].message.content).sum, 'number');

  const asked = { messages: [{ role: 'user', content: 'Set a timer for 5 minutes.' }], tools, tool_choice: 'required' };
  const called = await chat(asked);
  accepted('OpenAI.ChatCompletion', called);
  const call = called.choices[0].message.tool_calls[0];
  assert.equal(called.choices[0].finish_reason, 'tool_calls');
  assert.equal(call.function.name, 'set_timer');
  assert.equal(typeof JSON.parse(call.function.arguments).minutes, 'number');

  const aloud = { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'pcm16' } };
  const spoken = await chat(aloud);
  accepted('OpenAI.ChatCompletion', spoken);
  assert.equal(spoken.choices[0].message.audio.transcript, text);
  let sound = '';
  for await (const chunk of await chat({ ...aloud, stream: true })) {
    accepted('OpenAI.ChatCompletionChunk', { ...chunk, choices: [] });  // its type knows no sound
    sound += Buffer.from(chunk.choices[0]?.delta.audio?.data ?? '', 'base64').toString('latin1');
  }
  assert.equal(sound, Buffer.from(spoken.choices[0].message.audio.data, 'base64').toString('latin1'));

  const calling = client.chat.completions.stream({ model, ...question, ...asked });
  const final = await calling.finalChatCompletion();
  assert.equal(final.choices[0].message.tool_calls[0].function.arguments, call.function.arguments);
  const after = await chat({ messages: [...asked.messages, called.choices[0].message,
    { role: 'tool', tool_call_id: call.id, content: 'done' }], tools, max_tokens: 8 });
  accepted('OpenAI.ChatCompletion', after);
}

async function completions() {
  const options = { model, prompt: 'Hello', max_tokens: 6, temperature: 0 };
  const whole = await client.completions.create({ ...options, logprobs: 1, echo: true });
  accepted('OpenAI.Completion', whole);
  let text = '';
  for await (const chunk of await client.completions.create({ ...options, stream: true })) {
    for (const choice of chunk.choices) choice.finish_reason ??= 'stop';  // the type knows no unfinished ones
    accepted('OpenAI.Completion', chunk);
    text += chunk.choices[0].text;
  }
  assert.equal('Hello' + text, whole.choices[0].text);
}

async function embeddings() {
  const input = ['Hello', 'Good morning'];
  const bytes = await client.embeddings.create({ model: 'eliza-1-demo-embedding', input });
  const numbers = await client.embeddings.create({ model: 'eliza-1-demo-embedding', input, encoding_format: 'float' });
  accepted('OpenAI.CreateEmbeddingResponse', numbers);
  for (const [i, one] of numbers.data.entries()) {
    assert.ok(Math.abs(one.embedding.reduce((sum, x) => sum + x * x, 0) - 1) < 1e-3);
    one.embedding.forEach((x, k) => assert.ok(Math.abs(x - bytes.data[i].embedding[k]) < 1e-6));
  }
}

// An event, and the response in it, whose types leave no room for members of ours.
function acceptedEvent({ response, snapshot, parsed, ...event }) {  // the last two are the client's own
  if (response) accepted('OpenAI.Responses.Response', { output_text: '', ...response, usage: response.usage ?? undefined });
  checks.push(`accept<OpenAI.Responses.ResponseStreamEvent>({...${JSON.stringify(event)}${response ? ', response: {} as any' : ''}});`);
}

async function responses() {
  const first = await client.responses.create({ model, input: 'My name is Anna.', temperature: 0 });
  accepted('OpenAI.Responses.Response', { ...first, output_text: first.output_text });
  assert.ok(first.output_text.length > 0);
  const second = await client.responses.create({ model, input: 'What is my name?', previous_response_id: first.id, temperature: 0 });
  assert.match(second.output_text, /Anna/);
  const stream = client.responses.stream({ model, input: 'What is my name?', previous_response_id: first.id, temperature: 0 });
  for await (const event of stream) {
    if (event.type.startsWith('response.output_text')) acceptedEvent(event);
  }
  assert.equal((await stream.finalResponse()).output_text, second.output_text);
  for await (const event of await client.responses.create({ model, input: 'Set a timer.', temperature: 0, stream: true, tool_choice: 'required',
    tools: [{ type: 'function', ...tools[0].function }] })) {
    acceptedEvent(event);
  }
  assert.equal((await client.responses.retrieve(first.id)).output_text, first.output_text);
  assert.equal((await client.responses.inputTokens.count({ model, input: 'Hi' })).object, 'response.input_tokens');
  await client.responses.delete(first.id);
  await assert.rejects(client.responses.retrieve(first.id), OpenAI.NotFoundError);
}

async function audio() {
  const spoken = await client.audio.speech.create({ model: 'eliza-1-demo-tts', voice: 'alloy', input: 'What is nine plus four?', response_format: 'wav' });
  const file = await toFile(Buffer.from(await spoken.arrayBuffer()), 'question.wav');
  const heard = await client.audio.transcriptions.create({ model: 'eliza-1-demo-asr', file });
  accepted('OpenAI.Audio.Transcription', heard);
  assert.equal(heard.text, 'What is 9 plus 4?');
  const verbose = await client.audio.transcriptions.create({ model: 'eliza-1-demo-asr', file, response_format: 'verbose_json' });
  assert.equal(verbose.text, heard.text);
  let streamed = '';
  for await (const event of await client.audio.transcriptions.create({ model: 'eliza-1-demo-asr', file, stream: true })) {
    accepted('OpenAI.Audio.TranscriptionStreamEvent', event);
    if (event.type === 'transcript.text.delta') streamed += event.delta;
  }
  assert.equal(streamed, heard.text);
}

async function errors() {
  const refused = (kind, code, param) => (error) => {
    assert.ok(error instanceof kind, `${error.constructor.name}: ${error.message}`);
    assert.equal(error.code, code);
    if (param) assert.equal(error.param, param);
    return true;
  };
  await assert.rejects(chat({ temperature: 9 }), refused(OpenAI.BadRequestError, 'invalid_value', 'temperature'));
  await assert.rejects(chat({ model: 'nobody' }), refused(OpenAI.NotFoundError, 'model_not_found', 'model'));
  await assert.rejects(chat({ messages: [{ role: 'user', content: 'a '.repeat(9000) }] }),
    refused(OpenAI.BadRequestError, 'context_length_exceeded', 'messages'));
  const stranger = new OpenAI({ baseURL: `${baseURL}/v1`, apiKey: 'not-a-key-0123456789', maxRetries: 0 });
  await assert.rejects(stranger.models.list(), refused(OpenAI.AuthenticationError, 'invalid_api_key'));
  await assert.rejects(client.chat.completions.create({ model, ...question, max_tokens: 3000, ignore_eos: true }, { timeout: 100 }),
    OpenAI.APIConnectionTimeoutError);
}

// A client that has heard enough leaves, and its place is free for the next.
async function leaving() {
  for (let i = 0; i < 8; ++i) {
    const stream = await chat({ stream: true, max_tokens: 3000, ignore_eos: true });
    for await (const chunk of stream) {
      if (chunk.choices[0]?.delta.content) break;
    }
  }
  const after = await chat({ max_tokens: 4 });
  assert.ok(after.parlance.queue_ms < 5000);
}

for (const part of [models, chats, completions, embeddings, responses, audio, errors, leaving]) {
  await part();
  console.log(`${part.name}: as the client expects`);
}
fs.writeFileSync(typesFile, checks.join('\n') + '\n');
