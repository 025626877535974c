/** The form in which the answer of an operation is kept for repetitions (IDEM-5, IDEM-6). */
import { contractDocument } from './document.ts';
import { dereference, isObject, type ResponseObject } from './openapi.ts';
import type { ContractOperation } from './operations.ts';
import { canBeAboutStudent, signedFieldsOf, withoutSignedAddresses } from './rules/answer-schemas.ts';

export interface KeptForm {
  /** Whether the answer can tell something about a student. */
  readonly isAboutStudent: boolean;
  /** @returns the body of the answer without its signed addresses. Undefined without a body */
  readonly bodyToKeep: (body: unknown) => unknown;
}

/** @throws Error if the answer of the operation is not JSON, because other answers are not kept */
export function keptFormOf({ operationId, successStatus, responses, contentTypes }: ContractOperation): KeptForm {
  const { schemas } = contractDocument.components;
  const entry = responses[successStatus];
  const { content = {} } = entry ? dereference<ResponseObject>(entry, contractDocument.components.responses) : {};
  if (contentTypes.some((type) => type !== 'application/json'))
    throw new Error(`The answer of ${operationId} is not JSON. Write x-idempotency in its path file.`);
  const json = content['application/json'];
  const schema = isObject(json) ? json['schema'] : undefined;
  const hasSignedAddresses = signedFieldsOf(schema, schemas).length > 0;
  return {
    isAboutStudent: canBeAboutStudent(schema, schemas),
    bodyToKeep(body) {
      const value: unknown = typeof body === 'string' ? JSON.parse(body) : body; // some handlers answer with JSON text
      return hasSignedAddresses ? withoutSignedAddresses(value, schema, schemas) : value;
    },
  };
}
