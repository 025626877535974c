/** The permits that limit the concurrent attempts of a process. `worker/lanes/` implements them. */
import type { Id } from '../../../platform/core/ids.ts';
import type { ClaimedDelivery } from './claims.ts';

/** The permits that a step of a run needs for its attempt (HOOK-15 to HOOK-17, ENG-18). */
export interface AttemptPermits {
  /**
   * Acquires the permits of a claimed attempt. The permits are held until `release`.
   * @param attempt.host the target's host with its port
   * @param attempt.isManual an attempt for an administrator gets permits beyond the limits, and never waits
   * @param now Unix milliseconds
   * @returns undefined if all permits were acquired; otherwise when to try again, in Unix milliseconds
   */
  acquire(
    attempt: { deliveryId: Id; endpointId: Id; host: string; isManual: boolean },
    now: number,
  ): number | undefined;
  /** Releases the permits of the delivery's attempt, if it has any. */
  release(deliveryId: Id): void;
  /** Reports how long recording a result took, in milliseconds. Slower recording means fewer permits (ENG-18). */
  reportRecord(durationMs: number): void;
  /** Takes the claim that a fan-out of this process made for the delivery. A second call returns undefined. */
  takeClaim(deliveryId: Id): ClaimedDelivery | undefined;
}

/** The permits for first attempts that a fan-out claims for its own process. */
export interface FirstAttemptPermits {
  /**
   * @returns true if the attempt got a permit with this call. An attempt that already has a permit gets no second permit. The attempt holds
   * the permit until it ends, or until the permit is released.
   */
  tryAcquire(attempt: { deliveryId: Id; endpointId: Id; url: string }): boolean;
  /** Releases the permits of attempts after their transaction was rolled back. */
  release(deliveryIds: readonly Id[]): void;
}

/** The lane that makes first attempts in the relay's process, without a run (HOOK-18). */
export interface DirectLane extends FirstAttemptPermits {
  /** Waits briefly for more permits if only few are free. */
  ready(): Promise<void>;
  /** Begins the attempts. Call it after the commit of the transaction that inserted them. */
  begin(claimed: readonly ClaimedDelivery[]): void;
}
