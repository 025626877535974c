import { expect } from 'chai';
import { notImplemented } from '../../contract/not-implemented.ts';
import { buildClub, buildStudent } from '../toolkit/builders/clubs.ts';
import { call, expectError } from '../toolkit/drive/api.ts';
import { rowCounts } from '../toolkit/stack/database.ts';
import { bodyOf, everyOperation, nameOf, operationOf, pathOf } from '../toolkit/drive/every-operation.ts';

describe('operations that are not built yet', () => {
  describe('501 comes after every check of the request, and nothing is written', () => {
    for (const operationId of notImplemented) {
      const operation = operationOf(operationId);
      it(nameOf(operation), async () => {
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
  });

  it('the contract marks exactly the operations of the one list', () => {
    const marked = everyOperation
      .filter((operation) => operation.notImplemented)
      .map((operation) => operation.operationId);
    expect(marked).to.have.members([...notImplemented]);
  });
});
