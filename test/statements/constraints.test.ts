import { expect } from 'chai';
import { constraintsIn, impliedNotNull, type Facts } from './constraints.ts';

const implied = (
  definition: string,
  facts: Partial<Record<'notNull' | 'isNull', string[]>> & { texts?: Record<string, string> },
) => {
  const known: Facts = {
    notNull: new Set(facts.notNull),
    isNull: new Set(facts.isNull),
    texts: new Map(Object.entries(facts.texts ?? {})),
  };
  return impliedNotNull(constraintsIn(definition), known);
};

describe('the search for columns that a CHECK constraint makes not null', () => {
  it('finds a column in `(a IS NULL) = (b IS NOT NULL)`', () => {
    const definition = 'CHECK (((removed_at IS NULL) = (email IS NOT NULL)))';
    expect(implied(definition, { isNull: ['removed_at'] })).to.deep.equal(['email']);
    expect(implied(definition, { isNull: ['email'] })).to.deep.equal(['removed_at']);
    expect(implied(definition, { notNull: ['removed_at'] })).to.deep.equal([]);
    expect(implied(definition, {})).to.deep.equal([]);
  });

  it('finds a column in `(a IS NOT NULL) = (status = …)` if the status is known', () => {
    const definition = "CHECK (((error IS NOT NULL) = (status = 'failed'::text)))";
    expect(implied(definition, { texts: { status: 'failed' } })).to.deep.equal(['error']);
    expect(implied(definition, { texts: { status: 'ready' } })).to.deep.equal([]);
  });

  it('finds a column in `status <> … OR a IS NOT NULL` if the status is known', () => {
    const definition = "CHECK (((status <> 'active'::text) OR (cursor IS NOT NULL)))";
    expect(implied(definition, { texts: { status: 'active' } })).to.deep.equal(['cursor']);
    expect(implied(definition, { texts: { status: 'ended' } })).to.deep.equal([]);
  });

  it('finds several columns in equations that AND joins', () => {
    const definition =
      'CHECK ((((gone_at IS NULL) = (name IS NOT NULL)) AND ((gone_at IS NULL) = (email IS NOT NULL))))';
    expect(implied(definition, { isNull: ['gone_at'] })).to.deep.equal(['name', 'email']);
  });

  it('ignores constraints of other forms', () => {
    expect(constraintsIn("CHECK (((kind = 'a'::text) AND ((x IS NULL) = (y IS NULL))))")).to.deep.equal([]);
    expect(constraintsIn("CHECK (((status <> 'a'::text) OR ((x IS NULL) = (y IS NOT NULL))))")).to.deep.equal([]);
    expect(constraintsIn('CHECK ((size >= 0))')).to.deep.equal([]);
  });
});
