/** What a handler is: typed by the contract, given a request that has passed every check, answering with the body alone. */
import type { BodyOf, OperationId, ParamsOf, QueryOf, ResponseOf } from '../contract/contract.ts';
import type { AnswerFeed } from '../domain/agents/answers/answer-feed.ts';
import type { PublishingDeps } from '../domain/automations/publishing.ts';
import type { AskedModel } from '../domain/agents/conversations/asking.ts';
import type { NewClubs } from '../domain/clubs/organizations.ts';
import type { Role } from '../entities/clubs/values.ts';
import type { Id } from '../platform/core/ids.ts';
import type { Queries } from '../platform/infra/postgres/database.ts';
import type { ObjectStore } from '../platform/infra/object-store.ts';
import type { AddressedDeps } from '../domain/deps.ts';
import type { MailDomainSettings } from '../domain/mail/domains/domains.ts';
import type { EveryMediaUsePlace } from '../domain/media/places.ts';
import type { StudentIdentity } from '../domain/identity/student-identity.ts';
import type { MailNoticeDeps } from '../domain/mail/notices/receive.ts';
import type { SessionFinder } from '../domain/identity/session-finder.ts';
import type { ReceiveNotice } from '../domain/sales/notices/notices.ts';
import type { BillingEventDeps } from '../domain/billing/notices.ts';
import type { PaymentProcessor } from '../platform/infra/payments.ts';
import type { Limiter } from './rate-limits/limiter.ts';
import type { Egress } from '../platform/infra/egress/egress.ts';

/** What the API process offers its handlers. */
export interface Deps extends AddressedDeps {
  newClubs: NewClubs;
  egress: Egress;
  storage: ObjectStore;
  /** The uses of library files, by the contexts. */
  mediaUses: EveryMediaUsePlace;
  /** Where callers reach the listener of resumable uploads. */
  filesUrl: string;
  /** Milliseconds for which a call watches the file that it has completed. */
  completionWatchMs: number;
  mailDomains: MailDomainSettings;
  /** Whether a program makes subtitles of speech. */
  makesSubtitles: boolean;
  /** How many times faster waits of automations pass. */
  waitSpeed: number;
  /** The images of e-mails are published from here. */
  images: PublishingDeps['images'];
  /** What agents are answering, as it is written. */
  answers: AnswerFeed;
  model: AskedModel;
  mailNotices: MailNoticeDeps;
  /** Who calls. */
  sessions: SessionFinder;
  /** Takes in what sales platforms tell. */
  receiveNotice: ReceiveNotice;
  billing: Omit<BillingEventDeps, 'db'> & {
    /** Undefined where the operator has set none up. */
    processor: PaymentProcessor | undefined;
  };
}

/** Whose session it is, and in a club's path: what they are there. */
export type Caller =
  | { kind: 'student'; token: string; student: StudentIdentity }
  | { kind: 'admin'; token: string; administratorId: Id; role: Role | null };

/** Sets a header of the answer. */
export type AnswerWith = (name: 'ETag' | 'Cache-Control', value: string) => void;

/** A body whose sender is known by now. */
export interface ReceivedBody<Body = unknown> {
  /** The bytes as they came: what a signature is over, and what is kept of a notice. Empty where none was sent. */
  raw: Buffer;
  /** @throws DomainError malformed_request, invalid_request */
  parse: () => Body;
}

export interface OperationRequest<Op extends OperationId> {
  params: ParamsOf<Op>;
  query: QueryOf<Op>;
  body: BodyOf<Op>;
  /** Reads the body, for operations whose contract says `x-late-body`; their `body` is undefined. */
  receiveBody: () => Promise<ReceivedBody<BodyOf<Op>>>;
  /** The body as it arrives, no longer than the contract lets it be. @throws Error where the contract asks for JSON, or for none */
  bodyStream: AsyncIterable<Buffer>;
  /** Of a read `GET` or `HEAD`. */
  method: string;
  /** The network that the request comes from: of an IPv4 address its /24, of an IPv6 address its /48. */
  network: string;
  /** @returns a header of the request, empty where it is absent */
  header: (name: string) => string;
  answerWith: AnswerWith;
  /** Postgres, for operations that read. */
  db: Queries;
  /** For operations that change something. */
  deps: Deps;
  /** When the request was received, by the API's clock: the only clock of business decisions. */
  now: Date;
  /**
   * Charges the club for what a student's call on one of its paths is about to change (DEC-53); for every other call it does
   * nothing. @throws DomainError rate_limited
   */
  chargeChange: () => Promise<void>;
  /** For bounds on guessing, which count what came of a call ({@link file://./rate-limits/tries.ts}). */
  limiter: Limiter;
  /** The client's address, for the same bounds. */
  ip: string;
  /** Only for operations that ask for a session. @throws Error where the contract asks for none */
  caller: Caller;
  /** Only for operations that students alone call. */
  student: StudentIdentity;
  /** Only for operations that administrators alone call; in a club's path they are its member. */
  administrator: { id: Id; role: Role };
}

/** Answers with the body of the contract's success response; the status stands in the contract. */
export type Operation<Op extends OperationId> = (request: OperationRequest<Op>) => Promise<ResponseOf<Op>>;

/** A handler for each operation: a missing or an extra one stops the start. */
export type Operations = { [Op in OperationId]?: Operation<Op> };
