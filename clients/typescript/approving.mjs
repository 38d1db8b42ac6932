// The chapter about calls that need approval: what the user sees, what each answer does, and that an approval
// covers one call. The server deletes files. The client checks the folder itself and trusts no answer.

import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

import { check, equal } from './checks.mjs';

const KEY = 'dev.candor/idempotencyKey';
const KEYED = 'dev.candor/idempotency';
const ERROR = 'dev.candor/error';

/** The id of the operation, which differs in each question. */
const OPERATION = /\b[0-9a-f]{12}$/;

/** The reviewer: over stdio the user who runs the server, over HTTP the token's principal. */
const WHO = /(?<=^A reviewer \()[^()]+(?=\) )/;

export async function approve({ story, session, host, era, transport, folder }) {
  const { asks, denied, ...says } = story.approving;
  const desk = new Desk({ session, host, folder, run: `${basename(process.argv[1], '.mjs')}-${era}-${transport}` });

  const mustAsk = (path, times = 1) => {
    const shown = { ...asks, message: asks.message.replace('PATH', path) };
    const asked = host.asked.map(({ message, requestedSchema }) => {
      assert.match(message, OPERATION);
      return { message: message.replace(OPERATION, 'ID'), requestedSchema };
    });
    equal(asked, Array(times).fill(shown));
  };
  const mustRun = (path, { content, isError }) => {
    equal([content, isError ?? false], [[{ type: 'text', text: 'Deleted' }], false]);
    assert.ok(!desk.has(path), 'it is still there');
  };
  const mustBeDenied = (path, { content, isError, _meta }) => {
    const said = content.map(({ text, ...block }) => ({ ...block, text: text.replace(WHO, 'WHO') }));
    // The id in the server's log differs each time.
    const { traceId, ...error } = _meta[ERROR];
    assert.match(traceId, /^[0-9a-f]{32}$/);
    equal({ content: said, isError, error }, { ...denied, isError: true });
    assert.ok(desk.has(path), 'it is gone, though somebody said no');
  };

  await check('reads and appends without asking anybody', async () => {
    const path = desk.lay('plain');
    const appended = await desk.call({ path, action: 'append', content: ', more' });
    equal(appended.content, [{ type: 'text', text: 'Appended 6 bytes' }]);
    const { content } = await desk.call({ path, action: 'read' });
    equal(content, [{ type: 'text', text: 'a file, more' }]);
    equal(host.asked, []);
  });

  const path = desk.lay('deleted');
  await check('shows its person what would be deleted, hears yes, and it is deleted', async () => {
    const ran = await desk.remove(path, says.approve);
    mustAsk(path);
    mustRun(path, ran);
  });
  await check('is asked anew for the same once more, hears that its person declines, and nothing is done', async () => {
    desk.lay('deleted');
    const told = await desk.remove(path, says.decline);
    mustAsk(path);
    mustBeDenied(path, told);
  });
  await check('is told of the no, and its person is left alone', async () => {
    // The answer would be a yes, if the server asked.
    const told = await desk.remove(path, says.approve);
    equal(host.asked, []);
    mustBeDenied(path, told);
  });
  await check('takes the answer "deny" for a no', async () => {
    const path = desk.lay('kept');
    const told = await desk.remove(path, says.deny);
    mustAsk(path);
    mustBeDenied(path, told);
  });
  await check('gets the first result again with the same key: nobody is asked, and nothing is done', async () => {
    const path = desk.lay('keyed');
    const first = await desk.remove(path, says.approve, 'once');
    mustAsk(path);
    mustRun(path, first);
    equal(first._meta[KEYED].replayed, false);

    desk.lay('keyed');
    const again = await desk.remove(path, says.decline, 'once');
    equal(host.asked, []);
    equal(again.content, first.content);
    equal([again._meta[KEYED].replayed, again._meta[KEYED].attempt], [true, 1]);
    assert.ok(desk.has(path), 'it was deleted twice with one yes');
  });
  await check('calls twice at once with one key, says yes to both, and it runs once', async () => {
    const path = desk.lay('together');
    const both = await Promise.all([1, 2].map(() => desk.remove(path, says.approve, 'together')));
    both.forEach(ran => mustRun(path, ran));
    equal(both.map(ran => ran._meta[KEYED].replayed).sort(), [false, true]);
    equal(both.map(ran => ran._meta[KEYED].attempt), [1, 1]);
  });
}

/** Files of this run alone, so that decisions about the files of another run do not count here. */
class Desk {
  constructor({ session, host, folder, run }) {
    Object.assign(this, { session, host, folder, run });
  }

  /** Creates a file, and returns its path. */
  lay(name) {
    const path = `${this.run}-${name}.txt`;
    writeFileSync(join(this.folder, path), 'a file');
    return path;
  }

  has(path) {
    return existsSync(join(this.folder, path));
  }

  /** Deletes a file. The user gives this answer. */
  remove(path, answer, key) {
    return this.call({ path, action: 'delete' }, answer, key);
  }

  call(args, answer, key) {
    this.host.asked = [];
    this.host.answer = answer;
    return this.session.call('manage_files', args, { meta: key && { [KEY]: `${this.run}-${key}` } });
  }
}
