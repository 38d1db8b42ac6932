// Runs the stories of official clients with both generations of the TypeScript SDK. `story.json`
// and similar files hold the data. This file holds the checks that need code. A `session` has the
// functions in which the generations differ: see `client-1.mjs` and `client-2.mjs`.

import assert from 'node:assert/strict';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { approve } from './approving.mjs';
import { check, equal, pause } from './checks.mjs';
import { Ear, Host } from './host.mjs';
import { Judge } from './judge.mjs';

const WATCHED = 'test://watched-resource';

/** Several times as long as a step of the tool `wait`, so that a stray message has time to arrive. */
const A_WHILE = 300;

/** The bearer token of a client over HTTP, if the server needs one. */
export const withToken = () =>
  process.env.BEARER ? { requestInit: { headers: { Authorization: `Bearer ${process.env.BEARER}` } } } : {};

export async function tell(open) {
  const [era, transport, place, file, ...options] = process.argv.slice(2);
  const story = JSON.parse(readFileSync(file, 'utf8').replaceAll('FOLDER', options[1]));
  const host = new Host(story);
  const ear = new Ear();
  const session = open({ era, transport, place, options, extensions: story.extensions, host, ear });

  await check('connects and learns who answers', async () => {
    await session.connect();
    const { instructions, revision, ...who } = story.server;
    equal(session.client.getServerVersion(), who);
    equal(session.client.getInstructions(), instructions);
    equal(session.revision(), revision[era]);
  });
  for (const chapter of story.chapters) {
    await CHAPTERS[chapter]({ story, session, host, ear, era, transport, folder: options[1] });
  }
  await check('hangs up, and the server lets it go', async () => {
    const start = Date.now();
    await session.client.transport.terminateSession?.();
    await session.client.close();
    // The SDK gives a server two seconds to end before it sends a signal.
    assert.ok(Date.now() - start < 1500, 'the server did not end when its input did');
  });
}

const CHAPTERS = {
  judging: ({ session, host }) =>
    check('finds that every schema is JSON Schema 2020-12', async () => {
      host.judge = new Judge((await session.client.listTools()).tools);
    }),
  checks: async ({ story, session, host, era }) => {
    for (const step of story.checks) {
      await check(step.what, () => follow(step, session, host, era));
    }
  },
  'taking back': ({ session }) => cancel(session),
  listening: ({ session, ear }) => listen(session, ear),
  watching: ({ session, ear, folder }) => watch(session, ear, folder),
  approving: approve,
};

/** Runs one check of the story. */
async function follow(step, session, host, era) {
  host.asked = [];
  const progress = [];
  const watched = step.progress || step.firstProgress || step.stream;
  const options = watched && { onprogress: said => progress.push(said) };
  const answer = ask(step, session, options);
  if (step.fails) {
    const error = await answer.then(() => assert.fail('it did not fail'), error => error);
    equal(session.codeOf(error), step.fails.code[era]);
    assert.ok(error.message.endsWith(step.fails.message), error.message);
    return;
  }
  const result = await answer;
  equal(result, step.refuses ? refusal(step) : step.gives);
  if (host.judge && step.call) {
    host.judge.hear(step, result);
  }
  if (step.progress) {
    equal(progress, step.progress);
  }
  if (step.firstProgress) {
    equal(progress[0], step.firstProgress);
  }
  if (step.asks) {
    equal(host.asked, step.asks);
  }
}

/** Sends the request of the step. Returns the part of the result that the check compares. */
async function ask(step, { client, call, request }, options) {
  if (step.list) {
    const items = (await LISTS[step.list](client))[step.list];
    if (step.each) {
      return items.map(item => item[step.each]);
    }
    if (step.list === 'resources') {
      return expectedMembers(items, step.gives);
    }
    return step.named ? items.find(item => item.name === step.named) : items;
  }
  if (step.call) {
    const { content, structuredContent, isError } = await call(step.call, step.arguments, options);
    return { content, structuredContent, isError };
  }
  if (step.read) {
    const { contents } = await client.readResource({ uri: step.read });
    return { contents: expectedMembers(contents, step.gives?.contents ?? []) };
  }
  if (step.prompt) {
    const { messages } = await client.getPrompt({ name: step.prompt, arguments: step.arguments });
    return { messages };
  }
  if (step.complete) {
    const { completion } = await client.complete({ ref: step.complete, argument: step.argument });
    return { completion };
  }
  if (step.request) {
    const result = await request(step.request, step.params);
    const members = (step.within ?? []).reduce((value, name) => value[name], result);
    // The other members belong to the era: whether a result is complete, how long it is valid, which server returned it.
    return Object.fromEntries(Object.keys(step.gives).map(name => [name, members[name]]));
  }
  throw new Error(`the check ${JSON.stringify(step.what)} asks for nothing`);
}

