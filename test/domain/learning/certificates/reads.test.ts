import { expect } from 'chai';
import type { EntityManager } from 'typeorm';
import { Queries } from '../../../../platform/infra/postgres/database.ts';
import { findCertificateByCode } from '../../../../domain/learning/certificates/reads.ts';

describe('lookup of a certificate by its code', () => {
  it('runs one statement and answers not_found for an unknown, a malformed and a huge code alike', async () => {
    const asked: Record<string, string[]> = {};
    for (const typed of ['K7QM-4XPA-9T2F', 'K7QM-4XPA-9T2B', 'K7QM', '', '<script>', 'A'.repeat(2_000)]) {
      const statements: string[] = [];
      const manager = { query: async (sql: string) => (statements.push(sql), []) } as unknown as EntityManager;
      const db = new Queries(manager);
      const refusal: unknown = await findCertificateByCode(db, typed).catch((error: unknown) => error);
      expect(refusal, typed).to.include({ code: 'not_found', message: 'No certificate has this code.' });
      asked[typed] = statements;
    }
    const [unknown = []] = Object.values(asked);
    expect(unknown).to.have.length(1);
    expect(asked).to.deep.equal(Object.fromEntries(Object.keys(asked).map((typed) => [typed, unknown])));
  });
});
