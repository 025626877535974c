/** Tests which terms of older contracts may end, and when (VER-5). */
import { expect } from 'chai';
import { brokenTerms } from './contract-terms.ts';
import { endedTerms, type RecordedContract } from './ended-terms.ts';

const notice = { since: '2027-01-01', sunset: '2027-07-01', successor: 'other' };
const mark = { deprecated: true, 'x-deprecation': notice };

/** A contract with an operation, a parameter and a field, each of which can be marked or absent. */
function contractOf(
  parts: { operation?: object | null; parameter?: object | null; field?: object | null } = {},
): object {
  const { operation = {}, parameter = {}, field = {} } = parts;
  const colour = field && { colour: { type: 'string', ...field } };
  return {
    paths: {
      '/knots': {
        ...(operation && { get: { responses: {}, ...operation } }),
        put: { parameters: parameter ? [{ $ref: '#/components/parameters/Tight' }] : [], responses: answerOf('Knot') },
      },
    },
    components: {
      parameters: { Tight: { name: 'tight', in: 'query', schema: { type: 'boolean' }, ...parameter } },
      schemas: { Knot: { type: 'object', required: field ? ['colour'] : [], properties: { ...colour } } },
    },
  };
}

const answerOf = (schema: string) => ({
  200: { content: { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` } } } },
});
const plain: RecordedContract = { contract: contractOf(), recordedAt: '2026-11-01T10:00:00.000Z' };
const announcing: RecordedContract = {
  contract: contractOf({ operation: mark, parameter: mark, field: mark }),
  recordedAt: '2027-01-01T10:00:00.000Z',
};
const withoutAll = contractOf({ operation: null, parameter: null, field: null });
const lines = [
  'no longer: get /knots',
  'no longer: put /knots query tight',
  'no longer: schemas/Knot/colour is always there',
  'no longer: schemas/Knot/colour',
];

describe('terms of older contracts', () => {
  it('are broken if an operation, a parameter and a field disappear', () => {
    expect(brokenTerms(plain.contract, withoutAll)).to.deep.equal(lines);
  });

  it('may end on the day of the announced sunset, and not before', () => {
    expect([...endedTerms([plain, announcing], withoutAll, '2027-06-30')]).to.deep.equal([]);
    expect([...endedTerms([plain, announcing], withoutAll, '2027-07-01')]).to.deep.equal(lines);
  });

  it('may not end without an announcement in a recorded release', () => {
    expect([...endedTerms([plain], withoutAll, '2030-01-01')]).to.deep.equal([]);
  });

  it('may not end before callers had the announcement for six months', () => {
    const late = { ...announcing, recordedAt: '2027-05-31T10:00:00.000Z' };
    expect([...endedTerms([plain, late], withoutAll, '2027-11-29')]).to.deep.equal([]);
    expect([...endedTerms([plain, late], withoutAll, '2027-11-30')]).to.deep.equal(lines);
  });

  it('may not end before the latest sunset that a release has announced', () => {
    const later = { ...mark, 'x-deprecation': { ...notice, sunset: '2027-10-01' } };
    const both = [plain, { ...announcing, contract: contractOf({ operation: later }) }, announcing];
    expect([...endedTerms(both, withoutAll, '2027-09-30')]).to.deep.equal(lines.slice(1));
    expect([...endedTerms(both, withoutAll, '2027-10-01')]).to.deep.equal(lines);
  });

  it('do not excuse the end of a part that was not announced', () => {
    const onlyField = { ...announcing, contract: contractOf({ field: mark }) };
    expect([...endedTerms([plain, onlyField], withoutAll, '2027-07-01')]).to.deep.equal(lines.slice(2));
  });

  it('are broken if a later contract announces an earlier sunset', () => {
    const earlier = { ...mark, 'x-deprecation': { ...notice, since: '2026-12-01', sunset: '2027-06-01' } };
    const later = contractOf({ operation: earlier, parameter: earlier, field: earlier });
    expect(brokenTerms(announcing.contract, later)).to.deep.equal([
      'no longer: get /knots stays until 2027-07-01',
      'no longer: put /knots query tight stays until 2027-07-01',
      'no longer: schemas/Knot/colour stays until 2027-07-01',
    ]);
  });
});
