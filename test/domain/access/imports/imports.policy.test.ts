import { expect } from 'chai';
import { hasImportEnded, rowsABatch } from '../../../../domain/access/imports/imports.policy.ts';
import { endedImportStatuses, importStatuses } from '../../../../entities/access/values.ts';

describe('an import of students', () => {
  it('has ended only if its status is a final status', () => {
    expect(importStatuses.filter(hasImportEnded)).to.have.members([...endedImportStatuses]);
    expect(hasImportEnded('running')).to.equal(false);
  });

  it('takes 500 rows for each batch, or fewer if 500 rows would create more than 4,000 enrollments', () => {
    expect([0, 1, 8, 9, 16, 4_000, 5_000].map(rowsABatch)).to.deep.equal([500, 500, 500, 444, 250, 1, 1]);
  });
});
