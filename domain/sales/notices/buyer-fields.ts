/** Reads the data about the buyer from the body of a notice. The rest of a body may name sellers and affiliates (EXP-3). */
import type { RecordOf } from '../../../contract/contract.ts';

type BuyerField = RecordOf<'ExportedBuyerField'>;

/** The objects about the buyer in the notices of all platforms. */
const buyerPaths: readonly (readonly string[])[] = [
  ['buyer'], // generic
  ['Customer'], // kiwify
  ['data', 'buyer'], // hotmart
  ['data', 'subscriber'], // hotmart, of subscriptions
];

const maxFields = 200;
const maxDepth = 8;

/** @returns the texts, numbers and truth values in the objects about the buyer, with their paths. Empty if the body cannot be read */
export function buyerFieldsOf(body: Buffer): BuyerField[] {
  const notice = parsed(body);
  return buyerPaths.flatMap((path) => [...fieldsIn(at(notice, path), path)]).slice(0, maxFields);
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}

function at(value: unknown, path: readonly string[]): unknown {
  return path.reduce(
    (inner: unknown, name) => (isObject(inner) && Object.hasOwn(inner, name) ? inner[name] : undefined),
    value,
  );
}

function* fieldsIn(value: unknown, path: readonly string[]): Generator<BuyerField> {
  if (path.length > maxDepth) return;
  if (isObject(value)) for (const [name, inner] of Object.entries(value)) yield* fieldsIn(inner, [...path, name]);
  else if (['string', 'number', 'boolean'].includes(typeof value) && value !== '')
    yield { field: path.join('.'), value: String(value).toWellFormed() };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
