/** Tests the rule for deprecated parts of the contract (VER-5). The contract has none today, so the tests mark copies of it. */
import { expect } from 'chai';
import { contractDocument } from '../../../contract/document.ts';
import type { ContractDocument, JsonObject } from '../../../contract/openapi.ts';
import { addMonths, completeDeprecations, earliestSunset } from '../../../contract/rules/deprecation.ts';

const notice = { since: '2027-01-31', sunset: '2027-07-31', successor: 'getTag' };

/** A small document with one operation, one parameter, one field, and an operation that can be the successor. */
function documentWith(marks: {
  operation?: object;
  parameter?: object;
  field?: object;
  successor?: object;
}): JsonObject {
  const id = { name: 'id', in: 'query', description: 'An id.', schema: { type: 'string' }, ...marks.parameter };
  const listTags = { operationId: 'listTags', description: 'Lists tags.', parameters: [id], ...marks.operation };
  return {
    paths: { '/tags': { get: listTags, post: { operationId: 'getTag', ...marks.successor } } },
    webhooks: {},
    components: { schemas: { Tag: { properties: { colour: { type: 'string', ...marks.field } } } } },
  };
}

const complete = (document: JsonObject): JsonObject => {
  completeDeprecations(document as unknown as ContractDocument);
  return document;
};

describe('the rule for deprecated parts of the contract', () => {
  it('marks an operation, a parameter and a field, and tells readers the days and the successor', () => {
    const mark = { 'x-deprecation': notice };
    const renamed = { since: '2027-01-31', sunset: '2027-08-01', reason: 'It has no use.' };
    const sentence = 'Deprecated since 2027-01-31, and may be removed from 2027-07-31 on. Use `getTag` instead.';
    expect(
      complete(documentWith({ operation: mark, parameter: mark, field: { 'x-deprecation': renamed } })),
    ).to.deep.equal(
      documentWith({
        operation: { ...mark, deprecated: true, description: `Lists tags.\n\n${sentence}` },
        parameter: { ...mark, deprecated: true, description: `An id.\n\n${sentence}` },
        field: {
          'x-deprecation': renamed,
          deprecated: true,
          description: 'Deprecated since 2027-01-31, and may be removed from 2027-08-01 on. It has no use.',
        },
      }),
    );
  });

  const refusals: readonly [problem: string, marks: Parameters<typeof documentWith>[0], message: string][] = [
    ['a mark without the days', { operation: { deprecated: true } }, '#/paths//tags/get is deprecated. Write x-dep'],
    ['a mark that is no object', { field: { 'x-deprecation': true } }, 'must be an object with since and sunset'],
    [
      'a day that does not exist',
      { operation: { 'x-deprecation': { ...notice, since: '2027-02-29' } } },
      'since must be a day',
    ],
    [
      'another form of a day',
      { operation: { 'x-deprecation': { ...notice, sunset: '2027-8-1' } } },
      'sunset must be a day',
    ],
    [
      'a sunset after less than six months',
      { operation: { 'x-deprecation': { ...notice, sunset: '2027-07-30' } } },
      'the sunset must be 2027-07-31 or later',
    ],
    [
      'neither a successor nor a reason',
      { parameter: { 'x-deprecation': { ...notice, successor: undefined, reason: '' } } },
      'needs a successor, or the reason why there is none',
    ],
    [
      'a successor that does not exist',
      { operation: { 'x-deprecation': { ...notice, successor: 'findTags' } } },
      'the contract has no operation findTags',
    ],
    [
      'a successor that is deprecated itself',
      {
        operation: { 'x-deprecation': notice },
        successor: { 'x-deprecation': { ...notice, successor: undefined, reason: 'It goes, too.' } },
      },
      'getTag is deprecated itself',
    ],
    [
      'a link that could end the header',
      { operation: { 'x-deprecation': { ...notice, link: 'https://a.example/>; rel="next' } } },
      'link must be an https address',
    ],
  ];
  for (const [problem, marks, message] of refusals)
    it(`refuses ${problem}`, () => {
      expect(() => complete(documentWith(marks))).to.throw(message);
    });

  it('ignores fields and examples that are called `deprecated`', () => {
    const field = { example: { deprecated: true }, properties: { deprecated: { type: 'boolean' } } };
    expect(complete(documentWith({ field }))).to.deep.equal(documentWith({ field }));
  });

  it('counts six months of the calendar, to the last day of a shorter month', () => {
    expect(['2027-08-31', '2027-01-01', '2027-12-15'].map(earliestSunset)).to.deep.equal([
      '2028-02-29',
      '2027-07-01',
      '2028-06-15',
    ]);
    expect(addMonths('2027-02-30', 0)).to.equal('2027-02-28');
  });

  it('finds no deprecated part in the contract of today', () => {
    expect(JSON.stringify(contractDocument)).not.to.match(/"deprecated":\s*true|"x-deprecation"/);
  });
});
