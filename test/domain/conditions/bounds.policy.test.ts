import { expect } from 'chai';
import { conditionRules } from '../../../domain/conditions/bounds.policy.ts';

describe('a condition (CAMP-11)', () => {
  it('has at most 20 rules, of at most 100 ids each', () => {
    expect(conditionRules).to.deep.equal({ rules: 20, ids: 100 });
  });
});
