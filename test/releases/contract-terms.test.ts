import { expect } from 'chai';
import { brokenTerms } from './contract-terms.ts';

interface Changes {
  path?: string;
  parameters?: object[];
  sent?: object;
  received?: object;
  status?: string;
}

const idInPath = { name: 'id', in: 'path', required: true, schema: { type: 'string' } };
const sentTitle = { type: 'string', maxLength: 10, minLength: 1 };
const properties = { title: sentTitle, kind: { enum: ['a', 'b'] } };
const sentThing = { type: 'object', required: ['title'], properties };
const receivedThing = {
  type: 'object',
  required: ['id'],
  properties: { id: { type: 'string' }, state: { enum: ['open', 'ended'] }, parts: { items: { type: 'integer' } } },
};

function document({ path = '/things/{id}', parameters, sent, received, status = '200' }: Changes = {}): object {
  const content = (name: string) => ({ 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } });
  const operation = {
    parameters: parameters ?? [idInPath, { name: 'page', in: 'query', schema: { type: 'integer', maximum: 9 } }],
    requestBody: { required: true, content: content('Sent') },
    responses: { [status]: { $ref: '#/components/responses/Thing' } },
  };
  return {
    paths: { [path]: { post: operation } },
    components: {
      schemas: { Sent: sent ?? sentThing, Received: received ?? receivedThing },
      responses: { Thing: { content: content('Received') } },
    },
  };
}

const sent = (change: object) => document({ sent: { ...sentThing, properties: { ...properties, ...change } } });
const received = (change: object) =>
  document({ received: { ...receivedThing, properties: { ...receivedThing.properties, ...change } } });

describe('what a later contract takes from callers of an earlier one', () => {
  const allowed: [what: string, later: object][] = [
    ['the same', document()],
    ['a property more in an answer', received({ more: { type: 'string' } })],
    ['a property more that may be sent', sent({ more: { type: 'string' } })],
    ['a value more that is accepted', sent({ kind: { enum: ['a', 'b', 'c'] } })],
    ['a longer text that is accepted', sent({ title: { ...sentTitle, maxLength: 20 } })],
    ['a shorter text that is accepted', sent({ title: { ...sentTitle, minLength: 0 } })],
    ['no bound any more', sent({ title: { type: 'string' } })],
    ['nothing that must be sent any more', document({ sent: { ...sentThing, required: [] } })],
  ];
  for (const [what, later] of allowed)
    it(`is nothing: ${what}`, () => expect(brokenTerms(document(), later)).to.deep.equal([]));

  const taken: [line: string, later: object][] = [
    ['no longer: post /things/{id} 200', document({ status: '201' })],
    ['no longer: post /things/{id} query page', document({ parameters: [idInPath] })],
    ['no longer: schemas/Received/id type "string"', received({ id: { type: 'integer' } })],
    ['no longer: schemas/Received/parts/items type "integer"', received({ parts: { items: { type: 'string' } } })],
    ['no longer: schemas/Received/state is one of ["open","ended"]', received({ state: { enum: ['open', 'new'] } })],
    ['no longer: schemas/Received/id is always there', document({ received: { ...receivedThing, required: [] } })],
    ['no longer: schemas/Sent/kind accepts "b"', sent({ kind: { enum: ['a'] } })],
    ['asked now: schemas/Sent/title maxLength 9', sent({ title: { ...sentTitle, maxLength: 9 } })],
    ['asked now: schemas/Sent/title minLength 2', sent({ title: { ...sentTitle, minLength: 2 } })],
    ['asked now: schemas/Sent/title pattern ^x', sent({ title: { ...sentTitle, pattern: '^x' } })],
    [
      'asked now: schemas/Sent additionalProperties false',
      document({ sent: { ...sentThing, additionalProperties: false } }),
    ],
    [
      'asked now: schemas/Sent/kind is always there true',
      document({ sent: { ...sentThing, required: ['title', 'kind'] } }),
    ],
    [
      'asked now: post /things/{id} query page is always there true',
      document({
        parameters: [idInPath, { name: 'page', in: 'query', required: true, schema: { type: 'integer', maximum: 9 } }],
      }),
    ],
  ];
  for (const [line, later] of taken) it(line, () => expect(brokenTerms(document(), later)).to.include(line));

  it('is the whole operation when its path is another', () => {
    expect(brokenTerms(document(), document({ path: '/others/{id}' }))).to.include('no longer: post /things/{id}');
  });
});
