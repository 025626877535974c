/** What the fuzzer does, as data: rounds make sequences of steps, a failure shrinks to a shorter one, a case file keeps it. */
import type { OperationId } from '../../../../contract/contract.ts';
import type { ErrorCode } from '../../../../platform/core/error-codes.ts';

export type Json = null | boolean | number | string | readonly Json[] | JsonRecord;
export interface JsonRecord {
  readonly [name: string]: Json;
}

/** Whose session a request is sent with. Members and students act in the club `own`, unless the name says otherwise. */
const callerNames = [
  'owner',
  'admin',
  'editor',
  'support',
  'student',
  'visitor',
  'otherOwner',
  'otherStudent',
  'outsider',
  'nobody',
  'expiredStudent',
  'expiredAdmin',
  'endedStudent',
  'endedAdmin',
  'malformed',
] as const;
export type CallerName = (typeof callerNames)[number];

/** What is wrong with a request by the contract, and the code that the contract gives for it. */
interface Fault {
  readonly what: string;
  readonly code: ErrorCode;
}

/**
 * One request. Its texts may hold templates, such as `{{own.course}}` of the scene or `{{s3/data/id}}` of the answer to step `s3`, so
 * that a sequence can be sent again in another world.
 */
export interface RequestStep {
  /** Names its answer for templates of later steps. */
  readonly name: string;
  readonly operation: OperationId;
  readonly caller: CallerName;
  /** Path parameters by name, not encoded. */
  readonly path: Readonly<Record<string, string>>;
  /** Pairs, because a name may stand twice. */
  readonly query?: readonly (readonly [name: string, value: string])[];
  readonly body?: Json;
  /** Sent as it is, in place of JSON. */
  readonly raw?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** In place of the operation's own. */
  readonly method?: string;
  /** Sent at the same moment; its answer is judged, too. */
  readonly beside?: RequestStep;
  /** Absent: the request is valid by the contract. */
  readonly fault?: Fault;
}

/** Beside requests: time that passes, in seconds, and what the worker would do with all that is waiting. */
export type Step = RequestStep | { readonly advance: number } | { readonly work: true };

export function isRequest(step: Step): step is RequestStep {
  return 'operation' in step;
}

const template = /\{\{([^{}]+)\}\}/g;

/** Replaces the templates of every text, names of properties excepted. What has no value stays as it is. */
export function resolved<T extends Json | undefined>(value: T, valueOf: (name: string) => string | undefined): T {
  if (typeof value === 'string')
    return value.replaceAll(template, (whole, name: string) => valueOf(name) ?? whole) as T;
  if (Array.isArray(value)) return value.map((item: Json) => resolved(item, valueOf)) as unknown as T;
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, resolved(item, valueOf)])) as T;
}

/** The names of the templates in a step. */
export function templatesOf(step: RequestStep): Set<string> {
  return new Set([...JSON.stringify(step).matchAll(template)].map(([, name = '']) => name));
}

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
