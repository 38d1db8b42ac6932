// Runs the journeys and prints a line for each: `node run.mjs [NAME…]`, or `node run.mjs --screenshots FOLDER`.
//
// CANDOR_PROGRAMS is the folder of the programs, CANDOR_CHROMIUM the browser, CANDOR_PLACE a folder for all output.
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { killAll } from './servers.mjs';
import { Stage, within } from './stage.mjs';

const { CANDOR_CHROMIUM: executablePath, CANDOR_PLACE: place } = process.env;

/** The time limit of the whole run. Each wait has a limit of its own; this one is for a process that hangs. */
const LONGEST = 280_000;

/** Journeys that run at once. Two cores suffice, because a journey mostly waits. */
const AT_ONCE = 3;

const FLAGS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync',
];

process.on('exit', killAll);
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => process.exit(1));
setTimeout(() => { console.log(`not ok: it took more than ${LONGEST / 1000} s`); process.exit(1); }, LONGEST).unref();

const args = process.argv.slice(2);
const folder = fileURLToPath(new URL('journeys', import.meta.url));
const all = readdirSync(folder).filter((name) => name.endsWith('.mjs')).map((name) => name.slice(0, -4)).sort();
for (const name of args[0] === '--screenshots' ? [] : args) {
  if (!all.includes(name)) { console.log(`there is no journey ${name}; there are ${all.join(', ')}`); process.exit(2); }
}

for (const old of ['logs', 'folders', 'failed']) rmSync(join(place, old), { recursive: true, force: true });
mkdirSync(join(place, 'home'), { recursive: true });
const browser = await chromium.launch({ executablePath, args: FLAGS, headless: true });

/** Runs one journey and prints its result. */
async function play(name, title, journey) {
  const stage = new Stage(browser, name);
  const begun = Date.now();
  try {
    await journey(stage);
    stage.judge();
    console.log(`ok ${name}: ${title} (${((Date.now() - begun) / 1000).toFixed(1)} s)`);
    return true;
  } catch (error) {
    const pictures = await stage.pictures(join(place, 'failed'));
    const logs = stage.servers.map((server) => server.program.log);
    console.log(`not ok ${name}: ${title}\n  ${String(error.stack ?? error).replaceAll('\n', '\n  ')}`);
    console.log(`  see ${[...pictures, ...logs].join('\n      ')}`);
    return false;
  } finally {
    await stage.close();
  }
}

let good = true;
if (args[0] === '--screenshots') {
  const { shoot } = await import('./screenshots.mjs');
  good = await play('screenshots', `pictures for the README in ${args[1]}`, (stage) => shoot(stage, args[1]));
} else {
  const chosen = args.length ? args : all;
  const journeys = await Promise.all(chosen.map(async (name) => ({ name, ...(await import(join(folder, `${name}.mjs`))) })));
  // The longest first, so that the others run next to them.
  journeys.sort((a, b) => (b.long ?? 0) - (a.long ?? 0));
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    for (let next = journeys.shift(); next; next = journeys.shift()) {
      good = (await play(next.name, next.title, next.journey)) && good;
    }
  }));
}
await within(10_000, browser.close());
process.exit(good ? 0 : 1);
