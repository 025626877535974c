import { expect } from 'chai';
import { createNoticeReceiver, type ReceivedNotice } from '../../../../domain/sales/notices/notices.ts';
import { deleteConnection, rotateConnection } from '../../../../domain/sales/platforms/connections.ts';
import { SalesNotice } from '../../../../entities/sales/sales-notice.ts';
import type { Database } from '../../../../platform/infra/postgres/database.ts';
import { workflowIdOf } from '../../../../platform/engine/workflow-types.ts';
import { inSpan, traceparent } from '../../../../platform/infra/tracing.ts';
import { wakesOf } from '../../../toolkit/assert/wakes.ts';
import { buildClub } from '../../../toolkit/builders/clubs.ts';
import { buildSalesConnection, type TestSalesConnection } from '../../../toolkit/builders/sales.ts';
import { unreliable } from '../../../toolkit/fakes/databases.ts';
import { testDeps } from '../../../toolkit/stack/database.ts';
import { useTracing } from '../../../toolkit/stack/tracing.ts';

type Key = Pick<TestSalesConnection, 'platform' | 'token'>;

describe('concurrent notices', () => {
  let deps: Awaited<ReturnType<typeof testDeps>>;
  let now: Date;
  beforeEach(async () => {
    deps = await testDeps();
    now = new Date();
  });

  const shop = async () => {
    const { id: clubId } = await buildClub();
    return { clubId, connection: await buildSalesConnection(clubId) };
  };
  const notice = ({ platform, token }: Key, text: string, proof = ''): ReceivedNotice & { raw: Buffer } => ({
    platform,
    token,
    raw: Buffer.from(text),
    receiveBody: async () => ({ raw: Buffer.from(text), parse: () => ({ buyer: `${text}@example.com` }) }),
    header: () => proof,
    signature: proof,
  });
  const receiveAll = async (notices: readonly ReceivedNotice[], db: Database = deps.db) => {
    const receive = createNoticeReceiver({ ...deps, db });
    const ends = await Promise.allSettled(notices.map((one) => receive(one, now)));
    return ends.map((end) =>
      end.status === 'fulfilled' ? 'accepted' : ((end.reason as { code?: string }).code ?? ''),
    );
  };
  const rowsOf = (clubId: string) => deps.db.manager.find(SalesNotice, { where: { clubId }, order: { id: 'ASC' } });
  const bodies = async (clubId: string) => (await rowsOf(clubId)).map(({ body }) => body?.toString());

  it('are stored as received, each with one wake', async () => {
    const [one, other] = [await shop(), await shop()];
    const notices = Array.from({ length: 12 }, (_, index) =>
      notice(index % 3 === 0 ? other.connection : one.connection, `notice-${index}`, index % 2 ? 'proof' : ''),
    );
    expect(new Set(await receiveAll(notices))).to.deep.equal(new Set(['accepted']));
    for (const { clubId, connection } of [one, other]) {
      const rows = await rowsOf(clubId);
      const ownNotices = notices.filter(({ token }) => token === connection.token);
      expect(rows.map(({ body }) => body?.toString())).to.have.members(ownNotices.map(({ raw }) => raw.toString()));
      for (const row of rows) {
        const from = ownNotices.find(({ raw }) => row.body?.equals(raw));
        expect(row).to.deep.include({
          connectionId: connection.id,
          platform: connection.platform,
          status: 'pending',
          addresses: [`${from?.raw.toString()}@example.com`],
          nextAttemptAt: now,
          receivedAt: now,
        });
        expect(row.proof === null ? '' : deps.vault.open(row.proof, row.id)).to.equal(from?.signature);
      }
      expect((await wakesOf(clubId)).map(({ workflowId }) => workflowId)).to.have.members(
        rows.map(({ id }) => workflowIdOf('salesNotice', id)),
      );
    }
  });

  it('are refused one by one if their token is invalid', async () => {
    const { clubId, connection } = await shop();
    const [rotated, deleted] = [await buildSalesConnection(clubId), await buildSalesConnection(clubId)];
    await rotateConnection(deps, clubId, rotated.id, now);
    await deleteConnection(deps, clubId, deleted.id, now);
    const elsewhere: Key = { platform: 'hotmart', token: connection.token };
    const nowhere = { platform: 'nowhere', token: connection.token } as unknown as Key;
    const stranger: Key = { platform: 'generic', token: 'nobody' };
    const keys = [connection, rotated, stranger, deleted, elsewhere, nowhere, connection];
    const refused = 'not_found';
    expect(await receiveAll(keys.map((key, index) => notice(key, `notice-${index}`)))).to.deep.equal([
      'accepted',
      refused,
      refused,
      refused,
      refused,
      refused,
      'accepted',
    ]);
    expect(await bodies(clubId)).to.have.members(['notice-0', 'notice-6']);
    expect(await wakesOf(clubId)).to.have.length(2);
  });

  it('are refused one by one if their connection is deleted meanwhile', async () => {
    const [gone, stays] = [await shop(), await shop()];
    let statements = 0;
    const deleting = unreliable(deps.db, async () => {
      if (++statements === 2) await deleteConnection(deps, gone.clubId, gone.connection.id, now);
      return undefined;
    });
    const notices = [gone, stays].map(({ connection }) => notice(connection, 'notice'));
    expect(await receiveAll(notices, deleting)).to.deep.equal(['not_found', 'accepted']);
    expect([await bodies(gone.clubId), await bodies(stays.clubId)]).to.deep.equal([[], ['notice']]);
    expect([await wakesOf(gone.clubId), await wakesOf(stays.clubId)].map((wakes) => wakes.length)).to.deep.equal([
      0, 1,
    ]);
  });

  it('are stored with two statements, however many notices arrive', async () => {
    const { connection } = await shop();
    let statements = 0;
    const counting = unreliable(deps.db, () => {
      statements++;
      return undefined;
    });
    await receiveAll(
      Array.from({ length: 20 }, (_, index) => notice(connection, `notice-${index}`)),
      counting,
    );
    expect(statements).to.equal(2);
  });

  it('are written in groups of up to 64, but a notice of more than 64 kB is written alone', async () => {
    const { clubId, connection } = await shop();
    let statements = 0;
    const counting = unreliable(deps.db, () => {
      statements++;
      return undefined;
    });
    const texts = Array.from({ length: 65 }, (_, index) => `notice-${index}`);
    const notices = [...texts, 'a'.repeat(65_537), 'b'.repeat(65_536)].map((text) => notice(connection, text));
    expect(new Set(await receiveAll(notices, counting))).to.deep.equal(new Set(['accepted']));
    expect(statements, 'the statements are a look-up, the large notice, and batches of 64 and 2').to.equal(4);
    expect(await rowsOf(clubId)).to.have.length(67);
  });

  it('all fail if the connection to Postgres is lost', async () => {
    const { clubId, connection } = await shop();
    let statements = 0;
    const unreliableDb = unreliable(deps.db, () => (++statements === 2 ? 'before' : undefined));
    const receive = createNoticeReceiver({ ...deps, db: unreliableDb });
    const ends = await Promise.allSettled([1, 2].map((index) => receive(notice(connection, `notice-${index}`), now)));
    expect(ends.map(({ status }) => status)).to.deep.equal(['rejected', 'rejected']);
    expect(await rowsOf(clubId)).to.deep.equal([]);
    await receive(notice(connection, 'later'), now);
    expect(await bodies(clubId)).to.deep.equal(['later']);
  });

  describe('in a process that traces requests', () => {
    useTracing();

    it('link each wake to the span of its own request', async () => {
      const shops = [await shop(), await shop()];
      const receive = createNoticeReceiver(deps);
      const requests = await Promise.all(
        shops.map(({ connection }) =>
          inSpan('request', {}, async () => {
            await receive(notice(connection, 'notice'), now);
            return traceparent();
          }),
        ),
      );
      const woken = await Promise.all(shops.map(({ clubId }) => wakesOf(clubId)));
      expect(woken.map((wakes) => wakes.map((wake) => wake.traceparent))).to.deep.equal(requests.map((one) => [one]));
      expect(new Set(requests)).to.have.property('size', 2);
    });
  });
});
