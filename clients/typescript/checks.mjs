// Prints one line per check, ends at the first mismatch, and limits every wait.

import assert from 'node:assert/strict';

/** The time limit of one check, in milliseconds. */
const PATIENCE = 10_000;

export async function check(what, work) {
  try {
    await within(PATIENCE, work());
  } catch (error) {
    console.log(`FAILED ${what}\n${error instanceof assert.AssertionError ? error.message : error.stack}`);
    process.exit(1);
  }
  console.log(`ok ${what}`);
}

/** Compares as JSON: a member that the SDK leaves undefined was absent. */
export function equal(actual, expected) {
  const json = value => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));
  assert.deepEqual(json(actual), expected);
}

export function pause(milliseconds) {
  return new Promise(resolve => setTimeout(resolve, milliseconds));
}

async function within(milliseconds, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done after ${milliseconds / 1000} s`)), milliseconds);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
