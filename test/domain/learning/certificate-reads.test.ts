import { expect } from 'chai';
import type { Transaction } from '../../../domain/core/database.ts';
import { findCertificateByCode } from '../../../domain/learning/certificate-reads.ts';

describe('looking a certificate up by a code', () => {
  it('does the same work for an unknown code as for what can be none: one statement, then 404', async () => {
    const asked: string[][] = [];
    for (const typed of ['K7QM-4XPA-9T2F', 'K7QM-4XPA-9T2B', 'K7QM', '', '<script>', 'A'.repeat(2_000)]) {
      const statements: string[] = [];
      const tx = { query: async (sql: string) => (statements.push(sql), []) } as unknown as Transaction;
      const refusal: unknown = await findCertificateByCode(tx, typed).catch((error: unknown) => error);
      expect(refusal).to.include({ code: 'not_found', message: 'No certificate has this code.' });
      asked.push(statements);
    }
    expect(asked[0]).to.have.length(1);
    for (const statements of asked) expect(statements).to.deep.equal(asked[0]);
  });
});
