// A server is killed during a call. The outcome is unknown until an operator records it.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import { Server, folder, start, text } from '../servers.mjs';
import { at, becomes, says } from '../stage.mjs';
import { until } from '../until.mjs';

export const title = 'an operator records an unknown outcome, and retries replay it';

/** The lease of the killed server must end first. */
export const long = 1;
const LEASE = 60_000;

const HOLD = `
import sqlite3, sys
books = sqlite3.connect(sys.argv[1], timeout=20, isolation_level=None)
books.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
`;

export async function journey(stage) {
  const shop = folder();
  const [books, ledger] = [join(shop, 'invoices.db'), `sqlite:${join(shop, 'ledger.db')}`];
  const open = () => Server.listening('examples/invoices', ['--data', books, '--http', '127.0.0.1:0', '--ledger', ledger]);
  const order = { customer_id: '8f14e45f-ceea-467f-a0e6-1f5b0d1b7a3c', amount_cents: 700, idempotency_key: 'order-7' };

  // The database is locked, so the call starts and does not end.
  const first = await stage.with(open());
  const holder = start('python3', ['-c', HOLD, books], 'pipe');
  await until('the books are held', () => holder.said().includes('held'));
  const gone = first.call('create_invoice', order).then(() => 'answered', () => 'broke off');
  await until('it is under way', async () => {
    const { items } = await first.rest('GET', '/history');
    return items.some((one) => one.state === 'running');
  });
  await first.stop('SIGKILL');
  assert.equal(await gone, 'broke off');
  holder.child.stdin.end();
  await holder.ended;

  const server = await stage.with(open());
  const page = await stage.operator(server);
  await page.goto(`${server.origin}/ui/history`);
  const row = page.locator('[data-testid=call][data-state=unknown]');
  await until('the lease is over', async () => {
    await page.reload();
    return (await row.count()) === 1;
  }, LEASE);
  assert.match(text(await server.call('create_invoice', order)), /Outcome unknown/);
  await row.getByRole('link').click();
  await becomes(at(page, 'state'), 'data-state', 'unknown');
  await at(page, 'resolve').getByLabel('Succeeded').check();
  await page.locator('#text').fill('inv_41, as the bank says');
  const reloaded = once(page, 'load');
  await at(page, 'resolve').getByRole('button', { name: 'Record outcome' }).click();
  await reloaded;
  await becomes(at(page, 'state'), 'data-state', 'done');
  await says(at(page, 'timeline'), 'operator');
  await says(at(page, 'result'), 'inv_41, as the bank says');

  const replayed = await server.call('create_invoice', order);
  assert.equal(text(replayed), 'inv_41, as the bank says');
  assert.equal(replayed._meta['dev.candor/idempotency'].replayed, true);
}
