/**
 * Tests each POST and PATCH with a session twice: three simultaneous requests and a repetition under one key have the effect of one request, and
 * get its answer (IDEM-3, IDEM-4).
 */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { keptFormOf } from '../../contract/contract.ts';
import { rowsOfClubs } from '../toolkit/assert/club-rows.ts';
import { call } from '../toolkit/drive/api.ts';
import { everyOperation, nameOf } from '../toolkit/drive/every-operation.ts';
import { preparedClub, requestOf, type PreparedCall } from '../toolkit/drive/prepared-requests.ts';
import { rowCounts } from '../toolkit/stack/database.ts';

const added = (before: Readonly<Record<string, number>>, after: Readonly<Record<string, number>>) =>
  Object.fromEntries(Object.entries(after).map(([table, count]) => [table, count - (before[table] ?? 0)]));

const keeping = everyOperation.filter(({ idempotency }) => idempotency === 'kept');

describe('a repeated request', function () {
  this.timeout(30_000);
  for (const operation of keeping)
    for (const kind of operation.auth)
      it(`has one effect and one answer: ${nameOf(operation)} (${kind})`, async () => {
        const [club, other] = [await preparedClub(operation), await preparedClub(operation)];
        const send = ({ path, headers, ...request }: PreparedCall, key: string) =>
          call(operation.method.toUpperCase(), path, { ...request, headers: { ...headers, 'idempotency-key': key } });
        const request = await requestOf(operation, kind, club);
        const requestOfOther = await requestOf(operation, kind, other);
        const key = randomUUID();

        const start = await rowCounts();
        const twins = await Promise.all([send(request, key), send(request, key), send(request, key)]);
        const [first] = twins.filter(({ headers }) => !headers.has('idempotent-replayed'));
        expect(first?.status, first?.text ?? twins[0].text).to.equal(operation.successStatus);
        const [afterTwins, rows] = [await rowCounts(), await rowsOfClubs(club.id)];
        const again = await send(request, key);
        const firstAnswer = { status: first?.status, body: keptFormOf(operation).bodyToKeep(first?.body) };
        for (const { status, body, headers } of [again, ...twins.filter((twin) => twin !== first)])
          expect([{ status, body }, headers.get('idempotent-replayed'), headers.get('etag')]).to.deep.equal([
            firstAnswer,
            'true',
            first?.headers.get('etag'),
          ]);
        expect(again.text).not.to.contain('X-Amz-Signature');
        expect(await rowCounts()).to.deep.equal(afterTwins);
        expect(await rowsOfClubs(club.id)).to.deep.equal(rows);

        const single = await send(requestOfOther, key);
        expect(single.status, single.text).to.equal(operation.successStatus);
        expect(added(start, afterTwins)).to.deep.equal(added(afterTwins, await rowCounts()));
      });
});
