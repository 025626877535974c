import { expect } from 'chai';
import type { EntityManager } from 'typeorm';
import { Queries } from '../../../../platform/infra/postgres/database.ts';
import { findCertificateByCode } from '../../../../domain/learning/certificates/reads.ts';

describe('the lookup of a certificate by its code', () => {
  it('answers not_found for unknown, malformed and huge codes', async () => {
    const statementsByCode: Record<string, string[]> = {};
    for (const typed of ['K7QM-4XPA-9T2F', 'K7QM-4XPA-9T2B', 'K7QM', '', '<script>', 'A'.repeat(2_000)]) {
      const statements: string[] = [];
      const manager = { query: async (sql: string) => (statements.push(sql), []) } as unknown as EntityManager;
      const db = new Queries(manager);
      const refusal: unknown = await findCertificateByCode(db, typed).catch((error: unknown) => error);
      expect(refusal, typed).to.include({ code: 'not_found', message: 'No certificate has this code.' });
      statementsByCode[typed] = statements;
    }
    const [unknown = []] = Object.values(statementsByCode);
    expect(unknown).to.have.length(1);
    expect(statementsByCode).to.deep.equal(
      Object.fromEntries(Object.keys(statementsByCode).map((typed) => [typed, unknown])),
    );
  });
});
