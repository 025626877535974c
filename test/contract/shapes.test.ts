/** Tests the types of handlers at compile time. A wrong type makes the type check fail. */
import { expect } from 'chai';
import type { BodyOf, EventBodyOf, ParamsOf, QueryOf, RecordOf, ResponseOf } from '../../contract/contract.ts';

describe('types of the contract', () => {
  it('give the query of a list its page, its page size and only the filters of this list', () => {
    const query: QueryOf<'listWebhookDeliveries'> = { page: 1, page_size: 20, status: 'pending' };
    // @ts-expect-error the page is a number
    const textual: QueryOf<'listWebhookDeliveries'> = { page: '1', page_size: 20 };
    // @ts-expect-error the page is always present
    const unpaged: QueryOf<'listWebhookDeliveries'> = { page_size: 20 };
    const none: QueryOf<'getProfile'> = {};
    expect([query, textual, unpaged, none]).to.have.length(4);
  });

  it('give each operation its own parameters and body', () => {
    const params: ParamsOf<'getWebhookEndpoint'> = { clubId: '', endpointId: '' };
    const noParams: ParamsOf<'getProfile'> = {};
    const body: BodyOf<'signInStudent'> = { club_id: '', email: '', password: '' };
    // @ts-expect-error a sign-in must name the club
    const clubless: BodyOf<'signInStudent'> = { email: '', password: '' };
    const noBody: BodyOf<'getProfile'> = undefined;
    expect([params, noParams, body, clubless, noBody]).to.have.length(5);
  });

  it('give a response the body of its success status', () => {
    const accepted: ResponseOf<'signUpStudent'> = { data: { accepted: true } };
    const nothing: ResponseOf<'endSession'> = undefined;
    const secret: ResponseOf<'registerWebhookEndpoint'>['data']['secret'] = '';
    expect([accepted, nothing, secret]).to.have.length(3);
  });

  it('give an event the data of its type, and a removed student only an id', () => {
    const envelope = { id: '', occurred_at: '', club_id: '' };
    const removed: EventBodyOf<'student.removed'> = {
      ...envelope,
      type: 'student.removed',
      data: { student: { id: '' } },
    };
    // @ts-expect-error a removed student has no name
    const named: EventBodyOf<'student.removed'>['data']['student'] = { id: '', name: '' };
    // @ts-expect-error the type must be the type of this event
    const other: EventBodyOf<'student.removed'>['type'] = 'student.created';
    expect([removed, named, other]).to.have.length(3);
  });

  it('allow only the values of this version in an enumeration that later versions may extend (VER-4)', () => {
    const known: RecordOf<'Role'> = 'editor';
    // @ts-expect-error an answer contains only known roles
    const unknown: RecordOf<'Role'> = 'janitor';
    // @ts-expect-error a request may name only known roles
    const refused: RecordOf<'RoleInput'> = 'janitor';
    expect([known, unknown, refused]).to.have.length(3);
  });
});
