/**
 * The steps of the fuzzer as data. The fuzzer makes sequences of steps, shrinks a sequence that fails, and stores such sequences in case
 * files.
 */
import type { OperationId } from '../../../../contract/contract.ts';
import type { ErrorCode } from '../../../../platform/core/error-codes.ts';

export type Json = null | boolean | number | string | readonly Json[] | JsonRecord;
export interface JsonRecord {
  readonly [name: string]: Json;
}

/** The callers of requests. Members, students and API keys belong to the club `own`, unless their name says otherwise. */
const callerNames = [
  'owner',
  'admin',
  'editor',
  'support',
  'student',
  'visitor',
  'otherOwner',
  'otherStudent',
  'key',
  'readerKey',
  'otherKey',
  'expiredKey',
  'outsider',
  'nobody',
  'expiredStudent',
  'expiredAdmin',
  'endedStudent',
  'endedAdmin',
  'malformed',
] as const;
export type CallerName = (typeof callerNames)[number];

/** How the request violates the contract, and the expected error code. */
interface Fault {
  readonly what: string;
  readonly code: ErrorCode;
}

/**
 * A request. Its texts may contain templates: `{{own.course}}` is the prepared course, and `{{s3/data/id}}` is a value in the answer to
 * step `s3`. Templates make it possible to repeat a sequence with new clubs.
 */
export interface RequestStep {
  /** The name by which templates of later steps identify the answer. */
  readonly name: string;
  readonly operation: OperationId;
  readonly caller: CallerName;
  /** Not encoded. */
  readonly path: Readonly<Record<string, string>>;
  /** A list of pairs, because a name may occur twice. */
  readonly query?: readonly (readonly [name: string, value: string])[];
  readonly body?: Json;
  readonly raw?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: string;
  /** A second request that is sent at the same time. Its answer must follow the rules, too. */
  readonly beside?: RequestStep;
  /** The fault of the request; undefined if the request is valid by the contract. */
  readonly fault?: Fault;
}

/** A request, a jump of the clock in seconds, or the work of the worker. */
export type Step = RequestStep | { readonly advance: number } | { readonly work: true };

export function isRequest(step: Step): step is RequestStep {
  return 'operation' in step;
}

const template = /\{\{([^{}]+)\}\}/g;

/** Replaces the templates in all texts, but not in names of properties. If a template has no value, the template stays in the text. */
export function resolved<T extends Json | undefined>(value: T, valueOf: (name: string) => string | undefined): T {
  if (typeof value === 'string')
    return value.replaceAll(template, (whole, name: string) => valueOf(name) ?? whole) as T;
  if (Array.isArray(value)) return value.map((item: Json) => resolved(item, valueOf)) as unknown as T;
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, resolved(item, valueOf)])) as T;
}

export function templatesOf(step: RequestStep): Set<string> {
  return new Set([...JSON.stringify(step).matchAll(template)].map(([, name = '']) => name));
}

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
