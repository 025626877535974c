/**
 * The open event streams of this process. Their number is limited for each caller, for each club and in total. A stream ends when the
 * session or the API key of its caller ends (DEC-11, DEC-58, DEC-121). It also ends when the caller loses a right that the stream needs
 * (LSN-5).
 */
import { findLivingCallers, type StreamCaller } from '../domain/identity/living-callers.ts';
import { exhaustedLimit } from '../platform/core/fair-permits.policy.ts';
import type { Id } from '../platform/core/ids.ts';
import type { Queries } from '../platform/infra/postgres/database.ts';
import { sha256 } from '../platform/infra/keys/vault.ts';
import { eventStreamsRefused } from './metrics.ts';
import { idOf, type Caller } from './operation.ts';
import { RefusalToPerson } from '../domain/language/refusal.ts';

/** The interval at which the callers of open streams are checked. A stream ends when its caller is refused in two checks. */
const checkIntervalMs = 1_000;
/** `Retry-After` for a caller at the limit of open streams: about the duration of an answer. */
const retryAfterSeconds = 5;

export interface StreamBounds {
  /** The limit of open streams of one student, administrator or API key. */
  perStudent: number;
  /** The limit of open streams of all callers together. */
  inAll: number;
}

/** The permit of one stream. */
export interface StreamPermit {
  /** This signal aborts when the session or key of the caller has ended. */
  sessionEnded: AbortSignal;
  /** Returns the permit. Repeated calls have no effect. */
  release(): void;
}

/** The rights that the caller of a stream needs as long as it is open. */
export type StreamAccess = Omit<StreamCaller, 'tokenHash'>;

export interface OpenStreams {
  /**
   * @param access the club in the request's path, in which the caller acts, and the rights that the caller must keep
   * @throws DomainError rate_limited if the caller, the club or the process is at its limit
   */
  take(caller: Caller, access: StreamAccess): StreamPermit;
  /** Stops the timer. */
  stop(): void;
}

export interface OpenStreamsDeps {
  db: Queries;
  clock: () => Date;
  bounds: StreamBounds;
  /** Is called when a check of the callers fails. All callers then count as valid until the next check. */
  onFailure: (error: unknown) => void;
}

interface OpenStream extends StreamCaller {
  owner: Id;
  sessionEnded: AbortController;
  /** True if the last check found no valid session or key for this stream. */
  isSessionMissing: boolean;
}

const refusals = {
  student: 'refusal.too_many_answers_followed',
  club: 'refusal.answers_of_club_followed',
  process: 'refusal.answers_followed',
} as const;

export function createOpenStreams({ db, clock, bounds, onFailure }: OpenStreamsDeps): OpenStreams {
  const streams = new Set<OpenStream>();
  let isChecking = false;

  function refuseBeyondBounds(owner: Id, clubId: Id): void {
    const count = (of: (stream: OpenStream) => boolean) => [...streams].filter(of).length;
    const own = count((stream) => stream.owner === owner);
    const usage = { all: streams.size, club: count((stream) => stream.clubId === clubId) };
    const reason = own >= bounds.perStudent ? 'student' : exhaustedLimit(bounds.inAll, usage);
    if (!reason) return;
    eventStreamsRefused.inc({ reason });
    throw new RefusalToPerson('rate_limited', refusals[reason], { retryAfterSeconds });
  }

  /** Checks the callers of all streams with one statement. */
  async function checkSessions(): Promise<void> {
    if (isChecking || streams.size === 0) return;
    isChecking = true;
    try {
      const checked = [...streams];
      const living = await findLivingCallers(db, checked, clock());
      for (const [index, stream] of checked.entries()) {
        if (living[index]) continue;
        // The first check without the session does not end the stream. If the student was removed, the answer may still send its last
        // event.
        if (stream.isSessionMissing) stream.sessionEnded.abort();
        stream.isSessionMissing = true;
      }
    } catch (error) {
      onFailure(error);
    } finally {
      isChecking = false;
    }
  }

  const timer = setInterval(() => void checkSessions(), checkIntervalMs);
  timer.unref();
  return {
    take(caller, access) {
      const owner = idOf(caller);
      refuseBeyondBounds(owner, access.clubId);
      const stream = {
        ...access,
        owner,
        tokenHash: sha256(caller.token),
        sessionEnded: new AbortController(),
        isSessionMissing: false,
      };
      streams.add(stream);
      return {
        sessionEnded: stream.sessionEnded.signal,
        release() {
          streams.delete(stream);
        },
      };
    },
    stop: () => clearInterval(timer),
  };
}
