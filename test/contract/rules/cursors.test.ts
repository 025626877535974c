/** Tests the rule that gives lists their cursors in the contract (CUR-1, CUR-3, CUR-5). */
import { expect } from 'chai';
import { describeCursor, withCursor, withNextCursor } from '../../../contract/rules/cursors.ts';
import { contractDocument } from '../../../contract/document.ts';
import { everyOperation } from '../../toolkit/drive/every-operation.ts';

const page = { $ref: '../parameters.yaml#/Page' };
const size = { $ref: '../parameters.yaml#/PageSize' };
const jsonOf = (schema: object) => ({ 200: { description: 'A page.', content: { 'application/json': { schema } } } });

describe('the cursors of the contract', () => {
  it('add the shared parameter right after the page', () => {
    expect(withCursor([size, page, size])).to.deep.equal([size, page, { $ref: '../parameters.yaml#/Cursor' }, size]);
  });

  it('add `next_cursor` to the page, and change nothing else', () => {
    const properties = { data: { type: 'array' }, total: { type: 'integer' } };
    const written = { ...jsonOf({ type: 'object', required: ['data'], properties }), 404: { description: 'None.' } };
    expect(withNextCursor('listKnots', written)).to.deep.equal({
      ...jsonOf({
        type: 'object',
        required: ['data'],
        properties: { ...properties, next_cursor: { $ref: '../schemas/common.yaml#/NextCursor' } },
      }),
      404: { description: 'None.' },
    });
  });

  it('refuse an operation that takes a page but does not answer with a page', () => {
    for (const written of [{}, jsonOf({ type: 'object', properties: { data: {} } }), { 200: { $ref: '#/Shared' } }])
      expect(() => withNextCursor('getKnot', written)).to.throw('getKnot takes a page, and its answer has no total');
  });

  it('describe when a record changes its position, and which lists have only pages', () => {
    expect(describeCursor({})).to.deep.equal([]);
    expect(describeCursor({ 'x-moves-when': 'a knot is tied' })[0]).to.match(
      /^A record changes .* when a knot is tied\./,
    );
    expect(describeCursor({ 'x-pages-only': true })[0]).to.contain('takes no `cursor`');
  });

  it('describe when records move in a list, for each such list', () => {
    const moving = everyOperation.filter(({ path, method }) =>
      contractDocument.paths[path]?.[method]?.description.includes('A record changes its position when '),
    );
    expect(moving.map(({ operationId }) => operationId).toSorted()).to.deep.equal([
      'listAgentConversations', // by the last message
      'listAssignmentSubmissions', // by the last attempt
      'listAssignments', // by position
      'listClassroomSpaces', // by position
      'listCommunitySpaces', // by archiving and position
      'listConversations', // by the last message
      'listLessonAssignments', // by position
      'listLevels', // by points
      'listMediaFolders', // by name
      'listMembers', // members before invitations
      'listOwnSubmissions', // by the last attempt
      'listSpaceMembers', // by the last joining
      'listSpacePosts', // pinned posts first
      'listTags', // by name
    ]);
  });
});
