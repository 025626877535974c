/** Holding what is stored or sent against the contract's schemas. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { contractDocument } from '../../../contract/document.ts';
import { closedDocument } from '../../../contract/published-schemas.ts';

const ajv = new Ajv2020({ strict: false });
addFormats.default(ajv);
ajv.addSchema(closedDocument(contractDocument), 'contract');

/** @returns what the contract's body of this event type does not allow in it; nothing where it is as declared */
export function eventFaults(type: string, body: unknown): string[] {
  return faults(`/webhooks/${type}/post/requestBody/content/application~1json/schema`, body);
}

/** @returns what the schema of this record does not allow in it */
export function recordFaults(name: string, record: unknown): string[] {
  return faults(`/components/schemas/${name}`, record);
}

function faults(pointer: string, value: unknown): string[] {
  const validate = ajv.getSchema(`contract#${pointer}`);
  if (!validate) throw new Error(`The contract has nothing at ${pointer}.`);
  return validate(value) ? [] : (validate.errors ?? []).map((error) => `${error.instancePath} ${error.message ?? ''}`);
}
