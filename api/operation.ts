/** The type of a handler: it gets a checked request, and returns only the body of the answer. Both types come from the contract. */
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
import type { SignInProviders } from '../domain/identity/providers/deps.ts';
import type { KeyFinder } from '../domain/identity/api-keys/key-finder.ts';
import type { PhoneCodeSettings } from '../domain/identity/phones/codes.ts';
import type { PasskeySites } from '../domain/identity/passkeys/sites.policy.ts';
import type { AdministratorSessionFound, SessionFinder } from '../domain/identity/sessions/session-finder.ts';
import type { Client } from '../domain/identity/sessions/sessions.ts';
import type { SignInProofs } from '../domain/identity/sessions/sign-in-rules.policy.ts';
import type { ReceiveNotice } from '../domain/sales/notices/notices.ts';
import type { CheckoutDeps } from '../domain/billing/checkout/sessions.ts';
import type { BillingEventDeps } from '../domain/billing/notices.ts';
import type { PaymentProcessor } from '../platform/infra/payments.ts';
import type { Limiter } from './rate-limits/limiter.ts';
import type { Egress } from '../platform/infra/egress/egress.ts';

export interface Deps extends AddressedDeps {
  newClubs: NewClubs;
  egress: Egress;
  storage: ObjectStore;
  /** These rules find out which records use a file of the library. */
  mediaUses: AllMediaUseRules;
  /** The address of the listener of resumable uploads. */
  filesUrl: string;
  /** In milliseconds. A request waits this long for the processing of a completed upload. */
  completionWatchMs: number;
  mailDomains: MailDomainSettings;
  /** Whether this deployment can create subtitles from speech. */
  makesSubtitles: boolean;
  phoneCodes: PhoneCodeSettings;
  /** Shortens the waits of automations, so that a person can try one in minutes. 1 in production. */
  waitSpeed: number;
  images: PublishingDeps['images'];
  /** Follows answers while the model generates them. */
  answers: AnswerFeed;
  /** Sends the events of clubs to their listeners. */
  eventStreams: Omit<EventStreamDeps, 'db' | 'vault'>;
  model: AskedModel;
  mailNotices: MailNoticeDeps;
  /** The identity providers of administrators. */
  providers: SignInProviders;
  sessions: SessionFinder;
  keys: KeyFinder;
  receiveNotice: ReceiveNotice;
  passkeySites: PasskeySites;
  billing: Omit<BillingEventDeps & CheckoutDeps, 'db'> & {
    /** Undefined unless billing is configured. */
    processor: PaymentProcessor | undefined;
  };
}

/** The owner of the session (in a club's path with the role), or the API key of a program. */
export type Caller =
  | { kind: 'student'; token: string; student: StudentIdentity }
  | ({ kind: 'admin'; token: string } & AdministratorSessionFound)
  | { kind: 'key'; token: string; keyId: Id; clubId: Id; scopes: readonly Scope[] };

export function idOf(caller: Caller): Id {
  if (caller.kind === 'student') return caller.student.id;
  return caller.kind === 'key' ? caller.keyId : caller.administratorId;
}

export type Person = Exclude<Caller, { kind: 'key' }>;

/** The acting administrator, or a program that acts for the club with a key. */
export type Actor = { kind: 'administrator'; id: Id; role: Role } | { kind: 'key'; id: Id };

export type AnswerWith = (name: 'ETag' | 'Cache-Control', value: string) => void;

/** Some handlers identify the sender first, and then read this body. */
export interface ReceivedBody<Body = unknown> {
  /** Signatures and stored notices need these bytes. Empty without a body. */
  raw: Buffer;
  /** @throws DomainError malformed_request, invalid_request */
  parse: () => Body;
}

/** The cursor of a list with pages is already opened; a log opens its own cursor. */
type Positioned<Query> = string extends keyof Query
  ? Query
  : 'cursor' | 'page' extends keyof Query
    ? Omit<Query, 'cursor' | 'updated_since'> & { cursor: ListPosition }
    : Query;

export interface OperationRequest<Op extends OperationId> {
  params: ParamsOf<Op>;
  /** A list gets an opened position instead of the text of a cursor (CUR-1). */
  query: Positioned<QueryOf<Op>>;
  body: BodyOf<Op>;
  /** Operations with `x-late-body` call this; their `body` is undefined. */
  receiveBody: () => Promise<ReceivedBody<BodyOf<Op>>>;
  /** Within the contract's limit. Throws an Error if the contract expects JSON or no body. */
  bodyStream: AsyncIterable<Buffer>;
  /** A read can distinguish `GET` from `HEAD` by this method. */
  method: string;
  /** The /24 of an IPv4 address, the /48 of an IPv6 address. */
  network: string;
  /** The id of the request, which the logs and the audit log contain, too. */
  requestId: string;
  /** @returns an empty text if the header is missing */
  header: (name: string) => string;
  answerWith: AnswerWith;
  /** Operations that only read use this. */
  db: Queries;
  /** Operations that change data use these. */
  deps: Deps;
  /** When the request was received, by the API's clock. Business decisions use only this time. */
  now: Date;
  /**
   * Charges a student's call to the club before it changes data (DEC-53). Does nothing for other callers. @throws DomainError rate_limited
   */
  chargeChange: () => Promise<void>;
  /** Limits wrong passwords and codes ({@link file://./rate-limits/tries.ts}). */
  limiter: Limiter;
  /** The limits on guesses use this address. */
  ip: string;
  /** @returns an id that is always equal for the caller and its `Idempotency-Key`; a new id without a key */
  newId: () => Id;
  /** Throws an Error if the contract requires neither session nor key. */
  caller: Op extends KeyOperationId ? Caller : Person;
  /** Set in operations that only students call. */
  student: StudentIdentity;
  /** Set in operations that only administrators call, in person. In a club's path, it is a member of the club. */
  administrator: Op extends KeyOperationId
    ? never
    : { id: Id; role: Role; session: { id: Id; onlyClubId: Id | null } & SignInProofs };
  /** The device and the network of the request, for a session that it opens. */
  client: Client;
  /** Set in operations that API keys may call. */
  actor: Op extends KeyOperationId ? Actor : never;
}

/** Returns the body of the success response; the contract defines the status. */
export type Operation<Op extends OperationId> = (request: OperationRequest<Op>) => Promise<ResponseOf<Op>>;

/** If a handler is missing, or has no operation in the contract, the process does not start. */
export type Operations = { [Op in OperationId]?: Operation<Op> };
