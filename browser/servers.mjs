// Starts the real programs as child processes, each with a folder and a ledger of its own, and calls their tools.
import { execFileSync, spawn } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { until } from './until.mjs';

const { CANDOR_PROGRAMS: programs, CANDOR_PLACE: place } = process.env;

/** The child processes that still run. None of them outlives this process. */
const running = new Set();

export function killAll() {
  for (const child of running) child.kill('SIGKILL');
}

let count = 0;

/** Starts a program. Its output goes to a file, because a full pipe would block the program. */
export function start(program, args, input = 'ignore') {
  mkdirSync(join(place, 'logs'), { recursive: true });
  const log = join(place, 'logs', `${program.split('/').at(-1)}-${(count += 1)}.log`);
  const file = openSync(log, 'w');
  // The developer's own environment is not passed on, so the program uses neither their ledger nor their settings.
  const env = { PATH: process.env.PATH, HOME: join(place, 'home'), NO_COLOR: '1' };
  const child = spawn(program, args, { stdio: [input, file, file], env });
  closeSync(file);
  running.add(child);
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.once('exit', () => running.delete(child));
  child.once('error', () => running.delete(child));
  return { child, ended, said: () => readFileSync(log, 'utf8'), log };
}

/** Runs a command line with our programs on the PATH, and returns its stdout. */
export function typed(line) {
  const env = { PATH: `${programs}:${process.env.PATH}`, HOME: join(place, 'home'), NO_COLOR: '1' };
  return execFileSync('sh', ['-c', line], { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], timeout: 20_000 });
}

/** Writes these files into a folder: the named one, or a new one. */
export function folder(files = {}, named) {
  mkdirSync(named ?? join(place, 'folders'), { recursive: true });
  const made = named ?? mkdtempSync(join(place, 'folders', 'folder-'));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(made, name)), { recursive: true });
    writeFileSync(join(made, name), text);
  }
  return made;
}

/** A server that listens, and functions to talk to it. */
export class Server {
  static async listening(program, args) {
    const server = new Server();
    server.program = start(join(programs, program), args);
    const said = await until(`${program} listens`, () => {
      if (server.program.child.exitCode !== null) throw new Error(`${program} ended: ${server.program.said()}`);
      const said = server.program.said();
      return /listening on (\S+)/.test(said) && said;
    });
    server.origin = /listening on (\S+)/.exec(said)[1];
    server.token = /#token=(\S+)/.exec(said)?.[1];
    return server;
  }

  /** Starts `candor files` on a folder. */
  static async files(directory, ...flags) {
    return Server.listening('candor', ['files', directory, '--http', '127.0.0.1:0', '--ledger', 'memory:', ...flags]);
  }

  /** Starts the server with hostile texts and nested forms. */
  static async trial() {
    return Server.listening('examples/trial', []);
  }

  /** The link that a user opens. */
  get link() {
    return `${this.origin}/#token=${this.token}`;
  }

  async stop(signal = 'SIGKILL') {
    this.program.child.kill(signal);
    await this.program.ended;
  }

  /** Sends a request to the REST API as the operator. */
  async rest(method, path, body) {
    const headers = { Authorization: `Bearer ${this.token}`, Accept: 'application/json' };
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    const response = await fetch(this.origin + path, { method, headers, body: body && JSON.stringify(body) });
    const said = await response.json();
    if (!response.ok) throw new Error(`${method} ${path}: ${JSON.stringify(said)}`);
    return said;
  }

  /** Calls a tool over MCP, as a modern client without elicitation. Returns the result, once there is one. */
  call(name, args, options) {
    const answer = this.#call(name, args, options);
    // After a failed journey, no code waits for its calls.
    answer.catch(() => {});
    return answer;
  }

  async #call(name, args, { key, client = { name: 'browser-test', version: '1' } } = {}) {
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': client,
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    if (key) meta['dev.candor/idempotencyKey'] = key;
    const response = await fetch(`${this.origin}/mcp`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        'Mcp-Protocol-Version': '2026-07-28',
        'Mcp-Method': 'tools/call',
        'Mcp-Name': name,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args, _meta: meta } }),
    });
    const text = await response.text();
    const lines = text.split('\n').filter((line) => line.startsWith('data:')).map((line) => line.slice(5).trim());
    const messages = (lines.length ? lines : [text]).filter(Boolean).map((line) => JSON.parse(line));
    const answer = messages.find((message) => message.id === 1);
    if (!answer?.result) throw new Error(`tools/call ${name}: ${text}`);
    return answer.result;
  }

  /** Returns the pending approval requests, once there are this many. */
  async waiting(many = 1) {
    return until(`${many} calls wait`, async () => {
      const all = await this.rest('GET', '/approvals');
      return all.length >= many && all;
    });
  }

  /** Approves or denies the oldest pending request. */
  async decide(verb, more = {}) {
    const [{ id, version }] = await this.waiting();
    return this.rest('POST', `/approvals/${id}/${verb}`, { version, ...more });
  }
}

/** Returns the text of a result. */
export const text = (result) => result.content.map((item) => item.text ?? '').join('\n');