/** Keeps the expected members: resources have members beyond the published protocol, and each SDK drops other ones. */
function expectedMembers(items, expected) {
  return items.map((item, i) => Object.fromEntries(Object.keys(expected[i] ?? item).map(name => [name, item[name]])));
}

const LISTS = {
  tools: client => client.listTools(),
  resources: client => client.listResources(),
  resourceTemplates: client => client.listResourceTemplates(),
  prompts: client => client.listPrompts(),
};

/** Returns the result of a call with invalid arguments: every problem with its place. */
function refusal(step) {
  const problems = Object.entries(step.refuses).map(([place, problem]) => `${place}: ${problem}`);
  const text = `Invalid arguments for ${step.call}: ${problems.join('; ')}`;
  return { content: [{ type: 'text', text }], isError: true };
}

async function cancel(session) {
  await check('takes a call back', async () => {
    const stop = new AbortController();
    const options = { signal: stop.signal, onprogress: () => stop.abort('changed my mind') };
    const error = await session.call('wait', { steps: 600 }, options).then(
      () => assert.fail('the call ran to its end'),
      error => error,
    );
    assert.ok(error.message.endsWith('changed my mind'), error.message);
  });
  await check('goes on after a call was taken back', () => text(session, 'wait', { steps: 1 }, 'Waited 1 steps.'));
  await check('hears no more of a call that was taken back', async () => {
    // Earlier messages have arrived by now. The SDK reports progress of an unknown call as an error.
    session.faults.length = 0;
    await pause(A_WHILE);
    equal(session.faults, []);
  });
}

async function listen(session, ear) {
  const toolNames = async () => (await session.client.listTools()).tools.map(tool => tool.name);
  const toolsChanged = 'The list of tools has changed.';
  let stop;

  await check('listens for changes', async () => {
    stop = await session.listen(WATCHED);
  });
  await check('hears that there is a new tool, and calls it', async () => {
    assert.ok(!(await toolNames()).includes('test_extra'), 'the tool is there already');
    await text(session, 'test_trigger_tool_change', {}, toolsChanged);
    equal((await ear.next()).method, 'notifications/tools/list_changed');
    assert.ok((await toolNames()).includes('test_extra'), 'the tool is not there');
    await text(session, 'test_extra', {}, 'Here I am.');
  });
  await check('hears that the tool is gone', async () => {
    await text(session, 'test_trigger_tool_change', {}, toolsChanged);
    equal((await ear.next()).method, 'notifications/tools/list_changed');
    assert.ok(!(await toolNames()).includes('test_extra'), 'the tool is still there');
  });
  await check('hears that a resource has changed', async () => {
    await text(session, 'test_touch_resource', {}, 'The watched resource has changed.');
    const { method, params } = await ear.next();
    equal([method, params.uri], ['notifications/resources/updated', WATCHED]);
  });
  await check('hears nothing after it has stopped listening', async () => {
    await stop();
    // The SDK does not wait until the server has processed this.
    await pause(A_WHILE);
    await text(session, 'test_touch_resource', {}, 'The watched resource has changed.');
    await pause(A_WHILE);
    assert.ok(ear.silent, 'it still heard of the resource');
  });
}

async function watch(session, ear, folder) {
  const file = join(folder, 'watched.txt');
  let stop;
  writeFileSync(file, 'one');
  await check('listens for changes of a file', async () => {
    stop = await session.listen('file:///watched.txt');
  });
  await check('hears that the file has changed, and reads it anew', async () => {
    writeFileSync(file, 'two');
    const { method, params } = await ear.next();
    equal([method, params.uri], ['notifications/resources/updated', 'file:///watched.txt']);
    const { contents } = await session.client.readResource({ uri: 'file:///watched.txt' });
    equal(contents[0].text, 'two');
  });
  await check('hears that another file has taken its place', async () => {
    // The previous change may cause two notifications.
    await pause(A_WHILE);
    ear.forget();
    writeFileSync(`${file}.new`, 'three');
    renameSync(`${file}.new`, file);
    equal((await ear.next()).params.uri, 'file:///watched.txt');
  });
  await check('stops listening', async () => {
    await stop();
    rmSync(file);
  });
}

async function text(session, tool, args, expected) {
  const { content } = await session.call(tool, args);
  equal(content, [{ type: 'text', text: expected }]);
}
