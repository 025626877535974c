import { expect } from 'chai';
import type { Limiter, Verdict } from '../../../api/rate-limits/limiter.ts';
import { admitUpload } from '../../../api/rate-limits/admission.ts';
import { createUploadPermits, type UploadPermits } from '../../../api/files/upload-permits.ts';
import type { DomainError } from '../../../platform/core/errors.ts';

describe('permits of requests that write to uploads (MED-26)', () => {
  const minute = 60_000;
  let permits: UploadPermits;
  let time: number;
  beforeEach(() => {
    time = 0;
    permits = createUploadPermits(() => time, { protectedMs: minute, releaseMs: 50 });
  });
  /** @param rate bytes per millisecond */
  const take = (clubId: string, { ownerId = null, rate = 1 }: { ownerId?: string | null; rate?: number } = {}) =>
    permits.take({ clubId, ownerId, bytesRead: () => time * rate });
  /** @returns 'taken' if a permit is granted, otherwise the code of the refusal and the seconds to wait */
  const taking = async (...writer: Parameters<typeof take>): Promise<string> => {
    try {
      await take(...writer);
      return 'taken';
    } catch (error) {
      const { code, headers } = error as DomainError;
      return `${code} ${headers.retryAfterSeconds}`;
    }
  };
  const times = async (count: number, clubId: string, ownerId?: string) => {
    const results: string[] = [];
    for (let one = 0; one < count; one++) results.push(await taking(clubId, { ownerId: ownerId ?? null }));
    return results;
  };

  it('allow 4 requests per student, and give each club at most half of the permits that others leave', async () => {
    expect(await times(5, 'one', 'student')).to.deep.equal([...Array<string>(4).fill('taken'), 'busy 5']);
    expect(await times(9, 'one')).to.deep.equal([...Array<string>(8).fill('taken'), 'busy 5']);
    expect(await times(7, 'two')).to.deep.equal([...Array<string>(6).fill('taken'), 'busy 5']);
    expect(await times(4, 'three')).to.deep.equal([...Array<string>(3).fill('taken'), 'busy 5']);
  });

  it('become free when they are returned, and only once if they are returned twice', async () => {
    const { release } = await take('one', { ownerId: 'student' });
    await times(3, 'one', 'student');
    release();
    release();
    expect(await times(2, 'one', 'student')).to.deep.equal(['taken', 'busy 5']);
  });

  /** Takes a permit for a request. When the request is aborted, it returns the permit immediately. */
  const giving = async (name: string, aborted: string[], ...writer: Parameters<typeof take>): Promise<void> => {
    const { signal, release } = await take(...writer);
    signal.addEventListener('abort', () => {
      aborted.push(name);
      setImmediate(release);
    });
  };

  it('are taken from the slowest request that runs for at least a minute, if no permit is free', async () => {
    const aborted: string[] = [];
    for (let one = 0; one < 12; one++) await giving(`a${one}`, aborted, 'a', { rate: 100 - one });
    for (let one = 0; one < 6; one++) await giving(`b${one}`, aborted, 'b', { rate: 50 - one });
    for (let one = 0; one < 3; one++) await giving(`c${one}`, aborted, 'c', { rate: 150 - one });
    for (const club of ['d', 'd', 'e']) await giving(club, aborted, club, { rate: 200 });
    time = minute - 1;
    expect(await taking('f')).to.equal('busy 5');
    time = minute;
    expect(await times(3, 'f')).to.deep.equal(['taken', 'taken', 'taken']);
    expect(aborted).to.deep.equal(['b5', 'b4', 'b3']);
    time = 2 * minute - 1;
    expect(await taking('g')).to.equal('taken');
    expect(aborted.at(-1)).to.equal('b2');
  });

  it('are not taken from a club that has no more permits than the requesting club', async () => {
    const aborted: string[] = [];
    for (let club = 0; club < 24; club++) await giving(`club ${club}`, aborted, `club ${club}`, { rate: 24 - club });
    time = minute;
    expect(await taking('club 0')).to.equal('busy 5');
    expect(await taking('another')).to.equal('taken');
    expect(aborted).to.deep.equal(['club 23']);
  });

  it('are taken from the requester’s own slowest request if the student or club has reached its limit', async () => {
    const aborted: string[] = [];
    for (let one = 0; one < 4; one++)
      await giving(`student${one}`, aborted, 'a', { ownerId: 'student', rate: 50 + one });
    for (let one = 0; one < 8; one++) await giving(`other${one}`, aborted, 'a', { rate: 10 + one });
    await giving('of another club', aborted, 'b', { rate: 0 });
    time = minute;
    expect(await taking('a', { ownerId: 'student' })).to.equal('taken');
    expect(await taking('a', { ownerId: 'another' })).to.equal('taken');
    expect(aborted).to.deep.equal(['student0', 'other0']);
  });

  it('are refused to a new request if the aborted request does not return its permit in time', async () => {
    const stuck = await take('a', { ownerId: 'student' });
    await times(3, 'a', 'student');
    time = minute;
    expect(await taking('a', { ownerId: 'student' })).to.equal('busy 5');
    expect(stuck.signal.aborted).to.equal(true);
    stuck.release();
    expect(await taking('a', { ownerId: 'student' })).to.equal('taken');
  });

  it('never exceed a limit, even if two new requests arrive simultaneously', async () => {
    const writers = await Promise.all([1, 2, 3, 4].map((rate) => take('a', { ownerId: 'student', rate })));
    time = minute;
    const newcomers = [taking('a', { ownerId: 'student' }), taking('a', { ownerId: 'student' })];
    expect(writers.map(({ signal }) => signal.aborted)).to.deep.equal([true, true, false, false]);
    for (const { release } of writers.slice(0, 2)) release();
    expect(await Promise.all(newcomers)).to.deep.equal(['taken', 'taken']);
    expect(await taking('b')).to.equal('taken');
  });
});

describe('the rate limit of new uploads (LIM-22)', () => {
  it('allows each student or library 60 uploads a minute, and tells refused requests when to retry', async () => {
    const charged: unknown[] = [];
    const verdict = (allowed: boolean) =>
      Promise.resolve<Verdict>(allowed ? { allowed } : { allowed, retryAfterSeconds: 7 });
    const counting = (allowed: boolean): Pick<Limiter, 'charge' | 'chargeShared' | 'chargeHere'> => ({
      charge({ counter, limit, windowSeconds }, subject) {
        charged.push([counter, limit, windowSeconds, subject]);
        return verdict(allowed);
      },
      chargeShared({ own, share, pools }, of) {
        const [pool] = pools;
        charged.push([pool?.counter, pool?.limit, pool?.windowSeconds, of, own.limit, share]);
        return verdict(allowed);
      },
      chargeHere: () => ({ allowed: true }),
    });
    await admitUpload(counting(true), { id: 'file', clubId: 'club', ownerId: 'student' }, 0);
    const refusal = await admitUpload(counting(false), { id: 'file', clubId: 'club', ownerId: null }, 0).catch(
      (error: unknown) => error as DomainError,
    );
    expect(charged).to.deep.equal([
      ['upload_creations', 60, 60, 'student'],
      ['library_upload_creations', 60, 60, { club: 'club', caller: 'file' }, 10, 4],
    ]);
    expect(refusal).to.deep.include({ code: 'rate_limited', headers: { retryAfterSeconds: 7 } });
  });
});
