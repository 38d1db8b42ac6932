// A tool whose effect depends on its arguments: the verdict follows them, mistakes are named, and deleting is asked about.
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Server, folder, typed } from '../servers.mjs';
import { at, becomes, control, focused, says } from '../stage.mjs';

export const title = 'the verdict follows the arguments, mistakes are named, deleting is confirmed and on record';

export async function journey(stage) {
  const files = folder({ 'notes/a.txt': 'first\n' });
  const file = join(files, 'notes/a.txt');
  const server = await stage.with(Server.files(files, '--ask', 'never'));
  const page = await stage.operator(server);
  await page.goto(`${server.origin}/ui/tools/manage_files`);

  const panel = at(page, 'foresight');
  assert.equal(await panel.getAttribute('data-verdict'), 'deletes', 'without arguments, the worst');
  await control(page, 'path').fill('notes/a.txt');
  for (const [action, verdict, word] of [
    ['read', 'reads', 'Reads'], ['append', 'adds', 'Adds'], ['replace', 'deletes', 'Deletes'], ['delete', 'deletes', 'Deletes'],
    ['read', 'reads', 'Reads'],
  ]) {
    await control(page, 'action').selectOption({ value: JSON.stringify(action) });
    await becomes(panel, 'data-verdict', verdict);
    await says(at(page, 'verdict'), word);
  }
  assert.equal(await page.locator('[data-hint=readOnlyHint] td').first().textContent(), 'true');

  const line = await at(page, 'as-candor').textContent();
  assert.match(line, /^candor call \S+\/mcp manage_files path=notes\/a.txt action=read$/);

  // Something is wrong: all of it is listed, and each entry leads to its field.
  await control(page, 'path').fill('');
  await at(page, 'call').click();
  await focused(at(page, 'errors'));
  const links = at(page, 'errors').getByRole('link');
  await says(links, 'path');
  await links.first().click();
  await focused(control(page, 'path'));
  assert.equal(await control(page, 'path').getAttribute('aria-invalid'), 'true');
  assert.equal(await at(page, 'result').getAttribute('data-state'), 'not-run', 'nothing was sent');

  // Deleting is asked about; nothing happens by accident.
  await control(page, 'path').fill('notes/a.txt');
  await control(page, 'action').selectOption({ value: '"delete"' });
  await becomes(panel, 'data-state', 'exact');
  await at(page, 'call').click();
  await at(page, 'confirm').waitFor();
  await focused(at(page, 'confirm-cancel'));
  await says(at(page, 'confirm-effect'), /Deletes[\s\S]*take something away/);
  await says(at(page, 'confirm-undo'), /No tool is known that takes this back/);
  const shown = JSON.parse(await at(page, 'confirm-arguments').textContent());
  assert.deepEqual(shown, { path: 'notes/a.txt', action: 'delete' });
  for (const way of ['Enter', 'Escape']) {
    if (way === 'Escape') await at(page, 'call').click();
    await focused(at(page, 'confirm-cancel'));
    await page.keyboard.press(way);
    await at(page, 'confirm').waitFor({ state: 'hidden' });
    assert.ok(existsSync(file), `${way} is no yes`);
    assert.equal(await at(page, 'result').getAttribute('data-state'), 'not-run');
  }
  await at(page, 'call').click();
  await at(page, 'confirm-call').click();
  await becomes(at(page, 'result'), 'data-state', 'ok');
  assert.ok(!existsSync(file), 'it was deleted');
  // A folder cannot be written to, and the tool says so.
  await control(page, 'path').fill('notes');
  await control(page, 'action').selectOption({ value: '"append"' });
  await control(page, 'content').fill('more');
  await at(page, 'call').click();
  await becomes(at(page, 'result'), 'data-state', 'error');
  assert.ok(await at(page, 'confirm').isHidden(), 'what only adds is not asked about');

  await page.goto(`${server.origin}/ui/history`);
  const rows = at(page, 'call');
  assert.equal(await rows.count(), 2);
  assert.deepEqual(await rows.evaluateAll((all) => all.map((row) => row.dataset.state)), ['failed', 'done']);
  await says(rows.nth(1), /manage_files[\s\S]*Deletes/);
  await page.locator('select[name=state]').selectOption('failed');
  await page.getByRole('button', { name: 'Filter' }).click();
  await page.waitForURL('**state=failed**');
  assert.equal(await rows.count(), 1);

  // The line that could be copied is one that the program understands.
  writeFileSync(file, 'second\n');
  assert.equal(typed(line), 'second\n');
}
