/** Checks stored or sent values against the contract's schemas. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { contractDocument } from '../../../contract/document.ts';
import { closedDocument } from '../../../contract/published-schemas.ts';

const ajv = new Ajv2020({ strict: false });
addFormats.default(ajv);
ajv.addSchema(closedDocument(contractDocument), 'contract');

/** @returns the violations of the contract's body for this event type; empty if there are none */
export function eventFaults(type: string, body: unknown): string[] {
  return faults(`/webhooks/${type}/post/requestBody/content/application~1json/schema`, body);
}

export function recordFaults(name: string, record: unknown): string[] {
  return faults(`/components/schemas/${name}`, record);
}

function faults(pointer: string, value: unknown): string[] {
  const validate = ajv.getSchema(`contract#${pointer}`);
  if (!validate) throw new Error(`The contract has nothing at ${pointer}.`);
  return validate(value) ? [] : (validate.errors ?? []).map((error) => `${error.instancePath} ${error.message ?? ''}`);
}
