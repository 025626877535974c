import { expect } from 'chai';
import { createDownloadPermits, type DownloadPermits } from '../../../api/files/download-permits.ts';
import type { DomainError } from '../../../platform/core/errors.ts';

describe('download permits (REPO-8)', () => {
  let permits: DownloadPermits;
  let students = 0;
  beforeEach(() => {
    permits = createDownloadPermits();
  });

  /** @returns 'taken' if a permit is granted, otherwise the code of the refusal and the seconds to wait */
  function taking(clubId: string, studentId = `student ${students++}`): string {
    try {
      permits.take({ clubId, studentId });
      return 'taken';
    } catch (error) {
      const { code, headers } = error as DomainError;
      return `${code} ${headers.retryAfterSeconds}`;
    }
  }
  const times = (count: number, clubId: string, studentId?: string) =>
    Array.from({ length: count }, () => taking(clubId, studentId));
  const grantedPermits = (count: number) => Array<string>(count).fill('taken');

  it('allow 3 downloads per student, and give each club at most half of the permits that others leave', () => {
    expect(times(4, 'one', 'student')).to.deep.equal([...grantedPermits(3), 'busy 30']);
    expect(times(48, 'one')).to.deep.equal([...grantedPermits(47), 'busy 30']);
    expect(times(26, 'two')).to.deep.equal([...grantedPermits(25), 'busy 30']);
    expect(times(14, 'three'), 'two clubs leave permits for a third club').to.deep.equal([
      ...grantedPermits(13),
      'busy 30',
    ]);
    for (const [club, count] of [
      ['four', 6],
      ['five', 3],
      ['six', 2],
      ['seven', 1],
      ['eight', 0],
    ] as const)
      expect(times(count + 1, club)).to.deep.equal([...grantedPermits(count), 'busy 30']);
  });

  it('allow 3 downloads in each club to a student of two clubs', () => {
    expect([...times(3, 'one', 'student'), ...times(3, 'two', 'student')]).to.deep.equal(grantedPermits(6));
  });

  it('become free when they are returned, and only once if they are returned twice', () => {
    const release = permits.take({ clubId: 'one', studentId: 'student' });
    times(2, 'one', 'student');
    release();
    release();
    expect(times(2, 'one', 'student')).to.deep.equal(['taken', 'busy 30']);
  });
});
