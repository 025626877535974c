import { expect } from 'chai';
import { notImplemented } from '../../contract/not-implemented.ts';
import { buildClub, buildStudent } from '../toolkit/builders/clubs.ts';
import { call, expectError } from '../toolkit/drive/api.ts';
import { rowCounts } from '../toolkit/stack/database.ts';
import { bodyOf, everyOperation, nameOf, operationOf, pathOf } from '../toolkit/drive/every-operation.ts';

describe('501: operations that are not built yet', () => {
  for (const operationId of notImplemented) {
    const operation = operationOf(operationId);
    it(`${nameOf(operation)}: after every check of the request, and nothing is written`, async () => {
      const { id: clubId, owner } = await buildClub();
      const student = await buildStudent(clubId);
      const token = operation.auth.includes('student') ? student.token : owner.token;
      const before = await rowCounts();
      const answer = await call(operation.method.toUpperCase(), pathOf(operation, { clubId }), {
        token,
        body: bodyOf(operation),
      });
      expectError(answer, 'not_implemented');
      expect(await rowCounts()).to.deep.equal(before);
      if (operation.auth.length > 0) {
        const stranger = await call(operation.method.toUpperCase(), pathOf(operation, { clubId }));
        expectError(stranger, 'unauthenticated');
      }
    });
  }

  it('are listed in one place, which the contract follows', () => {
    const marked = everyOperation
      .filter((operation) => operation.notImplemented)
      .map((operation) => operation.operationId);
    expect(marked).to.have.members([...notImplemented]);
  });
});
