/** The type of a handler. A handler gets a checked request, and returns only the body of the answer. Both types come from the contract. */
import type { BodyOf, OperationId, ParamsOf, QueryOf, ResponseOf } from '../contract/contract.ts';
import type { KeyOperationId } from '../contract/generated/types.ts';
import type { Scope } from '../contract/rules/scopes.ts';
import type { AnswerFeed } from '../domain/agents/answers/answer-feed.ts';
import type { PublishingDeps } from '../domain/automations/versions/publishing.ts';
import type { AskedModel } from '../domain/agents/conversations/asking.ts';
import type { NewClubs } from '../domain/clubs/organizations.ts';
import type { Role } from '../entities/clubs/values.ts';
import type { Id } from '../platform/core/ids.ts';
import type { Queries } from '../platform/infra/postgres/database.ts';
import type { ListPosition } from '../platform/infra/postgres/lists/cursor.ts';
import type { EventStreamDeps } from '../domain/webhooks/listeners/stream.ts';
import type { ObjectStore } from '../platform/infra/store/object-store.ts';
import type { AddressedDeps } from '../domain/deps.ts';
import type { MailDomainSettings } from '../domain/mail/domains/domains.ts';
import type { AllMediaUseRules } from '../domain/media/use-rules.ts';
import type { StudentIdentity } from '../domain/identity/student-identity.ts';
import type { MailNoticeDeps } from '../domain/mail/notices/receive.ts';
import type { KeyFinder } from '../domain/identity/api-keys/key-finder.ts';
import type { SessionFinder } from '../domain/identity/sessions/session-finder.ts';
import type { ReceiveNotice } from '../domain/sales/notices/notices.ts';
import type { BillingEventDeps } from '../domain/billing/notices.ts';
import type { PaymentProcessor } from '../platform/infra/payments.ts';
import type { Limiter } from './rate-limits/limiter.ts';
import type { Egress } from '../platform/infra/egress/egress.ts';

/** The dependencies of handlers in the API process. */
export interface Deps extends AddressedDeps {
  newClubs: NewClubs;
  egress: Egress;
  storage: ObjectStore;
  /** The rules that find out which records use a file of the library, for each context. */
  mediaUses: AllMediaUseRules;
  /** The public address of the listener of resumable uploads. */
  filesUrl: string;
  /** After a client completes an upload, the answer waits this many milliseconds for the processing of the file. */
  completionWatchMs: number;
  mailDomains: MailDomainSettings;
  /** Whether this deployment can create subtitles from speech. */
  makesSubtitles: boolean;
  /**
   * The factor by which the waits of automations are shortened, so that a person can try an automation in minutes. The factor is 1 in
   * production.
   */
  waitSpeed: number;
  /** Publishes the images of e-mails. */
  images: PublishingDeps['images'];
  /** Follows the answers of agents while the model generates them. */
  answers: AnswerFeed;
  /** Sends the events of clubs to their listeners. */
  eventStreams: Omit<EventStreamDeps, 'db' | 'vault'>;
  model: AskedModel;
  mailNotices: MailNoticeDeps;
  /** Finds the caller of a session. */
  sessions: SessionFinder;
  /** Finds the API key of a program. */
  keys: KeyFinder;
  /** Receives notices of sales platforms. */
  receiveNotice: ReceiveNotice;
  billing: Omit<BillingEventDeps, 'db'> & {
    /** The client of the payment processor. Undefined unless the operator has configured billing. */
    processor: PaymentProcessor | undefined;
  };
}

/** The owner of the session, and in a club's path also the owner's role in the club; or the API key of a program. */
export type Caller =
  | { kind: 'student'; token: string; student: StudentIdentity }
  | { kind: 'admin'; token: string; administratorId: Id; role: Role | null }
  | { kind: 'key'; token: string; keyId: Id; clubId: Id; scopes: readonly Scope[] };

