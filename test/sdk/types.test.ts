/** Tests the types of the SDK. The compiler reports each expectation that does not hold (SDK-1, SDK-2, SDK-5, SDK-7). */
import { expect } from 'chai';
import {
  ApiError,
  createClient,
  ErrorCode,
  isRefusal,
  itemsOf,
  MemberStatus,
  type ClientOptions,
  type Member,
  type Student,
  type WebhookEvent,
} from '../../sdk/src/index.ts';

/** Whether each of the two types is assignable to the other. */
type Equal<One, Other> = [One, Other] extends [Other, One] ? true : false;
/** The compiler refuses `false`. */
const holds = <Claim extends true>(claim: Claim): Claim => claim;

const client = createClient({ baseUrl: 'http://club.test' });
const path = { clubId: 'a' };

describe('the types of the SDK', () => {
  it('give each operation the types of its answer, and each list the type of its records', () => {
    const read = () => client.getStudent({ path: { ...path, studentId: 'b' } });
    const list = () => itemsOf(client.listStudents, { path, query: { page_size: 5 } });
    holds<Equal<Awaited<ReturnType<typeof read>>, { data: Student }>>(true);
    holds<Equal<ReturnType<typeof list>, AsyncGenerator<Student, void, undefined>>>(true);
  });

  it('require the path and the fields of the body, and refuse unknown fields', () => {
    const calls = [
      // @ts-expect-error the path has a student
      () => client.getStudent({ path }),
      // @ts-expect-error a student has an e-mail
      () => client.createStudent({ path, body: { name: 'Ada' } }),
      // @ts-expect-error the list has no such filter
      () => client.listStudents({ path, query: { nmae: 'Ada' } }),
    ];
    expect(calls).to.have.length(3);
  });

  it('offer the known values of an enumeration that may grow, and allow others', () => {
    const states: Member['status'][] = [MemberStatus.active, 'invited', 'asleep'];
    // @ts-expect-error no constant for an unknown value
    const unknown = MemberStatus.asleep;
    expect([states[0], unknown]).to.deep.equal(['active', undefined]);
    const code: ErrorCode = 'tide_too_low';
    expect([code, ErrorCode.email_taken]).to.deep.equal(['tide_too_low', 'email_taken']);
  });

  it('refuse a code that the contract does not have', () => {
    const error: unknown = new ApiError('getStudent', '', new Response('', { status: 404 }), undefined);
    // @ts-expect-error a misspelled code
    expect(isRefusal(error, 'not_fond')).to.equal(false);
    if (isRefusal(error, 'not_found')) holds<Equal<typeof error.code, 'not_found'>>(true);
  });

  it('derive the data of a webhook from its type', () => {
    const nameOf = (event: WebhookEvent): string | undefined => {
      // @ts-expect-error other events have no student
      const early: object | undefined = event.data.student;
      expect(early).to.equal(undefined);
      return event.type === 'student.created' ? event.data.student.name : undefined;
    };
    const other = { type: 'webhook.test', data: { endpoint: { id: 'a' } } } as WebhookEvent;
    expect(nameOf(other)).to.equal(undefined);
  });

  it('refuse an option without a value', () => {
    // @ts-expect-error absent options are absent
    const options: ClientOptions = { baseUrl: '', token: undefined };
    expect(options.token).to.equal(undefined);
  });
});
