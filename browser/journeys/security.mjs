// Who may do what from a browser: the token, the cookie, other origins, and what the browser is told to forbid.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { Server, folder } from '../servers.mjs';
import { at, becomes, says } from '../stage.mjs';

export const title = 'without the token one can only look; cookie, origins and policy keep others out';

const line = (name, token, role = '') => `${name} sha256:${createHash('sha256').update(token).digest('hex')}${role}`;

/** A server that lets in only whom it knows: everybody has to log in, and not everybody decides. */
async function known(stage) {
  const files = folder({ tokens: `${line('alice', 'a-token')}\n${line('olga', 'o-token', ' operator')}\n` });
  const server = await stage.with(Server.files(folder(), '--tokens', join(files, 'tokens')));
  const page = await stage.stranger();
  const come = async (token) => {
    assert.equal((await page.goto(server.origin)).status(), 401);
    assert.equal(await at(page, 'tools').count(), 0, 'a stranger sees nothing');
    await page.locator('#token').fill(token);
    await page.getByRole('button', { name: 'Log in' }).click();
    await at(page, 'tools').waitFor();
  };
  await come('a-token');
  await says(page.locator('.who'), 'alice');
  assert.equal((await page.goto(`${server.origin}/ui/approvals`)).status(), 403);
  await page.goto(server.origin);
  await page.getByRole('button', { name: 'Log out' }).click();
  await at(page, 'login').waitFor();
  await come('o-token');
  assert.equal((await page.goto(`${server.origin}/ui/approvals`)).status(), 200);
}

export async function journey(stage) {
  await known(stage);
  const server = await stage.with(Server.files(folder({ 'a.txt': 'a' })));
  const { port } = new URL(server.origin);

  // A stranger looks, and is told where the token is.
  const stranger = await stage.stranger();
  await stranger.goto(server.origin);
  await says(at(stranger, 'read-only'), /look, not act[\s\S]*the server printed when it started/);
  await stranger.goto(`${server.origin}/ui/tools/manage_files`);
  await says(at(stranger, 'cannot-call'), 'token');
  assert.equal(await at(stranger, 'call').count(), 0);
  for (const path of ['approvals', 'history', 'resources']) {
    const response = await stranger.goto(`${server.origin}/ui/${path}`);
    assert.equal(response.status(), 401, path);
    await says(stranger.locator('main'), 'the server printed when it started');
  }
  await stranger.locator('#token').fill('wrong');
  await stranger.getByRole('button', { name: 'Log in' }).click();
  await says(stranger.locator('main'), 'not known');
  assert.deepEqual(await stranger.context().cookies(), []);
  // A token that is typed is as good as one in the link.
  await stranger.goto(`${server.origin}/ui/history`);
  await stranger.locator('#token').fill(server.token);
  await stranger.getByRole('button', { name: 'Log in' }).click();
  await stranger.locator('body[data-operator=true]').waitFor();

  // The link's token leaves the address, and becomes a cookie that no script and no other site can use.
  const page = await stage.operator(server);
  assert.equal(page.url(), `${server.origin}/`);
  const cookies = await page.context().cookies();
  assert.equal(cookies.length, 1);
  const { name, httpOnly, sameSite, value } = cookies[0];
  assert.deepEqual({ name, httpOnly, sameSite }, { name: `candor_${port}`, httpOnly: true, sameSite: 'Strict' });
  assert.ok(!value.includes(server.token));
  assert.equal(await page.evaluate(() => document.cookie), '');
  const stored = await page.evaluate(() => [localStorage.length, sessionStorage.length]);
  assert.deepEqual(stored, [0, 0], 'nothing is kept where scripts can read it');

  // What a page of another origin could send.
  const post = (headers) => fetch(`${server.origin}/tools/list_files/call`, {
    method: 'POST', body: '{}', headers: { 'Content-Type': 'application/json', Cookie: `${name}=${value}`, ...headers },
  });
  const csrf = await page.locator('meta[name=candor-csrf]').getAttribute('content');
  const statuses = {
    foreign: (await post({ Origin: 'https://evil.test', 'X-Candor-Csrf': csrf })).status,
    opaque: (await post({ Origin: 'null', 'X-Candor-Csrf': csrf })).status,
    unproven: (await post({ Origin: server.origin })).status,
    own: (await post({ Origin: server.origin, 'X-Candor-Csrf': csrf })).status,
  };
  assert.deepEqual(statuses, { foreign: 403, opaque: 403, unproven: 403, own: 200 });
  // And a real one, which the browser itself holds back.
  const other = await stage.with(Server.files(folder()));
  await page.goto(other.origin);
  const reached = await page.evaluate((url) => fetch(url, { method: 'POST', body: '{}', credentials: 'include', mode: 'no-cors' })
    .then(() => true, () => false), `${server.origin}/tools/list_files/call`);
  assert.equal(reached, false, 'the policy lets a page talk to its own server only');

  // What the browser is told to forbid, on every kind of answer.
  for (const path of ['/', '/ui/tools/manage_files', '/ui/history', '/tools', '/nothing', '/ui/assets/console.js']) {
    const response = await fetch(server.origin + path, { headers: { Accept: 'text/html' } });
    const policy = response.headers.get('content-security-policy') ?? '';
    assert.match(policy, /default-src 'none'/, path);
    assert.doesNotMatch(policy, /unsafe|\*/, path);
    assert.match(policy, /frame-ancestors 'none'/, path);
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff', path);
    assert.equal(response.headers.get('referrer-policy'), 'same-origin', path);
  }

  // Logging out ends it, here and on the server.
  await page.goto(server.origin);
  await page.getByRole('button', { name: 'Log out' }).click();
  await at(page, 'read-only').waitFor();
  assert.deepEqual(await page.context().cookies(server.origin), []);
  assert.equal((await post({ Origin: server.origin, 'X-Candor-Csrf': csrf })).status, 401);
  await becomes(page.locator('body'), 'data-operator', 'false');
}
