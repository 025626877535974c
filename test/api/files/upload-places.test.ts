import { expect } from 'chai';
import type { Limiter, Verdict } from '../../../api/rate-limits/limiter.ts';
import { admitUpload } from '../../../api/rate-limits/admission.ts';
import { createUploadPlaces, type UploadPlaces } from '../../../api/files/upload-places.ts';
import type { DomainError } from '../../../platform/core/errors.ts';

describe('permits of requests that write to uploads (MED-26)', () => {
  const minute = 60_000;
  let places: UploadPlaces;
  let time: number;
  beforeEach(() => {
    time = 0;
    places = createUploadPlaces(() => time, { undisturbedMs: minute, givingWayMs: 50 });
  });
  /** @param rate bytes a millisecond */
  const take = (clubId: string, { ownerId = null, rate = 1 }: { ownerId?: string | null; rate?: number } = {}) =>
    places.take({ clubId, ownerId, bytesRead: () => time * rate });
  /** @returns 'taken', or the code of the refusal and its seconds */
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

  it('a student has 4, a club half of the free permits; the next is refused with a time to retry', async () => {
    expect(await times(5, 'one', 'student')).to.deep.equal([...Array<string>(4).fill('taken'), 'busy 5']);
    expect(await times(9, 'one')).to.deep.equal([...Array<string>(8).fill('taken'), 'busy 5']);
    expect(await times(7, 'two')).to.deep.equal([...Array<string>(6).fill('taken'), 'busy 5']);
    expect(await times(4, 'three')).to.deep.equal([...Array<string>(3).fill('taken'), 'busy 5']);
  });

  it('a returned permit goes to the next request, once', async () => {
    const { release } = await take('one', { ownerId: 'student' });
    await times(3, 'one', 'student');
    release();
    release();
    expect(await times(2, 'one', 'student')).to.deep.equal(['taken', 'busy 5']);
  });

  /** The writer gives its permit up immediately, like a request that stores the received bytes. */
  const giving = async (name: string, given: string[], ...writer: Parameters<typeof take>): Promise<void> => {
    const { signal, release } = await take(...writer);
    signal.addEventListener('abort', () => {
      given.push(name);
      setImmediate(release);
    });
  };

  it('after a minute the slowest of all gives way, then the next slowest, and never the newcomers', async () => {
    const given: string[] = [];
    for (let one = 0; one < 12; one++) await giving(`a${one}`, given, 'a', { rate: 100 - one });
    for (let one = 0; one < 6; one++) await giving(`b${one}`, given, 'b', { rate: 50 - one });
    for (let one = 0; one < 3; one++) await giving(`c${one}`, given, 'c', { rate: 150 - one });
    for (const club of ['d', 'd', 'e']) await giving(club, given, club, { rate: 200 });
    time = minute - 1;
    expect(await taking('f')).to.equal('busy 5');
    time = minute;
    expect(await times(3, 'f')).to.deep.equal(['taken', 'taken', 'taken']);
    expect(given).to.deep.equal(['b5', 'b4', 'b3']);
    time = 2 * minute - 1;
    expect(await taking('g')).to.equal('taken');
    expect(given.at(-1)).to.equal('b2');
  });

  it('a club takes no permit from a club with as few, however slow its uploads are', async () => {
    const given: string[] = [];
    for (let club = 0; club < 24; club++) await giving(`club ${club}`, given, `club ${club}`, { rate: 24 - club });
    time = minute;
    expect(await taking('club 0')).to.equal('busy 5');
    expect(await taking('another')).to.equal('taken');
    expect(given).to.deep.equal(['club 23']);
  });

  it('if a club or a student has no permit left, one of its own requests gives way', async () => {
    const given: string[] = [];
    for (let one = 0; one < 4; one++) await giving(`student${one}`, given, 'a', { ownerId: 'student', rate: 50 + one });
    for (let one = 0; one < 8; one++) await giving(`other${one}`, given, 'a', { rate: 10 + one });
    await giving('of another club', given, 'b', { rate: 0 });
    time = minute;
    expect(await taking('a', { ownerId: 'student' })).to.equal('taken');
    expect(await taking('a', { ownerId: 'another' })).to.equal('taken');
    expect(given).to.deep.equal(['student0', 'other0']);
  });

  it('a request that does not return its permit in time keeps it, and the newcomer is refused', async () => {
    const stuck = await take('a', { ownerId: 'student' });
    await times(3, 'a', 'student');
    time = minute;
    expect(await taking('a', { ownerId: 'student' })).to.equal('busy 5');
    expect(stuck.signal.aborted).to.equal(true);
    stuck.release();
    expect(await taking('a', { ownerId: 'student' })).to.equal('taken');
  });

  it('two simultaneous newcomers get the permits of two, and no bound is exceeded meanwhile', async () => {
    const held = await Promise.all([1, 2, 3, 4].map((rate) => take('a', { ownerId: 'student', rate })));
    time = minute;
    const newcomers = [taking('a', { ownerId: 'student' }), taking('a', { ownerId: 'student' })];
    expect(held.map(({ signal }) => signal.aborted)).to.deep.equal([true, true, false, false]);
    for (const { release } of held.slice(0, 2)) release();
    expect(await Promise.all(newcomers)).to.deep.equal(['taken', 'taken']);
    expect(await taking('b')).to.equal('taken');
  });
});

describe('beginnings of uploads (LIM-22)', () => {
  it('are charged to the student or the library, 60 a minute each; a refusal says when to come back', async () => {
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