/** @returns the id of the student, the administrator or the key */
export function idOf(caller: Caller): Id {
  if (caller.kind === 'student') return caller.student.id;
  return caller.kind === 'key' ? caller.keyId : caller.administratorId;
}

/** A person with a session. */
export type Person = Exclude<Caller, { kind: 'key' }>;

/** The acting administrator of a club, or a program that acts for the club with a key. */
export type Actor = { kind: 'administrator'; id: Id; role: Role } | { kind: 'key'; id: Id };

/** Sets a header of the answer. */
export type AnswerWith = (name: 'ETag' | 'Cache-Control', value: string) => void;

/** A body that a handler reads itself, after it has identified the sender. */
export interface ReceivedBody<Body = unknown> {
  /** The received bytes. A signature is checked against these bytes, and a notice is stored with them. Empty without a body. */
  raw: Buffer;
  /** @throws DomainError malformed_request, invalid_request */
  parse: () => Body;
}

/** A checked query. The cursor of a list with pages is opened for the list; a log has no pages, and opens its own cursor. */
type Positioned<Query> = string extends keyof Query
  ? Query
  : 'cursor' | 'page' extends keyof Query
    ? Omit<Query, 'cursor' | 'updated_since'> & { cursor: ListPosition }
    : Query;

export interface OperationRequest<Op extends OperationId> {
  params: ParamsOf<Op>;
  /** The query. A list gets the place of its caller in the list instead of the text of a cursor (CUR-1). */
  query: Positioned<QueryOf<Op>>;
  body: BodyOf<Op>;
  /** Reads the body, for operations with `x-late-body` in the contract. For these operations, `body` is undefined. */
  receiveBody: () => Promise<ReceivedBody<BodyOf<Op>>>;
  /** The body as a stream, within the contract's limit. Reading this property throws an Error if the contract expects JSON or no body. */
  bodyStream: AsyncIterable<Buffer>;
  /** The method of the request; a reading operation uses it to distinguish `GET` from `HEAD`. */
  method: string;
  /** The client's network: the /24 of an IPv4 address, the /48 of an IPv6 address. */
  network: string;
  /** @returns a header of the request, or an empty text */
  header: (name: string) => string;
  answerWith: AnswerWith;
  /** Access to Postgres for operations that only read. */
  db: Queries;
  /** The dependencies of operations that change data. */
  deps: Deps;
  /** The time when the request was received, by the API's clock. Business decisions use only this time. */
  now: Date;
  /**
   * Charges a student's call to the club before the call changes data (DEC-53). For callers who are not students, it does nothing. @throws
   * DomainError rate_limited
   */
  chargeChange: () => Promise<void>;
  /** Limits guesses of passwords and codes. It counts only wrong guesses ({@link file://./rate-limits/tries.ts}). */
  limiter: Limiter;
  /** The client's address, for the limits on guesses. */
  ip: string;
  /** @returns an id that is always equal for the caller and its `Idempotency-Key`, or a new id without a key */
  newId: () => Id;
  /**
   * The caller, for operations that need a session or an API key. Reading this property throws an Error if the contract requires neither.
   */
  caller: Op extends KeyOperationId ? Caller : Person;
  /** The student, for operations that only students call. */
  student: StudentIdentity;
  /**
   * The administrator, for operations that only administrators call, in person. In a club's path the administrator is a member of the
   * club.
   */
  administrator: Op extends KeyOperationId ? never : { id: Id; role: Role };
  /** The administrator or the program that acts for the club, for operations that API keys may call. */
  actor: Op extends KeyOperationId ? Actor : never;
}

/** A handler returns the body of the contract's success response. The contract defines the status. */
export type Operation<Op extends OperationId> = (request: OperationRequest<Op>) => Promise<ResponseOf<Op>>;

/** The handlers by operation. If a handler is missing, or has no operation in the contract, the process does not start. */
export type Operations = { [Op in OperationId]?: Operation<Op> };
