/** The streams of events that this process has open: bounded for each caller, each club and in all, and ended with their session (DEC-11, DEC-58, DEC-121). */
import { findLivingSessions } from '../domain/identity/sessions.ts';
import { fullFor } from '../platform/core/fair-places.policy.ts';
import type { Id } from '../platform/core/ids.ts';
import type { Queries } from '../platform/infra/postgres/database.ts';
import { sha256 } from '../platform/infra/vault.ts';
import { eventStreamsRefused } from './metrics.ts';
import type { Caller } from './operation.ts';
import { RefusalToPerson } from '../domain/language/refusal.ts';

/** How often sessions of open streams are looked for: a stream ends at the second look that does not find its session. */
const lookEveryMs = 1_000;
/** `Retry-After` for a caller with as many open streams as allowed: about as long as an answer takes. */
const retryAfterSeconds = 5;

export interface StreamBounds {
  /** Streams of one student. */
  perStudent: number;
  /** Of everybody. */
  inAll: number;
}

/** The place of one stream. */
export interface StreamPlace {
  /** Aborted when the session of its caller has ended. */
  sessionEnded: AbortSignal;
  /** Gives the place back. Safe to repeat. */
  release(): void;
}

export interface OpenStreams {
  /**
   * @param clubId the club that the request's path names, in which the caller acts
   * @throws DomainError rate_limited if the caller, the club or the process has as many as may be
   */
  take(caller: Caller, clubId: Id): StreamPlace;
  /** Ends the timer. */
  stop(): void;
}

export interface OpenStreamsDeps {
  db: Queries;
  clock: () => Date;
  bounds: StreamBounds;
  /** Called with a look that failed: sessions count as living until the next one. */
  onFailure: (error: unknown) => void;
}

interface Place {
  owner: Id;
  clubId: Id;
  tokenHash: Buffer;
  ending: AbortController;
  /** The last look found its session ended. */
  isOver: boolean;
}

const refusals = {
  student: 'refusal.too_many_answers_followed',
  club: 'refusal.answers_of_club_followed',
  process: 'refusal.answers_followed',
} as const;

export function createOpenStreams({ db, clock, bounds, onFailure }: OpenStreamsDeps): OpenStreams {
  const places = new Set<Place>();
  let isLooking = false;

  function refuseBeyondBounds(owner: Id, clubId: Id): void {
    const count = (of: (place: Place) => boolean) => [...places].filter(of).length;
    const own = count((place) => place.owner === owner);
    const taken = { all: places.size, club: count((place) => place.clubId === clubId) };
    const reason = own >= bounds.perStudent ? 'student' : fullFor(bounds.inAll, taken);
    if (!reason) return;
    eventStreamsRefused.inc({ reason });
    throw new RefusalToPerson('rate_limited', refusals[reason], { retryAfterSeconds });
  }

  /** One statement for all. */
  async function look(): Promise<void> {
    if (isLooking || places.size === 0) return;
    isLooking = true;
    try {
      const looked = [...places];
      const living = await findLivingSessions(
        db,
        looked.map(({ tokenHash }) => tokenHash),
        clock(),
      );
      for (const [index, place] of looked.entries()) {
        if (living[index]) continue;
        // Not at once: what ended the session, such as a removal, may be telling the stream how its answer ends.
        if (place.isOver) place.ending.abort();
        place.isOver = true;
      }
    } catch (error) {
      onFailure(error);
    } finally {
      isLooking = false;
    }
  }

  const looking = setInterval(() => void look(), lookEveryMs);
  looking.unref();
  return {
    take(caller, clubId) {
      const owner = caller.kind === 'student' ? caller.student.id : caller.administratorId;
      refuseBeyondBounds(owner, clubId);
      const place = { owner, clubId, tokenHash: sha256(caller.token), ending: new AbortController(), isOver: false };
      places.add(place);
      return {
        sessionEnded: place.ending.signal,
        release() {
          places.delete(place);
        },
      };
    },
    stop: () => clearInterval(looking),
  };
}
