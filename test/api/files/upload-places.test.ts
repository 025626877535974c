import { expect } from 'chai';
import { admitUpload } from '../../../api/rate-limits/admission.ts';
import { createUploadPlaces, type UploadPlaces } from '../../../api/files/upload-places.ts';
import type { DomainError } from '../../../platform/core/errors.ts';

describe('places of requests that write to uploads (MED-26)', () => {
  let places: UploadPlaces;
  beforeEach(() => {
    places = createUploadPlaces();
  });
  /** @returns 'taken', or the code of the refusal and its seconds */
  const taking = (clubId: string, ownerId: string | null = null): string => {
    try {
      places.take({ clubId, ownerId });
      return 'taken';
    } catch (error) {
      const { code, headers } = error as DomainError;
      return `${code} ${headers.retryAfterSeconds}`;
    }
  };
  const times = (count: number, clubId: string, ownerId?: string) =>
    Array.from({ length: count }, () => taking(clubId, ownerId));

  it('a student has 4, a club 12, a process 24; the next is refused and told when to come back', () => {
    expect(times(5, 'one', 'student')).to.deep.equal([...Array<string>(4).fill('taken'), 'busy 5']);
    expect(times(9, 'one')).to.deep.equal([...Array<string>(8).fill('taken'), 'busy 5']);
    expect(times(13, 'two')).to.deep.equal([...Array<string>(12).fill('taken'), 'busy 5']);
    expect(taking('three')).to.equal('busy 5');
  });

  it('a place that was given back is had by the next, once', () => {
    const release = places.take({ clubId: 'one', ownerId: 'student' });
    times(3, 'one', 'student');
    release();
    release();
    expect(times(2, 'one', 'student')).to.deep.equal(['taken', 'busy 5']);
  });
});

describe('beginnings of uploads (LIM-22)', () => {
  it('are charged to the student or the library, 60 a minute each; a refusal says when to come back', async () => {
    const charged: unknown[] = [];
    const counting = (allowed: boolean) => ({
      charge: (budget: { counter: string; limit: number; windowSeconds: number }, subject: string) => {
        charged.push([budget.counter, budget.limit, budget.windowSeconds, subject]);
        return Promise.resolve(allowed ? { allowed } : { allowed, retryAfterSeconds: 7 });
      },
      chargeHere: () => ({ allowed: true }) as const,
    });
    await admitUpload(counting(true), { clubId: 'club', ownerId: 'student' }, 0);
    const refusal = await admitUpload(counting(false), { clubId: 'club', ownerId: null }, 0).catch(
      (error: unknown) => error as DomainError,
    );
    expect(charged).to.deep.equal([
      ['upload_creations', 60, 60, 'student'],
      ['library_upload_creations', 60, 60, 'club'],
    ]);
    expect(refusal).to.deep.include({ code: 'rate_limited', headers: { retryAfterSeconds: 7 } });
  });
});
