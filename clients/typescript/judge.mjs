// The package `ajv` as a judge of schemas that knows nothing of the server's own.

import assert from 'node:assert/strict';

import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

/** Says that a result stands in a box; no rule for values. */
const BOX = 'x-dedalus-box';

/** Holds what tools publish against the rules of JSON Schema, and what is said against what they publish. */
export class Judge {
  #takes = new Map();
  #gives = new Map();

  constructor(tools) {
    // Strict: what the standard passes over, such as an unknown word or a rule for another type, is a fault.
    const ajv = new Ajv2020({ strict: true, allErrors: true, logger: false });
    addFormats(ajv);
    ajv.addKeyword(BOX);
    for (const { name, inputSchema, outputSchema } of tools) {
      this.#takes.set(name, compiled(ajv, inputSchema));
      // A preview shows text, and promises nothing.
      if (outputSchema) {
        this.#gives.set(name, compiled(ajv, outputSchema));
      }
    }
  }

  /** One call: its arguments fit if the server took them, and what it gives fits always. */
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
