/** The scenario of mail domains: a club publishes and withdraws DNS records, name servers do not answer, and checks overtake each other. */
import { checkMailDomain } from '../../../../domain/mail/domains/checking.ts';
import {
  makeDomainKeys,
  readMailDomain,
  removeMailDomain,
  setMailDomain,
  type DomainKeys,
} from '../../../../domain/mail/domains/domains.ts';
import type { Id } from '../../../../platform/core/ids.ts';
import type { Simulation } from '../simulation.ts';
import { mustHold, type Command, type Stage } from '../stage.ts';
import { addClub, type Footing } from './ground.ts';

const names = ['knots.example', 'ropes.example'] as const;
const dayMs = 86_400_000;
/** The time limit for the remaining work. It includes the next check of a proven domain, a day later. */
const horizonMs = dayMs + 6 * 3_600_000;

/** In the mood `is slow once` only one query is slow, so that a later check overtakes the slow check. */
const moods = ['answers', 'is slow once', 'is silent'] as const;
type Mood = (typeof moods)[number];

interface DomainRow {
  id: Id;
  status: string;
  publicKey: string;
  name: string;
  firstProvenAt: Date | null;
  checkedAt: Date | null;
}

/**
 * The keys are generated only once. A thread needs a tenth of a second for each key, and a schedule cannot repeat the order of work in
 * other threads.
 */
let keys: Promise<DomainKeys[]> | undefined;

export async function mailDomains(sim: Simulation, ground: Footing): Promise<Stage> {
  const { vault } = ground;
  const prepared = await (keys ??= Promise.all(Array.from({ length: 4 }, makeDomainKeys)));
  const clubId = await addClub(sim, ground);
  const published = new Map<string, string>();
  /** The keys that a name server has returned. */
  const returnedKeys = new Set<string>();
  /** Whether a name server ever failed to answer or had no records. */
  let wasGone = false;
  /** The last time at which a name server returned no record. */
  let blankAt = 0;
  let mood: Mood = 'answers';
  let keyCount = 0;
  /** Columns of each domain that may never return to an earlier value. */
  const earlierRows = new Map<Id, Pick<DomainRow, 'firstProvenAt' | 'checkedAt'>>();
  const now = () => new Date(sim.time.now);

  const settings = {
    platformAddress: 'news@platform.test',
    warmUps: { clubs: [], domains: [] },
    spfInclude: 'spf.platform.test',
    makeKeys: () => Promise.resolve(prepared[keyCount++ % prepared.length] as DomainKeys),
    async resolveText(name: string): Promise<readonly string[]> {
      const reply = await sim.outside(`a name server is asked for ${labelOf(name)}`, () => {
        const text = published.get(name);
        if (text === undefined) blankAt = sim.time.now;
        const key = /p=([^;]+)/.exec(text ?? '')?.[1];
        if (key !== undefined && mood !== 'is silent') returnedKeys.add(key);
        const answer = { mood, text };
        if (mood === 'is slow once') mood = 'answers';
        return answer;
      });
      if (reply.mood === 'is silent') throw new Error('queryTxt ETIMEOUT');
      if (reply.mood === 'is slow once') await new Promise((resolve) => void setTimeout(resolve, 4_000));
      return reply.text === undefined ? [] : [reply.text];
    },
  };
  const deps = { db: sim.db, vault, mailDomains: settings };

  const setMood = (next: Mood): Command => ({
    label: `the name server ${next}`,
    run() {
      mood = next;
      wasGone ||= next === 'is silent';
    },
  });

  /** The club publishes the records that the API returns. */
  const publish: Command = {
    label: 'the club publishes its records',
    async run() {
      const { records } = await readMailDomain(deps, clubId);
      for (const { name, value } of records) published.set(name, value);
      wasGone ||= blankAt === sim.time.now; // if two checks happen at the same time, either check may count as the later one
    },
  };
  const withdraw: Command = {
    label: 'the club takes its records back',
    run() {
      published.clear();
      wasGone = true;
    },
  };
  const set = (domain: string): Command => ({
    label: `the club sets ${domain}`,
    run: async () => void (await setMailDomain(deps, clubId, { domain }, now())),
  });

  await set(names[0]).run();

  return {
    types: ['mailDomain'],
    horizonMs,
    depsFor: (db) => ({ db, vault, mailDomains: settings }),
    command(decisions) {
      const which = decisions.choose(10);
      if (which < 2) return set(decisions.pick(names));
      if (which < 4) return publish;
      if (which === 4) return withdraw;
      if (which === 5)
        return { label: 'the club removes its domain', run: () => removeMailDomain(deps, clubId, now()) };
      if (which < 8)
        return {
          label: `the club has its records checked${which === 7 ? ', a second later' : ''}`,
          async run() {
            if (which === 7) await new Promise((resolve) => void setTimeout(resolve, 1_000));
            await checkMailDomain(deps, clubId, now());
          },
        };
      return setMood(decisions.pick(moods));
    },
    calm: () => [setMood('answers')],
    async atRest() {
      for (const row of await rows()) expectStory(row);
    },
    async atEnd() {
      for (const row of await rows()) {
        expectStory(row);
        const isPublished = published.has(row.name);
        const was = row.firstProvenAt === null ? 'unproven' : 'lapsed';
        mustHold(
          row.status === (isPublished ? 'proven' : was),
          'a change in DNS is known within a day',
          () => `domain ${row.id} is ${row.status}, and its records are ${isPublished ? '' : 'not '}published`,
        );
        mustHold(
          row.checkedAt !== null && sim.time.now - row.checkedAt.getTime() <= dayMs + 3_600_000,
          'each domain is checked every day',
          () => `domain ${row.id} was checked at ${row.checkedAt?.toISOString() ?? 'never'}`,
        );
      }
    },
  };

  function rows(): Promise<DomainRow[]> {
    return sim.postgres.ask<DomainRow>(
      `SELECT id, status, public_key AS "publicKey", selector || '._domainkey.' || domain AS name, first_proven_at AS "firstProvenAt", checked_at AS "checkedAt" FROM mail_domains`,
    );
  }

  function expectStory(row: DomainRow): void {
    const { id, publicKey, status, firstProvenAt, checkedAt } = row;
    const before = earlierRows.get(id);
    earlierRows.set(id, { firstProvenAt, checkedAt });
    mustHold(
      !before?.firstProvenAt || before.firstProvenAt.getTime() === firstProvenAt?.getTime(),
      'a domain is proven first once',
      () => `domain ${id}: first ${before?.firstProvenAt?.toISOString()}, then ${firstProvenAt?.toISOString()}`,
    );
    mustHold(
      !before?.checkedAt || before.checkedAt.getTime() <= (checkedAt?.getTime() ?? 0),
      'a later check has the last word',
      () => `domain ${id}: checked ${before?.checkedAt?.toISOString()}, then ${checkedAt?.toISOString()}`,
    );
    mustHold(
      firstProvenAt === null || returnedKeys.has(publicKey),
      'a recorded effect has happened',
      () => `domain ${id} was proven, and no name server had its key`,
    );
    mustHold(
      status !== 'lapsed' || wasGone,
      'a recorded effect has happened',
      () => `domain ${id} has lapsed, and every name server had its key`,
    );
  }
}

/** Replaces the random name of the key, because the name differs in each run. */
const labelOf = (name: string): string => name.replace(/^k[0-9a-f]{8}\./, 'key.');
