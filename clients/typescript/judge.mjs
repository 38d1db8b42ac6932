// The package `ajv` as a validator that shares no code with the server's own.

import assert from 'node:assert/strict';

import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

/** Marks a wrapped result. It is not a rule for values. */
const BOX = 'x-dedalus-box';

/** Checks the published schemas against JSON Schema, and calls and results against the published schemas. */
export class Judge {
  #takes = new Map();
  #gives = new Map();

  constructor(tools) {
    // Strict: an unknown keyword, or a rule for another type, is an error. The standard ignores both.
    const ajv = new Ajv2020({ strict: true, allErrors: true, logger: false });
    addFormats(ajv);
    ajv.addKeyword(BOX);
    for (const { name, inputSchema, outputSchema } of tools) {
      this.#takes.set(name, compiled(ajv, inputSchema));
      // A preview returns text and has no output schema.
      if (outputSchema) {
        this.#gives.set(name, compiled(ajv, outputSchema));
      }
    }
  }

  /** Checks one call: its arguments are valid if the server accepted them. Its result must always be valid. */
  hear(step, result) {
    const takes = this.#takes.get(step.call);
    const gives = this.#gives.get(step.call);
    (step.refuses ? refuses : accepts)(takes, step.arguments);
    if (gives && !result.isError) {
      accepts(gives, result.structuredContent);
    }
    if (step.withholds) {
      refuses(gives, step.withholds);
    }
  }
}

function compiled(ajv, schema) {
  try {
    return ajv.compile(schema);
  } catch (error) {
    assert.fail(`${JSON.stringify(schema)}: ${error.message}`);
  }
}

function accepts(schema, value) {
  assert.ok(schema(value), `${said(value)} does not fit ${said(schema.schema)}: ${said(schema.errors)}`);
}

function refuses(schema, value) {
  assert.ok(!schema(value), `${said(value)} fits ${said(schema.schema)}`);
}

const said = value => JSON.stringify(value);
