/** Whether a request is one that the contract allows: judged by its schemas alone, not by the service's own checks of requests. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { ContractOperation } from '../../../../contract/contract.ts';
import { contractDocument } from '../../../../contract/document.ts';
import type { ContractParameter } from '../../../../contract/operations.ts';
import type { RequestStep } from './step.ts';

const ajv = new Ajv2020({ strict: false, discriminator: true });
addFormats.default(ajv);
ajv.addSchema(contractDocument, 'contract');

/** The contract says of these that their form is not judged: what names nothing answers as what is not there. */
const unjudged: readonly string[] = ['clubId', 'certificateCode', 'slug'];

/** @param step its templates replaced @returns what the contract does not allow in it, in words; nothing where it is valid */
export function faultsOf(operation: ContractOperation, step: RequestStep): string[] {
  const { path, query = [], body } = step;
  const inPath = operation.parameters.filter(({ in: place, name }) => place === 'path' && !unjudged.includes(name));
  const inQuery = operation.parameters.filter(({ in: place }) => place === 'query');
  const names = query.map(([name]) => name);
  return [
    ...inPath.flatMap((parameter) => parameterFaults(parameter, path[parameter.name] ?? '')),
    ...inQuery.flatMap((parameter) =>
      query.filter(([name]) => name === parameter.name).flatMap(([, value]) => parameterFaults(parameter, value)),
    ),
    ...inQuery
      .filter(({ name, required }) => required && !names.includes(name))
      .map(({ name }) => `${name} is missing`),
    ...names
      .filter((name) => !operation.takesAnyQuery && !inQuery.some((known) => known.name === name))
      .map((name) => `${name} is unknown`),
    ...names.filter((name, at) => names.indexOf(name) !== at).map((name) => `${name} is repeated`),
    ...textFaults(operation, step),
    ...(operation.hasBody && !operation.fileBody && step.raw === undefined ? bodyFaults(operation, body) : []),
  ];
}

function bodyFaults({ pointer, requiresBody }: ContractOperation, body: RequestStep['body']): string[] {
  if (body === undefined) return requiresBody ? ['the body is missing'] : [];
  return broken(`${pointer}/requestBody/content/application~1json/schema`, body);
}

function parameterFaults({ name, schema, schemaPointer }: ContractParameter, text: string): string[] {
  const value = scalarOf(schema.type, text);
  if (value === undefined) return [`${name} is no ${schema.type}`];
  return broken(schemaPointer, value).map((fault) => `${name} ${fault}`);
}

/** A parameter's text as a value of its type; undefined where it is none. */
function scalarOf(type: string | undefined, text: string): unknown {
  if (type === 'integer') return /^-?\d+$/.test(text) ? Number(text) : undefined;
  if (type === 'boolean') return { true: true, false: false }[text];
  return type === 'array' ? text.split(',') : text;
}

/** The rule of the contract's introduction: no NUL byte and no half of a surrogate pair, except where any text is taken. */
function textFaults({ takesAnyText }: ContractOperation, { path, query, body }: RequestStep): string[] {
  const texts = JSON.stringify([path, query, takesAnyText ? undefined : body]);
  return /\\u0000|\\ud[89a-f]/i.test(texts.replaceAll('\\\\', '')) ? ['a text cannot be stored'] : [];
}

function broken(pointer: string, value: unknown): string[] {
  const validate: ValidateFunction | undefined = ajv.getSchema(`contract${encodeURI(pointer)}`);
  if (!validate) throw new Error(`The contract has nothing at ${pointer}.`);
  return validate(value)
    ? []
    : (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}
