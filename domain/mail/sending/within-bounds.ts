/** Sends bulk mail within a club's rate (CAMP-7) and daily limit (CAMP-41). */
import type { Id } from '../../../platform/core/ids.ts';
import type { Database } from '../../../platform/infra/postgres/database.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import { returnAllowance, takeAllowance } from '../bounds/allowance.ts';
import { returnMailsOfDay, takeMailsOfDay } from '../bounds/bulk-days.ts';
import { fromOf, type From } from '../domains/from.ts';
import type { SentPage } from './hand-over.ts';
import { dayOf, type WarmUps } from '../bounds/pace.policy.ts';

interface BoundsDeps {
  db: Database;
  vault: Vault;
  fromAddress: string;
  warmUps: WarmUps;
}

/** The limit that delays the mails, and the end of the delay. */
interface Wait {
  waitingFor: 'rate' | 'day';
  until: Date;
}

/**
 * Sends as many mails as the club may send now, and returns the unused part of the limits.
 * @param most the number of mails that wait
 * @param send hands over at most `granted` mails
 */
export async function sendWithinBounds(
  deps: BoundsDeps,
  clubId: Id,
  most: number,
  now: Date,
  send: (from: From, granted: number) => Promise<SentPage>,
): Promise<SentPage | Wait> {
  const { db, warmUps } = deps;
  const { granted, nextInMs } = await takeAllowance(db, clubId, most, now);
  if (granted === 0) return { waitingFor: 'rate', until: new Date(now.getTime() + Math.max(1_000, nextInMs)) };
  const from = await fromOf(deps, clubId, deps.fromAddress);
  const { domainProvenAt } = from;
  const mails = await takeMailsOfDay(db, clubId, { mails: granted, domainProvenAt, warmUps }, now);
  if (mails === 0) {
    await returnAllowance(db, clubId, granted);
    return { waitingFor: 'day', until: dayOf(now, 1) };
  }
  const page = await send(from, mails);
  await returnAllowance(db, clubId, granted - page.handedOver);
  await returnMailsOfDay(db, clubId, mails - page.handedOver, now);
  return page;
}
