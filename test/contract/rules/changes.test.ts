/** Tests the rule that gives lists `updated_since` in the contract (CUR-6). */
import { expect } from 'chai';
import {
  describeChanges,
  listsChanges,
  recordOfPage,
  withNextUpdatedSince,
  withUpdatedSince,
} from '../../../contract/rules/changes.ts';
import { contractDocument } from '../../../contract/document.ts';

const record = { type: 'object', properties: { updated_at: {} } };
const reference = { $ref: '../schemas/knot.yaml#/Knot' };
const pageOf = (items: object) => ({
  200: {
    description: 'A page.',
    content: {
      'application/json': { schema: { type: 'object', properties: { data: { type: 'array', items }, total: {} } } },
    },
  },
});

describe('the changes of the contract', () => {
  it('belong to a list with a cursor, for API keys, with `updated_at` or `x-lists-changes`', () => {
    const traits = { hasCursor: true, hasScope: true };
    expect(listsChanges({}, traits, record)).to.equal(true);
    expect(listsChanges({}, { ...traits, hasCursor: false }, record)).to.equal(false);
    expect(listsChanges({}, { ...traits, hasScope: false }, record)).to.equal(false);
    expect(listsChanges({ 'x-without-updated-since': 'it rains' }, traits, record)).to.equal(false);
    for (const other of [{ properties: {} }, {}, undefined]) {
      expect(listsChanges({}, traits, other)).to.equal(false);
      expect(listsChanges({ 'x-lists-changes': true }, traits, other)).to.equal(true);
    }
    expect(listsChanges({ 'x-lists-changes': true }, { ...traits, hasScope: false }, record)).to.equal(false);
  });

  it('add the shared parameter right before the cursor', () => {
    const cursor = { $ref: '../parameters.yaml#/Cursor' };
    const size = { $ref: '../parameters.yaml#/PageSize' };
    const since = { $ref: '../parameters.yaml#/UpdatedSince' };
    expect(withUpdatedSince([size, cursor, size])).to.deep.equal([size, since, cursor, size]);
  });

  it('find the record of a page, and add the next instant to the page', () => {
    expect(recordOfPage(pageOf(reference))).to.deep.equal(reference);
    for (const other of [pageOf({ type: 'string' }), {}, { 200: { $ref: '#/Shared' } }])
      expect(recordOfPage(other)).to.equal(undefined);
    expect(JSON.stringify(withNextUpdatedSince('listKnots', pageOf(reference)))).to.contain(
      '"next_updated_since":{"$ref":"../schemas/common.yaml#/NextUpdatedSince"}',
    );
  });

  it('describe the exceptions of a list, or the reason why it takes none', () => {
    expect(describeChanges({})).to.deep.equal([]);
    expect(describeChanges({ 'x-changes-without': 'a count changes' })[0]).to.match(/if only a count changes\.$/);
    expect(describeChanges({ 'x-without-updated-since': 'it rains' })[0]).to.match(/because it rains\.$/);
    expect(contractDocument.paths['/v1/clubs/{clubId}/agents/{agentId}/sources']?.get?.description).to.contain(
      'It takes no `updated_since`, because a source can join',
    );
  });
});
