/** Tests that an operation gets the responses of its path file and the responses that follow from rules. */
import { expect } from 'chai';
import { contractText } from '../../../contract/contract.ts';
import type { OperationObject } from '../../../contract/openapi.ts';
import type { OperationTraits } from '../../../contract/rules/error-codes.ts';
import { completeResponses } from '../../../contract/rules/responses.ts';
import type { WrittenResponse } from '../../../contract/rules/wrappers.ts';

const publicRead: OperationTraits = {
  method: 'get',
  hasSession: false,
  isUnderClub: false,
  isForAdministrators: false,
  isOpenToLimitedSessions: false,
  hasRoles: false,
  hasScope: false,
  needsFreshFactor: false,
  hasBody: false,
  hasCursor: false,
  hasJudgedParameters: false,
};

const shared = (name: string) => ({ $ref: `../responses.yaml#/${name}` });
const success = { 200: { description: 'A course.' } };

function complete(responses: Readonly<Record<string, WrittenResponse>>, codes: readonly string[] = []) {
  const operation: OperationObject = {
    operationId: 'getCourse',
    description: '',
    tags: [],
    security: [],
    'x-error-codes': codes,
    responses,
  };
  return completeResponses(operation, publicRead);
}

describe('the function that completes the responses of an operation', () => {
  it('uses the response of the path file instead of the shared response', () => {
    const own = { description: 'No certificate has this code.' };
    expect(complete({ ...success, 404: own }, ['not_found'])).to.deep.equal({
      200: { description: 'A course.' },
      400: shared('MalformedRequest'),
      404: own,
      default: shared('Otherwise'),
    });
  });

  it('refuses a path file with a response that already follows from a rule', () => {
    expect(() => complete({ ...success, 400: shared('MalformedRequest') })).to.throw(
      'getCourse: the response 400 follows from a rule. Remove it from the path file.',
    );
  });

  it('refuses an error status if the operation declares no error code with this status', () => {
    expect(() => complete({ ...success, 404: { description: 'No course.' } })).to.throw(
      'getCourse has a response 404, and no code with this status in x-error-codes.',
    );
  });

  it('wraps a record in the JSON schema of an answer, and places JSON before other media types', () => {
    const page = { 'text/html': { schema: { type: 'string' } } };
    const written = { description: 'A course.', 'x-data-of': { $ref: '#/Course' }, content: page };
    const schema = {
      type: 'object',
      additionalProperties: false,
      required: ['data'],
      properties: { data: { $ref: '#/Course' } },
    };
    const expected = { description: 'A course.', content: { 'application/json': { schema }, ...page } };
    expect(JSON.stringify(complete({ 200: written })[200])).to.equal(JSON.stringify(expected));
  });

  for (const name of ['x-data-of', 'x-page-of'] as const)
    it(`refuses a path file that contains the schema that ${name} generates`, () => {
      const written = complete({ 200: { description: 'An answer.', [name]: { $ref: '#/Course' } } })[200];
      if (!written) throw new Error('No response 200');
      expect(() => complete({ 200: written })).to.throw(
        `getCourse: the path file contains the schema of 200. Write ${name} instead.`,
      );
    });

  it('wraps the records of a page in the JSON schema of a page', () => {
    const response = complete({ 200: { description: 'A page.', 'x-page-of': { $ref: '#/Course' } } })[200];
    expect(response).to.have.nested.property('content.application/json.schema.properties.data.items.$ref', '#/Course');
    expect(response).to.have.nested.property('content.application/json.schema.properties.shortened');
    expect(response).not.to.have.property('x-page-of');
  });

  it('removes the extension fields of the path files from the published contract', () => {
    expect(contractText).not.to.match(/"x-(?:data|page)-of"/);
  });
});
