/** Tests that a request with ids of another club's records gets the answer for unknown ids (DEC-19), and changes neither club. */
import { expect } from 'chai';
import type { CallerKind, ContractOperation, OperationId } from '../../contract/contract.ts';
import { isObject } from '../../contract/openapi.ts';
import { planClubErasure } from '../../domain/erasures/planned.ts';
import { newId } from '../../platform/core/ids.ts';
import { rowsOfClubs } from '../toolkit/assert/club-rows.ts';
import { buildFurnishedClub, permittedToken, type FurnishedClub } from '../toolkit/builders/furnished-club.ts';
import { call, someAddress, testApi, visible, type Answer, type Call } from '../toolkit/drive/api.ts';
import { nameOf, pathOf, sentTo, type PathParameters } from '../toolkit/drive/every-operation.ts';
import {
  bodyAbout,
  choosesId,
  clubOperations,
  namedInPath,
  placesInBody,
  placesInQuery,
  recordAt,
  withId,
  type NamedRecord,
  type RecordName,
} from '../toolkit/drive/named-records.ts';
import { testDeps } from '../toolkit/stack/database.ts';

const codeOf = ({ status, body }: Answer): number | string => (status < 400 ? status : body.error.code);

/** Returns the ids for the path. They name the club's own records, unless `others` replaces an id. */
function idsFor(
  operation: ContractOperation,
  kind: CallerKind | undefined,
  own: FurnishedClub,
  others: PathParameters = {},
): PathParameters {
  const records = namedInPath(operation, kind ?? 'student').map(({ place, record }) => [place, own.records[record]]);
  return { clubId: own.id, ...Object.fromEntries(records), ...others };
}

function carriedBy(
  operation: ContractOperation,
  kind: CallerKind | undefined,
  own: FurnishedClub,
  named?: string,
): Call {
  const body = bodyAbout(operation, own.records, named);
  return { ...(kind && { token: permittedToken(operation, kind, own) }), ...sentTo(operation), ...(body && { body }) };
}

/** Removes the values that have the time of the answer: signatures of file addresses, and the cursor of the log of events. */
const withoutTimes = (text: string) =>
  text.replaceAll(/X-Amz-(?:Date|Signature)=\w+/g, '').replace(/(next_cursor\W+)[\w-]+/, '$1');

/** Makes a request without waiting for the end of a stream. @returns status and text, or only the status of a stream */
async function look({ method }: ContractOperation, path: string, { token, body, raw, headers }: Call): Promise<string> {
  const { port } = await testApi();
  const payload = raw ?? (body === undefined ? null : JSON.stringify(body));
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: method.toUpperCase(),
    headers: {
      'content-type': 'application/json',
      'x-forwarded-for': someAddress(),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...headers,
    },
    body: payload as string | null,
  });
  if (response.headers.get('content-type') !== 'text/event-stream')
    return `${response.status} ${withoutTimes(await response.text())}`;
  await response.body?.cancel();
  return String(response.status);
}

/** Matches the answer to a request about the club's own records: a success, or a conflict with the state of the records. */
const judged = /^(2\d\d|409)/;

function choicesOf<T>(items: readonly T[]): T[][] {
  return items
    .reduce<T[][]>((choices, item) => [...choices, ...choices.map((choice) => [...choice, item])], [[]])
    .slice(1);
}

