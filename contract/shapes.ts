/** Types of records, requests, responses and events by their names in the contract. This file has no run-time code. */
import type { Binary } from './binary.ts';
import type { EventStream, StreamEvent } from './event-stream.ts';
import type { components, operations, webhooks } from './generated/types.ts';
import type { OperationId } from './operations.ts';
import type { Redirect } from './redirect.ts';

/** A record of the contract, such as `RecordOf<'Student'>`. */
export type RecordOf<Name extends keyof components['schemas']> = components['schemas'][Name];

/** The path parameters of an operation; an empty object if it has none. */
export type ParamsOf<Id extends OperationId> = PropertyOf<operations[Id]['parameters'], 'path', Record<string, never>>;

/** The checked query of an operation. Parameters with a default are always present. */
export type QueryOf<Id extends OperationId> = WithDefaults<
  PropertyOf<operations[Id]['parameters'], 'query', Record<string, never>>
>;

/** The checked JSON body of an operation. Undefined if it accepts no body, or if an optional body is absent. */
export type BodyOf<Id extends OperationId> = operations[Id] extends { requestBody: infer Request }
  ? JsonOf<Request>
  : JsonOf<PropertyOf<operations[Id], 'requestBody', never>> | undefined;

/** The result of a successful operation: its JSON body, the bytes of a file, a stream of events or a redirect. Undefined without a body. */
export type ResponseOf<Id extends OperationId> = operations[Id]['responses'] extends { 302: unknown }
  ? Redirect
  : ContentOf<SuccessOf<operations[Id]['responses']>>;

export type EventType = keyof webhooks;

/** The body of a webhook delivery for an event type. */
export type EventBodyOf<Type extends EventType> = webhooks[Type]['post']['requestBody']['content']['application/json'];

type JsonOf<Request> = [Request] extends [never]
  ? undefined
  : Request extends { content: { 'application/json': infer Body } }
    ? Body
    : undefined;

/** The type of an optional property of an operation, or else `Otherwise`. */
type PropertyOf<T, Name extends PropertyKey, Otherwise> = Name extends keyof T
  ? Exclude<T[Name], undefined>
  : Otherwise;

type Defaulted = 'page' | 'page_size' | 'from';
type WithDefaults<Query> = string extends keyof Query
  ? Query
  : Omit<Query, Defaulted> & Required<Pick<Query, Defaulted & keyof Query>>;

type SuccessOf<Responses> = Responses[keyof Responses & (200 | 201 | 202 | 204)];
type ContentOf<Response> = Response extends { content: { 'application/json': infer Body } }
  ? Response extends { content: { 'application/pdf': unknown } }
    ? Body | Binary
    : Body
  : Response extends { content: { 'application/pdf': unknown } | { 'text/csv': unknown } | { 'image/gif': unknown } }
    ? Binary
    : Response extends { content: { 'text/event-stream': infer Event extends StreamEvent } }
      ? EventStream<Event>
      : undefined;
