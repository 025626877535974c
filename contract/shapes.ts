/** Types of records, requests, responses and events by their names in the contract; there is no code here. */
import type { Binary } from './binary.ts';
import type { EventStream, StreamEvent } from './event-stream.ts';
import type { components, operations, webhooks } from './generated/types.ts';
import type { OperationId } from './operations.ts';
import type { Redirect } from './redirect.ts';

/** A record of the contract, such as `RecordOf<'Student'>`. */
export type RecordOf<Name extends keyof components['schemas']> = components['schemas'][Name];

/** The path parameters of an operation; an empty object if it has none. */
export type ParamsOf<Id extends OperationId> = PropertyOf<operations[Id]['parameters'], 'path', Record<string, never>>;

/** The checked query of an operation: parameters that have a default are always present. */
export type QueryOf<Id extends OperationId> = WithDefaults<
  PropertyOf<operations[Id]['parameters'], 'query', Record<string, never>>
>;

/** The checked JSON body of an operation; undefined if it takes none, or if the body may be left out and was. */
export type BodyOf<Id extends OperationId> = operations[Id] extends { requestBody: infer Request }
  ? JsonOf<Request>
  : JsonOf<PropertyOf<operations[Id], 'requestBody', never>> | undefined;

/** What the successful response brings: its JSON body, bytes where it is a file, events where it is a stream, where it leads; undefined where there is nothing. */
export type ResponseOf<Id extends OperationId> = operations[Id]['responses'] extends { 302: unknown }
  ? Redirect
  : ContentOf<SuccessOf<operations[Id]['responses']>>;

export type EventType = keyof webhooks;

/** The body that is posted to endpoints for an event type. */
export type EventBodyOf<Type extends EventType> = webhooks[Type]['post']['requestBody']['content']['application/json'];

type JsonOf<Request> = [Request] extends [never]
  ? undefined
  : Request extends { content: { 'application/json': infer Body } }
    ? Body
    : undefined;

/** The type of a property that an operation may have; `Otherwise` if it has none. */
type PropertyOf<T, Name extends PropertyKey, Otherwise> = Name extends keyof T
  ? Exclude<T[Name], undefined>
  : Otherwise;

type Defaulted = 'page' | 'page_size' | 'from';
type WithDefaults<Query> = string extends keyof Query
  ? Query
  : Omit<Query, Defaulted> & Required<Pick<Query, Defaulted & keyof Query>>;

type SuccessOf<Responses> = Responses[keyof Responses & (200 | 201 | 202 | 204)];
type ContentOf<Response> = Response extends { content: { 'application/json': infer Body } }
  ? Body
  : Response extends { content: { 'application/pdf': unknown } | { 'image/gif': unknown } }
    ? Binary
    : Response extends { content: { 'text/event-stream': infer Event extends StreamEvent } }
      ? EventStream<Event>
      : undefined;