describe('ids of another club', () => {
  /** The club whose records the requests name. */
  let foreign: FurnishedClub;
  /** The club that sends the reads. Each write comes from a new club, because writes change the records of their club. */
  let reader: FurnishedClub;
  let theirRows: Record<string, string[]>;
  const lendIds = async () => {
    foreign = await buildFurnishedClub();
    theirRows = await rowsOfClubs(foreign.id);
  };
  before(async () => {
    await lendIds();
    reader = await buildFurnishedClub();
  });
  afterEach(async function () {
    // A failed test may have changed the other club, so later tests get a new one.
    if (this.currentTest?.isFailed()) await lendIds();
  });
  const callerOf = async ({ method }: ContractOperation) => (method === 'get' ? reader : buildFurnishedClub());
  const expectNothingOfForeign = (text: string) => {
    for (const [record, id] of Object.entries(foreign.records)) expect(text, record).not.to.contain(id);
  };
  /**
   * Sends the request with ids of the club's own records. This proves that the request is valid, and that its answer contains nothing of
   * the other club. @returns the answer
   */
  const expectOwn = async (own: FurnishedClub, operation: ContractOperation, path: string, carried: Call) => {
    const answer = await look(operation, path, carried);
    expect(answer, 'for the own records').to.match(judged);
    expectNothingOfForeign(answer);
    if (operation.method === 'get') return answer;
    expectNothingOfForeign(JSON.stringify(await rowsOfClubs(own.id)));
    expect(await rowsOfClubs(foreign.id)).to.deep.equal(theirRows);
    return answer;
  };

  describe('a request with ids in its path', () => {
    for (const operation of clubOperations.filter(({ pathParameters }) => pathParameters.length > 1)) {
      for (const kind of operation.auth) {
        it(`returns 404 and changes nothing: ${nameOf(operation)} (${kind})`, async () => {
          const own = await callerOf(operation);
          const carried = carriedBy(operation, kind, own);
          const send = (others: PathParameters) =>
            call(operation.method.toUpperCase(), pathOf(operation, idsFor(operation, kind, own, others)), carried);
          const before = await rowsOfClubs(own.id, foreign.id);
          const actual: Record<string, unknown> = {};
          const expected: Record<string, unknown> = {};
          for (const named of choicesOf(namedInPath(operation, kind))) {
            const places = named.map(({ place }) => place).join(' and ');
            const idsOf = (id: (one: NamedRecord) => string | undefined) =>
              Object.fromEntries(named.map((one) => [one.place, id(one)]));
            const answer = await send(idsOf(({ record }) => foreign.records[record]));
            actual[places] = [codeOf(answer), visible(answer)];
            expected[places] = ['not_found', visible(await send(idsOf(() => undefined)))];
          }
          expect(actual).to.deep.equal(expected);
          expect(await rowsOfClubs(own.id, foreign.id)).to.deep.equal(before);

          await expectOwn(own, operation, pathOf(operation, idsFor(operation, kind, own)), carried);
        });
      }
    }
  });

  describe('a request with an id in its body or query', () => {
    for (const operation of clubOperations) {
      const [inBody, inQuery] = [placesInBody(operation), placesInQuery(operation)];
      for (const place of [...inBody, ...inQuery]) {
        it(`gets the answer for an unknown id: ${nameOf(operation)}: ${place}`, async () => {
          const own = await callerOf(operation);
          const [kind] = operation.auth;
          const path = pathOf(operation, idsFor(operation, kind, own));
          const requestFor = (id: string): [string, Call] => {
            const { body, ...carried } = carriedBy(operation, kind, own, place);
            return inQuery.includes(place)
              ? [`${path}?${place}=${id}`, { ...carried, body }]
              : [path, { ...carried, body: withId(isObject(body) ? body : {}, place, id) }];
          };
          const send = (id: string) => call(operation.method.toUpperCase(), ...requestFor(id));
          const record = recordAt(operation, place);
          const before = await rowsOfClubs(own.id, foreign.id);

          const answer = await send(foreign.records[record]);
          expect(withoutTimes(visible(answer))).to.equal(withoutTimes(visible(await send(newId()))));
          const isOfAuditLog = operation.path.includes('/audit-log'); // the furnished club has no entries
          const isFilter = operation.method === 'get' && operation.operationId !== 'previewCampaign';
          expect(answer.status >= 400, answer.text).to.equal(!isFilter);
          expect(await rowsOfClubs(own.id, foreign.id)).to.deep.equal(before);

          const known = await expectOwn(own, operation, ...requestFor(own.records[record]));
          if (!isOfAuditLog) expect(known, 'for the own record').not.to.contain(answer.text);
        });
      }
    }
  });

  describe('a request with an id that the caller chooses', () => {
    /**
     * For each operation: the record of the other club whose id the request uses, and the expected answer. Add-ons need a payment
     * processor, so add-ons.test.ts tests them.
     */
    const outcomes: Partial<Record<OperationId, [RecordName, number | string]>> = {
      awardPoints: ['award', 201],
      askAgent: ['question', 'message_exists'],
      buyAddOn: ['addOn', 'not_configured'],
      publishSpacePost: ['post', 'post_exists'],
      publishPostComment: ['postComment', 'post_exists'],
      enrollInAutomation: ['award', 202], // starts no run, because the named students belong to the other club too
    };
    for (const operation of clubOperations.filter(choosesId)) {
      it(`changes no record of the other club: ${nameOf(operation)}`, async () => {
        const [record, outcome] = outcomes[operation.operationId] ?? [];
        if (record === undefined)
          throw new Error(`No expected answer for ${operation.operationId} with an id of another club`);
        const own = await buildFurnishedClub();
        const [kind] = operation.auth;
        const { body, ...carried } = carriedBy(operation, kind, own);
        const path = pathOf(operation, idsFor(operation, kind, own));
        const chosen = { ...carried, body: withId(isObject(body) ? body : {}, 'id', foreign.records[record]) };
        expect(codeOf(await call(operation.method.toUpperCase(), path, chosen))).to.equal(outcome);
        expect(await rowsOfClubs(foreign.id)).to.deep.equal(theirRows);
      });
    }
  });

  describe('a request that names no record', () => {
    /** The audit log grows with reads, so its answers differ. A session has no key to read. A stream has no end; webhook-listeners.test.ts tests it with two clubs. */
    const otherReads: readonly string[] = ['listAuditLog', 'exportAuditLog', 'getCurrentApiKey', 'streamWebhookEvents'];
    const readings = clubOperations.filter(
      ({ method, pathParameters, operationId }) =>
        method === 'get' && pathParameters.length === 1 && !otherReads.includes(operationId),
    );
    const read = (operation: ContractOperation) =>
      look(operation, pathOf(operation, { clubId: reader.id }), carriedBy(operation, operation.auth[0], reader));
    const answers = new Map<OperationId, string>();
    const planErasure = async ({ id, owner }: FurnishedClub) => {
      const { db } = await testDeps();
      await db.transaction((tx) => planClubErasure(tx, { clubId: id, requestedBy: owner.id }, new Date()));
    };
    before(async () => {
      await planErasure(reader);
      for (const operation of readings) answers.set(operation.operationId, await read(operation));
      await planErasure(await buildFurnishedClub());
    });
    for (const operation of readings) {
      it(`has the same answer before and after another club is created: ${nameOf(operation)}`, async () => {
        const answer = await read(operation);
        expect(answer).to.match(/^200 /);
        expect(answer).to.equal(answers.get(operation.operationId));
      });
    }
  });
});
