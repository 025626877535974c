import { expect } from 'chai';
import { createDownloadPermits, type DownloadPermits } from '../../../api/files/download-permits.ts';
import type { DomainError } from '../../../platform/core/errors.ts';

describe('download permits (REPO-8)', () => {
  let permits: DownloadPermits;
  let students = 0;
  beforeEach(() => {
    permits = createDownloadPermits();
  });

  /** @returns 'taken', or the code of the refusal and the seconds to wait */
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

  it('are refused, with a time to retry, above 3 per student or half of the free permits per club', () => {
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

  it('are limited to 3 in each club for a student of two clubs', () => {
    expect([...times(3, 'one', 'student'), ...times(3, 'two', 'student')]).to.deep.equal(grantedPermits(6));
  });

  it('are given to the next download after their return, each only once', () => {
    const release = permits.take({ clubId: 'one', studentId: 'student' });
    times(2, 'one', 'student');
    release();
    release();
    expect(times(2, 'one', 'student')).to.deep.equal(['taken', 'busy 30']);
  });
});
